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
        peaks: (c,) at least 0.

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
    """Columns of a path in order, with the sum of their lengths and the largest of their peaks."""

    columns: Index
    length: float
    peak: float


class _Ways:
    """Steps by the level at which they end."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        level = steps.level[steps.ends]
        self.order = np.lexsort((steps.ends, level))
        bounds = np.flatnonzero(np.diff(level[self.order])) + 1
        self.groups = np.split(self.order, bounds) if len(self.order) else []

    def shortest(self, most: float) -> Path | None:
        """A shortest path with no peak above `most`; None where there is none."""
        steps = self.steps
        reached = np.full(len(steps.level), np.inf)
        reached[0] = 0.0
        by = np.full(len(steps.level), -1, dtype=np.intp)
        for group in self.groups:
            own = group[steps.peaks[group] <= most]
            if len(own) == 0:
                continue
            ways, ends = reached[steps.starts[own]] + steps.lengths[own], steps.ends[own]
            begins = np.flatnonzero(np.r_[True, ends[1:] != ends[:-1]])
            best = np.minimum.reduceat(ways, begins)
            reached[ends[begins]] = best
            is_best = np.flatnonzero(ways == np.repeat(best, np.diff(np.r_[begins, len(own)])))
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
            peak=float(steps.peaks[columns].max(initial=0.0)),
        )


def least_peak(steps: Steps, budget: float, below: float = math.inf) -> Solution[Path]:
    """The path whose largest peak is least, among those of at most `budget` in length.

    Args:
        steps: At least one column.
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
        found, solved = ways.shortest(float(values[middle])), solved + 1
        if found is not None and found.length <= budget:
            best, high = found, int(np.searchsorted(values, found.peak))
        elif best is None:
            break
        else:
            low = middle + 1
        middle = (low + high) // 2
    counts = {"columns": len(steps.starts), "shortest paths": solved}
    return _solution(best, below if best is None else best.peak, below, started, counts)


def least_total(steps: Steps, weight: float) -> Solution[Path]:
    """The path with the least sum of its lengths and `weight` times its largest peak.

    Args:
        steps: At least one column.
        weight: At least 0.

    Returns:
        OPTIMAL with the bound equal to the objective, or INFEASIBLE.

    Raises:
        ValueError: The weight is negative.
    """
    if not weight >= 0:
        raise ValueError(f"weight must be at least 0, not {weight}")
    started = time.perf_counter()
    ways, solved, best, objective = _Ways(steps), 0, None, math.inf
    values = np.unique(steps.peaks)
    heap = [(0.0, 0, len(values) - 1)] if len(values) else []
    while heap and heap[0][0] < objective:
        _, low, high = heapq.heappop(heap)
        found, solved = ways.shortest(float(values[high])), solved + 1
        if found is None:
            continue
        if found.length + weight * found.peak < objective:
            best, objective = found, found.length + weight * found.peak
        high = int(np.searchsorted(values, found.peak)) - 1
        if low > high:
            continue
        middle = (low + high) // 2
        for part in ((low, middle), (middle + 1, high)):
            bound = found.length + weight * float(values[part[0]]) if part[0] <= part[1] else 0.0
            if part[0] <= part[1] and bound < objective:
                heapq.heappush(heap, (bound, *part))
    counts = {"columns": len(steps.starts), "shortest paths": solved}
    return _solution(best, objective, math.inf, started, counts)


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
