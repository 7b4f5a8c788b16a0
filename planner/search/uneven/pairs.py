"""What pairs of ranks of DualPipe may hold: the columns of a row, from the cost model.

Ranks d and pp - 1 - d hold the same two chunks, d (the near one of the pair) and pp - 1 - d. Time
and joules depend on the layers of a pair by kind and recomputation; memory also on which of them are
on the near chunk, that holds most micro-batches. So of the layers of a kind on the near chunk
those are recomputed that keep least: any other way takes more memory and no less time. Which mixes
of recomputation fit is decided by the cost model, for every number of layers of each kind there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.cost.context import CostModel
from planner.distinct import distinct
from planner.plan import BoolArray, FloatArray, IntArray
from planner.search.uneven.bounds import RowForms, row_forms
from planner.search.uneven.fills import Fills, OneRow, PairCosts, Place
from planner.search.uneven.packing import mixes
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, row_terms
from solvers.frontier import nondominated
from solvers.stages.device_columns import chunk_segments, joined
from solvers.stages.devices import DeviceColumns, Layout
from solvers.stages.problem import Columns, Form
from solvers.stages.sequence import StateSegments, layer_states

PEAKS = ("paced", "over", "exposed", "optimizer")
_SUMS = ("early", "late")
_AT_A_TIME = 200_000  # fills whose bytes are in memory at once
MOST_COLUMNS = 5_000_000
"""Of one pair, beyond which memory does not suffice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixes:
    """Layers of a pair by recomputation, with how they run.

    Attributes:
        fills: c of them, every clock of a mix after the other.
        costs: Of each.
        vector: (c,) which of the totals by kind each divides.
    """

    fills: Fills
    costs: PairCosts
    vector: IntArray

    def take(self, index: IntArray) -> Mixes:
        """Some of them."""
        return Mixes(
            fills=self.fills.take(index), costs=self.costs.take(index), vector=self.vector[index]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """How many layers the two chunks of a pair may have.

    Attributes:
        near, far: (n, 2) by kind.
        vector: (n,) row of `vectors`.
        vectors: (q, 2) distinct sums of both.
    """

    near: IntArray
    far: IntArray
    vector: IntArray
    vectors: IntArray


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The pairs of a row.

    Attributes:
        one: The row, with the clocks that stages may choose from.
        forms: Its bounds.
        limit_bytes: Per chip.
        upper_s: Plans that take longer are not wanted.
        time_s, joules: Units of the integers.
        energy: Whether joules count.
        every: Keep also what others beat (where more time may be better).
    """

    one: OneRow
    forms: RowForms
    limit_bytes: float
    upper_s: float
    time_s: float
    joules: float
    energy: bool
    every: bool

    @staticmethod
    def bounds(model: CostModel, rows: Rows) -> RowForms:
        """`forms` of some rows."""
        return row_forms(model, rows, row_terms(model, rows, model.clocks(wanted=False)))

    @cached_property
    def layout(self) -> Layout | None:
        """The chunks of all pairs; None where no plan is soon enough."""
        one, layers = self.one, self.one.model.job.model.layer_kinds
        pp, sizes = one.pp, one.rows.layers
        tau = float(np.min(self._least_layer[self._least_layer > 0]))
        most = min(int(self._most_s / tau * (1 + 1e-9)), len(layers))
        if most < max(sizes or (1,)) or most * pp < len(layers):
            return None
        near = np.arange(pp // 2)
        kinds = tuple(KINDS.index(kind) for kind in layers)
        return Layout(
            states=layer_states(kinds, kinds=len(KINDS)),
            chunks=np.stack([near, pp - 1 - near], axis=1),
            most_layers=most,
            all_columns=self.every,
            sizes=None if sizes is None else np.array(sizes),
        )

    @cached_property
    def _least_layer(self) -> FloatArray:
        """(2,) seconds that a layer of each kind adds to a round at least."""
        return np.asarray(self.forms.layer[0].min(axis=(1, 2)))

    @property
    def _most_s(self) -> float:
        """Seconds that a round of a pair may take."""
        return float(self.forms.slowest_within(self.upper_s)[0])

    def columns(self) -> tuple[DeviceColumns, tuple[Form, ...]] | None:
        """The columns of all pairs and the forms of the time; None where a pair has none.

        Sums are early, late and joules, peaks `PEAKS`, in whole units (see `PairCosts`);
        without bubbles the first peak is all rounds of the slowest pair.
        """
        if self.layout is None:
            return None
        segments = chunk_segments(self.layout)
        offers = []
        for d, (near, far) in enumerate(self.layout.chunks.tolist()):
            contents = self._contents(d, segments[near], segments[far])
            mixed = self._mixes(d, contents.vectors)
            if not len(mixed.vector):
                return None
            offers.append((contents, mixed))
        forms = self._forms([mixed.costs for _, mixed in offers])
        found = []
        for d, (contents, mixed) in enumerate(offers):
            near, far = (segments[chunk] for chunk in self.layout.chunks[d].tolist())
            made = self._pair(d, contents, mixed, near, far, forms)
            if not len(made.columns):
                return None
            found.append(made)
        return joined(found), forms

    def _place(self, d: int) -> Place:
        return Place(position=d, first=d == 0, last=d == 0)

    def _contents(self, d: int, near: StateSegments, far: StateSegments) -> Contents:
        """What both chunks may have within the time."""
        kinds = [np.unique(chunk.counts, axis=0) for chunk in (near, far)]
        of = [np.repeat(kinds[0], len(kinds[1]), axis=0), np.tile(kinds[1], (len(kinds[0]), 1))]
        total = of[0] + of[1]
        time = total @ self._least_layer + (self.forms.ends[0].sum() if d == 0 else 0.0)
        layers = self.one.model.job.model.layer_kinds
        there = np.all(total <= [layers.count(kind) for kind in KINDS], axis=1)
        keep = np.flatnonzero((time <= self._most_s * (1 + 1e-9)) & there)
        vectors, vector = np.unique(total[keep], axis=0, return_inverse=True)
        return Contents(
            near=of[0][keep],
            far=of[1][keep],
            vector=vector.ravel(),
            vectors=vectors.reshape(-1, len(KINDS)),
        )

    def _mixes(self, d: int, vectors: IntArray) -> Mixes:
        """Every way to run layers within the time."""
        modes = len(self.one.rows.recomputes)
        parts = [mixes(vector, modes) for vector in vectors]
        none = np.zeros((0, len(KINDS), modes), dtype=np.int64)
        counts = np.concatenate([none, *parts])
        vector = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        shardings = np.flatnonzero(self.one.rows.shardings[0])
        clocks = np.arange(len(self.one.terms.clocks))
        ways = len(shardings) * len(clocks)
        fills = Fills(
            counts=np.repeat(counts, ways, axis=0),
            sharding=np.tile(np.repeat(shardings, len(clocks)), len(counts)),
            clock=np.tile(clocks, len(counts) * len(shardings)),
        )
        costs = self.one.pair_costs(self._place(d), fills)
        found = Mixes(fills=fills, costs=costs, vector=np.repeat(vector, ways))
        return found.take(np.flatnonzero(costs.time <= self._most_s * (1 + 1e-9)))

    def _forms(self, costs: list[PairCosts]) -> tuple[Form, ...]:
        """The forms of the time, without one that is never the larger."""
        constant = int(self.one.model.assumptions.step_s * self.one.factor / self.time_s)
        early = Form(constant=constant, sums=(1, 0), peaks=(1, 0, 1, 1))
        late = Form(constant=constant, sums=(0, 1), peaks=(1, 1, 1, 1))
        if not self.one.model.assumptions.bubbles:
            return (Form(constant=constant, peaks=(1, 0, 1, 1)),)
        ahead = [cost.early - cost.late for cost in costs]
        if sum(map(np.max, ahead)) <= max(np.min(cost.over) for cost in costs):
            return (late,)
        if sum(map(np.min, ahead)) >= max(np.max(cost.over) for cost in costs):
            return (early,)
        return early, late

    def _pair(
        self,
        d: int,
        contents: Contents,
        mixed: Mixes,
        near: StateSegments,
        far: StateSegments,
        forms: tuple[Form, ...],
    ) -> DeviceColumns:
        """The columns of a pair: contents with mixes that fit, wherever chunks have their kinds."""
        content, mix = self._fitting(d, contents, mixed, forms)
        first, at_near = _rows_with(contents.near[content], near.counts)
        content, mix = content[first], mix[first]
        second, at_far = _rows_with(contents.far[content], far.counts)
        content, mix, at_near = content[second], mix[second], at_near[second]
        if len(content) > MOST_COLUMNS:
            raise ValueError(
                f"{len(content)} columns of one pair are too many; allowed: {MOST_COLUMNS} (give "
                "a tighter time limit)"
            )
        fills = mixed.fills.take(mix)
        on_near = self._on_near(d, contents.near[content], fills.counts)
        costs = mixed.costs.take(mix)
        use = near.use[at_near] + far.use[at_far]
        columns = Columns(
            device=np.full(len(content), d, dtype=np.int64),
            starts=np.stack([near.start[at_near], far.start[at_far]], axis=1),
            ends=np.stack([near.end[at_near], far.end[at_far]], axis=1),
            group=np.zeros(len(content), dtype=np.int64),
            sums=np.concatenate([self._sums(costs), use], axis=1),
            peaks=self._peaks(costs),
        )
        ways = fills.sharding * len(self.one.terms.clocks) + fills.clock
        counts = np.stack([on_near, fills.counts - on_near], axis=1)
        return DeviceColumns(columns=columns, setting=ways, counts=counts)

    def _sums(self, costs: PairCosts) -> IntArray:
        """(c, 3) early, late, joules."""
        joules = costs.extra_j if self.energy else 0.0 * costs.extra_j
        seconds = [self._whole(getattr(costs, name)) for name in _SUMS]
        return np.stack([*seconds, np.floor(joules / self.joules).astype(np.int64)], axis=1)

    def _peaks(self, costs: PairCosts) -> IntArray:
        """(c, 4) `PEAKS`."""
        seconds = [getattr(costs, name) for name in PEAKS]
        if not self.one.model.assumptions.bubbles:
            seconds[0] = costs.round
        return np.stack([self._whole(each) for each in seconds], axis=1)

    def _whole(self, seconds: FloatArray) -> IntArray:
        return np.floor(seconds * self.one.factor / self.time_s).astype(np.int64)

    def _fitting(
        self, d: int, contents: Contents, mixed: Mixes, forms: tuple[Form, ...]
    ) -> tuple[IntArray, IntArray]:
        """Contents with mixes that fit and that no other that fits beats: rows of both."""
        values = self._values(mixed.costs, forms)
        order = np.argsort(mixed.vector, kind="stable")
        ends = np.searchsorted(mixed.vector[order], np.arange(len(contents.vectors) + 1))
        own = [order[ends[v] : ends[v + 1]] for v in contents.vector.tolist()]
        content = np.repeat(np.arange(len(own)), [len(rows) for rows in own])
        mix = np.concatenate(own) if own else order
        fits = self._fits(d, contents.near[content], mixed.fills.take(mix))
        best: dict[tuple[int, bytes], IntArray] = {}
        kept: list[IntArray] = []
        start = 0
        for number, rows in enumerate(own):
            inside = rows[fits[start : start + len(rows)]]
            start += len(rows)
            key = (int(contents.vector[number]), inside.tobytes())
            if key not in best:
                best[key] = inside if self.every else inside[nondominated(values[inside])]
            kept.append(best[key])
        rows = np.repeat(np.arange(len(own)), [len(some) for some in kept])
        return rows, np.concatenate(kept) if kept else order

    def _values(self, costs: PairCosts, forms: tuple[Form, ...]) -> FloatArray:
        """(c, k) what counts; less of each is better."""
        summed = np.any([form.sums or (0, 0) for form in forms], axis=0)
        peaked = np.any([form.peaks for form in forms], axis=0)
        names = [name for name, used in zip(_SUMS, summed, strict=True) if used]
        names += [name for name, used in zip(PEAKS, peaked, strict=True) if used]
        names += ["extra_j"] if self.energy else []
        return np.stack([getattr(costs, name) for name in names], axis=1)

    def _fits(self, d: int, near: IntArray, fills: Fills) -> BoolArray:
        """(c,) fills within memory with so many layers of each kind on the near chunk.

        Clocks of one mix hold the same.
        """
        modes = fills.counts.reshape(len(fills), -1)
        first, which = distinct([*near.T, *modes.T, fills.sharding])
        ok = np.zeros(len(first), dtype=np.bool_)
        for at in np.array_split(np.arange(len(first)), len(first) // _AT_A_TIME + 1):
            rows = first[at]
            few = fills.take(rows)
            held = self.one.bytes_of(self._place(d), few, self._on_near(d, near[rows], few.counts))
            ok[at] = held.total[0] <= self.limit_bytes
        return ok[which]

    def _on_near(self, d: int, near: IntArray, counts: IntArray) -> IntArray:
        """(c, 2, r) the layers of the near chunk: of (c, 2) so many those that keep least."""
        kept = self.one.kept(self._place(d)).reshape(len(KINDS), -1)
        order = np.argsort(kept, axis=1, kind="stable")[None]
        layers = np.take_along_axis(counts, order, axis=2)
        before = np.cumsum(layers, axis=2) - layers
        taken = np.clip(near[:, :, None] - before, 0, layers)
        found = np.empty_like(counts)
        np.put_along_axis(found, np.broadcast_to(order, counts.shape), taken, axis=2)
        return found


def _rows_with(wanted: IntArray, kinds: IntArray) -> tuple[IntArray, IntArray]:
    """Every wanted (n, 2) row with every equal one of (s, 2) `kinds`: the numbers of both."""
    size = int(max(kinds.max(initial=0), wanted.max(initial=0))) + 1
    keys = [rows[:, 0] * size + rows[:, 1] for rows in (wanted, kinds)]
    order = np.argsort(keys[1], kind="stable")
    low = np.searchsorted(keys[1][order], keys[0])
    times = np.searchsorted(keys[1][order], keys[0], side="right") - low
    nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(np.arange(len(wanted)), times), order[np.repeat(low, times) + nth]
