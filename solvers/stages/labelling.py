"""Label setting over one box of thresholds: every undominated way to come to each state.

A label is a chain of columns up to some device with its peaks, time sum S and cost sum C. One
goes when another at the same state is no worse in all of them, or when no completion is wanted:

    k_f + u_f P + a_f (S + least S of the rest) > longest                       for some form f, or
    fixed + C + mu a S + least (C + mu a S) of the rest + rises with P > best   for some price mu.

More time is never better here, so that the heaviest peak is one more value to compare. Where a
limit allows more the longer a choice takes, `solvers.stages.capped_labels` fixes that peak instead,
and compares a sum for each limit.

Source: Desrochers and Soumis, A generalized permanent labelling algorithm for the shortest path
problem with time windows, INFOR 1988; bounds by completion: Dumitrescu and Boland, Improved
preprocessing, labeling and scaling algorithms for the weight-constrained shortest path problem,
Networks 2003, doi:10.1002/net.10090.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.stages.chain import Bools, Chain, Floats, Index, back, spans, traced
from solvers.stages.dominance import ranks, undominated_triples
from solvers.stages.problem import Ints

_ROUNDING = 1e-12
"""Relative error of a sum of a hundred doubles, with room to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """What the labels add up; symbols of the module.

    Attributes:
        times, costs: (c,) S and C of every column.
        cross_times, cross_costs: (g, g) of neighbours.
        peaks: (c, b) whole numbers.
        forms: (f, b + 2) constant, weights of the peaks and of S, per form of time.
        cost: (b + 1,) constant and weights of the peaks in the cost.
        per_time: What the cost grows by per unit of time.
    """

    times: Floats
    costs: Floats
    cross_times: Floats
    cross_costs: Floats
    peaks: Ints
    forms: Floats
    cost: Floats
    per_time: float

    @property
    def main(self) -> Floats:
        """(b + 2,) the form that weighs S most, which stands for time in prices."""
        row: Floats = self.forms[int(np.argmax(self.forms[:, -1]))]
        return row

    def time(self, peaks: Ints, sums: Floats) -> Floats:
        """(n,) time of (n, b) peaks and (n,) S."""
        inner = self.forms[:, 0] + peaks @ self.forms[:, 1:-1].T
        never = np.isinf(sums)
        added = np.multiply.outer(np.where(never, 0.0, sums), self.forms[:, -1])
        most: Floats = np.where(never, np.inf, (inner + added).max(axis=-1))
        return most

    def priced(self, mu: float) -> tuple[Floats, Floats]:
        """Lengths of columns and of crossings: C + mu a S."""
        weight = mu * self.main[-1]
        return self.costs + weight * self.times, self.cross_costs + weight * self.cross_times

    def least(self, peaks: Ints, mu: float, longest: float, total: Floats) -> Floats:
        """(n,) lower bounds of the cost within `longest`, rounding included.

        Args:
            peaks: (n, b) lower bounds of the peaks.
            mu: A price of time, at least `per_time`.
            longest: Limit on the time.
            total: (n,) least C + mu a S.
        """
        price = mu - self.per_time
        late = price * longest if price > 0 else 0.0
        fixed = self.cost[0] + peaks @ self.cost[1:]
        timed = mu * (self.main[0] + peaks @ self.main[1:-1])
        size = np.abs(fixed) + np.abs(timed) + np.abs(total) + late
        slack = _ROUNDING * np.where(np.isfinite(size), size, 0.0)
        bound: Floats = fixed + timed + total - late - slack
        return bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Limits on what is looked for.

    Attributes:
        longest: Limit on the time; inf: none.
        cost, time: Only less cost is wanted, or the same cost in less time.
        prices: mu, at least `Scales.per_time`, at which completions are bounded.
    """

    longest: float
    cost: float
    time: float
    prices: tuple[float, ...]

    def keeps(self, least_cost: Floats, least_time: Floats) -> Bools:
        """(n,) whether anything with these lower bounds can be wanted."""
        whole = np.ceil(least_cost)
        better = (whole < self.cost) | ((whole == self.cost) & (least_time < self.time))
        kept: Bools = better & (least_time <= self.longest)
        return kept


class TooManyError(Exception):
    """Raised when a pass would make more labels than allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    """Labels of one device, one per row; `parent` is a row of the device before.

    Attributes:
        state: Position and group at which it ends.
        peaks: (n, b) at least the lower thresholds of the box.
        times, costs: S and C so far.
        parent, column: How it came about.
    """

    state: Ints
    peaks: Ints
    times: Floats
    costs: Floats
    parent: Index
    column: Index

    def take(self, index: Index | Bools) -> _Labels:
        return _Labels(**{name: getattr(self, name)[index] for name in self.__slots__})


class Labelling:
    """One pass over a chain; `made` counts the labels."""

    def __init__(
        self, scales: Scales, chain: Chain, low: Ints, wanted: Wanted, ends: Ints, groups: Ints
    ) -> None:
        self.scales, self.chain, self.low, self.wanted = scales, chain, low, wanted
        self.ends, self.groups = ends, groups
        self.made = 0
        self._rest_time = self._rest(scales.times, scales.cross_times)
        self._rest_cost = [(mu, self._rest(*scales.priced(mu))) for mu in wanted.prices]

    def _rest(self, lengths: Floats, crossings: Floats) -> Floats:
        """(p + 1, states) least completions, by the state in which the device before ends."""
        return back(self.chain, lengths, crossings).reshape(self.chain.devices + 1, -1)

    def run(self, most: int) -> Index | None:
        """The cheapest wanted chain, fastest among equals, by device; None: there is none.

        Raises:
            TooManyError: More than `most` labels would be made.
        """
        labels = _Labels(
            state=np.zeros(1, dtype=np.int64),
            peaks=self.low[None, :],
            times=np.zeros(1),
            costs=np.zeros(1),
            parent=np.zeros(1, dtype=np.intp),
            column=np.zeros(1, dtype=np.intp),
        )
        steps = []
        for d in range(self.chain.devices):
            labels = self._undominated(self._grown(labels, d, most))
            if len(labels.state) == 0:
                return None
            steps.append((labels.column, labels.parent))
        best: Index = traced(steps, self._best(labels))[0]
        return best

    def _grown(self, labels: _Labels, d: int, most: int) -> _Labels:
        """Every label with every column that may follow it, where a wanted completion exists."""
        own = self.chain.leaving[d]
        groups = self.chain.groups
        position, group = np.divmod(labels.state, groups)
        first, counts = own.between(position * groups, (position + 1) * groups)
        self.made += int(counts.sum())
        if self.made > most:
            raise TooManyError
        parent, place = spans(first, counts)
        column = own.columns[place]
        into = self.groups[column]
        crossed = (group[parent], into) if d else (0, 0)
        inner = 1.0 if d else 0.0
        grown = _Labels(
            state=self.ends[column] * groups + into,
            peaks=np.maximum(labels.peaks[parent], self.scales.peaks[column]),
            times=labels.times[parent]
            + self.scales.times[column]
            + inner * self.scales.cross_times[crossed],
            costs=labels.costs[parent]
            + self.scales.costs[column]
            + inner * self.scales.cross_costs[crossed],
            parent=parent,
            column=column,
        )
        return grown.take(self._hopeful(grown, d + 1))

    def _hopeful(self, labels: _Labels, d: int) -> Bools:
        """(n,) labels with a completion that no bound rules out."""
        rest = self._rest_time[d][labels.state]
        least_time = self.scales.time(labels.peaks, labels.times + rest)
        least_cost = np.full(len(rest), -np.inf)
        for mu, rests in self._rest_cost:
            weight = mu * self.scales.main[-1]
            total = labels.costs + weight * labels.times + rests[d][labels.state]
            bound = self.scales.least(labels.peaks, mu, self.wanted.longest, total)
            least_cost = np.maximum(least_cost, bound)
        reached: Bools = np.isfinite(rest) & self.wanted.keeps(least_cost, least_time)
        return reached

    def _undominated(self, labels: _Labels) -> _Labels:
        """Labels by state; of several peaks the last is compared, the others must agree."""
        if len(labels.state) == 0:
            return labels
        key = ranks(labels.state)
        for b in range(labels.peaks.shape[1] - 1):
            key = ranks(key * len(key) + ranks(labels.peaks[:, b]))
        level = ranks(labels.peaks[:, -1]) if labels.peaks.shape[1] else np.zeros_like(key)
        return labels.take(undominated_triples(key, level, labels.times, labels.costs))

    def _best(self, labels: _Labels) -> Index:
        """(1,) the row of least cost, of least time among equals."""
        time = self.scales.time(labels.peaks, labels.times)
        cost = labels.costs + labels.peaks @ self.scales.cost[1:] + self.scales.per_time * time
        return np.lexsort((time, cost))[:1]
