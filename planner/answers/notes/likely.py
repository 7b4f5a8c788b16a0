"""How sure an answer is: what its intervals rest on, and which plans are too close to call."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence

import numpy as np

from planner.cost.context import CostModel
from planner.cost.intervals import LEVEL, is_prediction, situation, tie_noise
from planner.explanation.judging import is_tie
from planner.objectives import Objective
from planner.plan import PlanTable
from planner.results.parts import Spread
from planner.results.plan import PlanResult, RankedPlan
from planner.search.best_few import BestFew, best_few, best_few_later
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status


def spread_of(model: CostModel) -> Spread | None:
    """What the intervals of a job's plans rest on; None where times are bounds."""
    a = model.assumptions
    if not is_prediction(a):
        return None
    found = situation(model.job, model.cluster, local_runs=a.local_runs, fitted=a.are_fitted)
    return Spread(
        level=LEVEL,
        situation=found.name,
        words=found.words,
        low=found.low,
        high=found.high,
        rows=found.rows,
        sources=found.sources,
        tie_factor=math.exp(tie_noise(model.job)),
    )


def likely_plans(
    space: UniformSpace, objective: Objective, best: PlanTable, value: float, status: Status
) -> tuple[Callable[[], BestFew], bool]:
    """The best three plans that differ in mesh or micro-batch, when asked for; if that is proved.

    Under a time limit they are looked for at once.

    Args:
        space: After its search on exactly the chips asked for.
        objective: What is minimized; of memory only the best plan is returned.
        best: One row, the best plan.
        value: Its objective.
        status: Of the search that proved it.
    """
    if objective.of_memory or space.last is None:
        none = best.take(np.arange(0))
        few = BestFew(plans=best, proved=False, near=none, values=np.array([value]))
        return lambda: few, False
    proved = status is Status.OPTIMAL
    if space.deadline is None:
        return best_few_later(space, space.last, objective, best, value), proved
    few = best_few(space, space.last, objective, best, value)
    return lambda: few, few.proved and proved


def against_first(
    model: CostModel,
    results: Sequence[PlanResult],
    objective: Objective,
    measure: Container[int] = (),
) -> tuple[RankedPlan, ...]:
    """Plans against the first of them, the best one: how far they are, and whether they tie.

    Args:
        model: Job, cluster, assumptions.
        results: The plans, the best first.
        objective: What is minimized.
        measure: Positions of those that are worth measuring.
    """
    least = objective.value_of(results[0].costs)
    return tuple(
        RankedPlan(
            result=result,
            difference=objective.value_of(result.costs) / least - 1,
            tie=is_tie(model, results[0], result, objective),
            measure=at in measure,
        )
        for at, result in enumerate(results)
    )
