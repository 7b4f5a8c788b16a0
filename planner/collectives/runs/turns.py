"""Which of the sends of one step go together: turns within lanes and shared capacities.

All sends of a step take equally long, so that a step is a row of turns; in a turn a link carries
as many chunks as it has lanes, and a port as many as its capacity. The fewest turns are at least
the fullest link's or port's. Ports of a switch and trunks between two levels of switches form a
tree on the side of the sources and another on the side of the targets: then this bound is met
(balanced colouring of two laminar families, whose matrix is totally unimodular; for one port per
node it is Koenig's edge colouring).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from solvers.collectives.problem import Network
from solvers.mixed_integer import milp


def turns_of(links: Sequence[int], network: Network) -> list[int]:
    """A turn for each of the sends of a step, as few as are found.

    Args:
        links: Index of the link of each send.
        network: Lanes and shared capacities.

    Returns:
        Turns from 0. Without shared capacities the sends of a link are taken in their order, and
        the turns are the fewest; with them, sends of a link keep their order too.
    """
    counts = np.bincount(np.array(links, dtype=np.int64), minlength=len(network.links))
    if not network.shared or not links:
        return _dealt(links, _filled(counts, np.array(network.lanes)))
    return _dealt(links, _shared(tuple(counts.tolist()), network))


@functools.lru_cache(maxsize=64)
def _shared(loads: tuple[int, ...], network: Network) -> np.ndarray:
    """(turns, links) sends of each link in each turn; steps of a pipeline are often alike."""
    counts = np.array(loads)
    sets, most = _limits(network)
    bound = int(np.max(-(-(sets @ counts) // most)))
    each = _greedy(counts, sets, most, bound)
    if len(each) > bound:
        each = _exact(counts, sets, most, bound) or each
    shared = np.array(each)
    shared.setflags(write=False)  # it is kept
    return shared


def _filled(counts: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """(turns, links) sends of each link in each turn, all lanes full from the first."""
    turns = int(np.max(-(-counts // lanes), initial=0))
    begun = np.arange(turns)[:, None] * lanes
    filled: np.ndarray = np.clip(counts - begun, 0, lanes)
    return filled


def _dealt(links: Sequence[int], each: np.ndarray) -> list[int]:
    """The turn of every send, those of a link in their order."""
    of_link = {link: np.repeat(np.arange(len(each)), each[:, link]).tolist() for link in set(links)}
    taken = dict.fromkeys(of_link, 0)
    turns = []
    for link in links:
        turns.append(of_link[link][taken[link]])
        taken[link] += 1
    return turns


def _limits(network: Network) -> tuple[Any, np.ndarray]:
    """(sets, links) 0 or 1, sparse; (sets,) what each carries per turn: links, then ports."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (takes a noticeable time)

    count = len(network.links)
    rows, columns = list(range(count)), list(range(count))
    for row, port in enumerate(network.shared, start=count):
        rows += [row] * len(port.links)
        columns += port.links
    ones = np.ones(len(rows), dtype=np.int64)
    sets = csr_array((ones, (rows, columns)), shape=(count + len(network.shared), count))
    return sets, np.array([*network.lanes, *(port.capacity for port in network.shared)])


def _greedy(counts: np.ndarray, sets: Any, most: np.ndarray, bound: int) -> list[np.ndarray]:
    """Turn after turn, links in the fullest ports first; gives up past twice the bound."""
    by_link = sets.tocsc()
    starts = by_link.indptr[:-1]  # Every link is a set of its own, so no column is empty.
    of_link = np.split(by_link.indices, starts[1:])
    left = counts.copy()
    turns: list[np.ndarray] = []
    while left.any() and len(turns) <= 2 * bound:
        full = (sets @ left) / most
        urgent = np.maximum.reduceat(full[by_link.indices], starts)
        taken, room = np.zeros_like(left), most.copy()
        for link in np.argsort(-urgent, kind="stable").tolist():
            if not left[link]:
                continue
            mine = of_link[link]
            taken[link] = min(int(left[link]), int(room[mine].min()))
            room[mine] -= taken[link]
        turns.append(taken)
        left = left - taken
    return turns


def _exact(counts: np.ndarray, sets: Any, most: np.ndarray, bound: int) -> list[np.ndarray]:
    """`bound` turns: each takes so much of every set that the others can take the rest.

    Empty where that is not possible, which only sets that are no two trees can cause.
    """
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415  (takes a noticeable time)

    left, turns = counts.copy(), []
    for after in range(bound - 1, -1, -1):
        least = np.maximum(sets @ left - most * after, 0)
        found = milp(
            np.zeros(len(left)),
            constraints=LinearConstraint(sets, least, most),
            bounds=Bounds(0, left),
            integrality=np.ones(len(left)),
        )
        if found.x is None:
            return []
        taken = np.rint(found.x).astype(np.int64)
        turns.append(taken)
        left = left - taken
    return turns
