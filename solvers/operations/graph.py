"""Operations that wait for one another, their levels, and when each begins in steps that repeat.

A step is done again and again, none before the one before it has ended, each begun a period T after
the last. So beside the waits within a step there are those from one to the next (`Turn`): where the
level of what a chain runs last is not that of what it runs first, the change takes s seconds,

    b_first + T >= b_last + d_last + s,     T >= b_i + d_i of every i,     b >= 0

and the least T for which such begins exist is the greatest mean, over cycles through several steps,
of what a step takes (Karp 1978; Baccelli et al. 1992, chapter 3).

Sources: Karp, Discrete Mathematics 23(3), 1978, doi:10.1016/0012-365X(78)90011-0; Baccelli, Cohen,
Olsder, Quadrat, Synchronization and Linearity, Wiley, 1992.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
TOLERANCE = 1e-9
"""Relative seconds by which HiGHS may miss a row: limits are kept to that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What waits from one step to the next.

    Attributes:
        last, first: (w,) operations: in the next step `first` begins once `last` has ended, and
        switches: (w,) seconds passed where the two groups have other levels.
    """

    last: Ints
    first: Ints
    switches: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Operations in an order in which each comes after those that it waits for.

    Attributes:
        seconds, cost: (n, k) of each operation at each level.
        group: (n,) whose level an operation has, from 0.
        before, after: (e,) operations; `after` begins once `before` ended, and
        lag: (e,) seconds passed.
        per_second: Cost of a second until the end of all.
        switches: (e,) seconds that a wait takes longer where the two groups have other levels.
        turn: What waits from one step to the next, where steps repeat.
    """

    seconds: Floats
    cost: Floats
    group: Ints
    before: Ints
    after: Ints
    lag: Floats
    per_second: float = 0.0
    switches: Floats | None = None
    turn: Turn | None = None

    def __post_init__(self) -> None:
        """Refuses an order that does not fit the edges, and what is no number.

        Raises:
            ValueError: Which.
        """
        if not np.all(self.before < self.after):
            raise ValueError("an operation comes before one that it waits for")
        if not (np.isfinite(self.seconds).all() and np.isfinite(self.cost).all()):
            raise ValueError("seconds or cost of a level are no numbers")
        if (self.seconds < 0).any() or (self.lag < 0).any():
            raise ValueError("seconds are negative")

    def grouped(self, group: Ints) -> Operations:
        """The same with other groups, (n,)."""
        return replace(self, group=group)

    @property
    def without_switches(self) -> Operations:
        """The same where a change of the level takes no time."""
        return replace(self, switches=None, turn=None)

    @property
    def groups(self) -> int:
        """How many there are."""
        return int(self.group.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What was chosen.

    Attributes:
        shares: (g, k) of the work of a group at each level.
        begin, seconds: (n,) of each operation.
        end: Of all, with the changes before the next step begins.
        cost: Of all, the price of time included.
        bound: No choice within the limit costs less, to the rounding of floating point.
    """

    shares: Floats
    begin: Floats
    seconds: Floats
    end: float
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """Relative difference of cost and bound."""
        return (self.cost - self.bound) / abs(self.cost) if self.cost else 0.0


def evaluated(graph: Operations, shares: Floats, bound: float = -math.inf) -> Levels:
    """Levels that are given, in steps that repeat as soon as they may.

    Args:
        graph: The operations.
        shares: (g, k) of each level.
        bound: What is known of the least cost.
    """
    weights = shares[graph.group]
    seconds = (graph.seconds * weights).sum(axis=1)
    begin, end = _repeated(graph, seconds, lags(graph, shares), turns(graph, shares))
    cost = float((graph.cost * weights).sum()) + graph.per_second * end
    return Levels(shares=shares, begin=begin, seconds=seconds, end=end, cost=cost, bound=bound)


def lags(graph: Operations, shares: Floats) -> Floats:
    """(e,) seconds of each wait with what changes of levels add, (g, k) shares."""
    if graph.switches is None:
        return graph.lag
    return graph.lag + graph.switches * _changed(graph, shares, graph.before, graph.after)


def turns(graph: Operations, shares: Floats) -> Floats:
    """(w,) seconds that changes of levels take from one step to the next, (g, k) shares."""
    turn = graph.turn
    if turn is None:
        return np.zeros(0)
    return turn.switches * _changed(graph, shares, turn.last, turn.first)


def _changed(graph: Operations, shares: Floats, one: Ints, other: Ints) -> npt.NDArray[np.bool_]:
    """Of pairs of operations, whether their levels differ."""
    different = shares[graph.group[one]] != shares[graph.group[other]]
    return np.asarray(different.any(axis=1))


def in_order(count: int, before: Ints, after: Ints) -> Ints:
    """Operations in an order in which each comes after those that it waits for, soonest first.

    Args:
        count: Of operations.
        before, after: (e,) operations; `after` waits for `before`.

    Raises:
        ValueError: Some wait for one another.
    """
    edges = np.argsort(before, kind="stable")
    later = after[edges].tolist()
    start = np.searchsorted(before[edges], np.arange(count + 1)).tolist()
    left = np.bincount(after, minlength=count).tolist()
    order = [one for one, waits in enumerate(left) if not waits]
    for one in order:  # it grows
        for other in later[start[one] : start[one + 1]]:
            left[other] -= 1
            if not left[other]:
                order.append(other)
    if len(order) < count:
        raise ValueError("operations wait for one another")
    return np.array(order, dtype=np.intp)


def begins(graph: Operations, seconds: Floats, lag: Floats, start: Floats | None = None) -> Floats:
    """(n,) seconds until each may begin, after the longest way to it.

    Args:
        graph: The operations.
        seconds: (n,) of each.
        lag: (e,) of each wait.
        start: (n,) before which none begins; None: 0.
    """
    begin = [0.0] * len(seconds) if start is None else start.tolist()
    return _begins(_waits(graph, lag), seconds.tolist(), begin)


def _waits(graph: Operations, lag: Floats) -> list[tuple[int, int, float]]:
    """The waits with what passes after the end of the one waited for, (e,) lags, in order."""
    order = np.argsort(graph.before, kind="stable")
    columns = graph.before[order], graph.after[order], lag[order]
    return list(zip(*(one.tolist() for one in columns), strict=True))


def _begins(waits: list[tuple[int, int, float]], took: list[float], begin: list[float]) -> Floats:
    """(n,) begins after all waits; `begin` holds those before which none begins, and changes."""
    for one, other, wait in waits:
        arrives = begin[one] + took[one] + wait
        begin[other] = max(begin[other], arrives)
    return np.array(begin)


def passes_after(graph: Operations, seconds: Floats) -> Floats:
    """(n,) seconds that pass at least after each ended until the end of all; of (n,) `seconds`."""
    last = len(seconds) - 1
    back = replace(
        graph, seconds=graph.seconds[::-1], cost=graph.cost[::-1], group=graph.group[::-1],
        before=last - graph.after, after=last - graph.before,
    )  # fmt: skip
    return begins(back, seconds[::-1], graph.lag)[::-1]


def at_level(graph: Operations, level: Ints) -> Floats:
    """(g, k) shares of groups that are each at one level, (g,)."""
    shares = np.zeros((graph.groups, graph.seconds.shape[1]))
    shares[np.arange(graph.groups), level] = 1.0
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What passes between the changes of levels of steps that repeat.

    Attributes:
        changes: (m,) waits from a step to the next that take time.
        begin: (m + 1, n) begins after that of the whole step, and after that of the first operation
            behind each change; -inf: it does not wait for that.
        took: (m + 1, m + 1) seconds from each of these to the end of all, and to each change.
        period: Of a step.
    """

    changes: Ints
    begin: Floats
    took: Floats
    period: float


def passed(
    graph: Operations, seconds: Floats, lag: Floats, turned: Floats, begin: Floats
) -> Passed | None:
    """What passes in steps whose changes make them longer; None: no change does.

    Args:
        graph: The operations.
        seconds: (n,) of each.
        lag: (e,) of each wait.
        turned: (w,) of each wait for the step before.
        begin: (n,) of each in a step that does not repeat.
    """
    ends, turn = begin + seconds, graph.turn
    late = ends.max(initial=0.0)
    if turn is None or not (ends[turn.last] + turned > late + begin[turn.first]).any():
        return None
    waits, took, changes = _waits(graph, lag), seconds.tolist(), np.flatnonzero(turned)
    rows = [begin]
    for first in turn.first[changes].tolist():
        start = [-math.inf] * len(took)
        start[first] = 0.0
        rows.append(_begins(waits, took, start))
    begun = np.array(rows)
    end = begun + seconds
    between = np.column_stack([end.max(axis=1), end[:, turn.last[changes]] + turned[changes]])
    return Passed(changes=changes, begin=begun, took=between, period=_greatest_mean(between))


def _repeated(
    graph: Operations, seconds: Floats, lag: Floats, turned: Floats
) -> tuple[Floats, float]:
    """(n,) begins of all operations, and the period, of steps that repeat as soon as they may.

    Args:
        graph: The operations.
        seconds: (n,) of each.
        lag: (e,) of each wait.
        turned: (w,) of each wait for the step before.
    """
    begin, turn = begins(graph, seconds, lag), graph.turn
    found = passed(graph, seconds, lag, turned, begin)
    if turn is None or found is None:
        return begin, float((begin + seconds).max(initial=0.0))
    late = np.zeros(len(found.took))
    for _ in late:
        late = np.maximum(late, (late[:, None] + found.took - found.period).max(axis=0))
    start = np.zeros(len(seconds))
    np.maximum.at(start, turn.first[found.changes], late[1:])
    return begins(graph, seconds, lag, start), found.period


def _greatest_mean(took: Floats) -> float:
    """Of the cycles in a table of lengths, (m, m), the greatest length per edge.

    From each node some edge leads on; -inf: none leads to it.
    """
    walks = [np.zeros(len(took))]
    for _ in took:
        walks.append((walks[-1][:, None] + took).max(axis=0))
    edges = np.arange(len(took), 0, -1)[:, None]
    return float(((walks[-1] - np.array(walks[:-1])) / edges).min(axis=0).max())
