"""`planner rack`: latency and energy of operators split over the chips of a rack."""

from __future__ import annotations

import typer

from planner.cli import rack_parallelism, rack_solve, rack_topology, rack_zero
from planner.cli.once import Once

app = typer.Typer(
    no_args_is_help=True,
    help="Operators split over a rack of chips: latency and energy, strategy by strategy.",
)
app.command("zero", cls=Once)(rack_zero.zero)
app.command("topology", cls=Once)(rack_topology.topology)
app.command("parallelism", cls=Once)(rack_parallelism.parallelism)
app.command("solve", cls=Once)(rack_solve.solve)
