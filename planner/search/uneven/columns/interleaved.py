"""What devices with several chunks may hold: the columns of an interleaved row.

T v = (m v - 1) max D + sum (v C + ends) + ...: D is all of a device's time, C its longest chunk,
ends what embedding and head take there. How many layers the chunks of a device have, and in which
two ways those that recompute are dealt out, `planner.search.uneven.aligned` says from how many the
device has in all. What they are depends on where they begin, in the states of
`solvers.stages.sequence`: columns are all ways to recompute them, with sharding and clock, that
fit.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, BoolArray, IntArray, ranges
from planner.plan import FULL, NO_RECOMPUTE
from planner.search.uneven.aligned import dealt, device_sizes, given_sizes, spread
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.columns.selection import Offer, Packing, place_of, ways
from planner.search.uneven.columns.stage_choices import OneRow, StageChoices
from planner.search.uneven.terms import KINDS
from solvers.stages.device_columns import joined
from solvers.stages.devices import DeviceColumns, Layout
from solvers.stages.problem import Columns, TooManyColumnsError
from solvers.stages.sequence import LayerStates, StateSegments, layer_states

MOST_COLUMNS = 5_000_000
"""Of one device, beyond which memory does not suffice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents(ArrayRecord):
    """Layers that the chunks of a device may have.

    Attributes:
        starts, ends: (g, v) states before the first layer of each chunk and after its last.
        use: (g, u) layers of each repeating stretch.
        kinds: (g, v, 2) layers of each kind.
    """

    starts: IntArray
    ends: IntArray
    use: IntArray
    kinds: IntArray

    def with_chunk(self, segments: StateSegments) -> Contents:
        """Each with every way to take the layers of one more chunk.

        Raises:
            TooManyColumnsError: There are too many.
        """
        one, more = len(self.use), len(segments)
        if one * more > MOST_COLUMNS:
            raise TooManyColumnsError(
                f"{one * more} contents of one device are too many; allowed: {MOST_COLUMNS} (give "
                "a smaller interleave)"
            )
        old, new = np.repeat(np.arange(one), more), np.tile(np.arange(more), one)
        pairs = (
            (self.starts, segments.start),
            (self.ends, segments.end),
            (self.kinds, segments.counts),
        )
        starts, ends, kinds = (
            np.concatenate([held[old], added[new][:, None]], axis=1) for held, added in pairs
        )
        return Contents(
            starts=starts, ends=ends, use=self.use[old] + segments.use[new], kinds=kinds
        )


@dataclass(frozen=True, kw_only=True)
class InterleavedRow:
    """The devices of a row with several chunks each.

    Attributes:
        packing: Of the row.
        units: Of the integers: of v times the seconds, of joules.
        energy: Whether joules are summed; else 0.
    """

    packing: Packing
    units: Units
    energy: bool
    _of_size: dict[int, StateSegments] = field(init=False, default_factory=dict)

    @property
    def one(self) -> OneRow:
        """The row."""
        return self.packing.one

    @cached_property
    def states(self) -> LayerStates:
        """The layers of the model in order."""
        kinds = self.one.model.job.model.layer_kinds
        return layer_states(tuple(KINDS.index(kind) for kind in kinds), kinds=len(KINDS))

    @cached_property
    def sizes(self) -> list[IntArray]:
        """Per device (o, v) layers that its chunks may have."""
        given, pp, v = self.one.rows.layers, self.one.pp, self.one.v
        if given is not None:
            return [given_sizes(given, pp, device) for device in range(pp)]
        layers, fullest = self.states.layers, int(self.one.rows.fullest[0])
        return [device_sizes(layers, pp, v, fullest, device) for device in range(pp)]

    @property
    def layout(self) -> Layout:
        """Which chunks are on which device."""
        pp, v = self.one.pp, self.one.v
        return Layout(
            states=self.states,
            chunks=np.arange(pp * v).reshape(v, pp).T.copy(),
            most_layers=max(int(sizes.max()) for sizes in self.sizes),
        )

    @cached_property
    def boundaries(self) -> BoolArray:
        """(pp v + 1, states + 1) the states that each boundary between chunks may have."""
        fewest, most = (
            np.array([pick(sizes, axis=0) for sizes in self.sizes]).T.ravel()
            for pick in (np.min, np.max)
        )
        before = [np.concatenate([[0], np.cumsum(sizes)]) for sizes in (fewest, most)]
        after = [sizes[-1] - sizes for sizes in before]
        layers = self.states.layers
        earliest = np.maximum(before[0], layers - after[1])[:, None]
        latest = np.minimum(before[1], layers - after[0])[:, None]
        place = np.arange(layers + 1)
        inside = (place >= earliest) & (place <= latest)
        found = np.zeros((len(inside), self.states.end + 1), dtype=np.bool_)
        boundary, at = np.nonzero(inside)
        found[boundary, self._state[at]] = True
        return found

    @cached_property
    def _state(self) -> IntArray:
        """(L + 1,) the state at each position."""
        parts = [
            stretch.state + np.arange(stretch.length) % len(stretch.pattern)
            for stretch in self.states.stretches
        ]
        return np.concatenate([*parts, [self.states.end]])

    def columns(self) -> DeviceColumns | None:
        """The columns of all devices, `setting` sharding and clock; None where one has none.

        Sums: v C + ends, joules. Peaks: D, exposed, optimizer; see the module.

        Raises:
            TooManyColumnsError: A device has too many.
            OutOfTime: The deadline passed.
        """
        parts = []
        for device in range(self.one.pp):
            part = self._device(device)
            if part is None:
                return None
            parts.append(part)
        return joined(parts)

    def _device(self, device: int) -> DeviceColumns | None:
        """The columns of a device."""
        self.packing.deadline.check()
        contents = self._contents(device)
        rows = contents.kinds.reshape(len(contents.kinds), -1)
        kinds, content = np.unique(rows, axis=0, return_inverse=True)
        offer = self._offer(device, kinds.reshape(len(kinds), self.one.v, len(KINDS)))
        times = np.bincount(content.ravel(), minlength=len(kinds))[offer.vector]
        if times.sum() == 0:
            return None
        if times.sum() > MOST_COLUMNS:
            raise TooManyColumnsError(
                f"{times.sum()} columns of one device are too many; allowed: {MOST_COLUMNS} (give "
                "a tighter time limit)"
            )
        order = np.argsort(content.ravel(), kind="stable")
        low = np.searchsorted(content.ravel()[order], offer.vector)
        at = order[ranges(low, times)]
        offer = offer.take(np.repeat(np.arange(len(times)), times))
        return self._whole_columns(device, contents, at, offer)

    def _contents(self, device: int) -> Contents:
        """All contents of a device that lie within the boundaries of its chunks."""
        stretches = len(self.states.lengths)
        parts = []
        for sizes in self.sizes[device].tolist():
            found = Contents(
                starts=np.zeros((1, 0), dtype=np.int64),
                ends=np.zeros((1, 0), dtype=np.int64),
                use=np.zeros((1, stretches), dtype=np.int64),
                kinds=np.zeros((1, 0, len(KINDS)), dtype=np.int64),
            )
            for chunk, size in enumerate(sizes):
                self.packing.deadline.check()
                found = found.with_chunk(self._segments(chunk * self.one.pp + device, size))
            parts.append(found)
        return Contents.joined(parts)

    def _segments(self, chunk: int, size: int) -> StateSegments:
        """The layers that a chunk of some size may have."""
        if size not in self._of_size:
            self._of_size[size] = self.states.segments(size, size)
        segments = self._of_size[size]
        inside = self.boundaries[chunk, segments.start] & self.boundaries[chunk + 1, segments.end]
        return segments.take(np.flatnonzero(inside))

    def _offer(self, device: int, kinds: IntArray) -> Offer:
        """The choices of a device; `vector` is the row of (g, v, 2) `kinds` that they divide."""
        packing, place = self.packing, place_of(self.one, device)
        first = _first_layers(kinds, max(self.one.first, 0)).sum(axis=1)
        totals = zip(kinds.sum(axis=1), first, strict=True)
        parts = [ways(self.one, total, own) for total, own in totals]
        counts = np.concatenate(parts)
        vector = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        soon = packing.soon(place, counts)
        choices, vector = packing.crossed(counts[soon], vector[soon])
        choices, vector = self._both_ways(choices, vector, kinds)
        held = self.one.bytes_of(place, choices, self._dealt(choices, kinds[vector])).total[0]
        fits = np.flatnonzero(held <= packing.limit_bytes)
        packing.deadline.check()
        choices, vector = packing.clocked(choices.take(fits), vector[fits])
        costs = self.one.costs(place, choices, self._dealt(choices, kinds[vector]))
        return packing.offered(place, choices, costs, vector)

    def _whole_columns(
        self, device: int, contents: Contents, at: IntArray, offer: Offer
    ) -> DeviceColumns:
        """The columns of choices of the contents `at`."""
        costs = offer.costs
        joules = costs.extra_j if self.energy else 0.0 * costs.extra_j
        filling, *peaks = (
            self.units.of_seconds(getattr(costs, name), self.one.factor)
            for name in ("filling", "time", "exposed", "optimizer")
        )
        sums = np.stack([filling, self.units.of_joules(joules)], axis=1)
        return DeviceColumns(
            columns=Columns(
                device=np.full(len(at), device, dtype=np.int64),
                starts=contents.starts[at],
                ends=contents.ends[at],
                group=np.zeros(len(at), dtype=np.int64),
                sums=np.concatenate([sums, contents.use[at]], axis=1),
                peaks=np.stack(peaks, axis=1),
            ),
            setting=offer.choices.sharding * len(self.one.terms.clocks) + offer.choices.clock,
            counts=self._dealt(offer.choices, contents.kinds[at]),
        )

    def _both_ways(
        self, choices: StageChoices, vector: IntArray, kinds: IntArray
    ) -> tuple[StageChoices, IntArray]:
        """The choices, and once more spread those that differ then, with their rows of `kinds`."""
        if self.one.first >= 0:
            return choices, vector
        own = kinds[vector]
        differ = (dealt(choices.counts, own) != spread(choices.counts, own)).any(axis=(1, 2, 3))
        at = np.concatenate([np.arange(len(vector)), np.flatnonzero(differ)])
        spreads = np.arange(len(at)) >= len(vector)
        return replace(choices.take(at), spread=spreads), vector[at]

    def _dealt(self, choices: StageChoices, kinds: IntArray) -> IntArray:
        """(c, v, 2, r) layers in each chunk; see `planner.search.uneven.aligned`."""
        if self.one.first < 0:
            chunks = dealt(choices.counts, kinds)
            chunks[choices.spread] = spread(choices.counts[choices.spread], kinds[choices.spread])
            return chunks
        codes, first = self.one.rows.recomputes, _first_layers(kinds, self.one.first)
        chunks = np.zeros((*kinds.shape, len(codes)), dtype=np.int64)
        chunks[..., codes.index(NO_RECOMPUTE)] = kinds - first
        chunks[..., codes.index(FULL)] = first
        return chunks


def _first_layers(kinds: IntArray, number: int) -> IntArray:
    """(..., 2) those of the layers of chunks that are the first, dense ones before the others."""
    dense = np.minimum(kinds[..., 0], number)
    return np.stack([dense, np.minimum(kinds[..., 1], number - dense)], axis=-1)
