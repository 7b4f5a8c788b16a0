"""What is said of whole runs that plans are chosen by: what nobody knows, how the plan changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from planner.cost.context import CostModel
from planner.objectives import OBJECTIVES
from planner.plan import Plan
from planner.question.request import Request
from planner.results.plan import PlanResult

_MOST = 6
"""Kinds of plans that are named."""


def run_words(request: Request, model: CostModel | None) -> list[str]:
    """That failures are left out where nobody knows how often chips fail, in a sentence."""
    if model is None or model.run is None or model.run.fails:
        return []
    limits = (request.deadline, request.budget, request.max_run_energy)
    asked = any(one.of_run for one in (request.minimized, *request.compared))
    if not asked and all(limit is None for limit in limits):
        return []
    return [
        f"Nobody published how often {model.chip.name} fails: the run is one without failures, "
        "which makes more chips look better than they are (--chip-hours-per-failure)."
    ]


def changes_along(front: Sequence[PlanResult], objectives: Sequence[str]) -> str:
    """How the plan changes along a front of whole runs, in a sentence; empty of other fronts.

    Data ranks and clock follow from chips and time: what is named is how a copy of the model is
    divided, and from how many chips on there is more than one.
    """
    first = OBJECTIVES[objectives[0]]
    if not first.of_run or len(front) < 2:
        return ""
    kinds = [[*points] for _, points in groupby(front, lambda one: _kind(one.plan))]
    if len(kinds) == 1:
        return f" Along it only data ranks and clock change: {_kind_words(front[0].plan)}."
    words = [
        f"{_kind_words(points[0].plan)} on {_ends([one.chips for one in points], '{:,.0f}'.format)}"
        f" chips ({_ends([first.value_of(one.costs) for one in points], first.show)})"
        for points in kinds
    ]
    if len(words) > _MOST:
        left = len(words) - _MOST + 1
        words = [*words[: _MOST // 2], f"{left} more", *words[-(_MOST - _MOST // 2 - 1) :]]
    return f" Along it the plan changes: {'; '.join(words)}.{_replicas(front)}"


def _replicas(front: Sequence[PlanResult]) -> str:
    """From how many chips on the model is there more than once."""
    alone = [one.chips for one in front if one.plan.dp == 1]
    copies = [one.chips for one in front if one.plan.dp > 1]
    if not alone or not copies or max(alone) >= min(copies):
        return ""
    return f" A second copy of the state (dp) is worth it from {min(copies):,} chips on."


def _kind(plan: Plan) -> tuple[int, ...]:
    return plan.tp, plan.cp, plan.pp, plan.ep, plan.etp, int(plan.fsdp > 1)


def _kind_words(plan: Plan) -> str:
    sizes = {axis: getattr(plan, axis) for axis in ("tp", "cp", "pp", "ep", "etp")}
    words = [f"{axis} {size}" for axis, size in sizes.items() if size > 1]
    words += ["fsdp"] if plan.fsdp > 1 else []
    return " x ".join(words) or "data ranks alone"


def _ends(values: Sequence[float], show: Callable[[float], str]) -> str:
    """One value, or the least and the most."""
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low} to {high}"
