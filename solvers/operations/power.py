"""A cap on what operations draw together at every moment, and what is known of one before a search.

Operation i draws p_ik watts while it runs at level k. A moment's draw is that of the levels that
run then; an operation that ends makes room for one that begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.operations.graph import Floats, Ints, Operations, passes_after
from solvers.operations.program import Program

SLACK = 1e-9
"""Share of the cap that sums may exceed it by, in rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """Operations under a cap.

    Attributes:
        graph: The operations, each a group of its own. A level that draws more than the cap has the
            seconds and cost of the fastest that does not.
        power: (n, k) of each operation at each level while it runs, alike.
        stands: (n, k) the level whose figures these are.
        cap: What operations may draw together.
        chain: (n,) whose operations follow one another, from 0; each belongs to one.
    """

    graph: Operations
    power: Floats
    stands: Ints
    cap: float
    chain: Ints

    @staticmethod
    def of(graph: Operations, power: Floats, cap: float, chain: Ints) -> Capped | None:
        """Operations under a cap; None: one of them draws more at every level.

        Args:
            graph: The operations, whose groups do not count.
            power: (n, k) of each at each level while it runs.
            cap: What they may draw together.
            chain: (n,) whose operations follow one another, from 0; -1: of none.
        """
        allowed = power <= cap * (1 + SLACK)
        if not allowed.any(axis=1).all():
            return None
        n, levels = power.shape
        fastest = np.where(allowed, graph.seconds, np.inf).argmin(axis=1)
        stands = np.where(allowed, np.arange(levels), fastest[:, None])
        rows = np.arange(n)[:, None]
        alone = np.flatnonzero(chain < 0)
        of_each = chain.copy()
        of_each[alone] = chain.max(initial=-1) + 1 + np.arange(len(alone))
        return Capped(
            graph=replace(
                graph, seconds=graph.seconds[rows, stands], cost=graph.cost[rows, stands],
                group=np.arange(n),
            ),
            power=power[rows, stands],
            stands=stands,
            cap=cap,
            chain=of_each,
        )  # fmt: skip

    def at(self, level: Ints) -> tuple[Floats, Floats]:
        """(n,) seconds and power at levels, (n,)."""
        rows = np.arange(len(level))
        return self.graph.seconds[rows, level], self.power[rows, level]

    def program(self) -> Program:
        """The linear program for the least end of all, without the cap; changes take no time."""
        free = self.graph.without_switches
        graph = replace(free, cost=np.zeros_like(free.cost), per_second=1.0)
        return Program(graph, float(graph.seconds.max(axis=1).sum() + graph.lag.sum()))

    def nearest(self, seconds: Floats) -> Ints:
        """(n,) the level of each operation whose seconds are nearest to those planned."""
        near = np.abs(self.graph.seconds - seconds[:, None]).argmin(axis=1)
        return np.asarray(self.stands[np.arange(len(near)), near])


def most_at_once(begin: Floats, seconds: Floats, power: Floats) -> float:
    """The most that operations draw together; (n,) each."""
    ran = (seconds > 0) & (power > 0)
    at = np.concatenate([begin[ran], begin[ran] + seconds[ran]])
    change = np.concatenate([power[ran], -power[ran]])
    order = np.lexsort((change, np.round(at, 9)))
    return float(np.cumsum(change[order]).max(initial=0.0))


def latest(graph: Operations, seconds: Floats, end: float) -> Floats:
    """(n,) begins that are as late as an end of all allows.

    Args:
        graph: The operations.
        seconds: (n,) of each.
        end: Of all.
    """
    return np.asarray(end - passes_after(graph, seconds) - seconds)
