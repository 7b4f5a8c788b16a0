"""Flags that several commands share: the same words, values and panel in each `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

OUTPUT = "Output"


def option(help_text: str, panel: str | None, *names: str, metavar: str | None = None) -> Any:
    """A flag of a panel of `--help`, None: the first; without `names` called like its parameter."""
    return typer.Option(*names, help=help_text, rich_help_panel=panel, metavar=metavar)


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
