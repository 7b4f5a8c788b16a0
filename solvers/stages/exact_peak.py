"""One chunk per device under limits in which more time may be better: one heaviest peak at a time.

Where a limit allows more the longer a choice takes, a slow choice may be the best one, so that
time must be neither over- nor understated. For every value v of the peak that time weighs most,
choices with exactly that peak are chains of columns of at most v, one of them at v: paths through
(device, position, whether v has occurred). Limits and objective are caps on sums over such chains
(`solvers.stages.peak_caps`). For the objective O and each cap K <= k, every price mu >= 0 bounds O
from below by the shortest chain of O + mu K, less mu k (Handler and Zang, A dual algorithm for the
constrained shortest path problem, Networks 1980, doi:10.1002/net.3230100403).

Ranges of values are halved while the caps leave a chain to each. The values are taken in the order
of these bounds; what they leave is searched by label setting
(`solvers.stages.capped_labels`), in which the caps and their priced sums drop labels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from solvers.solution import Solution
from solvers.stages.answers import answer, objective_of, out_of_time
from solvers.stages.backend import TIME, Need, Question
from solvers.stages.capped_labels import Cap, CappedLabels
from solvers.stages.chain import Bools, Chain, Floats, Index, chain_of, shortest, through
from solvers.stages.checking import evaluate, faults
from solvers.stages.dynamic import known, lacks_columns, refuse_more
from solvers.stages.labelling import TooManyError
from solvers.stages.peak_caps import Box, Capped, suits
from solvers.stages.problem import Choice, StageProblem

_PRICES, _BEST = 24, 3
_WORK = 20_000_000
_MOST_VALUES = 1_000
"""Values of the heaviest peak above which another solver is sooner done."""


class ExactPeak:
    """Exact for time or cost under limits; see the module.

    Where `solvers.stages.peak_caps` does not suit the problem, nothing is answered. Where the
    labels pass a limit on the work, the answer has the bound of what is left.
    """

    def __init__(self, work: int = _WORK) -> None:
        self.work = work

    @property
    def name(self) -> str:
        """Its name in answers."""
        return "exact peak"

    @property
    def can(self) -> frozenset[Need]:
        """What it can do."""
        return frozenset({Need.COST, Need.LIMITS, Need.EXACT_TIME})

    def solve(self, question: Question) -> Solution[Choice]:
        """The best choice of one chunk per device with its bound.

        Raises:
            ValueError: The question needs more than this solver can.
        """
        refuse_more(self, question)
        started = time.perf_counter()
        if lacks_columns(question.problem):
            return answer(question, None, math.inf, started)
        if not suits(question):
            return out_of_time(question, started)
        search = _Search(question, self.work, started)
        search.run()
        chosen = None if search.best is None else search.best.columns
        return answer(question, chosen, search.bound, started, {"labels": search.made})


class _Search:
    """The search of one question."""

    def __init__(self, question: Question, work: int, started: float) -> None:
        self.question, self.problem = question, question.problem
        self.work, self.made = work, 0
        self.ends = math.inf if question.seconds is None else started + question.seconds
        self.best = known(question)
        self.capped = Capped.of(question)
        self.peaks, self.table = self.capped.scales.peaks, self.capped.table
        self.bound = -math.inf

    @property
    def most(self) -> float:
        """The largest objective that is wanted; inf: any."""
        if self.best is not None:
            return objective_of(self.question, self.best) - 1
        return math.inf if self.question.below is None else self.question.below - 1

    @property
    def longest(self) -> float:
        """The longest time that is wanted; inf: any."""
        limit = math.inf if self.question.longest is None else float(self.question.longest)
        return min(limit, self.most) if self.question.minimize == TIME else limit

    def run(self) -> None:
        """Takes one value of the heaviest peak after the other until none can hold a better one."""
        boxes: list[Box] = []
        for box in self._boxes():
            if time.perf_counter() > self.ends or len(boxes) >= _MOST_VALUES:
                return
            priced = self._priced(box)
            if priced is not None:
                boxes.append(priced)
        left = []
        for box in sorted(boxes, key=lambda box: box.bound):
            if box.bound > self.most:
                break
            if time.perf_counter() > self.ends or not self._settled(box):
                left.append(box.bound)
        self.bound = min([self.most + 1, *left])

    def _boxes(self) -> Iterator[Box]:
        """One for each value of the heaviest peak that some range of values leaves possible."""
        heaviest = self.peaks[:, -1:]
        values = np.unique(heaviest).tolist() or [0]
        ranges = [(0, len(values) - 1)]
        while ranges:
            first, last = ranges.pop()
            kept = np.flatnonzero((heaviest <= values[last]).all(axis=1))
            box = self.capped.box(kept, self.problem.columns.device, values[first])
            if box is None:
                continue
            if first == last:
                yield box
            elif self._possible(box, chain_of(self.problem, kept), self.table):
                middle = (first + last) // 2
                ranges += [(middle + 1, last), (first, middle)]

    def _possible(self, box: Box, chain: Chain, table: Floats) -> bool:
        """Whether each cap of a box alone is kept by some chain."""
        for cap in self.capped.caps(box, self.most, self.longest):
            total, _ = shortest(chain, cap.lengths(table), None)
            slack = cap.slack(table, self.problem.devices)
            if total == math.inf or total - slack > cap.upper:
                return False
        return True

    def _flagged(self, kept: Index) -> tuple[StageProblem, Index]:
        """Chains through some columns, one of which has their largest heaviest peak.

        Positions after it are those of a second copy of the layers. With the columns they stand
        for.
        """
        heaviest, columns = self.peaks[kept, -1:], self.problem.columns
        at_top = (heaviest == heaviest.max(initial=np.iinfo(np.int64).min)).all(axis=1)
        below, top, copy = kept[~at_top], kept[at_top], self.problem.layers + 1
        taken = np.concatenate([below, top, kept])
        starts, ends = columns.starts[taken], columns.ends[taken]
        starts[len(kept) :] += copy
        ends[len(below) :] += copy
        made = replace(columns.take(taken), starts=starts, ends=ends)
        return replace(self.problem, layers=2 * copy - 1, columns=made), taken

    def _priced(self, box: Box) -> Box | None:
        """A box with its bound; None where it holds no wanted choice."""
        problem, taken = self._flagged(box.kept)
        chain, table = chain_of(problem, np.arange(len(taken))), self.table[taken]
        if not self._possible(box, chain, table):
            return None
        caps = self.capped.caps(box, self.most, self.longest)
        least, prices = self._bound(self._path(chain, taken, caps[0]), caps[0], taken), []
        for i, limit in enumerate(self.capped.limits):
            bound, found = self._handler_zang(chain, taken, caps[0], self.capped.cap(box, limit))
            least = max(least, bound)
            prices += [(i, mu) for mu in found]
        whole = math.ceil(self.capped.fixed(box) + least)
        return None if whole > self.most else replace(box, bound=whole, prices=tuple(prices))

    def _path(self, chain: Chain, taken: Index, cap: Cap) -> Floats:
        """(q,) sums of the table over a shortest chain by a cap, which is offered as a choice."""
        table = self.table[taken]
        _, chosen = shortest(chain, cap.lengths(table), None)
        self._offer(taken[chosen])
        sums: Floats = table[chosen].sum(axis=0)
        return sums

    def _bound(self, sums: Floats, cap: Cap, taken: Index, upper: float = 0.0) -> float:
        """No chain has less than this of a cap, less `upper`; a shortest one has `sums`."""
        slack = replace(cap, upper=upper).slack(self.table[taken], self.problem.devices)
        return cap.used(sums) - upper - slack

    def _handler_zang(
        self, chain: Chain, taken: Index, goal: Cap, cap: Cap
    ) -> tuple[float, list[float]]:
        """The best bound of the sums of the objective under a cap, and the best prices of it."""
        heavy, light = self._path(chain, taken, goal), self._path(chain, taken, cap)
        bounds: dict[float, float] = {0.0: self._bound(heavy, goal, taken)}
        while len(bounds) < _PRICES and cap.used(heavy) > max(cap.upper, cap.used(light)):
            price = goal.used(light - heavy) / cap.used(heavy - light)
            if price in bounds or price < 0:
                break
            both = Cap(weights=goal.weights + price * cap.weights, upper=goal.upper)
            found = self._path(chain, taken, both)
            bounds[price] = self._bound(found, both, taken, price * cap.upper)
            if cap.used(found) > cap.upper:
                heavy = found
            else:
                light = found
        best = sorted(bounds, key=lambda price: -bounds[price])[:_BEST]
        return bounds[best[0]], [price for price in best if price > 0]

    def _offer(self, chosen: Index) -> None:
        """Keeps a choice that is wanted."""
        choice = evaluate(self.problem, chosen)
        if objective_of(self.question, choice) > self.most:
            return
        if not faults(self.problem, choice, self.question.longest):
            self.best = choice

    def _settled(self, box: Box) -> bool:
        """Searches a box; False: it has too many labels."""
        caps = self.capped.caps(box, self.most, self.longest)
        kept = self._useful(box, caps)
        if kept is None:
            return True
        problem, taken = self._flagged(kept)
        labels = CappedLabels(
            problem=problem,
            table=self.table[taken],
            peaks=self.peaks[taken],
            caps=caps,
            compared=self.capped.compared(),
            ends=self.ends,
        )
        try:
            found = labels.run(self.work - self.made)
        except TooManyError:
            return False
        finally:
            self.made += labels.made
        if found is not None:
            self._offer_best(taken[found])
        return True

    def _useful(self, box: Box, caps: list[Cap]) -> Index | None:
        """Columns of a box through which a chain keeps every cap; None where no chain does."""
        kept, top = box.kept, box.low[-1:]
        while True:
            problem, taken = self._flagged(kept)
            chain, table = chain_of(problem, np.arange(len(taken))), self.table[taken]
            inside: Bools = np.ones(len(taken), dtype=np.bool_)
            for cap in caps:
                ways = through(problem, chain, cap.lengths(table), None)
                inside &= ways - cap.slack(table, problem.devices) <= cap.upper
            left = np.unique(taken[inside])
            devices = np.unique(self.problem.columns.device[left])
            if len(devices) < problem.devices or not (self.peaks[left, -1:] == top).all(1).any():
                return None
            if len(left) == len(kept):
                return left
            kept = left

    def _offer_best(self, chosen: Index) -> None:
        """Keeps the best of (n, p) choices that obeys the limits, of equals the fastest."""
        goal, times, inside = self.capped.judged(chosen, self.longest)
        at = np.flatnonzero(inside)
        if len(at):
            self._offer(chosen[at[np.lexsort((times[at], goal[at]))[0]]])
