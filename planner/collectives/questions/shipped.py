"""Synthesized fronts that ship with the package: schedule files with what is proved of each.

`planner/collectives/tables/data/fronts` has a folder per machine. Its `index.json` lists the
schedules with their bounds; they are written by `python benchmarks/fronts.py`. Verifying one reads
it, which replays it on the links of the machine, and derives the exact bound of its rounds anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from importlib import resources
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.collectives.files.schedule_file import read_schedule
from planner.collectives.questions.fronts import load_of
from planner.collectives.questions.question import Question, question_of
from solvers.collectives.rows import EXACT
from solvers.collectives.schedule import Schedule

MACHINES = ("dgx-1", "gigabyte-z52")
"""Machines whose fronts ship."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A schedule of a shipped front.

    Attributes:
        machine, collective: Of what.
        file: Its name.
        chunks, steps, rounds: C, S and R, as the index says.
        rounds_at_least: No schedule with this C and S has fewer.
        proof: What that rests on (`planner.collectives`: `Row.proof`); None: R is above it.
    """

    machine: str
    collective: str
    file: str
    chunks: int
    steps: int
    rounds: int
    rounds_at_least: int
    proof: str | None

    @property
    def triple(self) -> tuple[int, int, int]:
        """(C, S, R)."""
        return self.chunks, self.steps, self.rounds


def shipped_fronts(machine: str) -> tuple[Shipped, ...]:
    """The schedules that ship for a machine.

    Args:
        machine: One of `MACHINES`.
    """
    text = _folder(machine).joinpath("index.json").read_text(encoding="utf-8")
    return tuple(Shipped(machine=machine, **entry) for entry in json.loads(text))


def _folder(machine: str) -> Path:
    with resources.as_file(resources.files("planner.collectives.tables")) as package:
        return package / "data" / "fronts" / machine


def verified(one: Shipped) -> Schedule:
    """A shipped schedule, replayed, with its bound derived anew.

    Raises:
        InputError: It breaks a rule of the model, is not what the index says, or has fewer rounds
            than the bound, or its proof does not hold.
    """
    question = question_of({"topology": one.machine, "collective": one.collective})
    schedule = read_schedule(_folder(one.machine) / one.file, question.machine).schedule
    lines = list(_faults(one, schedule, question))
    if lines:
        raise InputError("\n".join(f"{one.file}: {line}" for line in lines))
    return schedule


def _faults(one: Shipped, schedule: Schedule, question: Question) -> Iterator[str]:
    """What is wrong with a schedule that was read without a fault."""
    has = (schedule.chunks, schedule.steps, schedule.total_rounds)
    if has != one.triple or schedule.collective != one.collective:
        yield f"is {schedule.collective} {has}, not {one.collective} {one.triple} as listed"
    if one.rounds < one.rounds_at_least:
        yield f"has {one.rounds} rounds, below its own bound of {one.rounds_at_least}"
    if one.proof == EXACT and (least := _exact(question, one)) < one.rounds:
        yield f"{one.rounds} rounds are not proved: the exact bound is {least}"


def _exact(question: Question, one: Shipped) -> int:
    """The bound of R by the steps, a cut and a linear program in fractions."""
    load: Fraction = max(load_of(question), load_of(question, one.steps))
    return max(one.steps, math.ceil(load * one.chunks))
