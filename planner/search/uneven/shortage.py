"""Where no uneven plan fits in memory: a lean one, and by how much its fullest stage is over.

Every row has a least limit at which its stages have room for all layers, by the relaxation of
`planner.search.uneven.bounds.memory`: no plan holds fewer bytes than the least of those. On the
row where it is least, the limit then rises from there until the stages can be filled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray
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
_DOUBLINGS = 64
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

    def roomy(held: Limits, at: IntArray) -> BoolArray:
        return fits_in_memory(model, held, rows.take(at), deadline)

    least, at = least_limit(roomy, len(rows), max(limit, 1.0), _CLOSE, _DOUBLINGS)
    rows, _ = rows.take(at[:3]).by_fullest(model.job.model.layers)
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


def least_limit(
    roomy: Callable[[Limits, IntArray], BoolArray],
    count: int,
    known: float,
    close: float,
    doublings: int,
) -> tuple[float, IntArray]:
    """A limit on the bytes of a chip at which rows have room, and those rows; none if none has.

    Args:
        roomy: Which of some rows have room within a limit.
        count: Of the rows.
        known: A limit at which none has.
        close: How near the least one it is.
        doublings: Of the limit that is known, at most.
    """
    at, low, high = np.arange(count), known, known
    found = at[:0]
    for _ in range(doublings):
        low, high = high, 2 * high
        found = at[roomy(Limits(memory_bytes=high), at)]
        if len(found):
            break
    at = found
    while len(at) and high > low * close:
        middle = (low * high) ** 0.5
        found = at[roomy(Limits(memory_bytes=middle), at)]
        if len(found):
            at, high = found, middle
        else:
            low = middle
    return high, at


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
