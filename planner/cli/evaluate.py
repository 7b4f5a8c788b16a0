"""`planner evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frozen_records import dataclass
from planner.base.apart import check_apart
from planner.base.files import check_writable, write_all
from planner.cli.field_flags import with_fields
from planner.cli.launching import (
    From,
    Improve,
    LaunchFlags,
    Question,
    check_improve,
    question_of,
    with_improvements,
    with_launch,
)
from planner.cli.operation_clocks import (
    LIMITED,
    AskedClocks,
    Clocks,
    Frequencies,
    SwitchingTime,
    asked_clocks,
    check_schedule,
    clocks_found,
)
from planner.cli.options import AsJson
from planner.cli.output import print_json, schedules_bar
from planner.cli.plan_options import PlanFile, Row, TraceFile, file_and_row_of
from planner.cli.showing import (
    Quiet,
    ShowEvaluate,
    print_evaluated,
    print_improvements,
    shown_sections,
)
from planner.cli.tracing import check_trace, trace_content
from planner.cli.writing import before_printing
from planner.question.asked import REPLACED, WHOLE_RUN
from planner.report.about import page_about
from planner.report.section_names import EVALUATE

if TYPE_CHECKING:
    from planner.question.resolved import Resolved
    from planner.report.tables.next_commands import Asking
    from planner.results.result import EvaluateResult

FEW = {
    "row": "",
    "source": "The file is a launch of any framework (auto), or of: {sources}.",
    "hardware": "",
    "framework": "",
    "improve": "With --from: nearest better plans, as diffs.",
    "plot": "",
    "output": "",
    "show": "Sections in full: time,stages,... or all.",
    "quiet": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_launch
@with_fields(*REPLACED, "runnable_in", *WHOLE_RUN, replacing=True)
@with_fields(*LIMITED, said=LIMITED, into="limited")
def evaluate(
    plan_file: PlanFile,
    *,
    row: Row = None,
    source: From = None,
    launched: dict[str, Any],
    asked: dict[str, Any],
    limited: dict[str, Any],
    improve: Improve = False,
    clocks: Clocks = None,
    switching_time: SwitchingTime = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw breakdown, memory per stage, mesh and pipeline: .svg, .png or .html."
        ),
    ] = None,
    trace: TraceFile = None,
    frequencies: Frequencies = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the job and the plan as a plan file (YAML).",
            metavar="FILE",
        ),
    ] = None,
    show: ShowEvaluate = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """What one plan costs: time, memory and energy with their parts, and whether it fits.

    Examples:
      planner evaluate plan.yaml

      planner evaluate --from auto run.sh --improve

      planner evaluate plan.yaml --hardware h200-sxm5-141 --json

      planner evaluate front.json --row 2

      planner evaluate plan.yaml --power-cap 500W --cooling liquid --pue 1.2

      planner evaluate plan.yaml --collectives best

      planner evaluate plan.yaml --runnable-in {target}

      planner evaluate plan.yaml --plot plan.svg --trace trace.json

      planner evaluate plan.yaml --clocks per-operation --frequencies frequencies.py

      {examples}
    """
    launch = LaunchFlags(source=source, given=launched)
    check_improve(improve, launch, quiet=quiet)
    wanted = asked_clocks(clocks, switching_time, frequencies, limited)
    plan_file, at = file_and_row_of(plan_file, row)
    files = _Files(plan=plan_file, plot=plot, trace=trace, output=output, clocks=wanted)
    _check_files(files, "plan" if source is None else "")
    sections = shown_sections(show, EVALUATE, quiet=quiet, as_json=as_json)
    question = question_of(plan_file, at, launch, {**asked, **limited})
    result, files = _evaluated(question, files, quiet=as_json or quiet)
    if improve:
        result = with_improvements(result, question, launch, {**asked, **launch.job})
    if as_json:
        print_json(result.to_dict())
    else:
        asking = _asking(question, files, at, asked)
        print_evaluated(result, asking, sections, quiet=quiet)
        if improve:
            print_improvements(result)
    check_schedule(result.clocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The file that is read, and those that are asked for."""

    plan: Path
    plot: Path | None
    trace: Path | None
    output: Path | None
    clocks: AskedClocks | None


def _asking(question: Question, files: _Files, row: int | None, asked: Mapping[str, Any]) -> Asking:
    """How the plan was asked about, for the commands that go on from its costs."""
    from planner.question.asked.flags import flags_of  # noqa: PLC0415  (not for --help)
    from planner.report.tables.next_commands import Asking  # noqa: PLC0415

    replaced = {name: value for name, value in asked.items() if name in REPLACED}
    plan = files.output or (None if replaced else files.plan)
    at = () if row is None else ("--row", str(row))
    return Asking(
        file=str(files.plan),
        flags=(*at, *flags_of(asked)),
        explained=(*at, *flags_of(replaced)),
        plan="" if plan is None else str(plan),
        row=() if files.output is not None else at,
        question=question.request,
        page=files.plot is not None and files.plot.suffix.lower() == ".html",
    )


def _evaluated(question: Question, files: _Files, *, quiet: bool) -> tuple[EvaluateResult, _Files]:
    """What a plan costs, and the files that are written of those that are asked for."""
    from planner.answers.evaluation import evaluate_plan  # noqa: PLC0415  (numpy; not for --help)
    from planner.question.resolved import resolve  # noqa: PLC0415

    request, plan, origin = question.request, question.plan, question.origin
    if request.pools is not None:
        from planner.answers.spaces.pools import evaluate_pools  # noqa: PLC0415  (start-up)
        from planner.question.kinds.operation_clocks import clocks_on_pools  # noqa: PLC0415
        from planner.question.kinds.pools import check_no_pictures  # noqa: PLC0415
        from planner.question.pools import resolve_pools  # noqa: PLC0415

        if files.clocks is not None:
            raise clocks_on_pools()
        check_no_pictures({"plot": files.plot, "trace": files.trace, "output": files.output})
        pools = resolve_pools(request, origin)
        return evaluate_pools(pools, plan, question.assumed), files
    with schedules_bar(wanted=not quiet):
        resolved = resolve(request, origin, plan.chips)
        result = question.with_launch(evaluate_plan(resolved, plan, question.assumed))
    if files.clocks is not None:
        found = clocks_found(resolved, result.result.plan, files.clocks, quiet=quiet)
        check_schedule(found, {"trace": files.trace, "frequencies": files.clocks.file})
        result = replace(result, clocks=found)
    with before_printing() as failed:
        write_all(_texts(result, resolved, files))
    return result, replace(files, plot=None, output=None) if failed else files


def _check_files(files: _Files, read: str) -> None:
    """Finds out before the plan is read that a file could not be written, or would cost it."""
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415  (not for --help)

    check_picture(files.plot)
    if files.trace is not None:
        check_trace(files.trace)
    frequencies = None if files.clocks is None else files.clocks.file
    written = [("plot", files.plot), ("output", files.output), ("trace", files.trace)]
    check_apart([*written, ("frequencies", frequencies)], {read: files.plan})
    if files.output is not None:
        check_writable(files.output)


def _texts(result: EvaluateResult, resolved: Resolved, files: _Files) -> dict[Path, str | bytes]:
    """What is asked for in files."""
    texts: dict[Path, str | bytes] = {}
    if files.plot is not None:
        texts[files.plot] = _drawn(result, resolved, files.plot)
    if files.trace is not None:
        clocks = None if result.clocks is None else result.clocks.drawn
        texts[files.trace] = trace_content(files.trace, resolved, result.result.plan, clocks)
    if files.clocks is not None and files.clocks.file is not None and result.clocks is not None:
        from planner.search.operations.frequencies import frequency_plan  # noqa: PLC0415  (few ask)

        about = f"Clocks of {files.plan.name}, by planner evaluate --clocks per-operation"
        chip = resolved.cost.chip
        texts[files.clocks.file] = frequency_plan(result.clocks, chip, about)
    if files.output is not None:
        from planner.question.files.plan_text import plan_text  # noqa: PLC0415  (numpy; not for --help)

        heading = [f"The plan of {files.plan.name}, as planner evaluate reads it."]
        folder = files.output.parent
        texts[files.output] = plan_text(resolved, result.result.plan, heading, folder)
    return texts


def _drawn(result: EvaluateResult, resolved: Resolved, path: Path) -> str | bytes:
    """The pictures of a plan, or as a page its whole report."""
    from planner.report.charts.plan import evaluate_picture, piped_timeline  # noqa: PLC0415  (not for --help)
    from planner.report.pages.picture_file import picture_bytes  # noqa: PLC0415

    if path.suffix.lower() != ".html":
        timeline = piped_timeline(resolved, result.result.plan)
        return picture_bytes(evaluate_picture(result, timeline), path)
    return page_about(result, result.result, resolved)
