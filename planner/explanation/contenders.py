"""Other plans that may be had, beside a plan: which are better already, which tie with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import log
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import Totals, evaluate_totals
from planner.explanation.judging import deciding, tie_ratio
from planner.objectives import Costs, Objective
from planner.plan import Plan, PlanTable

SAME_COST = 1e-4
"""Logarithm of the ratio of two results from which one of them is better."""


def values_of(objective: Objective, totals: Totals) -> FloatArray:
    """(n,) an objective of the totals of a table."""
    return objective.values(
        Costs(
            step_time_s=totals.step_time_s,
            energy_j=totals.energy_j,
            memory_bytes=totals.memory_bytes,
            chips=totals.chips.astype(np.float64),
            run=totals.runs() if objective.of_run else None,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another plan that may be had.

    Attributes:
        change: What it does differently.
        plan: It.
        relative: Its objective over that of the plan, minus one.
        tie: Whether the two cannot be told apart; None where times are bounds.
    """

    change: str
    plan: Plan = field(repr=False)
    relative: float
    tie: bool | None

    @property
    def behind(self) -> float:
        """Logarithm of its objective over that of the plan."""
        return log(1 + self.relative)

    @property
    def is_better(self) -> bool:
        """Whether it costs less, by more than `SAME_COST`."""
        return self.behind < -SAME_COST

    @property
    def is_worse(self) -> bool:
        """Whether it costs more, by more than `SAME_COST`."""
        return self.behind > SAME_COST

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {"change": self.change, "relative": self.relative, "tie": self.tie}


def rivals_of(
    model: CostModel, plan: Plan, others: Sequence[tuple[str, Plan]], objective: Objective
) -> tuple[Rival, ...]:
    """Other plans beside a plan, in their order.

    Args:
        model: Job, cluster, assumptions.
        plan: The plan.
        others: What each of them does differently, and it.
        objective: What they are compared by.
    """
    totals = evaluate_totals(model, PlanTable.from_plans([plan, *(one for _, one in others)]))
    values = values_of(objective, totals)
    decides = values_of(deciding(objective), totals)
    apart = np.abs(np.log(decides / decides[0]))
    ratios = [tie_ratio(model, plan, other, objective) for _, other in others]
    return tuple(
        Rival(
            change=change,
            plan=other,
            relative=float(values[row] / values[0] - 1),
            tie=None if ratio is None else bool(apart[row] <= log(ratio)),
        )
        for row, ((change, other), ratio) in enumerate(zip(others, ratios, strict=True), 1)
    )


def better_of(rivals: Sequence[Rival]) -> tuple[Rival, ...]:
    """Those that are better already, the best first."""
    found = (rival for rival in rivals if rival.is_better)
    return tuple(sorted(found, key=lambda rival: rival.relative))
