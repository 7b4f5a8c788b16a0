"""What pairs of ranks with both directions may hold: the columns of a row, from the cost model.

Ranks d and pp - 1 - d hold the same two chunks, d (the near one of the pair) and pp - 1 - d. Time
and joules depend on the layers of a pair by kind and recomputation; memory also on which of them
are on the near chunk, that holds most micro-batches: least where it has as few layers as its states
(`solvers.stages.sequence`) and the sum of both leave it, of each kind those that keep least. Which
mixes of recomputation fit then is decided by the cost model. Of the ways to divide a mix that fits,
all of which take as long by the closed form, chunks of the most equal size are taken.

The closed form sees the sum of a pair's chunks alone, and falls short where one of them is much
longer, by up to 20 % of a simulation. So where layers per chunk are not given, chunks of a pair
differ by at most a layer or a quarter of both: with times per layer that are alike it is then 3 %
below to 11 % above the simulation, 10 % below with a layer or two per chunk.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, BoolArray, FloatArray, IntArray, distinct, ranges
from planner.search.deadline import Deadline
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.columns.places import Place
from planner.search.uneven.columns.selection import ways
from planner.search.uneven.columns.stage_choices import OneRow, PairCosts, StageChoices
from planner.search.uneven.terms import KINDS
from solvers.stages.device_columns import chunk_segments, joined
from solvers.stages.devices import DeviceColumns, Layout
from solvers.stages.fillings import row_ids
from solvers.stages.problem import Columns, Form
from solvers.stages.pruning import best_of_equals
from solvers.stages.sequence import StateSegments, layer_states

PEAKS = ("paced", "over", "exposed", "optimizer")
_SUMS = ("early", "late")
_QUARTER = 4
_AT_A_TIME = 200_000  # choices whose bytes are in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixes(ArrayRecord):
    """Layers of a pair by recomputation, with how they run.

    Attributes:
        choices: c of them, every clock of a mix after the other.
        costs: Of each.
        vector: (c,) which of the totals by kind each divides.
    """

    choices: StageChoices
    costs: PairCosts
    vector: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the two chunks of a pair may hold together.

    Attributes:
        starts, ends: (n, 2) states, as of `Columns`.
        use: (n, u) layers of each repeating stretch.
        near: (n, 2) fewest layers on the near chunk by kind; contents may differ in them alone.
        vector: (n,) row of `vectors`.
        vectors: (q, 2) distinct layers of both by kind.
        others: (o, 2) every number of layers on the near chunk, by content, the most equal first.
        first: (n + 1,) where those of a content begin.
    """

    starts: IntArray
    ends: IntArray
    use: IntArray
    near: IntArray
    vector: IntArray
    vectors: IntArray
    others: IntArray
    first: IntArray

    @staticmethod
    def of(near: StateSegments, far: StateSegments, allowed: BoolArray, *, alike: bool) -> Contents:
        """Of pairs of segments with an (a, b) number of layers by kind that is allowed.

        Args:
            near, far: What each chunk may have.
            allowed: By number of layers of each kind.
            alike: Whether chunks have about as many layers each; see the module.
        """
        total = near.counts[:, None] + far.counts[None]
        inside = np.all(total < allowed.shape, axis=2)
        if alike:
            apart = near.counts.sum(axis=1)[:, None] - far.counts.sum(axis=1)[None]
            inside &= np.abs(apart) <= np.maximum(total.sum(axis=2) // _QUARTER, 1)
        total = np.minimum(total, np.array(allowed.shape) - 1)
        i, j = np.nonzero(inside & allowed[total[..., 0], total[..., 1]])
        starts = np.stack([near.start[i], far.start[j]], axis=1)
        ends = np.stack([near.end[i], far.end[j]], axis=1)
        use = near.use[i] + far.use[j]
        same = row_ids(np.hstack([starts, ends, use, total[i, j]]))
        keep = _fewest(same, near.counts[i])
        vectors, vector = np.unique(total[i, j][keep], axis=0, return_inverse=True)
        apart = np.abs(near.counts[i] - far.counts[j]).sum(axis=1)
        order = np.lexsort((apart, same))
        begins = np.searchsorted(same[order], same[keep])
        count = np.searchsorted(same[order], same[keep], side="right") - begins
        first = np.concatenate([[0], np.cumsum(count)])
        others = near.counts[i][order[ranges(begins, count)]]
        return Contents(
            starts=starts[keep],
            ends=ends[keep],
            use=use[keep],
            near=near.counts[i][keep],
            vector=vector.ravel(),
            vectors=vectors.reshape(-1, len(KINDS)),
            others=others,
            first=first,
        )


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The pairs of a row.

    Attributes:
        one: The row, with the clocks that stages may choose from.
        forms: Its bounds.
        limit_bytes: Per chip.
        upper_s: Plans that take longer are not wanted.
        units: Of the integers.
        energy: Whether joules count.
        every: Keep also what others beat (where more time may be better).
        deadline: When to give up.
    """

    one: OneRow
    forms: RowForms
    limit_bytes: float
    upper_s: float
    units: Units
    energy: bool
    every: bool
    deadline: Deadline

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

        Raises:
            OutOfTime: The deadline passed.
        """
        if self.layout is None:
            return None
        segments = chunk_segments(self.layout)
        offers = []
        for d, (near, far) in enumerate(self.layout.chunks.tolist()):
            self.deadline.check()
            some = segments[near], segments[far]
            contents = Contents.of(*some, self._allowed[d], alike=self.layout.sizes is None)
            mixed = self._mixes(d, contents.vectors)
            if not len(mixed.vector):
                return None
            offers.append((contents, mixed))
        forms = self._forms([mixed.costs for _, mixed in offers])
        found = [self._pair(d, *offer, forms) for d, offer in enumerate(offers)]
        return (joined(found), forms) if all(len(one.columns) for one in found) else None

    @cached_property
    def _allowed(self) -> BoolArray:
        """(n, a, b) whether a pair may have so many layers of each kind within the time.

        What it leaves is what the other pairs can hold.
        """
        kinds = self.one.model.job.model.layer_kinds
        totals = [kinds.count(kind) for kind in KINDS]
        dense, moe = np.indices([total + 1 for total in totals])
        pairs = self.one.pp // 2
        time = dense * self._least_layer[0] + moe * self._least_layer[1]
        ends = np.where(np.arange(pairs) == 0, self.forms.ends[0].sum(), 0.0)
        soon = time[None] + ends[:, None, None] <= self._most_s * (1 + 1e-9)
        layers = np.where(soon, (dense + moe)[None], 0)
        most = layers.max(axis=(1, 2))
        fewest = np.where(np.arange(pairs) == 0, 0, 2)
        least = sum(totals) - (most.sum() - most)
        largest = sum(totals) - (fewest.sum() - fewest)
        within = (layers >= least[:, None, None]) & (layers <= largest[:, None, None])
        return np.asarray(soon & within)

    def _place(self, d: int) -> Place:
        return Place(position=d, first=d == 0, last=d == 0)

    def _mixes(self, d: int, vectors: IntArray) -> Mixes:
        """Every way to run layers within the time."""
        parts = [ways(self.one, vector, 0 * vector) for vector in vectors]
        none = np.zeros((0, len(KINDS), len(self.one.rows.recomputes)), dtype=np.int64)
        counts = np.concatenate([none, *parts])
        vector = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        shardings = np.flatnonzero(self.one.rows.shardings[0])
        clocks = np.arange(len(self.one.terms.clocks))
        copies = len(shardings) * len(clocks)
        choices = StageChoices(
            counts=np.repeat(counts, copies, axis=0),
            sharding=np.tile(np.repeat(shardings, len(clocks)), len(counts)),
            clock=np.tile(clocks, len(counts) * len(shardings)),
            spread=np.zeros(len(counts) * copies, dtype=np.bool_),
        )
        costs = self.one.pair_costs(self._place(d), choices)
        found = Mixes(choices=choices, costs=costs, vector=np.repeat(vector, copies))
        return found.take(np.flatnonzero(costs.time <= self._most_s * (1 + 1e-9)))

    def _forms(self, costs: list[PairCosts]) -> tuple[Form, ...]:
        """The forms of the time, without one that is never the larger."""
        constant = int(self._whole(self.one.model.assumptions.step_s))
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
        self, d: int, contents: Contents, mixed: Mixes, forms: tuple[Form, ...]
    ) -> DeviceColumns:
        """The columns of a pair: contents with mixes that fit and that no other beats."""
        self.deadline.check()
        content, mix = self._fitting(d, contents, mixed, forms)
        choices, costs = mixed.choices.take(mix), mixed.costs.take(mix)
        near = self._on_near(d, self._most_equal(d, contents, content, choices), choices.counts)
        columns = Columns(
            device=np.full(len(content), d, dtype=np.int64),
            starts=contents.starts[content],
            ends=contents.ends[content],
            group=np.zeros(len(content), dtype=np.int64),
            sums=np.concatenate([self._sums(costs), contents.use[content]], axis=1),
            peaks=self._peaks(costs),
        )
        return DeviceColumns(
            columns=columns,
            setting=choices.sharding * len(self.one.terms.clocks) + choices.clock,
            counts=np.stack([near, choices.counts - near], axis=1),
        )

    def _most_equal(
        self, d: int, contents: Contents, content: IntArray, choices: StageChoices
    ) -> IntArray:
        """(c, 2) layers of each kind on the near chunk of contents with choices that fit."""
        near = contents.near[content]
        left = np.arange(len(content))
        for nth in range(int(np.diff(contents.first).max(initial=0))):
            at = contents.first[content[left]] + nth
            there = at < contents.first[content[left] + 1]
            left, at = left[there], at[there]
            if not len(left):
                break
            fits = self._fits(d, contents.others[at], choices.take(left))
            near[left[fits]] = contents.others[at[fits]]
            left = left[~fits]
        return near

    def _sums(self, costs: PairCosts) -> IntArray:
        """(c, 3) early, late, joules."""
        joules = costs.extra_j if self.energy else 0.0 * costs.extra_j
        seconds = [self._whole(getattr(costs, name)) for name in _SUMS]
        return np.stack([*seconds, self.units.of_joules(joules)], axis=1)

    def _peaks(self, costs: PairCosts) -> IntArray:
        """(c, 4) `PEAKS`."""
        seconds = [getattr(costs, name) for name in PEAKS]
        if not self.one.model.assumptions.bubbles:
            seconds[0] = costs.round
        return np.stack([self._whole(each) for each in seconds], axis=1)

    def _whole(self, seconds: FloatArray | float) -> IntArray:
        return self.units.of_seconds(seconds, self.one.factor)

    def _fitting(
        self, d: int, contents: Contents, mixed: Mixes, forms: tuple[Form, ...]
    ) -> tuple[IntArray, IntArray]:
        """Contents with mixes that fit and that no other that fits beats: rows of both."""
        order = np.argsort(mixed.vector, kind="stable")
        ends = np.searchsorted(mixed.vector[order], np.arange(len(contents.vectors) + 1))
        own = [order[ends[v] : ends[v + 1]] for v in contents.vector.tolist()]
        content = np.repeat(np.arange(len(own)), [len(rows) for rows in own])
        mix = np.concatenate([order[:0], *own])
        fits = np.flatnonzero(self._fits(d, contents.near[content], mixed.choices.take(mix)))
        content, mix = content[fits], mix[fits]
        if self.every or not len(content):
            return content, mix
        keep = best_of_equals(content[:, None], self._values(mixed.costs, forms)[mix])
        return content[keep], mix[keep]

    def _values(self, costs: PairCosts, forms: tuple[Form, ...]) -> IntArray:
        """(c, k) what counts, in whole units; less of each is better."""
        summed = np.any([form.sums or (0, 0) for form in forms], axis=0)
        peaked = np.any([form.peaks for form in forms], axis=0)
        used = np.concatenate([summed, [self.energy], peaked])
        return np.asarray(np.hstack([self._sums(costs), self._peaks(costs)])[:, used])

    def _fits(self, d: int, near: IntArray, choices: StageChoices) -> BoolArray:
        """(c,) choices within memory with so many layers of each kind on the near chunk.

        Clocks of one mix hold the same.
        """
        modes = choices.counts.reshape(len(choices), len(KINDS) * choices.counts.shape[2])
        first, which = distinct([*near.T, *modes.T, choices.sharding])
        ok = np.zeros(len(first), dtype=np.bool_)
        for at in np.array_split(np.arange(len(first)), len(first) // _AT_A_TIME + 1):
            self.deadline.check()
            rows = first[at]
            few = choices.take(rows)
            on_near = self._on_near(d, near[rows], few.counts)
            chunks = np.stack([on_near, few.counts - on_near], axis=1)
            held = self.one.bytes_of(self._place(d), few, chunks)
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


def _fewest(same: IntArray, near: IntArray) -> IntArray:
    """Rows with no other of the same number that has no more of each kind on the near chunk."""
    order = np.lexsort((near[:, 1], near[:, 0], same))
    keys, second = same[order], near[order, 1]
    below = np.minimum.accumulate(second - keys * (1 + int(second.max(initial=0))))
    keep = np.ones(len(order), dtype=np.bool_)
    keep[1:] = below[1:] < below[:-1]
    return np.sort(order[keep])
