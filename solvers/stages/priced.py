"""A lower bound on the cost of one stage problem within every limit on its time.

With z >= 0 a price of a unit of time beyond what it costs, form f of time and its peak P_1 between
two of its values, low <= P_1 <= high,

    cost >= D - z limit
    D = cost form + (cost_per_time + z) f, minimized over columns whose first peak is at most `high`

with P_1 at least `low` and each other peak at least what some device cannot go below. What is left
adds up over devices: a shortest chain of columns. With one chunk per device, in order, chains are
exact; with several, chunks need not line up: only the layers that devices hold in all, or the
longest of the sums that two limits fix, must add up.
Source: Handler and Zang, A dual algorithm for the constrained shortest path problem, Networks
1980, doi:10.1002/net.3230100403.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.forms import weights
from solvers.stages.problem import Form, Ints, Limit, StageProblem

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedBound:
    """The bound of one problem.

    Attributes:
        prices: (z,) of a unit of time.
        values: (g, z) D for each range of the first peak; inf where no chain exists.
        beyond: The largest limit for which it holds.
    """

    prices: Floats
    values: Floats
    beyond: int | None

    def at(self, limit: int | None) -> float:
        """No choice within `limit` costs less; inf: there is none, -inf: nothing is known."""
        if self.beyond is not None and (limit is None or limit > self.beyond):
            return -np.inf
        each = self.values[:, self.prices == 0]
        if limit is not None:
            each = self.values - self.prices * limit
        return float(each.max(axis=1, initial=-np.inf).min(initial=np.inf))


def priced_bound(
    problem: StageProblem, prices: Floats, *, ranges: int = 32, beyond: int | None = None
) -> PricedBound:
    """The bound of a problem with a cost; crossings are left out.

    Args:
        problem: At least one column per device; time has sums of non-negative weights.
        prices: (z,) 0 or more.
        ranges: Of the first peak, at most, with as many of its values in each.
        beyond: The largest limit that will be asked for; None: any.

    Raises:
        ValueError: A peak or time lowers the cost.
    """
    if problem.cost_per_time < 0 or min((problem.cost or Form()).peaks, default=0) < 0:
        raise ValueError("no peak may lower the cost, nor may time")
    chains = _Chains(problem)
    form, cost = problem.time[0], problem.cost or Form()
    peak = problem.columns.peaks[:, 0]
    least = chains.least_peak(peak)
    weight = np.asarray(prices + problem.cost_per_time)
    sums = problem.columns.sums
    lengths = (sums @ weights(cost.sums, sums.shape[1]))[:, None].astype(np.float64)
    lengths = lengths + np.multiply.outer(sums @ weights(form.sums, sums.shape[1]), weight)
    base = _base(problem, cost, chains) + weight * _base(problem, form, chains)
    weighed = _first(cost) + weight * _first(form)
    parts = _ranges(peak, least, ranges)
    values = np.full((len(parts), len(prices)), np.inf)
    for row, (low, high) in enumerate(parts):
        values[row] = base + weighed * low + chains.shortest(lengths, peak <= high)
    return PricedBound(
        prices=prices,
        values=np.where(values < 0, 1 + _ROUNDING, 1 - _ROUNDING) * values,
        beyond=beyond,
    )


def _first(form: Form) -> int:
    return form.peaks[0] if form.peaks else 0


def _base(problem: StageProblem, form: Form, chains: _Chains) -> float:
    """The constant of a form with what its peaks but the first are at least."""
    peaks = problem.columns.peaks
    later = list(enumerate(form.peaks))[1:]
    return form.constant + sum(w * chains.least_peak(peaks[:, b]) for b, w in later if w)


def _ranges(peak: Ints, least: int, ranges: int) -> list[tuple[int, int]]:
    """First and last of the values that the first peak may have, in ranges of as many values."""
    values = np.unique(peak[peak >= least])
    parts = np.array_split(values, min(ranges, len(values))) if len(values) else []
    return [(int(part[0]), int(part[-1])) for part in parts]


def _held(problem: StageProblem) -> tuple[int, Ints]:
    """What must add up over devices, and (c,) what each column adds to it."""
    columns = problem.columns
    fixed = [
        (limit.upper, limit.form.sums.index(1))
        for limit in problem.limits
        if _single(limit, 1) and any(_opposite(limit, other) for other in problem.limits)
    ]
    if not fixed:
        return problem.layers, (columns.ends - columns.starts).sum(axis=1)
    length, at = max(fixed)
    return length, columns.sums[:, at]


def _single(limit: Limit, weight: int) -> bool:
    """Whether a limit is on one sum alone, of this weight."""
    form = limit.form
    alone = [w for w in form.sums if w] == [weight] and not any(form.peaks)
    return alone and form.constant == form.crossings == limit.per_time == 0


def _opposite(limit: Limit, other: Limit) -> bool:
    """Whether the two fix the sum that `limit` is on."""
    if not _single(other, -1) or other.upper != -limit.upper:
        return False
    return other.form.sums.index(-1) == limit.form.sums.index(1)


class _Chains:
    """Shortest chains of columns, one per device."""

    def __init__(self, problem: StageProblem) -> None:
        self.problem, columns = problem, problem.columns
        self.of_device = [np.flatnonzero(columns.device == d) for d in range(problem.devices)]
        self.in_order = np.array_equal(problem.chunks, np.arange(problem.devices)[:, None])
        self.length, held = _held(problem)
        self.key = columns.ends[:, 0] if self.in_order else held
        self.by_key = [own[np.argsort(self.key[own], kind="stable")] for own in self.of_device]

    def least_peak(self, values: Ints) -> int:
        """Every choice has a peak of at least this."""
        return max((int(values[own].min()) for own in self.of_device if len(own)), default=0)

    def shortest(self, lengths: Floats, allowed: npt.NDArray[np.bool_]) -> Floats:
        """(z,) of (c, z) lengths over the columns that are allowed; inf: there is no chain."""
        length = self.problem.layers if self.in_order else self.length
        after = self._by_position if self.in_order else self._by_total
        at = np.full((length + 1, lengths.shape[1]), np.inf)
        at[0] = 0.0
        for own in self.by_key:
            at = after(at, lengths, own[allowed[own]])
        return np.asarray(at[-1])

    def _by_position(self, at: Floats, lengths: Floats, own: Ints) -> Floats:
        """(l, z) after one device whose columns, sorted by their end, are `own`."""
        after = np.full_like(at, np.inf)
        if len(own):
            ends, first = np.unique(self.key[own], return_index=True)
            ways = at[self.problem.columns.starts[own, 0]] + lengths[own]
            after[ends] = np.minimum.reduceat(ways, first, axis=0)
        return after

    def _by_total(self, at: Floats, lengths: Floats, own: Ints) -> Floats:
        """(l, z) after one device whose columns, sorted by the layers they hold, are `own`."""
        after = np.full_like(at, np.inf)
        if len(own):
            held, first = np.unique(self.key[own], return_index=True)
            best = np.minimum.reduceat(lengths[own], first, axis=0)
            for layers, length in zip(held.tolist(), best, strict=True):
                stop = max(len(at) - layers, 0)
                after[layers:] = np.minimum(after[layers:], at[:stop] + length)
        return after
