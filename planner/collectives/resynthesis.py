"""What a slow or failed link costs, and what a schedule made for the machine as it is buys back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from planner.collectives.degrade import cut_for
from planner.collectives.machine import Machine
from planner.collectives.program import program_of
from planner.collectives.simulate import run
from planner.collectives.times import ScheduleTime, cell_name, schedule_time
from planner.plan import FloatArray
from solvers.collectives.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ResynthesisRow:
    """One way to run the collective, over the sizes.

    Attributes:
        what: `healthy`, `oblivious`, `re-synthesized` or `lower bound`.
        schedules: (sizes,) names of the schedules. Healthy and re-synthesized are the fastest at
            each size; oblivious is the healthy choice on the changed machine. None for the bound.
        time_s: (sizes,) synchronous seconds.
        dependent_s: (sizes,) seconds without barriers; None for the bound.
        over_healthy: (sizes,) time over that of the healthy machine.
    """

    what: str
    schedules: tuple[str, ...]
    time_s: FloatArray
    dependent_s: FloatArray | None
    over_healthy: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Resynthesis:
    """The table.

    Attributes:
        collective: Its name.
        healthy, changed: Labels of the machines; of the second also what has changed.
        sizes_bytes: (sizes,) L.
        reroutes: Whether the old schedules use links that are not there, and go round them.
        rows: Healthy, oblivious, re-synthesized, and the lower bound where one is known.
    """

    collective: str
    healthy: str
    changed: str
    sizes_bytes: FloatArray
    reroutes: bool
    rows: tuple[ResynthesisRow, ...]


def resynthesis(
    healthy: Machine,
    changed: Machine,
    old: Sequence[Schedule],
    new: Sequence[Schedule],
    sizes_bytes: FloatArray,
    *,
    least_steps: int = 0,
    least_load: Fraction | None = None,
) -> Resynthesis:
    """Compares what was made for the healthy machine with what is made for the changed one.

    Args:
        healthy: The machine before.
        changed: What `degrade` or `fail` made of it.
        old: Schedules of the healthy machine, e.g. its front. On the changed machine their chunks
            are cut as its lanes are; sends over failed links take a shortest way round.
        new: Schedules of the changed machine.
        sizes_bytes: (sizes,) L.
        least_steps: S that every schedule of the changed machine has at least.
        least_load: R / C that it has at least, in rounds of the lanes of the changed machine; None:
            no bound is told.
    """
    before = [schedule_time(schedule, healthy) for schedule in old]
    oblivious = [_moved(schedule, healthy, changed) for schedule in old]
    after = [schedule_time(schedule, changed) for schedule in new]
    chosen = _fastest(before, sizes_bytes)
    base = _row("healthy", before, chosen, sizes_bytes, None)
    rows = [base, _row("oblivious", oblivious, chosen, sizes_bytes, base.time_s)]
    if after:
        best = _fastest(after, sizes_bytes)
        rows.append(_row("re-synthesized", after, best, sizes_bytes, base.time_s))
    if least_load is not None:
        rows.append(_bound(changed, least_steps, least_load, sizes_bytes, base.time_s))
    return Resynthesis(
        collective=old[0].collective,
        healthy=healthy.label,
        changed="; ".join([changed.label, *changed.notes[len(healthy.notes) :]]),
        sizes_bytes=sizes_bytes,
        reroutes=any(one.program.detours for one in oblivious),
        rows=tuple(rows),
    )


def _moved(schedule: Schedule, healthy: Machine, changed: Machine) -> ScheduleTime:
    """A schedule of the healthy machine on the changed one, under its own name."""
    cut = cut_for(schedule, healthy, changed)
    return ScheduleTime(name=cell_name(schedule), program=program_of(cut, changed, reroute=True))


def _fastest(kinds: Sequence[ScheduleTime], sizes_bytes: FloatArray) -> list[int]:
    """Which is the fastest at each size."""
    chosen: list[int] = np.argmin([one.time_s(sizes_bytes) for one in kinds], axis=0).tolist()
    return chosen


def _row(
    what: str,
    kinds: Sequence[ScheduleTime],
    chosen: Sequence[int],
    sizes_bytes: FloatArray,
    base_s: FloatArray | None,
) -> ResynthesisRow:
    """The chosen schedule at each size."""
    times = np.array([one.time_s(sizes_bytes) for one in kinds])
    time_s = times[list(chosen), np.arange(len(sizes_bytes))]
    dependent = [
        run(kinds[at].program, size, mode="dependent").finish_s
        for at, size in zip(chosen, sizes_bytes.tolist(), strict=True)
    ]
    return ResynthesisRow(
        what=what,
        schedules=tuple(kinds[at].name for at in chosen),
        time_s=time_s,
        dependent_s=np.array(dependent),
        over_healthy=time_s / (time_s if base_s is None else base_s),
    )


def _bound(
    changed: Machine, steps: int, load: Fraction, sizes_bytes: FloatArray, base_s: FloatArray
) -> ResynthesisRow:
    """Start + S_min alpha + (R / C) L beta, with the least alpha of the links."""
    alpha_s = float(np.min(changed.latency_s))
    time_s = (
        changed.start_s + steps * alpha_s + float(load) * sizes_bytes / changed.lane_bytes_per_s
    )
    return ResynthesisRow(
        what="lower bound", schedules=("",) * len(sizes_bytes), time_s=time_s, dependent_s=None,
        over_healthy=time_s / base_s,
    )  # fmt: skip
