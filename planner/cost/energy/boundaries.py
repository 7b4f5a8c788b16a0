"""Energy and power of one plan inside each boundary, with their 80 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.vocabulary import BOUNDARIES
from planner.cost.breakdown import Breakdown
from planner.cost.energy.energy import Energy
from planner.plan import PlanTable

WORDS = {
    "chip": "chips alone",
    "node": "nodes: chips and hosts",
    "node_and_fabric": "nodes and fabric (PUE 1)",
    "facility": "facility",
}
"""What each boundary holds, for tables."""
MEASURED = {
    "chip": "at the chips alone",
    "node": "at the nodes, without the fabric",
    "node_and_fabric": "at nodes and fabric",
    "facility": "at the facility",
}
"""Where a meter of each boundary stands, for sentences."""
PRINTED = "node_and_fabric"
"""The boundary whose energy is minimized and printed first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """What a meter around some of the machines would show.

    Attributes:
        name: One of `planner.base.vocabulary.BOUNDARIES`.
        energy_j, energy_low_j, energy_high_j: Joules of one step of all chips, and the 10 % and
            90 % quantiles.
        power_w, power_low_w, power_high_w: Mean watts per chip over a step, alike.
    """

    name: str
    energy_j: float
    energy_low_j: float
    energy_high_j: float
    power_w: float
    power_low_w: float
    power_high_w: float


def printed(boundaries: Sequence[Boundary]) -> Boundary:
    """The one of `PRINTED` among all boundaries of a plan."""
    return boundaries[BOUNDARIES.index(PRINTED)]


def boundaries_of(
    energy: Energy,
    row: int,
    chip_seconds: float,
    time_low: float = 1.0,
    time_high: float = 1.0,
) -> tuple[Boundary, ...]:
    """The boundaries of one evaluated plan, from the smallest to the largest.

    Args:
        energy: Joules of n plans.
        row: Which of them.
        chip_seconds: Its chips times its step time.
        time_low, time_high: 10 % and 90 % quantiles of the step time over it. The energy interval
            holds both errors; the power interval that of the powers alone.
    """
    found = []
    for name in BOUNDARIES:
        joules = float(energy.boundaries[name][row])
        low, high = (float(end[row]) for end in energy.interval(name, time_low, time_high))
        least, most = (float(end[row]) for end in energy.interval(name))
        found.append(
            Boundary(
                name=name,
                energy_j=joules,
                energy_low_j=low,
                energy_high_j=high,
                power_w=joules / chip_seconds,
                power_low_w=least / chip_seconds,
                power_high_w=most / chip_seconds,
            )
        )
    return tuple(found)


def boundaries_of_plans(
    plans: PlanTable, costs: Breakdown, ends: Mapping[str, FloatArray]
) -> list[tuple[Boundary, ...]]:
    """The boundaries of n evaluated plans.

    Args:
        plans: The plans.
        costs: What they cost.
        ends: Of the 80 % intervals of their step times (`planner.cost.intervals.ends_of`), which
            those of the energy hold; without them the step time is taken as it is.
    """
    times = np.asarray(costs.step_time_s)
    low, high = (ends.get(name, times) / times for name in ("step_time_low_s", "step_time_high_s"))
    return [
        boundaries_of(costs.energy, row, float(plans.chips[row] * times[row]), low[row], high[row])
        for row in range(len(plans))
    ]


def boundary_fields(boundaries: Sequence[Boundary]) -> dict[str, Any]:
    """The boundaries as JSON-ready data; intervals are (10 %, 90 %) quantiles."""
    return {
        "energy_by_boundary_j": {b.name: b.energy_j for b in boundaries},
        "power_by_boundary_w": {b.name: b.power_w for b in boundaries},
        "energy_interval_by_boundary_j": {
            b.name: {"low": b.energy_low_j, "high": b.energy_high_j} for b in boundaries
        },
        "power_interval_by_boundary_w": {
            b.name: {"low": b.power_low_w, "high": b.power_high_w} for b in boundaries
        },
    }
