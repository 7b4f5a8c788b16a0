"""Clocks and pauses of a plan's operations under a limit on power at every moment.

A stage that runs an operation draws what its kernels add, on average over the operation; all chips
that wait, with their hosts and the network, draw theirs all the time. A limit on the sum at every
moment, at the boundary that is asked for, leaves the rest to the operations that run at once, which
`solvers.operations.shortest` places: it chooses a clock for each and lets some begin later.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import distinguished
from planner.base.units import show_watts
from planner.cost.context import CostModel
from planner.cost.energy.meter import Meter, meter_of
from planner.plan import Plan
from planner.plan.clocks import clocks_of
from planner.results.operation_clocks import PausedClocks, UnderPower
from planner.search.operations.graph import StepOperations, step_operations
from solvers.operations.graph import Levels, at_level, evaluated, lags, turns
from solvers.operations.power import most_at_once
from solvers.operations.shortest import Shortest, shortest

_MOST = 2_000
"""Operations beyond which no schedule is looked for."""
_SAME_S = 1e-9
"""Seconds by which an operation may begin later without a pause."""


def under_power(
    model: CostModel, plan: Plan, limit_w: float, boundary: str, switching_s: float
) -> UnderPower:
    """The shortest step of a plan that never draws more than a limit, of those that are found.

    Args:
        model: Its cost model.
        plan: A plan that breaks no rule of arithmetic.
        limit_w: Of all chips of the plan.
        boundary: Where it holds.
        switching_s: Seconds of a change of the clock.

    Raises:
        InputError: The plan is not simulated, has too many operations, or draws less anyway.
    """
    steps = step_operations(model, plan, _MOST)
    scale = _Scale(steps, meter_of(model, boundary, plan.chips))
    own = _own_levels(steps, plan)
    as_is = evaluated(steps.graph, at_level(steps.graph, own))
    as_it_is_w = scale.most_w(as_is.begin, as_is.seconds, own)
    fastest = _same(steps, 0)
    most_w = scale.most_w(fastest.begin, fastest.seconds, np.zeros_like(own))
    if limit_w >= max(most_w, as_it_is_w):
        given, most = distinguished(limit_w, most_w, show_watts)
        raise InputError(
            f"max-power: {given} cannot change the step: at most "
            f"{most} are drawn at any moment; lower it or leave it out"
        )
    graph = steps.with_switches(switching_s)
    cap = scale.left_w(limit_w)
    found = shortest(graph, scale.power, cap, steps.stage) if cap > 0 else None
    return UnderPower(
        limit_w=limit_w,
        boundary=boundary,
        needed_w=scale.shown_w(float(scale.power.min(axis=1).max())),
        as_it_is_s=as_is.end,
        as_it_is_w=as_it_is_w,
        one_clock=_one_clock(steps, scale, limit_w),
        found=None if found is None else _paused(steps, scale, found, switching_s),
        switching_s=switching_s,
    )


class _Scale:
    """What operations draw, and what a meter shows of it.

    Attributes:
        power: (o, k) what each operation adds while it runs.
    """

    def __init__(self, steps: StepOperations, meter: Meter) -> None:
        seconds = steps.graph.seconds
        self.power: FloatArray = steps.graph.cost / np.where(seconds > 0, seconds, np.inf)
        self.meter, self.standing_w = meter, steps.graph.per_second

    def shown_w(self, added_w: float) -> float:
        """What the meter shows where operations add so much."""
        return self.meter.shown_w(self.standing_w + added_w)

    def left_w(self, limit_w: float) -> float:
        """What operations may add."""
        return self.meter.it_w(limit_w) - self.standing_w

    def most_w(self, begin: FloatArray, seconds: FloatArray, level: IntArray) -> float:
        """The most that the meter shows at a moment."""
        own = self.power[np.arange(len(level)), level]
        return self.shown_w(most_at_once(begin, seconds, own))


def _own_levels(steps: StepOperations, plan: Plan) -> IntArray:
    """(o,) the level of each operation nearest to the clock of its stage."""
    nearest = np.abs(np.array(clocks_of(plan))[:, None] - steps.clocks).argmin(axis=1)
    return np.asarray(np.where(steps.stage >= 0, nearest[np.maximum(steps.stage, 0)], 0))


def _same(steps: StepOperations, level: int) -> Levels:
    """All operations at one level."""
    return evaluated(steps.graph, at_level(steps.graph, np.full(len(steps.stage), level)))


def _one_clock(steps: StepOperations, scale: _Scale, limit_w: float) -> tuple[float, float] | None:
    """The fastest clock of all, of those with levels, that keeps to a limit; its seconds."""
    for level, clock in enumerate(steps.clocks.tolist()):
        found = _same(steps, level)
        levels = np.full(len(steps.stage), level)
        if scale.most_w(found.begin, found.seconds, levels) <= limit_w:
            return clock, found.end
    return None


def _paused(
    steps: StepOperations, scale: _Scale, found: Shortest, switching_s: float
) -> PausedClocks:
    """A schedule of the operations."""
    clocks = steps.clocks[found.level]
    graph = steps.with_switches(switching_s)
    shares = at_level(graph, found.level)
    soon = evaluated(graph, shares)
    ready = np.zeros(len(found.level))
    ended = (found.begin + found.seconds)[graph.before]
    np.maximum.at(ready, graph.after, ended + lags(graph, shares))
    if (turn := graph.turn) is not None:
        ended = (found.begin + found.seconds)[turn.last]
        np.maximum.at(ready, turn.first, ended + turns(graph, shares) - found.end)
    return PausedClocks(
        step_time_s=found.end,
        energy_j=found.cost,
        most_w=scale.shown_w(found.most),
        bound_s=found.bound,
        pauses=int((found.begin > ready + _SAME_S).sum()),
        without_pauses_w=scale.most_w(soon.begin, soon.seconds, found.level),
        clocks=clocks[steps.of_pass],
        ends=clocks[steps.optimizers],
        begin_s=found.begin,
        begins=found.begin[steps.of_pass],
    )
