"""Logs of jobs: a row per stretch of a job on some chips, with what ended it.

    start,end,chips,cause
    2026-03-01T08:00,2026-03-01T19:20,4096,gpu
    2026-03-01T19:40,2026-03-03T02:05,4096,network
    2026-03-03T02:20,2026-03-04T00:00,4096,

`start` and `end` are dates with times (ISO 8601) or hours from any beginning. `cause` is any word
for what failed; empty, `planned` or `completed`: nothing did, the stretch counts as time without a
failure. That is what schedulers log of jobs. Other columns are not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import one_line, shown
from planner.base.numerals import is_digits, number_of
from planner.base.units import HOUR_S
from planner.evidence.csvfile import Line, missing_columns, read, unused_columns

COLUMNS = ("start", "end", "chips", "cause")
NO_FAILURE = ("", "planned", "completed")
_MOST_CHIPS, _DIGITS = 10**9, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of a job.

    Attributes:
        chips: That it held.
        seconds: For how long.
        cause: Of the failure that ended it; empty: none did.
    """

    chips: int
    seconds: float
    cause: str


def stretches(paths: Sequence[Path]) -> tuple[list[Stretch], list[str]]:
    """The stretches in some logs, and what is to be said of their columns.

    Raises:
        InputError: One line per mistake, with the file and the line.
    """
    found: list[Stretch] = []
    problems: list[str] = []
    notes: list[str] = []
    for path in paths:
        name = one_line(str(path))
        columns, lines = read(path)
        if missing := missing_columns(name, columns, COLUMNS, "failures"):
            raise InputError("\n".join(missing))
        notes += unused_columns(columns, COLUMNS)
        for line in lines:
            try:
                found.append(_stretch(line))
            except InputError as error:
                problems.append(f"{name} line {line.number}: {error}")
        if not lines:
            problems.append(f"{name}: has no rows; a row is a stretch of a job")
    if problems:
        raise InputError("\n".join(problems))
    return found, list(dict.fromkeys(notes))


def _stretch(line: Line) -> Stretch:
    """One row.

    Raises:
        InputError: What is wrong with it, and what is expected.
    """
    if line.problem:
        raise InputError(line.problem)
    cells = line.cells
    seconds = _between(cells["start"], cells["end"])
    if not seconds > 0.0:
        raise InputError(f"end: {shown(cells['end'])} is not after {shown(cells['start'])}")
    chips = cells["chips"].replace(",", "")
    if not is_digits(chips) or not 1 <= int(chips[:_DIGITS]) <= _MOST_CHIPS:
        raise InputError(f"chips: {shown(cells['chips'])} is not a whole number from 1 up")
    cause = cells["cause"].lower()
    return Stretch(
        chips=int(chips[:_DIGITS]), seconds=seconds, cause="" if cause in NO_FAILURE else cause
    )  # fmt: skip


def _between(start: str, end: str) -> float:
    """Seconds from one time to another."""
    first, last = _time("start", start), _time("end", end)
    if isinstance(first, float) and isinstance(last, float):
        return (last - first) * HOUR_S
    if isinstance(first, float) or isinstance(last, float):
        raise InputError("end: is hours where start is a date, or the other way; write both alike")
    if (first.tzinfo is None) != (last.tzinfo is None):
        raise InputError("end: one of start and end has a time zone; give it to both, or to none")
    return (last - first).total_seconds()


def _time(column: str, text: str) -> datetime | float:
    try:
        hours = number_of(text)
    except ValueError:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise InputError(
                f"{column}: {shown(text)} is neither a date with a time (2026-03-01T08:00) nor "
                "hours (12.5)"
            ) from None
    if not math.isfinite(hours):
        raise InputError(f"{column}: {shown(text)} is not a number of hours")
    return hours
