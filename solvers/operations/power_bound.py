"""No schedule under a cap on power ends sooner: a linear program over energy and windows.

At every moment the levels that run draw at most the cap: sum u <= 1 with u = p / cap. Each function
f with sum f(u) <= 1 wherever sum u <= 1 (dual feasible: u itself, and those of Fekete and Schepers,
which count how many large parts fit beside one another) bounds the seconds of a window. S are
operations that can only run between the begin of i and the end of j, each after i and before j,
or all operations between the first moment and the last:

    e_j - b_i >= sum over S of f_lk d_lk x_lk  +  sum over a path P of spare_lk x_lk
    spare_lk = max(0, 1 - f_lk - M_l) d_lk

The second sum is what cannot be used: operations of a path in S run one after the other, and beside
operation l of it only those run that neither wait for it nor are waited for, of each chain one:
M_l is the sum of the greatest f of such operations of each other chain. So the filling and the
draining of a pipeline count, where few stages run. Rows that the solution breaks are added to the
program of `solvers.operations.program` with T as its cost; for the most broken path the longest is
taken. Whatever the multipliers, its dual is a bound of all schedules, also of those whose
operations change their level while they run.

Source: Fekete, Schepers, New classes of fast lower bounds for bin packing problems, Mathematical
Programming 91, 2001, doi:10.1007/s101070100243; energetic reasoning over windows: Baptiste, Le
Pape, Nuijten, Annals of Operations Research 92, 1999, doi:10.1023/A:1018995000688.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.operations.graph import Floats, Ints
from solvers.operations.power import SLACK, Capped

_ROUNDS = 12
_MOST_WINDOWED = 600
"""Operations up to which windows between two of them are looked at."""
_WINDOWS = 30
"""That are tried of each function in a round."""
_PARTS = 6
"""Functions at most beside u itself: f counts parts above 1/2, 1/3, ..."""
_BROKEN = 1e-7
"""Relative to the end, by which a row has to be broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """A bound, and the relaxed schedule behind it, which may break the cap.

    Attributes:
        end: No schedule ends sooner.
        begin, seconds: (n,) of each operation.
    """

    end: float
    begin: Floats
    seconds: Floats


def least_end(capped: Capped) -> Least:
    """The greatest bound that is found.

    Args:
        capped: The operations.
    """
    program = capped.program()
    order, uses = _Order(capped), list(_uses(capped))
    for round_number in range(_ROUNDS + 1):
        found = program.solved()
        if found is None:
            raise RuntimeError("a relaxed program has no solution")
        values, multipliers = found
        shares, begin = program.mixed(values), values[program.count : -1]
        seconds = (program.graph.seconds * shares).sum(axis=1)
        rows = [row for use in uses for row in order.broken(use, shares, begin, float(values[-1]))]
        if not rows or round_number == _ROUNDS:
            return Least(end=program.dual_bound(multipliers), begin=begin, seconds=seconds)
        program.add(rows)
    raise AssertionError


def _uses(capped: Capped) -> Iterator[Floats]:
    """(n, k) what each level uses of a moment, by one dual feasible function after the other."""
    share = capped.power / (capped.cap * (1 + SLACK))
    yield share
    for parts in range(1, _PARTS + 1):
        many = (parts + 1) * share
        counted = np.maximum(np.floor(many - SLACK), 0.0) / parts
        if (counted > share).any():
            yield counted


class _Order:
    """Which operations can run beside which, and rows of windows.

    Attributes:
        first: (n, c) the place on each chain of the first that is the operation or waits for it.
        past: (n, c) how many of each chain are the operation or what it waits for.
    """

    def __init__(self, capped: Capped) -> None:
        self.graph, self.chain = capped.graph, capped.chain
        n, chains = len(self.chain), int(self.chain.max(initial=-1)) + 1
        self.rows = [np.flatnonzero(self.chain == one) for one in range(chains)]
        self.place = np.zeros(n, dtype=np.intp)
        self.past = np.zeros((n, chains), dtype=np.intp)
        self.first = np.tile([len(row) for row in self.rows], (n, 1)).astype(np.intp)
        for row in self.rows:
            self.place[row] = np.arange(len(row))
        every = np.arange(n)
        self.past[every, self.chain] = self.place + 1
        self.first[every, self.chain] = self.place
        ascending = np.argsort(self.graph.before, kind="stable")
        self.edges = [
            (int(self.graph.before[at]), int(self.graph.after[at])) for at in ascending.tolist()
        ]
        for one, other in self.edges:
            np.maximum(self.past[other], self.past[one], out=self.past[other])
        for at in np.argsort(-self.graph.after, kind="stable").tolist():
            one, other = int(self.graph.before[at]), int(self.graph.after[at])
            np.minimum(self.first[one], self.first[other], out=self.first[one])

    def broken(
        self, use: Floats, shares: Floats, begin: Floats, end: float
    ) -> Iterator[tuple[Ints, Floats, float]]:
        """Rows of the program that a solution breaks, of the windows in which most is used."""
        windows = [(-1, -1)]
        if len(begin) <= _MOST_WINDOWED:
            windows += self._used(use, shares, begin)
        for one, other in windows:
            row, missing = self._row(use, shares, begin, end, (one, other))
            if missing > _BROKEN * end:
                yield row

    def _used(self, use: Floats, shares: Floats, begin: Floats) -> list[tuple[int, int]]:
        """Windows between operations that have the least seconds for what is used in them."""
        seconds = (self.graph.seconds * shares).sum(axis=1)
        used = (self.graph.seconds * use * shares).sum(axis=1)
        after = (self.place >= self.first[:, self.chain]).astype(np.float64)
        over = (after * used) @ after - (begin + seconds) + begin[:, None]
        over[after == 0] = -np.inf
        most = np.argsort(-over, axis=None, kind="stable")[:_WINDOWS]
        pairs = zip(*(part.tolist() for part in np.unravel_index(most, over.shape)), strict=True)
        return [pair for pair in pairs if over[pair] > -np.inf]

    def _row(
        self, use: Floats, shares: Floats, begin: Floats, end: float, window: tuple[int, int]
    ) -> tuple[tuple[Ints, Floats, float], float]:
        """The row of a window, -1 for the first and the last moment, and how much it is broken."""
        n = len(self.chain)
        one, other = window
        low = np.zeros(len(self.rows), dtype=np.intp) if one < 0 else self.first[one]
        high = np.array([len(row) for row in self.rows]) if other < 0 else self.past[other]
        inside = (self.place >= low[self.chain]) & (self.place < high[self.chain])
        spare = self._spare(use, inside, low, high)
        path = self._longest(np.where(inside, (spare * shares).sum(axis=1), 0.0))
        weights = np.where(inside[:, None], use * self.graph.seconds, 0.0)
        weights[path] += spare[path]
        moments = np.zeros(n + 1)
        moments[n if other < 0 else other] += 1.0
        took = np.zeros_like(weights)
        if other >= 0:
            took[other] = self.graph.seconds[other]
        if one >= 0:
            moments[one] -= 1.0
        row = np.concatenate([(took - weights).ravel(), moments])
        columns = np.flatnonzero(row)
        values = np.concatenate([shares.ravel(), begin, [end]])
        return (columns, row[columns], 0.0), float(-row @ values)

    def _spare(self, use: Floats, inside: npt.NDArray[np.bool_], low: Ints, high: Ints) -> Floats:
        """(n, k) seconds' worth of each moment of an operation that nothing beside it can use."""
        greatest = np.array([
            use[row[start:stop]].max(initial=0.0)
            for row, start, stop in zip(self.rows, low.tolist(), high.tolist(), strict=True)
        ])  # fmt: skip
        beside = np.maximum(self.past, low) < np.minimum(self.first, high)
        left = 1.0 - use - (beside @ greatest)[:, None]
        return np.asarray(
            np.where(inside[:, None], np.maximum(left, 0.0), 0.0) * self.graph.seconds
        )

    def _longest(self, weights: Floats) -> Ints:
        """The operations with weights of the path that has most."""
        best, came = weights.tolist(), [-1] * len(weights)
        own = weights.tolist()
        for one, other in self.edges:
            if best[one] + own[other] > best[other]:
                best[other], came[other] = best[one] + own[other], one
        at, path = int(np.argmax(best)), []
        while at >= 0:
            path.append(at)
            at = came[at]
        found = np.array(path, dtype=np.intp)
        return found[weights[found] > 0]
