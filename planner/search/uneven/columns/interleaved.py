"""What devices with several chunks may hold: the columns of an interleaved row.

T v = (m v - 1) max D + sum (v C + ends) + ...: D is all of a device's time, C its longest chunk,
ends what embedding and head take there. How many layers the chunks of a device have, and in which
two ways those that recompute are dealt out, `planner.search.uneven.aligned` says from how many the
device has in all. What they are depends on where they begin, in the states of
`solvers.stages.sequence`: columns are all ways to recompute them, with sharding and clock, that
fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray, ranges, repeated
from planner.plan import FULL, NO_RECOMPUTE
from planner.search.uneven.aligned import dealt, spread
from planner.search.uneven.columns.chunks import (
    MOST_COLUMNS,
    Chunks,
    Contents,
    DeviceContents,
    chunks_of,
)
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.columns.places import Places
from planner.search.uneven.columns.selection import Offer, Packing, ways
from planner.search.uneven.columns.stage_choices import OneRow, StageChoices
from solvers.stages.device_columns import joined
from solvers.stages.devices import DeviceColumns
from solvers.stages.problem import Columns, TooManyColumnsError

_AT_A_TIME = 20_000
"""Ways to run the layers of devices that are in memory at once, or those of one device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Device:
    """A device with what its chunks may have; `counts`: (c, 2, r) ways to run each of its kinds."""

    device: int
    found: DeviceContents
    counts: list[IntArray]

    @property
    def ways(self) -> int:
        """How many there are."""
        return sum(len(own) for own in self.counts)


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
        parts: list[DeviceColumns] = []
        for some in self._some_devices():
            offers = self._offers(some)
            if offers is None:
                return None
            parts += map(self._device, some, offers)
        return joined(parts)

    def _some_devices(self) -> Iterator[list[_Device]]:
        """The devices in order, as many at once as have few ways to run their layers."""
        some: list[_Device] = []
        for device in range(self.one.pp):
            self.packing.deadline.check()
            found = self.chunks.of_device(device, self.packing.deadline)
            first = _first_layers(found.kinds, max(self.one.first, 0)).sum(axis=1)
            totals = zip(found.kinds.sum(axis=1), first, strict=True)
            counts = [ways(self.one, total, own) for total, own in totals]
            some.append(_Device(device=device, found=found, counts=counts))
            if sum(one.ways for one in some) > _AT_A_TIME:
                yield some
                some = []
        if some:
            yield some

    def _offers(self, some: list[_Device]) -> list[Offer] | None:
        """The choices of some devices, `vector` the row of the (g, v, 2) kinds that they divide.

        None where one has none.
        """
        counts = [own for one in some for own in one.counts]
        if not all(one.counts for one in some):
            return None
        kinds = np.concatenate([one.found.kinds for one in some])
        owner = np.repeat([one.device for one in some], [len(one.counts) for one in some])
        vector = np.repeat(np.arange(len(counts)), [len(own) for own in counts])
        offer = self._offer(np.concatenate(counts), vector, kinds, owner)
        if offer is None:
            return None
        own = [offer.take(np.flatnonzero(owner[offer.vector] == one.device)) for one in some]
        first = np.searchsorted(owner, [one.device for one in some])
        return [replace(o, vector=o.vector - n) for o, n in zip(own, first, strict=True)]

    def _offer(
        self, counts: IntArray, vector: IntArray, kinds: IntArray, owner: IntArray
    ) -> Offer | None:
        """The choices of devices; None where one has none.

        Args:
            counts: (c, 2, r) ways to run their layers.
            vector: (c,) rows of `kinds` that they divide.
            kinds: (g, v, 2) layers of the chunks of a device.
            owner: (g,) that device.
        """
        one, packing = self.one, self.packing
        soon = packing.soon(Places.of(owner[vector], one.pp), counts)
        choices, vector = packing.crossed(counts[soon], vector[soon])
        if not _all_among(owner, owner[vector]):
            return None
        choices, vector = self._both_ways(choices, vector, kinds)
        place, chunks = Places.of(owner[vector], one.pp), self._dealt(choices, kinds[vector])
        held = one.bytes_of(place, choices, chunks).total[0]
        fits = np.flatnonzero(held <= packing.limit_bytes)
        if not _all_among(owner, owner[vector[fits]]):
            return None
        packing.deadline.check()
        choices, vector = packing.clocked(choices.take(fits), vector[fits])
        place, chunks = Places.of(owner[vector], one.pp), self._dealt(choices, kinds[vector])
        offer = packing.offered(place, choices, one.costs(place, choices, chunks), vector)
        return offer if _all_among(owner, owner[offer.vector]) else None

    def _device(self, one: _Device, offer: Offer) -> DeviceColumns:
        """The columns of a device."""
        self.packing.deadline.check()
        found = one.found
        low, times = found.first[offer.vector], np.diff(found.first)[offer.vector]
        if times.sum() > MOST_COLUMNS:
            raise TooManyColumnsError(
                f"{times.sum()} columns of one device are too many; allowed: {MOST_COLUMNS} (give "
                "a tighter time limit)"
            )
        at = found.order[ranges(low, times)]
        offer = offer.take(repeated(np.arange(len(times)), times))
        return self._whole_columns(one.device, found.contents, at, offer)

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


def _all_among(owners: IntArray, devices: IntArray) -> bool:
    """Whether each of some devices, ascending, is among (c,) devices."""
    return len(np.unique(devices)) == len(np.unique(owners))
