"""`planner sweep`: one question for very many values of its fields."""

from __future__ import annotations

import typer

from planner.cli.groups import group_of

app = typer.Typer(
    cls=group_of(
        run="sweep_run:run",
        status="sweep_status:status",
        table="sweep_table:table",
        plot="sweep_plot:plot",
    ),
    no_args_is_help=True,
    help="One question for thousands of values of its fields, resumable: run, status, table, plot.",
)
