"""Whole levels for the operations of a graph, made quickly from the shares of the program.

`whole_levels` never breaks a limit, `repaired` makes room for changes of the level, and `slowed`
uses what is left; `rounded` is all of it. They prove nothing: the bound of
`solvers.operations.program.solve` says how good the levels are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from operator import add

import numpy as np
import numpy.typing as npt

from solvers.clock import OutOfTime, left_s
from solvers.operations.cycles import Cycle, longest_cycle
from solvers.operations.graph import TOLERANCE, Ints, Levels, Operations, at_level, evaluated, turns
from solvers.operations.program import solve

Planned = Callable[[float], Levels | None]
_SHORTER = (1.0, 0.99, 0.985, 0.98, 0.96)
_ROUNDING = 1e-12
"""Relative, of sums of seconds in another order."""
_MOST_CYCLES = 16
"""That are kept to test other levels by."""
_MOST_TRIED = 500_000
"""Waits that the evaluations of `slowed` go through, in all."""


def rounded(
    graph: Operations, limit: float, planned: Planned | None = None, deadline: float = math.inf
) -> Levels | None:
    """The best whole levels that are found from shares; None where none keep the limit.

    Begun from the shares within the limit and within somewhat shorter ones, rounded so that nothing
    is slower than planned, and to the largest share of each group.

    Args:
        graph: The operations.
        limit: Seconds until the end of all.
        planned: What `solve` says of the graph within a limit, where that is known; it may be out
            of time.
        deadline: When what was found is returned, see `solvers.clock`.
    """
    plan = planned or (lambda within: solve(graph, within, deadline))
    found: dict[bytes, Levels] = {}
    for factor in _SHORTER:
        try:
            shares = plan(factor * limit)
        except OutOfTime:
            break
        if shares is None:
            break
        for level in (whole_levels(graph, shares), shares.shares.argmax(axis=1)):
            quick = repaired(graph, level, limit, deadline)
            if quick is not None and (key := quick.tobytes()) not in found:
                slow = slowed(graph, quick, limit, deadline)
                found[key] = evaluated(graph, at_level(graph, slow))
    return min(found.values(), key=lambda one: one.cost, default=None)


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


def repaired(
    graph: Operations, level: Ints, limit: float, deadline: float = math.inf
) -> Ints | None:
    """Levels, (g,), made faster where changes of the level make the longest path too long.

    Every operation on it goes up to the next faster level, until the path is within the limit; then
    of what a chain runs last and first the slower one, until the change between them is. None where
    that is not even so at the fastest, or the deadline passes. It proves nothing of the cost.
    """
    order = np.argsort(graph.seconds.mean(axis=0), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    level = level.copy()
    while left_s(deadline) > 0:
        if evaluated(graph, at_level(graph, level)).end <= limit * (1 + TOLERANCE):
            return level
        alone = evaluated(replace(graph, turn=None), at_level(graph, level))
        if alone.end > limit * (1 + TOLERANCE):
            path = graph.group[_longest_path(graph, alone, level)]
        else:
            path = _turning(graph, alone, rank[level], limit)
        slow = np.unique(path[rank[level[path]] > 0])
        if not len(slow):
            return None
        level[slow] = order[rank[level[slow]] - 1]
    return None


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


def _turning(graph: Operations, alone: Levels, rank: Ints, limit: float) -> Ints:
    """The slower groups of changes before the next step that do not end in time.

    Args:
        graph: The operations.
        alone: Their begins where the step does not repeat.
        rank: (g,) of each level, the fastest 0.
        limit: Seconds until the end of all.
    """
    turn = graph.turn
    assert turn is not None
    late = (alone.begin + alone.seconds)[turn.last] + turns(graph, alone.shares) > (
        limit * (1 + TOLERANCE) + alone.begin[turn.first]
    )
    pairs = graph.group[np.stack([turn.last, turn.first], axis=1)[late]]
    return np.asarray(pairs[np.arange(len(pairs)), rank[pairs].argmax(axis=1)])


def slowed(graph: Operations, level: Ints, limit: float, deadline: float = math.inf) -> Ints:
    """Levels, (g,), of groups that go on to a cheaper level where the limit still allows it.

    The most saved per second first, again and again, while that makes it cheaper and the deadline
    has not passed.
    """
    now, tries, most = _Walked(graph, level), 0, _MOST_TRIED // max(len(graph.before), 1)
    level = now.level  # changes with it
    cost, seconds = (_by_group(graph, table) for table in (graph.cost, graph.seconds))
    best, improved = now.cost, True
    while improved and tries < most:
        improved = False
        own = np.arange(len(level)), level
        saved, longer = cost[own][:, None] - cost, seconds - seconds[own][:, None]
        worth = np.where(saved > 0, saved / np.maximum(longer, TOLERANCE), 0.0)
        order = np.argsort(-worth, axis=None, kind="stable")
        for group, to in zip(*np.unravel_index(order, worth.shape), strict=True):
            if worth[group, to] <= 0 or tries >= most or left_s(deadline) <= 0:
                break
            if cost[group, to] >= cost[group, level[group]]:
                continue
            tries += 1
            if now.tried(int(group), int(to), limit, best):
                best, improved = now.cost, True
            else:
                now.back()
    return now.level


class _Bound:
    """What levels have to keep to.

    Attributes:
        end: Seconds until the end of all.
        most: Cost that is too much.
    """

    def __init__(self, end: float, most: float, spent: float, graph: Operations) -> None:
        self.end, self.most = end, most
        self._spent, self._per_second = spent, graph.per_second

    def cost(self, end: float) -> float:
        """Of levels whose operations end then."""
        return self._spent + self._per_second * end

    def breaks(self, end: float) -> bool:
        """Whether levels that end then or later do not keep to it, whatever the rounding."""
        dear = self.cost(end) > self.most + abs(self.most) * _ROUNDING
        return dear or end > self.end * (1 + _ROUNDING)


class _Walked:
    """Whole levels that change group by group; end and cost are those of `evaluated`.

    Begins, of a step that does not repeat, are computed again from the first operation of the group
    on, as the largest of the same sums, and the cost is the same sum over all shares: both are the
    same to the last bit.
    """

    def __init__(self, graph: Operations, level: Ints) -> None:
        order, count = np.argsort(graph.after, kind="stable"), len(graph.seconds)
        self.at = np.argsort(order).tolist()  # of each wait of the graph, here
        self.graph, self.level = graph, level.copy()
        self.waits = graph.before[order].tolist(), graph.after[order].tolist()
        self.first_wait = np.searchsorted(graph.after[order], np.arange(count + 1)).tolist()
        self.plain, self.switches = graph.lag[order], None
        self.around: list[list[int]] = []
        if graph.switches is not None:
            self.switches = graph.switches[order]
            self.sides = graph.group[graph.before[order]], graph.group[graph.after[order]]
            self.around = _rows_of(self.sides, graph.groups)
        self.members = _rows_of((graph.group,), graph.groups)
        found, own = evaluated(graph, at_level(graph, level)), level[graph.group]
        self.took = found.seconds.tolist()
        self.turns: list[tuple[int, int, float]] = []
        if graph.turn is not None:
            columns = (graph.turn.last, graph.turn.first, graph.turn.switches)
            self.turns = list(zip(*(one.tolist() for one in columns), strict=True))
        self.lag = self._lags(np.arange(len(order))).tolist()
        self.costs = np.zeros(graph.cost.shape)
        self.costs[np.arange(count), own] = graph.cost[np.arange(count), own]
        alone = evaluated(replace(graph, turn=None), at_level(graph, level))
        self.begin: list[float] = alone.begin.tolist()
        self.end, self.cost, self.rest = found.end, found.cost, self._rest()
        self.kept = self.begin, self.end, self.cost, 0, 0
        self.cycles: list[Cycle] = []  # that were too long, the last one that was first

    def tried(self, group: int, to: int, limit: float, most: float = math.inf) -> bool:
        """Gives a group another level; whether all ends within a limit then, at less cost.

        Args:
            group, to: The group and its level.
            limit: Seconds.
            most: What it costs less than. End and cost are known where it is so.
        """
        self.kept = self.begin, self.end, self.cost, group, int(self.level[group])
        self._set(group, to)
        bound = _Bound(limit * (1 + TOLERANCE), most, float(self.costs.sum()), self.graph)
        first = self.members[group][0]
        begin = self._begins(first, first + 1)[first]
        if bound.breaks(begin + self.took[first] + self.rest[first]):
            return False
        turned = self._turned()
        if self._known_too_long(bound, turned):
            return False
        self.begin = self._begins(first, len(self.took))
        self.end = self._end(turned, bound)
        self.cost = bound.cost(self.end)
        if bound.breaks(self.end):
            found = longest_cycle(self.graph, at_level(self.graph, self.level))
            waits = tuple(self.at[one] for one in found.waits)
            self.cycles = [replace(found, waits=waits), *self.cycles[: _MOST_CYCLES - 1]]
        return self.end <= bound.end and self.cost < most

    def _known_too_long(self, bound: _Bound, turned: list[float]) -> bool:
        """Whether a cycle of waits that was too long before is so still."""
        for place, cycle in enumerate(self.cycles):
            if bound.breaks(cycle.period(self.took, self.lag, turned)):
                self.cycles.insert(0, self.cycles.pop(place))
                return True
        return False

    def _end(self, turned: list[float], bound: _Bound) -> float:
        """Of all, or of what breaks a bound already.

        Where changes before the next step come into it, it is computed anew.
        """
        begin, took = self.begin, self.took
        end: float = max(map(add, begin, took))
        if not bound.breaks(end) and any(
            seconds and begin[last] + took[last] + seconds > end + begin[first]
            for (last, first, _), seconds in zip(self.turns, turned, strict=True)
        ):
            return evaluated(self.graph, at_level(self.graph, self.level)).end
        return end

    def _turned(self) -> list[float]:
        """Seconds of each change before the next step."""
        level, of = self.level, self.graph.group
        return [
            seconds if level[of[last]] != level[of[first]] else 0.0
            for last, first, seconds in self.turns
        ]

    def back(self) -> None:
        """Takes the last change back."""
        self.begin, self.end, self.cost, group, level = self.kept
        self._set(group, level)

    def _set(self, group: int, to: int) -> None:
        members, graph = self.members[group], self.graph
        self.costs[members, self.level[group]] = 0.0
        self.costs[members, to] = graph.cost[members, to]
        self.level[group] = to
        for one, seconds in zip(members, graph.seconds[members, to].tolist(), strict=True):
            self.took[one] = seconds
        if self.around:
            waits = self.around[group]
            for wait, lag in zip(waits, self._lags(waits).tolist(), strict=True):
                self.lag[wait] = lag

    def _lags(self, waits: Ints | list[int]) -> npt.NDArray[np.float64]:
        if self.switches is None:
            return self.plain[waits]
        one, other = (self.level[side[waits]] for side in self.sides)
        return np.asarray(self.plain[waits] + self.switches[waits] * (one != other))

    def _begins(self, first: int, end: int) -> list[float]:
        """Begins of all operations up to one, those before the first as they are."""
        begin: list[float] = [*self.begin[:first], *[0.0] * (end - first)]
        took, lag = self.took, self.lag
        of = range(self.first_wait[first], self.first_wait[end])
        before, after = self.waits
        for wait in of:
            one = before[wait]
            arrives = begin[one] + took[one] + lag[wait]
            begin[after[wait]] = max(begin[after[wait]], arrives)
        return begin

    def _rest(self) -> list[float]:
        """Seconds from the end of each operation to that of all, at least, whatever the levels."""
        least, rest = self.graph.seconds.min(axis=1).tolist(), [0.0] * len(self.took)
        before, after = self.waits
        for wait in range(len(before) - 1, -1, -1):
            other = after[wait]
            rest[before[wait]] = max(
                rest[before[wait]], float(self.plain[wait]) + least[other] + rest[other]
            )
        return rest


def _rows_of(sides: tuple[Ints, ...], groups: int) -> list[list[int]]:
    """The rows in which each group is on a side."""
    found: list[list[int]] = [[] for _ in range(groups)]
    for row, names in enumerate(zip(*(side.tolist() for side in sides), strict=True)):
        for name in dict.fromkeys(names):
            found[name].append(row)
    return found


def _by_group(graph: Operations, table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(g, k) sums over the operations of each group."""
    found = np.zeros((graph.groups, table.shape[1]))
    np.add.at(found, graph.group, table)
    return found
