"""Why no plan fits whose stages may differ: which stage, by how much, and what frees it.

What frees plans with uniform stages frees uneven ones too, because they are among them; remedies
of the uniform search are therefore offered beside those that only uneven stages have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from frozen_records import dataclass
from planner.answers.diagnosis.diagnosis import (
    Reasons,
    broken_limit,
    diagnose,
    lacking_memory,
    some_limit,
)
from planner.answers.diagnosis.uniform import UniformReasons
from planner.base.messages import distinguished
from planner.base.units import plural, show_watts
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import memory_table
from planner.cost.memory.risk import memory_risks
from planner.plan import FULL, RECOMPUTES, SHARDINGS, Plan, PlanTable, Stage
from planner.results.certificate import UnevenFound
from planner.results.parts import Diagnosis
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Driver, Found
from planner.search.infeasible.more_memory import enough_memory
from planner.search.infeasible.near_misses import Witness
from planner.search.infeasible.remedies import (
    fewer_chips,
    first_few,
    looser_limits,
    mfu_of,
    more_chips,
    other_options,
    possible,
)
from planner.search.limits import usable_bytes
from planner.search.uneven.certificate import best_time
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from planner.search.uneven.shortage import shortage
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

_MOST_ROWS = 2_000
_WAITING = {
    "chip": "alone",
    "node": "with their share of hosts",
    "node_and_fabric": "with their share of hosts and network",
    "facility": "with their share of hosts, network and facility",
}


@dataclass(frozen=True, kw_only=True)
class UnevenReasons(Reasons):
    """Why no plan whose stages may differ fits on exactly so many chips.

    Attributes:
        space: Of plans with uniform stages, under the same limits.
        chips: Chips asked for.
        uniform: What its search found: nothing, but where a layout is given.
    """

    space: UniformSpace
    chips: int
    uniform: Found

    @cached_property
    def rows(self) -> Rows:
        """Pipelines that obey the rules."""
        model, options = self.space.model, self.space.options
        return cross_rows(model, uneven_partial_plans(model, (self.chips,), options), options)

    @cached_property
    def free(self) -> UnevenFound:
        """The fastest plan within the memory alone."""
        model, options, limits = self.space.model, self.space.options, self.space.limits
        roomy = replace(self.space.on(self.chips), limits=limits.without_costs())
        known = Driver().run(roomy) if options.layers is None else None
        at = (model, options, roomy.limits, self.chips)
        return best_time(*at, uniform=known, deadline=self.space.deadline)

    def of_rules(self) -> Diagnosis | None:
        """No mesh can run such a pipeline."""
        if len(self.rows):
            return None
        if self.space.options.layers is None:
            return self._of_uniform(replace(self.space, deadline=None))
        return _no_pipeline(self.space, self.chips, self.space.options.layers)

    def of_memory(self) -> Diagnosis | None:
        """The leanest plan that is known overfills a stage."""
        space, chips, limits = self.space, self.chips, self.space.limits
        at = (space.model, space.options, limits, chips)
        try:
            short = shortage(*at, Deadline(space.deadline))
        except OutOfTime:
            return some_limit(limits)
        if short is not None:
            return _memory(space, chips, short.plan, short.stage, short.needed_bytes)
        if limits.on_costs and len(self.free.plans):
            return None
        if limits.on_costs and self.free.status is Status.TIME_LIMIT:
            return some_limit(limits)
        if space.options.layers is not None:
            return _of_layout(space, chips, self.rows)
        return self._of_uniform(space)

    def of_costs(self) -> Diagnosis:
        """The fastest plan breaks a limit."""
        return _costs(self.space, self.chips, self.free)

    def _of_uniform(self, space: UniformSpace) -> Diagnosis:
        return diagnose(UniformReasons(searched=space, chips=self.chips, found=self.uniform))


def too_little_power(space: UniformSpace, chips: int, uniform: Found) -> Diagnosis | None:
    """That chips which wait draw more than the limit on power; None where they do not.

    Args:
        space: Of plans with uniform stages, under the same limits.
        chips: Chips asked for.
        uniform: What that found.
    """
    model, limits, limit = space.model, space.limits, space.limits.power_w
    least = limits.meter(model, chips).shown_w(standing_w(model, chips) * chips)
    if limit is None or least <= limit:
        return None
    coolest = uniform.misses.coolest
    looser = iter(()) if coolest is None else looser_limits(model, limits, coolest)
    waiting, most = distinguished(least, limit, show_watts)
    return Diagnosis(
        constraint="max-power",
        explanation=f"power: every plan draws more than {waiting}, which "
        f"{plural(chips, 'chip')} {_WAITING[limits.power_boundary]} draw while they wait; the "
        f"limit is {most}",
        needed=least,
        available=limit,
        remedies=first_few(looser, fewer_chips(space, chips)),
    )


def _no_pipeline(space: UniformSpace, chips: int, layers: tuple[int, ...]) -> Diagnosis:
    return Diagnosis(
        constraint="layout",
        explanation=(
            f"layout: no mesh of {plural(chips, 'chip')} runs a pipeline of "
            f"{plural(len(layers), 'chunk')} (pp x interleave) under the rules of "
            f"{space.model.framework.name} and the values that were asked for"
        ),
        remedies=first_few(_free_layout(space, chips)),
    )


def _free_layout(space: UniformSpace, chips: int) -> Iterator[str]:
    """To leave the layers to the search, where that helps."""
    if possible(space, chips):
        yield "--layout uneven (the layers are decided)"


def _memory(space: UniformSpace, chips: int, plan: Plan, stage: int, needed: float) -> Diagnosis:
    """The leanest plan that is known, and the stage on which it does not fit."""
    where = f" on stage {stage}" if plan.pp > 1 else ""
    held = np.array([needed])
    chance = float(memory_risks(space.model, PlanTable.from_plans([plan]), held)[0][0])
    remedies = first_few(
        enough_memory(space.limits, needed, usable_bytes(space.model), chance),
        _free_layout(space, chips) if space.options.layers else iter(()),
        _uniform(other_options(space, chips)),
        more_chips(space, chips),
    )
    return lacking_memory(
        "of plans whose stages may differ the leanest that is known",
        plan,
        (needed, space.limits.bytes_of_plan(space.model, plan)),
        space.model.chip.name + where,
        remedies,
    )


def _uniform(remedies: Iterator[str]) -> Iterator[str]:
    """Changes that only plans with uniform stages know, with that."""
    for remedy in remedies:
        yield f"--layout uniform {remedy}" if "offload" in remedy else remedy


def _costs(space: UniformSpace, chips: int, free: UnevenFound) -> Diagnosis:
    """Plans fit in memory, but none meets the limits on time, utilization and power."""
    model, limits = space.model, space.limits
    time_s, energy_j = map(float, free.points[0])
    fastest = Witness(
        plan=free.plans,
        chips=chips,
        time_s=time_s,
        energy_j=energy_j,
        meter=limits.meter(model, chips),
    )
    remedies = first_few(
        looser_limits(model, limits, fastest),
        _uniform(other_options(space, chips)),
        more_chips(space, chips),
    )
    proved = free.status is Status.OPTIMAL
    known = "" if proved else " that is known"
    which = f"the fastest plan{known}, whatever its stages,"
    costs = (time_s, mfu_of(model, fastest), fastest.power_w)
    power_words = f", whatever its stages; the fastest{known}"
    return broken_limit(limits, which, costs, power_words, remedies, proved=proved)


def _of_layout(space: UniformSpace, chips: int, rows: Rows) -> Diagnosis:
    """The leanest plan with the layers that were given."""
    plans = PlanTable.from_plans(list(_lean_plans(rows)))
    held = memory_table(space.model, plans)
    row = int(np.argmin(held.peak))
    stage = int(held.binding_stage[row])
    return _memory(space, chips, plans.plan(row), stage, float(held.peak[row]))


def _lean_plans(rows: Rows) -> Iterator[Plan]:
    """Plans of the first rows with their layers as given, all recomputed as much as may be."""
    assert rows.layers is not None
    most = RECOMPUTES[FULL if FULL in rows.recomputes else rows.recomputes[-1]]
    seen: set[tuple[Plan, str]] = set()
    for row in range(len(rows)):
        shared = replace(rows.plans.plan(row), order=rows.plans.plan(0).order)
        for code in np.flatnonzero(rows.shardings[row]).tolist():
            name = SHARDINGS[code]
            if (shared, name) in seen or len(seen) >= _MOST_ROWS:
                continue
            seen.add((shared, name))
            stages = tuple(
                Stage(layers=count, recompute=most, sharding=name) for count in rows.layers
            )
            yield replace(shared, sharding=name, stages=stages)
