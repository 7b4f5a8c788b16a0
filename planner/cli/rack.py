"""`planner rack`: latency and energy of operators split over the chips of a rack."""

from __future__ import annotations

import typer

from planner.cli.groups import group_of

app = typer.Typer(
    cls=group_of(
        zero="rack_zero:zero",
        topology="rack_topology:topology",
        parallelism="rack_parallelism:parallelism",
        solve="rack_solve:solve",
    ),
    no_args_is_help=True,
    help="Operators split over a rack of chips: latency and energy, strategy by strategy.",
)
