"""What operations cost at least where some of them follow one another: a bound without a program.

A chain is operations of which no two run at once. Its seconds, with the least that passes before
its first and after its last operation, fit into the time T of all:

    sum of d_i over the chain <= T - head - tail,   least T <= T <= limit

With the price l_c >= 0 of a second of chain c, and P of a second of T, no choice costs less than

    sum_c [ sum_i min_k (c_ik + l_c d_ik) + l_c (head + tail) ] + min over T of (P - sum_c l_c) T

for any prices, by weak duality. For a time T' the best prices are where a chain's seconds just fit
into T': they are tried for several T', and in proportion so that they add up to P, which is best
where T is less than the limit. The greatest bound is taken. Whatever else operations wait for is
left out, so the bound is below that of `solvers.operations.program.solve`, and quick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from solvers.clock import keep_time
from solvers.operations.graph import TOLERANCE, Floats, Ints, Operations, begins, passes_after

_TIMES = 24
"""T' that are tried."""
_PRICES = 128
"""Prices at most that are tried of each chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """The chains of a graph, ready for bounds at several limits.

    Attributes:
        apart: (chains,) seconds before and after the operations of each.
        prices: (p,) of a second, ascending, the first 0.
        least: (chains, p) of all operations of a chain, their seconds at the price included.
        others: What operations of no chain cost at least.
        least_s: No choice ends sooner.
        per_second: P.
    """

    apart: Floats
    prices: Floats
    least: Floats
    others: float
    least_s: float
    per_second: float

    @staticmethod
    def of(graph: Operations, chain: Ints, deadline: float = math.inf) -> Chains:
        """The chains of a graph.

        Args:
            graph: The operations.
            chain: (n,) whose operations follow one another, from 0; -1: of none.
            deadline: When it gives up, see `solvers.clock`.

        Raises:
            OutOfTime: The deadline passed.
        """
        quick = graph.seconds.min(axis=1)
        begin = begins(graph, quick, graph.lag)
        keep_time(deadline)
        after = passes_after(graph, quick)
        at = [np.flatnonzero(chain == one) for one in range(chain.max() + 1)]
        rows = list[tuple[Floats, Floats, Ints]]()
        for own in at:
            keep_time(deadline)
            rows.append(_distinct(graph, own))
        prices = _prices(rows)
        return Chains(
            apart=np.array([begin[own].min() + after[own].min() for own in at]),
            prices=prices,
            least=np.array([_least(*row, prices) for row in rows]),
            others=float(graph.cost[chain < 0].min(axis=1).sum()),
            least_s=float((begin + quick).max(initial=0.0)),
            per_second=graph.per_second,
        )

    def bound(self, limit: float) -> float:
        """What no choice that ends within a limit costs less than; inf: none does."""
        limit *= 1 + TOLERANCE
        if limit < self.least_s:
            return float("inf")
        return max(self._at(time, limit) for time in np.linspace(self.least_s, limit, _TIMES))

    def _at(self, time: float, limit: float) -> float:
        """The bound by the prices at which the chains just fit into a time."""
        best = (self.least - self.prices * (time - self.apart)[:, None]).argmax(axis=1)
        prices = self.prices[best]
        found = self._by(prices, limit)
        if prices.sum() > 0:
            most = np.minimum(prices * (self.per_second / prices.sum()), self.prices[-1])
            found = max(found, self._by(most, limit))
        return found

    def _by(self, prices: Floats, limit: float) -> float:
        """The bound by (chains,) prices, none above the last of `prices`.

        What a chain costs at least is concave in its price: a line between two prices is below it.
        """
        of_chains = [
            np.interp(price, self.prices, least)
            for price, least in zip(prices, self.least, strict=True)
        ]
        left = self.per_second - prices.sum()
        free = min(left * self.least_s, left * limit)
        return float(sum(of_chains) + prices @ self.apart + self.others + free)


def _distinct(graph: Operations, at: Ints) -> tuple[Floats, Floats, Ints]:
    """(r, k) seconds and costs of operations that differ, and how many there are of each."""
    both = np.hstack([graph.seconds[at], graph.cost[at]])
    rows, count = np.unique(both, axis=0, return_counts=True)
    levels = graph.seconds.shape[1]
    return rows[:, :levels], rows[:, levels:], count


def _prices(rows: list[tuple[Floats, Floats, Ints]]) -> Floats:
    """Prices of a second at which some operation changes between two neighbouring levels."""
    found = [np.zeros(1)]
    for seconds, cost, _ in rows:
        longer, cheaper = np.diff(seconds, axis=1), -np.diff(cost, axis=1)
        found.append((cheaper[longer > 0] / longer[longer > 0]).ravel())
    every = np.unique(np.maximum(np.concatenate(found), 0.0))
    if len(every) <= _PRICES:
        return np.asarray(every)
    return np.unique(every[np.linspace(0, len(every) - 1, _PRICES).astype(np.intp)])


def _least(seconds: Floats, cost: Floats, count: Ints, prices: Floats) -> Floats:
    """(p,) what the operations of a chain cost at least at each price of a second."""
    each = (cost[:, :, None] + seconds[:, :, None] * prices).min(axis=1)
    return np.asarray(count @ each)
