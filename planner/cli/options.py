"""Flags that several commands share: the same words, values and panel in each `--help`."""

from __future__ import annotations

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
) -> Any:
    """A flag of a command.

    Args:
        help_text: What it is.
        panel: Of `--help`; None: the first.
        names: Of the flag; none: that of its parameter.
        metavar: What `--help` shows in place of the value.
        complete: What shells complete its value with.
    """
    completion = only_in_shells(complete)
    return typer.Option(
        *names, help=help_text, rich_help_panel=panel, metavar=metavar, autocompletion=completion
    )


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
