"""CSV files of measurements: those that travel in the package, and a user's own."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.flat import csv_fault
from planner.base.messages import did_you_mean, one_line, shown
from planner.base.numerals import number_of
from planner.base.packed import read_unpacked
from planner.base.units import plural
from strict_yaml.limits import HINT, raised

TABLES = ("runs", "sets", "failed", "collectives", "microbench", "energy", "left_out")
"""The files of the package."""
COMMENT = "# "
"""What a line of a file begins with that is no row."""
NOT_USED = "is not used"
LONGEST_CELL = 4_000
"""Characters; rules look for words in some cells, in time that grows faster than these do."""
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of a file.

    Attributes:
        number: Line of the file on which it begins, from 1.
        cells: Column to text, without blanks around it.
        problem: What is wrong with the line as a whole; empty: nothing.
    """

    number: int
    cells: dict[str, str]
    problem: str = ""


@cache
def shipped(name: str) -> tuple[Line, ...]:
    """The rows of one of `TABLES` with their lines."""
    file = resources.files("planner.evidence") / "data" / f"{name}.csv.gz"
    return tuple(parse(gzip.decompress(file.read_bytes()).decode("utf-8"), name)[1])


def published(name: str) -> tuple[dict[str, str], ...]:
    """The rows of one of `TABLES`, each by its headings."""
    return tuple(line.cells for line in shipped(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a file as it is written.

    Attributes:
        number: Line of the file on which it begins, from 1.
        text: Its characters, with the end of its last line.
        cells: What it holds.
    """

    number: int
    text: str
    cells: tuple[str, ...]

    @property
    def is_row(self) -> bool:
        """Whether it is neither blank nor a comment."""
        blank = not any(cell.strip() for cell in self.cells)
        return not blank and not self.cells[0].startswith(COMMENT)


def read(path: Path) -> tuple[list[str], list[Line]]:
    """The columns and rows of a user's file; compressed where it begins as gzip files do.

    Raises:
        InputError: The file is missing, too large, not text, or has no header.
    """
    name = one_line(str(path))
    content = read_unpacked(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not a text file (byte {error.start} is not UTF-8)") from error
    return parse(text, name)


def parse(text: str, name: str) -> tuple[list[str], list[Line]]:
    """The columns and rows of the text of a file; blank lines and comments are left out.

    Raises:
        InputError: It has no header, a column appears twice, or a quotation is not closed.
    """
    return lines_of(records(text, name), name)


def records(text: str, name: str) -> list[Record]:
    """Everything in the text of a file: its records, blank lines and comments.

    Their texts are that of the file, one behind the other.

    Raises:
        InputError: A quotation is not closed.
    """
    taken: list[str] = []
    reader = csv.reader(_noting(io.StringIO(text, newline=""), taken), strict=True)
    found, number = [], 1
    try:
        for cells in reader:
            found.append(Record(number=number, text="".join(taken), cells=tuple(cells)))
            taken.clear()
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{name} line {reader.line_num}: {csv_fault(error)}") from error
    return found


def _noting(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def lines_of(found: Sequence[Record], name: str) -> tuple[list[str], list[Line]]:
    """The columns and rows in the records of a file.

    Raises:
        InputError: It has no header, or a column appears twice.
    """
    rows = [one for one in found if one.is_row]
    if not rows:
        raise InputError(f"{name}: is empty; its first line must name the columns")
    columns = [column.strip() for column in rows[0].cells]
    if twice := [column for column, times in Counter(columns).items() if times > 1]:
        raise InputError(f"{name} line {rows[0].number}: column {shown(twice[0])} appears twice")
    return columns, [_line(one.number, columns, one.cells) for one in rows[1:]]


def _line(number: int, columns: Sequence[str], cells: Sequence[str]) -> Line:
    problem = ""
    longest = max(map(len, cells))
    if len(cells) != len(columns):
        problem = f"has {plural(len(cells), 'cell')}; the header has {len(columns)}"
    elif longest > LONGEST_CELL and not raised():
        problem = f"has a cell of {longest:,} characters, more than {LONGEST_CELL:,}; {HINT}"
    pairs = zip(columns, cells, strict=False)
    return Line(number=number, cells={name: cell.strip() for name, cell in pairs}, problem=problem)


def missing_columns(
    name: str, columns: Sequence[str], needed: Sequence[str], what: str = "runs"
) -> list[str]:
    """One line for each needed column that a file lacks, with the column that may be meant.

    A file that has none of them is another kind of file than one of `what`, which one line says.
    """
    if len(columns) == 1:
        for separator, words in _SEPARATORS.items():
            if separator in columns[0]:
                return [f"{name} line 1: columns are separated by {words}; write commas"]
    unknown = [column for column in columns if column and column not in needed]
    missing = [column for column in needed if column not in columns]
    if len(missing) == len(needed):
        return [f"{name}: is no CSV file of {what}: the columns {', '.join(missing)} are missing"]
    return [
        f"{name} line 1: column {column!r} is missing{_meant(column, unknown)}"
        for column in missing
    ]


def _meant(column: str, unknown: Sequence[str]) -> str:
    """The column that may be meant by one that is missing: in another unit, or misspelt."""
    if column.endswith("_s") and f"{column.removesuffix('_s')}_ms" in unknown:
        return f"; {column.removesuffix('_s') + '_ms'!r} is there: give seconds"
    return did_you_mean(column, unknown)


def unused_columns(
    columns: Iterable[str],
    known: Sequence[str],
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """One sentence for each column that is not known, with the one that may be meant.

    Args:
        columns: Of the file.
        known: Those that are read.
        aliases: Other names of known ones.
    """
    return [
        f"column {shown(column)} {NOT_USED}{_known_column(column, known, aliases or {})}"
        for column in columns
        if column not in known
    ]


def _known_column(column: str, known: Sequence[str], aliases: Mapping[str, Sequence[str]]) -> str:
    """The column that may be meant by another name."""
    word = column.lower().replace(" ", "_").replace("-", "_")
    found = [name for name, others in aliases.items() if word in others]
    return did_you_mean(found[0] if found else word, known)


def number_in(row: Mapping[str, str], name: str) -> float | None:
    """The number in a cell; None: it is empty, or there is no such column."""
    text = row.get(name)
    return number_of(text) if text else None


def whole_in(row: Mapping[str, str], name: str, default: int | None = None) -> int:
    """The whole number in a cell, or what stands for an empty one.

    Raises:
        InputError: It is empty, and nothing stands for it.
    """
    text = row[name]
    if text:
        return int(number_of(text))
    if default is None:
        raise InputError(f"{row['id']}: {name} is missing")
    return default
