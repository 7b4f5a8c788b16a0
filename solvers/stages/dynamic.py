"""Exact dynamic program for one chunk per device: shortest chains under thresholds of the peaks.

Let the objective be max_f (k_f + u_f P + a_f S) with a_f >= 0 and one sum S for all forms f, peaks
P = (P_1, ..., P_b) and u_f >= 0. Among choices with lo <= P <= hi

    objective >= max_f (k_f + u_f lo + a_f S(hi)),   S(hi) = shortest chain of columns within hi

and the chain that has S(hi), with peaks P*, is best among all with P >= P*: what may be better
has some P_b < P*_b. So a box of thresholds is split in the middle of the peak that weighs most;
the upper half keeps the bound of S, the lower half is solved and loses what lies beyond its P*.
Boxes are taken in the order of their bounds, the least of which is the bound of the answer.

Source: for one peak, the sweep of the slowest stage in Zheng et al., Alpa, OSDI 2022, section 5.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import numpy.typing as npt

from solvers.solution import Solution
from solvers.stages.answers import answer, objective_of
from solvers.stages.backend import Backend, Need, Question
from solvers.stages.chain import Floats, Index, chain_of, shortest, through
from solvers.stages.checking import evaluate, faults
from solvers.stages.forms import longest_of, needs_of, objective_forms, plus
from solvers.stages.problem import LARGEST, Choice, Form, Ints, StageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Forms that weigh all sums in one proportion: f = constant + u_f P + factor * S.

    Attributes:
        constants, factors: (f,) whole numbers, factors at least 0.
        peaks: (f, b) u.
        lengths: (c,) what a column adds to S.
        crossings: (g, g) what neighbours add to S; None where the problem has no groups.
    """

    constants: tuple[int, ...]
    factors: tuple[int, ...]
    peaks: tuple[tuple[int, ...], ...]
    lengths: Floats
    crossings: Floats | None

    def value(self, peaks: Sequence[int], total: float) -> float:
        """The largest of the forms."""
        parts = zip(self.constants, self.peaks, self.factors, strict=True)
        return max(
            constant + sum(u * p for u, p in zip(weights, peaks, strict=True)) + factor * total
            for constant, weights, factor in parts
        )


def directions_of(problem: StageProblem, forms: Sequence[Form]) -> list[Direction]:
    """Forms with the same proportion of sums, together; those without any join the first."""
    members: dict[tuple[int, ...], list[tuple[Form, int]]] = {}
    without = []
    for form in forms:
        padded = plus(form, 0, Form(sums=(0,) * problem.columns.sums.shape[1]))
        vector = (*padded.sums, padded.crossings if problem.crossings is not None else 0)
        factor = math.gcd(*vector)
        if factor == 0:
            without.append((form, 0))
        else:
            members.setdefault(tuple(w // factor for w in vector), []).append((form, factor))
    none = (0,) * (problem.columns.sums.shape[1] + 1)
    first = next(iter(members), none)
    members[first] = members.get(first, []) + without
    return [_direction(problem, vector, own) for vector, own in members.items()]


def _direction(
    problem: StageProblem, vector: tuple[int, ...], members: list[tuple[Form, int]]
) -> Direction:
    width = problem.columns.peaks.shape[1]
    crossings = None
    if problem.crossings is not None:
        crossings = (problem.crossings * vector[-1]).astype(np.float64)
    return Direction(
        constants=tuple(form.constant for form, _ in members),
        factors=tuple(factor for _, factor in members),
        peaks=tuple((*form.peaks, *(0,) * (width - len(form.peaks))) for form, _ in members),
        lengths=(problem.columns.sums @ np.array(vector[:-1], dtype=np.int64)).astype(np.float64),
        crossings=crossings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Choices whose peaks lie within thresholds.

    Attributes:
        low, high: (b,) ranks among the values of each peak.
        total: No chain within `high` is shorter.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    total: float


class Thresholds:
    """The distinct values of each peak, and the rank of every column among them."""

    def __init__(self, peaks: Ints, device: Ints, devices: int) -> None:
        width = peaks.shape[1]
        found = [np.unique(peaks[:, b], return_inverse=True) for b in range(width)]
        self.values: list[list[int]] = [values.tolist() for values, _ in found]
        self.ranks = np.stack([rank.reshape(-1) for _, rank in found] or [device * 0], axis=1)
        self.width = width
        least = np.full((devices, self.ranks.shape[1]), len(peaks), dtype=np.int64)
        np.minimum.at(least, device, self.ranks)
        self.lowest = tuple(least.max(axis=0).tolist()[:width])
        self.highest = tuple(len(values) - 1 for values in self.values)

    def at(self, ranks: Sequence[int]) -> list[int]:
        """The values of ranks, one per peak."""
        return [values[rank] for values, rank in zip(self.values, ranks, strict=True)]

    def within(self, high: Sequence[int]) -> npt.NDArray[np.bool_]:
        """(c,) columns none of whose peaks is above the ranks."""
        inside = np.ones(len(self.ranks), dtype=np.bool_)
        for b, rank in enumerate(high):
            inside &= self.ranks[:, b] <= rank
        return inside

    def of(self, chosen: Index) -> tuple[int, ...]:
        """Ranks of the peaks of a choice."""
        return tuple(self.ranks[chosen].max(axis=0).tolist()[: self.width])


def halves(box: Box, thresholds: Thresholds, direction: Direction) -> tuple[Box, Box | None]:
    """A box split in the middle of the peak that weighs most; (itself, None) where none can be."""
    spread = [
        max(weights[b] for weights in direction.peaks) * (values[high] - values[low])
        for b, (values, low, high) in enumerate(
            zip(thresholds.values, box.low, box.high, strict=True)
        )
    ]
    if max(spread, default=0) == 0:
        return box, None
    b = spread.index(max(spread))
    middle = (box.low[b] + box.high[b]) // 2
    return (
        replace(box, high=_with(box.high, b, middle)),
        replace(box, low=_with(box.low, b, middle + 1)),
    )


def remainders(box: Box, peaks: tuple[int, ...]) -> list[Box]:
    """The part of a box without the choices whose peaks are all at least `peaks`, in boxes."""
    parts = []
    low = box.low
    for b, rank in enumerate(peaks):
        if box.low[b] < rank:
            parts.append(replace(box, low=low, high=_with(box.high, b, rank - 1)))
        low = _with(low, b, max(low[b], rank))
    return parts


def _with(ranks: tuple[int, ...], b: int, rank: int) -> tuple[int, ...]:
    return (*ranks[:b], rank, *ranks[b + 1 :])


class Dynamic:
    """Exact for time alone; see the module.

    Forms that weigh the sums in several proportions are solved one proportion at a time: the
    largest of their optima is a bound, and the answer is only proved where a choice attains it.
    """

    @property
    def name(self) -> str:
        """Its name in answers."""
        return "dynamic"

    @property
    def can(self) -> frozenset[Need]:
        """What it can do."""
        return frozenset({Need.CROSSINGS})

    def solve(self, question: Question) -> Solution[Choice]:
        """The best choice of one chunk per device with its bound.

        Raises:
            ValueError: The question needs more than this solver can.
        """
        refuse_more(self, question)
        started = time.perf_counter()
        problem = question.problem
        if lacks_columns(problem):
            return answer(question, None, math.inf, started)
        bound, best = -math.inf, None
        for direction in directions_of(problem, objective_forms(question)):
            search = _Sweep(question, direction, best, started)
            search.run()
            best, bound = search.best, max(bound, search.bound)
        return answer(question, None if best is None else best.columns, bound, started)


class _Sweep:
    """One direction: the best choice of the whole question, and a bound of this direction."""

    def __init__(
        self, question: Question, direction: Direction, best: Choice | None, started: float
    ) -> None:
        self.question, self.direction = question, direction
        self.problem = question.problem
        self.best = best if best is not None else known(question)
        self.ends = math.inf if question.seconds is None else started + question.seconds
        columns = self.problem.columns
        self.thresholds = Thresholds(columns.peaks, columns.device, self.problem.devices)
        self.chain = chain_of(self.problem, np.arange(len(columns)))
        self.bound, self.least = -math.inf, math.inf
        self._order = count()
        self._open: list[tuple[float, int, Box]] = []

    @property
    def cut(self) -> float:
        """Values of this direction from here on do not help: its least is known, or too much."""
        limits = [self.least, self._best]
        longest = longest_of(self.question)
        if longest is not None:
            limits.append(longest + 1)
        return min(limits)

    @property
    def _best(self) -> float:
        return math.inf if self.best is None else self.best.time

    def run(self) -> None:
        """Takes boxes until none can hold a better choice, or time ends."""
        first = self.thresholds
        self._push(Box(low=first.lowest, high=first.highest, total=-float(LARGEST)))
        while self._open and self._open[0][0] < self.cut:
            if time.perf_counter() > self.ends:
                self.bound = self._open[0][0]
                return
            self._split(heapq.heappop(self._open)[2])
        self.bound = min(self.least, self._best)

    def _push(self, box: Box) -> None:
        bound = self.direction.value(self.thresholds.at(box.low), box.total)
        if bound < self.cut:
            heapq.heappush(self._open, (bound, next(self._order), box))

    def _split(self, box: Box) -> None:
        lower, upper = halves(box, self.thresholds, self.direction)
        if upper is not None:
            self._push(upper)
        allowed = self.thresholds.within(lower.high)
        lengths = np.where(allowed, self.direction.lengths, np.inf)
        total, chosen = shortest(self.chain, lengths, self.direction.crossings)
        if chosen is None:
            return
        peaks = self.thresholds.of(chosen)
        self._offer(chosen, self.direction.value(self.thresholds.at(peaks), total))
        for part in remainders(replace(lower, total=total), peaks):
            self._push(part)

    def _offer(self, chosen: Index, value: float) -> None:
        """Keeps a choice that is better, and drops columns of no better one."""
        if value >= self.cut:
            return
        choice = evaluate(self.problem, chosen)
        longest = longest_of(self.question)
        if choice.time < self._best and (longest is None or choice.time <= longest):
            self.best = choice
        self.least = value
        self.chain = chain_of(self.problem, self._useful())

    def _useful(self) -> Index:
        """Columns through which a choice may be better by its own peaks and the shortest chain."""
        ways = through(self.problem, self.chain, self.direction.lengths, self.direction.crossings)
        least = np.array(self.thresholds.at(self.thresholds.lowest), dtype=np.int64)
        peaks = np.maximum(self.problem.columns.peaks, least)
        parts = zip(
            self.direction.constants, self.direction.peaks, self.direction.factors, strict=True
        )
        reached = np.flatnonzero(ways < np.inf)
        values = [
            constant + peaks[reached] @ np.array(weights, dtype=np.int64) + factor * ways[reached]
            for constant, weights, factor in parts
        ]
        kept: Index = reached[np.max(values, axis=0) < self.cut]
        return kept


def refuse_more(backend: Backend, question: Question) -> None:
    """Raises ValueError where a question needs what a solver cannot do."""
    lacks = sorted(need.value for need in needs_of(question) - backend.can)
    if lacks:
        raise ValueError(f"{backend.name} cannot do {', '.join(lacks)}")


def lacks_columns(problem: StageProblem) -> bool:
    """Whether some device has no column."""
    return bool(np.any(np.bincount(problem.columns.device, minlength=problem.devices) == 0))


def known(question: Question) -> Choice | None:
    """The hint of a question where it keeps all limits."""
    if question.hint is None:
        return None
    choice = evaluate(question.problem, question.hint.columns)
    wanted = question.below is None or objective_of(question, choice) < question.below
    return choice if wanted and not faults(question.problem, choice, question.longest) else None
