"""Label setting under caps on sums: the chains that may be best, one per device and position.

A label is a chain of columns up to some device, with its peaks and the sums of a table. It goes
when some cap cannot be kept by any way to the end,

    weights . sums + least weights . table of the rest > upper

or when another label at the same position, with the same peaks but the last, is no worse in its
sums of time (row 0) and in each of the compared sums. The last peak is that of which one column is
known to have the largest value, so that all chains share it at the end.

`solvers.stages.labelling` needs no known peak, and crosses groups, but has no limits except on
time: it compares peak, time and cost, and bounds the cost by prices of time alone.

Compared sums: the first is compared as it is. Another one, b, that nearly is a multiple of the
first sums, r, is no larger where the first is less by enough: with r_c - alpha b_c within [e, f]
over the columns of each device, r and time no larger by at least the sum of f - e over devices make
b no larger. Where it is no multiple, such labels stay. Sums that count time could be compared
so too, but would need a margin that few labels reach.
Source: Desrochers and Soumis, A generalized permanent labelling algorithm for the shortest path
problem with time windows, INFOR 1988.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from solvers.stages.chain import Bools, Floats, Index, back, chain_of, spans, traced
from solvers.stages.dominance import clearly_undominated, least_of_equals, undominated_pairs
from solvers.stages.labelling import TooManyError
from solvers.stages.problem import Ints, StageProblem

_ROUNDING = 1e-12
"""Relative error of a sum of a hundred doubles, with room to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """No chain that is wanted has `weights` . (sums of the rows of a table) above `upper`.

    Attributes:
        weights: (q,) of the columns of the table.
        upper: May be inf.
    """

    weights: Floats
    upper: float

    def lengths(self, table: Floats) -> Floats:
        """(c,) what each row adds."""
        added: Floats = table @ self.weights
        return added

    def used(self, sums: Floats) -> float:
        """What (q,) sums come to."""
        return float(self.weights @ sums)

    def slack(self, table: Floats, devices: int) -> float:
        """No sum of one row per device in doubles is off by more, `upper` included."""
        largest = float((np.abs(table) @ np.abs(self.weights)).max(initial=0.0))
        upper = abs(self.upper) if np.isfinite(self.upper) else 0.0
        return _ROUNDING * (devices * largest + upper)

    def plus(self, price: float, other: Cap) -> Cap:
        """The sum of this one and another with a price."""
        return Cap(
            weights=self.weights + price * other.weights, upper=self.upper + price * other.upper
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    """Labels of one device, one per row; `parent` is a row of the device before.

    Attributes:
        state: Position at which it ends.
        peaks: (n, b) without the last.
        sums: (n, q) of the table.
        parent, column: How it came about.
    """

    state: Ints
    peaks: Ints
    sums: Floats
    parent: Index
    column: Index

    def take(self, index: Index | Bools) -> _Labels:
        return _Labels(**{name: getattr(self, name)[index] for name in self.__slots__})


@dataclass(slots=True, kw_only=True)
class CappedLabels:
    """One pass over the chains of a problem; `made` counts the labels.

    Attributes:
        problem: One chunk per device, or positions that stand for states.
        table: (c, q) what adds up, whole numbers as doubles; column 0 are the sums of time.
        peaks: (c, b).
        caps: What wanted chains keep.
        compared: (q,) weights of each sum beside that of time that makes a label worse.
        ends: `time.perf_counter` value at which to give up.
    """

    problem: StageProblem
    table: Floats
    peaks: Ints
    caps: list[Cap]
    compared: list[Floats]
    ends: float
    made: int = field(init=False, default=0)

    def run(self, most: int) -> Index | None:
        """(n, p) rows of the chains of all labels at the end; None: there is none.

        Raises:
            TooManyError: More than `most` labels would be made, or time ends.
        """
        chain = chain_of(self.problem, np.arange(len(self.table)))
        rests = [
            back(chain, cap.lengths(self.table), None).reshape(self.problem.devices + 1, -1)
            for cap in self.caps
        ]
        slacks = [cap.slack(self.table, self.problem.devices) for cap in self.caps]
        comparison = _Comparison.of(self.compared, self.table, self.problem)
        labels = _Labels(
            state=np.zeros(1, dtype=np.int64),
            peaks=np.full((1, max(self.peaks.shape[1] - 1, 0)), np.iinfo(np.int64).min),
            sums=np.zeros((1, self.table.shape[1])),
            parent=np.zeros(1, dtype=np.intp),
            column=np.zeros(1, dtype=np.intp),
        )
        steps = []
        for d, own in enumerate(chain.leaving):
            first, counts = own.between(labels.state, labels.state + 1)
            self._count(int(counts.sum()), most)
            parent, place = spans(first, counts)
            grown = self._grown(labels, parent, own.columns[place])
            for cap, rest, slack in zip(self.caps, rests, slacks, strict=True):
                least = grown.sums @ cap.weights + rest[d + 1][grown.state]
                grown = grown.take(least - slack <= cap.upper)
            labels = grown.take(comparison.useful(grown))
            if len(labels.state) == 0:
                return None
            steps.append((labels.column, labels.parent))
        return traced(steps, np.arange(len(labels.state)))

    def _count(self, more: int, most: int) -> None:
        self.made += more
        if self.made > most or time.perf_counter() > self.ends:
            raise TooManyError

    def _grown(self, labels: _Labels, parent: Index, column: Index) -> _Labels:
        """Labels with one column more."""
        return _Labels(
            state=self.problem.columns.ends[column, 0],
            peaks=np.maximum(labels.peaks[parent], self.peaks[column, : labels.peaks.shape[1]]),
            sums=labels.sums[parent] + self.table[column],
            parent=parent,
            column=column,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """Which labels make others useless.

    Attributes:
        first: Weights of the first compared sum: the one that falls most with the sums of time, for
            less of it with no more of these is less of what else it counts.
        others: Of those that follow where the first is less by `margin`.
        same: Of those that must agree.
        margin: See the module.
    """

    first: Floats
    others: list[Floats]
    same: list[Floats]
    margin: float

    @staticmethod
    def of(compared: list[Floats], table: Floats, problem: StageProblem) -> _Comparison:
        """Of the compared sums."""
        first, *rows = sorted(compared, key=lambda row: row[0]) or [np.zeros(table.shape[1])]
        own = first.copy()
        own[0] = 0.0
        values, others, same, margin = table @ own, [], [], 0.0
        for row in rows:
            other = table @ row
            if row[0] != 0.0 or values.sum() <= 0 or other.sum() <= 0:
                same.append(row)
                continue
            others.append(row)
            apart = values - values.sum() / other.sum() * other
            devices = [apart[problem.columns.device == d] for d in range(problem.devices)]
            margin = max(margin, sum(float(np.ptp(part)) for part in devices) + 1.0)
        return _Comparison(first=first, others=others, same=same, margin=margin)

    def useful(self, labels: _Labels) -> Index:
        """Labels that no other one makes useless."""
        key = np.zeros(len(labels.state), dtype=np.int64)
        for values in (labels.state, *labels.peaks.T, *(labels.sums @ row for row in self.same)):
            ranks = np.unique(values, return_inverse=True)[1].reshape(-1)
            key = np.unique(key * (len(key) + 1) + ranks, return_inverse=True)[1].reshape(-1)
        times, values = labels.sums[:, 0], labels.sums @ self.first
        if not self.others:
            return undominated_pairs(key, times, values)
        others = np.stack([labels.sums @ row for row in self.others], axis=1)
        left = least_of_equals(np.stack([key, times, values], axis=1), others)
        clear = clearly_undominated(key[left], times[left], values[left], self.margin)
        return left[clear]
