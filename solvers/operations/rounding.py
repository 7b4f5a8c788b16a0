"""Whole levels for the operations of a graph, made quickly from the shares of the program.

`whole_levels` never breaks a limit, `repaired` makes room for changes of the level, and `slowed`
uses what is left; `rounded` is all of it. They prove nothing: the bound of
`solvers.operations.program.solve` says how good the levels are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.operations.program import (
    TOLERANCE,
    Ints,
    Levels,
    Operations,
    at_level,
    evaluated,
    solve,
)

_SHORTER = (1.0, 0.99, 0.98, 0.96)
_MOST_TRIED = 500_000
"""Waits that the evaluations of `slowed` go through, in all."""


def rounded(graph: Operations, limit: float) -> Levels | None:
    """The best whole levels that are found from shares; None where none keep the limit.

    Begun from the shares within the limit and within somewhat shorter ones, rounded so that nothing
    is slower than planned, and to the largest share of each group.
    """
    found = []
    for factor in _SHORTER:
        planned = solve(graph, factor * limit)
        if planned is None:
            break
        for level in (whole_levels(graph, planned), planned.shares.argmax(axis=1)):
            quick = repaired(graph, level, limit)
            if quick is not None:
                found.append(evaluated(graph, at_level(graph, slowed(graph, quick, limit))))
    return min(found, key=lambda one: one.cost, default=None)


def whole_levels(graph: Operations, planned: Levels) -> Ints:
    """(g,) the cheapest level of each group that is no slower than planned for any operation."""
    slower = graph.seconds > planned.seconds[:, None] * (1 + TOLERANCE) + 1e-15
    groups, levels = graph.groups, graph.seconds.shape[1]
    late = np.zeros((groups, levels), dtype=bool)
    np.logical_or.at(late, graph.group, slower)
    cost = np.zeros((groups, levels))
    np.add.at(cost, graph.group, graph.cost)
    fastest = np.zeros((groups, levels))
    np.add.at(fastest, graph.group, graph.seconds)
    allowed = ~late
    allowed[np.arange(groups), fastest.argmin(axis=1)] = True
    return np.asarray(np.where(allowed, cost, np.inf).argmin(axis=1))


def repaired(graph: Operations, level: Ints, limit: float) -> Ints | None:
    """Levels, (g,), made faster where changes of the level make the longest path too long.

    Every operation on it goes up to the next faster level, until the path is within the limit; None
    where that is not even so at the fastest. It proves nothing of the cost.
    """
    order = np.argsort(graph.seconds.mean(axis=0), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    level = level.copy()
    while True:
        found = evaluated(graph, at_level(graph, level))
        if found.end <= limit * (1 + TOLERANCE):
            return level
        path = graph.group[_longest_path(graph, found, level)]
        slow = np.unique(path[rank[level[path]] > 0])
        if not len(slow):
            return None
        level[slow] = order[rank[level[slow]] - 1]


def _longest_path(graph: Operations, found: Levels, level: Ints) -> Ints:
    """The operations of a path that takes until the end."""
    lag = graph.lag
    if graph.switches is not None:
        own = level[graph.group]
        lag = lag + graph.switches * (own[graph.before] != own[graph.after])
    ends = found.begin + found.seconds
    tight = ends[graph.before] + lag >= found.begin[graph.after] - TOLERANCE * found.end
    before = np.full(len(ends), -1, dtype=np.intp)
    before[graph.after[tight]] = graph.before[tight]
    path = [int(ends.argmax())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return np.array(path, dtype=np.intp)


def slowed(graph: Operations, level: Ints, limit: float) -> Ints:
    """Levels, (g,), of groups that go on to a cheaper level where the limit still allows it.

    The most saved per second first, again and again, while that makes it cheaper.
    """
    level, tries, most = level.copy(), 0, _MOST_TRIED // max(len(graph.before), 1)
    cost, seconds = (_by_group(graph, table) for table in (graph.cost, graph.seconds))
    best = evaluated(graph, at_level(graph, level))
    improved = True
    while improved and tries < most:
        improved = False
        own = np.arange(len(level)), level
        saved, longer = cost[own][:, None] - cost, seconds - seconds[own][:, None]
        worth = np.where(saved > 0, saved / np.maximum(longer, TOLERANCE), 0.0)
        order = np.argsort(-worth, axis=None, kind="stable")
        for group, to in zip(*np.unravel_index(order, worth.shape), strict=True):
            if worth[group, to] <= 0 or tries >= most:
                break
            if cost[group, to] >= cost[group, level[group]]:
                continue
            before, level[group] = level[group], to
            found, tries = evaluated(graph, at_level(graph, level)), tries + 1
            if found.end <= limit * (1 + TOLERANCE) and found.cost < best.cost:
                best, improved = found, True
            else:
                level[group] = before
    return level


def _by_group(graph: Operations, table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(g, k) sums over the operations of each group."""
    found = np.zeros((graph.groups, table.shape[1]))
    np.add.at(found, graph.group, table)
    return found
