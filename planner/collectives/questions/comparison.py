"""The question of `planner collective compare`: synthesized schedules beside rings and trees."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.progress import NotedProgress
from planner.collectives.nccl.lines import (
    CostLine,
    baseline_schedules,
    machine_line,
    nccl_lines,
    protocol_lines,
)
from planner.collectives.questions.answers import FrontAnswer, exactly, question_fields
from planner.collectives.questions.fronts import answer
from planner.collectives.questions.question import Question
from planner.collectives.runs.simulate import MODES
from planner.collectives.runs.times import (
    ScheduleTime,
    TimeComparison,
    Timed,
    TimeLine,
    cell_name,
    compare_times,
    crossovers,
    fine_sizes,
    schedule_time,
)
from solvers.collectives.schedule import Schedule

CONSTANTS = ("machine", "nccl")
"""Latency, start and rates of the machine for all; or those of NCCL's tuner, by protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """One of what is compared.

    Attributes:
        name: E.g. `(6,3,7)` or `ring`.
        library: It is what a library runs, not synthesized.
        steps: S.
        load: R / C.
    """

    name: str
    library: bool
    steps: int
    load: Fraction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompareAnswer:
    """Times side by side.

    Attributes:
        found: The synthesized schedules.
        constants: One of `CONSTANTS`.
        algorithms: Synthesized ones first.
        sizes_bytes: (n,) L.
        times_s: (algorithms, n) seconds.
        protocols: (algorithms, n) NCCL's fastest protocol; empty under the machine's constants.
        curves: The same over a fine range, with its crossovers, for the picture.
    """

    found: FrontAnswer
    constants: str
    algorithms: tuple[Algorithm, ...]
    sizes_bytes: FloatArray
    times_s: FloatArray
    protocols: tuple[tuple[str, ...], ...]
    curves: TimeComparison

    @property
    def best(self) -> list[int]:
        """(n,) which algorithm is the fastest at each size."""
        return [int(row) for row in np.argmin(self.times_s, axis=0)]

    def best_of_library(self, at: int) -> int | None:
        """The fastest of a library's at a size; None without one."""
        rows = [row for row, one in enumerate(self.algorithms) if one.library]
        return min(rows, key=lambda row: self.times_s[row, at]) if rows else None

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        best = self.best
        return {
            **question_fields(self.found.question),
            "constants": self.constants,
            "algorithms": [
                {
                    "name": one.name,
                    "library": one.library,
                    "steps": one.steps,
                    **exactly(one.load),
                    "times_s": self.times_s[row].tolist(),
                    **({"protocols": list(self.protocols[row])} if self.protocols else {}),
                }
                for row, one in enumerate(self.algorithms)
            ],
            "sizes_bytes": self.sizes_bytes.tolist(),
            "fastest": [self.algorithms[row].name for row in best],
            "crossovers": [
                {
                    "size_bytes": one.size_bytes,
                    "time_s": one.time_s,
                    "before": one.before,
                    "after": one.after,
                }
                for one in self.curves.crossovers
            ],
            "status": self.found.status,
            "seconds": self.found.front.seconds,
        }


def compare(
    question: Question,
    sizes_bytes: Sequence[float],
    *,
    constants: str = "machine",
    mode: str = "dependent",
    on_progress: NotedProgress | None = None,
) -> CompareAnswer:
    """Synthesized schedules and what a library would run, over sizes.

    Args:
        question: The collective; without chunks and steps the whole front is taken.
        sizes_bytes: L, rising.
        constants: One of `CONSTANTS`.
        mode: Of the simulated dots of the picture, under the machine's constants.
        on_progress: Called with (what, done, of).

    Raises:
        InputError: The constants or the mode are unknown.
    """
    problems = []
    if constants not in CONSTANTS:
        problems.append(f"constants: {not_one_of(constants, CONSTANTS)}")
    if mode not in MODES:
        problems.append(f"mode: {not_one_of(mode, MODES)}")
    if problems:
        raise InputError("\n".join(problems))
    found = answer(question, on_progress)
    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    own, library, of_library, curves = (_with_tuner if constants == "nccl" else _with_machine)(
        found, sizes, mode
    )
    return CompareAnswer(
        found=found,
        constants=constants,
        algorithms=tuple(
            Algorithm(name=row.name, library=False, steps=row.steps, load=row.load)
            for row in _own(found)
        )
        + tuple(
            Algorithm(name=line.name, library=True, steps=one.steps, load=one.load)
            for line, one in zip(library, of_library, strict=True)
        ),
        sizes_bytes=sizes,
        times_s=np.stack([one.time_s(sizes) for one in (*own, *library)]),
        protocols=tuple(
            one.protocols(sizes) for one in (*own, *library) if isinstance(one, _Fastest)
        ),
        curves=curves,
    )


def _own(found: FrontAnswer) -> list[Algorithm]:
    return [
        Algorithm(
            name=cell_name(row.schedule), library=False, steps=row.schedule.steps, load=row.load
        )
        for row in found.rows
    ]


_Lines = tuple[Sequence[Timed], Sequence[Timed], Sequence[Schedule | CostLine], TimeComparison]
"""Synthesized ones, those of a library, their S and R / C, and the curves."""


def _with_machine(found: FrontAnswer, sizes: FloatArray, mode: str) -> _Lines:
    """All under the constants of the machine; synthesized ones are simulated too."""
    question = found.question
    machine = question.machine
    own: list[ScheduleTime] = [schedule_time(row.schedule, machine) for row in found.rows]
    known = baseline_schedules(machine, question.collective, root=question.root)
    library: list[Timed] = [
        machine_line(machine, schedule, name, kind)
        if machine.uneven is None
        else schedule_time(schedule, machine, name)
        for name, kind, schedule in known
    ]
    fine = fine_sizes(sizes)
    curves = compare_times(
        _title(question), own, library, low_bytes=float(fine[0]), high_bytes=float(fine[-1]),
        mode=mode,
    )  # fmt: skip
    return own, library, [schedule for _, _, schedule in known], curves


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fastest:
    """The fastest protocol of one algorithm at each size."""

    name: str
    lines: tuple[CostLine, ...]

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """(sizes,) seconds."""
        times = np.stack([line.time_s(size_bytes) for line in self.lines])
        return np.asarray(times.min(axis=0))

    def protocols(self, size_bytes: FloatArray) -> tuple[str, ...]:
        """(sizes,) which protocol that is."""
        times = np.stack([line.time_s(size_bytes) for line in self.lines])
        return tuple(self.lines[row].protocol for row in times.argmin(axis=0))


def _with_tuner(found: FrontAnswer, sizes: FloatArray, _: str) -> _Lines:
    """All under NCCL's constants, each with its fastest protocol at every size."""
    question = found.question
    machine = question.machine
    own = [
        _Fastest(
            name=cell_name(row.schedule),
            lines=protocol_lines(machine, row.schedule, cell_name(row.schedule), "synthesized"),
        )
        for row in found.rows
    ]
    by_kind: dict[str, list[CostLine]] = {}
    for line in nccl_lines(machine, question.collective, root=question.root):
        by_kind.setdefault(line.name.removesuffix(f", {line.protocol}"), []).append(line)
    library = [_Fastest(name=kind, lines=tuple(lines)) for kind, lines in by_kind.items()]
    fine = fine_sizes(sizes)
    curve = [
        TimeLine(name=one.name, library=one in library, time_s=one.time_s(fine))
        for one in (*own, *library)
    ]
    curves = TimeComparison(
        title=f"{_title(question)}, constants of NCCL's tuner", sizes_bytes=fine,
        simulated_bytes=np.zeros(0), mode="synchronous", lines=tuple(curve),
        crossovers=crossovers([*own, *library], fine), own_crossovers=crossovers(own, fine),
        notes=("Each takes its fastest protocol at every size.",),
    )  # fmt: skip
    return own, library, [lines[0] for lines in by_kind.values()], curves


def _title(question: Question) -> str:
    return f"{question.collective} on {question.machine.label}"
