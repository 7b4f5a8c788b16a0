"""Why no plan on pools of different chips fits: which stage, by how much, and what frees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from frozen_records import dataclass
from planner.answers.diagnosis.diagnosis import (
    Reasons,
    broken_limit,
    lacking_memory,
    some_limit,
)
from planner.answers.spaces.pool_plan import PooledPlan
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.base.units import show_bytes
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.energy.meter import pooled_meter
from planner.cost.pools.pools import Pool
from planner.plan import Plan
from planner.question.options import SpaceOptions
from planner.results.parts import Diagnosis
from planner.search.infeasible.more_memory import enough_memory
from planner.search.infeasible.numbers import rounded_up
from planner.search.infeasible.remedies import first_few
from planner.search.limits import Limits, model_flop, usable_bytes
from planner.search.pools.pools import best_on_pools
from planner.search.pools.shortage import ANY, lean_plan
from planner.search.rows import Fastest
from planner.search.space import Trail
from solvers.solution import Status

_MORE_CHIPS = (2, 4, 8, 16)
SECONDS = 20.0
"""For the search for reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledQuestion:
    """What was asked of pools.

    Attributes:
        pools: The pools.
        options, limits: What was searched, and within what.
        deadline: `time.perf_counter` value at which a search ends; None: at none.
    """

    pools: tuple[Pool, ...]
    options: SpaceOptions
    limits: Limits
    deadline: float | None

    def hurried(self, seconds: float) -> PooledQuestion:
        """The same, with so many seconds from now at the most."""
        latest = time.perf_counter() + seconds
        early = latest if self.deadline is None else min(self.deadline, latest)
        return replace(self, deadline=early)

    def any_plan(self) -> Plan | None:
        """Some plan; None where there is none, or none is found in time."""
        return self.searched(ANY).plan

    def searched(
        self,
        gap: float = 0.0,
        on_progress: Progress | None = None,
        trail: Trail | None = None,
    ) -> Fastest:
        """The fastest plan, within a gap."""
        return best_on_pools(
            self.pools,
            self.options,
            self.limits,
            gap=gap,
            deadline=self.deadline,
            on_progress=on_progress,
            trail=trail,
        )


@dataclass(frozen=True, kw_only=True)
class PooledReasons(Reasons):
    """Why no plan on pools fits.

    Attributes:
        asked: The question.
        rows: Rows that the rules leave.
    """

    asked: PooledQuestion
    rows: int

    @cached_property
    def free(self) -> Fastest:
        """The fastest plan within the memory alone."""
        return replace(self.asked, limits=self.asked.limits.without_costs()).searched()

    def of_rules(self) -> Diagnosis | None:
        """No mesh gives every stage as many chips."""
        if self.rows:
            return None
        return Diagnosis(
            constraint="rules",
            explanation="no mesh with as many chips on every stage obeys the rules and what is "
            "fixed",
            remedies=first_few(_freer(self.asked)),
        )

    def of_memory(self) -> Diagnosis | None:
        """The leanest plan that is known overfills a stage of some pool."""
        limits = self.asked.limits
        if limits.on_costs and self.free.plan is not None:
            return None
        if limits.on_costs and self.free.status is Status.TIME_LIMIT:
            return some_limit(limits)
        return _memory(self.asked, self.rows)

    def of_costs(self) -> Diagnosis:
        """The fastest plan breaks a limit."""
        return _costs(self.asked, self.free)


def _memory(asked: PooledQuestion, rows: int) -> Diagnosis:
    """The leanest plan that is known, and the stage on which it lacks the most memory."""
    within = (
        f"on none of {rows:,} rows do the stages of all pools hold all layers within the limits"
    )
    plan = lean_plan(asked.pools, asked.options, asked.limits, asked.deadline)
    if plan is None:
        room = ", ".join(
            f"{show_bytes(asked.limits.chip_bytes(pool.model))} of each chip of {pool.name}"
            for pool in asked.pools
        )
        return Diagnosis(
            constraint="memory",
            explanation=f"memory: {within} ({room})",
            remedies=first_few(_freer(asked), _more_chips(asked)),
        )
    known = PooledPlan(pools=asked.pools, plan=plan, limits=asked.limits, allowed=asked.limits)
    use = max(known.uses, key=lambda use: use.memory_bytes - use.memory_limit_bytes)
    stage = max(use.stages, key=lambda stage: float(known.held_bytes[stage]))
    most = max(use.memory_bytes for use in known.uses)
    risk = known.result.out_of_memory_probability
    usable = min(usable_bytes(pool.model) for pool in asked.pools)
    return lacking_memory(
        f"{within}; the leanest plan that is known",
        plan,
        (use.memory_bytes, use.memory_limit_bytes),
        f"{use.chip} of {use.name}, on stage {stage}",
        first_few(
            enough_memory(asked.limits, most, usable, risk), _freer(asked), _more_chips(asked)
        ),
    )


def _freer(asked: PooledQuestion) -> Iterator[str]:
    """To leave the layers, or a value that is fixed, to the search, where that helps."""
    options = asked.options
    if options.layers is not None:
        free = replace(asked, options=replace(options, layers=None))
        if free.any_plan() is not None:
            yield "--layout uneven (the layers are decided)"
    for name in options.fixed:
        fixed = {other: values for other, values in options.fixed.items() if other != name}
        if replace(asked, options=replace(options, fixed=fixed)).any_plan() is not None:
            yield f"without --fix {name}"


def _more_chips(asked: PooledQuestion) -> Iterator[str]:
    """The fewest times as many chips of every pool that help."""
    for times in _MORE_CHIPS:
        pools = tuple(replace(pool, chips=times * pool.chips) for pool in asked.pools)
        try:
            found = replace(asked, pools=pools).any_plan()
        except InputError:  # a cluster has no more
            return
        if found is not None:
            given = ",".join(f"{pool.name}={pool.chips}" for pool in pools)
            yield f"--pools {given}"
            return


def _costs(asked: PooledQuestion, fastest: Fastest) -> Diagnosis:
    """Plans fit in memory, but none meets the limits on time, utilization and power."""
    limits, pools = asked.limits, asked.pools
    time_s, power_w = fastest.time_s, _power_w(asked, fastest)
    peak = sum(pool.chips * peak_flop_per_s(pool.model) for pool in pools)
    mfu = model_flop(pools[0].model) / (peak * time_s)
    proved = fastest.status is Status.OPTIMAL
    which = f"the fastest plan {'' if proved else 'known '}on the pools"
    remedies = first_few(_looser(asked, fastest), _freer(asked), _more_chips(asked))
    figures = (time_s, mfu, power_w)
    return broken_limit(limits, which, figures, f"; {which}", remedies, proved=proved)


def _power_w(asked: PooledQuestion, fastest: Fastest) -> float:
    """Mean watts at the boundary of the limit on power."""
    meter = pooled_meter(asked.pools, asked.limits.power_boundary)
    return meter.shown_w(fastest.energy_j / fastest.time_s)


def _looser(asked: PooledQuestion, fastest: Fastest) -> Iterator[str]:
    """The limits on costs that the fastest plan breaks, as it keeps them."""
    limits, flags = asked.limits, []
    if limits.step_time_s is not None and fastest.time_s > limits.step_time_s:
        flags.append(f"--max-step-time {rounded_up(fastest.time_s)}s")
    power_w = _power_w(asked, fastest)
    if limits.power_w is not None and power_w > limits.power_w:
        flags.append(f"--max-power {rounded_up(power_w / 1e3)}kW")
    if flags and limits.mfu is None:
        yield " ".join(flags)
