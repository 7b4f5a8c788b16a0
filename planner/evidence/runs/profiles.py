"""Which software a published run used: the first rule that its row fits decides.

A publication says where a run comes from, not which of our profiles describes it. The rules
(`planner.evidence.runs.rules`) are data, read from the top: a pattern of what the row prints, or
the maker of its chip. Each gives the software era (speed of kernels and host), the framework (what
stays in memory) and, where several runs of one installation were published, the key of its site
factor. The rule that was used is part of every result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from frozen_records import dataclass
from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.evidence.runs.rules import FAMILIES, RULES, Rule
from planner.frameworks.profiles import FRAMEWORKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The software and the installation of a published run.

    Attributes:
        era: Key of `planner.assumptions.software.ERAS`.
        framework: Key of `planner.frameworks.profiles.FRAMEWORKS`.
        site: Key of the calibration's site factors; empty: none.
        recompute: What its recipes recompute where a row does not say; empty: as its kind does.
        rule: Why, in words.
        stalls: Key of the calibration's stalls; empty: none.
        network: Between the installation's nodes, where its rows do not print it.
    """

    era: str
    framework: str
    site: str
    recompute: str = ""
    rule: str
    stalls: str = ""
    network: str = ""

    @property
    def is_fallback(self) -> bool:
        """Whether no rule fits the run, so that its software is not known."""
        return self.rule == _FALLBACK

    @property
    def deals_by_share(self) -> bool:
        """Whether stages whose layers cost exactly their share take no more."""
        return self.framework in _BY_SHARE

    @property
    def ties_below(self) -> int:
        """The width of MLPs below which embeddings are tied."""
        return _TIED_BELOW.get(self.framework, 0)


PRINTED = (
    "DeepSpeed", "KempnerForge", "Levanter", "MaxText", "Megatron-Bridge", "Megatron-Core",
    "Megatron-DeepSpeed", "Megatron-LM", "NeMo", "NeMo AutoModel", "NeMo Megatron", "Neuron",
    "PyTorch FSDP", "fms-fsdp", "llm-foundry",
)  # fmt: skip
"""Names of frameworks as publications print them, beside those of `FRAMEWORKS`."""
_BY_SHARE = ("nanotron",)
"""Frameworks whose published runs dealt layers out as `planner.evidence.runs.rows` says."""
_TIED_BELOW = {"nanotron": 10_000}
"""Width of MLPs below which models of published runs had tied embeddings: nanotron's
scripts/scaling_benchmarks.py."""
_FALLBACK = "no other rule: Megatron-Core"
_OF_VENDOR = {
    "tpu": ("jax", "jax"),
    "trainium": ("neuron", "jax"),
    "gaudi": ("gaudi", "megatron"),
    "ascend": ("megatron-core-2025", "megatron"),
}


def profile_of(row: Mapping[str, str]) -> Profile:
    """The profile of a row.

    What decides, from the first: the column `framework` where it names a profile, unless the rule
    names a version of it; a rule that fits the columns `framework` and `framework_version`
    together; one that fits the source; the family of the source, then that of the printed name of
    the framework; the chip. The column `era` always holds.

    Raises:
        InputError: The row names an era or a framework that does not exist.
    """
    found = _by_rule(row)
    era, framework = row.get("era") or found.era, row.get("framework", "")
    if framework not in FRAMEWORKS or FRAMEWORKS[found.framework].derived_from == framework:
        if framework and framework_fault(framework):
            raise InputError(f"framework: {framework_fault(framework)}")
        framework = found.framework
    if era not in ERAS:
        raise InputError(f"era: {era!r} is not one of {', '.join(sorted(ERAS))}")
    if (era, framework) == (found.era, found.framework):
        return found
    return replace(found, era=era, framework=framework, rule="given in the row")


@cache
def framework_fault(name: str) -> str:
    """What is wrong with a framework of a row, a profile or a printed name; empty: nothing."""
    if name in FRAMEWORKS or name.lower() in map(str.lower, PRINTED):
        return ""
    return not_one_of(name, sorted({*FRAMEWORKS, *PRINTED}))


def _by_version(row: Mapping[str, str]) -> Rule | None:
    """The rule that fits framework and version together; None: no version, or no rule."""
    version = row.get("framework_version", "")
    return _rule_of(f"{row.get('framework', '')} {version}") if version else None


@cache
def _rule_of(text: str) -> Rule | None:
    """The first of `RULES` that fits a text."""
    return _fitting(text, RULES)


@cache
def _family_of(text: str) -> Rule | None:
    """The first of `FAMILIES` that fits a text."""
    return _fitting(text, FAMILIES)


def _fitting(text: str, rules: tuple[Rule, ...]) -> Rule | None:
    """The first rule whose pattern is found in a text."""
    return next((rule for rule in rules if re.search(rule.pattern, text, re.IGNORECASE)), None)


def _by_rule(row: Mapping[str, str]) -> Profile:
    source, name, hardware = row.get("source", ""), _printed_name(row), row["hardware"]
    of_source = _rule_of(source)
    own = {name: getattr(of_source, name, "") for name in ("site", "stalls", "network")}
    for what, rule in (
        ("framework_version", _by_version(row)),
        ("source", of_source),
        ("source", _family_of(source)),
        ("framework", _rule_of(name) or _family_of(name)),
    ):
        if rule is not None:
            return Profile(
                era=rule.era,
                framework=rule.framework,
                recompute=rule.recompute,
                rule=f"{what} matches '{rule.pattern}': {rule.because}",
                **own,
            )
    for start, (era, framework) in _OF_VENDOR.items():
        if hardware.startswith(start):
            return Profile(era=era, framework=framework, site="", rule=f"chip is a {start}")
    return Profile(era="megatron-core", framework="megatron", site="", rule=_FALLBACK)


def _printed_name(row: Mapping[str, str]) -> str:
    """The framework, and its name as printed where that stands before the version."""
    name, bar, _ = row.get("framework_version", "").partition("|")
    return f"{row.get('framework', '')} {name if bar else ''}"
