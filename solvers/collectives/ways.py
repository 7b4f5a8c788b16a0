"""Ways of chunks in time: trees and paths over links and steps, made as columns of a program.

A way says over which link and in which step every node on it receives a chunk. Schedules with S
steps are as many ways as there are chunks, within lanes r_s of every link and step. As fractions:

    min sum of r_s,  sum over ways of part k of x = 1,  ways over link e in step s <= lanes_e r_s.

There are too many ways to write down, so those are made that are cheap at the prices of the last
solution (column generation). For one destination the cheapest way is a shortest path in time, so
the optimum is met; for several it is a Steiner tree, made destination by destination, the nearest
first.

Sources: Dantzig, Wolfe, Operations Research 1960, doi:10.1287/opre.8.1.101 (column generation);
Takahashi, Matsuyama, Math. Japonica 24, 1980 (trees from shortest paths, the nearest first).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp
from scipy.sparse import coo_array, csr_array, hstack

from solvers.clock import deadline_of, keep_time, left_s
from solvers.collectives.cheapest import Clock
from solvers.collectives.dealing import Dealer
from solvers.collectives.model import Part
from solvers.collectives.problem import Network

TURNS = 40
"""Times that prices are taken, at most."""
MOST_FIRST = 16
"""Trees made before prices are known, at most."""
GAIN = 1e-6
"""A way that costs so much less than the dearest in use is worth having."""
_AT_LEAST_S = 0.05
"""Of a linear program, late as it may be."""
_NOISE = (0.0, 0.1, 0.3, 0.6, 1.0)
"""By which prices are disturbed for each further tree made at the same prices."""
_TINY = 1e-5
"""Price of a link and step that is not short: fewer links and earlier steps are better."""

Array = npt.NDArray[np.float64]


class Way(NamedTuple):
    """How one chunk goes from its source to all its destinations.

    Attributes:
        part: Of which part it is a chunk.
        sends: (link, step) over which each node on it receives the chunk, by step.
    """

    part: int
    sends: tuple[tuple[int, int], ...]


def later(way: Way, by: int) -> Way:
    """The same way so many steps later."""
    return Way(way.part, tuple((link, step + by) for link, step in way.sends))


class Capacities:
    """What can be short: links, and ports that several links share, in every step.

    Attributes:
        count: (rows, links) how often a link counts, of links whose port is no tighter.
        room: (rows,) chunks per round.
    """

    def __init__(self, network: Network) -> None:
        tight = {
            link
            for port in network.shared
            for link in port.links
            if port.capacity <= network.lanes[link]
        }
        rows: list[tuple[tuple[int, ...], int]] = [
            ((link,), lanes) for link, lanes in enumerate(network.lanes) if link not in tight
        ]
        rows += [(port.links, port.capacity) for port in network.shared]
        at = [row for row, (links, _) in enumerate(rows) for _ in links]
        column = [link for links, _ in rows for link in links]
        shape = (len(rows), len(network.links))
        self.count = coo_array((np.ones(len(at)), (at, column)), shape=shape).tocsr()
        self.room = np.array([room for _, room in rows], dtype=np.float64)
        by_link = self.count.tocsc()
        self.of_link = [
            by_link.indices[by_link.indptr[link] : by_link.indptr[link + 1]].tolist()
            for link in range(len(network.links))
        ]


@dataclass(slots=True)
class Ways:
    """Ways of the parts of a goal in S steps, and the program that weighs them.

    Attributes:
        network: Links, lanes, shared capacities.
        parts: One source each.
        steps: S.
        ways: Made so far, each once.
        shares: Of each way in the last solution: of one chunk of its part.
        load: R / C of the last solution, chunks and rounds as fractions.
    """

    network: Network
    parts: Sequence[Part]
    steps: int
    ways: list[Way] = field(default_factory=list)
    shares: Array = field(default_factory=lambda: np.zeros(0))
    load: float = np.inf
    _rows: Capacities = field(init=False, repr=False)
    _clock: Clock = field(init=False, repr=False)
    _seen: set[Way] = field(init=False, repr=False)
    _noise: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rows = Capacities(self.network)
        self._clock = Clock(self.network, self.steps)
        self._seen = set()
        self._noise = np.random.default_rng(0)

    def make(self, deadline: float, *, grow: bool = True) -> None:
        """Makes ways until none is worth having, or time is over.

        Args:
            deadline: On the clock of `time.perf_counter`.
            grow: Makes new ones; else those there are only start earlier or later.

        Raises:
            OutOfTime: Before there was one way for every part.
        """
        if grow or not self.ways:
            self._start(deadline)
        keep_time(deadline)
        steady: Array | None = None
        for _ in range(TURNS):
            solved = self._solve(deadline)
            if solved is None:
                return
            row_price, worth = solved
            steady = row_price if steady is None else 0.5 * (row_price + steady)
            before = len(self.ways)
            self._moved(row_price, worth)
            for prices in (steady, row_price) if grow else ():
                self._priced(prices, row_price, worth, deadline)
                if len(self.ways) > before:
                    break
            if len(self.ways) == before:
                return
        self._solve(deadline)

    def _start(self, deadline: float) -> None:
        """First ways, as many as leave a source, at prices that grow with what is carried."""
        tails = [u for u, _ in self.network.links]
        out = max(tails.count(part.source) for part in self.parts)
        carried = np.zeros((len(self._rows.room), self.steps))
        turns = min(2 * out, MOST_FIRST) if len(self.parts) == 1 else 2
        for _ in range(turns):
            known = len(self.ways)
            for at in range(len(self.parts)):
                if self.ways and len(self.ways) >= len(self.parts):
                    if not left_s(deadline):
                        return
                else:
                    keep_time(deadline)
                way = self._cheap(at, (carried / self._rows.room[:, None]) ** 2)
                if way is None:
                    continue
                for link, step in way.sends:
                    carried[self._rows.of_link[link], step] += 1
                self.add(way)
            if len(self.ways) == known:
                return

    def add(self, way: Way) -> None:
        """Takes a way, once."""
        if way not in self._seen:
            self._seen.add(way)
            self.ways.append(way)

    def _cheap(self, at: int, row_price: Array, noise: float = 0.0) -> Way | None:
        """A way of a part that is cheap at prices of links and ports in every step."""
        price = np.asarray(self._rows.count.T @ row_price).T
        if noise:
            price = price * (1 + noise * self._noise.random(price.shape))
        # Earlier is better: prices that are equal otherwise rise a little from step to step.
        price = price + _TINY * (1 + np.arange(self.steps)[:, None] / self.steps)
        sends = self._clock.way(self.parts[at], price[:, self._clock.order])
        return None if sends is None else Way(at, sends)

    def _priced(self, prices: Array, real: Array, worth: Array, deadline: float) -> None:
        """Makes ways of every part at given prices; keeps those that cost less than it is worth."""
        noises = _NOISE if len(self.parts) == 1 else (0.0,)
        for at in range(len(self.parts)):
            for noise in noises:
                if not left_s(deadline):
                    return
                way = self._cheap(at, prices, noise)
                if way is None:
                    continue
                cost = sum(
                    float(real[row, step])
                    for link, step in way.sends
                    for row in self._rows.of_link[link]
                )
                if cost < worth[at] - GAIN:
                    self.add(way)

    def _moved(self, row_price: Array, worth: Array) -> None:
        """Adds ways in use that start earlier or later, where they cost less than it is worth."""
        price = np.asarray(self._rows.count.T @ row_price)
        for at in np.flatnonzero(self.shares > GAIN).tolist():
            way = self.ways[at]
            links = np.array([link for link, _ in way.sends])
            steps = np.array([step for _, step in way.sends])
            for by in range(-int(steps.min()), self.steps - int(steps.max())):
                if by and price[links, steps + by].sum() < worth[way.part] - GAIN:
                    self.add(later(way, by))

    def _matrix(self, ways: Sequence[Way]) -> tuple[csr_array, csr_array]:
        """(rows x steps, ways) what ways take, and (rows x steps, steps) what rounds give."""
        rows = len(self._rows.room)
        taken = [
            (row * self.steps + step, column)
            for column, way in enumerate(ways)
            for link, step in way.sends
            for row in self._rows.of_link[link]
        ]
        at, column = (np.array(each) for each in zip(*taken, strict=True))
        take = coo_array((np.ones(len(at)), (at, column)), shape=(rows * self.steps, len(ways)))
        give = coo_array(
            (
                np.repeat(self._rows.room, self.steps),
                (np.arange(rows * self.steps), np.tile(np.arange(self.steps), rows)),
            ),
            shape=(rows * self.steps, self.steps),
        )
        return take.tocsr(), give.tocsr()

    def _of_parts(self, ways: Sequence[Way]) -> csr_array:
        """(parts, ways) which way is of which part."""
        at = [way.part for way in ways]
        shape = (len(self.parts), len(ways))
        return coo_array((np.ones(len(at)), (at, np.arange(len(at)))), shape=shape).tocsr()

    def _solve(self, deadline: float) -> tuple[Array, Array] | None:
        """Weighs the ways; returns prices (rows, steps) and what a chunk of each part costs.

        None where time ended; the weights stay what they were then.
        """
        width = len(self.ways)
        found = self._program(0.0, deadline)
        if found is None:
            self.shares = np.append(self.shares, np.zeros(width - len(self.shares)))
            return None
        self.shares, self.load = found.x[:width], float(found.fun)
        prices = np.maximum(-found.ineqlin.marginals, 0.0)
        return prices.reshape(-1, self.steps), np.asarray(found.eqlin.marginals)

    def _program(self, least_rounds: float, deadline: float) -> OptimizeResult | None:
        """Weights of ways and rounds of steps, as fractions of one chunk; None where time ended."""
        take, give = self._matrix(self.ways)
        width = len(self.ways)
        of_parts = hstack([self._of_parts(self.ways), csr_array((len(self.parts), self.steps))])
        found = linprog(
            np.concatenate([np.zeros(width), np.ones(self.steps)]),
            A_ub=hstack([take, -give]).tocsr(), b_ub=np.zeros(take.shape[0]),
            A_eq=of_parts.tocsr(), b_eq=np.ones(len(self.parts)),
            bounds=[(0.0, None)] * width + [(least_rounds, None)] * self.steps,
            method="highs", options={"time_limit": max(left_s(deadline), _AT_LEAST_S)},
        )  # fmt: skip
        return found if found.status == 0 else None

    def dealt(self, chunks: int, least: int, time_limit_s: float) -> list[Way]:
        """Whole ways for C chunks of every part, with few rounds.

        Args:
            chunks: C.
            least: No schedule has fewer rounds.
            time_limit_s: Of each of the two ways to deal: a program over ways in use, and shares
                rounded down and mended.
        """
        shares, cost = self._weighed(chunks, deadline_of(time_limit_s))
        take, _ = self._matrix(self.ways)
        parts = np.array([way.part for way in self.ways], dtype=np.int64)
        dealer = Dealer(take, self._rows.room, parts)
        floor = np.floor(shares * chunks + GAIN).astype(np.int64)
        counts, rounds = dealer.dealt(floor, chunks, least, deadline_of(time_limit_s))
        if rounds > least:
            order = np.lexsort((cost, shares <= GAIN))
            used = int((shares > GAIN).sum())
            few = np.sort(order[: used + used // 2])
            whole = self._whole([self.ways[at] for at in few], chunks, least, time_limit_s)
            if whole is not None:
                other = np.zeros(len(self.ways), dtype=np.int64)
                other[few] = whole
                again, found = dealer.dealt(other, chunks, least, deadline_of(time_limit_s / 4))
                counts = again if found < rounds else counts
        return [
            way for way, count in zip(self.ways, counts.tolist(), strict=True) for _ in range(count)
        ]

    def _weighed(self, chunks: int, deadline: float) -> tuple[Array, Array]:
        """Shares of ways with at least one round a step for C chunks, and what they cost more."""
        found = self._program(1 / chunks, deadline)
        if found is None:
            return self.shares, np.zeros(len(self.ways))
        take, _ = self._matrix(self.ways)
        price = -take.T @ found.ineqlin.marginals
        price -= self._of_parts(self.ways).T @ found.eqlin.marginals
        return found.x[: len(self.ways)], np.asarray(price)

    def _whole(
        self, ways: Sequence[Way], chunks: int, least: int, time_limit_s: float
    ) -> list[int] | None:
        """How many chunks go each way, with the fewest rounds that were found in time."""
        take, give = self._matrix(ways)
        width = len(ways)
        of_parts = hstack([self._of_parts(ways), csr_array((len(self.parts), self.steps))])
        total = np.concatenate([np.zeros(width), np.ones(self.steps)])
        found = milp(
            total,
            integrality=np.ones(width + self.steps),
            bounds=Bounds(total, np.inf),
            constraints=[
                LinearConstraint(hstack([take, -give]), -np.inf, 0.0),
                LinearConstraint(of_parts, chunks, chunks),
                LinearConstraint(total[None], least, np.inf),
            ],
            options={"time_limit": time_limit_s},
        )
        return None if found.x is None else np.rint(found.x[:width]).astype(int).tolist()
