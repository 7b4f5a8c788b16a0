"""The question of `planner rack topology`: topologies side by side under one traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.messages import not_one_of
from planner.network.topology import forms
from planner.network.topology.custom import read_graph
from planner.network.topology.fit import check_chips, fits
from planner.network.topology.graphs import MOST_EDGES, MOST_NODES, dgx1_graph, graph_of, has_graph
from planner.network.topology.hops import exact_average_hops
from planner.network.topology.kinds import NAMES, Topology
from planner.network.topology.loads import Load, load_of
from planner.network.topology.measures import (
    farthest_latency_s,
    halves,
    least_cut,
    measured_diameter,
    measured_hops,
)
from planner.network.topology.routing import ROUTINGS, routed_loads
from planner.network.topology.spec import parse_topology
from planner.network.topology.traffic import PATTERNS, read_traffic, traffic_matrix
from planner.network.topology.wiring import Wiring, wiring_of
from planner.plan import FloatArray
from solvers.bisection import BisectionProblem, fewest_cut

Progress = Callable[[str, int, int], None]
_PROVED_NODES = 128
"""Above, only bounds of a bisection without a closed form are given."""
_PROOF_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFigures:
    """What one link or port costs, where a graph does not say it; None: not asked for.

    Attributes:
        bandwidth_bytes_per_s: Of a link in each direction.
        energy_j_per_byte: Of a byte over one link.
        latency_s: Of one link.
        link_price, port_price: Of a link, and of a port of a switch, in any currency.
        link_w, port_w: Static power of a link, and of a port of a switch.
    """

    bandwidth_bytes_per_s: float | None = None
    energy_j_per_byte: float | None = None
    latency_s: float | None = None
    link_price: float | None = None
    port_price: float | None = None
    link_w: float | None = None
    port_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficAsked:
    """What is sent.

    Attributes:
        pattern: One of `PATTERNS`, or a file.
        amount_bytes: Bytes of a pattern; see `traffic_matrix`.
        routing: One of `ROUTINGS`.
        seed: Of a random pattern.
    """

    pattern: str = "uniform"
    amount_bytes: float = 1e9
    routing: str = "shortest"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyRow:
    """One topology; counts of parallel links and of ports are of single links.

    Attributes:
        name: Its spec, or the name of the file.
        chips, links, ports_per_chip, switches, switch_ports: Counts.
        average_hops: Over ordered pairs of chips, exact.
        diameter_hops: The most between two chips.
        bisection_links: The fewest links known between two halves of the chips.
        bisection_lower: No halves have fewer; equal where proved.
        traffic_bytes: All bytes sent; None: too large for a graph.
        load: Their loads, busiest link, time and energy; None likewise.
        wiring: The graph as arrays; None likewise.
        latency_s: Of the slowest pair of chips; None: not asked for.
        price: Of all links and switch ports; None: not asked for.
        static_w: Of all links and switch ports; None: not asked for.
    """

    name: str
    chips: int
    links: int
    ports_per_chip: int
    switches: int
    switch_ports: int
    average_hops: Fraction
    diameter_hops: int
    bisection_links: int
    bisection_lower: int
    traffic_bytes: float | None
    load: Load | None
    wiring: Wiring | None
    latency_s: float | None
    price: float | None
    static_w: float | None

    @property
    def traffic_hops(self) -> float | None:
        """Hops of a byte of the traffic, on average."""
        if self.load is None or self.traffic_bytes is None:
            return None
        return self.load.byte_hops / self.traffic_bytes

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        load = self.load
        return {
            "topology": self.name,
            "chips": self.chips,
            "links": self.links,
            "ports_per_chip": self.ports_per_chip,
            "switches": self.switches,
            "switch_ports": self.switch_ports,
            "average_hops": float(self.average_hops),
            "average_hops_exact": str(self.average_hops),
            "diameter_hops": self.diameter_hops,
            "bisection_links": self.bisection_links,
            "bisection_lower": self.bisection_lower,
            "bisection_proved": self.bisection_lower == self.bisection_links,
            "traffic_bytes": self.traffic_bytes,
            "traffic_hops": self.traffic_hops,
            "busiest_link": None if load is None else self.busiest_link(),
            "busiest_link_bytes": None if load is None else load.busiest_bytes,
            "time_s": None if load is None else load.time_s,
            "energy_j": None if load is None else load.energy_j,
            "latency_s": self.latency_s,
            "price": self.price,
            "static_power_w": self.static_w,
        }

    def link_loads(self) -> Iterator[tuple[str, str, int, float, float]]:
        """The two ends of each edge, its parallel links, and bytes over all of them, both ways."""
        if self.load is None or self.wiring is None:
            return
        names = self.wiring.labels
        rows = zip(self.wiring.ends, self.wiring.links, self.load.edge_bytes, strict=True)
        for (u, v), links, (there, back) in rows:
            yield names[u], names[v], int(links), float(there), float(back)

    def busiest_link(self) -> list[str]:
        """The nodes at the ends of the link that takes longest."""
        if self.load is None or self.wiring is None:
            return []
        return [self.wiring.labels[node] for node in self.wiring.ends[self.load.bottleneck_edge]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyResult:
    """Rows in the order asked for, and what is to be said about them."""

    rows: tuple[TopologyRow, ...]
    traffic: TrafficAsked
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {
            "traffic": self.traffic.pattern,
            "routing": self.traffic.routing,
            "topologies": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }


def compare_topologies(
    specs: Sequence[str],
    graphs: Sequence[Path],
    *,
    chips: int | None = None,
    traffic: TrafficAsked,
    figures: LinkFigures,
    on_progress: Progress | None = None,
) -> TopologyResult:
    """Topologies side by side.

    Args:
        specs: As `parse_topology` reads them, or dgx-1; none and no graphs: all of that many chips.
        graphs: Files as `read_graph` reads them.
        chips: The number of chips of specs without one.
        traffic: What is sent.
        figures: What links cost.
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
    asked, notes = _asked(specs, graphs, chips, problems)
    named = list(_named(asked, graphs, chips, problems))
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    rows = []
    for done, (name, topology, wiring) in enumerate(named):
        if on_progress is not None:
            on_progress("topologies", done, len(named))
        rows.append(_row(name, topology, wiring, traffic, figures))
    notes += _notes(rows)
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
            if spec == "dgx-1":
                yield spec, None, wiring_of(dgx1_graph())
                continue
            topology = parse_topology(spec, chips)
            wiring = wiring_of(graph_of(topology)) if has_graph(topology) else None
            yield topology.spec, topology, wiring
        except InputError as error:
            problems += str(error).split("\n")
    for path in graphs:
        try:
            yield path.name, None, wiring_of(read_graph(path))
        except InputError as error:
            problems += [_with_file(line, path) for line in str(error).split("\n")]


def _with_file(line: str, path: Path) -> str:
    """A mistake with the file that it is in, once."""
    rest = line.removeprefix("graph: ")
    return line if str(path) in line else f"graph: {path}: {rest}"


def _row(
    name: str,
    topology: Topology | None,
    wiring: Wiring | None,
    traffic: TrafficAsked,
    figures: LinkFigures,
) -> TopologyRow:
    counts = _counted(topology, wiring)
    upper, lower = _bisection(topology, wiring)
    sent, load = None, None
    if wiring is not None:
        matrix = _matrix(traffic, wiring)
        load = load_of(
            wiring,
            routed_loads(wiring, matrix, topology, traffic.routing),
            bandwidth_bytes_per_s=figures.bandwidth_bytes_per_s,
            energy_j_per_byte=figures.energy_j_per_byte,
        )
        sent = float(matrix.sum())
    return TopologyRow(
        name=name,
        **counts,
        bisection_links=upper,
        bisection_lower=lower,
        traffic_bytes=sent,
        load=load,
        wiring=wiring,
        latency_s=_latency(counts["diameter_hops"], wiring, figures.latency_s),
        price=_price(counts, wiring, figures),
        static_w=_total(counts, figures.link_w, figures.port_w),
    )


def _counted(topology: Topology | None, wiring: Wiring | None) -> dict[str, Any]:
    """Counts and hops, in closed form where there is one, else from the graph."""
    if topology is not None:
        of = topology.name, topology.sizes
        return {
            "chips": topology.chips,
            "links": int(forms.link_count(*of)),
            "ports_per_chip": int(forms.ports_per_chip(*of)),
            "switches": int(forms.switch_count(*of)),
            "switch_ports": int(forms.switch_ports(*of)),
            "average_hops": exact_average_hops(topology),
            "diameter_hops": int(forms.diameter_hops(*of)),
        }
    assert wiring is not None
    return {
        "chips": wiring.chips,
        "links": wiring.link_count,
        "ports_per_chip": wiring.ports_per_chip,
        "switches": wiring.switches,
        "switch_ports": wiring.switch_ports,
        "average_hops": measured_hops(wiring),
        "diameter_hops": measured_diameter(wiring),
    }


def _bisection(topology: Topology | None, wiring: Wiring | None) -> tuple[int, int]:
    """The fewest links known between halves, and a number that none is below."""
    known = None
    if topology is not None:
        known = int(forms.bisection_links(topology.name, topology.sizes))
        if forms.bisection_is_exact(topology.name):
            return known, known
    if wiring is None:
        assert known is not None
        return known, 1
    side, cut = halves(wiring)
    upper = cut if known is None else min(cut, known)
    lower = least_cut(wiring)
    if lower < upper and len(wiring.labels) <= _PROVED_NODES:
        edges = np.column_stack([wiring.ends, wiring.links]).tolist()
        problem = BisectionProblem(
            nodes=len(wiring.labels),
            marked=wiring.chips,
            edges=tuple((u, v, links) for u, v, links in edges),
        )
        found = fewest_cut(problem, time_limit_s=_PROOF_S, hint=side.tolist(), at_least=lower)
        upper, lower = min(upper, int(found.objective)), int(found.bound)
    return upper, min(lower, upper)


def _matrix(traffic: TrafficAsked, wiring: Wiring) -> FloatArray:
    if traffic.pattern in PATTERNS:
        return traffic_matrix(traffic.pattern, wiring.chips, traffic.amount_bytes, traffic.seed)
    return read_traffic(Path(traffic.pattern), wiring)


def _latency(diameter_hops: int, wiring: Wiring | None, link_s: float | None) -> float | None:
    """Of the slowest pair of chips; None where some link has no latency."""
    if wiring is None:
        return None if link_s is None else diameter_hops * link_s
    if link_s is None and np.isnan(wiring.figures["latency_s"]).any():
        return None
    return farthest_latency_s(wiring, link_s or 0.0)


def _price(counts: dict[str, Any], wiring: Wiring | None, figures: LinkFigures) -> float | None:
    """Links at their own price or the given one, and ports of switches."""
    if wiring is None or np.isnan(wiring.figures["price"]).all():
        return _total(counts, figures.link_price, figures.port_price)
    own = wiring.figures["price"]
    each = np.where(np.isnan(own), figures.link_price or 0.0, own)
    return float(each @ wiring.links) + (figures.port_price or 0.0) * int(counts["switch_ports"])


def _total(counts: dict[str, Any], link: float | None, port: float | None) -> float | None:
    """So much per link and so much per port of a switch."""
    if link is None and port is None:
        return None
    return (link or 0.0) * int(counts["links"]) + (port or 0.0) * int(counts["switch_ports"])


def _notes(rows: Sequence[TopologyRow]) -> list[str]:
    notes = []
    if any(row.bisection_lower < row.bisection_links for row in rows):
        notes.append("bisection with <=: a cut that exists, not proved the fewest")
    if any(row.load is None for row in rows):
        notes.append(f"no loads above {MOST_NODES:,} chips and switches or {MOST_EDGES:,} links")
    if any(row.name.startswith("dragonfly") for row in rows):
        notes.append("average hops of a dragonfly: local-global-local routes")
    return notes
