"""Proofs of answers as files, of whichever kind: how they are written, and how they are checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.verification.checking import Verdict, verify

if TYPE_CHECKING:  # a check loads nothing of the search
    from planner.question.request import Request
    from planner.results.result import SolveResult
    from planner.search.space import Trail

_ZIP = b"PK"


def proof_of(path: Path, request: Request, trail: Trail, result: SolveResult) -> str | bytes:
    """The content of the file of a proof: an archive where its name says so.

    Args:
        path: The file.
        request: The question.
        trail: Of its search.
        result: The answer.

    Raises:
        InputError: There is nothing that is certified.
    """
    from planner.answers.files import certificate, stage_proof  # noqa: PLC0415  (not to check one)

    if path.suffix.lower() == certificate.ARCHIVE:
        return stage_proof.stage_proof(request, trail, result)
    return certificate.certificate_text(request, trail, result)


def unproved(path: Path, trail: Trail, result: SolveResult) -> str:
    """Why no proof of an answer is written; empty: it has one."""
    from planner.answers.files.certificate import ARCHIVE  # noqa: PLC0415  (not to check one)

    if path.suffix.lower() == ARCHIVE and result.best is None:
        return "an archive proves the fastest plan, and there is none"
    return "" if trail.has_nodes else "time ran out before the plans were listed"


def verified(content: bytes, name: str, *, every: bool = False) -> Verdict:
    """What the check of a proof finds.

    Args:
        content: Of the file.
        name: What messages call it.
        every: Cost all plans of closed nodes; of an archive, solve the question again and compare.

    Raises:
        InputError: It is no proof.
    """
    if not content.startswith(_ZIP):
        return verify(content, name, every=every)
    from planner.verification.stages.checking import verify_stages  # noqa: PLC0415  (few ask)

    found = verify_stages(content, name)
    if not (every and found.verified):
        return found
    from planner.answers.files.stage_proof import solved_again  # noqa: PLC0415  (few ask)

    return replace(found, fault=solved_again(content, name))
