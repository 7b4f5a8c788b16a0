"""Where each compared value stands in today's JSON: the one table to change when the JSON does.

The left side of every row is the name under which a value is saved, and never changes; the right
side is its place in a document of today, as a dotted path. A document of another kind than those
in `PLACES` is compared whole, under its own names.

Not compared anywhere: counts of nodes and candidates, seconds of a search, versions and hashes,
titles of sources, and prose, which has its own file.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

Places = dict[str, str]
_LAYOUT = runpy.run_path(
    str(Path(__file__).parents[2] / "planner" / "question" / "files" / "result_layout.py")
)
_PARTS: Places = _LAYOUT["PLACES"]  # dotted names in an answer of solve, by those that are saved

# What a plan decides: two plans with the same of these are the same plan.
DECISIONS: Places = {
    "chips": "chips",
    "mesh": "mesh",
    "micro_batch": "micro_batch",
    "schedule": "schedule",
    "interleave": "interleave",
    "sharding": "sharding",
    "sequence_parallel": "sequence_parallel",
    "cp_mode": "cp_mode",
    "recompute": "recompute",
    "offload": "offload",
    "split": "split",
    "clock": "clock",
    "order": "placement.order",
    "stages": "stages",
    "machine": "machine",
}

# What a plan costs, wherever a plan is shown.
COSTS: Places = {
    "micro_batches": "micro_batches",
    "step_time_s": "step_time_s",
    "step_time_low_s": "step_time_low_s",
    "step_time_high_s": "step_time_high_s",
    "energy_per_step_j": "energy_per_step_j",
    "energy_per_step_low_j": "energy_per_step_low_j",
    "energy_per_step_high_j": "energy_per_step_high_j",
    "power_per_chip_w": "power_per_chip_w",
    "energy_by_boundary_j": "energy_by_boundary_j",
    "power_by_boundary_w": "power_by_boundary_w",
    "memory_per_chip_bytes": "memory_per_chip_bytes",
    "memory_low_bytes": "memory_low_bytes",
    "memory_high_bytes": "memory_high_bytes",
    "host_memory_per_chip_bytes": "host_memory_per_chip_bytes",
    "memory_risk": "memory_risk",
    "out_of_memory_probability": "out_of_memory_probability",
    "lacks_headroom": "lacks_headroom",
    "mfu": "mfu",
    "hfu": "hfu",
    "tokens_per_s": "tokens_per_s",
    "communication_s": "communication_s",
    "breakdown": "breakdown",
    "levels": "placement.levels",
}

# What the best plan of `solve` and the plan of `evaluate` have beside that.
DETAILS: Places = {
    "per_stage": "per_stage",
    "per_level": "per_level",
    "collectives": "collectives",
    "memory_limit_bytes": "memory_limit_bytes",
    "chip_memory_bytes": "chip_memory_bytes",
    "simulated_step_time_s": "simulated_step_time_s",
}

# Of plans beside the best one: how they compare, and the objectives of a front.
FRONT_VALUES = {"time": "step_time_s", "energy": "energy_per_step_j",
                "memory": "memory_per_chip_bytes", "money": "objectives.money",
                "power": "objectives.power"}  # fmt: skip
VALUES: Places = {name: COSTS.get(name, name) for name in FRONT_VALUES.values()}

# An answer of `planner solve`, without its plans, which `PLANS` has.
_OF_SOLVE = (
    "status",
    "objective",
    "objective_name",
    "layout",
    "front_objectives",
    "front_complete",
    "front_limits",
    "top_complete",
    "interval",
    "training_run",
    "diagnosis",
    "defaults",
    "job",
    "plan_job",
    "asked",
    "machines",
)
SOLVE: Places = {name: _PARTS[name] for name in _OF_SOLVE}
# The same, where stages may differ.
OF_STAGES: Places = {
    "certificate.objective": "certificate.objective",
    "certificate.uniform": "certificate.uniform",
}
# Of an answer of `planner solve`, what depends on which of several equally good plans was found.
OF_BEST: Places = {
    name: _PARTS[name] for name in ("neighbors", "pools", "uniform_simulated_s", "gain_simulated")
}
# Where the plans of an answer of `planner solve` stand.
PLANS: Places = {name: _PARTS[name] for name in ("best", "uniform", "top", "front")}

_EVALUATE: Places = {
    "schema_version": "schema_version",
    **DECISIONS,
    **COSTS,
    **DETAILS,
    "energy_interval_by_boundary_j": "energy_interval_by_boundary_j",
    "power_interval_by_boundary_w": "power_interval_by_boundary_w",
    "fits": "fits",
    "interval": "interval",
    "training_run": "training_run",
    "defaults": "defaults",
    "pools": "pools",
    "job": "job",
    "plan_job": "plan_job",
    "asked": "asked",
    "launch": "launch",
}
_EXPLAIN: Places = {
    **_EVALUATE,
    "objective_name": "objective_name",
    "binding": "binding",
    "steps": "steps",
    "refused": "refused",
    "elasticities": "elasticities",
    "better": "better",
    "overtakings": "overtakings",
}
PLACES: dict[str, Places] = {"evaluate": _EVALUATE, "explain": _EXPLAIN}
"""Kind of a document to its names; `solve` has SOLVE, OF_BEST and PLANS."""

# Fields that are left out of every document, at any depth.
NOT_COMPARED = frozenset({
    "versions", "framework_version", "digest", "sha256", "bytes", "date", "seconds", "counts",
    "front_counts", "evaluated", "chip_counts", "partial_plans", "bound", "counts_tried",
    "resolution", "answering", "environment", "extras",
    # prose and titles
    "words", "why", "reason", "verdict", "sentence", "explanation", "note", "notes", "source",
    "sources", "title", "workload_title", "warnings", "losses", "mfu_convention", "front_note",
    "remarks", "description", "not_simulated", "origin", "because", "unit", "caveats",
    # long lists of which the counts are kept
    "refused_runs",
})  # fmt: skip


_NAMED = 30  # points of a front whose plans are listed
_IN_NAMES = ("chips", "mesh", "micro_batch", "schedule", "interleave", "sharding", "recompute",
             "clock", "machine")  # fmt: skip


def at(document: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for step in path.split("."):
        if not isinstance(document, dict) or step not in document:
            return None
        document = document[step]
    return document


def compared_part(value: Any) -> Any:
    """A value without what is never compared."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in NOT_COMPARED}
        return {name: compared_part(item) for name, item in kept.items()}
    return [compared_part(item) for item in value] if isinstance(value, list) else value


def extracted(kind: str, document: Any) -> Any:
    """What is saved and compared of a document."""
    if not isinstance(document, dict):
        return compared_part(document)
    if kind == "solve":
        return _of_solve(document)
    if kind == "vary":
        return compared_part({**document, "points": [_of_point(p) for p in document["points"]]})
    if kind in PLACES:
        return _picked(document, PLACES[kind])
    return compared_part(document)


def _of_point(point: dict[str, Any]) -> dict[str, Any]:
    """A value of what is varied, with what counts of its answer."""
    answer = _of_solve(point["answer"])
    kept = {name: answer[name] for name in ("status", "objective", "plan") if name in answer}
    return {**point, "answer": kept}


def _picked(document: Any, places: Places) -> dict[str, Any]:
    """The values of a table that are there, without those that are null."""
    found = {name: at(document, path) for name, path in places.items()}
    return {name: compared_part(value) for name, value in found.items() if value is not None}


def _of_solve(document: dict[str, Any]) -> dict[str, Any]:
    document = _LAYOUT["as_parts"](document) if _LAYOUT["is_solved"](document) else document
    found = _picked(document, SOLVE)
    best, uniform = at(document, PLANS["best"]), at(document, PLANS["uniform"])
    if best is not None and found["layout"] != "uniform":
        found |= _picked(document, OF_STAGES)
    if best is not None:
        found["plan"] = _picked(best, DECISIONS)
        found["cost"] = _picked(best, COSTS | DETAILS)
        found["of_best"] = _picked(document, OF_BEST)
    if uniform is not None:
        found["uniform"] = {"plan": named(uniform), **_picked(uniform, VALUES)}
    found["top"] = [
        {"plan": named(one), **_picked(one, VALUES), "tie": one.get("tie")}
        for one in at(document, PLANS["top"]) or ()
    ]
    values = [FRONT_VALUES[name] for name in found["front_objectives"]]
    front = at(document, PLANS["front"]) or ()
    found["front"] = [
        {"proved": one.get("proved"), **{name: at(one, VALUES[name]) for name in values}}
        for one in front
    ]
    if len(front) <= _NAMED:
        found["front"] = [
            {"plan": named(plan), **point}
            for plan, point in zip(front, found["front"], strict=True)
        ]
    return found


def named(plan: Any) -> str:
    """A plan in one line, for plans that may be replaced by others of equal value."""
    words = []
    for name, value in _picked(plan, {one: DECISIONS[one] for one in _IN_NAMES}).items():
        if isinstance(value, dict):
            sizes = value.items()
            words += [f"{axis}={size}" for axis, size in sizes if name != "mesh" or size != 1]
        else:
            words.append(f"{name}={value}")
    return " ".join(words)
