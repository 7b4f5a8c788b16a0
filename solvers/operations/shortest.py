"""The schedule of operations that ends soonest under a cap on power at every moment.

Which operation runs at which level, and when it pauses, is a scheduling problem that no quick
method solves for hundreds of operations; here one is found and bounded. Orders to begin with are
that of the relaxed schedule behind the bound (`power_bound`), and those of all operations at the
fastest levels, each as soon and as late as may be. In each the linear program of `power_order`
plans seconds; levels nearest to these are placed (`placing`), and changed one by one. In the order
of the best the program plans once more. The energy of what has slack is made small last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solvers.operations.graph import Floats, Ints, Operations, begins
from solvers.operations.placing import Placed, Placing, annealed
from solvers.operations.power import Capped, latest, most_at_once
from solvers.operations.power_bound import least_end
from solvers.operations.power_order import planned

_WORK = 1_000_000
"""Operations that are placed in all."""
_MOST_ORDERED = 600
"""Operations up to which an order is planned by a linear program."""
_NEAR = 1e-6
"""Relative to the bound, at which a schedule is the shortest but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortest:
    """A schedule under a cap.

    Attributes:
        level: (n,) of each operation.
        begin, seconds: (n,) of each.
        end: Of all.
        cost: Of all, the price of time included.
        most: That is drawn at a moment.
        bound: No schedule ends sooner, also where an operation changes its level while it runs.
    """

    level: Ints
    begin: Floats
    seconds: Floats
    end: float
    cost: float
    most: float
    bound: float

    @property
    def gap(self) -> float:
        """How far below the end the bound is, relative."""
        return 1 - self.bound / self.end if self.end else 0.0


def shortest(
    graph: Operations, power: Floats, cap: float, chain: Ints, work: int | None = None
) -> Shortest | None:
    """The schedule that ends soonest of those found; None: an operation alone draws too much.

    Args:
        graph: The operations, whose groups do not count.
        power: (n, k) of each operation at each level while it runs.
        cap: What they may draw together.
        chain: (n,) whose operations follow one another, from 0; -1: of none.
        work: Operations that are placed in all; None: a million.
    """
    capped = Capped.of(graph, power, cap, chain)
    if capped is None:
        return None
    least = least_end(capped)
    search = _Search(
        capped, least.end, max((_WORK if work is None else work) // max(len(power), 1), 1)
    )
    search.all_from(least.begin, least.seconds)
    best = search.placing.slowed(search.best)
    level = np.array(best.level, dtype=np.intp)
    seconds, drawn = capped.at(level)
    begin = np.array(best.begin)
    cost = float(capped.graph.cost[np.arange(len(level)), level].sum())
    return Shortest(
        level=capped.stands[np.arange(len(level)), level],
        begin=begin,
        seconds=seconds,
        end=best.end,
        cost=cost + graph.per_second * best.end,
        most=most_at_once(begin, seconds, drawn),
        bound=min(least.end, best.end),
    )


class _Search:
    """The best schedule so far."""

    def __init__(self, capped: Capped, bound: float, tries: int) -> None:
        self.capped, self.bound, self.tries = capped, bound, tries
        self.placing = Placing(capped)
        quick = capped.graph.seconds.min(axis=1)
        soon = begins(capped.graph, quick, capped.graph.lag)
        self.quick = soon, quick, float((soon + quick).max(initial=0.0))
        same = [self._of_one_level(k) for k in range(capped.power.shape[1])]
        self.best = min(same, key=lambda one: one.end)

    def all_from(self, begin: Floats, seconds: Floats) -> None:
        """Looks from all orders, that of the bound's schedule among them."""
        found = []
        for start, level in [*self._orders(begin, seconds), self._order_of(self.best)]:
            found.append(self._improved(start, level, self.tries // 16))
        for one in sorted(found, key=lambda one: one.end)[:2]:
            self._improved(*self._order_of(one), self.tries // 4)
        self._improved(*self._planned(*self._order_of(self.best)), self.tries // 4)

    @property
    def done(self) -> bool:
        """Whether the best is as short as the bound."""
        return self.best.end <= self.bound * (1 + _NEAR)

    def _orders(self, begin: Floats, seconds: Floats) -> Iterator[tuple[Floats, Ints]]:
        """Begins, in whose order operations are placed, and levels to begin with."""
        graph = self.capped.graph
        soon, quick, end = self.quick
        for start, took in (
            (begin, seconds),
            (latest(graph, seconds, self.bound), seconds),
            (soon, quick),
            (latest(graph, quick, end), quick),
        ):
            yield self._planned(start, self.capped.nearest(took), took)

    def _planned(
        self, begin: Floats, level: Ints, seconds: Floats | None = None
    ) -> tuple[Floats, Ints]:
        """Begins and levels as the linear program plans them in an order, where it can."""
        if len(begin) > _MOST_ORDERED or self.done:
            return begin, level
        took = self.capped.at(level)[0] if seconds is None else seconds
        plan = planned(self.capped, begin, took)
        return (begin, level) if plan is None else (plan.begin, self.capped.nearest(plan.seconds))

    def _improved(self, begin: Floats, level: Ints, tries: int) -> Placed:
        """The best schedule found from an order."""
        found = annealed(self.placing, begin, level, 0 if self.done else tries)
        if found.end < self.best.end:
            self.best = found
        return found

    def _of_one_level(self, level: int) -> Placed:
        """All operations at one level, or the nearest that it has, as soon as may be."""
        took = self.capped.graph.seconds[:, level]
        begin = begins(self.capped.graph, took, self.capped.graph.lag)
        return self.placing.run(begin.tolist(), self.capped.stands[:, level].tolist())

    def _order_of(self, placed: Placed) -> tuple[Floats, Ints]:
        return np.array(placed.begin), np.array(placed.level, dtype=np.intp)
