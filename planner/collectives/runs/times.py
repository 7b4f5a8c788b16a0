"""Algorithms of one collective over its size: which is the fastest, and where that changes.

An algorithm is anything with a name and a time at each size: a schedule by its formula
(`ScheduleTime`), or a line of a library (`planner.collectives.nccl.lines.CostLine`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.bisection import turn
from planner.base.errors import InputError
from planner.collectives.machines.machine import Machine
from planner.collectives.runs.program import Program, program_of
from planner.collectives.runs.simulate import check_size, run, times_s
from solvers.collectives.schedule import Schedule

_SAMPLES_PER_DECADE = 64
_SAME = 1e-9


class Timed(Protocol):
    """What has a time at each size."""

    @property
    def name(self) -> str:
        """How it is called in tables and pictures."""

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """(sizes,) seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTime:
    """The synchronous time of a schedule on a machine.

    Attributes:
        name: E.g. `(2,2,3)`.
        program: The schedule on its machine.
    """

    name: str
    program: Program

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """(sizes,) seconds, by the formula."""
        return times_s(self.program, size_bytes)


def schedule_time(
    schedule: Schedule, machine: Machine, name: str = "", *, reroute: bool = False
) -> ScheduleTime:
    """A schedule as an algorithm; without a name it is `(C,S,R)`."""
    return ScheduleTime(
        name=name or cell_name(schedule), program=program_of(schedule, machine, reroute=reroute)
    )


def cell_name(schedule: Schedule) -> str:
    """`(C,S,R)`, and whether members add up what they gather."""
    words = f"({schedule.chunks},{schedule.steps},{schedule.total_rounds})"
    return f"{words} local sums" if schedule.local_reduce else words


@dataclass(frozen=True, slots=True, kw_only=True)
class FastestOf:
    """The fastest of several at each size, e.g. of the protocols of a library.

    Attributes:
        name: Of all of them together.
        lines: At least one.
    """

    name: str
    lines: tuple[Timed, ...]

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """(sizes,) seconds."""
        least: FloatArray = np.min([line.time_s(size_bytes) for line in self.lines], axis=0)
        return least


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """One algorithm over the sizes.

    Attributes:
        name: Of the algorithm.
        library: It is one of a library, not a synthesized one.
        time_s: (sizes,) seconds by its formula.
        simulated_s: (simulated sizes,) seconds of event by event runs; None: it was not run.
        of: Algorithm that this is a variant of: variants of one have one colour; empty: of none.
        variant: Which one, from 0: it decides the pattern.
    """

    name: str
    library: bool
    time_s: FloatArray
    simulated_s: FloatArray | None = None
    of: str = ""
    variant: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """A size from which another algorithm is the fastest.

    Attributes:
        size_bytes, time_s: Where both take as long.
        before, after: Names of the faster one below and above.
    """

    size_bytes: float
    time_s: float
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeComparison:
    """Algorithms side by side.

    Attributes:
        title: Collective and machine.
        sizes_bytes: (sizes,) L, rising.
        simulated_bytes: (simulated sizes,) L at which programs were run.
        mode: Of these runs.
        lines: In the order given.
        crossovers: Among all of them, by size.
        own_crossovers: Among those that are not of a library.
        notes: What else is to be known.
    """

    title: str
    sizes_bytes: FloatArray
    simulated_bytes: FloatArray
    mode: str
    lines: tuple[TimeLine, ...]
    crossovers: tuple[Crossover, ...]
    own_crossovers: tuple[Crossover, ...]
    notes: tuple[str, ...] = ()

    def fastest(self, size_bytes: float) -> str:
        """The name of the fastest algorithm at a size."""
        name = self.lines[int(np.argmin([line.time_s[0] for line in self.lines]))].name
        for crossover in self.crossovers:
            if size_bytes >= crossover.size_bytes:
                name = crossover.after
        return name


def compare_times(
    title: str,
    schedules: Sequence[ScheduleTime],
    library: Sequence[Timed] = (),
    *,
    low_bytes: float = 1e3,
    high_bytes: float = 1e9,
    mode: str = "dependent",
    simulated_bytes: Sequence[float] = (),
) -> TimeComparison:
    """Times over sizes, formula beside simulation, and the crossovers.

    Args:
        title: Collective and machine.
        schedules: Synthesized ones, which are run too.
        library: Others.
        low_bytes, high_bytes: Range of L.
        mode: Of the runs.
        simulated_bytes: Sizes of the runs; empty: two per decade.

    Raises:
        InputError: A size is no number above 0, or the range is empty.
    """
    for size in (low_bytes, high_bytes, *simulated_bytes):
        check_size(size)
    if not (low_bytes < high_bytes and schedules):
        raise InputError(f"sizes: {low_bytes:g} to {high_bytes:g} bytes is no range")
    decades = np.log10(high_bytes / low_bytes)
    sizes = fine_sizes(np.array([low_bytes, high_bytes]))
    runs = np.array(simulated_bytes or np.geomspace(low_bytes, high_bytes, 1 + round(2 * decades)))
    lines = [
        TimeLine(
            name=one.name, library=False, time_s=one.time_s(sizes),
            simulated_s=np.array([run(one.program, float(size), mode=mode).finish_s
                                  for size in runs]),
        )
        for one in schedules
    ]  # fmt: skip
    lines += [TimeLine(name=one.name, library=True, time_s=one.time_s(sizes)) for one in library]
    return TimeComparison(
        title=title, sizes_bytes=sizes, simulated_bytes=runs, mode=mode, lines=tuple(lines),
        crossovers=crossovers([*schedules, *library], sizes),
        own_crossovers=crossovers(schedules, sizes),
    )  # fmt: skip


def fine_sizes(sizes_bytes: FloatArray) -> FloatArray:
    """Sizes of the curves over a range; around a single size, a decade to each side."""
    low, high = float(sizes_bytes[0]), float(sizes_bytes[-1])
    if low == high:
        low, high = low / 10, high * 10
    decades = float(np.log10(high / low))
    return np.geomspace(low, high, 2 + int(decades * _SAMPLES_PER_DECADE))


def crossovers(algorithms: Sequence[Timed], sizes_bytes: FloatArray) -> tuple[Crossover, ...]:
    """Where the fastest algorithm changes.

    Args:
        algorithms: At least one.
        sizes_bytes: (sizes,) rising: two changes between neighbouring sizes are found as one.
    """
    times = np.array([one.time_s(sizes_bytes) for one in algorithms])
    near = times <= times.min(axis=0) * (1.0 + _SAME)  # of equals the first
    best = np.argmax(near, axis=0).tolist()
    found = []
    for at, (before, after) in enumerate(pairwise(best)):
        if before != after:
            size, time = _where(algorithms[before].time_s, algorithms[after].time_s,
                                float(sizes_bytes[at]), float(sizes_bytes[at + 1]))  # fmt: skip
            found.append(Crossover(size_bytes=size, time_s=time, before=algorithms[before].name,
                                   after=algorithms[after].name))  # fmt: skip
    return tuple(found)


def _where(
    one: Callable[[FloatArray], FloatArray],
    other: Callable[[FloatArray], FloatArray],
    low: float,
    high: float,
) -> tuple[float, float]:
    """The size between two at which both take as long, by halving, and that time."""

    def slower(size: float) -> bool:
        at = np.array([size])
        return bool(one(at)[0] > other(at)[0])

    size = turn(slower, low, high)[1]
    return size, float(other(np.array([size]))[0])
