"""What `planner rack topology` is asked about traffic and links, and its answer."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from frozen_records import dataclass
from planner.network.topology.loads import Load
from planner.network.topology.wiring import Wiring
from planner.question.provenance import stamped


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
        name: Its spec, or the label of the graph.
        chips, links, ports_per_chip, switches, switch_ports: Counts.
        average_hops: Over ordered pairs of chips, exact.
        diameter_hops: The most between two chips.
        bisection_links: The fewest links known between two halves of the chips.
        bisection_lower: No halves have fewer; equal where proved.
        traffic_bytes: All bytes sent; None: too large for a graph.
        load: Their loads, busiest link, time and energy; None likewise.
        wiring: The graph as arrays; None likewise.
        latency_s: Of the slowest pair of chips; None: not all links have one.
        price: Of all links and switch ports; None: not all of them have one.
        static_w: Likewise.
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
        return stamped(
            {
                "traffic": self.traffic.pattern,
                "routing": self.traffic.routing,
                "topologies": [row.to_dict() for row in self.rows],
                "notes": list(self.notes),
            }
        )
