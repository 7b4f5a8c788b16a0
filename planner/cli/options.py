"""Flags that several commands share: the same words, values and panel in each `--help`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli.completing import Completer, only_in_shells

OUTPUT = "Output"


def option(
    help_text: str,
    panel: str | None,
    *names: str,
    metavar: str | None = None,
    complete: Completer | None = None,
    reads: Callable[[Any], int] | None = None,
) -> Any:
    """A flag of a command.

    Args:
        help_text: What it is.
        panel: Of `--help`; None: the first.
        names: Of the flag; none: that of its parameter.
        metavar: What `--help` shows in place of the value.
        complete: What shells complete its value with.
        reads: Of a whole number; see `whole`.
    """
    return typer.Option(
        *names,
        help=help_text,
        rich_help_panel=panel,
        metavar=metavar if metavar or reads is None else "NUMBER",
        autocompletion=only_in_shells(complete),
        parser=reads,
    )


def whole(name: str, least: int = 1, most: int = 10**9) -> Callable[[Any], int]:
    """Reads the whole number of a flag as those of a question are read: `8`, `1e3`, `4Ki`."""

    def read(given: int | str) -> int:
        from planner.base.counts import whole_within  # noqa: PLC0415  (not for --help)

        return whole_within(given, name, least, most)

    return read


Trace = Annotated[
    Path | None,
    option(
        "Write the schedule of the best plan's pipeline, simulated, as a trace for "
        "ui.perfetto.dev (.json, .json.gz) or a picture (.svg, .png, .html).",
        OUTPUT,
        metavar="FILE",
    ),
]
AsJson = Annotated[bool, option("Print one JSON object.", OUTPUT, "--json")]
