"""Where no uneven plan fits in memory: a lean one, and by how much its fullest stage is over.

Every row has a least limit at which its stages have room for all layers, by the relaxation of
`planner.search.uneven.bounds.memory`: no plan holds fewer bytes than the least of those. On the
row where it is least, the limit then rises from there until the stages can be filled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds.memory import fits_in_memory, second_bound
from planner.search.uneven.bounds.time import row_forms
from planner.search.uneven.columns.columns import row_columns
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from planner.search.uneven.terms import row_terms
from solvers.stages.backend import Question
from solvers.stages.solving import solve_stages

_CLOSE = 1.001  # how near the least limit is found
_LIMITS, _TIMES = (1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0), (1.2, 2.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why nothing fits.

    Attributes:
        plan: A lean plan, which more memory alone would let run.
        stage: Its fullest stage, from 0.
        needed_bytes: Of that stage, per chip.
        limit_bytes: What a plan may fill.
        least_bytes: No plan of any row holds fewer on its fullest stage, but for 0.1 %.
    """

    plan: Plan
    stage: int
    needed_bytes: float
    limit_bytes: float
    least_bytes: float


def shortage(
    model: CostModel,
    options: SpaceOptions,
    limits: Limits,
    chips: int,
    deadline: Deadline = NEVER,
) -> Shortage | None:
    """What memory the leanest rows miss; None where rows have room, or there are no rows.

    Args:
        model, options, limits: What was searched, and within what.
        chips: Chips that plans use.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    rows = cross_rows(model, uneven_partial_plans(model, (chips,), options), options, deadline)
    limit = limits.chip_bytes(model)
    if not len(rows) or fits_in_memory(model, limits, rows, deadline).any():
        return None
    least, rows = _least_limit(model, rows, max(limit, 1.0), deadline)
    rows, _ = rows.take(np.arange(min(len(rows), 3))).by_fullest(model.job.model.layers)
    for factor in _LIMITS:
        held = Limits(memory_bytes=least * factor)
        plans = (_plan(model, held, rows, row, deadline) for row in range(len(rows)))
        plan = next((plan for plan in plans if plan is not None), None)
        if plan is not None:
            found = memory_table(model, PlanTable.from_plans([plan]))
            return Shortage(
                plan=plan,
                stage=int(found.binding_stage[0]),
                needed_bytes=float(found.peak[0]),
                limit_bytes=limit,
                least_bytes=least / _CLOSE,
            )
    return None


def _least_limit(
    model: CostModel, rows: Rows, known: float, deadline: Deadline
) -> tuple[float, Rows]:
    """A limit at which rows have room, near the least one above `known`, and those rows."""

    def room(limit: float) -> Rows:
        held = Limits(memory_bytes=limit)
        return rows.take(np.flatnonzero(fits_in_memory(model, held, rows, deadline)))

    low = high = known
    while not len(found := room(high)):
        low, high = high, 2 * high
    rows = found
    while high > low * _CLOSE:
        middle = (low * high) ** 0.5
        found = room(middle)
        if len(found):
            high, rows = middle, found
        else:
            low = middle
    return high, rows


def _plan(
    model: CostModel, limits: Limits, rows: Rows, row: int, deadline: Deadline
) -> Plan | None:
    """A plan of a row within a limit on memory; None where none is found soon."""
    clocks = model.clocks(wanted=False)
    one = rows.take(np.array([row]))
    forms = row_forms(model, one, row_terms(model, one, clocks))
    least = float(second_bound(model, limits, one, forms, np.inf)[0])
    if not np.isfinite(least):
        return None
    for longer in _TIMES:
        columns = row_columns(model, limits, one, 0, clocks, least * longer, deadline=deadline)
        if columns is None:
            continue
        found = solve_stages(Question(problem=columns.problem, seconds=deadline.left_s))
        if found.decision is not None:
            return columns.plan(found.decision)
        deadline.check()
    return None
