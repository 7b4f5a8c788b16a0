"""Exact search over nodes of candidates with lower bounds, and the exact front of what it finds.

A *node* is a group of candidates with one or more *corners*: every candidate of the node is no
better than some corner in any objective (one corner per clock, say). The search opens nodes in
order of their corners and keeps a running front; a node all of whose corners some point of the
front covers cannot improve it and is never opened. Corners of -inf make it a plain exhaustive
search; both return the same optimum and the same front, because a node is dropped only when found
points are no worse than everything in it. Nodes may nest: opening one may run a search over the
nodes inside it with the same running front.

Of candidates with equal objectives the one with the least label stays. Where corners lie below
every candidate by more than rounding, no candidate that equals a point of the front is dropped, so
the front is the same, labels included, in whatever order nodes are opened and whatever was known
before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from solvers.frontier import covered, nondominated
from solvers.solution import Status

Index = npt.NDArray[np.int64]
Points = npt.NDArray[np.float64]
Corners = npt.NDArray[np.float64]


_LOOKED_AT = 128
"""Nodes that are compared with the front at a time, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The candidates of some nodes.

    Attributes:
        points: (c, d) objectives.
        labels: (c, k) integers that identify each candidate to the caller.
        allowed: (c,) False for candidates that break a limit; None when all are allowed.
        dropped: Candidates that broke each limit, by name.
        complete: False when time ran out before all candidates of the nodes were looked at; the
            nodes then count as left.
        again: Nodes that are not settled, of which the caller made the corners better: they take
            their new place among the others.
    """

    points: Points
    labels: Index
    allowed: npt.NDArray[np.bool_] | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    again: Index | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontSolution:
    """The exact front of all allowed candidates, or what was found when time ran out.

    Attributes:
        points: (f, d) non-dominated objectives, ascending in the first.
        labels: (f, k) their labels.
        status: OPTIMAL (the front is complete), FEASIBLE or TIME_LIMIT (time ran out with or
            without points), INFEASIBLE.
        bound: (d,) no candidate is below this in any single objective; equal to the minima of
            `points` when the front is complete.
        counts: nodes, nodes_dropped_by_bound, nodes_left, evaluated, and one entry per limit.
        left: Nodes that may still hold points of the front (none when it is complete).
        seconds: Wall time.
    """

    points: Points
    labels: Index
    status: Status
    bound: npt.NDArray[np.float64]
    counts: dict[str, int]
    left: Index
    seconds: float


class RunningFront:
    """A front that grows by batches of points; keeps labels beside the points."""

    def __init__(self, objectives: int, label_columns: int) -> None:
        self.points: Points = np.empty((0, objectives))
        self.labels: Index = np.empty((0, label_columns), dtype=np.int64)

    def hides(self, points: Points) -> npt.NDArray[np.bool_]:
        """(c,) points, or corners, that cannot improve it."""
        return covered(self.points, points)

    def add(self, points: Points, labels: Index) -> None:
        """Merges (c, d) points; of equal points that with the least label stays."""
        fresh = ~self.hides(points)
        if fresh.any():
            merged = np.concatenate([self.points, points[fresh]])
            names = np.concatenate([self.labels, labels[fresh]])
            keep = nondominated(merged)
            self.points, self.labels = merged[keep], names[keep]
        self._name_by_least(points, labels)

    def _name_by_least(self, points: Points, labels: Index) -> None:
        """Points of the front take the labels of their equals that are less than their own."""
        some = np.flatnonzero(np.isin(points[:, 0], self.points[:, 0]))
        points, labels = points[some], labels[some]
        for place in np.flatnonzero(np.isin(self.points[:, 0], points[:, 0])).tolist():
            equal = labels[(points == self.points[place]).all(axis=1)]
            if len(equal):
                self.labels[place] = min(self.labels[place].tolist(), _least(equal).tolist())


def _least(labels: Index) -> Index:
    """(k,) the least of (n, k) labels, the first column most significant."""
    for column in range(labels.shape[1]):
        labels = labels[labels[:, column] == labels[:, column].min()]
    least: Index = labels[0]
    return least


def search_front(
    corners: Corners,
    open_nodes: Callable[[Index], Opened],
    front: RunningFront,
    *,
    batch: int = 2048,
    seeds: int = 512,
    first: Index | None = None,
    deadline: float | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> FrontSolution:
    """The exact front of all candidates in all nodes, merged into `front`.

    Args:
        corners: (b, q, d) lower corners of the nodes; -inf where nothing is known, all inf where
            nothing is.
        open_nodes: Evaluates the candidates of the given nodes (indices into `corners`).
        front: Points found so far; grows in place.
        batch: Nodes opened at a time.
        seeds: Nodes opened first: the best few by each objective, so that the front prunes early;
            0 where opened nodes may come `again`.
        first: Nodes that are opened with those, where good candidates are looked for; they change
            what is opened and when, and nothing of what is found.
        deadline: Value of `time.perf_counter` after which no further nodes are opened.
        on_progress: Called with (nodes settled, nodes in all) after every batch.

    Raises:
        ValueError: `corners` is not a (b, q, d) array of numbers.
    """
    started = time.perf_counter()
    if corners.ndim != 3 or np.isnan(corners).any():
        raise ValueError("corners must be a (nodes, corners, objectives) array without NaN")
    counts: dict[str, int] = {"nodes": len(corners), "nodes_dropped_by_bound": 0, "evaluated": 0}
    queue, picked = _seeded_order(corners, seeds, first)
    at, rest, early = 0, queue[:0], max(seeds, picked)
    while at < len(queue) and (deadline is None or time.perf_counter() < deadline):
        before, wanted = at, early if at == 0 and early else batch
        alive, at = _next_alive(front, corners, queue, at, wanted)
        counts["nodes_dropped_by_bound"] += at - before - len(alive)
        if len(alive):
            opened = open_nodes(alive)
            if not _absorb(front, opened, counts):
                rest = alive
                break
            if opened.again is not None:
                at -= len(opened.again)
                queue[at:] = _put_back(corners, opened.again, queue[at + len(opened.again) :])
        if on_progress is not None:
            on_progress(at, len(queue))
    rest = np.concatenate([rest, queue[at:]])
    still = _alive(front, corners[rest])
    counts["nodes_dropped_by_bound"] += int((~still).sum())
    rest = rest[still]
    counts["nodes_left"] = len(rest)
    return FrontSolution(
        points=front.points,
        labels=front.labels,
        status=_status(complete=len(rest) == 0, found=len(front.points) > 0),
        bound=_lowest(front.points, corners[rest]),
        counts=counts,
        left=rest,
        seconds=time.perf_counter() - started,
    )


def _alive(front: RunningFront, corners: Corners) -> npt.NDArray[np.bool_]:
    """(b,) nodes with a corner that no point of the front covers, and that is somewhere."""
    nodes, each, objectives = corners.shape
    flat = corners.reshape(nodes * each, objectives)
    hidden = front.hides(flat) | (flat == math.inf).all(axis=1)
    return np.asarray(~hidden.reshape(nodes, each).all(axis=1))


def _next_alive(
    front: RunningFront, corners: Corners, queue: Index, at: int, wanted: int
) -> tuple[Index, int]:
    """At least half of `wanted` nodes from `at` on that may hold points, and where they end.

    Fewer only at the end of the queue. Many nodes at a time are cheaper to open than few.
    """
    found: list[Index] = []
    missing = wanted
    while at < len(queue) and 2 * missing > wanted:
        chosen = queue[at : at + max(missing, _LOOKED_AT)]
        alive = np.flatnonzero(_alive(front, corners[chosen]))[:missing]
        found.append(chosen[alive])
        missing -= len(alive)
        at += len(chosen) if missing else int(alive[-1]) + 1
    return np.concatenate(found), at


def _put_back(corners: Corners, again: Index, queue: Index) -> Index:
    """A queue in the order of the first objective, with nodes that come back to it."""
    keys, known = (corners[nodes, :, 0].min(axis=1) for nodes in (again, queue))
    order = np.argsort(keys, kind="stable")
    return np.insert(queue, np.searchsorted(known, keys[order]), again[order])


def _lowest(points: Points, corners: Corners) -> npt.NDArray[np.float64]:
    """(d,) the least of each objective over found points and unopened nodes."""
    lowest = np.full(corners.shape[2], math.inf)
    for part in (points, corners.reshape(-1, corners.shape[2])):
        if len(part):
            lowest = np.minimum(lowest, part.min(axis=0))
    return lowest


def _seeded_order(corners: Corners, seeds: int, first: Index | None) -> tuple[Index, int]:
    """All nodes by their least first objective, but some first, and how many these are.

    Those are the best few of every objective, and the given ones.
    """
    least = corners.min(axis=1)
    orders = [np.argsort(of_one, kind="stable") for of_one in least.T]
    share = max(seeds // len(orders), 1) if seeds else 0
    picked = np.zeros(len(least), dtype=np.bool_)
    for order in orders:
        picked[order[:share]] = True
    if first is not None:
        picked[first] = True
    early = picked.nonzero()[0]
    return np.concatenate([early, orders[0][~picked[orders[0]]]]), len(early)


def _absorb(front: RunningFront, opened: Opened, counts: dict[str, int]) -> bool:
    """Takes in what some nodes held; whether that was everything in them."""
    counts["evaluated"] += len(opened.points)
    for name, number in opened.dropped.items():
        counts[name] = counts.get(name, 0) + number
    if opened.allowed is None:
        front.add(opened.points, opened.labels)
    else:
        front.add(opened.points[opened.allowed], opened.labels[opened.allowed])
    return opened.complete


def _status(*, complete: bool, found: bool) -> Status:
    if complete:
        return Status.OPTIMAL if found else Status.INFEASIBLE
    return Status.FEASIBLE if found else Status.TIME_LIMIT
