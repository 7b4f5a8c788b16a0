"""Why no plan's whole run is within its limits: the deadline, the budget, the energy.

The search drops what bounds prove beyond a limit, so that the plans which come nearest are looked
for apart: the least of what each limit is on, without limits on the run and within all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from frozen_records import dataclass
from planner.base.messages import distinguished
from planner.base.units import (
    DAY_S,
    plain,
    plural,
    show_days,
    show_percent,
    show_seconds,
    show_watt_hours,
)
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.goodput.runs import run_of
from planner.objectives import OBJECTIVES, Costs
from planner.results.parts import Diagnosis
from planner.results.words import join_words
from planner.search.driver import Driver
from planner.search.infeasible.near_misses import Witness
from planner.search.infeasible.remedies import first_few, looser_limits
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

_FLAGS = {"deadline": "deadline", "budget": "budget", "run_energy": "max-run-energy"}
_LEAST = {
    "deadline": ("days", "the shortest run takes"),
    "budget": ("run-money", "the cheapest run costs"),
    "run_energy": ("run-energy", "the run of least energy takes"),
}


@dataclass(frozen=True, slots=True)
class _Least:
    """What has the least of what a limit is on, among some plans."""

    value: float
    witness: Witness


def run_limit(space: UniformSpace, others: Iterator[str]) -> Diagnosis | None:
    """Which limits on the whole run forbid every plan; None where it is none of them.

    Args:
        space: What was searched, and has no plan.
        others: Changes of anything but limits on costs that free a plan.
    """
    model, limits = space.model, space.limits
    given = limits.run_limits
    least = {name: _least_of(space, name, limits.without_run()) for name in given}
    found = {name: one for name, one in least.items() if one is not None}
    if len(found) < len(given):  # whatever its run, no plan is within the other limits
        return None
    alone = [name for name in given if found[name].value > given[name]]
    within = found if len(given) == 1 else _within(space)
    told = {name: found[name] for name in alone} or within
    lines = [_line(model, name, one, given[name]) for name, one in told.items()]
    head = "" if alone else "the limits exclude each other: within all others "
    blamed = [_FLAGS[name] for name in (alone or given)]
    nearest = within or found
    near = [looser_limits(model, limits, one.witness) for one in nearest.values()]
    first = next(iter(told), next(iter(given)))
    return Diagnosis(
        constraint=" and ".join(blamed),
        explanation=f"{join_words(blamed)}: {head}{'; '.join(lines)}",
        needed=(found | told)[first].value,
        available=given[first],
        remedies=first_few(*near, others),
    )


def _line(model: CostModel, name: str, least: _Least, limit: float) -> str:
    """`the shortest run takes 14 days on 4,096 chips, the limit is 10 days`."""
    chips = plural(least.witness.chips, "chip")
    takes, most = distinguished(least.value, limit, partial(_shown, model, name))
    return f"{_LEAST[name][1]} {takes} on {chips}, the limit is {most}"


def _within(space: UniformSpace) -> dict[str, _Least]:
    """By limit on the run, the least among plans that are within all other limits."""
    given = space.limits.run_limits
    every = {name: _least_of(space, name, space.limits.without(name)) for name in given}
    return {name: one for name, one in every.items() if one is not None}


def _least_of(space: UniformSpace, name: str, limits: Limits) -> _Least | None:
    """The plan within other limits that has the least of what a limit is on; None: there is none.

    With a chance, a deadline is on another time than the mean: the plan of the least mean is told.
    """
    model, objective = space.model, OBJECTIVES[_LEAST[name][0]]
    found = Driver().run(replace(space, limits=limits, columns=(objective,)))
    if len(found.points) == 0:
        return None
    plans = found.plans.take(np.array([0]))
    totals = evaluate_totals(model, plans)
    times, energies = totals.step_time_s, totals.energy_j
    runs = Costs(step_time_s=times, energy_j=energies, run=totals.runs()).of_run
    values = space.limits.run_values(model, runs)
    witness = Witness(
        plan=plans,
        chips=int(totals.chips[0]),
        time_s=float(times[0]),
        energy_j=float(energies[0]),
        meter=space.limits.meter(model, int(totals.chips[0])),
        run=runs.row(0),
    )
    return _Least(float(values[name][0]), witness)


def endless(model: CostModel, chips: int) -> Diagnosis:
    """That no run ends: failures come before the work between two checkpoints is done."""
    run = run_of(model)
    mtbf = float(run.mtbf_of(np.array([float(chips)]))[0])
    down = run.upkeep.detection_s + run.upkeep.restart_s
    return Diagnosis(
        constraint="run",
        explanation=(
            f"the run: none ever ends on {plural(chips, 'chip')}, where a failure comes every "
            f"{show_seconds(mtbf)} and takes {show_seconds(down)} to detect and restart after"
        ),
        needed=down,
        available=mtbf,
    )


def _shown(model: CostModel, name: str, value: float, more: int = 0) -> str:
    """What is limited, in words, with so many digits beyond the usual ones."""
    if name == "budget":
        return plain(value, 4 + more)
    if name == "run_energy":
        return f"{show_watt_hours(value / 3600, more)} with the facility"
    chance = None if model.run is None else model.run.chance
    at = "" if chance is None else f" at a chance of {show_percent(chance)}"
    return f"{show_days(value / DAY_S, more)}{at}"
