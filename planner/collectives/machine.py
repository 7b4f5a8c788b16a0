"""A machine as the solvers see it: nodes and lanes, and what a lane takes in seconds.

Chips are the nodes. Switches are no nodes: two chips with switches between them are joined by a
link whose way through the switches takes up shared capacity (ports of chips, trunks).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan import FloatArray
from solvers.collectives.problem import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A network with names and times.

    Attributes:
        label: How the topology is written, e.g. `dgx-1`, `torus:4x4`, `graph:mine`.
        names: Name of each node.
        network: Nodes, directed links, lanes and shared capacities. Unequal links have lanes in
            proportion to their bandwidth.
        lane_bytes_per_s: Bytes per second of one lane, in one direction; the same for all.
        latency_s: (links,) seconds that a message on each link takes beside its bytes.
        start_s: Seconds of starting a collective at all.
        symmetries: Permutations of the nodes, (nodes,) each, that map the network on itself and
            generate a group in which only the identity keeps any node; empty: not known.
        notes: What was assumed of its links, in sentences.
    """

    label: str
    names: tuple[str, ...]
    network: Network
    lane_bytes_per_s: float
    latency_s: FloatArray
    start_s: float = 0.0
    symmetries: tuple[tuple[int, ...], ...] = ()
    notes: tuple[str, ...] = ()
