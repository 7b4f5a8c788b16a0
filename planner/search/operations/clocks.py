"""Clocks of the operations of a plan that need the least energy, in the time that the plan takes.

Three choices are compared: the best clock of every stage, which is proved; for every operation a
clock, with the seconds that a change takes; and operations that change between two clocks while
they run, where changes take no time, which the linear program has exactly. The last one's bound
holds for all.

With changes, operations are searched in groups: those at the ends of a step, where the pipeline
fills and drains, alone, those between by stage, kind and chunk (few operations: all alone). The
mixed-integer program is solved to a gap, or as well as its first node can; the rounded linear
program, made faster where changes make it late, has every operation alone. The better of the two is
taken. Nothing is limited in seconds: the answer does not depend on how fast the machine is.
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
from planner.results.operation_clocks import SHOWN_S, ClockChoice, OperationClocks, Slower
from planner.schedules.orders import REDUCTION
from planner.search.operations.graph import StepOperations, step_operations
from solvers.operations.graph import Levels, at_level, evaluated
from solvers.operations.program import solve, solve_whole
from solvers.operations.rounding import rounded

_SLOWER = (1.0, 1.01, 1.02, 1.05, 1.1)
"""Limits on the time of the front, relative to the plan's."""
_ALONE = 4
"""Passes of each chunk at both ends of a step that are groups of their own."""
_FEW = 150
"""Operations up to which all of them are."""
_MOST = 1_000
"""Operations up to which a mixed-integer program looks for whole clocks; else rounding does."""
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


def whole_clocks(steps: StepOperations, switching_s: float, limit_s: float) -> Levels:
    """The best clock of each operation that is found within a limit, no worse than one per stage.

    Args:
        steps: The operations of a plan.
        switching_s: Seconds of a change of the clock.
        limit_s: Seconds of the simulated step.
    """
    known = _Known(steps)
    base = evaluated(steps.graph, _of_operations(steps, known.stages(limit_s)))
    return _whole(known, switching_s, limit_s, base)


class _Known:
    """What is asked of a plan's operations more than once, solved once.

    Attributes:
        stages: By limit, the best clock per stage.
        mixed: By limit, the shares of clocks, where changes take no time.
        quick: By the seconds of a change and by limit, whole clocks made from them.
    """

    def __init__(self, steps: StepOperations) -> None:
        self.steps = steps
        self.stages = cache(lambda limit_s: _per_stage(steps, limit_s))
        self.mixed = cache(lambda limit_s: solve(steps.graph, limit_s))
        self.quick = cache(
            lambda seconds, limit_s: rounded(steps.with_switches(seconds), limit_s, self.mixed)
        )


def _per_stage(steps: StepOperations, limit_s: float) -> Levels:
    """The best clock per stage within a limit that some clocks keep."""
    graph = steps.graph.grouped(_stages(steps))
    found = solve_whole(graph, limit_s, nodes=max(_WORK // len(steps.stage), 1))
    if found is None:  # none in so many nodes: the highest clocks
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
    found = [base]
    quick = known.quick(switching_s, limit_s)
    if quick is not None:
        found.append(quick)
    if len(steps.stage) <= _MOST:
        group = _groups(steps)
        grouped = solve_whole(graph.grouped(group), limit_s, nodes=1, gap=_GAP)
        if grouped is not None:
            found.append(evaluated(graph, grouped.shares[group]))
    return min(
        (one for one in found if one.end <= limit_s * (1 + 1e-8)),
        key=lambda one: one.cost,
        default=base,
    )


def _groups(steps: StepOperations) -> IntArray:
    """(o,) the group of each operation, see the module."""
    if len(steps.stage) <= _FEW:
        return np.arange(len(steps.stage))
    names: dict[tuple[int, ...], int] = {}
    found = np.empty(len(steps.stage), dtype=np.intp)
    orders, alone = steps.orders, _ALONE * steps.orders.chunks
    for stage, row in enumerate(steps.of_pass.tolist()):
        for at, one in enumerate(row):
            between = alone <= at < len(row) - alone
            what = (int(orders.kind[stage, at]), int(orders.chunk[stage, at])) if between else ()
            name = (stage, *what) if between else (stage, at)
            if at == 0 or row[at - 1] != one:  # of passes side by side the first counts
                found[one] = names.setdefault((len(what), *name), len(names))
    for one in np.flatnonzero(steps.kind >= REDUCTION).tolist():
        found[one] = names.setdefault((-1, one), len(names))
    return found


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
