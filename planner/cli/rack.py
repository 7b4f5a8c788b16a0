"""`planner rack`: latency and energy of operators split over the chips of a rack."""

from __future__ import annotations

import typer

from planner.cli.once import Once
from planner.cli.rack_solve import solve

app = typer.Typer(
    no_args_is_help=True,
    help="Operators split over a rack of chips: latency and energy, strategy by strategy.",
)
app.command("solve", cls=Once)(solve)
