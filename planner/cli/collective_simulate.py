"""`planner collective simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli.collective_options import (
    FEW_SHARED,
    QUESTION,
    Bandwidth,
    Chunks,
    Collective,
    Graph,
    Lanes,
    Latency,
    MaxChunks,
    Method,
    Numbering,
    Root,
    Sizes,
    Start,
    Steps,
    TimeLimit,
    Topology,
)
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.cli.writing import before_printing

_CHANGES = "Slow and failed links"
FEW = {
    "schedule": "Of planner (.json) or of MSCCL (.xml).",
    "topology": FEW_SHARED["topology"],
    "graph": FEW_SHARED["graph"],
    "collective": FEW_SHARED["collective"],
    "sizes": FEW_SHARED["sizes"],
    "slow": "Links at a share of their rate: 0-2=0.25.",
    "gone": "",
    "plot_schedule": "Draw the fastest in space and time.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def simulate(
    schedule: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCHEDULE",
            help="A schedule as planner writes it (.json), or an algorithm of MSCCL (.xml); "
            "default: the schedules that are synthesized.",
        ),
    ] = None,
    *,
    topology: Topology = None,
    graph: Graph = None,
    lanes: Lanes = None,
    bandwidth: Bandwidth = None,
    latency: Latency = None,
    start: Start = None,
    numbering: Numbering = None,
    collective: Collective = None,
    root: Root = None,
    chunks: Chunks = None,
    steps: Steps = None,
    max_chunks: MaxChunks = None,
    sizes: Sizes = None,
    mode: Annotated[
        str | None,
        option(
            "synchronous (a step begins when all of the one before has arrived) or dependent (a "
            "send begins when its data is there; default: synchronous): by which the fastest are "
            "told and drawn.",
            QUESTION,
        ),
    ] = None,
    method: Method = None,
    time_limit: TimeLimit = None,
    slow: Annotated[
        list[str] | None,
        option(
            "Links at a share of their bandwidth, e.g. 0-2=0.25 or 25%; 0: failed (repeatable).",
            _CHANGES,
            "--degrade",
            metavar="U-V=SHARE",
        ),
    ] = None,
    gone: Annotated[
        list[str] | None,
        option("Links that carry nothing (repeatable).", _CHANGES, "--fail", metavar="U-V"),
    ] = None,
    plot_schedule: Annotated[
        Path | None,
        option(
            "Draw the fastest schedule at the largest size in space and time, on the links as they "
            "are with --degrade and --fail: .svg, .html or .png (with the extra viz).",
            OUTPUT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Schedules run event by event on their links, at any size; what slow links cost.

    Examples:
      planner collective simulate --topology dgx-1 --sizes 1KB,64KB,64MB

      planner collective simulate --topology dgx-1 --degrade 0-2=0.25

      planner collective simulate --topology torus:4x4 --chunks 4 --steps 4 --mode dependent
        --plot-schedule torus.svg
    """
    asked = {
        "topology": topology,
        "graph": graph,
        "lanes": lanes,
        "bandwidth": bandwidth,
        "latency": latency,
        "start": start,
        "numbering": numbering,
        "collective": collective,
        "root": root,
        "chunks": chunks,
        "steps": steps,
        "max_chunks": max_chunks,
        "method": method,
        "time_limit": time_limit,
    }
    how = {
        "sizes": sizes or "1KB..1GB",
        "mode": mode or "synchronous",
        "slow": slow or [],
        "gone": gone or [],
    }
    _run(schedule, asked, how, plot_schedule, as_json=as_json)


def _run(
    schedule: Path | None,
    asked: dict[str, Any],
    how: dict[str, Any],
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    """Asks, writes the picture, then prints."""
    from planner.collectives.files.saving import question_of_file  # noqa: PLC0415  (not for --help)
    from planner.collectives.questions.question import (  # noqa: PLC0415  (numpy)
        question_of,
        sizes_of,
    )
    from planner.collectives.questions.simulation import changes_of, simulated  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415

    check_picture(plot, "plot-schedule")
    sizes = sizes_of(how["sizes"])
    read = None
    if schedule is None:
        question = question_of(asked)
    else:
        question, read = question_of_file(schedule, asked)
    changes = changes_of(question.machine, how["slow"], how["gone"])
    with progress_bar(wanted=not as_json, verb="simulating") as on_progress:
        found = simulated(
            question, sizes, schedule=read, mode=how["mode"], changes=changes,
            on_progress=on_progress,
        )  # fmt: skip
    if plot is not None:
        with before_printing():
            _draw(found, plot)
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(found.to_fields()))
        return
    from planner.report.tables.collective_run import run_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(run_view(found))


def _draw(found: Any, plot: Path) -> None:
    from planner.collectives.questions.simulation import one_run, run_title  # noqa: PLC0415  (not for --help)
    from planner.collectives.runs.spacetime import spacetime  # noqa: PLC0415
    from planner.report.charts.collective_space import space_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import write_picture  # noqa: PLC0415

    run = one_run(found, float(found.sizes_bytes[-1]))
    write_picture(space_picture(spacetime(run), run_title(found)), plot)
