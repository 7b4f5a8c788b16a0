"""Why no plan's whole run is within its limits: the deadline, the budget, the energy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.base.units import plain, show_days, show_percent, show_seconds, show_watt_hours
from planner.cost.context import CostModel
from planner.results.parts import Diagnosis
from planner.results.words import join_words
from planner.search.infeasible.near_misses import WITHIN, NearMisses, Witness
from planner.search.infeasible.remedies import first_few, looser_limits
from planner.search.infeasible.run_limits import DAY_S
from planner.search.limits import Limits

_FLAGS = {"deadline": "deadline", "budget": "budget", "run_energy": "max-run-energy"}
_LEAST = {
    "deadline": "the shortest run takes",
    "budget": "the cheapest run costs",
    "run_energy": "the run of least energy takes",
}


def run_limit(
    model: CostModel, limits: Limits, misses: NearMisses, others: Iterator[str]
) -> Diagnosis | None:
    """Which limit on the whole run forbids every plan; None where it is none of them.

    Args:
        model: Job, machine and run.
        limits: What was asked for.
        misses: The plans that come nearest.
        others: Changes of anything but limits on costs that free a plan.
    """
    given, found = limits.run_limits, misses.runs
    alone = [name for name in given if name in found and found[name][0] > given[name]]
    blamed = alone or [name for name in given if f"{name}{WITHIN}" in found]
    if not blamed:
        return None
    end = "" if alone else WITHIN
    nearest = {name: found[f"{name}{end}"] for name in blamed}
    head = "" if alone else "the limits exclude each other: within all others "
    lines = [
        f"{_LEAST[name]} {_shown(model, name, value)}{_on(witness)}, the limit is "
        f"{_shown(model, name, given[name])}"
        for name, (value, witness) in nearest.items()
    ]
    first = blamed[0]
    return Diagnosis(
        constraint=" and ".join(_FLAGS[name] for name in (blamed if alone else given)),
        explanation=f"{join_words([_FLAGS[name] for name in blamed])}: {head}{'; '.join(lines)}",
        needed=nearest[first][0],
        available=given[first],
        remedies=_remedies(model, limits, misses, others),
    )


def _remedies(
    model: CostModel, limits: Limits, misses: NearMisses, others: Iterator[str]
) -> tuple[str, ...]:
    """Looser limits that allow a plan which exists, one limit alone first; then other changes."""
    names = [f"{name}{WITHIN}" for name in limits.run_limits] + [*limits.run_limits]
    witnesses = [misses.runs[name][1] for name in names if name in misses.runs]
    return first_few(*(looser_limits(model, limits, one) for one in witnesses), others)


def endless(model: CostModel, chips: int) -> Diagnosis:
    """That no run ends: failures come before the work between two checkpoints is done."""
    assert model.run is not None
    mtbf = float(model.run.mtbf_of(np.array([float(chips)]))[0])
    down = model.run.upkeep.detection_s + model.run.upkeep.restart_s
    return Diagnosis(
        constraint="run",
        explanation=(
            f"the run: none ever ends on {chips:,} chips, where a failure comes every "
            f"{show_seconds(mtbf)} and takes {show_seconds(down)} to detect and restart after"
        ),
        needed=down,
        available=mtbf,
    )


def _shown(model: CostModel, name: str, value: float) -> str:
    """What is limited, in words."""
    if name == "budget":
        return plain(value, 4)
    if name == "run_energy":
        return f"{show_watt_hours(value / 3600)} with the facility"
    chance = None if model.run is None else model.run.chance
    at = "" if chance is None else f" at a chance of {show_percent(chance)}"
    return f"{show_days(value / DAY_S)}{at}"


def _on(witness: Witness) -> str:
    return f" on {witness.chips:,} chips"
