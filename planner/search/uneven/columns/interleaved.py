"""What devices with several chunks may hold: the columns of an interleaved row.

T v = (m v - 1) max D + sum (v C + ends) + ...: D is all of a device's time, C its longest chunk,
ends what embedding and head take there. How many layers the chunks of a device have, and in which
two ways those that recompute are dealt out, `planner.search.uneven.aligned` says from how many the
device has in all. What they are depends on where they begin, in the states of
`solvers.stages.sequence`: columns are all ways to recompute them, with sharding and clock, that
fit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray, ranges
from planner.plan import FULL, NO_RECOMPUTE
from planner.search.uneven.aligned import dealt, spread
from planner.search.uneven.columns.chunks import MOST_COLUMNS, Chunks, Contents, chunks_of
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.columns.selection import Offer, Packing, place_of, ways
from planner.search.uneven.columns.stage_choices import OneRow, StageChoices
from solvers.stages.device_columns import joined
from solvers.stages.devices import DeviceColumns
from solvers.stages.problem import Columns, TooManyColumnsError


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

    @property
    def one(self) -> OneRow:
        """The row."""
        return self.packing.one

    @cached_property
    def chunks(self) -> Chunks:
        """Which layers they may have."""
        return chunks_of(self.one)

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
        found = self.chunks.of_device(device, self.packing.deadline)
        offer = self._offer(device, found.kinds)
        low, times = found.first[offer.vector], np.diff(found.first)[offer.vector]
        if times.sum() == 0:
            return None
        if times.sum() > MOST_COLUMNS:
            raise TooManyColumnsError(
                f"{times.sum()} columns of one device are too many; allowed: {MOST_COLUMNS} (give "
                "a tighter time limit)"
            )
        at = found.order[ranges(low, times)]
        offer = offer.take(np.repeat(np.arange(len(times)), times))
        return self._whole_columns(device, found.contents, at, offer)

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
