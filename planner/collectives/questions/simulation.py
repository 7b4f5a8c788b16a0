"""The question of `planner collective simulate`: schedules run event by event, over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.base.numerals import number_of
from planner.base.progress import NotedProgress
from planner.base.units import plain
from planner.collectives.machines.degraded import degraded, fail, pair_of
from planner.collectives.machines.machine import Machine
from planner.collectives.questions.answers import FrontAnswer, machine_fields
from planner.collectives.questions.bounds import least_time
from planner.collectives.questions.fronts import answer
from planner.collectives.questions.question import Question, size_words
from planner.collectives.runs.resynthesis import Resynthesis, resynthesis
from planner.collectives.runs.simulate import MODES, Simulation, run, simulate, synchronous_s
from planner.collectives.runs.times import ScheduleTime, cell_name, schedule_time
from solvers.collectives.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Links that are slow or have failed.

    Attributes:
        slow: Pairs of nodes with the share of the bandwidth that is left.
        gone: Pairs of nodes.
    """

    slow: tuple[tuple[tuple[int, int], float], ...] = ()
    gone: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.slow or self.gone)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunAnswer:
    """Simulated times.

    Attributes:
        question: The collective on the machine as it is without changes.
        schedules: What was run.
        proved: Of each: nothing has fewer rounds; None: not asked, it is from a file.
        sizes_bytes: (n,) L.
        times_s: By mode, (schedules, n) seconds.
        formula_s: (schedules, n) start + sum over steps of the slowest link.
        mode: By which the fastest are told.
        changes: Slow and failed links.
        changed: The machine with its slow and failed links, and what that costs; None without.
        found: Schedules made for the changed machine; None without.
        without: Schedules made for the machine without its slow links, where that is another.
    """

    question: Question
    schedules: tuple[Schedule, ...]
    proved: tuple[bool | None, ...]
    sizes_bytes: FloatArray
    times_s: dict[str, FloatArray]
    formula_s: FloatArray
    mode: str
    changes: Changes | None = None
    changed: Resynthesis | None = None
    found: FrontAnswer | None = None
    without: FrontAnswer | None = None

    @property
    def best(self) -> list[int]:
        """(n,) which schedule is the fastest at each size, in the mode asked for."""
        return [int(row) for row in np.argmin(self.times_s[self.mode], axis=0)]

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        question = self.question
        return {
            "collective": question.collective,
            "root": question.root_name,
            "size_is": size_words(question.collective),
            "machine": machine_fields(question.machine),
            "mode": self.mode,
            "sizes_bytes": self.sizes_bytes.tolist(),
            "schedules": [
                {
                    "name": cell_name(schedule),
                    "chunks": schedule.chunks,
                    "steps": schedule.steps,
                    "rounds": schedule.total_rounds,
                    "proved": proved,
                    "formula_s": self.formula_s[row].tolist(),
                    **{f"{mode}_s": times[row].tolist() for mode, times in self.times_s.items()},
                }
                for row, (schedule, proved) in enumerate(
                    zip(self.schedules, self.proved, strict=True)
                )
            ],
            "fastest": [cell_name(self.schedules[row]) for row in self.best],
            "changed": None if self.changed is None else _changed_fields(self.changed),
            "front_of_changed": None if self.found is None else self.found.to_fields()["front"],
            "front_without_slow": (
                None if self.without is None else self.without.to_fields()["front"]
            ),
        }


def _changed_fields(table: Resynthesis) -> dict[str, Any]:
    return {
        "machine": table.changed,
        "reroutes": table.reroutes,
        "rows": [
            {
                "what": row.what,
                "schedules": list(row.schedules),
                "synchronous_s": row.time_s.tolist(),
                "dependent_s": row.dependent_s.tolist(),
                "over_healthy": row.over_healthy.tolist(),
            }
            for row in table.rows
        ],
    }


def changes_of(machine: Machine, slow: Sequence[str], gone: Sequence[str]) -> Changes:
    """Slow and failed links as they are typed: `0-2=0.25`, `0-2=25%`, `0-2=0` (failed) and `0-2`.

    Raises:
        InputError: One line per mistake.
    """
    problems: list[str] = []
    shares: dict[tuple[int, int], float] = {}
    asked = [("degrade", text, _slowed) for text in slow] + [("fail", text, _gone) for text in gone]
    for flag, text, parse in asked:
        try:
            (u, v), share = parse(text.strip(), machine)
        except InputError as error:
            problems += str(error).split("\n")
            continue
        pair = min(u, v), max(u, v)
        if pair in shares:
            problems.append(f"{flag}: {_pair_words(machine, pair)}: is given twice")
        shares[pair] = share
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return Changes(
        slow=tuple((pair, share) for pair, share in shares.items() if share),
        gone=tuple(pair for pair, share in shares.items() if not share),
    )


def _slowed(text: str, machine: Machine) -> tuple[tuple[int, int], float]:
    """A pair of nodes and the share of the bandwidth that is left between them."""
    pair, equals, share = text.rpartition("=")
    if not equals:
        raise InputError(f"degrade: {shown(text)}: write it like 0-2=0.25")
    number = share.strip().removesuffix("%")
    try:
        left = number_of(number) / (100.0 if share.strip().endswith("%") else 1.0)
    except ValueError:
        left = -1.0
    if not 0.0 <= left <= 1.0:
        raise InputError(
            f"degrade: {shown(text)}: the share of the bandwidth that is left is from 0 (failed) "
            "to 1, e.g. 0.25 or 25%"
        )
    return pair_of(pair.strip(), machine, "degrade"), left


def _gone(text: str, machine: Machine) -> tuple[tuple[int, int], float]:
    return pair_of(text, machine, "fail"), 0.0


def changed_machine(machine: Machine, changes: Changes) -> Machine:
    """A machine with its slow and failed links."""
    machine = fail(machine, changes.gone) if changes.gone else machine
    return degraded(machine, dict(changes.slow)) if changes.slow else machine


def _without_slow(machine: Machine, changes: Changes, worse: Machine) -> Machine | None:
    """A machine without its slow links; None where that is no other, or falls apart."""
    if not changes.slow:
        return None
    try:
        less = fail(machine, [*(pair for pair, _ in changes.slow), *changes.gone])
    except InputError:
        return None
    return None if less.network == worse.network else less


def simulated(
    question: Question,
    sizes_bytes: Sequence[float],
    *,
    schedule: Schedule | None = None,
    mode: str = "synchronous",
    changes: Changes | None = None,
    on_progress: NotedProgress | None = None,
) -> RunAnswer:
    """Schedules run at each size, in both modes; with changes what they cost and re-synthesis buys.

    Args:
        question: Collective and machine.
        sizes_bytes: L, rising.
        schedule: What is run; default: the schedules that the question asks for.
        mode: By which the fastest are told, one of `simulate.MODES`.
        changes: Slow and failed links.
        on_progress: Called with (what, done, of).

    Raises:
        InputError: The mode is unknown, or no schedule was found.
    """
    if mode not in MODES:
        raise InputError(f"mode: {not_one_of(mode, MODES)}")
    machine = question.machine
    schedules: tuple[Schedule, ...]
    proved: tuple[bool | None, ...]
    if schedule is not None:
        schedules, proved = (schedule,), (None,)
    else:
        found = answer(question, on_progress)
        if not found.rows:
            raise InputError(f"nothing to simulate: {found.front.ends}")
        schedules = tuple(row.schedule for row in found.rows)
        proved = tuple(row.proved for row in found.rows)
    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    timed = [schedule_time(one, machine) for one in schedules]
    return RunAnswer(
        question=question,
        schedules=schedules,
        proved=proved,
        sizes_bytes=sizes,
        times_s={each: _times(timed, sizes, each, on_progress) for each in MODES},
        formula_s=np.stack([synchronous_s(one.program, sizes) for one in timed]),
        mode=mode,
        changes=changes,
        **_with_changes(question, schedules, sizes, changes, on_progress),
    )


def _times(
    timed: Sequence[ScheduleTime], sizes: FloatArray, mode: str, on_progress: NotedProgress | None
) -> FloatArray:
    """(schedules, n) seconds, run by run."""
    rows = []
    for at, one in enumerate(timed):
        if on_progress is not None:
            on_progress(mode, at, len(timed))
        rows.append([run(one.program, size, mode=mode).finish_s for size in sizes.tolist()])
    return np.asarray(rows)


def _with_changes(
    question: Question,
    schedules: tuple[Schedule, ...],
    sizes: FloatArray,
    changes: Changes | None,
    on_progress: NotedProgress | None,
) -> dict[str, Any]:
    """What slow and failed links cost, and what schedules made for them buy."""
    if not changes:
        return {}
    worse = changed_machine(question.machine, changes)
    less = _without_slow(question.machine, changes, worse)
    asked = replace(
        question, machine=worse, chunks=None, steps=None,
        time_limit_s=question.time_limit_s / (1 if less is None else 2),
    )  # fmt: skip
    found = answer(asked, on_progress)
    without = None if less is None else answer(replace(asked, machine=less), on_progress)
    least, s_per_byte = least_time(asked)
    table = resynthesis(
        question.machine, worse, schedules, [row.schedule for row in found.rows], sizes,
        without=[] if without is None else [row.schedule for row in without.rows],
        least_steps=least, least_s_per_byte=s_per_byte,
    )  # fmt: skip
    return {"changed": table, "found": found, "without": without}


def one_run(answered: RunAnswer, size_bytes: float) -> Simulation:
    """The fastest schedule at a size, run once, for the picture; on the changed machine if any."""
    if answered.changed is not None:
        program = answered.changed.row("re-synthesized").programs[-1]
        return run(program, size_bytes, mode=answered.mode)
    row = int(np.argmin(answered.times_s[answered.mode][:, -1]))
    return simulate(
        answered.schedules[row], answered.question.machine, size_bytes, mode=answered.mode
    )


def run_title(answered: RunAnswer) -> str:
    """What the picture shows: `allgather on dgx-1, 0-2 at 0.25 of its bandwidth, ...`."""
    machine, changes = answered.question.machine, answered.changes or Changes()
    words = [f"{answered.question.collective} on {machine.label}"]
    words += [f"{_pair_words(machine, pair)} at {plain(share)} of its bandwidth"
              for pair, share in changes.slow]  # fmt: skip
    words += [f"{_pair_words(machine, pair)} failed" for pair in changes.gone]
    return ", ".join([*words, "space against time"])


def _pair_words(machine: Machine, pair: tuple[int, int]) -> str:
    return "-".join(machine.names[node] for node in pair)
