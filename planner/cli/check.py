"""`planner check`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import ExitCode, InputError
from planner.base.files import check_writable, read_bytes
from planner.cli.field_flags import with_fields
from planner.cli.interruption import answer_all_the_same
from planner.cli.options import OUTPUT, AsJson, option, whole
from planner.cli.output import print_json
from planner.cli.plan_options import PlanFile, Row, file_and_row_of
from planner.cli.writing import before_printing
from planner.question.asked import REPLACED
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.evidence.checked.answer import CheckResult
    from planner.plan import Plan
    from planner.question.resolved import Resolved

_STEPS = 20
_EVERY_S = 1.0
_LARGEST_BYTES = 256 * 2**20


FEW = {
    "row": "",
    "log": "",
    "watch": "",
    "steps": "",
    "calibration": "",
    "assumptions": "",
    "output": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*REPLACED, replacing=True)
def check(
    plan_file: PlanFile,
    *,
    row: Row = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="What the run printed, by its framework, an exported train.py or a Trainer; - is "
            "standard input. docs/launch.md says of which.",
            metavar="FILE",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help=f"Follow the log until --steps (default {_STEPS}) count; Ctrl-C ends it.",
        ),
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Count so many steps at most, the first ones after the warm-up.",
            parser=whole("steps"),
            metavar="NUMBER",
        ),
    ] = None,
    asked: dict[str, Any],
    output: Annotated[
        Path | None,
        option(
            "Add the run to a CSV file that planner calibrate --runs reads.",
            OUTPUT,
            "-o",
            "--output",
            metavar="FILE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The log of a run's first steps beside the prediction of its plan.

    What lies in its 80 % interval, and which part is likely off. Exit codes: 0 inside, 1 not.

    Examples:
      planner check plan.yaml --log train.log

      planner check plan.yaml --log train.log --watch --steps 50

      planner check plan.yaml --log train.log -o checked.csv

      planner check plan.yaml --log train.log --calibration local.yaml --json
    """
    if log is None:
        raise InputError("log: is missing; name what the framework printed, e.g. --log train.log")
    plan_file, at = file_and_row_of(plan_file, row)
    _check_files(plan_file, log, output, watch=watch)
    resolved, plan = _question(plan_file, at, asked, writes=output is not None)
    most = steps or (_STEPS if watch else 0)
    result = _watched(resolved, plan, log, most) if watch else _checked(resolved, plan, log, most)
    result, written = _with_file(result, output)
    _show(result, written, as_json=as_json)
    if not result.passed:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _check_files(plan_file: Path, log: Path, output: Path | None, *, watch: bool) -> None:
    """Finds out first that a file could not be written, or would cost one that is read."""
    if watch and str(log) == "-":
        raise InputError("watch: standard input cannot be followed; name a file")
    if output is None:
        return
    check_apart([("output", output)], {"plan": plan_file, "log": log})
    check_writable(output)


def _question(
    plan_file: Path, row: int | None, asked: dict[str, Any], *, writes: bool
) -> tuple[Resolved, Plan]:
    """The job on its machine, and the plan that runs.

    Raises:
        InputError: No log of it is read, or it `writes` a row that could not say what ran.
    """
    from planner.evidence.checked.row import check_columns  # noqa: PLC0415  (numpy; not for --help)
    from planner.question.files.plan_file import read_plan_file  # noqa: PLC0415
    from planner.question.resolved import resolve  # noqa: PLC0415

    request, plan, origin, _ = read_plan_file(plan_file, asked, flags=True, row=row)
    if request.pools is not None:
        raise InputError("pools: no log of a run on several kinds of chips is read")
    resolved = resolve(request, origin, plan.chips)
    if writes:
        check_columns(request, resolved.cost, plan)
    return resolved, plan


def _checked(resolved: Resolved, plan: Plan, log: Path, most: int) -> CheckResult:
    """The log beside the plan."""
    from planner.evidence.checked.comparing import check_log  # noqa: PLC0415  (numpy; not for --help)

    return check_log(resolved, plan, _text(log), log, most)


def _watched(resolved: Resolved, plan: Plan, log: Path, most: int) -> CheckResult:
    """The log beside the plan, once it has enough steps, or those that it has at Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C came before a step counts.
    """
    from planner.evidence.checked.comparing import counted_steps  # noqa: PLC0415  (numpy; not for --help)

    def counted(text: str) -> int:
        return counted_steps(resolved.cost, plan, text, log)

    try:
        follow(log, counted, most)
    except KeyboardInterrupt:
        if not log.exists() or not counted(_text(log)):
            raise
        answer_all_the_same()
    return _checked(resolved, plan, log, most)


def _with_file(result: CheckResult, output: Path | None) -> tuple[CheckResult, Path | None]:
    """The answer, and the file that its row was added to: none where the loss is no number."""
    from planner.evidence.checked.answer import DIVERGED  # noqa: PLC0415  (not for --help)
    from planner.evidence.checked.runs_file import add_row  # noqa: PLC0415

    if output is None:
        return result, None
    if result.status == DIVERGED:
        line = f"{output} is not written: a run whose loss is no number is none to calibrate from"
        return replace(result, remarks=(*result.remarks, line)), None
    said: tuple[str, ...] = ()
    with before_printing() as failed:
        said = add_row(output, result.row)
    return replace(result, remarks=(*result.remarks, *said)), None if failed else output


def _show(result: CheckResult, written: Path | None, *, as_json: bool) -> None:
    """Prints the answer: one JSON document, or tables."""
    if as_json:
        print_json(result.to_dict("" if written is None else str(written)))
        return
    from planner.report.tables.check import check_view  # noqa: PLC0415  (not for --help)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(check_view(result, written))


def _text(log: Path) -> str:
    """A log, whatever bytes other programs wrote into it.

    Raises:
        InputError: It is missing, compressed, or far larger than the first steps of any run.
    """
    from planner.evidence.training_logs.log import text_in  # noqa: PLC0415  (not for --help)

    path = Path("/dev/stdin") if str(log) == "-" else log
    return text_in(read_bytes(path, _LARGEST_BYTES), "standard input" if path != log else str(log))


def follow(
    log: Path,
    counted: Callable[[str], int],
    enough: int,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Returns when a log that is still written has enough steps, or says that its run ended badly.

    Args:
        log: The file, which may not be there yet.
        counted: From its text to the steps that count.
        enough: How many are wanted.
        wait: Lets seconds pass.
    """
    from planner.evidence.training_logs.log import ran_out  # noqa: PLC0415  (not for --help)

    said = ""
    while True:
        there = log.exists()
        text = _text(log) if there else ""
        found = counted(text)
        line = f"{found} of {enough} steps" if there else f"waiting: {log} is not there yet"
        if line != said:
            print_lines(line, to=sys.stderr)
            said = line
        if found >= enough or ran_out(text):
            return
        wait(_EVERY_S)
