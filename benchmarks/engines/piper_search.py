"""Piper's problem solved: windows of the largest TPS, and chains of any number of stages in each.

Sets of layers that end a pipeline are closed under successors; a state is such a set with the sum
of the data parallelisms of its stages. All choices of modes are enumerated: layers that save the
same memory are recomputed cheapest first. For peaks in (low, high] only, a stage with fewer
devices, no larger peak and room for as many samples makes another needless. Windows begin at the
bound sum of min t time / K and rise until one holds a path.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.piper import RELATIVE, Floats, Instance, Ints, Stage, closed_sets, nodes_of
from solvers.stages.free import Path, Steps, least_peak

_FIRST_WIDTH, _GROWTH = 0.02, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Stages without a data parallelism: no other choice of modes is faster with as much room.

    Attributes:
        sub, full: (x,) closed sets after the stage, and with it.
        tensor, work: (x,) t and the sum of times.
        room: (x,) largest y that fits.
        edge, weight: (x,) bytes over edges; of weights.
        counts: (x, k) how many layers of each class are recomputed.
    """

    sub: Ints
    full: Ints
    tensor: Ints
    work: Floats
    room: Ints
    edge: Floats
    weight: Floats
    counts: Ints

    def take(self, index: npt.NDArray[Any]) -> _Rows:
        """The rows of `index`."""
        return _Rows(**{name: getattr(self, name)[index] for name in self.__slots__})


def _classes(instance: Instance, t: int) -> list[Ints]:
    """Layers that save the same memory in their second mode, cheapest first."""
    growing, fixed, times = instance.growing[t], instance.fixed[t], instance.times[t]
    if growing.shape[1] == 1:
        return []
    if growing.shape[1] > 2 or np.any(times[:, 1] < times[:, 0]):
        raise ValueError("needs at most two modes per layer, the second no faster")
    saved = np.stack([growing[:, 0] - growing[:, 1], fixed[:, 0] - fixed[:, 1]], axis=1)
    kinds, of = np.unique(saved, axis=0, return_inverse=True)
    extra = times[:, 1] - times[:, 0]
    order = np.argsort(extra, kind="stable")
    own = of.reshape(-1)[order]
    useful = (kinds[:, 0] > 0) | (kinds.sum(axis=1) > 0)
    return [order[own == k] for k in np.flatnonzero(useful)]


def _rows(instance: Instance, sets: Sequence[int], t: int) -> _Rows:
    """All stages with tensor parallelism t."""
    bits = np.array([[own >> v & 1 for v in range(instance.nodes)] for own in sets], dtype=bool)
    masks = np.array(sets, dtype=object)
    sub, full = np.nonzero(((masks[:, None] & masks[None, :]) == masks[:, None]).astype(bool))
    proper = sub != full
    sub, full = sub[proper], full[proper]
    member = bits[full] & ~bits[sub]
    u, v = instance.edges.T
    edge = (member[:, v] & ~member[:, u]) @ instance.into[t]
    edge = edge + (member[:, u] & ~member[:, v]) @ instance.out_of[t]
    work = member @ instance.times[t][:, 0]
    a, b = member @ instance.growing[t][:, 0], member @ instance.fixed[t][:, 0]
    rows = np.arange(len(sub))
    counts = np.zeros((len(sub), 0), dtype=np.int64)
    for own in _classes(instance, t):
        inside = member[:, own]
        gained = np.cumsum(np.where(inside, np.diff(instance.times[t][own])[:, 0], 0.0), axis=1)
        chosen = inside.sum(axis=1)[rows]
        at = np.repeat(np.arange(len(rows)), chosen + 1)
        many = np.arange(len(at)) - np.repeat(np.cumsum(chosen + 1) - chosen - 1, chosen + 1)
        place = np.argsort(~inside, axis=1, kind="stable")
        ranked = np.take_along_axis(np.c_[gained, gained[:, -1]], np.c_[place, place[:, -1:]], 1)
        added = np.where(many > 0, ranked[rows[at], many - 1], 0.0)
        saved = instance.growing[t][own[0]], instance.fixed[t][own[0]]
        work = work[at] + added
        a, b = (
            a[at] + many * (saved[0][1] - saved[0][0]),
            b[at] + many * (saved[1][1] - saved[1][0]),
        )
        rows, counts = rows[at], np.c_[counts[at], many]
    left = instance.memory * (1 + RELATIVE) - b
    most = min(instance.samples, instance.devices) + 1
    room = np.where(left < a, 0, np.minimum(left / np.maximum(a, left / most + 1e-300), most))
    room = room.astype(np.int64)
    kept = _undominated(rows, work, room)
    rows = rows[kept]
    return _Rows(
        sub=sub[rows],
        full=full[rows],
        tensor=np.full(len(kept), t),
        work=work[kept],
        room=room[kept],
        edge=edge[rows],
        weight=(member @ instance.weights[t])[rows],
        counts=counts[kept],
    )


def _undominated(rows: Ints, work: Floats, room: Ints) -> Ints:
    """Indices with some room of which no other of the same row has less work and as much room."""
    order = np.lexsort((-room, work, rows))
    order = order[room[order] > 0]
    height = int(room.max(initial=0)) + 1
    reach = np.maximum.accumulate(rows[order] * height + room[order])
    first = np.r_[True, rows[order][1:] != rows[order][:-1]][: len(order)]
    kept: Ints = order[first | np.r_[True, reach[1:] > reach[:-1]][: len(order)]]
    return kept


def solve(instance: Instance) -> tuple[list[Stage], float, dict[str, float]]:
    """A best plan, the bound of the largest TPS, and counts.

    Raises:
        ValueError: No plan fits.
    """
    started = time.perf_counter()
    search = _Search(instance)
    plan, bound = search.run()
    counts = {"columns": float(search.columns), "seconds": time.perf_counter() - started}
    return plan, bound, counts


class _Search:
    """Windows of the largest TPS from its bound upwards."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.columns = instance, 0
        self.sets = closed_sets(instance)
        self.most = min(instance.samples, instance.devices)
        own = [_rows(instance, self.sets, t) for t in instance.times]
        width = max(rows.counts.shape[1] for rows in own)
        pad = [np.pad(rows.counts, ((0, 0), (0, width - rows.counts.shape[1]))) for rows in own]
        joined = {
            name: np.concatenate([getattr(rows, name) for rows in own])
            for name in _Rows.__slots__
            if name != "counts"
        }
        self.rows = _Rows(**joined, counts=np.concatenate(pad))
        least = np.min([t * times.min(axis=1) for t, times in instance.times.items()], axis=0)
        self.area = np.array([sum(least[v] for v in nodes_of(own)) for own in self.sets])
        self.rest = self.area[-1] - self.area

    def run(self) -> tuple[list[Stage], float]:
        """The plan and its bound."""
        self._expand()
        low, width = float(self.area[-1] / self.instance.devices), _FIRST_WIDTH
        worst = float(self.tps.max(initial=0.0))
        while True:
            high = low * (1 + width)
            steps, which = self._steps(low, high)
            self.columns = max(self.columns, len(which))
            found = least_peak(steps, self.instance.devices) if len(which) else None
            if found is not None and found.decision is not None:
                return self._plan(found.decision, which), found.bound
            if high >= worst:
                raise ValueError("no plan fits the memory")
            low, width = high, width * _GROWTH

    def _expand(self) -> None:
        """All data parallelisms of all rows."""
        instance, rows = self.instance, self.rows
        degrees = np.array([d for d in range(1, self.most + 1) if instance.samples % d == 0])
        row, place = np.nonzero(rows.tensor[:, None] * degrees[None, :] <= instance.devices)
        d = degrees[place]
        sent = rows.edge[row] / d + 4 * (d - 1) * rows.weight[row] / d / instance.samples
        self.tps = sent / instance.bandwidth + rows.work[row] / d
        self.row, self.d = row, d
        self.cap = np.minimum(d * (rows.room[row] - 1), self.most - d)

    def _items(self, low: float, high: float) -> tuple[Ints, Ints]:
        """Stages within a window, and the sum of d after them above which each is needed."""
        index = np.flatnonzero((self.tps <= high) & (self.cap >= 0))
        rows, peak = self.rows, np.maximum(self.tps, low)
        degree = int(rows.tensor.max()) + 1
        key = (rows.full[self.row] * len(self.sets) + rows.sub[self.row]) * degree
        key = key + rows.tensor[self.row]
        order = index[np.lexsort((-self.cap[index], peak[index], self.d[index], key[index]))]
        key, peak, cap = key[order], peak[order], self.cap[order]
        above = np.full(len(order), -1, dtype=np.int64)
        for shift in range(1, len(order)):
            same = key[shift:] == key[:-shift]
            if not same.any():
                break
            better = same & (peak[:-shift] <= peak[shift:])
            above[shift:] = np.maximum(above[shift:], np.where(better, cap[:-shift], -1))
        needed = above < cap
        return order[needed], above[needed]

    def _steps(self, low: float, high: float) -> tuple[Steps, Ints]:
        """Columns of a window through states that leave enough devices for the other layers."""
        items, above = self._items(low, high)
        rows, wide = self.rows, self.most + 1
        full = rows.full[self.row[items]]
        used = np.full((len(self.sets), wide), np.inf)
        used[0, 0] = 0
        left = np.floor(self.instance.devices - self.rest / high * (1 - RELATIVE))
        parts: list[tuple[Ints, Ints, Ints]] = []
        begins = np.searchsorted(full, np.arange(len(self.sets) + 1))
        for end in range(1, len(self.sets)):
            own = slice(begins[end], begins[end + 1])
            starts, ends, item = self._to(end, items[own], above[own], used, left[end])
            parts.append((starts, ends, item))
        starts, ends, item = (np.concatenate(part) for part in zip(*parts, strict=True))
        last = np.flatnonzero(np.isfinite(used[-1])) + (len(self.sets) - 1) * wide
        final = len(self.sets) * wide
        length = rows.tensor[self.row[item]] * self.d[item]
        steps = Steps(
            level=np.r_[np.repeat(np.arange(len(self.sets)), wide), len(self.sets)],
            starts=np.r_[starts, last],
            ends=np.r_[ends, np.full(len(last), final)],
            lengths=np.r_[length, np.zeros(len(last))].astype(np.float64),
            peaks=np.r_[np.maximum(self.tps[item], low), np.zeros(len(last))][:, None],
        )
        return steps, item

    def _to(
        self, end: int, items: Ints, above: Ints, used: Floats, left: float
    ) -> tuple[Ints, Ints, Ints]:
        """Columns to one closed set; fills the fewest devices of its states."""
        wide, row = self.most + 1, self.row[items]
        count = self.cap[items] - above
        at = np.repeat(np.arange(len(items)), count)
        s = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count) + above[at] + 1
        start = self.rows.sub[row][at] * wide + s
        devices = used.reshape(-1)[start] + (self.rows.tensor[row] * self.d[items])[at]
        fits = devices <= left
        at, start, devices = at[fits], start[fits], devices[fits]
        after = s[fits] + self.d[items][at]
        np.minimum.at(used[end], after, devices)
        return start, end * wide + after, items[at]

    def _plan(self, path: Path, which: Ints) -> list[Stage]:
        """Stages from the first layer to the last: paths lead from the end of the pipeline."""
        stages = []
        for item in which[path.columns[:-1]][::-1].tolist():
            row = self.row[item]
            t = int(self.rows.tensor[row])
            nodes = nodes_of(self.sets[self.rows.full[row]] & ~self.sets[self.rows.sub[row]])
            again: set[int] = set()
            for own, many in zip(_classes(self.instance, t), self.rows.counts[row], strict=False):
                again.update(itertools.islice((v for v in own.tolist() if v in nodes), many))
            modes = tuple(int(v in again) for v in nodes)
            stages.append(Stage(nodes=nodes, data=int(self.d[item]), tensor=t, modes=modes))
        return stages
