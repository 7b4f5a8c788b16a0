"""Flags of `planner export` about execution traces, and what they write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cli.options import whole
from planner.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from planner.answers.traced import ChakraResult

_RANKS = ("stages", "all")

TraceFolder = Annotated[
    Path | None,
    typer.Option(
        help="Write execution traces in MLCommons' Chakra format to this folder, for simulators "
        "such as ASTRA-sim; in the place of --to.",
        metavar="FOLDER",
    ),
]
Ranks = Annotated[
    str | None,
    typer.Option(
        help="With --chakra: stages (default, the first rank of each stage, to which the others "
        "are alike) or all.",
        metavar="WHICH",
    ),
]
MaxNodes = Annotated[
    int | None,
    typer.Option(
        help="With --chakra: most nodes of all files (default: 2,000,000, some 200 MB).",
        parser=whole("max-nodes", 1, 10**15),
        metavar="NUMBER",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChakraFiles:
    """Traces that are to be written.

    Attributes:
        result: What they are.
        folder: Where.
        as_json: Whether one JSON object says so.
    """

    result: ChakraResult
    folder: Path
    as_json: bool

    @property
    def texts(self) -> dict[Path, str | bytes]:
        """Contents by path."""
        return {self.folder / name: content for name, content in self.result.files.items()}

    def show(self) -> None:
        """Prints what was written."""
        if self.as_json:
            print_json(self.result.to_dict(str(self.folder)))
            return
        from planner.report.tables.export import chakra_view  # noqa: PLC0415  (not for --help)
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(chakra_view(self.result, self.folder))


def check_alone(others: Mapping[str, object]) -> None:
    """Refuses what is about the files of a framework where traces are asked for.

    Raises:
        InputError: One of them is given.
    """
    for name, value in others.items():
        if value is not None:
            raise InputError(
                f"{name}: is about the files of a framework, --chakra about traces; leave one out"
            )


def chakra_texts(
    plan_file: Path,
    folder: Path,
    ranks: str | None,
    max_nodes: int | None,
    row: int | None,
    asked: dict[str, Any],
    *,
    as_json: bool,
) -> ChakraFiles:
    """The execution traces of a plan.

    Raises:
        InputError: See `planner.answers.traced.chakra_file`; or `ranks` is no word for it.
    """
    from planner.answers.traced import chakra_file  # noqa: PLC0415  (numpy; not for --help)

    if ranks not in (None, *_RANKS):
        raise InputError(f"ranks: {not_one_of(ranks, _RANKS)}")
    with progress_bar(wanted=not as_json, verb="writing") as on_progress:
        result = chakra_file(
            plan_file,
            every_rank=ranks == "all",
            max_nodes=max_nodes,
            row=row,
            on_progress=on_progress,
            **asked,
        )
    return ChakraFiles(result=result, folder=folder, as_json=as_json)
