"""Lower bounds on the cost of stage problems under a limit on their time, many problems at once.

A problem (row) spreads items of several kinds over p devices. A device runs all its items in one
setting; an item of kind k costs c and takes t seconds per round, r outside the slowest device:

    time >= C + A max_d t_d + sum_d r_d,      t_d, r_d: sums over the items and the end of device d
    cost  = F + sum_d c_d + P time

so for any price z >= 0 of a second beyond its cost P, of plans whose time is at most the limit,

    cost >= D(z) - z limit,                   D(z) <= min over plans of F + sum c + (P + z) time

*Mean bound*: max_d t_d >= mean t_d, so every item chooses its setting alone. With the prices at
which two settings tie, this is the lower convex hull over the settings (Jensen's inequality). With
memory, devices hold no more items than it allows; they are valued as in the next bound.

*Bottleneck bound*: with a longest device between u and w, a device holds no more items than time w
and its memory allow, as a linear program in two rows (time, memory) and, in all, as a whole number.
A value m_k per item of kind k makes the devices independent:

    D(z) >= min over (u, w) of  sum_k m_k n_k + (P + z)(C + A u)
            + sum_d min over settings of (end_d - most profit of a filling)

where an item earns m_k - c - (P + z) r.

Every value of m and z gives a bound, so inexact choices of them cost tightness, never validity.
Source: Geoffrion, Lagrangean relaxation for integer programming, 1974, doi:10.1007/BFb0120690.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_TIES = 7  # prices of the mean bound
_ROUNDED_UP = 1 + 1e-9
_ROUNDED_DOWN = 1 - 1e-12
_COARSE = np.geomspace(1.0, 8.0, 10)
_FINE = np.linspace(-1.0, 1.0, 7)
_AT_A_TIME = 256  # problems times intervals whose fillings are in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What n problems have to do; see the module. Axes: k kinds, s settings, v ways of an item.

    Attributes:
        items: (k,) how many of each kind.
        pace, ramp, cost: (n, k, s, v) of one item: t, r and c of the module.
        count: (n, c) devices of each class; they add up to p.
        end_pace, end_ramp, end_cost: (n, c, s) what a device of the class adds to its items.
        held: (n, c, k, s, v) memory of an item.
        room: (n, c, s) memory for items; negative: the setting is not available to the class.
        slowest, constant, fixed, per_time: (n,) A, C, F, P.
    """

    items: Floats
    pace: Floats
    ramp: Floats
    cost: Floats
    count: Floats
    end_pace: Floats
    end_ramp: Floats
    end_cost: Floats
    held: Floats
    room: Floats
    slowest: Floats
    constant: Floats
    fixed: Floats
    per_time: Floats

    def __len__(self) -> int:
        return len(self.slowest)

    def take(self, rows: npt.NDArray[np.intp]) -> Work:
        """Some of the problems."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name != "items"}
        return Work(items=self.items, **{name: part[rows] for name, part in parts.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBound:
    """The mean bound of n problems for every limit.

    Attributes:
        prices: (n, z) prices of a second; the first is 0.
        values: (n, z) D of each.
        still: (n,) no choice costs less beside what its time adds.
    """

    prices: Floats
    values: Floats
    still: Floats

    def take(self, rows: npt.NDArray[np.intp]) -> MeanBound:
        """Some of the problems."""
        return MeanBound(prices=self.prices[rows], values=self.values[rows], still=self.still[rows])

    def at(self, limit: float | Floats) -> Floats:
        """(n,) no choice within `limit`, one or (n,), which may be infinite, costs less."""
        each = _under(self.values, self.prices, np.reshape(limit, (-1, 1)))
        return np.asarray(each.max(axis=1))

    def price(self, limit: float | Floats) -> Floats:
        """(n,) the price of the tightest bound at one limit or (n,): what a second less costs."""
        best = _under(self.values, self.prices, np.reshape(limit, (-1, 1))).argmax(axis=1)
        return np.asarray(self.prices[np.arange(len(best)), best])


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckBound:
    """The bottleneck bound of n problems for every limit.

    Attributes:
        prices: (n, z) prices of a second.
        least: (n, g) no choice with its bottleneck in an interval takes less time.
        values: (n, g, z) D of each interval and price.
        beyond: (n,) limits up to which the intervals hold all choices.
    """

    prices: Floats
    least: Floats
    values: Floats
    beyond: Floats

    def at(self, limit: float | Floats) -> Floats:
        """(n,) no choice within `limit` costs less; inf: there is none, -inf: nothing known.

        The limit is one, or (n,).
        """
        each = _under(self.values, self.prices[:, None], np.reshape(limit, (-1, 1, 1))).max(axis=2)
        late = self.least > np.reshape(limit, (-1, 1))
        bound = np.where(late, np.inf, each).min(axis=1)
        return np.asarray(np.where(limit > self.beyond, -np.inf, bound))


def _under(values: Floats, prices: Floats, limit: Floats) -> Floats:
    """D - z limit, shaped like `values`; without a limit only the price 0 says anything."""
    endless = np.isinf(limit)
    charged = prices * np.where(endless, 0.0, limit)
    return np.where(endless & (prices > 0), -np.inf, values - charged)


def mean_bound(work: Work) -> MeanBound:
    """The mean bound, at the prices at which two settings of a kind tie."""
    share = (work.slowest / work.count.sum(axis=1))[:, None, None, None]
    seconds = share * work.pace + work.ramp
    end_seconds = share[..., 0] * work.end_pace + work.end_ramp
    ties = _tie_prices(seconds.min(axis=3), work.cost.min(axis=3), work.per_time)
    prices = np.concatenate([ties, -work.per_time[:, None]], axis=1)
    values = np.empty_like(prices)
    for column in range(prices.shape[1]):
        price = work.per_time + prices[:, column]
        each = (work.cost + price[:, None, None, None] * seconds).min(axis=(2, 3))
        ends = work.end_cost + price[:, None, None] * end_seconds
        ends = np.where(work.room < 0, np.inf, ends).min(axis=2)
        whole = each @ work.items + (_times(work.count, ends)).sum(axis=1)
        values[:, column] = (work.fixed + whole + price * work.constant) * _ROUNDED_DOWN
    return MeanBound(prices=ties, values=values[:, :-1], still=values[:, -1])


def _times(count: Floats, values: Floats) -> Floats:
    """Their product, 0 where the count is."""
    return np.where(count > 0, count * np.where(count > 0, values, 0.0), 0.0)


def _tie_prices(seconds: Floats, costs: Floats, per_time: Floats) -> Floats:
    """(n, z) 0, and some of the prices beyond `per_time` at which two settings of (n, k, s) tie."""
    found = [np.zeros_like(per_time)]
    for one, other in combinations(range(seconds.shape[2]), 2):
        longer = seconds[:, :, one] - seconds[:, :, other]
        dearer = costs[:, :, other] - costs[:, :, one]
        trade = longer * dearer > 0
        tie = np.where(trade, dearer / np.where(trade, longer, 1.0), 0.0)
        found += list(np.maximum(tie - per_time[:, None], 0.0).T)
    ties = np.sort(np.stack(found, axis=1), axis=1)
    few = np.linspace(0, ties.shape[1] - 1, min(_TIES, ties.shape[1])).astype(np.intp)
    return np.asarray(ties[:, few])


def bottleneck_bound(work: Work, edges: Floats, prices: Floats, beyond: Floats) -> BottleneckBound:
    """The bottleneck bound.

    Args:
        work: n problems.
        edges: (n, g + 1) ascending; every choice within `beyond` has its longest device between
            the first and the last.
        prices: (n, z) prices of a second, 0 or more.
        beyond: (n,) the largest limit that will be asked for.
    """
    least = np.empty((len(work), edges.shape[1] - 1))
    values = np.empty((*least.shape, prices.shape[1]))
    step = max(_AT_A_TIME // least.shape[1], 1)
    for start in range(0, len(work), step):
        at = np.arange(start, min(start + step, len(work)))
        least[at], values[at] = _of_intervals(work.take(at), edges[at], prices[at])
    return BottleneckBound(prices=prices, least=least, values=values * _ROUNDED_DOWN, beyond=beyond)


def filled_mean_bound(work: Work, prices: Floats, alike: int) -> MeanBound:
    """The mean bound with the memory of devices, which no time limits: one way fills a device.

    Args:
        work: n problems.
        prices: (n, z) prices of a second; the first is 0.
        alike: So many consecutive settings differ in seconds and cost only; every item and end
            may take another one of these.
    """
    share = (work.slowest / work.count.sum(axis=1))[:, None, None, None]
    seconds = share * work.pace + work.ramp
    end_seconds = share[..., 0] * work.end_pace + work.end_ramp
    held = np.moveaxis(work.held[:, :, :, ::alike], 2, 3)
    held = held.reshape(*held.shape[:3], -1)
    room = work.room[:, :, ::alike]
    amounts = _least_of(np.inf, 1.0, np.maximum(room, 0.0)[..., None], held)
    amounts = np.ascontiguousarray(np.moveaxis(amounts, -1, 0))
    fillings = _Fillings(
        pairs=np.stack([np.arange(held.shape[-1])] * 2, axis=1),
        amounts=np.stack([amounts, np.zeros_like(amounts)])[:, :, :, None],
        most=np.floor(amounts.max(axis=0) * _ROUNDED_UP + 1e-9)[:, None],
        available=(room >= 0)[:, None],
    )
    columns = np.concatenate([prices, -work.per_time[:, None]], axis=1)
    values = np.empty_like(columns)
    for column in range(columns.shape[1]):
        price = work.per_time + columns[:, column]
        cost = work.cost + price[:, None, None, None] * seconds
        ends = work.end_cost + price[:, None, None] * end_seconds
        best = _best_value(work, fillings, _cheapest(cost, 2, alike), _cheapest(ends, 2, alike))
        values[:, column] = (work.fixed + price * work.constant + best[:, 0]) * _ROUNDED_DOWN
    return MeanBound(prices=prices, values=values[:, :-1], still=values[:, -1])


def _cheapest(table: Floats, axis: int, alike: int) -> Floats:
    """The least over every so many consecutive settings, which are on an axis."""
    shape = (*table.shape[:axis], -1, alike, *table.shape[axis + 1 :])
    return np.asarray(table.reshape(shape).min(axis=axis + 1))


def _of_intervals(work: Work, edges: Floats, prices: Floats) -> tuple[Floats, Floats]:
    """(n, g) least seconds and (n, g, z) values; see `BottleneckBound`."""
    fillings = _Fillings.of(work, edges[:, 1:])
    base = work.constant[:, None] + work.slowest[:, None] * edges[:, :-1]
    ramps = work.ramp.min(axis=(2, 3)) @ work.items
    end_ramps = np.where(work.room < 0, np.inf, work.end_ramp).min(axis=2)
    least = base + (ramps + _times(work.count, end_ramps).sum(axis=1))[:, None]
    values = np.empty((*least.shape, prices.shape[1]))
    for column in range(prices.shape[1]):
        price = work.per_time + prices[:, column]
        cost = work.cost + price[:, None, None, None] * work.ramp
        ends = work.end_cost + price[:, None, None] * work.end_ramp
        best = _best_value(work, fillings, cost, ends)
        values[:, :, column] = work.fixed[:, None] + price[:, None] * base + best
    return least * _ROUNDED_DOWN, values


def _best_value(work: Work, fillings: _Fillings, cost: Floats, ends: Floats) -> Floats:
    """(n, g) the largest bound over values of the items: multiples of the least cost of each."""
    least = cost.min(axis=(2, 3))
    shape = fillings.most.shape[:2]

    def bound(multiple: Floats) -> Floats:
        worth = multiple[:, :, None] * least[:, None]
        left = ends[:, None] - fillings.profit(worth, cost)
        left = np.where(fillings.available, left, np.inf).min(axis=3)
        return np.asarray(worth @ work.items + _times(work.count[:, None], left).sum(axis=2))

    coarse = np.stack([bound(np.full(shape, multiple)) for multiple in _COARSE])
    middle = _COARSE[coarse.argmax(axis=0)]
    step = _COARSE[1] / _COARSE[0]
    fine = [bound(np.maximum(middle * step**shift, 0.0)) for shift in _FINE[1:-1]]
    return np.asarray(np.maximum(coarse.max(axis=0), np.max(fine, axis=0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fillings:
    """The vertices of what fits on a device: at most two ways of items at a time.

    Attributes:
        pairs: (j, 2) ways of an item, over kinds and ways.
        amounts: (2, j, n, g, c, s) of each way of the pair; 0 where the vertex does not exist.
        most: (n, g, c, s) items that a device can hold, a whole number.
        available: (n, g, c, s) whether a device of the class can be in the setting.
    """

    pairs: npt.NDArray[np.intp]
    amounts: Floats
    most: Floats
    available: npt.NDArray[np.bool_]

    @staticmethod
    def of(work: Work, longest: Floats) -> _Fillings:
        """The fillings of devices of at most (n, g) `longest` seconds."""
        pace = _by_way(work.pace)[:, None, None]
        held = np.moveaxis(work.held, 2, 3)
        held = held.reshape(*held.shape[:3], -1)[:, None]
        seconds = longest[:, :, None, None] - work.end_pace[:, None]
        room = np.broadcast_to(work.room[:, None], seconds.shape)
        available = (seconds >= 0) & (room >= 0)
        seconds = np.maximum(seconds, 0.0)[..., None]
        room = np.maximum(room, 0.0)[..., None]
        ways = pace.shape[-1]
        alone = _least_of(seconds, pace, room, held)
        one, other = np.triu_indices(ways, 1)
        first, second = _both(
            seconds, room, pace[..., one], pace[..., other], held[..., one], held[..., other]
        )
        amounts = np.stack(
            [
                np.concatenate([alone, first], axis=-1),
                np.concatenate([np.zeros_like(alone), second], axis=-1),
            ]
        )
        single = np.arange(ways)
        pairs = np.stack([np.r_[single, one], np.r_[single, other]], axis=1)
        amounts = np.ascontiguousarray(np.moveaxis(amounts, -1, 1))
        most = np.floor(amounts.sum(axis=0).max(axis=0) * _ROUNDED_UP + 1e-9)
        return _Fillings(pairs=pairs, amounts=amounts, most=most, available=available)

    def profit(self, worth: Floats, cost: Floats) -> Floats:
        """(n, g, c, s) no filling earns more: worth (n, g, k) less cost (n, k, s, v) per item."""
        each = worth[:, :, :, None, None] - cost[:, None]
        each = np.moveaxis(each, (2, 4), (0, 1))
        each = np.maximum(each.reshape(-1, *each.shape[2:]), 0.0)[:, :, :, None]
        earned = self.amounts[0] * each[self.pairs[:, 0]]
        earned += self.amounts[1] * each[self.pairs[:, 1]]
        whole = self.most * each.max(axis=0)
        return np.asarray(np.minimum(earned.max(axis=0) * _ROUNDED_UP, whole))


def _by_way(table: Floats) -> Floats:
    """(n, s, k v) of (n, k, s, v)."""
    moved = np.moveaxis(table, 1, 2)
    return np.asarray(moved.reshape(*moved.shape[:2], -1))


def _least_of(seconds: Floats | float, pace: Floats | float, room: Floats, held: Floats) -> Floats:
    """How many items of one way fit into time and memory."""
    by_memory = np.where(held > 0, room / np.where(held > 0, held, 1.0), np.inf)
    return np.asarray(np.minimum(seconds / pace, by_memory))


def _both(
    seconds: Floats, room: Floats, pace: Floats, pace2: Floats, held: Floats, held2: Floats
) -> tuple[Floats, Floats]:
    """Amounts of two ways that use up time and memory; 0 where there are none."""
    det = pace * held2 - pace2 * held
    some = np.where(det == 0, 1.0, det)
    one = (seconds * held2 - room * pace2) / some
    two = (pace * room - held * seconds) / some
    exists = (det != 0) & (one >= 0) & (two >= 0)
    return np.where(exists, one, 0.0), np.where(exists, two, 0.0)
