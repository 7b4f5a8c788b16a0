"""Why no plan fits whose stages may differ: which stage, by how much, and what frees it.

What frees plans with uniform stages frees uneven ones too, because they are among them; remedies
of the uniform search are therefore offered beside those that only uneven stages have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.answers.diagnosis.uniform import cost_diagnosis, diagnose
from planner.base.units import plural, show_bytes, show_watts
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import memory_table
from planner.plan import FULL, RECOMPUTES, SHARDINGS, Plan, PlanTable, Stage
from planner.results.certificate import UnevenFound
from planner.results.parts import Diagnosis
from planner.results.words import choice_words, mesh_words
from planner.search.driver import Driver, Found
from planner.search.infeasible.near_misses import Witness
from planner.search.infeasible.remedies import (
    fewer_chips,
    first_few,
    looser_limits,
    mfu_of,
    more_chips,
    other_options,
    possible,
    room_for,
)
from planner.search.limits import usable_bytes
from planner.search.uneven.certificate import best_time
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from planner.search.uneven.shortage import shortage
from planner.search.uniform.engine import UniformSpace

_MOST_ROWS = 2_000


def diagnose_uneven(space: UniformSpace, chips: int, uniform: Found) -> Diagnosis:
    """What forbids every plan on exactly `chips` chips.

    Args:
        search: Of plans with uniform stages, under the same limits.
        chips: Chips asked for.
        uniform: What that found: nothing, but where a layout is given.
    """
    model, options, limits = space.model, space.options, space.limits
    rows = cross_rows(model, uneven_partial_plans(model, (chips,), options), options)
    if not len(rows):
        return _no_row(space, chips, uniform)
    if (short := shortage(model, options, limits, chips)) is not None:
        return _memory(space, chips, short.plan, short.stage, short.needed_bytes)
    free = _without_costs(space, chips) if limits.on_costs else None
    if free is not None and len(free.plans):
        return _costs(space, chips, free)
    if options.layers is not None:
        return _of_layout(space, chips, rows)
    return diagnose(space, chips, uniform)


def too_little_power(space: UniformSpace, chips: int, uniform: Found) -> Diagnosis | None:
    """That chips which wait draw more than the limit on power; None where they do not.

    Args:
        search: Of plans with uniform stages, under the same limits.
        chips: Chips asked for.
        uniform: What that found.
    """
    model, limit = space.model, space.limits.power_w
    least = standing_w(model, chips) * chips
    if limit is None or least <= limit:
        return None
    coolest = uniform.misses.coolest
    looser = iter(()) if coolest is None else looser_limits(model, space.limits, coolest)
    return Diagnosis(
        constraint="max-power",
        explanation=f"power: every plan draws more than {show_watts(least)}, which "
        f"{plural(chips, 'chip')} with their share of hosts and network draw while they wait; the "
        f"limit is {show_watts(limit)}",
        needed=least,
        available=limit,
        remedies=first_few(looser, fewer_chips(space, chips)),
    )


def _no_row(space: UniformSpace, chips: int, uniform: Found) -> Diagnosis:
    """No mesh can run such a pipeline."""
    layers = space.options.layers
    if layers is None:
        return diagnose(replace(space, deadline=None), chips, uniform)
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
    model = space.model
    limit = space.limits.chip_bytes(model)
    where = f" on stage {stage}" if plan.pp > 1 else ""
    return Diagnosis(
        constraint="memory",
        explanation=(
            f"memory: of plans whose stages may differ the leanest that is known "
            f"({mesh_words(plan)}; {choice_words(plan)}) needs {show_bytes(needed)} of the "
            f"{show_bytes(limit)} that may be filled on each {model.chip.name}{where}: "
            f"{show_bytes(needed - limit)} too much"
        ),
        needed=needed,
        available=limit,
        remedies=first_few(
            room_for(space.limits, needed, usable_bytes(space.model)),
            _free_layout(space, chips) if space.options.layers else iter(()),
            _uniform(other_options(space, chips)),
            more_chips(space, chips),
        ),
    )


def _uniform(remedies: Iterator[str]) -> Iterator[str]:
    """Changes that only plans with uniform stages know, with that."""
    for remedy in remedies:
        yield f"--layout uniform {remedy}" if "offload" in remedy else remedy


def _without_costs(space: UniformSpace, chips: int) -> UnevenFound:
    """The fastest plan within the memory alone."""
    limits = space.limits.without_costs()
    model, options = space.model, space.options
    free = replace(space.on(chips), limits=limits)
    uniform = Driver().run(free) if options.layers is None else None
    return best_time(model, options, limits, chips, uniform=uniform, deadline=space.deadline)


def _costs(space: UniformSpace, chips: int, free: UnevenFound) -> Diagnosis:
    """Plans fit in memory, but none meets the limits on time, utilization and power."""
    model, limits = space.model, space.limits
    time_s, energy_j = map(float, free.points[0])
    fastest = Witness(plan=free.plans, chips=chips, time_s=time_s, energy_j=energy_j)
    remedies = first_few(
        looser_limits(model, limits, fastest),
        _uniform(other_options(space, chips)),
        more_chips(space, chips),
    )
    which = "the fastest plan, whatever its stages,"
    costs = (time_s, mfu_of(model, fastest), fastest.power_w)
    return cost_diagnosis(limits, which, costs, ", whatever its stages; the fastest", remedies)


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
