"""Energy and power of one plan inside each boundary, with their 80 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.vocabulary import BOUNDARIES
from planner.cost.breakdown import Breakdown
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


@dataclass(frozen=True, slots=True)
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


def boundaries_of_plans(
    plans: PlanTable, costs: Breakdown, ends: Mapping[str, FloatArray]
) -> list[tuple[Boundary, ...]]:
    """The boundaries of n evaluated plans, from the smallest to the largest.

    Args:
        plans: The plans.
        costs: What they cost.
        ends: Of the 80 % intervals of their step times (`planner.cost.intervals.ends_of`), which
            those of the energy hold; without them the step time is taken as it is. The interval of
            the power holds the errors of the powers alone.
    """
    times, energy = np.asarray(costs.step_time_s), costs.energy
    low, high = (ends.get(name, times) / times for name in ("step_time_low_s", "step_time_high_s"))
    chip_seconds = plans.chips * times
    columns = []
    for name in BOUNDARIES:
        joules = energy.boundaries[name]
        powers = (joules, *energy.interval(name))
        watts = [part / chip_seconds for part in powers]
        figures = np.stack([joules, *energy.interval(name, low, high), *watts], axis=1)
        columns.append([Boundary(name, *row) for row in figures.tolist()])
    return list(zip(*columns, strict=True))


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
