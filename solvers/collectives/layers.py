"""Schedules in which every node receives every chunk as soon as it can: one small program a step.

A node at distance s from the source receives all C copies in step s, from neighbours that had all
of them a step before. So whatever link each copy comes over, the trees are right, and what is left
is to deal the copies of a step to links with the fewest rounds:

    sum over links into v of x[part, v, link] = C
    sum over parts and v of x on an orbit of links <= lanes r_s, likewise on shared capacities

On a torus of n = k^d nodes with C = 2 d copies the 2 d directions carry the same in every step:
the map (x_1, .., x_d) -> (-x_d, x_1, .., x_(d-1)) turns any tree of shortest ways into 2 d trees
that use each direction once where the first used one. So r_s is the number of nodes at distance s
and R = n - 1: R / C = (n - 1) / 2 d is the limit by what can enter one node, in diameter steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, hstack

from solvers.clock import left_s
from solvers.collectives.model import Crossing, Part, Symmetry
from solvers.collectives.problem import Network

STEP_LIMIT_S = 5.0
"""Of the program of one step."""

_Option = tuple[int, int, int]
"""Part, node, and a link over which it can receive in this step."""


def layered_crossings(
    network: Network,
    parts: Sequence[Part],
    symmetry: Symmetry,
    steps: int,
    hops: Sequence[Sequence[int]],
    deadline: float = math.inf,
) -> list[Crossing] | None:
    """The sends of the leading parts, each at its earliest step, with few rounds per step.

    Args:
        network: Links, lanes, shared capacities.
        parts: What is sent.
        symmetry: Of the group that the schedule is held to; its identity alone: any schedule.
        steps: S.
        hops: (nodes, nodes) links on a shortest way.
        deadline: On the clock of `time.perf_counter`.

    Returns:
        One crossing per leading part, copy and destination; None where some destination lies
        behind a node that is none, or farther than `steps` links away, and after the deadline.
    """
    options = _options(network, parts, symmetry, hops)
    if options is None or len(options) > steps:
        return None
    crossings: list[Crossing] = []
    for step, choices in enumerate(options):
        copies = np.array([len(parts[at].chunks) for at, _, _ in choices], dtype=np.int64)
        dealt = _dealt(network, symmetry, choices, copies, min(STEP_LIMIT_S, left_s(deadline)))
        if dealt is None:
            return None
        given: dict[tuple[int, int], int] = defaultdict(int)
        for (at, node, link), count in zip(choices, dealt.tolist(), strict=True):
            first = given[at, node]
            crossings += [Crossing(at, first + copy, link, step) for copy in range(count)]
            given[at, node] = first + count
    return crossings


def _options(
    network: Network, parts: Sequence[Part], symmetry: Symmetry, hops: Sequence[Sequence[int]]
) -> list[list[_Option]] | None:
    """Per step, the links over which the nodes whose turn it is can receive."""
    into: list[list[tuple[int, int]]] = [[] for _ in range(network.nodes)]
    for link, (u, v) in enumerate(network.links):
        into[v].append((u, link))
    farthest = max(
        hops[parts[at].source][end] for at in symmetry.leaders for end in parts[at].destinations
    )
    options: list[list[_Option]] = [[] for _ in range(farthest)]
    for at in symmetry.leaders:
        part = parts[at]
        away = hops[part.source]
        for node in sorted(part.destinations):
            found = [
                (at, node, link)
                for u, link in into[node]
                if away[u] == away[node] - 1 and (u == part.source or u in part.destinations)
            ]
            if not found:
                return None
            options[away[node] - 1] += found
    return options


def _dealt(
    network: Network,
    symmetry: Symmetry,
    choices: Sequence[_Option],
    copies: np.ndarray,
    limit_s: float,
) -> np.ndarray | None:
    """How many copies come over each link in question, with the fewest rounds of the step."""
    if limit_s <= 0:
        return None
    width = len(choices)
    links = np.array([link for _, _, link in choices], dtype=np.int64)
    pairs: dict[tuple[int, int], int] = {}
    rows = [pairs.setdefault((at, node), len(pairs)) for at, node, _ in choices]
    ones = np.ones(width)
    receive = coo_array((ones, (rows, np.arange(width))), shape=(len(pairs), width)).tocsr()
    wanted = np.zeros(len(pairs))
    wanted[rows] = copies
    carried, capacity = _carried(network, symmetry, links)
    rounds = csr_array(-capacity[:, None].astype(np.float64))
    none = csr_array((len(pairs), 1))
    cost = np.zeros(width + 1)
    cost[-1] = 1.0
    found = milp(
        cost,
        integrality=np.ones(width + 1),
        bounds=Bounds(np.append(np.zeros(width), 1.0), np.append(copies, np.inf)),
        constraints=[
            LinearConstraint(hstack([receive, none]), wanted, wanted),
            LinearConstraint(hstack([carried, rounds]), -np.inf, 0.0),
        ],
        options={"time_limit": limit_s},
    )
    return None if found.x is None else np.rint(found.x[:-1]).astype(np.int64)


def _carried(
    network: Network, symmetry: Symmetry, links: np.ndarray
) -> tuple[csr_array, np.ndarray]:
    """(rows, options) what counts against each orbit of links and ports, and their capacity."""
    orbit = np.array(symmetry.link_orbit, dtype=np.int64)[links]
    leaders, row = np.unique(orbit, return_inverse=True)
    capacity = [network.lanes[leader] for leader in leaders.tolist()]
    entries = [(row.reshape(-1), np.arange(len(links)), np.ones(len(links)))]
    for counts, most in symmetry.port_rows:
        weight = np.array([counts.get(link, 0) for link in links.tolist()])
        used = np.flatnonzero(weight)
        entries.append((np.full(len(used), len(capacity)), used, weight[used].astype(np.float64)))
        capacity.append(most)
    at, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
    shape = (len(capacity), len(links))
    return coo_array((value, (at, column)), shape=shape).tocsr(), np.array(capacity)
