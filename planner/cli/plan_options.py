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
        "`solve --pareto` writes it, with --row."
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


def row_of(text: str | None) -> int | None:
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
