"""Rows of a study as files of other programs: CSV, Parquet, Arrow."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from planner.base.errors import InputError
from planner.base.files import being_written, check_writable
from planner.base.libraries import library
from planner.base.messages import did_you_mean, one_line

_CHUNK = 5000
Rows = Callable[[], Iterable[tuple[Any, ...]]]
ENDINGS = (".csv", ".parquet", ".arrow")


def check_export(path: Path) -> None:
    """Finds out before a table is read that it could not be written.

    Raises:
        InputError: The ending is unknown, the file cannot be written, or pyarrow is missing.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        near = did_you_mean(ending, ENDINGS) if ending else ""
        kinds = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(f"output: {one_line(str(path))}: tables are written as {kinds}{near}")
    if ending != ".csv":
        _arrow()
    check_writable(path)


def write_table(path: Path, names: Sequence[str], rows: Rows) -> int:
    """Writes a table as the ending of its file says, whole or not at all; returns its rows.

    Args:
        path: The file.
        names: Of the columns.
        rows: Gives the rows; it is called twice where types of columns have to be known first.

    Raises:
        InputError: See `check_export`.
    """
    write = _write_csv if path.suffix.lower() == ".csv" else _write_arrow
    with being_written(path) as temporary:
        return write(temporary, path.suffix.lower(), names, rows)


def _write_csv(path: Path, _: str, names: Sequence[str], rows: Rows) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in rows():
            writer.writerow(row)
            count += 1
    return count


def _arrow() -> Any:
    """The library.

    Raises:
        InputError: It is not installed.
    """
    lacking = "output: Parquet and Arrow need pyarrow: pip install 'parallelism-planner[sweep]'"
    return library("pyarrow", lacking)


def _write_arrow(path: Path, ending: str, names: Sequence[str], rows: Rows) -> int:
    arrow, count = _arrow(), 0
    schema = arrow.schema(list(zip(names, _types(arrow, names, rows()), strict=True)))
    with ExitStack() as stack:
        if ending == ".parquet":
            parquet = import_module("pyarrow.parquet")
            writer = stack.enter_context(parquet.ParquetWriter(path, schema))
        else:
            writer = stack.enter_context(arrow.ipc.new_file(str(path), schema))
        for chunk in _chunks(rows()):
            columns = [
                arrow.array([_as(value, field.type, arrow) for value in column], field.type)
                for field, column in zip(schema, zip(*chunk, strict=True), strict=True)
            ]
            writer.write_table(arrow.table(columns, schema=schema))
            count += len(chunk)
    return count


def _chunks(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    left = iter(rows)
    while chunk := list(islice(left, _CHUNK)):
        yield chunk


def _types(arrow: Any, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The type of each column: that of its values, or text where they differ."""
    seen: list[set[type]] = [set() for _ in names]
    for row in rows:
        for kinds, value in zip(seen, row, strict=True):
            kinds.add(type(value))
    return [_type(arrow, kinds - {type(None)}) for kinds in seen]


def _type(arrow: Any, kinds: set[type]) -> Any:
    if kinds == {bool}:
        return arrow.bool_()
    if kinds == {int}:
        return arrow.int64()
    return arrow.float64() if kinds and kinds <= {int, float} else arrow.string()


def _as(value: Any, kind: Any, arrow: Any) -> Any:
    return str(value) if value is not None and kind == arrow.string() else value
