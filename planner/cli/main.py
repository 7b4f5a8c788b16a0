"""`planner`: the commands, and what every command does about errors.

Exit codes: 0 ok, 2 bad input, 3 proved infeasible, 4 time limit without a plan, 130 Ctrl-C,
1 a bug of ours.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from planner.cli import databases, doctor, evaluate, solve
from planner.errors import PlannerError
from planner.version import __version__

app = typer.Typer(
    name="planner",
    help=(
        "Proven-optimal parallelism plans for training large models: time, memory and energy.\n\n"
        "Examples:\n\n"
        "  planner solve --model llama2-13b --chips 4096\n\n"
        "  planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512 -o plan.yaml\n\n"
        "  planner evaluate plan.yaml"
    ),
    epilog=(
        "Exit codes: 0 ok, 2 bad input, 3 proved that no plan fits, 4 time limit without a plan, "
        "130 interrupted, 1 a bug. Every command takes --json."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("solve")(solve.solve)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(databases.models, name="models")
app.add_typer(databases.hardware, name="hardware")
app.command("schema")(databases.schema)
app.command("doctor")(doctor.doctor)


def _version(*, wanted: bool) -> None:
    if wanted:
        print(f"planner {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=lambda wanted: _version(wanted=wanted),
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Options that precede every command."""


def main() -> None:
    """Runs the command line and turns errors into one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the character gets "?"
    try:
        app()
    except PlannerError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
