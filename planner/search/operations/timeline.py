"""A timeline whose operations have clocks of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.timeline.timeline import Timeline, timeline_of
from planner.plan import Plan
from planner.results.operation_clocks import PassClocks
from planner.schedules.orders import OVERHEAD, REDUCTION
from planner.search.operations.graph import StepOperations, step_operations
from solvers.operations.graph import Levels, at_level, evaluated


def clocked_timeline(model: CostModel, plan: Plan, clocks: PassClocks) -> Timeline:
    """The step of a plan at clocks of its operations, with the changes of the clock and pauses.

    Args:
        model: Its cost model.
        plan: The plan, of which `clocks` are.
        clocks: Those of all passes and optimizers.
    """
    steps = step_operations(model, plan)
    level = np.zeros(len(steps.stage), dtype=np.intp)
    for of, own in ((steps.of_pass, clocks.clocks), (steps.optimizers, clocks.ends)):
        level[of] = np.abs(own[..., None] - steps.clocks).argmin(axis=-1)
    graph = steps.with_switches(clocks.switching_s)
    found = evaluated(graph, at_level(graph, level))
    if clocks.begin_s is not None:
        found = replace(found, begin=clocks.begin_s, end=clocks.step_time_s)
    begin, overhead = found.begin.copy(), np.flatnonzero(steps.kind == OVERHEAD)[-1]
    begin[overhead] = found.end - found.seconds[overhead]  # changes for the next step are before it
    return _timed(timeline_of(model, plan), steps, replace(found, begin=begin), level)


def _timed(plain: Timeline, steps: StepOperations, found: Levels, level: IntArray) -> Timeline:
    """A simulated timeline with other seconds and with clocks."""
    at = _operation_of(plain, steps)
    start, end = found.begin[at], found.begin[at] + found.seconds[at]
    # Passes side by side are one operation: they follow one another in their old proportions.
    for one in np.flatnonzero(np.bincount(at, minlength=len(found.begin)) > 1).tolist():
        rows = np.flatnonzero((at == one) & (plain.kind != OVERHEAD))
        if len(rows):
            took = plain.end_s[rows] - plain.start_s[rows]
            ends = start[rows[0]] + found.seconds[one] * np.cumsum(took) / max(took.sum(), 1e-300)
            start[rows], end[rows] = ends - found.seconds[one] * took / took.sum(), ends
    busy = np.zeros(plain.stages)
    np.add.at(busy, plain.stage, end - start)
    passes = plain.micro_batch >= 0
    clock: FloatArray = steps.clocks[level[at]]
    clock[(plain.kind == REDUCTION) | (plain.kind == OVERHEAD)] = np.nan
    return replace(
        plain,
        start_s=start,
        end_s=end,
        clock=clock,
        busy_s=busy,
        pipeline_s=float(end[passes].max()),
        makespan_s=found.end,
    )


def _operation_of(plain: Timeline, steps: StepOperations) -> IntArray:
    """(n,) the operation of each row of a timeline."""
    found = np.empty(len(plain.stage), dtype=np.intp)
    for stage in range(plain.stages):
        here = np.flatnonzero(plain.of_stage(stage))
        passes = here[plain.micro_batch[here] >= 0]
        found[passes] = steps.of_pass[stage]
        for row in here[plain.micro_batch[here] < 0].tolist():
            kind = plain.kind[row]
            same = (steps.kind == kind) & ((steps.stage == stage) | (kind == OVERHEAD))
            found[row] = np.flatnonzero(same)[-1]
    return found
