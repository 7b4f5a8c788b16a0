"""Prices of links as proof that no schedule takes fewer rounds, counted in whole numbers.

A price per chunk is set on every link and shared capacity in every step. One round of a step costs
at most 1: lanes x prices summed over links and shared capacities. A chunk pays, per link, what the
link and the shared capacities it goes through cost. A chunk that is copied pays a link once, and
its destinations share the price. So R rounds per chunk are at least the sum, over all chunks and
destinations, of the cheapest way from the source in S steps: linear programming duality.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from solvers.clock import keep_time
from solvers.collectives.commodities import Commodity
from solvers.collectives.expansion import oriented
from solvers.collectives.problem import Goal, Network
from solvers.collectives.symmetry import (
    Permutation,
    is_automorphism,
    link_images,
    shared_images,
)

Priced = Mapping[tuple[int, int], Fraction]
"""Price by (index, step); what is not there is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A dual solution, in the direction of `expansion.oriented`.

    Attributes:
        steps: S; None: ways may have any number of steps, and there is one step 0.
        group: Symmetries that leave the prices as they are; empty: none.
        links: Price of link i in step s.
        shared: The same of shared capacities.
        shares: Of one commodity with several destinations of each orbit, and of each of its
            destinations: its share of the price of each link in each step.
    """

    steps: int | None
    group: tuple[Permutation, ...]
    links: Priced
    shared: Priced
    shares: Mapping[tuple[Commodity, int], Priced]


def check_prices(
    network: Network, goal: Goal, prices: Prices, *, deadline: float = math.inf
) -> Fraction:
    """The lower bound of R / C that prices prove, counted again from network and goal.

    Raises:
        ValueError: A price is negative, a step costs more than 1, shares exceed a price, or the
            group does not leave network and prices as they are.
        OutOfTime: `deadline`, on the clock of `time.perf_counter`, passed.
    """
    facing = oriented(network, goal)
    _check_steps(facing.network, prices)
    _check_group(facing.network, prices)
    paid = dict(prices.links)
    for (at, step), price in prices.shared.items():
        for link in facing.network.shared[at].links:
            paid[link, step] = paid.get((link, step), Fraction(0)) + price
    cheapest = _Ways(facing.network, prices.steps)
    first = {
        min((one[node] for one in prices.group), default=node) for node in range(network.nodes)
    }
    single: dict[int, list[Fraction]] = {}
    values: dict[Commodity, Fraction] = {}
    for part in facing.parts:
        keep_time(deadline)
        if len(part.destinations) > 1 and (part, part.destinations[0]) in prices.shares:
            values[part] = part.chunks * _shared_out(cheapest, part, prices, paid)
        elif len(part.destinations) == 1 and part.source in first:
            if part.source not in single:
                single[part.source] = cheapest.from_source(part.source, paid)
            values[part] = part.chunks * single[part.source][part.destinations[0]]
    priced = {part.source for part in values}
    onto = [tuple(one for one in prices.group if one[u] in priced) for u in range(network.nodes)]
    return sum((_value(part, values, onto[part.source]) for part in facing.parts), Fraction(0))


def _value(
    part: Commodity, values: Mapping[Commodity, Fraction], group: tuple[Permutation, ...]
) -> Fraction:
    """What a commodity pays: as much as one that a symmetry maps it on; 0 where none is priced.

    The group may leave out symmetries that map its source on one of which nothing is priced.
    """
    if part in values:
        return values[part]
    for one in group:
        ends = tuple(sorted(one[node] for node in part.destinations))
        found = values.get(Commodity(one[part.source], ends, part.chunks))
        if found is not None:
            return found
    return Fraction(0)


def _shared_out(cheapest: _Ways, part: Commodity, prices: Prices, paid: Priced) -> Fraction:
    """The sum over the destinations of a commodity of the cheapest way at its shares."""
    used: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    total = Fraction(0)
    for node in part.destinations:
        share = prices.shares.get((part, node), {})
        for key, price in share.items():
            if price < 0:
                raise ValueError(f"the share of node {node} in link {key[0]} is negative")
            used[key] += price
        total += cheapest.from_source(part.source, share)[node]
    for key, price in used.items():
        if price > paid.get(key, 0):
            raise ValueError(f"shares exceed the price of link {key[0]} in step {key[1]}")
    return total


def _check_steps(network: Network, prices: Prices) -> None:
    """No price is negative, and no round of a step costs more than 1."""
    cost: dict[int, Fraction] = defaultdict(Fraction)
    for priced, carried in (
        (prices.links, network.lanes),
        (prices.shared, [port.capacity for port in network.shared]),
    ):
        for (at, step), price in priced.items():
            if price < 0 or not 0 <= step < (prices.steps or 1):
                raise ValueError(f"price {price} in step {step} is negative or out of the steps")
            cost[step] += carried[at] * price
    for step, total in cost.items():
        if total > 1:
            raise ValueError(f"a round of step {step} costs {total}, more than 1")


def _check_group(network: Network, prices: Prices) -> None:
    """The group keeps the network and the prices."""
    for one in prices.group:
        if not is_automorphism(network, one):
            raise ValueError(f"{one} does not keep the network")
    if not prices.group:
        return
    for priced, images in (
        (prices.links, link_images(network, prices.group)),
        (prices.shared, shared_images(network, prices.group)),
    ):
        for (at, step), price in priced.items():
            if any(priced.get((image, step)) != price for image in set(images[:, at].tolist())):
                raise ValueError(f"prices in step {step} are not the same on an orbit")


class _Ways:
    """The cheapest ways from a node in S steps, or in any number."""

    def __init__(self, network: Network, steps: int | None) -> None:
        self.network = network
        self.steps = steps
        self.leaving: list[list[tuple[int, int]]] = [[] for _ in range(network.nodes)]
        for link, (u, v) in enumerate(network.links):
            self.leaving[u].append((link, v))

    def from_source(self, source: int, paid: Priced) -> list[Fraction]:
        """The price of the cheapest way to each node; 0 for one that cannot be reached."""
        scale = math.lcm(1, *(price.denominator for price in paid.values()))
        whole = {key: price.numerator * (scale // price.denominator) for key, price in paid.items()}
        found = self._any(source, whole) if self.steps is None else self._timed(source, whole)
        return [Fraction(found.get(node, 0), scale) for node in range(self.network.nodes)]

    def _timed(self, source: int, whole: Mapping[tuple[int, int], int]) -> dict[int, int]:
        """Step after step a chunk stays or crosses a link."""
        here = {source: 0}
        for step in range(self.steps or 0):
            after = dict(here)
            for node, price in here.items():
                for link, end in self.leaving[node]:
                    total = price + whole.get((link, step), 0)
                    if total < after.get(end, total + 1):
                        after[end] = total
            here = after
        return here

    def _any(self, source: int, whole: Mapping[tuple[int, int], int]) -> dict[int, int]:
        """Dijkstra's algorithm."""
        found: dict[int, int] = {}
        heap = [(0, source)]
        while heap:
            price, node = heapq.heappop(heap)
            if node in found:
                continue
            found[node] = price
            for link, end in self.leaving[node]:
                if end not in found:
                    heapq.heappush(heap, (price + whole.get((link, 0), 0), end))
        return found
