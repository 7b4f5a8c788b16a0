"""Cycles of waits through steps that repeat: what each takes per step, no period is below.

Along a cycle of waits the begins cancel, so that, of c waits from a step to the next,

    c T >= seconds of its operations + lags of its waits + changes from step to step

whatever the other operations do (Karp 1978; see `solvers.operations.graph`); that a step ends
before the next begins is such a wait too, from any operation to any. A cycle that made a
period too long is a quick test of other levels: most of them fail by the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.operations.graph import Floats, Operations, begins, lags, passed, turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A cycle of waits.

    Attributes:
        operations: Those that it goes through, and
        waits: edges of the graph, within steps.
        turns: Waits from a step to the next.
        steps: How many periods it takes.
    """

    operations: tuple[int, ...]
    waits: tuple[int, ...]
    turns: tuple[int, ...]
    steps: int

    def period(self, took: Sequence[float], lag: Sequence[float], turned: Sequence[float]) -> float:
        """Seconds that each step takes at least.

        Args:
            took: Seconds of each operation.
            lag: Of each wait within a step.
            turned: Of each from a step to the next.
        """
        within = sum([took[one] for one in self.operations])
        waited = sum([lag[one] for one in self.waits])
        return (within + waited + sum([turned[one] for one in self.turns])) / self.steps


def longest_cycle(graph: Operations, shares: Floats) -> Cycle:
    """A cycle that takes as long as the period of a graph of one operation or more.

    Args:
        graph: The operations.
        shares: (g, k) of each level.
    """
    seconds = (graph.seconds * shares[graph.group]).sum(axis=1)
    lag, turned, turn = lags(graph, shares), turns(graph, shares), graph.turn
    alone = begins(graph, seconds, lag)
    found = passed(graph, seconds, lag, turned, alone)
    if turn is None or found is None:  # from the begin of a step to its end
        return _joined([_path(graph, seconds, alone, lag, None)], ())
    nodes = _cycle(found.took)
    to = [*nodes[1:], nodes[0]]
    changes = [int(found.changes[one - 1]) if one else None for one in to]
    paths = [
        _path(graph, seconds, found.begin[one], lag, None if at is None else int(turn.last[at]))
        for one, at in zip(nodes, changes, strict=True)
    ]
    return _joined(paths, tuple(at for at in changes if at is not None))


_Path = tuple[list[int], list[int]]
"""Operations, and the waits between them."""


def _joined(paths: list[_Path], changes: tuple[int, ...]) -> Cycle:
    return Cycle(
        operations=tuple(one for path, _ in paths for one in path),
        waits=tuple(one for _, waits in paths for one in waits),
        turns=changes,
        steps=len(paths),
    )


def _cycle(took: Floats) -> list[int]:
    """The nodes of a cycle of the greatest mean, from (m, m) lengths.

    Of the longest walks of m edges, that to the node where Karp's mean is taken holds one.
    """
    walks, came = [np.zeros(len(took))], []
    for _ in took:
        ways = walks[-1][:, None] + took
        came.append(ways.argmax(axis=0))
        walks.append(ways.max(axis=0))
    edges = np.arange(len(took), 0, -1)[:, None]
    walk = [int(((walks[-1] - np.array(walks[:-1])) / edges).min(axis=0).argmax())]
    for before in reversed(came):
        walk.append(int(before[walk[-1]]))
    found: list[list[int]] = []
    path: list[int] = []
    for node in reversed(walk):
        if node in path:
            found.append(path[path.index(node) :])
            del path[path.index(node) :]
        path.append(node)
    return max(found, key=lambda nodes: _mean(took, nodes))


def _mean(took: Floats, nodes: list[int]) -> float:
    return float(np.mean(took[nodes, [*nodes[1:], nodes[0]]]))


def _path(
    graph: Operations, seconds: Floats, begin: Floats, lag: Floats, last: int | None
) -> _Path:
    """The longest way to the end of an operation; None: of that which ends last.

    Args:
        graph: The operations.
        seconds: (n,) of each.
        begin: (n,) when each begins; -inf: never.
        lag: (e,) of each wait.
        last: The operation.
    """
    ends = begin + seconds
    arrives = ends[graph.before] + lag
    tight = np.flatnonzero(np.isfinite(arrives) & (arrives == begin[graph.after]))
    into = dict(zip(graph.after[tight].tolist(), tight.tolist(), strict=True))
    path, waits = [int(ends.argmax()) if last is None else last], list[int]()
    while path[-1] in into:
        waits.append(into[path[-1]])
        path.append(int(graph.before[waits[-1]]))
    return path, waits
