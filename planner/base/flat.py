"""Nested records as the rows of a CSV file, and back.

Fields of a mapping have dotted names (`mesh.tp`); a list is its words with spaces between them,
or JSON where it holds mappings; a cell without a value is empty.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import repeated, too_long

_FAULTS = {
    "unexpected end of data": "a quotation is not closed",
    "expected after": "a quotation ends inside of a cell",
    "larger than field limit": f"a cell has more than {csv.field_size_limit():,} characters",
    "NUL": "it holds a NUL character",
}
"""Our words by what Python says."""
_WORDS = {"True": True, "False": False}


def csv_text(records: Iterable[Mapping[str, Any]], last: str) -> str:
    """One line per record, below the names of all their fields.

    Args:
        records: What to write.
        last: The field that is in every record and comes last; see `csv_records`.
    """
    rows = [_flat(record) for record in records]
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row if name != last)
    writer = csv.DictWriter(text, fieldnames=[*names, last], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def csv_records(
    text: str, lists: Collection[str], needed: Collection[str] = ()
) -> list[dict[str, Any]] | None:
    """The records of a CSV file; inverse of `csv_text` but for cells without a value.

    None where the heading lacks a name that is needed: the file is about something else.

    Args:
        text: Content of the file; its last column must have a value in every row, so that a row
            that is cut off is noticed.
        lists: Dotted names of the fields that are lists of words.
        needed: Dotted names of fields that are in every such file.

    Raises:
        InputError: It is no CSV file, a heading is there twice, or a row is cut off.
    """
    try:
        lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
        header, *rows = list(csv.reader(lines)) or [[]]
    except csv.Error as error:
        raise InputError(csv_fault(error)) from error
    if not {*needed} <= {*header}:
        return None
    if twice := repeated(header):
        raise InputError("\n".join(f"the heading {name!r} appears twice" for name in twice))
    records = []
    for number, row in enumerate((row for row in rows if row), start=1):
        if len(row) != len(header) or not row[-1]:
            wanted = f"{len(header)} cells, the last one not empty"
            raise InputError(f"row {number}: is cut off or not in line with the heading ({wanted})")
        records.append(_nested(dict(zip(header, row, strict=True)), lists))
    return records


def csv_fault(error: csv.Error) -> str:
    """Why a text is no CSV file, in our words."""
    said = str(error)
    why = next((words for found, words in _FAULTS.items() if found in said), said)
    return f"not a CSV file ({why})"


def _flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            nested = any(isinstance(item, Mapping) for item in value)
            flat[prefix + name] = json.dumps(value) if nested else " ".join(map(str, value))
        else:
            flat[prefix + name] = value
    return flat


def _nested(cells: Mapping[str, str], lists: Collection[str]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, cell in cells.items():
        if not cell and name not in lists:
            continue
        *outer, last = name.split(".")
        fields = record
        for step in outer:
            inner = fields.setdefault(step, {})
            if not isinstance(inner, dict):
                raise InputError(f"{name}: {step} is a field with a value already")
            fields = inner
        fields[last] = cell.split() if name in lists else _value(cell)
    return record


def _value(cell: str) -> Any:
    """A truth value, a number, a list of mappings, or text; so is a number that is too long."""
    if cell in _WORDS or too_long(cell):
        return _WORDS.get(cell, cell)
    readers: tuple[Callable[[str], Any], ...] = (int, float)
    for read in (json.loads,) if cell.startswith("[{") else readers:
        try:
            return read(cell)
        except (ValueError, RecursionError):
            continue
    return cell
