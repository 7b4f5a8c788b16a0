"""Flags of the commands that read a plan file: which plan, and what replaces fields of its job."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from planner.base.errors import InputError
from planner.base.files import same_path
from planner.base.messages import shown, too_long

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")

PlanFile = Annotated[
    Path,
    typer.Argument(
        help="Plan file (YAML), as `solve -o` writes it; or a front (.json or .csv), as "
        "`solve --pareto` writes it, with --row."
    ),
]
Row = Annotated[str | None, typer.Option(help="Which plan of a front, from 1.", metavar="INTEGER")]
OtherHardware = Annotated[str | None, typer.Option(help="Another cluster or chip than the file's.")]
OtherPrecision = Annotated[str | None, typer.Option(help="Another precision.")]
OtherFramework = Annotated[str | None, typer.Option(help="Another framework, with its own era.")]
OtherEra = Annotated[str | None, typer.Option(help="Another software era.")]
OtherAssumptions = Annotated[str | None, typer.Option(help="Preset, or YAML file of overrides.")]
OtherCalibration = Annotated[
    str | None, typer.Option(help="Local calibration, as planner calibrate writes it.")
]
OtherCollectives = Annotated[
    str | None,
    typer.Option(
        help="Collectives that plans assume: nccl, synthesized (schedules made for the wiring) or "
        "best (the faster of both)."
    ),
]
OtherDegradeLink = Annotated[
    list[str] | None,
    typer.Option(
        help="A link between two chips of a level that carries only a share of its rate, e.g. "
        "nvlink:0-2=0.25 (0: failed), in every domain (repeatable).",
        metavar="LEVEL:CHIP-CHIP=SHARE",
    ),
]
OtherMaxMemory = Annotated[
    str | None,
    typer.Option(
        help="Bytes per chip a plan may fill, e.g. 72GB (default: the file's, or the "
        "framework's share of the chip)."
    ),
]
RunnableIn = Annotated[
    str | None,
    typer.Option(
        help="Also warn of what these cannot run or be told in their default version, e.g. "
        "{two-targets}.",
        metavar="TARGET,...",
    ),
]
OtherMargin = Annotated[
    str | None,
    typer.Option(
        help="Share of the chip's memory, less the framework's reserve, that a plan may fill, "
        "e.g. 0.8 (default: the file's, or the framework's)."
    ),
]
TrainTokens = Annotated[
    str | None, typer.Option(help="Tokens of the whole run: adds days and MWh.")
]
Price = Annotated[str | None, typer.Option(help="Adds the price of the run.")]
Carbon = Annotated[str | None, typer.Option(help="Grams of CO2 per kWh: adds the CO2 of the run.")]


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


def check_plot(plot: Path | None, inputs: list[Path]) -> None:
    """Finds out before anything is computed that a picture cannot be written, or would cost a plan.

    Raises:
        InputError: It is one of the files that are read, or see `picture_file.check_picture`.
    """
    if plot is None:
        return
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415  (not for --help)

    check_picture(plot)
    for path in inputs:
        if same_path(plot, path):
            raise InputError(f"plot: {plot} is the plan file that is read; name another")
