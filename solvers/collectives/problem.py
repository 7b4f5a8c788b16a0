"""What a collective asks for: a network of links, and chunks with where they are and must go.

Source: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620, table 1 (pre- and postconditions of the collectives).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COLLECTIVES = (
    "allgather", "reduce-scatter", "allreduce", "broadcast", "reduce", "gather", "scatter",
    "alltoall",
)  # fmt: skip
"""The collectives by name."""
ROOTED = ("broadcast", "reduce", "gather", "scatter")
"""Those with one node that all data comes from or goes to."""
COMBINING = ("reduce-scatter", "allreduce", "reduce")
"""Those that add up what several nodes contribute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A port or trunk that several links go through.

    Attributes:
        links: Indices into `Network.links`, rising.
        capacity: Chunks that all of them together carry per round.
    """

    links: tuple[int, ...]
    capacity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Nodes joined by directed links, each of so many lanes.

    Attributes:
        nodes: The number of nodes; they are 0 .. nodes - 1.
        links: (source, target) of each directed link, each pair once.
        lanes: Chunks that each link carries per round, at least 1.
        shared: Limits over several links at once: the ports of a switch, the trunks between two.
    """

    nodes: int
    links: tuple[tuple[int, int], ...]
    lanes: tuple[int, ...]
    shared: tuple[Shared, ...] = ()

    def __post_init__(self) -> None:
        if self.nodes < 2:
            raise ValueError(f"{self.nodes} nodes; a collective needs at least 2")
        if len(self.lanes) != len(self.links) or len(set(self.links)) != len(self.links):
            raise ValueError("every directed link needs its lanes, and each pair stands once")
        ends = [end for link in self.links for end in link]
        if ends and not 0 <= min(ends) <= max(ends) < self.nodes:
            raise ValueError(f"links must join nodes 0 to {self.nodes - 1}")
        if any(u == v for u, v in self.links):
            raise ValueError("a link joins two different nodes")
        if min((*self.lanes, *(port.capacity for port in self.shared)), default=1) < 1:
            raise ValueError("lanes and capacities are whole and at least 1")
        if any(not 0 <= link < len(self.links) for port in self.shared for link in port.links):
            raise ValueError("a shared capacity names a link that is not there")

    def reversed(self) -> Network:
        """The same network with every link turned round; links keep their indices."""
        return Network(
            nodes=self.nodes,
            links=tuple((v, u) for u, v in self.links),
            lanes=self.lanes,
            shared=self.shared,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Where every chunk is and must go.

    Chunk c is one C-th of the buffer L that the collective is defined on (see `goal_of`).

    Attributes:
        initial: Per chunk, the nodes that have it at the start; of a combined chunk, those that
            contribute to it.
        final: Per chunk, the nodes that must have it at the end, all contributions added up.
        combined: Whether the nodes of `initial` hold parts of a sum (else copies).
    """

    initial: tuple[frozenset[int], ...]
    final: tuple[frozenset[int], ...]
    combined: bool

    @property
    def chunks(self) -> int:
        """The number of chunks in all."""
        return len(self.initial)

    def reversed(self) -> Goal:
        """The dual: what the schedule run backwards on reversed links achieves.

        Broadcasting from a node becomes adding up at it, and the other way round.
        """
        return Goal(initial=self.final, final=self.initial, combined=not self.combined)


def goal_of(
    collective: str,
    nodes: int,
    chunks: int,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
) -> Goal:
    """The goal of a collective among all nodes, or at once within each of several groups.

    With C chunks, chunk number k C + i is the i-th of the k-th part:

        allgather, gather     part k starts at member k; L is what one member contributes
        reduce-scatter        part k is added up at member k; L is what one member ends with
        scatter               part k goes from the root to member k; L is what one receives
        broadcast, reduce     one part; L is the whole buffer
        alltoall              part u n + v goes from member u to v; L is what one sends to one
                              other. A member's part for itself stays where it is
        allreduce             n parts, C = n c in all: L is the whole buffer, and `chunks` must be
                              a multiple of the members

    Groups follow one another: all parts of the first, then those of the next.

    Args:
        collective: One of `COLLECTIVES`.
        nodes: The number of nodes.
        chunks: C, at least 1.
        root: Of the collectives in `ROOTED`: its place within every group.
        groups: Members of each group, apart from each other; default: all nodes, one group.

    Raises:
        ValueError: An unknown name, no chunks, a root that is not there, or chunks of an
            all-reduce that its members do not divide.
    """
    if collective not in COLLECTIVES:
        raise ValueError(f"{collective!r} is not one of {', '.join(COLLECTIVES)}")
    if chunks < 1:
        raise ValueError(f"{chunks} chunks; at least 1")
    parts = [
        part
        for members in (groups or [range(nodes)])
        for part in _parts(collective, list(members), chunks, root)
    ]
    return Goal(
        initial=tuple(start for start, _ in parts),
        final=tuple(end for _, end in parts),
        combined=collective in COMBINING,
    )


def _parts(
    collective: str, members: list[int], chunks: int, root: int
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """(initial, final) of every chunk of one group."""
    everyone = frozenset(members)
    if not 0 <= root < len(members):
        raise ValueError(f"root {root} is not one of the {len(members)} members")
    at_root = frozenset({members[root]})
    alone = [frozenset({member}) for member in members]
    if collective == "allreduce":
        if chunks % len(members):
            raise ValueError(f"{chunks} chunks of an all-reduce among {len(members)} members")
        return [(everyone, everyone)] * chunks
    of_parts = {
        "allgather": [(one, everyone) for one in alone],
        "reduce-scatter": [(everyone, one) for one in alone],
        "broadcast": [(at_root, everyone)],
        "reduce": [(everyone, at_root)],
        "gather": [(one, at_root) for one in alone],
        "scatter": [(at_root, one) for one in alone],
        "alltoall": [(u, v) for u in alone for v in alone],
    }[collective]
    return [part for part in of_parts for _ in range(chunks)]
