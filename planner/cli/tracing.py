"""What commands with `--trace` share: the file's name, and what is in it.

The simulated pipeline of a plan, as a trace or as a picture of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.base.files import check_writable
from planner.base.messages import did_you_mean, one_line

if TYPE_CHECKING:
    from planner.cost.timeline import Timeline
    from planner.plan import Plan
    from planner.question.resolved import Resolved
    from planner.results.operation_clocks import PassClocks

TRACES = (".json", ".json.gz")
PICTURES = (".svg", ".png", ".html")


def check_trace(path: Path) -> None:
    """Finds out before anything is computed that a trace could not be written.

    Raises:
        InputError: The ending is unknown, or the file cannot be written.
    """
    check_trace_ending(path)
    check_writable(path)


def check_trace_ending(path: Path) -> None:
    """Refuses a file that is no trace by its name.

    Raises:
        InputError: The ending is unknown, or it is .png and resvg-py is missing.
    """
    if not path.name.lower().endswith((*TRACES, *PICTURES)):
        near = did_you_mean(path.suffix, (*TRACES, *PICTURES)) if path.suffix else ""
        raise InputError(
            f"trace: {one_line(str(path))}: a trace is written as {' or '.join(TRACES)}, "
            f"a picture of it as {', '.join(PICTURES[:-1])} or {PICTURES[-1]}{near}"
        )
    if path.suffix.lower() == ".png":
        from planner.report.drawing.png import load_resvg  # noqa: PLC0415  (an extra)

        load_resvg("trace")


def trace_content(
    path: Path, resolved: Resolved, plan: Plan, clocks: PassClocks | None = None
) -> str | bytes:
    """What the file holds: the simulated step of a plan; for `planner.base.files.write_all`.

    Args:
        path: A name that `check_trace_ending` lets pass.
        resolved: The job on its machine.
        plan: The plan, within the machine's limit of the clock.
        clocks: Of its operations, where they have their own.

    Raises:
        InputError: The plan cannot be simulated.
    """
    from planner.cost.timeline import timeline_of, why_not_simulated  # noqa: PLC0415  (numpy)

    if problem := why_not_simulated(resolved.cost, plan):
        raise InputError(f"trace: {problem}")
    if clocks is None:
        timeline = timeline_of(resolved.cost, plan)
    else:
        from planner.search.operations.timeline import clocked_timeline  # noqa: PLC0415  (few ask)

        timeline = clocked_timeline(resolved.cost, plan, clocks)
    if path.name.lower().endswith(TRACES):
        return _trace(path, resolved, plan, timeline)
    from planner.report.charts.timeline import timeline_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import picture_bytes  # noqa: PLC0415

    job, cluster = resolved.cost.job, resolved.cost.cluster
    title = f"{job.model.name} on {plan.chips} x {cluster.chip.name}: one step of the pipeline"
    return picture_bytes(timeline_picture(timeline, title), path)


def _trace(path: Path, resolved: Resolved, plan: Plan, timeline: Timeline) -> str | bytes:
    from planner.cost.timeline.trace import trace_gzip, trace_text  # noqa: PLC0415  (not for --help)
    from planner.question.files.plan_text import plan_fields  # noqa: PLC0415
    from planner.question.provenance import job_fields, versions  # noqa: PLC0415

    about = {"job": job_fields(resolved), "plan": plan_fields(plan), "versions": versions()}
    text = trace_text(timeline, about)
    return trace_gzip(text) if path.suffix.lower() == ".gz" else text
