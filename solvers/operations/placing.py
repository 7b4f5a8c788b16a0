"""Schedules under a cap on power, made by placing one operation after the other.

Operations are taken in the order of a key, each once those that it waits for are placed, and begin
at the first moment from which the cap leaves the power of their level for all their seconds (serial
generation of schedules: of some keys and levels it makes the best one, Kolisch 1996). `annealed`
changes levels and keys one by one and keeps what ends sooner, or at first also what ends somewhat
later (simulated annealing, as Bouleimen and Lecocq use it for such schedules). The numbers that it
draws are the same every time, and its work is counted in operations placed, not in seconds, so that
the answer is the same on every machine.

Sources: Kolisch, European Journal of Operational Research 90(2), 1996,
doi:10.1016/0377-2217(95)00357-6; Bouleimen, Lecocq, European Journal of Operational Research
149(2), 2003, doi:10.1016/S0377-2217(02)00761-0.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random

import numpy as np

from solvers.operations.graph import Floats, Ints
from solvers.operations.power import SLACK, Capped

_SAME_S = 1e-12
"""Seconds between moments that are one."""
_WARM = 2e-3
"""Of the end, by which at first a change may make it later (on average, as one in e)."""
_EARLY = 1e-3
"""Weight of the mean end of all operations beside that of the last one."""
_LEVELS = 0.6
"""Share of the changes that are of levels, the others of keys."""
_PAIRS = 0.4
"""Share of these that change a second operation the other way."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A schedule.

    Attributes:
        level: Of each operation.
        begin, ends: Seconds of each.
        end: Of all, with the changes before the next step begins.
    """

    level: list[int]
    begin: list[float]
    ends: list[float]
    end: float


class Placing:
    """Places the operations of a graph."""

    def __init__(self, capped: Capped) -> None:
        graph = capped.graph
        self.capped = capped
        self.seconds, self.power = graph.seconds.tolist(), capped.power.tolist()
        self.cap = capped.cap * (1 + SLACK)
        count = len(self.seconds)
        self.before: list[list[tuple[int, float, float]]] = [[] for _ in range(count)]
        self.after: list[list[tuple[int, float, float]]] = [[] for _ in range(count)]
        switches = np.zeros(len(graph.lag)) if graph.switches is None else graph.switches
        edges = (graph.before, graph.after, graph.lag, switches)
        for one, other, lag, switch in zip(*(part.tolist() for part in edges), strict=True):
            self.before[other].append((one, lag, switch))
            self.after[one].append((other, lag, switch))
        self.turns: list[tuple[int, int, float]] = []
        if graph.turn is not None:
            columns = (graph.turn.last, graph.turn.first, graph.turn.switches)
            self.turns = list(zip(*(part.tolist() for part in columns), strict=True))
        self.waits = [len(one) for one in self.before]
        self.levels = [sorted(set(row)) for row in capped.stands.tolist()]
        self.slower = [
            {level: [k for k in own if seconds[k] > seconds[level]] for level in own}
            for own, seconds in zip(self.levels, self.seconds, strict=True)
        ]
        self.drawing = np.flatnonzero((capped.power > 0).any(axis=1)).tolist()

    def run(self, key: Sequence[float], level: Sequence[int]) -> Placed:
        """The schedule of a key and levels."""
        left = list(self.waits)
        ready = [(key[at], at) for at, count in enumerate(left) if count == 0]
        heapify(ready)
        line = _Line(self.cap)
        begin, ends, taken = [0.0] * len(left), [0.0] * len(left), list(level)
        while ready:
            _, one = heappop(ready)
            taken[one], begin[one], ends[one] = self._at(line, one, taken, ends)
            for other, _, _ in self.after[one]:
                left[other] -= 1
                if left[other] == 0:
                    heappush(ready, (key[other], other))
        return Placed(taken, begin, ends, self._end(taken, begin, ends))

    def _end(self, level: Sequence[int], begin: Sequence[float], ends: Sequence[float]) -> float:
        """Of all, with the changes before the next step begins."""
        end = max(ends, default=0.0)
        for last, first, switch in self.turns:
            if level[last] != level[first]:
                end = max(end, ends[last] + switch - begin[first])
        return end

    def _at(
        self, line: _Line, one: int, taken: Sequence[int], ends: Sequence[float]
    ) -> tuple[int, float, float]:
        """Places an operation; where its level has to wait, at a slower one that ends sooner."""
        level, seconds, power = taken[one], self.seconds[one], self.power[one]
        ready = self._ready(one, level, taken, ends)
        if power[level] <= 0 or seconds[level] <= 0:
            return level, ready, ready + seconds[level]
        start, first = line.first(ready, seconds[level], power[level])
        best = start + seconds[level], level, start, first
        for slower in self.slower[one][level]:
            if best[2] <= ready or ready + seconds[slower] >= best[0]:
                break
            ready = self._ready(one, slower, taken, ends)
            start, first = line.first(ready, seconds[slower], power[slower])
            best = min(best, (start + seconds[slower], slower, start, first))
        stop, level, start, first = best
        line.put(first, start, stop, power[level])
        return level, start, stop

    def _ready(self, one: int, level: int, taken: Sequence[int], ends: Sequence[float]) -> float:
        """The moment at which nothing that an operation waits for is left, at a level."""
        ready = 0.0
        for other, lag, switch in self.before[one]:
            if switch and taken[other] != level:
                lag += switch  # noqa: PLW2901
            ready = max(ready, ends[other] + lag)
        return ready

    def slowed(self, placed: Placed) -> Placed:
        """The same with cheaper levels where neither another begin nor the end moves for them."""
        cost, end = self.capped.graph.cost.tolist(), placed.end
        line = _Line(self.cap)
        for one, start in enumerate(placed.begin):
            line.add(start, placed.ends[one], self.power[one][placed.level[one]])
        level, ends = list(placed.level), list(placed.ends)
        for one in reversed(range(len(level))):
            start, now = placed.begin[one], level[one]
            line.add(start, ends[one], -self.power[one][now])
            cheaper = [k for k in self.levels[one] if cost[one][k] < cost[one][now]]
            for _, other in sorted((cost[one][k], k) for k in cheaper):
                level[one], stop = other, start + self.seconds[one][other]
                early = self._ready(one, other, level, ends) > start + _SAME_S
                late = stop > self._until(one, placed.begin, level, end) + _SAME_S
                soon = [*ends[:one], stop, *ends[one + 1 :]]
                late = late or self._end(level, placed.begin, soon) > end + _SAME_S
                if not early and not late and line.fits(start, stop, self.power[one][other]):
                    ends[one] = stop
                    break
                level[one] = now
            line.add(start, ends[one], self.power[one][level[one]])
        return Placed(level, list(placed.begin), ends, self._end(level, placed.begin, ends))

    def _until(self, one: int, begin: Sequence[float], level: Sequence[int], end: float) -> float:
        """The moment at which an operation has to end for others to begin when they do."""
        return min(
            (
                begin[other] - lag - switch * (level[other] != level[one])
                for other, lag, switch in self.after[one]
            ),
            default=end,
        )


class _Line:
    """What is drawn from each moment on."""

    def __init__(self, cap: float) -> None:
        self.cap = cap
        self.times, self.drawn = [0.0, math.inf], [0.0, 0.0]

    def first(self, start: float, seconds: float, power: float) -> tuple[float, int]:
        """The first moment from `start` on that has room for a power, and its place."""
        times, drawn, room = self.times, self.drawn, self.cap - power
        first = at = bisect_right(times, start + _SAME_S) - 1
        while times[at] < start + seconds - _SAME_S:
            if drawn[at] > room:
                first = at + 1
                start = times[first]
            at += 1
        return start, first

    def add(self, start: float, stop: float, power: float) -> None:
        """Adds a power between two moments."""
        if stop > start:
            self.put(bisect_right(self.times, start + _SAME_S) - 1, start, stop, power)

    def fits(self, start: float, stop: float, power: float) -> bool:
        """Whether a power has room between two moments."""
        at = bisect_right(self.times, start + _SAME_S) - 1
        while self.times[at] < stop - _SAME_S:
            if self.drawn[at] > self.cap - power:
                return False
            at += 1
        return True

    def put(self, first: int, start: float, stop: float, power: float) -> None:
        """Adds a power between two moments, the first of them at a place."""
        times, drawn = self.times, self.drawn
        if times[first] < start - _SAME_S:
            first += 1
            times.insert(first, start)
            drawn.insert(first, drawn[first - 1])
        last = bisect_left(times, stop - _SAME_S)
        if times[last] > stop + _SAME_S:
            times.insert(last, stop)
            drawn.insert(last, drawn[last - 1])
        for at in range(first, last):
            drawn[at] += power


def annealed(placing: Placing, key: Floats, level: Ints, tries: int) -> Placed:
    """The schedule that ends soonest of those tried, begun with a key and levels.

    Args:
        placing: Of the operations.
        key: (n,) in whose order they are placed, seconds.
        level: (n,) of each.
        tries: Schedules that are made.
    """
    search = _Annealing(placing, key.tolist(), level.tolist())
    for number in range(tries):
        search.step(1 - number / tries)
    return search.best


class _Annealing:
    """Changes levels and keys one by one."""

    def __init__(self, placing: Placing, key: list[float], level: list[int]) -> None:
        self.placing, self.key, self.level = placing, key, level
        self.random = Random(0)  # the same numbers every time
        self.best = placing.run(key, level)
        self.value = _value(self.best)
        self.warm = _WARM * self.best.end
        self.far = float(np.mean([one[0] for one in placing.seconds])) * 2

    def step(self, heat: float) -> None:
        """Tries one change; `heat` falls from 1 to 0."""
        key, level = list(self.key), list(self.level)
        if not self._change(key, level):
            return
        found = self.placing.run(key, level)
        value = _value(found)
        worse = value - self.value
        if worse > 0 and self.random.random() >= math.exp(-worse / max(self.warm * heat, _SAME_S)):
            return
        self.key, self.level, self.value = key, level, value
        if found.end < self.best.end - _SAME_S:
            self.best = found

    def _change(self, key: list[float], level: list[int]) -> bool:
        """Changes a key or levels; whether it did."""
        draw, drawing = self.random, self.placing.drawing
        if not drawing:
            return False
        one = draw.choice(drawing)
        if draw.random() >= _LEVELS:
            key[one] += draw.gauss(0.0, self.far)
            return True
        way = draw.choice((-1, 1))
        if not self._moved(level, one, way):
            return False
        if draw.random() < _PAIRS:
            self._moved(level, draw.choice(drawing), -way)
        return True

    def _moved(self, level: list[int], one: int, way: int) -> bool:
        """Gives an operation the next level; whether there is one."""
        levels = self.placing.levels[one]
        at = levels.index(level[one]) + way
        if not 0 <= at < len(levels):
            return False
        level[one] = levels[at]
        return True


def _value(placed: Placed) -> float:
    """What is made small."""
    return placed.end + _EARLY * math.fsum(placed.ends) / len(placed.ends)
