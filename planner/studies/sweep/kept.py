"""What a store keeps of an answer: status, bound, the best plan, the front, figures of the run.

It has the keys of `planner solve --json` (docs/json.md), without what a new solve gives when it is
wanted: reasons, sources, breakdowns of each plan. It holds nothing that depends on when or where
the question was solved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.plan import AXES
from planner.results.plan import PlanResult
from planner.results.result import SolveResult

_OF_PLAN = ("mesh", "offload")
_BY_BOUNDARY = ("energy_by_boundary_j", "power_by_boundary_w")
_OF_GOODPUT = ("share", "low", "high", "mtbf_s", "checkpoint_every_s")
_OF_RUN = ("time_s", "energy_j", "money")


def kept_of(result: SolveResult) -> dict[str, Any]:
    """An answer as JSON-ready data."""
    run = result.run.to_dict() if result.run else None
    return {
        "status": result.status,
        "objective_name": result.objective_name,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "best": None if result.best is None else _best(result.best),
        "front": {
            "complete": result.front.complete,
            "plans": [
                {**_plan(fields), **_run_costs(plan)}
                for fields, plan in zip(result.front_rows(), result.front, strict=True)
            ],
        },
        "training_run": None if run is None else _run(run),
        "diagnosis": None if result.diagnosis is None else result.diagnosis.explanation,
    }


def _best(best: PlanResult) -> dict[str, Any]:
    fields = best.to_dict()
    return {
        **_plan(fields),
        **{name: fields[name] for name in _BY_BOUNDARY},
        "breakdown": {"time_s": fields["breakdown"]["time_s"]},
    }


def _plan(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The single values of a plan, its mesh and its order of ranks."""
    return {
        **{name: value for name, value in fields.items() if _is_single(value) or name in _OF_PLAN},
        "placement": {"order": fields["placement"]["order"]},
        **{name: fields[name] for name in ("stages", "job", "objectives") if fields.get(name)},
    }


def _run_costs(plan: PlanResult) -> dict[str, Any]:
    """What the whole run takes with a plan of the front; without a price there is no money."""
    if plan.run is None:
        return {}
    costs = {name: float(getattr(plan.run, name)) for name in _OF_RUN}
    return {"run": {name: one if math.isfinite(one) else None for name, one in costs.items()}}


def _run(fields: Mapping[str, Any]) -> dict[str, Any]:
    goodput = fields.get("goodput") or {}
    return {
        **{name: value for name, value in fields.items() if _is_single(value)},
        "goodput": {name: goodput[name] for name in _OF_GOODPUT if name in goodput},
    }


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def mesh_words(plan: Mapping[str, Any]) -> str:
    """`tp8 pp2 dp4`, axes of size 1 left out."""
    mesh = plan["mesh"]
    sizes = [f"{axis}{mesh[axis]}" for axis in (*AXES, "ep", "etp") if mesh.get(axis, 1) > 1]
    return " ".join(sizes) or "1 chip"


def clock_words(plan: Mapping[str, Any]) -> str:
    """`clock 0.9`; empty: the full one, or every chip has its own."""
    clock = plan.get("clock", 1.0)
    return f"clock {clock:g}" if isinstance(clock, int | float) and clock != 1.0 else ""
