"""Limits on the whole run as they are typed, that a plan which exists is within."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.units import DAY_S
from planner.cost.context import CostModel
from planner.objectives import RunCosts
from planner.search.infeasible.numbers import rounded_up
from planner.search.limits import Limits

_WATT_HOURS = ((3.6e15, "TWh"), (3.6e12, "GWh"), (3.6e9, "MWh"), (3.6e6, "kWh"), (3.6e3, "Wh"))
_TIMES = ((DAY_S, "d"), (3600.0, "h"), (1.0, "s"))


@dataclass(frozen=True, slots=True)
class Looser:
    """A flag that allows a plan, and the limits with it."""

    flag: str
    limits: Limits


def column(run: RunCosts | None) -> RunCosts | None:
    """What one run takes as arrays of one."""
    if run is None:
        return None
    every = {name: np.array([getattr(run, name)]) for name in RunCosts.__slots__}
    return RunCosts(**every)


def looser_run(model: CostModel, limits: Limits, name: str, run: RunCosts) -> Looser:
    """The flag of a limit that a run is beyond, rounded to the side on which it is allowed.

    Args:
        model: Job, machine and run.
        limits: As given.
        name: Of the limit, as of `Limits.run_limits`.
        run: What the run takes, as arrays of one.
    """
    values: dict[str, FloatArray] = limits.run_values(model, run)
    value = float(values[name][0])
    if name == "deadline":
        size, unit = next((one for one in _TIMES if value >= one[0]), _TIMES[-1])
        text = rounded_up(value / size)
        chance = None if model.run is None else model.run.chance
        at = "" if chance is None else f"@{100 * chance:g}%"
        return Looser(f"--deadline {text}{unit}{at}", replace(limits, run_s=float(text) * size))
    if name == "budget":
        text = rounded_up(value)
        return Looser(f"--budget {text}", replace(limits, run_money=float(text)))
    size, unit = next((one for one in _WATT_HOURS if value >= one[0]), _WATT_HOURS[-1])
    text = rounded_up(value / size)
    return Looser(
        f"--max-run-energy {text}{unit}", replace(limits, run_energy_j=float(text) * size)
    )
