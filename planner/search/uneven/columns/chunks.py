"""Which layers the chunks of every device of an interleaved pipeline may have.

They follow from the order of the layers of the model and the sizes of the chunks alone
(`planner.search.uneven.aligned`), so that all rows with as many stages and chunks share them.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property, lru_cache

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, BoolArray, IntArray, counted
from planner.search.deadline import Deadline
from planner.search.uneven.aligned import device_sizes, given_sizes
from planner.search.uneven.columns.stage_choices import OneRow
from planner.search.uneven.terms import KINDS
from solvers.stages.devices import Layout
from solvers.stages.problem import TooManyColumnsError
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceContents:
    """The contents of a device, and which of them have the same layers of each kind.

    Attributes:
        contents: g of them.
        kinds: (q, v, 2) the distinct rows of `contents.kinds`.
        order: (g,) rows of `contents`, those of the first row of `kinds` first.
        first: (q + 1,) where in `order` those of each row begin.
    """

    contents: Contents
    kinds: IntArray
    order: IntArray
    first: IntArray

    @staticmethod
    def of(contents: Contents) -> DeviceContents:
        """Of some contents."""
        rows = contents.kinds.reshape(len(contents.kinds), -1)
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        times = counted(which.ravel(), len(kinds))
        return DeviceContents(
            contents=contents,
            kinds=kinds.reshape(len(kinds), *contents.kinds.shape[1:]),
            order=np.argsort(which.ravel(), kind="stable"),
            first=np.concatenate([[0], np.cumsum(times)]),
        )


@dataclass(frozen=True, kw_only=True)
class Chunks:
    """The chunks of a pipeline.

    Attributes:
        kinds: (L,) kind of each layer, as a place in `KINDS`.
        pp, v: Devices, and chunks of each.
        fullest: Layers of the fullest device; nothing where chunks are given.
        given: Layers of every chunk in the order of the pipeline; None: those of
            `planner.search.uneven.aligned`.
    """

    kinds: tuple[int, ...]
    pp: int
    v: int
    fullest: int
    given: tuple[int, ...] | None
    _of_device: dict[int, DeviceContents] = field(init=False, default_factory=dict)

    @cached_property
    def states(self) -> LayerStates:
        """The layers of the model in order."""
        return layer_states(self.kinds, kinds=len(KINDS))

    @cached_property
    def sizes(self) -> list[IntArray]:
        """Per device (o, v) layers that its chunks may have."""
        pp, v, layers = self.pp, self.v, len(self.kinds)
        if self.given is not None:
            return [given_sizes(self.given, pp, device) for device in range(pp)]
        return [device_sizes(layers, pp, v, self.fullest, device) for device in range(pp)]

    @property
    def layout(self) -> Layout:
        """Which chunks are on which device."""
        return Layout(
            states=self.states,
            chunks=np.arange(self.pp * self.v).reshape(self.v, self.pp).T.copy(),
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
        layers = len(self.kinds)
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

    def of_device(self, device: int, deadline: Deadline) -> DeviceContents:
        """All contents of a device that lie within the boundaries of its chunks.

        Raises:
            TooManyColumnsError: There are too many.
            OutOfTime: The deadline passed.
        """
        if device not in self._of_device:
            sizes = self.sizes[device].tolist()
            parts = [self._of_sizes(device, own, deadline) for own in sizes]
            self._of_device[device] = DeviceContents.of(Contents.joined(parts))
        return self._of_device[device]

    def _of_sizes(self, device: int, sizes: list[int], deadline: Deadline) -> Contents:
        """The contents of a device whose chunks have some sizes."""
        found = Contents(
            starts=np.zeros((1, 0), dtype=np.int64),
            ends=np.zeros((1, 0), dtype=np.int64),
            use=np.zeros((1, len(self.states.lengths)), dtype=np.int64),
            kinds=np.zeros((1, 0, len(KINDS)), dtype=np.int64),
        )
        for chunk, size in enumerate(sizes):
            deadline.check()
            found = found.with_chunk(self._segments(chunk * self.pp + device, size))
        return found

    def _segments(self, chunk: int, size: int) -> StateSegments:
        """The layers that a chunk of some size may have."""
        segments = self.states.segments(size, size)
        inside = self.boundaries[chunk, segments.start] & self.boundaries[chunk + 1, segments.end]
        return segments.take(np.flatnonzero(inside))


@lru_cache(maxsize=32)
def _shared(
    layer_kinds: tuple[str, ...], pp: int, v: int, fullest: int, given: tuple[int, ...] | None
) -> Chunks:
    kinds = tuple(KINDS.index(kind) for kind in layer_kinds)
    return Chunks(kinds=kinds, pp=pp, v=v, fullest=fullest, given=given)


def chunks_of(one: OneRow) -> Chunks:
    """Of a row with several chunks on each device."""
    fullest, given = int(one.rows.fullest[0]), one.rows.layers
    return _shared(one.model.job.model.layer_kinds, one.pp, one.v, fullest, given)
