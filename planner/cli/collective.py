"""`planner collective`: schedules of collectives on any topology."""

from __future__ import annotations

import typer

from planner.cli import (
    collective_bounds,
    collective_compare,
    collective_export,
    collective_simulate,
    collective_synthesize,
)
from planner.cli.once import Once

app = typer.Typer(
    no_args_is_help=True,
    help="Schedules of collectives on any topology: bounds, synthesis, simulation, comparison and "
    "export.",
)
app.command("bounds", cls=Once)(collective_bounds.bounds)
app.command("synthesize", cls=Once)(collective_synthesize.synthesize)
app.command("simulate", cls=Once)(collective_simulate.simulate)
app.command("compare", cls=Once)(collective_compare.compare)
app.command("export", cls=Once)(collective_export.export)
