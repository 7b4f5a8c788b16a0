"""`planner collective bounds`."""

from __future__ import annotations

from typing import Annotated

from planner.cli.collective_options import (
    FEW_SHARED,
    QUESTION,
    Bandwidth,
    Collective,
    Graph,
    Lanes,
    Latency,
    Numbering,
    Root,
    Start,
    TimeLimit,
    Topology,
)
from planner.cli.options import AsJson, option
from planner.cli.output import print_json, progress_bar

FEW = {
    "topology": FEW_SHARED["topology"],
    "graph": FEW_SHARED["graph"],
    "bandwidth": FEW_SHARED["bandwidth"],
    "collective": FEW_SHARED["collective"],
    "max_steps": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def bounds(
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
    max_steps: Annotated[
        str | None,
        option("The most steps that are looked at (default: until more gain nothing).", QUESTION),
    ] = None,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """What no schedule of a collective goes below: its steps, and its rounds per chunk.

    Examples:
      planner collective bounds --topology dgx-1 --collective allgather

      planner collective bounds --topology ring:8 --collective alltoall --json

      planner collective bounds --topology switch:16 --lanes 6
    """
    from planner.collectives.questions.bounds import bounds_of  # noqa: PLC0415  (numpy; not for --help)
    from planner.collectives.questions.question import question_of  # noqa: PLC0415

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
        "steps": max_steps,
        "time_limit": time_limit,
    }
    question = question_of(asked)
    with progress_bar(wanted=not as_json, verb="bounding") as on_progress:
        found = bounds_of(question, on_progress)
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415

        print_json(stamped(found.to_fields()))
        return
    from planner.report.tables.collective import bounds_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(bounds_view(found))
