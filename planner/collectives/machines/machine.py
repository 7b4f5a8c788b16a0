"""A machine as the solvers see it: nodes and lanes, and what a lane takes in seconds.

Rounds are counted in lanes that are all as fast. Where links differ, such lanes are parts of the
cables that there are, rounded down: no schedule is promised what the cables cannot carry. What
happens in seconds, in simulations and in the search for the least time, is told of the cables
themselves (`Machine.wires`).

Chips are the nodes. Switches are no nodes: two chips with switches between them are joined by a
link whose way through the switches takes up shared capacity (ports of chips, trunks).
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from solvers.collectives.problem import Network


class _Compared:
    """Records that are equal where all fields are, arrays among them."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
            for mine, theirs in zip(_values(self), _values(other), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


def _values(record: Any) -> list[Any]:
    return [getattr(record, one.name) for one in fields(record)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wires(_Compared):
    """Links as they are: each with its cables side by side, of a bandwidth of their own.

    A chunk takes one cable of a link.

    Attributes:
        network: Lanes are cables; a port carries so many chunks at once.
        latency_s: (links,) seconds that a message on each link takes beside its bytes.
        bytes_per_s: (links,) of one cable of each link, in one direction.
        port_bytes_per_s: (shared,) of one unit of each shared capacity.
    """

    network: Network
    latency_s: FloatArray
    bytes_per_s: FloatArray
    port_bytes_per_s: FloatArray

    @property
    def alike(self) -> bool:
        """Whether all cables and ports have the same bandwidth."""
        rates = np.concatenate([self.bytes_per_s, self.port_bytes_per_s])
        return bool((rates == rates[0]).all())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machine(_Compared):
    """A network with names and times.

    Attributes:
        label: How the topology is written, e.g. `dgx-1`, `torus:4x4`, `graph:mine`.
        names: Name of each node.
        network: Nodes, directed links, lanes and shared capacities, in which rounds are counted.
            Unequal links have lanes in proportion to their bandwidth, rounded down; a link that is
            too slow for one is left out where others lead to its ends.
        lane_bytes_per_s: Bytes per second of one lane, in one direction; the same for all.
        latency_s: (links,) seconds that a message on each link takes beside its bytes.
        start_s: Seconds of starting a collective at all.
        symmetries: Permutations of the nodes, (nodes,) each, that map the network on itself and
            generate a group in which only the identity keeps any node; empty: not known.
        notes: What was assumed of its links, in sentences.
        uneven: The links as they are; None: lanes are cables, and all as fast.
    """

    label: str
    names: tuple[str, ...] = field(repr=False)
    network: Network = field(repr=False)
    lane_bytes_per_s: float
    latency_s: FloatArray = field(repr=False)
    start_s: float = 0.0
    symmetries: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    uneven: Wires | None = field(default=None, repr=False)

    @property
    def wires(self) -> Wires:
        """The links as they are."""
        if self.uneven is not None:
            return self.uneven
        return Wires(
            network=self.network,
            latency_s=self.latency_s,
            bytes_per_s=np.full(len(self.network.links), self.lane_bytes_per_s),
            port_bytes_per_s=np.full(len(self.network.shared), self.lane_bytes_per_s),
        )
