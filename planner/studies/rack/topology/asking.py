"""The question of `planner rack topology`: topologies side by side under one traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.progress import Progress
from planner.network.topology.fit import check_chips, fits
from planner.network.topology.graph_files import named_wirings
from planner.network.topology.graphs import dgx1_graph, graph_of, has_graph
from planner.network.topology.kinds import DGX1, NAMES, Topology
from planner.network.topology.routing import ROUTINGS
from planner.network.topology.spec import parse_topology
from planner.network.topology.traffic import PATTERNS
from planner.network.topology.wiring import Wiring, wiring_of
from planner.studies.rack.model.wired import topology_specs
from planner.studies.rack.topology.measuring import measured_row
from planner.studies.rack.topology.notes import row_notes
from planner.studies.rack.topology.rows import LinkFigures, TopologyResult, TrafficAsked


def compare_topologies(
    specs: Sequence[str],
    graphs: Sequence[Path],
    *,
    chips: int | None = None,
    traffic: TrafficAsked,
    figures: LinkFigures,
    proof_s: float | None = None,
    on_progress: Progress | None = None,
) -> TopologyResult:
    """Topologies side by side.

    Args:
        specs: As `parse_topology` reads them, or dgx-1, also with commas between; none and no
            graphs: all of that many chips.
        graphs: Files as `read_graph` reads them.
        chips: The number of chips of specs without one.
        traffic: What is sent.
        figures: What links cost.
        proof_s: Time to prove each bisection; see `measured_row`.
        on_progress: Told which row is at work.

    Raises:
        InputError: One line per mistake.
    """
    problems: list[str] = []
    if traffic.routing not in ROUTINGS:
        problems.append(f"routing: {not_one_of(traffic.routing, ROUTINGS)}")
    if traffic.pattern not in PATTERNS and not Path(traffic.pattern).suffix:
        words = not_one_of(traffic.pattern, PATTERNS)
        problems.append(f"traffic: {words.replace('is not', 'is neither a file nor', 1)}")
    asked, notes = _asked(topology_specs(specs), graphs, chips, problems)
    named = list(_named(asked, graphs, chips, problems))
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    rows = []
    for done, (name, topology, wiring) in enumerate(named):
        if on_progress is not None:
            on_progress("topologies", done, len(named))
        rows.append(measured_row(name, topology, wiring, traffic, figures, proof_s))
    notes += row_notes(rows, figures)
    return TopologyResult(rows=tuple(rows), traffic=traffic, notes=tuple(notes))


def _asked(
    specs: Sequence[str], graphs: Sequence[Path], chips: int | None, problems: list[str]
) -> tuple[list[str], list[str]]:
    """The specs, or all topologies that have that many chips and which of them do not."""
    if specs or graphs:
        if chips is not None and not specs:
            problems.append("chips: a graph has its own; leave it out")
        return list(specs), []
    if chips is None:
        problems.append(
            "topology: none is given; name some, e.g. ring:8 torus:4x4, or give --chips"
        )
        return [], []
    try:
        check_chips(chips)
    except InputError as error:
        problems.append(str(error))
        return [], []
    missing = [name for name in NAMES if not fits(name, chips)]
    notes = [f"none with {chips:,} chips: {', '.join(missing)}"] if missing else []
    return [name for name in NAMES if name not in missing], notes


def _named(
    specs: Sequence[str], graphs: Sequence[Path], chips: int | None, problems: list[str]
) -> Iterator[tuple[str, Topology | None, Wiring | None]]:
    """Each topology with its graph, where that is not too large."""
    for spec in specs:
        try:
            if spec in DGX1:
                yield DGX1[0], None, wiring_of(dgx1_graph())
                continue
            topology = parse_topology(spec, chips)
            wiring = wiring_of(graph_of(topology)) if has_graph(topology) else None
            yield topology.spec, topology, wiring
        except InputError as error:
            problems += str(error).split("\n")
    for name, wiring in named_wirings(graphs, problems):
        yield name, None, wiring
