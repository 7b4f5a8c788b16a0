"""The least that a choice with a given column can sum up to, or have as its largest entry.

With one chunk per device, in order, dynamic programs over (layer, group) are exact for each sum
and each peak alone: with values v and in(d, l, g) = least total of the devices before d when d
begins at l in group g,

    out(d, l, g) = least in(d, start, g) + v over the columns of d in group g that end at l
    in(d + 1, l, g') = least out(d, l, g) + X_gg' over g

and likewise from the other end; with max in place of + for peaks. With several chunks the layers
that a device holds in all take the place of where it begins, and crossings count as the least of
each pair of neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from solvers.stages.forms import totals_of, weights
from solvers.stages.problem import Form, Ints, StageProblem

_NEVER = 2**60
"""Stands for no choice at all; any sum with it stays above half of it, and within 64 bits."""
_MOST_HELD = 10_000
"""Totals up to here are followed one by one."""
_Join = Callable[[Ints, Ints], Ints]


class Completion:
    """Least completions of the columns of a problem; every device has one."""

    def __init__(self, problem: StageProblem, floors: Mapping[int, int] | None = None) -> None:
        """For choices in which the peaks of `floors` are at least so large."""
        self.problem, self.columns, self.floors = problem, problem.columns, floors or {}
        devices = range(problem.devices)
        self.of_device = [np.flatnonzero(self.columns.device == d) for d in devices]
        in_order = np.array_equal(problem.chunks, np.arange(problem.devices)[:, None])
        self._least = self._by_position if in_order else self._by_total
        self._uncrossed = np.zeros((1, 1), dtype=np.int64)
        self._peaks: dict[int, Ints] = {}

    @cached_property
    def reachable(self) -> npt.NDArray[np.bool_]:
        """(c,) columns that some choice may hold."""
        values = np.zeros(len(self.columns), dtype=np.int64)
        least = self._least(values, np.add, 0, self._uncrossed)
        return (least < _NEVER // 2) & self._lined_up()

    def least(self, form: Form) -> Ints:
        """(c,) no choice with the column has a smaller value; huge where it is in none."""
        columns = self.columns
        values = columns.sums @ weights(form.sums, columns.sums.shape[1])
        cross = self._uncrossed
        if self.problem.crossings is not None and form.crossings:
            cross = form.crossings * self.problem.crossings
        total = form.constant + self._least(values, np.add, 0, cross)
        for b, weight in enumerate(form.peaks):
            if weight:
                total = total + weight * self.peak(b)
        return np.where(self.reachable, total, _NEVER)

    def peak(self, b: int) -> Ints:
        """(c,) the least P_b of a choice with the column; 0 where it is in none."""
        if b not in self._peaks:
            values = self.columns.peaks[:, b]
            least = self._least(values, np.maximum, -_NEVER, self._uncrossed)
            floor = self.floors.get(b, -_NEVER)
            self._peaks[b] = np.where(self.reachable, np.maximum(least, floor), 0)
        return self._peaks[b]

    def least_peak(self, b: int) -> int:
        """No choice has a smaller P_b; some column must be reachable."""
        return int(self.peak(b)[self.reachable].min())

    def _by_position(self, values: Ints, join: _Join, nothing: int, cross: Ints) -> Ints:
        """(c,) the least of what the values of a choice with the column join to."""
        columns, groups = self.columns, len(cross)
        group = columns.group if groups > 1 else np.zeros(len(columns), dtype=np.int64)
        shape = (self.problem.layers + 1, groups)
        total = np.empty_like(values)
        start = np.full(shape, _NEVER)
        start[0] = nothing
        for own in self.of_device:
            total[own] = join(start[columns.starts[own, 0], group[own]], values[own])
            end = np.full(shape, _NEVER)
            np.minimum.at(end, (columns.ends[own, 0], group[own]), total[own])
            start = _crossed(end, cross)
        end = np.full(shape, _NEVER)
        end[-1] = nothing
        for own in reversed(self.of_device):
            after = end[columns.ends[own, 0], group[own]]
            total[own] = join(total[own], after)
            start = np.full(shape, _NEVER)
            np.minimum.at(start, (columns.starts[own, 0], group[own]), join(values[own], after))
            end = _crossed(start, cross.T)
        return total

    def _by_total(self, values: Ints, join: _Join, nothing: int, cross: Ints) -> Ints:
        """(c,) no more than what the values of a choice with the column join to."""
        layers, held = self._totals()
        best = np.full((self.problem.devices, layers + 1), _NEVER)
        fits = held <= layers
        np.minimum.at(best, (self.columns.device[fits], held[fits]), values[fits])
        before, after = [_only_zero(layers, nothing)], [_only_zero(layers, nothing)]
        for row, other in zip(best[:-1], best[:0:-1], strict=True):
            before.append(_joined(before[-1], row, join))
            after.append(_joined(after[-1], other, join))
        total = np.full_like(values, _NEVER)
        for device, (here, there) in enumerate(zip(before, after[::-1], strict=True)):
            own = self.of_device[device][fits[self.of_device[device]]]
            rest = _joined(here, there, join)
            total[own] = join(values[own], rest[layers - held[own]])
        return total + self._least_crossings(cross)

    def _totals(self) -> tuple[int, Ints]:
        """What the devices hold in all, and (c,) of which each column; at least 0 each.

        The sum of all totals, or else of layers; nothing where positions do not ascend.
        """
        totals, _ = totals_of(self.problem)
        amount = sum(value for _, value in totals)
        if totals and amount <= _MOST_HELD:
            held = sum(self.columns.sums @ row for row, _ in totals)
            return amount, np.asarray(held, dtype=np.int64)
        held = (self.columns.ends - self.columns.starts).sum(axis=1)
        if np.any(held < 0):
            return 0, np.zeros_like(held)
        return self.problem.layers, held

    def _least_crossings(self, cross: Ints) -> int:
        """The least that the pairs of neighbours can add, pair by pair."""
        if len(cross) == 1:
            return 0
        groups = [np.unique(self.columns.group[own]) for own in self.of_device]
        pairs = itertools.pairwise(groups)
        return sum(int(cross[np.ix_(here, there)].min()) for here, there in pairs)

    def _lined_up(self) -> npt.NDArray[np.bool_]:
        """(c,) columns whose every chunk begins where some chunk before it ends, and so on."""
        columns, chunks = self.columns, self.problem.chunks
        places = [np.argwhere(chunks == chunk)[0] for chunk in range(chunks.size)]
        inside = np.ones(len(columns), dtype=np.bool_)
        (first, k), (last, n) = places[0], places[-1]
        inside &= (columns.device != first) | (columns.starts[:, k] == 0)
        inside &= (columns.device != last) | (columns.ends[:, n] == self.problem.layers)
        for (d, k), (e, n) in itertools.pairwise(places):
            ends, starts = columns.ends[:, k], columns.starts[:, n]
            if d == e:
                inside &= (columns.device != d) | (ends == starts)
                continue
            left, right = self.of_device[d], self.of_device[e]
            inside[left] &= np.isin(ends[left], starts[right[inside[right]]])
            inside[right] &= np.isin(starts[right], ends[left[inside[left]]])
        return inside


def _crossed(values: Ints, cross: Ints) -> Ints:
    """(l, g') least over g of values[l, g] + cross[g, g']."""
    crossed: Ints = (values[:, :, None] + cross).min(axis=1)
    return np.minimum(crossed, _NEVER)


def _only_zero(layers: int, nothing: int) -> Ints:
    """(layers + 1,) what no device joins to: nothing for 0 layers."""
    values = np.full(layers + 1, _NEVER)
    values[0] = nothing
    return values


def _joined(left: Ints, right: Ints, join: _Join) -> Ints:
    """(n,) least over t of left[t] joined to right[n - t]."""
    size = len(left)
    other = np.subtract.outer(np.arange(size), np.arange(size))
    values = np.where(other >= 0, join(left, right[np.maximum(other, 0)]), _NEVER)
    return np.asarray(np.minimum(values.min(axis=1), _NEVER))
