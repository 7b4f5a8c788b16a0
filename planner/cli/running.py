"""What `planner solve` does with questions about a run: its phases, and nodes that are down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from frozen_records import dataclass
from planner.base.errors import ExitCode, InputError
from planner.base.files import write_all
from planner.base.messages import Origin
from planner.cli.output import print_json, progress_bar
from planner.cli.solve_files import Outputs
from planner.cli.writing import before_printing
from planner.report.printing import print_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from planner.question.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question about a run, with what is to be written and printed.

    Attributes:
        job_file: Where it comes from; None: flags alone.
        request: The question.
        origin: Names its fields in messages.
        outputs: The files that are asked for.
        quiet, as_json: What is printed.
    """

    job_file: Path | None
    request: Request
    origin: Origin
    outputs: Outputs
    quiet: bool
    as_json: bool


def answered_run(
    job_file: Path | None,
    request: Request,
    origin: Origin,
    outputs: Outputs,
    sections: tuple[str, ...],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Asks, writes the files, then prints.

    Args:
        job_file, request, origin, outputs, quiet, as_json: As of `_Asked`.
        sections: Of one answer, which this is not.

    Raises:
        InputError: The question cannot be asked as it is.
    """
    if sections:
        raise InputError("show: is about one answer; leave it out, or phases and down")
    asked = _Asked(
        job_file=job_file, request=request, origin=origin, outputs=outputs, quiet=quiet,
        as_json=as_json,
    )  # fmt: skip
    if request.phases:
        _phases(asked)
    else:
        _down(asked)


def _phases(asked: _Asked) -> None:
    from planner.answers.run.phases import phase_requests, solve_phases_request  # noqa: PLC0415  (numpy)

    request, origin, outputs = asked.request, asked.origin, asked.outputs
    files = [outputs.numbered(at) for at in range(1, len(request.phases) + 1)]
    for own, (phase_request, _) in zip(files, phase_requests(request, origin), strict=True):
        own.check(asked.job_file, phase_request)
    with progress_bar(wanted=not (asked.as_json or asked.quiet)) as on_progress:
        result = solve_phases_request(request, on_progress, origin)
    with before_printing():
        texts: dict[Path, str | bytes] = {}
        for own, phase in zip(files, result.phases, strict=True):
            texts |= own.texts(phase.request, phase.answer)
        write_all(texts)
    if asked.as_json:
        print_json(result.to_dict())
    else:
        from planner.report.tables.phases import phases_line, phases_view  # noqa: PLC0415  (numpy)

        _print(phases_line(result) if asked.quiet else phases_view(result))
    if result.total is None:
        missing = next(phase for phase in result.phases if phase.best is None)
        raise typer.Exit(ExitCode.without_plan(missing.answer.status))


def _down(asked: _Asked) -> None:
    from planner.answers.run.outage import solve_down_request  # noqa: PLC0415  (numpy)

    request, outputs = asked.request, asked.outputs
    outputs.check(asked.job_file, request)
    with progress_bar(wanted=not (asked.as_json or asked.quiet)) as on_progress:
        result = solve_down_request(request, on_progress, asked.origin)
    now = result.now
    if now is not None:
        with before_printing():
            outputs.write(now.request, now.answer)
    if asked.as_json:
        print_json(result.to_dict())
    else:
        from planner.report.tables.down import down_line, down_view  # noqa: PLC0415  (numpy)

        _print(down_line(result) if asked.quiet else down_view(result))
    if now is None and not result.covered:
        raise typer.Exit(ExitCode.INFEASIBLE)


def _print(view: RenderableType) -> None:
    from planner.report.tables.tables import print_view  # noqa: PLC0415  (not for --help)

    if isinstance(view, str):
        print_text(view)
    else:
        print_view(view)
