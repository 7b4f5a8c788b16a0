"""Clocks per operation of a plan, and what they save on the front of an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.base.vocabulary import PER_OPERATION
from planner.plan import Plan
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.operation_clocks import SWITCHING_S, OperationClocks, PassClocks
from planner.results.result import SolveResult
from planner.search.columns import BOTH
from planner.search.deadline import OutOfTime
from planner.search.operations.ahead import front_ahead
from planner.search.operations.capped import under_power
from planner.search.operations.clocks import clocks_per_operation, pass_clocks
from planner.search.operations.graph import why_no_clocks
from planner.search.operations.listing import lowest_is_leanest
from planner.search.uniform.engine import UniformSpace


def clocks_of_plan(
    resolved: Resolved, plan: Plan, switching_s: float, on_progress: Progress | None = None
) -> OperationClocks:
    """The clocks of a plan's operations, also under a limit on power if the question has one.

    Args:
        resolved: The job on its machine.
        plan: A plan that breaks no rule of arithmetic.
        switching_s: Seconds of a change of the clock.
        on_progress: Called with (what, done, of).

    Raises:
        InputError: It has none, or the limit cannot change the step.
    """
    request, limited = resolved.request, None
    if request.max_power is not None:
        limit = request.max_power, request.power_boundary
        limited = under_power(resolved.cost, plan, *limit, switching_s)
    found = clocks_per_operation(resolved.cost, plan, switching_s, on_progress)
    return replace(found, under_power=limited)


def clocks_drawn(resolved: Resolved, result: SolveResult) -> PassClocks | None:
    """The clocks of the best plan's operations, where an answer has some that are used.

    Args:
        resolved: The job on the machine of the plan.
        result: The answer.
    """
    if result.clocks is None or result.best is None:
        return None
    own = [one for one in result.clocks.points if one.step_time_s == result.best.step_time_s]
    if own and not own[0].worth:
        return None
    return pass_clocks(resolved.cost, result.best.plan, result.clocks.switching_s)


def clocks_of_answers(
    resolved: Resolved, on_progress: Progress | None
) -> Callable[[UniformSpace, SolveResult], SolveResult]:
    """What adds to an answer what clocks per operation save on its front.

    Args:
        resolved: The job on its machine.
        on_progress: Called with (what, done, of).

    Raises:
        InputError: The chip has one clock, energy is that of components, or no bound is known.
    """
    model = resolved.cost
    if problem := why_no_clocks(model):
        raise InputError(f"clocks: {problem}; leave {PER_OPERATION} out")
    if not lowest_is_leanest(model):
        raise InputError(
            f"clocks: at a lower clock kernels on {model.chip.name} may need more joules, so that "
            f"no bound is known; leave {PER_OPERATION} out"
        )

    def ahead(space: UniformSpace, result: SolveResult) -> SolveResult:
        return _with_clocks(resolved.request, space, result, on_progress)

    return ahead


def _with_clocks(
    request: Request, space: UniformSpace, result: SolveResult, on_progress: Progress | None
) -> SolveResult:
    """The answer of a search through a space with the clocks of its front."""
    if result.best is None:
        return result
    if not result.front.complete:
        return without_clocks(result)
    own = replace(space, columns=BOTH, session=None, beside=None)
    front = np.array([[one.step_time_s, one.energy_per_step_j] for one in result.front])
    plans = [one.plan for one in result.front]
    try:
        found = front_ahead(own, front, plans, SWITCHING_S, request.gap, on_progress)
    except OutOfTime:
        return without_clocks(result)
    return replace(result, clocks=found)


def without_clocks(result: SolveResult) -> SolveResult:
    """The answer, where time ended before its front was proved or its clocks were looked at."""
    line = f"Time ended before clocks {PER_OPERATION} were looked at: give a longer time limit."
    notes = replace(result.notes, caveats=(*result.notes.caveats, line))
    return replace(result, notes=notes)
