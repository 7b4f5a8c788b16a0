"""`planner`: the commands, and what every command does about errors.

Exit codes are those of `ExitCode`. What nobody raised on purpose leaves `main` as it is: it is a
defect of ours, which `planner.cli.entry` reports.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import Annotated, Any

import typer
from typer.main import get_command

from planner.base.errors import ExitCode, InputError, PlannerError, UnfinishedError
from planner.base.log import INFO, log
from planner.base.messages import MOST_MISTAKES, clipped, first_lines, printable, shortened
from planner.base.version import __version__
from planner.cli.completing import INSTRUCTION, answer_shell
from planner.cli.groups import group_of
from planner.cli.interruption import heard
from planner.cli.json_lines import errors_as_asked
from planner.cli.leading import allowed, moved_first
from planner.cli.logs import logged
from planner.cli.streams import StreamError, drop_output, prepare_streams
from planner.cli.writing import refusals_last
from strict_yaml.inputs import counting
from strict_yaml.limits import VARIABLE

# Typer brings Click's exceptions along under other names in other versions; this one is theirs all.
_UsageError: type[Any] = typer.BadParameter.__bases__[0]
_MOST_LINES = 40  # that say why there is no answer

app = typer.Typer(
    name="planner",
    cls=group_of(
        solve="solve:solve",
        evaluate="evaluate:evaluate",
        explain="explain:explain",
        compare="compare:compare",
        export="export:export",
        targets="targets:targets",
        check="check:check",
        verify="verify:verify",
        fleet="fleet:fleet",
        sweep="sweep:app",
        feasible="feasible:feasible",
        goodput="goodput:goodput",
        ridgeline="ridgeline:ridgeline",
        reproduce="reproduce:reproduce",
        report="report:report",
        web="web:web",
        validate="validate:validate",
        measure="measure:measure",
        calibrate="calibrate:calibrate",
        schema="databases:schema",
        doctor="doctor:doctor",
        rack="rack:app",
        collective="collective:app",
        models="databases:models",
        hardware="databases:hardware",
    ),
    help=(
        "Proven-optimal parallelism plans for training large models: time, memory and energy.\n\n"
        "Examples:\n\n"
        "  planner solve --model llama2-13b --chips 4096\n\n"
        "  planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512 -o plan.yaml\n\n"
        "  planner evaluate plan.yaml\n\n"
        "  planner feasible --model llama3-70b --hardware tpu-v5p --assumptions roofline"
    ),
    epilog=(
        f"Exit codes: {', '.join(f'{code:d} {code.meaning}' for code in ExitCode)}. "
        "Every command takes --json."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(*, wanted: bool) -> None:
    if wanted:
        print(f"planner {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
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
    log_level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Say on standard error what is done: debug, info, warning or error. Stands "
            "anywhere, as --log-json does.",
        ),
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="The same as one JSON object per line.")
    ] = False,
    largest_file: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            envvar=VARIABLE,
            help="Read files up to this size, where a reader would refuse them, as in 50MB.",
        ),
    ] = None,
) -> None:
    """Options that precede every command."""
    if largest_file is not None:
        given = context.get_parameter_source("largest_file")
        named = (VARIABLE,) if given is not None and given.name == "ENVIRONMENT" else ()
        context.call_on_close(allowed(largest_file, *named))
    if log_level is not None or log_json:
        context.call_on_close(logged(log_level, as_json=log_json))
        log(__name__, INFO, "start", version=__version__, command=context.invoked_subcommand)


def main() -> None:
    """Runs the command line and turns errors into one line each and an exit code."""
    prepare_streams()
    with errors_as_asked(sys.argv[1:]):
        code = _guarded(sys.argv[1:])
    sys.exit(code)


def _guarded(arguments: list[str]) -> int:
    """The exit code of a command; whatever it raises on purpose is said on standard error."""
    with refusals_last() as refused:
        code = _answered(arguments)
    for error in () if code == ExitCode.INTERRUPTED else refused:  # the answer is out
        code = ended(error)
    return code


def _answered(arguments: list[str]) -> int:
    """The exit code of a command, whether or not the files that it wanted could be written."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
        if heard():  # the code that it broke into dropped it
            raise KeyboardInterrupt
    except (PlannerError, KeyboardInterrupt) as error:
        code = ended(error)
    except StreamError as error:
        code = _unheard(error)
    return code


def _unheard(error: StreamError) -> int:
    """Drops what a stream does not take; says why, unless its reader has seen enough."""
    drop_output(error.stream)
    if error.left:
        return ExitCode.OK
    _say(f"error: {error.stream}: cannot be written ({(error.strerror or '?').lower()})")
    return InputError.exit_code


def ended(error: PlannerError | KeyboardInterrupt) -> int:
    """Says why a command ended, and with which code."""
    if isinstance(error, KeyboardInterrupt) or (heard() and not isinstance(error, UnfinishedError)):
        code = heard() or ExitCode.INTERRUPTED
        if code == ExitCode.INTERRUPTED:
            _say("interrupted")
        return code
    most = MOST_MISTAKES if isinstance(error, InputError) else _MOST_LINES
    lines = first_lines(str(error).split("\n"), most)
    what = "" if isinstance(error.__cause__, KeyboardInterrupt) else "error: "
    _say(*(f"{what}{clipped(shortened(printable(line)))}" for line in lines))
    return error.exit_code


@functools.cache
def tree() -> Any:
    """The tree of commands; a process that runs several builds it once."""
    return get_command(app)


def _run(arguments: list[str]) -> int:
    """Parses and runs a command.

    Typer's own way of running commands hides interruptions and broken pipes from its caller; only
    the completion of words in shells needs it.

    Raises:
        InputError: The command line cannot be parsed.
    """
    if INSTRUCTION in os.environ:
        answer_shell(app)
    try:
        command = tree()
        with counting(), command.make_context("planner", moved_first(arguments)) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return 0
        raise InputError(_usage(error)) from error
    return 0


def _usage(error: Any) -> str:
    """A mistake on the command line in one line, with where to read more."""
    message = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx is not None else "planner"
    return f"{message} (see {path} --help)"


def _say(*lines: str) -> None:
    with contextlib.suppress(OSError):
        for line in lines:
            print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
