"""Chains of any number of columns: the fewest units, or the least time, of a free number of stages.

Where the number of devices of a pipeline is itself to be chosen, a choice is a path of columns
from the first state to the last. A state is whatever later columns depend on: the layers that
remain, the devices or the micro-batches in flight that are taken. With a length l_c and a peak
t_c of each column,

    least_peak:   min max_c t_c            over paths with  sum_c l_c <= budget
    least_total:  min sum_c l_c + w max_c t_c

Both ask shortest paths within a threshold of the peak, S(t), which never grows with t. least_peak
halves the values of the peak; least_total splits intervals (lo, hi] of them, on which no path is
better than S(hi) + w lo, and takes the interval with the least bound first.

Source: for w = m - 1, the sweep of the slowest stage in Zheng et al., Alpa, OSDI 2022, section 5.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.solution import Solution, Status
from solvers.stages.problem import Ints

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Columns between states; paths lead from state 0 to the last.

    Attributes:
        level: (n,) of each state; every column leads to a higher one.
        starts, ends: (c,) states.
        lengths: (c,) at least 0; whole numbers add up exactly.
        peaks: (c, b) at least 0.

    Raises:
        ValueError: There is no state, a column does not lead upwards, or a number cannot be used.
    """

    level: Ints
    starts: Ints
    ends: Ints
    lengths: Floats
    peaks: Floats

    def __post_init__(self) -> None:
        count = len(self.level)
        if count == 0:
            raise ValueError("needs at least one state")
        for name in ("starts", "ends"):
            states = getattr(self, name)
            if len(states) and not 0 <= states.min() <= states.max() < count:
                raise ValueError(f"{name} must be states 0 .. {count - 1}")
        if np.any(self.level[self.starts] >= self.level[self.ends]):
            raise ValueError("every column must lead to a state of a higher level")
        for name in ("lengths", "peaks"):
            values = getattr(self, name)
            if not np.all(np.isfinite(values) & (values >= 0)):
                raise ValueError(f"{name} must be finite and at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Columns of a path in order, with the sum of their lengths and the largest of their peaks.

    Attributes:
        columns: (n,) rows of the steps.
        length: Their sum.
        peaks: (b,) the largest.
    """

    columns: Index
    length: float
    peaks: Floats


class _Ways:
    """Steps by the level at which they end."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        level = steps.level[steps.ends]
        self.order = np.lexsort((steps.ends, level))
        bounds = np.flatnonzero(np.diff(level[self.order])) + 1
        self.groups = np.split(self.order, bounds) if len(self.order) else []

    def shortest(self, most: Floats) -> Path | None:
        """A shortest path with no peak above `most`, (b,); None where there is none."""
        steps = self.steps
        within = np.all(steps.peaks <= most, axis=1)
        reached = np.full(len(steps.level), np.inf)
        reached[0] = 0.0
        by = np.full(len(steps.level), -1, dtype=np.intp)
        for group in self.groups:
            own = group[within[group]]
            if len(own) == 0:
                continue
            ways, ends = reached[steps.starts[own]] + steps.lengths[own], steps.ends[own]
            is_first = np.ones(len(own), dtype=bool)
            np.not_equal(ends[1:], ends[:-1], out=is_first[1:])
            begins = is_first.nonzero()[0]
            best = np.minimum.reduceat(ways, begins)
            reached[ends[begins]] = best
            is_best = ways == best[is_first.cumsum() - 1]
            by[ends[is_best]] = own[is_best]
        return None if np.isinf(reached[-1]) else self._path(by)

    def _path(self, by: Index) -> Path:
        steps, chosen, state = self.steps, [], len(self.steps.level) - 1
        while state:
            chosen.append(by[state])
            state = int(steps.starts[by[state]])
        columns = np.array(chosen[::-1], dtype=np.intp)
        return Path(
            columns=columns,
            length=float(steps.lengths[columns].sum()),
            peaks=steps.peaks[columns].max(axis=0, initial=0.0),
        )


def least_peak(steps: Steps, budget: float, below: float = math.inf) -> Solution[Path]:
    """The path whose largest peak is least, among those of at most `budget` in length.

    Args:
        steps: With one peak.
        budget: Limit on the sum of the lengths.
        below: Only peaks less than this are wanted.

    Returns:
        OPTIMAL with the bound equal to the objective, or INFEASIBLE with the bound `below`.
    """
    started = time.perf_counter()
    ways, solved = _Ways(steps), 0
    values = np.unique(steps.peaks)
    values = values[values < below]
    best: Path | None = None
    low, high = 0, len(values)
    middle = high - 1
    while low < high:
        found, solved = ways.shortest(values[middle : middle + 1]), solved + 1
        if found is not None and found.length <= budget:
            best, high = found, int(np.searchsorted(values, found.peaks[0]))
        elif best is None:
            break
        else:
            low = middle + 1
        middle = (low + high) // 2
    counts = {"columns": len(steps.starts), "shortest paths": solved}
    return _solution(best, below if best is None else float(best.peaks[0]), below, started, counts)


def least_total(steps: Steps, weights: Sequence[float]) -> Solution[Path]:
    """The path with the least sum of its lengths and of its largest peaks, weighed.

    Args:
        steps: Columns between states.
        weights: (b,) at least 0.

    Returns:
        OPTIMAL with the bound equal to the objective, or INFEASIBLE.

    Raises:
        ValueError: A weight is negative, or there is not one per peak.
    """
    w = np.array(weights, dtype=np.float64)
    if w.shape != steps.peaks.shape[1:] or not np.all(w >= 0):
        raise ValueError(f"weights must be at least 0, one per peak, not {list(weights)}")
    started = time.perf_counter()
    ways, boxes = _Ways(steps), _Boxes(steps.peaks, w)
    solved, best, objective = 0, None, math.inf
    heap = [boxes.whole()] if len(steps.starts) else []
    while heap and heap[0][0] < objective:
        _, low, high = heapq.heappop(heap)
        found, solved = ways.shortest(boxes.at(high)), solved + 1
        if found is None:
            continue
        value = found.length + float(w @ found.peaks)
        if value < objective:
            best, objective = found, value
        for part in boxes.left(low, high, found):
            if part[0] < objective:
                heapq.heappush(heap, part)
    counts = {"columns": len(steps.starts), "shortest paths": solved}
    return _solution(best, objective, math.inf, started, counts)


Box = tuple[float, tuple[int, ...], tuple[int, ...]]
"""The bound of a box, and the ranks of its thresholds from low to high."""


class _Boxes:
    """Ranks among the values of each peak."""

    def __init__(self, peaks: Floats, weights: Floats) -> None:
        self.weights = weights
        self.values = [np.unique(own) for own in peaks.T]

    def whole(self) -> Box:
        """All thresholds."""
        return 0.0, (0,) * len(self.values), tuple(len(own) - 1 for own in self.values)

    def at(self, ranks: Sequence[int]) -> Floats:
        """(b,) the values of ranks."""
        picked = [own[rank] for own, rank in zip(self.values, ranks, strict=True)]
        return np.array(picked, dtype=np.float64)

    def left(self, low: tuple[int, ...], high: tuple[int, ...], found: Path) -> list[Box]:
        """Disjoint boxes of what the shortest path within `high` leaves to be searched.

        Some peak lies below that of the path: for each peak in turn, those below it, with all
        earlier peaks at least as large; the part of the heaviest is halved.
        """
        parts: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        begin = list(low)
        for b, own in enumerate(self.values):
            rank = int(np.searchsorted(own, found.peaks[b]))
            if rank > begin[b]:
                parts.append((tuple(begin), (*high[:b], rank - 1, *high[b + 1 :])))
            begin[b] = max(begin[b], rank)
        halves = [half for part in parts for half in self._halved(*part)]
        return [(found.length + float(self.weights @ self.at(a)), a, b) for a, b in halves]

    def _halved(
        self, low: tuple[int, ...], high: tuple[int, ...]
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        spread = self.weights * (self.at(high) - self.at(low))
        b = int(np.argmax(spread)) if len(spread) else 0
        if not len(spread) or low[b] == high[b]:
            return [(low, high)]
        middle = (low[b] + high[b]) // 2
        return [
            (low, (*high[:b], middle, *high[b + 1 :])),
            ((*low[:b], middle + 1, *low[b + 1 :]), high),
        ]


def _solution(
    best: Path | None, objective: float, below: float, started: float, counts: dict[str, int]
) -> Solution[Path]:
    return Solution(
        decision=best,
        objective=math.inf if best is None else objective,
        bound=min(objective, below),
        status=Status.INFEASIBLE if best is None else Status.OPTIMAL,
        seconds=time.perf_counter() - started,
        counts=counts,
    )
