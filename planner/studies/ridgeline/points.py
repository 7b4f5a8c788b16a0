"""A user's own points: CSV with FLOP, bytes of memory and network, and measured seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import one_line, shown
from planner.base.numerals import number_of
from planner.evidence.csvfile import Line, missing_columns, read
from planner.studies.ridgeline.plane import Counts

NEEDED = ("name", "flop", "memory_bytes", "network_bytes")
MEASURED = "measured_s"
_COUNTS = NEEDED[1:]
_LEAST, _MOST = 1e-12, 1e24
_MOST_POINTS = 10_000
_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The rows of a file.

    Attributes:
        counts: FLOP and bytes per chip; network bytes are the same on every level.
        measured_s: Seconds, or None where a row has none; empty: no row has.
    """

    counts: Counts
    measured_s: tuple[float | None, ...]


def read_points(path: Path, levels: int) -> Points:
    """The points of a CSV file with the columns `NEEDED` and perhaps `MEASURED`.

    Args:
        path: The file.
        levels: Levels over which the network bytes are looked at, each in turn.

    Raises:
        InputError: The file cannot be read or used; one line per fault, with the line it is on.
    """
    name = one_line(str(path))
    columns, lines = read(path)
    if missing := missing_columns(name, columns, NEEDED, "points of a ridgeline"):
        raise InputError("\n".join(missing))
    if not lines:
        raise InputError(f"{name}: has no rows below its header")
    if len(lines) > _MOST_POINTS:
        raise InputError(f"{name}: {len(lines):,} rows; at most {_MOST_POINTS:,} are drawn")
    faults: list[str] = []
    table = [_row(line, name, faults) for line in lines]
    if faults:
        more = len(faults) - _MOST_FAULTS
        rest = [f"{name}: and {more:,} more faults"] if more > 0 else []
        raise InputError("\n".join(faults[:_MOST_FAULTS] + rest))
    numbers = np.array([row[:3] for row in table], dtype=float)
    measured = tuple(row[3] for row in table)
    return Points(
        counts=Counts(
            names=tuple(_names(lines)),
            flop=numbers[:, 0],
            memory_bytes=numbers[:, 1],
            network_bytes=np.repeat(numbers[:, 2:], levels, axis=1),
        ),
        measured_s=measured if any(value is not None for value in measured) else (),
    )


def _names(lines: Sequence[Line]) -> Iterator[str]:
    """The name of each row; those that several rows share are told apart by their lines."""
    often = Counter(line.cells["name"] for line in lines)
    for line in lines:
        name, number = line.cells["name"], f"line {line.number}"
        if not name:
            yield number
        else:
            yield f"{name} ({number})" if often[name] > 1 else name


def _row(line: Line, name: str, faults: list[str]) -> tuple[float, float, float, float | None]:
    """FLOP, bytes, bytes and seconds of a row; what is wrong with it is added to the faults."""
    where = f"{name} line {line.number}"
    if line.problem:
        faults.append(f"{where}: {line.problem}")
        return (1.0, 1.0, 1.0, None)
    flop, memory, network = (_number(line, column, where, faults) for column in _COUNTS)
    if flop == memory == network == 0:
        faults.append(f"{where}: flop, memory_bytes and network_bytes are all 0: there is no work")
    if not line.cells.get(MEASURED):
        return (flop, memory, network, None)
    seconds = _number(line, MEASURED, where, faults)
    if seconds == 0:
        faults.append(f"{where}: {MEASURED} is 0; leave the cell empty where nothing was measured")
    return (flop, memory, network, seconds)


def _number(line: Line, column: str, where: str, faults: list[str]) -> float:
    """A number that is finite and not negative; else a fault, and 1 in its place."""
    text = line.cells[column]
    try:
        value = number_of(text)
    except ValueError:
        what = f"{shown(text)} is not a number" if text else "is empty"
        faults.append(f"{where}: {column}: {what}; write it like 1.2e9")
        return 1.0
    if value == 0 or (math.isfinite(value) and _LEAST <= value <= _MOST):
        return value
    rule = "finite" if not math.isfinite(value) else "0, or from 1e-12 to 1e24"
    faults.append(f"{where}: {column}: {shown(text)}: must be {rule}")
    return 1.0
