"""The check of a certificate, step by step; the first thing that does not hold ends it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.version import __version__
from planner.question.provenance import stamped
from planner.verification.asked import asked_in
from planner.verification.case import COUNTED, Case
from planner.verification.claim import check_claim, check_front, claim_words
from planner.verification.document import Certificate, parsed, seal
from planner.verification.faults import Fault
from planner.verification.plans import check_closed_whole, check_more_chips, check_plans
from planner.verification.space import Space
from planner.verification.tree import checked_bounds, checked_tree

TRUSTED = (
    "the cost model's evaluation of a plan (planner.cost), the rules of frameworks "
    "(planner.frameworks) and the databases, whose records the certificate names by SHA-256",
    "the reader of the question (planner.question), this check (planner.verification), numpy "
    "and Python",
)
LEMMAS = (
    "the lemmas of docs/model/search.md, by which no plan is below a bound; --every costs all "
    "plans instead"
)
"""What a reader of the verdict has to believe beside, unless all plans were costed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check found.

    Attributes:
        fault: The first thing that does not hold; empty: the certificate is right.
        claim: What is certified of the question, in one sentence.
        question: All that was asked.
        checked: What was checked, by name: how many.
        trusted: What a reader has to believe.
        cpu_s: Processor seconds of the check.
    """

    fault: str
    claim: str
    question: Mapping[str, Any]
    checked: Mapping[str, int]
    trusted: tuple[str, ...]
    cpu_s: float

    @property
    def verified(self) -> bool:
        """Whether everything holds."""
        return not self.fault

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        found = {
            "verified": self.verified,
            "fault": self.fault or None,
            "claim": self.claim,
            "question": dict(self.question),
            "counts": dict(self.checked),
            "trusted": list(self.trusted),
        }
        return stamped(found)


def verify(content: str | bytes, name: str = "certificate", *, every: bool = False) -> Verdict:
    """Checks a certificate.

    Args:
        content: Of the file.
        name: What messages call it.
        every: Cost every candidate of closed nodes too, so that no bound has to be believed.

    Raises:
        InputError: It is no certificate.
    """
    started = time.process_time()
    document, certificate = parsed(content, name)
    checked, fault = Counter[str](), ""
    try:
        _check_seal(document, certificate)
        _check(certificate, checked, every=every)
    except Fault as found:
        fault = str(found)
    except InputError as error:
        fault = f"question: {' '.join(str(error).split())}"
    return Verdict(
        fault=fault,
        claim=claim_words(certificate),
        question=certificate.question,
        checked=checked,
        trusted=TRUSTED if every else (*TRUSTED, LEMMAS),
        cpu_s=time.process_time() - started,
    )


def _check_seal(document: Mapping[str, Any], certificate: Certificate) -> None:
    """Nothing was altered after the certificate was written, and this version wrote it.

    Raises:
        Fault: It is not so.
    """
    if seal(document) != certificate.sha256:
        raise Fault("sha256: the seal is not that of the content")
    if certificate.versions != {"planner": __version__}:
        made = certificate.versions.get("planner")
        raise Fault(f"versions: made by planner {made}; this is {__version__}")


def _check_counts(certificate: Certificate) -> None:
    """Nothing is counted that is not counted here again.

    Raises:
        Fault: Something is.
    """
    if invented := sorted({*certificate.counts} - {*COUNTED}):
        raise Fault(f"counts: {invented[0]} is none of {', '.join(COUNTED)}")


def _check(certificate: Certificate, checked: Counter[str], *, every: bool) -> None:
    """All steps in order; `checked` grows.

    Raises:
        Fault: Something does not hold.
    """
    _check_counts(certificate)
    asked = asked_in(certificate)
    case = Case(own=certificate, asked=asked, space=Space(asked), checked=checked)
    check_front(case)
    tree = checked_tree(case)
    lowest = checked_bounds(case, tree)
    check_plans(case, tree)
    if every:
        check_closed_whole(case, tree)
    check_claim(case, tree, lowest)
    check_more_chips(case)
