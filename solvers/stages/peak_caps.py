"""What sums over the columns of wanted choices do not exceed, where the heaviest peak is known.

With the peaks between some least and largest ones, `early` and `late` the least and the most of
what they make of the forms f of time, and a S the sums of the main form,

    early_f + a_f S_f <= time <= late + a S

so that each limit, form + w time <= upper, caps a sum over the columns: with early for w >= 0, with
late for w < 0; and so does the objective of the best choice that is known. Sums are not negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.stages.backend import COST, TIME, Question
from solvers.stages.capped_labels import Cap
from solvers.stages.chain import Bools, Floats, Index
from solvers.stages.dynamic import directions_of
from solvers.stages.forms import Extents, plus, weights
from solvers.stages.labelling import Scales
from solvers.stages.labels import heaviest_last, scales_of
from solvers.stages.problem import LARGEST, Form, Ints, Limit


def suits(question: Question) -> bool:
    """Whether the module holds for the problem, and doubles for its numbers.

    The forms of time weigh the sums, which are not negative, in one proportion; no peak lowers the
    cost or what is limited, nor does time lower the cost.
    """
    problem = question.problem
    extents, most = Extents(problem), 0
    forms = [(limit.form, limit.per_time) for limit in problem.limits]
    if question.minimize == COST:
        forms.append((problem.cost or Form(), problem.cost_per_time))
        if problem.cost_per_time < 0:
            return False
    for form, per_time in forms:
        if min(form.peaks, default=0) < 0:
            return False
        most = max(most, extents.of(form) + abs(per_time) * extents.of_time())
    directions = directions_of(problem, problem.time)
    rising = bool((directions[0].lengths >= 0).all())
    return len(directions) == 1 and rising and 4 * most <= LARGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Choices whose heaviest peak is in a range of values.

    Attributes:
        kept: Columns that they may hold.
        early: (f,) what the least peaks make of each form of time, without sums.
        late: What the largest make of the largest form.
        low: (b,) the least peaks, the heaviest last.
        bound: No choice of the box has a smaller objective.
        prices: (limit, mu) of the best bounds.
    """

    kept: Index
    early: Floats
    late: float
    low: Ints
    bound: float = -math.inf
    prices: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limited:
    """A limit with its sums as row `row` of the tables, its peaks in the order of the scales."""

    row: int
    constant: float
    peaks: Floats
    per_time: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """The numbers of a question.

    Attributes:
        by_time: Whether time is minimized.
        scales: Of time and cost, the heaviest peak last.
        limits: Of the problem.
        table: (c, 2 + limits) what columns add to time, cost and each limit.
    """

    by_time: bool
    scales: Scales
    limits: tuple[_Limited, ...]
    table: Floats

    @staticmethod
    def of(question: Question) -> Capped:
        """Of a question that suits."""
        problem = question.problem
        direction = directions_of(problem, problem.time)[0]
        order = heaviest_last(problem, direction)
        scales = scales_of(problem, direction, order)
        sums = problem.columns.sums
        rows = [weights(limit.form.sums, sums.shape[1]) for limit in problem.limits]
        parts = [scales.times, scales.costs, *(sums @ row for row in rows)]
        return Capped(
            by_time=question.minimize == TIME,
            scales=scales,
            limits=tuple(_limited(each, row, order) for row, each in enumerate(problem.limits, 2)),
            table=np.stack(parts, axis=1).astype(np.float64),
        )

    @property
    def weight(self) -> float:
        """a, of the main form."""
        return float(self.scales.main[-1])

    @property
    def width(self) -> int:
        """Columns of the table."""
        return int(self.table.shape[1])

    def box(self, kept: Index, device: Ints, value: int) -> Box | None:
        """Choices of some columns whose heaviest peak is at least `value`; None: there are none.

        Args:
            kept: All columns with a heaviest peak up to the largest one of them.
            device: (c,) of all columns.
            value: Without peaks, any.
        """
        peaks, forms = self.scales.peaks[kept], self.scales.forms
        least = np.full((int(device.max()) + 1, peaks.shape[1]), np.iinfo(np.int64).max)
        np.minimum.at(least, device[kept], peaks)
        low, high = least.max(axis=0), peaks.max(axis=0)
        if len(low):
            if low[-1] > high[-1]:
                return None
            low[-1] = max(low[-1], value)
        early = forms[:, 0] + forms[:, 1:-1] @ low
        late = float((forms[:, 0] + forms[:, 1:-1] @ high).max())
        return Box(kept=kept, early=early, late=late, low=low)

    def caps(self, box: Box, most: float, longest: float) -> list[Cap]:
        """Of choices of a box with an objective of at most `most`, that first, within a time."""
        goal = self._objective(box, most)
        caps = [goal]
        for early, factor in zip(
            box.early.tolist(), self.scales.forms[:, -1].tolist(), strict=True
        ):
            caps.append(Cap(weights=_unit(self.width, 0, factor), upper=longest - early))
        for limit in self.limits:
            caps.append(self.cap(box, limit))
            if limit.per_time < 0:
                upper = limit.upper - _fixed(limit, box) - limit.per_time * longest
                caps.append(Cap(weights=_unit(self.width, limit.row, 1.0), upper=upper))
        return [*caps, *(goal.plus(mu, self.cap(box, self.limits[i])) for i, mu in box.prices)]

    def cap(self, box: Box, limit: _Limited) -> Cap:
        """The cap of a limit."""
        at = self._early(box) if limit.per_time >= 0 else box.late
        own = _unit(self.width, limit.row, 1.0)
        own[0] += limit.per_time * self.weight
        return Cap(weights=own, upper=limit.upper - _fixed(limit, box) - limit.per_time * at)

    def _objective(self, box: Box, most: float) -> Cap:
        """The cap of the objective."""
        upper = most - self.fixed(box)
        if self.by_time:
            return Cap(weights=_unit(self.width, 0, self.weight), upper=upper)
        own = _unit(self.width, 1, 1.0)
        own[0] += self.scales.per_time * self.weight
        return Cap(weights=own, upper=upper)

    def fixed(self, box: Box) -> float:
        """What the objective has besides its sums, at least."""
        if self.by_time:
            return self._early(box)
        scales = self.scales
        peaks = float(box.low @ scales.cost[1:])
        return float(scales.cost[0]) + peaks + scales.per_time * self._early(box)

    def _early(self, box: Box) -> float:
        """What the least peaks make of the main form."""
        return float(box.early[int(np.argmax(self.scales.forms[:, -1]))])

    def compared(self) -> list[Floats]:
        """Weights of what must be no larger, besides the sums of time, for a label to be better."""
        rows = [] if self.by_time else [_unit(self.width, 1, 1.0)]
        for limit in self.limits:
            row = _unit(self.width, limit.row, 1.0)
            row[0] += min(limit.per_time, 0.0) * self.weight
            rows.append(row)
        return rows

    def judged(self, chosen: Index, longest: float) -> tuple[Floats, Floats, Bools]:
        """(n,) objective and time of (n, p) choices, and whether they are within the limits."""
        sums, peaks = self.table[chosen].sum(axis=1), self.scales.peaks[chosen].max(axis=1)
        times = self.scales.time(peaks, sums[:, 0])
        scales, goal = self.scales, times
        if not self.by_time:
            goal = scales.cost[0] + peaks @ scales.cost[1:] + sums[:, 1] + scales.per_time * times
        inside = times <= longest
        for limit in self.limits:
            value = limit.constant + peaks @ limit.peaks + sums[:, limit.row]
            inside &= value + limit.per_time * times <= limit.upper
        return goal, times, inside


def _limited(limit: Limit, row: int, order: Sequence[int]) -> _Limited:
    form = plus(limit.form, 0, Form(peaks=(0,) * len(order)))
    return _Limited(
        row=row,
        constant=float(form.constant),
        peaks=np.array([form.peaks[b] for b in order], dtype=np.float64),
        per_time=float(limit.per_time),
        upper=float(limit.upper),
    )


def _fixed(limit: _Limited, box: Box) -> float:
    """What is limited, besides sums and time, at least."""
    return limit.constant + float(limit.peaks @ box.low)


def _unit(width: int, at: int, value: float) -> Floats:
    """(width,) zeros with one value."""
    row = np.zeros(width)
    row[at] = value
    return row
