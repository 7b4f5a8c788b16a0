"""The sizes for which each of some schedules is the fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.collectives.machines.machine import Machine
from planner.collectives.runs.simulate import formula_s
from planner.collectives.runs.times import Timed, cell_name, crossovers, schedule_time
from solvers.collectives.schedule import Schedule

LOW_BYTES, HIGH_BYTES = 1.0, 1e15
_PER_DECADE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Formula:
    """A schedule on links that are all alike."""

    name: str
    schedule: Schedule
    machine: Machine

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """(sizes,) seconds."""
        return formula_s(self.schedule, self.machine, size_bytes)


def timed(machine: Machine, schedule: Schedule, name: str = "") -> Timed:
    """The synchronous time of a schedule; in closed form where all links are alike."""
    if machine.uneven is None and len(np.unique(machine.latency_s)) == 1:
        return _Formula(name=name or cell_name(schedule), schedule=schedule, machine=machine)
    return schedule_time(schedule, machine, name)


def fastest_for(
    machine: Machine, schedules: Sequence[Schedule]
) -> list[tuple[float | None, float | None]]:
    """For each schedule the sizes from and to which it is the fastest; None: it never is.

    Below a byte and above a petabyte nothing changes any more: those ends are 0 and infinity.
    """
    curves = [timed(machine, schedule, str(at)) for at, schedule in enumerate(schedules)]
    if len(curves) == 1:
        return [(0.0, math.inf)]
    decades = math.log10(HIGH_BYTES / LOW_BYTES)
    sizes = np.geomspace(LOW_BYTES, HIGH_BYTES, int(decades * _PER_DECADE))
    changes = crossovers(curves, sizes)
    first = int(np.argmin([float(curve.time_s(sizes[:1])[0]) for curve in curves]))
    found: list[tuple[float | None, float | None]] = [(None, None)] * len(curves)
    low, at = 0.0, first
    for change in changes:
        found[at] = (low, change.size_bytes)
        low, at = change.size_bytes, int(change.after)
    found[at] = (low, math.inf)
    return found
