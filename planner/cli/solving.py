"""What `planner solve` does with a question: answers it, writes the files, prints."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from planner.base.errors import ExitCode
from planner.base.messages import Origin
from planner.cli.output import print_json, progress_bar
from planner.cli.showing import print_solved
from planner.cli.solve_files import Outputs
from planner.cli.writing import before_printing
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.plan import Plan
    from planner.question.request import Request
    from planner.report.tables.next_commands import Asking


def answered(
    job_file: Path | None,
    asked: dict[str, Any],
    outputs: Outputs,
    sections: tuple[str, ...],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Asks, writes the files, then prints."""
    from planner.answers.api import solve_request  # noqa: PLC0415  (numpy; not for --help)

    request, origin = question_of(job_file, asked)
    outputs.check_certificate(request)
    if request.phases or request.down is not None:
        from planner.cli.running import answered_run  # noqa: PLC0415  (few ask)

        answered_run(job_file, request, origin, outputs, sections, quiet=quiet, as_json=as_json)
        return
    outputs.check(job_file, request)
    trail = outputs.trail()
    on_point = _say_point if not (as_json or quiet) and sys.stderr.isatty() else None
    with progress_bar(wanted=not (as_json or quiet)) as on_progress:
        result = solve_request(request, on_progress, origin, on_point, trail=trail)
    with before_printing() as failed:
        outputs.write(request, result, trail)
    if as_json:
        print_json(result.to_dict())
    else:
        written = outputs.none if failed else outputs
        print_solved(result, _asking(job_file, asked, written), sections, quiet=quiet)
    print_lines(*outputs.missing(result, trail), to=sys.stderr)
    if result.best is None:
        raise typer.Exit(ExitCode.without_plan(result.status))


def _say_point(plan: Plan, time_s: float, energy_j: float) -> None:
    """A line on standard error for a proved point of the front; a bar stays below it."""
    from planner.results.words import point_words  # noqa: PLC0415  (not for --help)

    print_lines(point_words(plan, time_s, energy_j), to=sys.stderr)


def _asking(job_file: Path | None, asked: dict[str, Any], outputs: Outputs) -> Asking:
    """How the question was asked, for the commands that go on from its answer."""
    from planner.question.asked.flags import flags_of  # noqa: PLC0415  (not for --help)
    from planner.report.tables.next_commands import Asking  # noqa: PLC0415

    plot = outputs.plot
    return Asking(
        file="" if job_file is None else str(job_file),
        flags=tuple(flags_of(asked)),
        plan="" if outputs.plan is None else str(outputs.plan),
        page=plot is not None and plot.suffix.lower() == ".html",
    )


def question_of(job_file: Path | None, asked: dict[str, Any]) -> tuple[Request, Origin]:
    """The request of a job file and flags, and which of them its fields come from."""
    from planner.question.chips_of_plan import changed  # noqa: PLC0415  (not for --help)
    from planner.question.files.plan_file import read_job_file  # noqa: PLC0415  (not for --help)
    from planner.question.kinds.kind import needed_in  # noqa: PLC0415  (not for --help)
    from planner.question.request import request_from  # noqa: PLC0415

    if job_file is None and asked.get("down") is not None:
        from planner.question.launch.resuming import of_plan_file  # noqa: PLC0415  (few ask)

        if (found := of_plan_file(asked)) is not None:
            return found
    fields, origin = dict[str, Any](), Origin(arguments=frozenset(asked), dashes=True)
    if job_file is not None:
        fields, text = read_job_file(job_file)
        origin = replace(origin, file=str(job_file), content=text.content)
    beneath, fields = fields.get("set"), changed(fields, asked)
    request = request_from(fields, origin, needed=needed_in(fields))
    if request.set:
        from planner.question.changes.idle import check_moving  # noqa: PLC0415  (few ask)
        from planner.question.changes.texts import with_changes  # noqa: PLC0415

        check_moving(request, origin, with_changes((), beneath))
    return request, origin
