"""Stage problems with several chunks per device as problems with one chunk per device.

Devices are taken in order. A boundary between chunks is *open* after device d when one of its two
chunks is on a device up to d and the other is not; the state after d says where every open boundary
is, and what is used so far of every total (limits that fix a sum). A column leads from one state
to another where it agrees with the open boundaries, and every path from the empty state to the end
is a choice of columns that line up, and the other way round:

    interleaved:  v ends of chunks k p + d and v - 1 begins of chunks k p are open
    V shape:      the end of chunk d and the begin of chunk 2 p - 1 - d are open

So identical layers of v chunks need L + 1 states per device, a sequence of any kinds L**2 / 2 with
a V shape and about L**3 / 6 with two interleaved chunks: polynomial in L for every fixed v. States
from which no end is reached are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from solvers.stages.fillings import Bools, Index, row_ids
from solvers.stages.forms import totals_of
from solvers.stages.problem import Columns, Ints, StageProblem

MOST_ARCS = 30_000_000
"""Pairs of state and column of one device, beyond which memory does not suffice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfolded:
    """A problem with one chunk per device, whose positions are states of another.

    Attributes:
        problem: Its columns are pairs of a state and a column; where none lines up, it has none.
        columns: (a,) column of the other problem of each.
    """

    problem: StageProblem
    columns: Index


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One device: which open boundaries its columns meet, leave alone and open.

    Attributes:
        met: (n, 2) which open boundary, and which of the device's own it is.
        kept: Open boundaries that stay open.
        opened: Own boundaries that the device opens.
        closed: (n, 2) own boundaries that are one: the end of a chunk and the begin of the next.
    """

    met: list[tuple[int, int]]
    kept: list[int]
    opened: list[int]
    closed: list[tuple[int, int]]


def unfolded(problem: StageProblem) -> Unfolded:
    """A problem with one chunk per device and the same choices; totals become states.

    Raises:
        ValueError: There are too many states.
    """
    totals, limits = totals_of(problem)
    builder = _Builder(problem, totals)
    arcs = builder.arcs()
    starts, ends, taken = (np.concatenate(part) for part in zip(*arcs, strict=True))
    columns = problem.columns
    made = Columns(
        device=columns.device[taken],
        starts=starts[:, None],
        ends=ends[:, None],
        group=columns.group[taken],
        sums=columns.sums[taken],
        peaks=columns.peaks[taken],
    )
    chain = replace(
        problem,
        layers=int(ends.max(initial=0)),
        chunks=np.arange(problem.devices, dtype=np.int64)[:, None],
        columns=made,
        limits=limits,
    )
    return Unfolded(problem=chain, columns=taken)


class _Builder:
    """States and arcs, device by device."""

    def __init__(self, problem: StageProblem, totals: list[tuple[Ints, int]]) -> None:
        self.problem = problem
        columns, chunks = problem.columns, problem.chunks
        self.amounts = np.array([value for _, value in totals], dtype=np.int64)
        width = columns.sums.shape[1]
        rows = np.array([row for row, _ in totals], dtype=np.int64).reshape(-1, width)
        self.use = columns.sums @ rows.T
        self.of_device = [np.flatnonzero(columns.device == d) for d in range(problem.devices)]
        least = [self.use[own].min(axis=0, initial=2**40) for own in self.of_device]
        most = [self.use[own].max(axis=0, initial=0) for own in self.of_device]
        self.left = [
            (sum(least[d + 1 :], 0 * self.amounts), sum(most[d + 1 :], 0 * self.amounts))
            for d in range(problem.devices)
        ]
        self.steps, self.open = self._steps()
        size = columns.ends - columns.starts
        order = np.zeros((2, chunks.size), dtype=np.int64)
        for d, own in enumerate(self.of_device):
            order[0, chunks[d]] = size[own].min(axis=0, initial=problem.layers)
            order[1, chunks[d]] = size[own].max(axis=0, initial=0)
        self.before = np.concatenate([np.zeros((2, 1), dtype=np.int64), order.cumsum(axis=1)], 1)

    def _steps(self) -> tuple[list[_Step], list[list[int]]]:
        """What each device does with boundaries, and those open after it, in order."""
        last, steps, after = self.problem.chunks.size, [], []
        open_now: list[int] = []
        for chunks in self.problem.chunks.tolist():
            own = [*chunks, *(c + 1 for c in chunks)]
            inner = [b for b in own if 0 < b < last]
            met = [(open_now.index(b), own.index(b)) for b in inner if b in open_now]
            closed = [
                (own.index(b), len(chunks) + chunks.index(b - 1))
                for b in chunks
                if b - 1 in chunks and b > 0
            ]
            opened = [b for b in inner if b not in open_now and inner.count(b) == 1]
            kept = [i for i, b in enumerate(open_now) if b not in own]
            opens = [own.index(b) for b in opened]
            steps.append(_Step(met=met, kept=kept, opened=opens, closed=closed))
            open_now = [open_now[i] for i in kept] + opened
            after.append(open_now)
        return steps, after

    def arcs(self) -> list[tuple[Ints, Ints, Index]]:
        """Per device: states before and after, and columns; only those on a way to the end."""
        states = np.zeros((1, len(self.amounts)), dtype=np.int64)
        found: list[tuple[Ints, Ints, Index]] = []
        for device in range(self.problem.devices):
            tails, columns, reached = self._reached(device, states)
            ids = row_ids(reached)
            _, first = np.unique(ids, return_index=True)
            states = reached[first]
            found.append((tails, ids, columns))
        return self._alive(found)

    def _alive(self, arcs: list[tuple[Ints, Ints, Index]]) -> list[tuple[Ints, Ints, Index]]:
        """Without arcs that lead nowhere; states numbered per device, the only end as the last."""
        size = max(int(heads.max(initial=0)) for _, heads, _ in arcs)
        wanted = np.zeros(size + 1, dtype=np.bool_)
        wanted[0] = True
        found = []
        for device, (tails, heads, columns) in reversed(list(enumerate(arcs))):
            keep = wanted[heads]
            ends = heads[keep] if device < len(arcs) - 1 else np.full(int(keep.sum()), size)
            found.append((tails[keep], ends, columns[keep]))
            wanted = np.zeros(size + 1, dtype=np.bool_)
            wanted[tails[keep]] = True
        return found[::-1]

    def _reached(self, device: int, states: Ints) -> tuple[Ints, Index, Ints]:
        """Every state with every column that agrees with it, and the state that they lead to."""
        step, own = self.steps[device], self._possible(device)
        bounds = np.concatenate(
            [self.problem.columns.starts[own], self.problem.columns.ends[own]], axis=1
        )
        met = [pair[0] for pair in step.met], [pair[1] for pair in step.met]
        both = row_ids(np.concatenate([states[:, met[0]], bounds[:, met[1]]]))
        tails, picks = _agreeing(both[: len(states)], both[len(states) :])
        used = states[tails, states.shape[1] - len(self.amounts) :] + self.use[own[picks]]
        reached = np.concatenate(
            [states[tails][:, step.kept], bounds[picks][:, step.opened], used], axis=1
        )
        keep = self._can_end(device, reached)
        return tails[keep], own[picks[keep]], reached[keep]

    def _possible(self, device: int) -> Index:
        """Columns of a device that agree with themselves and with both ends of the sequence."""
        columns, chunks = self.problem.columns, self.problem.chunks[device]
        own = self.of_device[device]
        bounds = np.concatenate([columns.starts[own], columns.ends[own]], axis=1)
        right = np.ones(len(own), dtype=np.bool_)
        for k in np.flatnonzero(chunks == 0):
            right &= bounds[:, k] == 0
        for k in np.flatnonzero(chunks == self.problem.chunks.size - 1):
            right &= bounds[:, len(chunks) + k] == self.problem.layers
        for begin, end in self.steps[device].closed:
            right &= bounds[:, begin] == bounds[:, end]
        return own[right]

    def _can_end(self, device: int, reached: Ints) -> Bools:
        """Which states leave what the devices to come can hold: of totals, and between boundaries.

        Between two neighbouring open boundaries with no chunk yet there is room for those chunks.
        """
        width = len(self.amounts)
        rest = self.amounts - reached[:, reached.shape[1] - width :]
        least, most = self.left[device]
        keep: Bools = np.all((rest >= least) & (rest <= most), axis=1)
        places = dict(zip(self.open[device], range(len(self.open[device])), strict=True))
        done = set(self.problem.chunks[: device + 1].ravel().tolist())
        fixed = {0: 0, self.problem.chunks.size: self.problem.layers}
        known = sorted({*places, *fixed})
        for low, high in pairwise(known):
            if low in done:
                continue
            at = [reached[:, places[b]] if b in places else fixed[b] for b in (low, high)]
            gap = at[1] - at[0]
            few, many = (side[high] - side[low] for side in self.before)
            keep &= (gap >= few) & (gap <= many)
        return keep


def _agreeing(left: Ints, right: Ints) -> tuple[Index, Index]:
    """All pairs of places where `left` and `right` are equal, by the place in `left`.

    Raises:
        ValueError: There are too many.
    """
    order = np.argsort(right, kind="stable")
    low = np.searchsorted(right[order], left)
    times = np.searchsorted(right[order], left, side="right") - low
    if times.sum() > MOST_ARCS:
        raise ValueError(
            f"{times.sum()} states and columns of one device are too many to unfold; allowed: "
            f"{MOST_ARCS}"
        )
    nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(np.arange(len(left)), times), order[np.repeat(low, times) + nth]
