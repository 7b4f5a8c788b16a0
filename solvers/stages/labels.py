"""Least cost within a time, exactly, for one chunk per device: prices, boxes and labels.

With thresholds lo <= P <= hi of the peaks, time >= k + u lo + a S, and for every price of time
mu >= cost_per_time (Lagrange)

    cost >= c + v lo + mu (k + u lo) - (mu - cost_per_time) longest + min over chains (C + mu a S)

where S and C are what adds up of time and cost, and chains have columns within hi. The best price
is where two chains, one too slow and one in time, cost the same (Handler and Zang, A dual
algorithm for the constrained shortest path problem, Networks 1980, doi:10.1002/net.3230100403).
Boxes are taken in the order of these bounds. What the prices leave of a box is searched by label
setting (`solvers.stages.labelling`), or the box is halved where that makes too many labels. The
choice is the fastest among the cheapest. `solvers.stages.exact_peak` takes values of the heaviest
peak in place of boxes, for limits in which more time may be better.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from solvers.solution import Solution
from solvers.stages.answers import answer, out_of_time
from solvers.stages.backend import TIME, Need, Question
from solvers.stages.chain import Chain, Floats, Index, chain_of, shortest, through
from solvers.stages.checking import evaluate
from solvers.stages.dynamic import (
    Box,
    Direction,
    Dynamic,
    Thresholds,
    directions_of,
    halves,
    known,
    lacks_columns,
    refuse_more,
)
from solvers.stages.forms import plus
from solvers.stages.labelling import Labelling, Scales, TooManyError, Wanted
from solvers.stages.problem import LARGEST, Choice, Form, Ints, StageProblem

_PRICES, _BEST = 24, 3
_AT_ONCE = 100_000
_WORK = 20_000_000


class Labels:
    """Exact for cost within a time, and for time alone (by the dynamic program).

    The forms of time weigh the sums in one proportion; where they do not, nothing is answered.
    Where the labels pass a limit on the work, the answer is FEASIBLE with the bound of the prices.
    """

    def __init__(self, work: int = _WORK) -> None:
        self.work = work

    @property
    def name(self) -> str:
        """Its name in answers."""
        return "labels"

    @property
    def can(self) -> frozenset[Need]:
        """What it can do."""
        return frozenset({Need.CROSSINGS, Need.COST})

    def solve(self, question: Question) -> Solution[Choice]:
        """The cheapest choice of one chunk per device, the fastest of several, with its bound.

        Raises:
            ValueError: The question needs more than this solver can.
        """
        refuse_more(self, question)
        if question.minimize == TIME:
            return Dynamic().solve(question)
        started = time.perf_counter()
        if lacks_columns(question.problem):
            return answer(question, None, math.inf, started)
        directions = directions_of(question.problem, question.problem.time)
        cost = question.problem.cost or Form()
        if len(directions) > 1 or min(cost.peaks, default=0) < 0:
            return out_of_time(question, started)
        search = _Cheapest(question, directions[0], self.work, started)
        search.run()
        chosen = None if search.best is None else search.best.columns
        return answer(question, chosen, search.bound, started, {"labels": search.made})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Priced:
    """A box with what prices prove of it.

    Attributes:
        box: Thresholds.
        kept: Its columns.
        bound: No choice of the box within the time costs less.
        soonest: None takes less time.
        prices: mu of the best bounds.
    """

    box: Box
    kept: Index
    bound: float
    soonest: float
    prices: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Path:
    """A shortest chain: its length, and its S and C."""

    total: float
    time: float
    cost: float


class _Cheapest:
    """The search of one question."""

    def __init__(self, question: Question, direction: Direction, work: int, started: float) -> None:
        self.question, self.problem = question, question.problem
        self.work, self.made = work, 0
        self.ends = math.inf if question.seconds is None else started + question.seconds
        self.longest = math.inf if question.longest is None else float(question.longest)
        self.best = known(question)
        order = heaviest_last(self.problem, direction)
        self.scales = scales_of(self.problem, direction, order)
        self.direction = replace(
            direction, peaks=tuple(tuple(form[b] for b in order) for form in direction.peaks)
        )
        columns = self.problem.columns
        self.thresholds = Thresholds(self.scales.peaks, columns.device, self.problem.devices)
        self.bound = -math.inf
        self._order = count()
        self._open: list[tuple[float, int, _Priced]] = []

    @property
    def wanted(self) -> tuple[float, float]:
        """Cost and time: only less cost, or the same in less time, is wanted."""
        if self.best is not None:
            return self.best.cost, self.best.time
        return (math.inf if self.question.below is None else self.question.below), -math.inf

    def run(self) -> None:
        """Takes boxes until none can hold a better choice, or time or work end."""
        first = self.thresholds
        everything = Box(low=first.lowest, high=first.highest, total=-float(LARGEST))
        self._push(everything, np.arange(len(self.problem.columns)))
        while self._open and self._open[0][0] <= self.wanted[0]:
            if time.perf_counter() > self.ends or self.made >= self.work:
                self.bound = min(self._open[0][0], self.wanted[0])
                return
            priced = heapq.heappop(self._open)[2]
            if self._hopeful(priced):
                self._settle(priced)
        self.bound = self.wanted[0]

    def _hopeful(self, priced: _Priced) -> bool:
        cost, soonest = self.wanted
        return priced.bound < cost or (priced.bound == cost and priced.soonest < soonest)

    def _settle(self, priced: _Priced) -> None:
        """Searches a box by labels, or halves it."""
        kept = self._useful(priced)
        lower, upper = halves(priced.box, self.thresholds, self.direction)
        left = self.work - self.made
        most = left if upper is None else min(left, _AT_ONCE)
        labelling = Labelling(
            self.scales,
            chain_of(self.problem, kept),
            self._low(priced.box),
            self._limits(priced),
            self.problem.columns.ends[:, 0],
            self._groups(),
        )
        try:
            chosen = labelling.run(most)
        except TooManyError:
            self._divide(priced, kept, lower, upper)
        else:
            self._offer(chosen)
        self.made += labelling.made

    def _divide(self, priced: _Priced, kept: Index, lower: Box, upper: Box | None) -> None:
        if upper is None:  # the work is done: the box stays open
            heapq.heappush(self._open, (priced.bound, next(self._order), priced))
            return
        self._push(lower, kept, priced.bound)
        self._push(upper, kept, priced.bound)

    def _push(self, box: Box, kept: Index, least: float = -math.inf) -> None:
        """Adds a box with the best bound of its prices where it can hold a wanted choice."""
        priced = self._priced(box, kept)
        if priced is None:
            return
        priced = replace(priced, bound=max(priced.bound, least))
        if self._hopeful(priced):
            heapq.heappush(self._open, (priced.bound, next(self._order), priced))

    def _priced(self, box: Box, kept: Index) -> _Priced | None:
        """The bounds of a box over the columns `kept`; None where nothing of it is in time."""
        kept = kept[self.thresholds.within(box.high)[kept]]
        chain, low = chain_of(self.problem, kept), self._low(box)
        fast = self._shortest(chain, self.scales.times, self.scales.cross_times)
        if fast is None or self._soonest(low, fast) > self.longest:
            return None
        soonest = self._soonest(low, fast)
        bounds: dict[float, float] = {}
        slow, mu = None, self.scales.per_time
        while mu not in bounds and len(bounds) < _PRICES:
            path = self._shortest(chain, *self.scales.priced(mu))
            assert path is not None  # the fast one at least
            bounds[mu] = float(self.scales.least(low, mu, self.longest, np.array(path.total)))
            if self._soonest(low, path) > self.longest:
                slow = path
            else:
                fast = path
            if slow is None:
                break
            weight = self.scales.main[-1] * (slow.time - fast.time)
            mu = max(float((fast.cost - slow.cost) / weight), self.scales.per_time)
        prices = sorted(bounds, key=lambda price: -bounds[price])[:_BEST]
        return _Priced(
            box=box,
            kept=kept,
            bound=math.ceil(bounds[prices[0]]),
            soonest=soonest,
            prices=tuple(prices),
        )

    def _shortest(self, chain: Chain, lengths: Floats, crossings: Floats) -> _Path | None:
        """A shortest chain, offered as a choice; None where there is none."""
        total, chosen = shortest(chain, lengths, crossings if chain.groups > 1 else None)
        if chosen is None:
            return None
        self._offer(chosen)
        groups = self._groups()[chosen]
        crossed = (groups[:-1], groups[1:])
        return _Path(
            total=total,
            time=float(self.scales.times[chosen].sum() + self.scales.cross_times[crossed].sum()),
            cost=float(self.scales.costs[chosen].sum() + self.scales.cross_costs[crossed].sum()),
        )

    def _offer(self, chosen: Index | None) -> None:
        """Keeps a choice that is wanted."""
        if chosen is None:
            return
        choice = evaluate(self.problem, chosen)
        if choice.time <= self.longest and (choice.cost, choice.time) < self.wanted:
            self.best = choice

    def _useful(self, priced: _Priced) -> Index:
        """Columns of a box through which a choice may be wanted, by the prices and by time."""
        chain = chain_of(self.problem, priced.kept)
        peaks = np.maximum(self.scales.peaks[priced.kept], self._low(priced.box))

        def ways(lengths: Floats, crossings: Floats) -> Floats:
            crossed = crossings if chain.groups > 1 else None
            return through(self.problem, chain, lengths, crossed)[priced.kept]

        least_time = self.scales.time(peaks, ways(self.scales.times, self.scales.cross_times))
        least_cost = np.full(len(peaks), -np.inf)
        for mu in priced.prices:
            total = ways(*self.scales.priced(mu))
            bound = self.scales.least(peaks, mu, self.longest, total)
            least_cost = np.maximum(least_cost, bound)
        kept: Index = priced.kept[self._limits(priced).keeps(least_cost, least_time)]
        return kept

    def _limits(self, priced: _Priced) -> Wanted:
        cost, soonest = self.wanted
        return Wanted(longest=self.longest, cost=cost, time=soonest, prices=priced.prices)

    def _soonest(self, low: Ints, path: _Path) -> float:
        """The time of a path with the peaks of a box."""
        return float(self.scales.time(low, np.array(path.time)))

    def _low(self, box: Box) -> Ints:
        return np.array(self.thresholds.at(box.low), dtype=np.int64)

    def _groups(self) -> Ints:
        columns = self.problem.columns
        return columns.group if self.problem.crossings is not None else columns.group * 0


def scales_of(problem: StageProblem, direction: Direction, order: Sequence[int]) -> Scales:
    """Whole numbers of a problem as doubles, the peaks in the given order."""
    cost = problem.cost or Form()
    sums, peaks = problem.columns.sums, problem.columns.peaks
    padded = plus(cost, 0, Form(sums=(0,) * sums.shape[1], peaks=(0,) * peaks.shape[1]))
    none = np.zeros((1, 1))
    crossings = none if problem.crossings is None else problem.crossings.astype(np.float64)
    forms = [
        (constant, *(weights[b] for b in order), factor)
        for constant, weights, factor in zip(
            direction.constants, direction.peaks, direction.factors, strict=True
        )
    ]
    return Scales(
        times=direction.lengths,
        costs=(sums @ np.array(padded.sums, dtype=np.int64)).astype(np.float64),
        cross_times=np.zeros_like(crossings)
        if direction.crossings is None
        else direction.crossings,
        cross_costs=cost.crossings * crossings,
        peaks=peaks[:, list(order)],
        forms=np.array(forms, dtype=np.float64),
        cost=np.array([cost.constant, *(padded.peaks[b] for b in order)], dtype=np.float64),
        per_time=float(problem.cost_per_time),
    )


def heaviest_last(problem: StageProblem, direction: Direction) -> list[int]:
    """Peaks by how much of the time they can decide."""
    spread = np.ptp(problem.columns.peaks, axis=0).tolist()
    heavy = [max(form[b] for form in direction.peaks) * s for b, s in enumerate(spread)]
    return sorted(range(len(heavy)), key=heavy.__getitem__)
