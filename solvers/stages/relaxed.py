"""Lower bounds of cost within a time for many pipelines at once: counts of layers per device.

A row gives every device d of p a choice of how many layers it holds and in which of several
options it runs them, with time t and cost c per step. All devices together hold L layers, and

    time >= C + A max_d t_d + a sum_d t_d,      cost = F + sum_d c_d + P time.

The largest t lies in one of a few intervals (u, w]. In each, for every price mu >= P,

    cost >= F + mu (C + A u) - (mu - P) longest + min (sum c + mu a sum t)  over t_d <= w

and the minimum is a dynamic program over (device, layers so far). mu moves to where the best
choice that is too slow and the best that is in time cost the same; every mu gives a bound. The
bound of a row is the least of its intervals. Source: Handler and Zang, A dual algorithm for the
constrained shortest path problem, Networks 1980, doi:10.1002/net.3230100403.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

_ROUNDING = 1e-12
_ROWS_AT_A_TIME = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Stage problems by counts of layers; symbols of the module.

    Attributes:
        layers: L, of every row.
        times, costs: (n, p, k + 1, o) of device, number of layers and option; inf where a device
            cannot hold so many in this option, at least 0 elsewhere.
        slowest, ramp, constant, fixed, per_time: (n,) A, a, C, F, P, at least 0.
    """

    layers: int
    times: Floats
    costs: Floats
    slowest: Floats
    ramp: Floats
    constant: Floats
    fixed: Floats
    per_time: Floats

    def __len__(self) -> int:
        return len(self.times)

    def take(self, index: Index) -> Rows:
        """Some of the rows."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name != "layers"}
        return Rows(layers=self.layers, **{name: part[index] for name, part in parts.items()})


def least_costs(
    rows: Rows,
    longest: Floats,
    *,
    enough: Floats | None = None,
    intervals: int = 8,
    steps: int = 6,
) -> Floats:
    """(n,) no choice of a row within the time costs less; inf where none is in time.

    Args:
        rows: n problems.
        longest: (n,) limits on the time, finite.
        enough: (n,) bounds above this are not raised further; None: all are.
        intervals: Into which the largest time is split.
        steps: Prices tried at most, in each interval.
    """
    wanted = np.full(len(rows), np.inf) if enough is None else enough
    bounds = np.empty(len(rows))
    for begin in range(0, len(rows), _ROWS_AT_A_TIME):
        part = np.arange(begin, min(begin + _ROWS_AT_A_TIME, len(rows)))
        own = _Intervals(rows.take(part), longest[part], wanted[part], intervals)
        bounds[part] = own.bounds(steps)
    return bounds


class _Intervals:
    """Rows times intervals, b of them.

    Attributes:
        row: (b,) of which row each is.
        above, up_to: (b,) the interval (u, w] of the largest time.
    """

    def __init__(self, rows: Rows, longest: Floats, enough: Floats, count: int) -> None:
        self.rows, self.longest, self.enough = rows, longest, enough
        shortest = _least(rows.times.min(axis=3), rows.times.min(axis=3), rows.layers)[0]
        possible = np.isfinite(shortest)
        total = np.where(possible, shortest, 0.0)
        left = longest * (1 + _ROUNDING) - rows.constant - rows.ramp * total
        largest = np.where(np.isinf(rows.times), 0.0, rows.times).max(axis=(1, 2, 3))
        weighs = rows.slowest > 0
        high = np.where(weighs, left / np.where(weighs, rows.slowest, 1.0), np.inf)
        high, low = np.minimum(high, largest), total / rows.times.shape[1] * (1 - _ROUNDING)
        possible &= (left >= 0) & (high >= low)
        edges = np.linspace(low, high, count + 1).T[possible]
        self.row = np.repeat(np.flatnonzero(possible), count)
        self.above, self.up_to = edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1)

    def bounds(self, steps: int) -> Floats:
        """(n,) the least bound of the intervals of each row."""
        found = np.full(len(self.row), np.inf)
        open_, fast = self._fastest()
        found[open_] = -np.inf
        slow = np.full_like(fast, np.nan)
        price = self.rows.per_time[self.row]
        for _ in range(steps):
            bound, path = self._priced(open_, price[open_])
            found[open_] = np.maximum(found[open_], bound)
            late = self._time(open_, path[0]) > self.longest[self.row[open_]]
            slow[:, open_[late]], fast[:, open_[~late]] = path[:, late], path[:, ~late]
            open_ = open_[found[open_] < self.enough[self.row[open_]]]
            open_ = open_[slow[0, open_] > fast[0, open_]]
            weight = self.rows.ramp[self.row[open_]] * (slow[0, open_] - fast[0, open_])
            crossing = np.full(len(open_), np.inf)
            np.divide(fast[1, open_] - slow[1, open_], weight, out=crossing, where=weight > 0)
            moves = np.isfinite(crossing) & (np.abs(crossing - price[open_]) > 1e-9 * crossing)
            open_ = open_[moves]
            price[open_] = crossing[moves]
            if len(open_) == 0:
                break
        least = np.full(len(self.rows), np.inf)
        np.minimum.at(least, self.row, found)
        return least

    def _fastest(self) -> tuple[Index, Floats]:
        """Intervals with a choice in time, and (2, b) sum of times and of costs of the fastest."""
        every = np.arange(len(self.row))
        time, cost = _least(*self._options(every, None), self.rows.layers)
        some = np.isfinite(time)
        soonest = self._time(every, np.where(some, time, 0.0)) * (1 - _ROUNDING)
        soon = np.flatnonzero(some & (soonest <= self.longest[self.row]))
        return soon, np.stack([time, cost])

    def _priced(self, open_: Index, price: Floats) -> tuple[Floats, Floats]:
        """Bounds at prices, and (2, b) sum of times and of costs of the best choices."""
        rows, row = self.rows, self.row[open_]
        weight = price * rows.ramp[row]
        value, time = _least(*self._options(open_, weight), rows.layers)
        paid = price * (rows.constant[row] + rows.slowest[row] * self.above[open_])
        late = (price - rows.per_time[row]) * self.longest[row]
        size = rows.fixed[row] + paid + np.abs(late) + value
        bound = rows.fixed[row] + paid - late + value - _ROUNDING * size
        return bound, np.stack([time, value - weight * time])

    def _options(self, open_: Index, weight: Floats | None) -> tuple[Floats, Floats]:
        """(b, p, k + 1) the best option of each count within the interval, and its other sum.

        Args:
            open_: Which intervals.
            weight: Cost of a unit of time, then the other is the time; None: time alone counts,
                and the other is the cost.
        """
        row = self.row[open_]
        times, costs = self.rows.times[row], self.rows.costs[row]
        inside = times <= self.up_to[open_, None, None, None] * (1 + _ROUNDING)
        times = np.where(inside, times, 0.0)
        value = times if weight is None else costs + weight[:, None, None, None] * times
        value = np.where(inside, value, np.inf)
        best = value.argmin(axis=3)[..., None]
        other = np.take_along_axis(costs if weight is None else times, best, axis=3)
        return np.take_along_axis(value, best, axis=3)[..., 0], other[..., 0]

    def _time(self, open_: Index, total: Floats) -> Floats:
        """(b,) least time of choices with a sum of times."""
        rows, row = self.rows, self.row[open_]
        time: Floats = rows.constant[row] + rows.slowest[row] * self.above[open_]
        return time + rows.ramp[row] * total


def _least(value: Floats, other: Floats, layers: int) -> tuple[Floats, Floats]:
    """(b,) least sums over devices that hold L layers in all, and the other sums of these choices.

    Args:
        value, other: (b, p, k + 1) by device and number of layers; inf in `value`: not allowed.
        layers: L.
    """
    count, devices, most = value.shape
    other = np.where(np.isinf(value), 0.0, other)
    least, along = np.full((count, layers + 1), np.inf), np.zeros((count, layers + 1))
    least[:, 0] = 0.0
    for d in range(devices):
        grown, grown_along = np.full_like(least, np.inf), np.zeros_like(along)
        for k in range(min(most, layers + 1)):
            if np.isinf(value[:, d, k]).all():
                continue
            sums = least[:, : layers + 1 - k] + value[:, d, k, None]
            better = sums < grown[:, k:]
            np.copyto(grown[:, k:], sums, where=better)
            sums = along[:, : layers + 1 - k] + other[:, d, k, None]
            np.copyto(grown_along[:, k:], sums, where=better)
        least, along = grown, grown_along
    return least[:, -1], along[:, -1]
