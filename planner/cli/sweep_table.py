"""`planner sweep table`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.errors import InputError
from planner.cli.options import OUTPUT, AsJson, option, whole
from planner.cli.output import print_json, progress_bar
from planner.cli.sweep_run import say_age
from planner.cli.writing import before_printing
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.studies.sweep.answer import SweepResult

_ROWS, _MOST_ROWS = 40, 10**9
_WHAT = "Rows and columns"


def table(
    store: Annotated[Path, typer.Argument(help="The store of a study.")],
    *,
    columns: Annotated[
        str | None,
        option(
            "Axes, fields of the question, or figures of the answer: "
            "chips,plan,best.step_time_s,best.mesh.tp; list: name them all.",
            _WHAT,
            metavar="NAME,...",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        option(
            "Rows for which this holds, e.g. 'best.mfu > 0.4' (repeatable).",
            _WHAT,
            metavar="CONDITION",
        ),
    ] = None,
    sort: Annotated[
        str | None, option("Column to sort by; with a minus before it from the largest.", _WHAT)
    ] = None,
    rows: Annotated[
        int,
        option(
            "Rows that the screen shows; files have all.", _WHAT, reads=whole("rows", 1, _MOST_ROWS)
        ),
    ] = _ROWS,
    csv: Annotated[Path | None, option("Write it as CSV.", OUTPUT)] = None,
    parquet: Annotated[Path | None, option("Write it as Parquet.", OUTPUT)] = None,
    arrow: Annotated[Path | None, option("Write it as Arrow (IPC file).", OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Answers of a study as a table, one row per point.

    Examples:
      planner sweep table study.db

      planner sweep table study.db --columns model,chips,best.step_time_s --csv table.csv

      planner sweep table study.db --where "chips == 16" --sort -best.mfu --rows 10

      planner sweep table study.db --columns list
    """  # fmt: skip
    from planner.question.provenance import stamped  # noqa: PLC0415  (numpy; not for --help)
    from planner.studies.sweep.answer import opened  # noqa: PLC0415

    found = opened(store)
    files = {".csv": csv, ".parquet": parquet, ".arrow": arrow}
    _check(files)
    if columns is not None and columns.strip() == "list":
        _list(found, as_json=as_json)
        return
    names = found.named(None if columns is None else columns.split(","))
    lines = _Lines(found, names, where or [], sort)
    with before_printing():
        for path in files.values():
            if path is not None:
                _write(path, names, lines)
    age = found.age(where or [])
    if as_json:
        rows_found = [list(row) for row in lines()]
        print_json(stamped({"columns": names, "rows": rows_found, "stale": age.stale}))
    elif not any(files.values()):
        _print(found, names, lines, rows)
    say_age(age)


def _check(files: dict[str, Path | None]) -> None:
    """Refuses files that cannot be written before anything is read.

    Raises:
        InputError: There is one; or its ending is another.
    """
    from planner.studies.sweep.exports import check_export  # noqa: PLC0415  (not for --help)

    for ending, path in files.items():
        if path is not None:
            if path.suffix.lower() != ending:
                raise InputError(f"{ending[1:]}: {path}: name it *{ending}")
            check_export(path)


class _Lines:
    """Rows of a table, as often as they are asked for."""

    def __init__(
        self, found: SweepResult, names: Sequence[str], where: list[str], sort: str | None
    ) -> None:
        self._found, self._names, self._where = found, names, where
        self._down = sort is not None and sort.startswith("-")
        self._sort = None if sort is None else found.named([sort.lstrip("-")], "sort")[0]

    def __call__(self) -> Any:
        """Them."""
        if self._sort is None:
            return self._found.table(self._names, self._where)
        rows = list(self._found.table([self._sort, *self._names], self._where))
        there = [row for row in rows if row[0] is not None]
        there.sort(key=lambda row: _place(row[0]), reverse=self._down)
        return (row[1:] for row in (*there, *(row for row in rows if row[0] is None)))


def _place(value: Any) -> tuple[bool, float, str]:
    """Numbers before texts."""
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))


def _write(path: Path, names: Sequence[str], lines: _Lines) -> None:
    from planner.studies.sweep.exports import write_table  # noqa: PLC0415  (not for --help)

    with progress_bar(wanted=True, verb="writing") as told:
        if told is not None:
            told(path.name, 0, 1)
        write_table(path, names, lines)


def _list(found: SweepResult, *, as_json: bool) -> None:
    """The names of all columns."""
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415  (not for --help)

        print_json(stamped({"columns": found.columns}))
    else:
        print_lines(*found.columns)


def _print(found: SweepResult, names: Sequence[str], lines: _Lines, most: int) -> None:
    from planner.report.tables.sweep import rows_view  # noqa: PLC0415  (rich; not for --help)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(rows_view(found, names, lines(), most))
