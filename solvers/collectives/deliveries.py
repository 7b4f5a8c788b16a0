"""Lower bounds by what every single destination must receive: one flow per destination.

All chunks that a destination d is to have reach it over links in time, each by a way of its own, so
that what goes to d is a flow, and a link carries no more of it than of everything:

    flow to d:  arrivals + waiting = departures + waiting, at every node and step
    flow to d over link e in step s <= lanes_e r_s, likewise over the links of a shared capacity

for every d, with the same rounds r_s. Chunks that are copied count once in each flow, whatever
they share on the way to several destinations, so this is a relaxation of `expansion`, with one
flow for each destination in place of one for each chunk and destination. Without shared capacities
its rounds were the same on all networks that were tried; with them, or with several groups, they
may be fewer, and `expansion` bounds more. With rounds and chunks as fractions it is a linear
program, whose prices are checked in fractions (`prices`); `whole_rounds` has whole ones. Averaging
over symmetries makes one destination of each orbit enough.

Sources: Ahlswede, Cai, Li, Yeung, IEEE Trans. Inf. Theory 2000, doi:10.1109/18.850663 (the flow to
each destination bounds what all of them receive); Fleischer, Skutella, SIAM J. Comput. 2007,
doi:10.1137/S0097539703427215 (networks unrolled over time).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from solvers.clock import check_solved, left_s
from solvers.collectives.commodities import Commodity
from solvers.collectives.distances import hops
from solvers.collectives.expansion import oriented, representatives
from solvers.collectives.prices import Prices, check_prices
from solvers.collectives.problem import Goal, Network
from solvers.collectives.symmetry import Permutation, link_images, shared_images

MOST_COLUMNS = 60_000
"""Variables above which no program is made."""
_DENOMINATORS = (1_000, 100_000)
"""Greatest denominators that prices are rounded to, in turn."""

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliveries:
    """The linear constraints on flows and rounds.

    Columns are, destination by destination, sends by link and step and waiting by node and step;
    the last `steps` are the rounds.

    Attributes:
        steps: S, or of the last steps and the phase before.
        ends: The destinations, one of each orbit.
        balance, demands: Equality rows, and their right side for one chunk per part.
        capacity: What a link or shared capacity carries to one destination in a step less what
            the rounds allow, <= 0; rows by destination, then link or shared capacity, then step.
        low, high: Bounds of the columns.
    """

    steps: int
    ends: tuple[int, ...]
    balance: csr_array
    demands: Array
    capacity: csr_array
    low: Array
    high: Array


def deliveries(
    network: Network,
    parts: Sequence[Commodity],
    steps: int,
    *,
    group: Sequence[Permutation] = (),
    phase: bool = False,
) -> Deliveries | None:
    """The constraints for S steps, of every destination; None: they bound little, or are too many.

    They do where chunks of several sources are copied to several nodes each: with one source
    `expansion` has no more flows, and chunks with one destination share nothing.

    Args:
        network: Links, lanes, shared capacities.
        parts: What is copied, with its destinations.
        steps: S.
        group: Symmetries of network and parts, all of them.
        phase: The first of the steps stands for any number of steps.
    """
    if len(parts) == 1 or all(len(part.destinations) == 1 for part in parts):
        return None
    spots = representatives(network, tuple(group))
    ends = tuple(sorted({node for part in parts for node in part.destinations if node in spots}))
    width = (len(network.links) + network.nodes) * steps
    if len(ends) * width > MOST_COLUMNS:
        return None
    balance, carried = _unrolled(network, steps)
    demands, high = [], []
    away = hops(network)
    for end in ends:
        supply = Counter[int]()
        for part in parts:
            supply[part.source] += part.chunks if end in part.destinations else 0
        demands.append(_demand(network.nodes, steps, supply, end))
        high.append(_in_time(network, steps, away[:, end], phase=phase))
    low = np.zeros(width)
    if phase:
        low[len(network.links) * steps :: steps] = -np.inf
    return Deliveries(
        steps=steps,
        ends=ends,
        balance=widened(_repeated(balance, len(ends)), steps),
        demands=np.concatenate(demands),
        capacity=hstack(
            [_repeated(carried, len(ends)), _rounds(network, steps, len(ends))]
        ).tocsr(),
        low=np.concatenate([np.tile(low, len(ends)), np.zeros(steps)]),
        high=np.concatenate([*high, np.full(steps, np.inf)]),
    )


def _unrolled(network: Network, steps: int) -> tuple[csr_array, csr_array]:
    """(nodes x (S + 1), columns) arrivals less departures, and what links and ports carry."""
    links, nodes = len(network.links), network.nodes
    ends = np.array(network.links, dtype=np.int64)
    step = np.arange(steps)
    send = (np.arange(links)[:, None] * steps + step).ravel()
    stay = (links * steps + np.arange(nodes)[:, None] * steps + step).ravel()

    def at(node: IntArray, time: IntArray) -> IntArray:
        return np.asarray((node[:, None] * (steps + 1) + time).ravel())

    everywhere = np.arange(nodes)
    entries = [
        (at(ends[:, 1], step + 1), send, 1.0), (at(ends[:, 0], step), send, -1.0),
        (at(everywhere, step + 1), stay, 1.0), (at(everywhere, step), stay, -1.0),
    ]  # fmt: skip
    columns = (links + nodes) * steps
    balance = csr_array(
        (
            np.concatenate([np.full(len(row), sign) for row, _, sign in entries]),
            (
                np.concatenate([row for row, _, _ in entries]),
                np.concatenate([column for _, column, _ in entries]),
            ),
        ),
        shape=(nodes * (steps + 1), columns),
    )
    through = [*((link,) for link in range(links)), *(port.links for port in network.shared)]
    rows = np.repeat(np.arange(len(through)), [len(of) for of in through])
    member = np.array([link for of in through for link in of], dtype=np.int64)
    places = ((rows[:, None] * steps + step).ravel(), (member[:, None] * steps + step).ravel())
    shape = (len(through) * steps, columns)
    return balance, csr_array((np.ones(len(places[0])), places), shape=shape)


def _repeated(block: csr_array, times: int) -> csr_array:
    """The same block down the diagonal."""
    entries = block.tocoo()
    by = np.arange(times)[:, None]
    rows = (by * block.shape[0] + entries.row).ravel()
    columns = (by * block.shape[1] + entries.col).ravel()
    shape = (times * block.shape[0], times * block.shape[1])
    return csr_array((np.tile(entries.data, times), (rows, columns)), shape=shape)


def widened(matrix: csr_array, columns: int) -> csr_array:
    """With so many columns more, all zero."""
    return csr_array(hstack([matrix, csr_array((matrix.shape[0], columns))]))


def _rounds(network: Network, steps: int, times: int) -> csr_array:
    """(capacity rows, S) minus what a round of each step carries."""
    room = np.array([*network.lanes, *(port.capacity for port in network.shared)], dtype=np.float64)
    rows = np.arange(times * len(room) * steps)
    return csr_array((np.tile(np.repeat(-room, steps), times), (rows, rows % steps)))


def _demand(nodes: int, steps: int, supply: Counter[int], end: int) -> Array:
    """The right side of the balance: chunks start at their sources and end at the destination."""
    demand = np.zeros((nodes, steps + 1))
    for source, chunks in supply.items():
        demand[source, 0] -= chunks
    demand[end, steps] = supply.total()
    return demand.ravel()


def _in_time(network: Network, steps: int, away: IntArray, *, phase: bool) -> Array:
    """Upper bounds: 0 where a chunk cannot reach the destination any more, else none."""
    targets = np.array([v for _, v in network.links], dtype=np.int64)
    left = steps - 1 - np.arange(steps)
    at = np.concatenate([away[targets], away])
    late = at[:, None] > left
    if phase:
        late[:, 0] = False
    return np.where(late, 0.0, np.inf).ravel()


def steps_bound(
    network: Network,
    goal: Goal,
    made: Deliveries,
    *,
    group: tuple[Permutation, ...] = (),
    deadline: float = math.inf,
) -> tuple[Fraction, Array]:
    """A proved lower bound of R / C with so many steps, and rounds per chunk to try.

    Args:
        network: Nodes and links.
        goal: With one chunk per part, that copies or adds up.
        made: The constraints of its copying form, without a phase.
        group: As they were made with.
        deadline: On the clock of `time.perf_counter`.

    Raises:
        OutOfTime: The deadline passed.
        RuntimeError: The solver failed.
    """
    cost = np.zeros(len(made.low))
    cost[-made.steps :] = 1.0
    found = linprog(
        cost, A_ub=made.capacity, b_ub=np.zeros(made.capacity.shape[0]),
        A_eq=made.balance, b_eq=made.demands, bounds=np.stack([made.low, made.high], axis=1),
        method="highs-ds", options={"time_limit": left_s(deadline)},
    )  # fmt: skip
    check_solved(found.status, found.message)
    duals = np.maximum(0.0, -found.ineqlin.marginals).reshape(len(made.ends), -1, made.steps)
    loads = []
    for most in _DENOMINATORS:
        prices = _prices(network, goal, made, duals, group, most)
        loads.append(check_prices(network, goal, prices, deadline=deadline))
        if loads[-1] >= found.fun - 1e-9:
            break
    return max(loads), found.x[-made.steps :]


def _prices(
    network: Network,
    goal: Goal,
    made: Deliveries,
    duals: Array,
    group: tuple[Permutation, ...],
    most: int,
) -> Prices:
    """The duals in fractions, spread over the symmetries: each destination pays for its own flow.

    Every chunk pays the same prices on its way to a destination, so that its shares of a price add
    up to it.
    """
    facing = oriented(network, goal)
    elements = group or (tuple(range(network.nodes)),)
    links = link_images(facing.network, elements)
    ports = shared_images(facing.network, elements)
    width = len(network.links)
    of_end = _within_one(network, made, duals, most)
    paid: dict[tuple[int, int], Fraction] = {}
    shared: dict[tuple[int, int], Fraction] = {}
    by_end: dict[int, dict[tuple[int, int], Fraction]] = {}
    for end, priced in zip(made.ends, of_end, strict=True):
        for one, onto, through in zip(elements, links.tolist(), ports.tolist(), strict=True):
            share = by_end.setdefault(one[end], {})
            for (row, step), price in priced.items():
                part = price / len(elements)
                if row < width:
                    key = (onto[row], step)
                    paid[key] = paid.get(key, Fraction(0)) + part
                    share[key] = share.get(key, Fraction(0)) + part
                    continue
                port = through[row - width]
                shared[port, step] = shared.get((port, step), Fraction(0)) + part
                for link in facing.network.shared[port].links:
                    share[link, step] = share.get((link, step), Fraction(0)) + part
    spots = representatives(network, group)
    shares = {
        (part, node): by_end.get(node, {})
        for part in facing.parts
        if part.source in spots
        for node in part.destinations
    }
    return Prices(steps=made.steps, group=group, links=paid, shared=shared, shares=shares)


def _within_one(
    network: Network, made: Deliveries, duals: Array, most: int
) -> list[dict[tuple[int, int], Fraction]]:
    """Per destination, prices by (link or port, step); no round of a step costs more than 1."""
    room = [*network.lanes, *(port.capacity for port in network.shared)]
    found: list[dict[tuple[int, int], Fraction]] = [{} for _ in made.ends]
    cost = [Fraction(0)] * made.steps
    for at, row, step in np.argwhere(duals > 0).tolist():
        price = Fraction(float(duals[at, row, step])).limit_denominator(most)
        found[at][row, step] = price
        cost[step] += price * room[row]
    return [
        {key: price / max(cost[key[1]], Fraction(1)) for key, price in priced.items() if price}
        for priced in found
    ]
