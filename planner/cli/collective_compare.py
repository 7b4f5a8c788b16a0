"""`planner collective compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import ExitCode
from planner.cli.collective_options import (
    FEW_SHARED,
    MACHINE,
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
from planner.cli.output import print_json, standing_bar
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.collectives.questions.comparison import CompareAnswer

_FAILED = ("infeasible", "time_limit")
FEW = {
    "topology": FEW_SHARED["topology"],
    "graph": FEW_SHARED["graph"],
    "system": "A chip or cluster instead, with NCCL's costs.",
    "chips": "",
    "collective": FEW_SHARED["collective"],
    "sizes": FEW_SHARED["sizes"],
    "plot": "Draw time against size: .svg, .html or .png.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def compare(
    *,
    topology: Topology = None,
    system: Annotated[
        str | None,
        option(
            "In place of a wiring: a chip or cluster of the database, e.g. h100-sxm5-80, with "
            "NCCL's costs fitted to measured calls.",
            MACHINE,
        ),
    ] = None,
    chips: Annotated[str | None, option("Of --system: chips of the job, e.g. 16.", MACHINE)] = None,
    network: Annotated[
        str | None,
        option(
            "Of --system, between nodes: infiniband (RoCE and TCPXO too), efa, efa-v1 or tcpx "
            "(default: infiniband).",
            MACHINE,
        ),
    ] = None,
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
    constants: Annotated[
        str | None,
        option(
            "Of all that is compared: machine (its latency, bandwidth and start), or nccl (base, "
            "latency per step and share of the wire of NCCL's protocols; default: machine).",
            QUESTION,
        ),
    ] = None,
    method: Method = None,
    time_limit: TimeLimit = None,
    plot: Annotated[
        Path | None,
        option(
            "Draw time against size, with the crossovers: .svg, .html or .png (with the extra "
            "viz).",
            OUTPUT,
        ),
    ] = None,
    plot_schedule: Annotated[
        Path | None,
        option(
            "Draw the schedule with the fewest rounds per chunk in space and time, at the "
            "largest size: .svg, .html or .png (with the extra viz).",
            OUTPUT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Synthesized schedules beside the rings and trees of a library such as NCCL, over sizes.

    Examples:
      planner collective compare --topology dgx-1 --collective allgather

      planner collective compare --topology dgx-1 --collective allreduce --sizes 1KB..64MB
        --plot allreduce.svg

      planner collective compare --topology torus:2x4 --constants nccl --json

      planner collective compare --system h100-sxm5-80 --chips 16 --collective allreduce
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
    sizes = sizes or "1KB..1GB"
    of_system = {"system": system, "chips": chips, "network": network}
    if any(value is not None for value in of_system.values()):
        other = {**asked, "constants": constants, "plot_schedule": plot_schedule}
        del other["collective"]
        of_system["collective"] = collective
        _run_system(of_system, other, sizes, plot, as_json=as_json)
        return
    _run(asked, sizes, constants or "machine", (plot, plot_schedule), as_json=as_json)


def _run_system(
    asked: dict[str, Any],
    other: dict[str, Any],
    sizes: str,
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    """What a library takes on a real system: asks, writes the picture, then prints."""
    from planner.base.files import write_all  # noqa: PLC0415  (not for --help)
    from planner.collectives.questions.question import sizes_of  # noqa: PLC0415  (numpy; not for --help)
    from planner.collectives.questions.systems import system_question, system_times  # noqa: PLC0415
    from planner.report.charts.collective_time import time_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture, picture_bytes  # noqa: PLC0415

    check_picture(plot)
    found = system_times(system_question(asked, other), sizes_of(sizes))
    if plot is not None:
        with before_printing():
            write_all({plot: picture_bytes(time_picture(found.curves), plot)})
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(found.to_fields()))
        return
    from planner.report.tables.collective_system import system_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(system_view(found))


def _run(
    asked: dict[str, Any],
    sizes: str,
    constants: str,
    plots: tuple[Path | None, Path | None],
    *,
    as_json: bool,
) -> None:
    """Asks, writes the pictures, then prints."""
    from planner.collectives.questions.comparison import compare as ask  # noqa: PLC0415  (numpy)
    from planner.collectives.questions.question import question_of, sizes_of  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415

    plot, plot_schedule = plots
    check_picture(plot)
    check_picture(plot_schedule, "plot-schedule")
    check_apart([("plot", plot), ("plot-schedule", plot_schedule)])
    question, wanted = question_of(asked), sizes_of(sizes)
    with standing_bar(wanted=not as_json, verb="synthesizing") as on_progress:
        found = ask(question, wanted, constants=constants, on_progress=on_progress)
    with before_printing():
        _draw(found, plot, plot_schedule)
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(found.to_fields()))
    else:
        from planner.report.tables.collective_compare import compare_view  # noqa: PLC0415
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(compare_view(found))
    if found.found.status in _FAILED:
        raise typer.Exit(ExitCode.without_plan(found.found.status))


def _draw(found: CompareAnswer, plot: Path | None, plot_schedule: Path | None) -> None:
    """Writes the pictures that are asked for, both or none."""
    from planner.base.files import write_all  # noqa: PLC0415  (not for --help)
    from planner.collectives.runs.simulate import simulate  # noqa: PLC0415
    from planner.collectives.runs.spacetime import spacetime  # noqa: PLC0415
    from planner.report.charts.collective_space import space_picture  # noqa: PLC0415
    from planner.report.charts.collective_time import time_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import picture_bytes  # noqa: PLC0415

    contents: dict[Path, str | bytes] = {}
    if plot is not None:
        contents[plot] = picture_bytes(time_picture(found.curves), plot)
    if plot_schedule is not None and found.found.rows:
        row = min(found.found.rows, key=lambda row: row.load)
        run = simulate(row.schedule, found.found.machine, float(found.sizes_bytes[-1]))
        contents[plot_schedule] = picture_bytes(space_picture(spacetime(run)), plot_schedule)
    write_all(contents)
