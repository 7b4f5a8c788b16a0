"""Where the parts of an answer of `planner solve` stand in its JSON, today and in version 1.

Version 1 was one flat object. `PLACES` is the one table between the two; whatever reads answers
reads them through `as_parts`. This module imports nothing of ours: benchmarks read it alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FLAT_VERSION = 1
RESULT_VERSION = 2
"""Of the documents of `planner solve`, since they are made of parts."""

PLACES: dict[str, str] = {
    "status": "certificate.status",
    "objective_name": "certificate.objective_name",
    "objective": "certificate.objective",
    "bound": "certificate.bound",
    "gap": "certificate.gap",
    "best": "best",
    "front": "front.plans",
    "front_objectives": "front.objectives",
    "front_complete": "front.complete",
    "front_note": "front.note",
    "front_limits": "front.limits",
    "top": "candidates.top",
    "top_complete": "candidates.top_complete",
    "neighbors": "candidates.neighbors",
    "counts": "candidates.counts",
    "front_counts": "candidates.front_counts",
    "machines": "candidates.machines",
    "seconds": "candidates.seconds",
    "layout": "stages.layout",
    "uniform": "stages.uniform",
    "uniform_simulated_s": "stages.uniform_simulated_s",
    "gain_simulated": "stages.gain_simulated",
    "pools": "stages.pools",
    "why": "notes.why",
    "losses": "notes.losses",
    "defaults": "notes.defaults",
    "interval": "notes.interval",
    "mfu_convention": "notes.mfu_convention",
    "sources": "notes.sources",
    "training_run": "training_run",
    "diagnosis": "diagnosis",
    "job": "question.job",
    "plan_job": "question.plan_job",
    "asked": "question.asked",
    "versions": "versions",
    "digest": "digest",
}
"""Dotted names of today by those of version 1, but for `certificate`, see `_certificate`."""

_CAVEATS, _ANY = "caveats", "any"
_STAGES = {"skeletons": "partial_plans"}  # counts of version 1 by their names of today
_SHARING = "roofline"  # the assumptions under which chips share a step's tokens
_UNITS = {"time": "s", "energy": "J", "edp": "J s", "memory": "B"}  # of objectives in version 1
_OF_VERSION_1 = frozenset({"status", "front", "best", "plan_job"})
_PARTS = frozenset({"certificate", "front", "best", "question"})


def is_solved(data: Mapping[str, Any]) -> bool:
    """Whether a document is an answer of `planner solve`, of this version or of version 1."""
    return data.keys() >= _OF_VERSION_1 or (
        data.keys() >= _PARTS and isinstance(data["front"], Mapping)
    )


def as_parts(data: Mapping[str, Any]) -> dict[str, Any]:
    """An answer of `planner solve` in the parts of today, from this version or from version 1.

    What is not as any version has it stays as it is, to be refused where it is read.
    """
    if "certificate" in data and isinstance(data["front"], Mapping):
        return _with_boundary(_with_every_plan(data))
    parts: dict[str, Any] = {"schema_version": RESULT_VERSION}
    if data.get("schema_version") != FLAT_VERSION:
        parts["schema_version"] = data.get("schema_version")
    for old, place in PLACES.items():
        part, _, name = place.partition(".")
        if old in data and name:
            parts.setdefault(part, {})[name] = data[old]
        elif old in data:
            parts[part] = data[old]
    if "candidates" in parts:
        parts["candidates"] = _renamed(parts["candidates"])
    parts["certificate"] = _certificate(data, parts.get("certificate", {}))
    if isinstance(parts.get("question"), Mapping):
        parts["question"] = _with_smaller_counts(parts["question"])
    if isinstance(data.get("versions"), Mapping):
        parts["versions"] = {**data["versions"], "schema": str(parts["schema_version"])}
    return _with_boundary(_with_every_plan(parts))


def _with_every_plan(parts: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that says nothing of its scope: every plan was searched, at any risk."""
    notes, question = parts.get("notes"), parts.get("question")
    asked = question.get("asked") if isinstance(question, Mapping) else None
    if not isinstance(notes, Mapping) or not isinstance(asked, Mapping) or _CAVEATS in notes:
        return dict(parts)
    asked = {"runnable_in": [_ANY], "max_oom_risk": 1.0, **asked}
    return {**parts, "question": {**dict(question or {}), "asked": asked}}


def _with_boundary(parts: Mapping[str, Any]) -> dict[str, Any]:
    """An answer whose limit on power says where it holds: at nodes and fabric where none does.

    Answers before that could be chosen do not say it.
    """
    question = parts.get("question")
    if not isinstance(question, Mapping) or not isinstance(question.get("asked"), Mapping):
        return dict(parts)
    asked = question["asked"]
    if asked.get("max_power") is None:
        return dict(parts)
    return {
        **parts,
        "question": {**question, "asked": {"power_boundary": "node_and_fabric", **asked}},
    }


def _with_smaller_counts(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question of version 1, in which `chips` let the front range over smaller counts too."""
    asked = question.get("asked")
    if not isinstance(asked, Mapping):
        return dict(question)
    today = {name: value for name, value in asked.items() if name != "chips_exact"}
    own = asked.get("chips_exact") or str(asked.get("assumptions", "")).startswith(_SHARING)
    if "chips" in asked and not own and asked.get("layout", "uniform") == "uniform":
        today["chips_at_most"] = today.pop("chips")
    elif "chips" not in asked and "chips_exact" in asked:
        today["chips_exact"] = asked["chips_exact"]
    return {**question, "asked": today}


def _renamed(candidates: Mapping[str, Any]) -> dict[str, Any]:
    """The counts with the names of today."""
    renamed = dict(candidates)
    for name in ("counts", "front_counts"):
        if isinstance(counts := renamed.get(name), Mapping):
            renamed[name] = {_STAGES.get(stage, stage): one for stage, one in counts.items()}
    if isinstance(machines := renamed.get("machines"), list):
        renamed["machines"] = [
            {_STAGES.get(name, name): value for name, value in one.items()}
            if isinstance(one, Mapping)
            else one
            for one in machines
        ]
    return renamed


def _certificate(data: Mapping[str, Any], proof: Mapping[str, Any]) -> dict[str, Any]:
    """That of an answer of version 1, which had one only where stages may differ."""
    known = data.get("certificate")
    unit = _UNITS.get(str(data.get("objective_name")))
    if isinstance(known, Mapping):
        return {**_bounds_renamed(known), **proof, "objective_unit": unit}
    return {
        **proof,
        "objective_unit": unit,
        "uniform": proof.get("objective"),
        "funnel": [],
        "solved": 0,
        "stage_solves": 0,
        "left": 0,
        "lowest_left": None,
        "solvers": {},
        "steps": [],
    }


def _bounds_renamed(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate of version 1 whose bounds have the names of today."""
    renamed = dict(certificate)
    if isinstance(funnel := renamed.get("funnel"), list):
        renamed["funnel"] = [_of_today(bound) for bound in funnel]
    return renamed


def _of_today(bound: Any) -> Any:
    """A bound of a certificate of version 1 under its name of today."""
    if not (isinstance(bound, Mapping) and isinstance(bound.get("name"), str)):
        return bound
    return {**bound, "name": re.sub(r" told$", " launchable", bound["name"])}


def front_of(data: Mapping[str, Any]) -> tuple[Any, Any]:
    """The plans of the front in a document, and the job of those without one; None: it has none."""
    if not is_solved(data):
        return data.get("front"), data.get("plan_job")
    parts = as_parts(data)
    question = parts.get("question")
    job = question.get("plan_job") if isinstance(question, Mapping) else None
    return parts["front"].get("plans"), job


def version_of_plans(data: Mapping[str, Any]) -> Any:
    """The schema version of the plans in a document: parts or not, they are as plan files are."""
    version = data.get("schema_version")
    return FLAT_VERSION if is_solved(data) and version == RESULT_VERSION else version


def top_of(data: Mapping[str, Any]) -> Any:
    """The best few plans in an answer of `planner solve`; None elsewhere."""
    if not is_solved(data):
        return None
    found = as_parts(data).get("candidates")
    return found.get("top") if isinstance(found, Mapping) else None
