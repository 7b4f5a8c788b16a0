"""What a slow or failed link costs, and what a schedule made for the machine as it is buys back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.collectives.machines.machine import Machine
from planner.collectives.runs.program import Program
from planner.collectives.runs.simulate import run
from planner.collectives.runs.times import ScheduleTime, cell_name, schedule_time
from solvers.collectives.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ResynthesisRow:
    """One way to run the collective, over the sizes.

    Attributes:
        what: `healthy`, `oblivious`, `re-synthesized` or `lower bound`.
        schedules: (sizes,) names of the schedules. Healthy and re-synthesized are the fastest at
            each size; oblivious is the healthy choice on the changed machine. Empty for the bound.
        time_s: (sizes,) synchronous seconds.
        dependent_s: (sizes,) seconds without barriers; of the bound what none of these goes below.
        over_healthy: (sizes,) time over that of the healthy machine.
        programs: (sizes,) what was run; none for the bound.
    """

    what: str
    schedules: tuple[str, ...]
    time_s: FloatArray
    dependent_s: FloatArray
    over_healthy: FloatArray
    programs: tuple[Program, ...] = ()


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

    def row(self, what: str) -> ResynthesisRow:
        """The row of a name."""
        return next(row for row in self.rows if row.what == what)


def resynthesis(
    healthy: Machine,
    changed: Machine,
    old: Sequence[Schedule],
    new: Sequence[Schedule],
    sizes_bytes: FloatArray,
    *,
    without: Sequence[Schedule] = (),
    least_steps: int = 0,
    least_s_per_byte: float | None = None,
) -> Resynthesis:
    """Compares what was made for the healthy machine with what is made for the changed one.

    Re-synthesized is the fastest at each size of what is made for the changed machine, for the
    machine without its slow links, and for the healthy machine: a slow link is never worse than a
    failed one.

    Args:
        healthy: The machine before.
        changed: What `degrade` or `fail` made of it.
        old: Schedules of the healthy machine, e.g. its front. On the changed machine sends over
            failed links take a shortest way round.
        new: Schedules of the changed machine.
        sizes_bytes: (sizes,) L.
        without: Schedules that do not use the slow links.
        least_steps: S that every schedule of the changed machine has at least.
        least_s_per_byte: Seconds per byte of L that it takes at least beside latencies; None: no
            bound is told.
    """
    before = [schedule_time(schedule, healthy) for schedule in old]
    oblivious = [schedule_time(schedule, changed, reroute=True) for schedule in old]
    after = [schedule_time(schedule, changed) for schedule in new]
    after += [schedule_time(one, changed, f"{cell_name(one)} as if failed") for one in without]
    after += [
        schedule_time(one, changed, f"{cell_name(one)} as before", reroute=True) for one in old
    ]
    chosen = _fastest(before, sizes_bytes)
    base = _row("healthy", before, chosen, sizes_bytes, None)
    rows = [base, _row("oblivious", oblivious, chosen, sizes_bytes, base.time_s)]
    best = _fastest(after, sizes_bytes)
    rows.append(_row("re-synthesized", after, best, sizes_bytes, base.time_s))
    if least_s_per_byte is not None:
        rows.append(_bound(changed, least_steps, least_s_per_byte, sizes_bytes, base.time_s))
    return Resynthesis(
        collective=old[0].collective,
        healthy=healthy.label,
        changed="; ".join([changed.label, *changed.notes[len(healthy.notes) :]]),
        sizes_bytes=sizes_bytes,
        reroutes=any(one.program.detours for one in oblivious),
        rows=tuple(rows),
    )


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
        programs=tuple(kinds[at].program for at in chosen),
    )


def _bound(
    changed: Machine, steps: int, s_per_byte: float, sizes_bytes: FloatArray, base_s: FloatArray
) -> ResynthesisRow:
    """Start + S_min alpha + L beta of all links together, with the least alpha of the links.

    With barriers links wait while a step's last sends are on their way. Without them others send
    meanwhile: some chunk still goes S_min links one after the other, and links are still busy for
    L beta before the last arrival, which takes an alpha. The larger of the two holds.
    """
    alpha_s = float(np.min(changed.wires.latency_s))
    busy_s = s_per_byte * sizes_bytes
    time_s = changed.start_s + steps * alpha_s + busy_s
    return ResynthesisRow(
        what="lower bound",
        schedules=("",) * len(sizes_bytes),
        time_s=time_s,
        dependent_s=changed.start_s + np.maximum(steps * alpha_s, alpha_s + busy_s),
        over_healthy=time_s / base_s,
    )
