"""Flags of the commands that read a plan file: which plan, and what replaces fields of its job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from planner.base.errors import InputError
from planner.base.messages import shown, too_long

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")

PlanFile = Annotated[
    Path,
    typer.Argument(
        help="Plan file (YAML), as `solve -o` writes it; or a front (.json or .csv), as "
        "`solve --pareto` writes it, with --row 2, or as front.json:2."
    ),
]
TraceFile = Annotated[
    Path | None,
    typer.Option(
        help="Write the schedule of the plan's pipeline, simulated, as a trace for "
        "ui.perfetto.dev (.json, .json.gz) or a picture (.svg, .png, .html).",
        metavar="FILE",
    ),
]
Row = Annotated[str | None, typer.Option(help="Which plan of a front, from 1.", metavar="INTEGER")]


def file_and_row_of(plan_file: Path, row: str | None) -> tuple[Path, int | None]:
    """The file of a plan, and the row that `front.json:2` or --row says.

    Raises:
        InputError: Both say one, or --row says none.
    """
    from planner.question.files.front_file import file_and_row  # noqa: PLC0415  (not for --help)

    return file_and_row(plan_file, _row_of(row))


def _row_of(text: str | None) -> int | None:
    """The number of a row; zero and less are left to the front, which knows how many it has.

    Raises:
        InputError: It is no whole number.
    """
    if text is None:
        return None
    if _WHOLE.fullmatch(text) is None:
        raise InputError(f"row: {shown(text)} is not a whole number; the first plan is row 1")
    if refused := too_long(text):
        raise InputError(f"row: {refused}")
    return int(text)
