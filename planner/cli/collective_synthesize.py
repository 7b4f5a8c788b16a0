"""`planner collective synthesize`."""

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
    MaxChunks,
    Method,
    Numbering,
    Root,
    Start,
    Steps,
    TimeLimit,
    Topology,
)
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, standing_bar
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.collectives.questions.answers import FrontAnswer

_FAILED = ("infeasible", "time_limit")
FEW = {
    "topology": FEW_SHARED["topology"],
    "graph": FEW_SHARED["graph"],
    "bandwidth": FEW_SHARED["bandwidth"],
    "collective": FEW_SHARED["collective"],
    "chunks": "",
    "steps": "",
    "pareto": "All schedules worth having, by steps.",
    "output": "Write the schedule: .json, or .xml for MSCCL.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def synthesize(
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
    pareto: Annotated[
        bool,
        option(
            "All schedules worth having: for each number of steps the fewest rounds per chunk "
            "(the default without --chunks and --steps).",
            QUESTION,
            "--pareto",
        ),
    ] = False,
    max_chunks: MaxChunks = None,
    size: Annotated[
        str | None,
        option(
            "Least time for so many bytes, link by link, in place of fewest rounds: for machines "
            "with unequal links.",
            QUESTION,
        ),
    ] = None,
    method: Method = None,
    table: Annotated[
        str | None,
        option(
            "Every collective of a topology instead, as one table beside published ones; only "
            "--time-limit, of each, and --json go with it.",
            QUESTION,
            metavar="TOPOLOGY",
        ),
    ] = None,
    time_limit: TimeLimit = None,
    output: Annotated[
        Path | None,
        option(
            "Write the schedule, of a front that with the fewest rounds per chunk: .json, or .xml "
            "for MSCCL.",
            OUTPUT,
            "--output",
            "-o",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Schedules with the fewest rounds, and the proof that no other has fewer.

    Examples:
      planner collective synthesize --topology dgx1 --collective allgather --pareto

      planner collective synthesize --topology dgx-1 --collective allreduce --pareto --json

      planner collective synthesize --topology torus:4x4 --chunks 4 --steps 4 -o allgather.json

      planner collective synthesize --topology ring:4 --collective broadcast --root 2 --steps 3

      planner collective synthesize --table dgx-1
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
        "pareto": pareto,
        "max_chunks": max_chunks,
        "size": size,
        "method": method,
        "time_limit": time_limit,
    }
    if table is not None:
        _table(table, {**asked, "output": output}, as_json=as_json)
    else:
        _run(asked, output, as_json=as_json)


def _table(topology: str, asked: dict[str, Any], *, as_json: bool) -> None:
    """Asks for every collective, then prints."""
    given = [name for name, value in asked.items() if value not in (None, False)]
    lines = [
        f"{name.replace('_', '-')}: has no effect with --table; leave it out"
        for name in given
        if name != "time_limit"
    ]
    if lines:
        raise InputError("\n".join(lines))
    from planner.collectives.questions.table import collective_table  # noqa: PLC0415  (numpy; not for --help)

    with standing_bar(wanted=not as_json, verb="synthesizing") as on_progress:
        found = collective_table(topology, time_limit=asked["time_limit"], on_progress=on_progress)
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(found.to_fields()))
        return
    from planner.report.tables.collective_table import table_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(table_view(found))


def _run(asked: dict[str, Any], output: Path | None, *, as_json: bool) -> None:
    """Asks, writes the schedule, then prints."""
    from planner.collectives.questions.fronts import answer  # noqa: PLC0415  (numpy; not for --help)
    from planner.collectives.questions.question import question_of  # noqa: PLC0415

    if output is not None:
        from planner.collectives.files.saving import check_schedule_file  # noqa: PLC0415  (slow)

        check_schedule_file(output, {"graph": asked["graph"]})
    question = question_of(asked)
    with standing_bar(wanted=not as_json, verb="synthesizing") as on_progress:
        found = answer(question, on_progress)
    saved: str | None = None
    if output is not None:
        with before_printing():
            saved = _save(found, output)
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(found.to_fields()))
    else:
        from planner.report.tables.collective import front_view  # noqa: PLC0415
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(front_view(found, saved))
    if found.status in _FAILED:
        raise typer.Exit(ExitCode.without_plan(found.status))


def _save(found: FrontAnswer, output: Path) -> str | None:
    """Writes the schedule with the fewest rounds per chunk; a line that says so."""
    from planner.collectives.files.saving import save_schedule  # noqa: PLC0415  (not for --help)
    from planner.collectives.questions.answers import row_name  # noqa: PLC0415

    if not found.rows:
        return None
    schedule = min(found.rows, key=lambda row: row.load).schedule
    save_schedule(output, schedule, found.question)
    return f"{row_name(schedule)} is written to {output}."
