"""Cheapest ways of a chunk over links in time, at prices of every link in every step.

To one destination that is a shortest path in the network unrolled over steps. To several it is a
Steiner tree there, made of shortest paths: the nearest destination is joined first.

Source: Takahashi, Matsuyama, Math. Japonica 24, 1980 (trees from shortest paths).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.collectives.model import Part
from solvers.collectives.problem import Network

Array = npt.NDArray[np.float64]


class Clock:
    """Cheapest ways over links in time."""

    def __init__(self, network: Network, steps: int) -> None:
        ends = np.array(network.links, dtype=np.int64)
        self.order = np.argsort(ends[:, 1], kind="stable")
        self.tail = ends[self.order, 0]
        self.heads, self.first = np.unique(ends[self.order, 1], return_index=True)
        self.after = np.append(self.first[1:], len(self.order))
        self.place = {int(v): at for at, v in enumerate(self.heads)}
        self.nodes, self.steps = network.nodes, steps

    def costs(self, price: Array, since: Array) -> Array:
        """(steps + 1, nodes) least price at which a node has the chunk after so many steps.

        Args:
            price: (steps, links) in the order of heads.
            since: (nodes,) steps after which it is there for nothing; inf: it is not.
        """
        cost = np.full((self.steps + 1, self.nodes), np.inf)
        for step in range(self.steps):
            cost[step][since <= step] = 0.0
            received = np.minimum.reduceat(cost[step][self.tail] + price[step], self.first)
            cost[step + 1] = cost[step]
            cost[step + 1, self.heads] = np.minimum(cost[step, self.heads], received)
        cost[self.steps][since <= self.steps] = 0.0
        return cost

    def way(self, part: Part, price: Array) -> tuple[tuple[int, int], ...] | None:
        """A cheap tree or path: the nearest destination is joined first, then the next.

        Args:
            part: Source and destinations.
            price: (steps, links) in the order of heads, above 0.
        """
        since = np.full(self.nodes, np.inf)
        since[part.source] = 0
        by: dict[int, tuple[int, int]] = {}
        missing = np.array(sorted(part.destinations), dtype=np.int64)
        while len(missing):
            cost = self.costs(price, since)
            node = int(missing[np.argmin(cost[self.steps, missing])])
            if not np.isfinite(cost[self.steps, node]):
                return None
            self._join(node, cost, price, since, by)
            missing = missing[np.isinf(since[missing])]
        return self._needed(part, by)

    def _join(
        self, node: int, cost: Array, price: Array, since: Array, by: dict[int, tuple[int, int]]
    ) -> None:
        """Adds the cheapest way to a node; nodes on it receive no later than before."""
        step = self.steps
        while cost[step, node] > 0:
            while step and cost[step - 1, node] <= cost[step, node]:
                step -= 1
            at = self.place[node]
            inner = slice(self.first[at], self.after[at])
            best = int(np.argmin(cost[step - 1][self.tail[inner]] + price[step - 1, inner]))
            link = self.first[at] + best
            by[node] = (int(self.order[link]), step - 1)
            since[node] = step
            step, node = step - 1, int(self.tail[link])

    def _needed(self, part: Part, by: dict[int, tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """The sends that end at a destination or go on."""
        tail = {int(link): int(u) for link, u in zip(self.order, self.tail, strict=True)}
        kept: dict[int, tuple[int, int]] = {}
        for end in sorted(part.destinations):
            node = end
            while node != part.source and node not in kept:
                kept[node] = by[node]
                node = tail[by[node][0]]
        return tuple(sorted(kept.values(), key=lambda send: (send[1], send[0])))
