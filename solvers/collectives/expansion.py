"""Flows in a network unrolled over the steps: the constraints that bounds and rounds share.

Chunks of a commodity are counted, not told apart, and may be split. A commodity with several
destinations has a flow to each; a link carries the greatest of them, since copies are made on the
way. Commodities with one destination and a common source are one flow. A chunk crosses one link
per step or waits:

    sum of arrivals + waiting = sum of departures + waiting, at every node and step
    load of a commodity on a link in a step >= each of its flows there
    sum of loads <= lanes x rounds of the step, for every link, port and step

Averaging any solution over a group of symmetries gives an invariant one with the same rounds, so
that one commodity of each orbit and one row of each orbit of links are enough. Only flows of which
a chunk can still arrive in time are there.

Source: section 3 of Cai et al., PPoPP 2021 (what a step may carry); Fleischer, Skutella, SIAM J.
Comput. 2007, doi:10.1137/S0097539703427215 (networks unrolled over time); Yang et al., TE-CCL,
SIGCOMM 2024, doi:10.1145/3651890.3672249 (the same for collectives).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from solvers.collectives.commodities import Commodity, commodities, copying
from solvers.collectives.distances import IntArray, hops
from solvers.collectives.problem import Goal, Network
from solvers.collectives.symmetry import Permutation, link_images, orbits, shared_images


class Flow(NamedTuple):
    """Chunks on their way from one node.

    Attributes:
        group: Number of the commodity; flows of one group are copies of the same chunks.
        source: Where they start.
        demands: (node, chunks) that must arrive.
    """

    group: int
    source: int
    demands: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Oriented:
    """A goal as commodities that are copied, in the direction with the fewer flows.

    Attributes:
        network: Its links, reversed if `backwards`.
        parts: Its commodities.
        backwards: The steps are to be read from the last to the first.
    """

    network: Network
    parts: tuple[Commodity, ...]
    backwards: bool


def oriented(network: Network, goal: Goal) -> Oriented:
    """A goal to be met by copying; gathered chunks are seen as scattered backwards.

    Raises:
        ValueError: The goal is no single copying or adding up, e.g. an all-reduce.
    """
    links, copied = copying(network, goal)
    parts = commodities(copied)
    ends = {part.destinations for part in parts}
    if max(map(len, ends), default=0) == 1 and len(ends) < len({part.source for part in parts}):
        turned = tuple(sorted(Commodity(d, (s,), chunks) for s, (d,), chunks in parts))
        return Oriented(network=links.reversed(), parts=turned, backwards=not goal.combined)
    return Oriented(network=links, parts=parts, backwards=goal.combined)


def flows_of(parts: tuple[Commodity, ...], sources: frozenset[int]) -> tuple[Flow, ...]:
    """The flows of those commodities that start at the given nodes."""
    flows: list[Flow] = []
    single: dict[int, list[tuple[int, int]]] = {}
    group = 0
    for source, destinations, chunks in parts:
        if source not in sources:
            continue
        if len(destinations) == 1:
            single.setdefault(source, []).append((destinations[0], chunks))
            continue
        flows += [Flow(group, source, ((node, chunks),)) for node in destinations]
        group += 1
    flows += [Flow(group + at, node, tuple(ends)) for at, (node, ends) in enumerate(single.items())]
    return tuple(flows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The linear constraints on sends, waiting chunks, loads and rounds, in this order.

    Attributes:
        flows: One of each orbit.
        size: How many flows each of them stands for: the order of the group.
        steps: S; 1 of a network that is not unrolled.
        send_flow, send_link, send_step: (sends,) of every send variable.
        stay: (3, stays) flow, node and step of every variable of waiting chunks.
        load: (sends,) column of the load that each send is part of.
        columns: The number of variables; the last `steps` of them are the rounds.
        balance: Equality rows; their right side is `demands`, and `balance_at` (3, rows) their
            flow, node and time.
        copies: (rows, columns) a flow less the load of its commodity, <= 0: one row per send of
            a commodity with several flows; `copy_send` says of which one.
        copy_send: (rows,) see above.
        capacity: (rows, columns) loads less what the rounds carry, <= 0.
        links: (m,) number of the row of each link in the first step; rows of the next follow.
        shared: (q,) the same of each shared capacity.
        rows_per_step: Capacity rows of one step.
    """

    flows: tuple[Flow, ...]
    size: int
    steps: int
    send_flow: IntArray
    send_link: IntArray
    send_step: IntArray
    stay: IntArray
    load: IntArray
    columns: int
    balance: csr_array
    balance_at: IntArray
    demands: npt.NDArray[np.float64]
    copies: csr_array
    copy_send: IntArray
    capacity: csr_array
    links: IntArray
    shared: IntArray
    rows_per_step: int


class _Window(NamedTuple):
    """Which sends and stays can be part of a way that arrives in time."""

    sends: npt.NDArray[np.bool_]
    """(f, m, S)."""
    nodes: npt.NDArray[np.bool_]
    """(f, n, S + 1): a chunk is there at the time; not of the source, which has all."""


def send_count(network: Network, flows: tuple[Flow, ...], steps: int | None) -> int:
    """An upper limit of the number of send variables: flows x links x steps."""
    return len(flows) * len(network.links) * (steps or 1)


def representatives(network: Network, group: tuple[Permutation, ...]) -> frozenset[int]:
    """One node of each orbit."""
    if not group:
        return frozenset(range(network.nodes))
    return frozenset(np.unique(orbits(np.array(group, dtype=np.int64))).tolist())


def expand(
    network: Network,
    flows: tuple[Flow, ...],
    steps: int | None,
    group: tuple[Permutation, ...] = (),
) -> Expansion:
    """The constraints over so many steps, or of steady flows without any steps (None)."""
    ends = np.array(network.links, dtype=np.int64).reshape(-1, 2)
    window = _steady(flows, network.nodes, ends) if steps is None else _timed(network, flows, steps)
    send = np.nonzero(window.sends)
    stay = np.nonzero(window.nodes[:, :, :-1] & window.nodes[:, :, 1:])
    groups = np.array([flow.group for flow in flows], dtype=np.int64)
    load, copied = _loads(groups, send, len(send[0]) + len(stay[0]), window.sends.shape)
    columns = max(load.max(initial=-1) + 1, len(send[0]) + len(stay[0])) + window.sends.shape[2]
    capacity, links, shared = _capacity(network, group, send, load, columns)
    balance, demands = _balance(window, send, stay, flows, ends, columns)
    copy_send = np.flatnonzero(copied)
    rows = np.arange(len(copy_send))
    ones = np.ones(len(copy_send))
    return Expansion(
        flows=flows,
        size=max(1, len(group)),
        steps=window.sends.shape[2],
        send_flow=send[0].astype(np.int64),
        send_link=send[1].astype(np.int64),
        send_step=send[2].astype(np.int64),
        stay=np.array(stay, dtype=np.int64),
        load=load,
        columns=columns,
        balance_at=np.array(np.nonzero(window.nodes), dtype=np.int64),
        balance=balance,
        demands=demands,
        copies=csr_array(
            (
                np.concatenate([ones, -ones]),
                (np.concatenate([rows, rows]), np.concatenate([copy_send, load[copy_send]])),
            ),
            shape=(len(rows), columns),
        ),
        copy_send=copy_send,
        capacity=capacity,
        links=links,
        shared=shared,
        rows_per_step=capacity.shape[0] // window.sends.shape[2],
    )


def _timed(network: Network, flows: tuple[Flow, ...], steps: int) -> _Window:
    """Sends of which the source is near enough, and some destination too."""
    between = hops(network)
    ends = np.array(network.links, dtype=np.int64).reshape(-1, 2)
    sources = np.array([flow.source for flow in flows], dtype=np.int64)
    come = between[sources]
    go = np.stack([between[:, [d for d, _ in flow.demands]].min(axis=1) for flow in flows])
    at = np.arange(steps + 1)
    nodes = (come[:, :, None] <= at) & (at <= steps - go[:, :, None])
    nodes[np.arange(len(flows)), sources] = False
    sends = (come[:, ends[:, 0], None] <= at[:-1]) & (at[1:] <= steps - go[:, ends[:, 1], None])
    return _Window(sends & _useful(flows, network.nodes, ends)[:, :, None], nodes)


def _steady(flows: tuple[Flow, ...], nodes: int, ends: IntArray) -> _Window:
    """Every send at any time; each node balances as a whole."""
    there = np.zeros((len(flows), nodes, 2), dtype=np.bool_)
    there[:, :, 1] = True
    there[np.arange(len(flows)), [flow.source for flow in flows]] = False
    return _Window(_useful(flows, nodes, ends)[:, :, None], there)


def _useful(flows: tuple[Flow, ...], nodes: int, ends: IntArray) -> npt.NDArray[np.bool_]:
    """(f, m) Sends that neither return to the source nor leave the only destination."""
    sources = np.array([flow.source for flow in flows], dtype=np.int64)
    only = np.array(
        [flow.demands[0][0] if len(flow.demands) == 1 else nodes for flow in flows], dtype=np.int64
    )
    useful: npt.NDArray[np.bool_] = (ends[:, 1] != sources[:, None]) & (ends[:, 0] != only[:, None])
    return useful


def _loads(
    groups: IntArray, send: tuple[IntArray, ...], first: int, shape: tuple[int, ...]
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """(sends,) the column of the load of each send, and whether it is one of several flows."""
    single = np.bincount(groups)[groups] == 1
    key = np.ravel_multi_index((groups[send[0]], send[1], send[2]), (len(groups), *shape[1:]))
    several = ~single[send[0]]
    load = np.arange(len(send[0]))
    load[several] = first + np.unique(key[several], return_inverse=True)[1].reshape(-1)
    return load, several


def _balance(
    window: _Window,
    send: tuple[IntArray, ...],
    stay: tuple[IntArray, ...],
    flows: tuple[Flow, ...],
    ends: IntArray,
    columns: int,
) -> tuple[csr_array, npt.NDArray[np.float64]]:
    """Arrivals less departures at every node, but the source, and step; what remains at the end."""
    row = np.full(window.nodes.shape, -1, dtype=np.int64)
    row[window.nodes] = np.arange(int(window.nodes.sum()))
    steady = window.nodes.shape[2] == 2 and not window.nodes[:, :, 0].any()
    departs = send[2] + (1 if steady else 0)
    sends = np.arange(len(send[0]))
    stays = len(sends) + np.arange(len(stay[0]))
    entries = [
        (row[send[0], ends[send[1], 1], send[2] + 1], sends, 1.0),
        (row[send[0], ends[send[1], 0], departs], sends, -1.0),
        (row[stay[0], stay[1], stay[2] + 1], stays, 1.0),
        (row[stay], stays, -1.0),
    ]
    rows = np.concatenate([entry[0] for entry in entries])
    cols = np.concatenate([entry[1] for entry in entries])
    signs = np.concatenate([np.full(len(entry[0]), entry[2]) for entry in entries])
    kept = rows >= 0
    demands = np.zeros(int(window.nodes.sum()))
    for number, flow in enumerate(flows):
        for node, chunks in flow.demands:
            demands[row[number, node, -1]] = chunks
    shape = (len(demands), columns)
    return csr_array((signs[kept], (rows[kept], cols[kept])), shape=shape), demands


def _capacity(
    network: Network,
    group: tuple[Permutation, ...],
    send: tuple[IntArray, ...],
    load: IntArray,
    columns: int,
) -> tuple[csr_array, IntArray, IntArray]:
    """Rows (step, orbit of links or shared capacities) and the number of the row of each."""
    steps = int(send[2].max(initial=0)) + 1
    chosen = group or (tuple(range(network.nodes)),)
    links = np.unique(orbits(link_images(network, chosen)), return_inverse=True)[1].reshape(-1)
    row_of, weight, carried = [links], [np.ones(len(links))], [np.array(network.lanes)]
    member = [np.arange(len(links))]
    shared = np.zeros(0, dtype=np.int64)
    if network.shared:
        found = orbits(shared_images(network, chosen))
        shared = np.unique(found, return_inverse=True)[1].reshape(-1) + links.max() + 1
        sizes = np.bincount(shared)[shared]
        for port, row, size in zip(network.shared, shared, sizes, strict=True):
            member.append(np.array(port.links, dtype=np.int64))
            row_of.append(np.full(len(port.links), row))
            weight.append(np.full(len(port.links), len(chosen) / size))
        carried.append(np.array([port.capacity for port in network.shared]))
    loads, first = np.unique(load, return_index=True)
    width = int(max(links.max(), shared.max(initial=-1))) + 1
    by_link = csr_array(
        (np.concatenate(weight), (np.concatenate(row_of), np.concatenate(member))),
        shape=(width, len(network.links)),
    ).tocsc()[:, send[1][first]]
    by_link = by_link.tocoo()
    lanes = np.zeros(width)
    lanes[np.concatenate([links, shared])] = np.concatenate(carried)
    step = np.arange(steps)
    rows = [by_link.row + width * send[2][first][by_link.col], np.arange(steps * width)]
    cols = [loads[by_link.col], np.repeat(columns - steps + step, width)]
    values = [by_link.data, -np.tile(lanes, steps)]
    matrix = csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))),
        shape=(steps * width, columns),
    )
    return matrix, links, shared
