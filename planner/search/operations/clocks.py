"""Clocks of the operations of a plan that need the least energy, in the time that the plan takes.

Three choices are compared: the best clock of every stage, which is proved; for every operation a
clock, with the seconds that a change takes; and operations that change between two clocks while
they run, where changes take no time, which the linear program has exactly. The last one's bound
holds for all.

With changes, clocks begin as the best per stage and as the rounded linear program, made faster
where changes make it late. From the first, and from the second where it is still better, passes
that follow one another on a stage get slower together, in windows of half of them, of a quarter,
and so on down to single passes (`solvers.operations.windows`). Where operations are few, the
mixed-integer program is solved to a gap too, or as well as its first node can. The best is taken.
Without a deadline nothing is limited in seconds: the answer does not depend on how fast the machine
is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.timeline.timeline import timeline_of
from planner.plan import Plan
from planner.results.operation_clocks import (
    SHOWN_S,
    WORTH,
    ClockChoice,
    OperationClocks,
    PassClocks,
    Slower,
)
from planner.search.deadline import NEVER, Deadline
from planner.search.operations.graph import StepOperations, step_operations
from solvers.operations.graph import Levels, at_level, evaluated
from solvers.operations.program import solve, solve_whole
from solvers.operations.rounding import rounded
from solvers.operations.windows import slowed_in_windows

_SLOWER = (1.0, 1.01, 1.02, 1.05, 1.1)
"""Limits on the time of the front, relative to the plan's."""
_FEW = 150
"""Operations up to which a mixed-integer program looks for whole clocks too."""
_ROUNDED = 1 + 1e-8
"""How far beyond a limit levels may end: rounding of the program that chose them."""
_GAP = 1e-3
"""Relative, to which that program is solved, or as well as its first node can."""
_WORK = 20_000
"""Nodes times operations of the program for a clock per stage."""


def clocks_per_operation(
    model: CostModel, plan: Plan, switching_s: float, on_progress: Progress | None = None
) -> OperationClocks:
    """The best clocks of a plan's operations, in the simulated time of the plan as it is.

    Args:
        model: Its cost model.
        plan: A plan that breaks no rule of arithmetic.
        switching_s: Seconds of a change of the clock.
        on_progress: Called with (what, done, of).

    Raises:
        InputError: The chip has one clock, or the plan is not simulated.
    """
    steps = step_operations(model, plan)
    limit_s = timeline_of(model, plan).makespan_s
    times = sorted({*SHOWN_S, switching_s})

    def progress(done: int) -> None:
        if on_progress is not None:
            on_progress("clocks", done, len(times) + 2)

    progress(0)
    known = _Known(steps)
    stages = known.stages(limit_s)
    base = evaluated(steps.graph, _of_operations(steps, stages))
    mixed = known.mixed(limit_s) or base
    progress(1)
    found = []
    for at, seconds in enumerate(times):
        found.append(_whole(known, seconds, limit_s, base))
        progress(2 + at)
    front = _front(known, limit_s, found[0].cost)
    choices = tuple(
        _choice(steps, seconds, one, base, mixed) for seconds, one in zip(times, found, strict=True)
    )
    clocks, ends = _clocks(steps, base)
    answer = OperationClocks(
        operations=len(steps.stage),
        limit_s=limit_s,
        per_stage_j=base.cost,
        per_stage_bound_j=min(max(stages.bound, mixed.bound), base.cost),
        per_stage=tuple(steps.clocks[_first_levels(steps, base)].tolist()),
        choices=choices,
        switching_s=switching_s,
        front=front,
        clocks=clocks,
        ends=ends,
        orders=steps.orders,
    )
    if not answer.worth:
        return answer
    clocks, ends = _clocks(steps, found[times.index(switching_s)])
    return replace(answer, clocks=clocks, ends=ends)


def pass_clocks(model: CostModel, plan: Plan, switching_s: float) -> PassClocks:
    """What `clocks_per_operation` draws a plan with, for one time of a change alone.

    Raises:
        InputError: As there.
    """
    steps = step_operations(model, plan)
    limit_s = timeline_of(model, plan).makespan_s
    known = _Known(steps)
    base = evaluated(steps.graph, _of_operations(steps, known.stages(limit_s)))
    found = _whole(known, switching_s, limit_s, base)
    worth = 1 - found.cost / base.cost >= WORTH
    clocks, ends = _clocks(steps, found if worth else base)
    return PassClocks(clocks=clocks, ends=ends, switching_s=switching_s if worth else 0.0)


def whole_clocks(
    steps: StepOperations, switching_s: float, limit_s: float, deadline: Deadline = NEVER
) -> Levels:
    """The best clock of each operation that is found within a limit, no worse than one per stage.

    Args:
        steps: The operations of a plan.
        switching_s: Seconds of a change of the clock.
        limit_s: Seconds of the simulated step.
        deadline: When the best so far is returned.
    """
    known = _Known(steps, deadline)
    base = evaluated(steps.graph, _of_operations(steps, known.stages(limit_s)))
    return _whole(known, switching_s, limit_s, base)


class _Known:
    """What is asked of a plan's operations more than once, solved once.

    Attributes:
        stages: By limit, the best clock per stage.
        mixed: By limit, the shares of clocks, where changes take no time.
        quick: By the seconds of a change and by limit, whole clocks made from them.
    """

    def __init__(self, steps: StepOperations, deadline: Deadline = NEVER) -> None:
        self.steps, self.until = steps, deadline.moment
        until = self.until
        self.stages = cache(lambda limit_s: _per_stage(steps, limit_s, until))
        self.mixed = cache(lambda limit_s: solve(steps.graph, limit_s, until))
        self.quick = cache(
            lambda seconds, limit_s: rounded(
                steps.with_switches(seconds), limit_s, self.mixed, until
            )
        )


def _per_stage(steps: StepOperations, limit_s: float, until: float) -> Levels:
    """The best clock per stage within a limit that some clocks keep."""
    graph = steps.graph.grouped(_stages(steps))
    nodes = max(_WORK // len(steps.stage), 1)
    found = solve_whole(graph, limit_s, nodes=nodes, deadline=until)
    if found is None or found.end > limit_s * _ROUNDED:  # none in so many nodes, or in time
        return evaluated(graph, at_level(graph, np.zeros(graph.groups, dtype=np.intp)))
    return found


def _stages(steps: StepOperations) -> IntArray:
    """(o,) the stage of each operation; what belongs to none takes no clock."""
    return np.maximum(steps.stage, 0)


def _of_operations(steps: StepOperations, stages: Levels) -> FloatArray:
    """(o, k) the shares of stages, by operation."""
    return np.asarray(stages.shares[_stages(steps)])


def _front(known: _Known, limit_s: float, best: float) -> tuple[Slower, ...]:
    """Points at longer steps; clocks that end sooner (of `best` joules) are allowed later too."""
    found: list[Slower] = []
    for factor in _SLOWER:
        one = _slower(known, factor * limit_s)
        best = min(best, one.per_operation_j)
        found.append(replace(one, per_operation_j=best))
    return tuple(found)


def _slower(known: _Known, limit_s: float) -> Slower:
    """A point of the front."""
    base = known.stages(limit_s)
    mixed = known.mixed(limit_s)
    if mixed is None:
        return Slower(
            step_time_s=limit_s, per_stage_j=base.cost, per_operation_j=base.cost,
            mixed_j=base.cost, bound_j=min(base.bound, base.cost),
        )  # fmt: skip
    whole = known.quick(0.0, limit_s) or base
    return Slower(
        step_time_s=limit_s,
        per_stage_j=base.cost,
        per_operation_j=min(whole.cost, base.cost),
        mixed_j=min(mixed.cost, base.cost),
        bound_j=min(mixed.bound, mixed.cost),
    )


def _whole(known: _Known, switching_s: float, limit_s: float, base: Levels) -> Levels:
    """The best clock of each operation that is found, no worse than one per stage."""
    steps, graph = known.steps, known.steps.with_switches(switching_s)
    quick = known.quick(switching_s, limit_s)
    best = base
    for start in (base, quick):
        if start is None or start.cost > best.cost:
            continue
        level = start.shares.argmax(axis=1)
        slow = slowed_in_windows(graph, level, limit_s, steps.stage, known.until)
        best = min(best, start, evaluated(graph, at_level(graph, slow)), key=lambda one: one.cost)
    if len(steps.stage) > _FEW:
        return best
    first = solve_whole(graph, limit_s, nodes=1, gap=_GAP, deadline=known.until)
    if first is None or first.end > limit_s * _ROUNDED or best.cost < first.cost:
        return best
    return first


def _choice(
    steps: StepOperations, switching_s: float, found: Levels, base: Levels, mixed: Levels
) -> ClockChoice:
    return ClockChoice(
        switching_s=switching_s,
        step_time_s=found.end,
        energy_j=found.cost,
        bound_j=min(mixed.bound, found.cost),
        saved=1 - found.cost / base.cost,
        switches=steps.changes(found.shares.argmax(axis=1)),
    )


def _first_levels(steps: StepOperations, found: Levels) -> IntArray:
    """(pp,) the level of the first pass of each stage."""
    return np.asarray(found.shares.argmax(axis=1)[steps.of_pass[:, 0]])


def _clocks(steps: StepOperations, found: Levels) -> tuple[FloatArray, FloatArray]:
    """(pp, k) clocks of passes, and (pp,) of optimizers."""
    clocks = steps.clocks[found.shares.argmax(axis=1)]
    return clocks[steps.of_pass], clocks[steps.optimizers]
