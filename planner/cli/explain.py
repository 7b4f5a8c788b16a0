"""`planner explain`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.files import write_all
from planner.cli.completing import one_of
from planner.cli.field_flags import with_fields
from planner.cli.launching import (
    From,
    LaunchFlags,
    Question,
    question_of,
    with_launch,
)
from planner.cli.options import AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.cli.plan_options import PlanFile, Row, TraceFile, file_and_row_of
from planner.cli.tracing import check_trace, trace_content
from planner.cli.writing import before_printing
from planner.question.asked import REPLACED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.explanation.answer import ExplainResult
    from planner.plan import Plan
    from planner.question.resolved import Resolved

FEW = {
    "row": "",
    "source": "The file is a launch of any framework (auto), or of: {sources}.",
    "objective": "What plans are compared by: energy, money, ...",
    "hardware": "Another cluster or chip than the file's.",
    "plot": "",
    "trace": "Write its schedule, simulated: .json, .svg, .png, .html.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_launch
@with_fields(*REPLACED, replacing=True)
def explain(
    plan_file: PlanFile,
    *,
    row: Row = None,
    source: From = None,
    launched: dict[str, Any],
    objective: Annotated[
        str,
        option("What plans are compared by: {objectives}.", None, complete=one_of("objective")),
    ] = "time",
    asked: dict[str, Any],
    plot: Annotated[
        Path | None,
        typer.Option(help="Write the steps and what the answer leans on: .svg, .png or .html."),
    ] = None,
    trace: TraceFile = None,
    as_json: AsJson = False,
) -> None:
    """Why a plan costs what it costs: what binds it, what one step in each direction would change.

    Every figure is a real evaluation: of plans one step away, of the same plan on changed machines,
    and of both sides of each number that the answer may lean on.

    Examples:
      planner explain plan.yaml

      planner explain front.json --row 2 --objective energy

      planner explain plan.yaml --hardware h200-sxm5-141 --json

      planner explain plan.yaml --plot explain.svg --trace trace.json

      {examples}
    """
    from planner.question.resolved import resolve  # noqa: PLC0415  (numpy; not for --help)
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415

    plan_file, at = file_and_row_of(plan_file, row)
    check_picture(plot)
    if trace is not None:
        check_trace(trace)
    check_apart([("plot", plot), ("trace", trace)], {"plan": plan_file})
    launch = LaunchFlags(source=source, given=launched)
    question = question_of(plan_file, at, launch, asked)
    resolved = resolve(question.request, question.origin, question.plan.chips)
    result = _explained(question, resolved, objective, asked, quiet=as_json)
    with before_printing():
        _write(result, resolved, plot, trace)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.explain import explain_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(explain_view(result))


def _explained(
    question: Question, resolved: Resolved, objective: str, asked: dict[str, Any], *, quiet: bool
) -> ExplainResult:
    """Why the plan costs what it costs; of a launch also what of it was not read."""
    from planner.answers.explained import explain_plan  # noqa: PLC0415  (not for --help)
    from planner.collectives.tables.tables import listening  # noqa: PLC0415  (numpy; not for --help)
    from planner.explanation.rivals import rivals_in  # noqa: PLC0415

    plan = question.plan
    rivals: Sequence[Plan] = ()
    with progress_bar(wanted=not quiet, verb="changing") as on_progress, listening(on_progress):
        if question.imported is None:
            path, content = Path(question.file), question.content
            rivals = rivals_in(
                path, question.request, plan.chips, asked, flags=True, content=content
            )
        found = explain_plan(
            resolved, plan, objective, question.assumed, on_progress, rivals, question.targets
        )
    return replace(found, evaluated=question.with_launch(found.evaluated))


def _write(
    result: ExplainResult, resolved: Resolved, plot: Path | None, trace: Path | None
) -> None:
    """The files that were asked for, all of them or none."""
    texts: dict[Path, str | bytes] = {}
    if plot is not None:
        from planner.report.charts.explain import explain_picture  # noqa: PLC0415  (not for --help)
        from planner.report.pages.picture_file import picture_bytes  # noqa: PLC0415

        texts[plot] = picture_bytes(explain_picture(result), plot)
    if trace is not None:
        texts[trace] = trace_content(trace, resolved, result.result.plan)
    write_all(texts)
