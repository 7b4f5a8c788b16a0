"""`planner collective export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.errors import ExitCode, InputError
from planner.cli.collective_options import (
    FEW_SHARED,
    QUESTION,
    Bandwidth,
    Chunks,
    Collective,
    Graph,
    Lanes,
    Latency,
    Method,
    Numbering,
    Root,
    Start,
    Steps,
    TimeLimit,
    Topology,
)
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

_FILE = "MSCCL files"
FEW = {
    "schedule": "Of planner (.json) or of MSCCL (.xml).",
    "topology": FEW_SHARED["topology"],
    "graph": FEW_SHARED["graph"],
    "collective": FEW_SHARED["collective"],
    "chunks": "",
    "steps": "",
    "output": "",
    "protocol": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def export(
    schedule: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCHEDULE",
            help="A schedule as planner writes it (.json), or an algorithm of MSCCL (.xml); "
            "default: the schedule that is synthesized.",
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
    method: Method = None,
    time_limit: TimeLimit = None,
    ranks: Annotated[
        str | None,
        option(
            "GPU that takes the place of each chip, in order, e.g. 0,3,1,2,4,7,5,6.",
            QUESTION,
        ),
    ] = None,
    topo: Annotated[
        Path | None,
        option(
            "Output of `nvidia-smi topo -m` in a file: the chips are numbered so that their links "
            "are those of its GPUs.",
            QUESTION,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option("The file to write: .xml for MSCCL, or .json.", OUTPUT, "--output", "-o"),
    ] = None,
    protocol: Annotated[str | None, option("Simple, LL or LL128 (default: Simple).", _FILE)] = None,
    in_place: Annotated[
        bool, option("For calls whose input and output are one memory.", _FILE, "--in-place")
    ] = False,
    combined: Annotated[
        bool,
        option(
            "One thread block per peer and channel that sends and receives, in place of two.",
            _FILE,
            "--combined",
        ),
    ] = False,
    name: Annotated[str | None, option("Of the algorithm.", _FILE)] = None,
    min_bytes: Annotated[
        str | None, option("Sizes from which it is used (default: 0).", _FILE)
    ] = None,
    max_bytes: Annotated[
        str | None, option("Sizes below which it is used (default: 1GiB).", _FILE)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A schedule as an algorithm of the MSCCL runtime, or as JSON; other formats are read too.

    Examples:
      planner collective export --topology dgx-1 -o allgather.xml

      planner collective export --topology ring:4 --protocol LL -o ring.xml

      planner collective export --topology dgx-1 --chunks 6 --steps 3 -o allgather.xml

      planner collective export allgather.xml -o allgather.json

      planner collective export --topology dgx-1 --chunks 2 --steps 2 -o renumbered.json
        --ranks 0,3,1,2,4,7,5,6
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
        "method": method,
        "time_limit": time_limit,
    }
    file = {
        "name": name,
        "protocol": protocol,
        "in_place": in_place,
        "combined": combined,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
    }
    _run(schedule, asked, (ranks, topo), output, file, as_json=as_json)


def _run(
    schedule: Path | None,
    asked: dict[str, Any],
    order: tuple[str | None, Path | None],
    output: Path | None,
    file: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Asks, writes the file, then prints."""
    from planner.collectives.files.saving import (  # noqa: PLC0415  (not for --help)
        check_schedule_file,
        question_of_file,
    )
    from planner.collectives.questions.export import (  # noqa: PLC0415
        exported,
        options_of,
        renumbering,
    )
    from planner.collectives.questions.fronts import answer  # noqa: PLC0415  (numpy; not for --help)
    from planner.collectives.questions.question import question_of  # noqa: PLC0415
    from planner.report.tables.collective import export_view, front_view  # noqa: PLC0415

    if output is None:
        raise InputError("output: is missing; name a file, e.g. -o allgather.xml")
    read = {"schedule": schedule, "graph": asked["graph"], "topology": order[1]}
    check_schedule_file(output, read)
    options = options_of(file)
    if schedule is not None:
        question, found = question_of_file(schedule, asked)
        places = renumbering(question, *order)
    else:
        question = question_of(asked)
        places = renumbering(question, *order)
        with progress_bar(wanted=not as_json, verb="synthesizing") as on_progress:
            answered = answer(question, on_progress)
        if not answered.rows:
            _show(answered.to_fields(), front_view(answered), as_json=as_json)
            raise typer.Exit(ExitCode.without_plan(answered.status))
        found = min(answered.rows, key=lambda row: row.load).schedule
    written = exported(question, found, places, output, options)
    _show(written.to_fields(), export_view(written), as_json=as_json)


def _show(fields: dict[str, Any], view: RenderableType, *, as_json: bool) -> None:
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(fields))
        return
    from planner.report.tables.tables import print_view  # noqa: PLC0415  (not for --help)

    print_view(view)
