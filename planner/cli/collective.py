"""`planner collective`: schedules of collectives on any topology."""

from __future__ import annotations

import typer

from planner.cli.groups import group_of

app = typer.Typer(
    cls=group_of(
        bounds="collective_bounds:bounds",
        synthesize="collective_synthesize:synthesize",
        simulate="collective_simulate:simulate",
        compare="collective_compare:compare",
        export="collective_export:export",
    ),
    no_args_is_help=True,
    help="Schedules of collectives on any topology: bounds, synthesis, simulation, comparison and "
    "export.",
)
