"""A user's own file of measurements of one kind: its columns, and its rows with their faults.

Each kind states its columns once, with the unit of each and three rows as an example: what is read,
what `planner validate --template` writes, and which columns are named as unknown all come from it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from frozen_records import dataclass
from hardware_db import HardwareError
from planner.base.errors import InputError
from planner.base.messages import one_line, shown
from planner.base.numerals import beyond
from planner.evidence.csvfile import COMMENT, Line, missing_columns, read, unused_columns
from planner.evidence.runs.checking import as_number
from planner.evidence.runs.reading import Skipped, reasons

T = TypeVar("T")
_LARGEST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """One kind of files of measurements.

    Attributes:
        name: Its word for `planner validate --what`.
        columns: Each with its unit, or what is written in it.
        needed: Those without which no row can be read.
        examples: Three rows.
    """

    name: str
    columns: Mapping[str, str]
    needed: tuple[str, ...]
    examples: tuple[Mapping[str, str], ...]

    def template(self) -> str:
        """A file without rows: the columns, then their units and the examples as comments."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        for cells in (self.columns, *self.examples):
            first, *others = (cells.get(name, "") for name in self.columns)
            writer.writerow([COMMENT + first, *others])
        return text.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRows(Generic[T]):
    """What a file holds.

    Attributes:
        name: Of the file, as told to the user.
        found: Its rows as measurements.
        skipped: Rows with faults.
        notes: Unknown columns, one sentence each.
    """

    name: str
    found: tuple[T, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]

    def checked(self) -> OwnRows[T]:
        """The same.

        Raises:
            InputError: No row is left; one line per fault.
        """
        if not self.found:
            lines = reasons(self.name, self.skipped)
            raise InputError("\n".join([f"{self.name}: no row is left", *lines]))
        return self


def read_own(path: Path, table: OwnTable, item: Callable[[dict[str, str]], T]) -> OwnRows[T]:
    """The rows of a file.

    Args:
        path: The file.
        table: Its kind.
        item: The measurement of a row with all columns of the kind; raises where it has faults.

    Raises:
        InputError: A needed column is missing, or no row is left; one line per fault.
    """
    name = one_line(str(path))
    columns, lines = read(path)
    if problems := missing_columns(name, columns, table.needed, table.name):
        raise InputError("\n".join(problems))
    if not lines:
        raise InputError(f"{name}: has no rows below its header")
    found: list[T] = []
    skipped: list[Skipped] = []
    for line in lines:
        cells = {**dict.fromkeys(table.columns, ""), **line.cells}
        cells["id"] = cells.get("id") or f"line-{line.number}"
        try:
            if line.problem:
                raise InputError(line.problem)
            found.append(item(cells))
        except (InputError, HardwareError) as error:
            skipped += _faults(line, cells, error)
    notes = tuple(unused_columns(columns, tuple(table.columns)))
    rows = OwnRows(name=name, found=tuple(found), skipped=tuple(skipped), notes=notes)
    return rows.checked()


def _faults(line: Line, cells: Mapping[str, str], error: Exception) -> list[Skipped]:
    source = cells.get("source", "")
    return [
        Skipped(line=line.number, key=cells["id"], source=source, reason=reason, is_fault=True)
        for reason in str(error).split("\n")
    ]


def amount(cells: Mapping[str, str], name: str, *, whole: bool = False) -> float:
    """The positive number in a cell.

    Raises:
        InputError: There is none.
    """
    text = cells[name]
    number = as_number(text)
    if not text:
        raise InputError(f"{name}: is empty")
    if number is None or not math.isfinite(number):
        raise InputError(f"{name}: {shown(text)} is not a number")
    if number <= 0:
        raise InputError(f"{name}: {text} is not positive")
    if rule := beyond(number):
        raise InputError(f"{name}: {text}: {rule}")
    if whole and (number != int(number) or number > _LARGEST):
        raise InputError(f"{name}: {text} is not a whole number")
    return number
