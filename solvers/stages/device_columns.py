"""Columns of devices with several chunks, from tables; `solvers.stages.devices` says what they are.

With few states (identical layers; dense layers before experts) a filling is known by the states
its chunks begin and end in and by its sums. With many it is made once for the kinds of layers in
each chunk, and then placed wherever a chunk with these kinds can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from solvers.frontier import nondominated
from solvers.stages.devices import DeviceColumns, DeviceTables, Layout, Priced
from solvers.stages.fillings import (
    Bools,
    Bounds,
    Chunk,
    Fillings,
    Floats,
    Index,
    Parts,
    chunk_parts,
    fillings,
    row_ids,
)
from solvers.stages.problem import Columns, Ints, TooManyColumnsError
from solvers.stages.sequence import StateSegments

FEW_STATES = 6
"""Up to so many, fillings are told apart by states."""
_ROUNDING = 1e-9
MOST_COLUMNS = 5_000_000
"""Of one device, beyond which memory does not suffice."""


def device_columns(layout: Layout, tables: DeviceTables) -> DeviceColumns:
    """All columns of all devices, without those that another with the same boundaries beats.

    Raises:
        TooManyColumnsError: One device has too many.
    """
    maker = _Maker(layout, tables)
    return joined([maker.columns(device) for device in range(len(layout.chunks))])


def chunk_segments(layout: Layout) -> list[StateSegments]:
    """What each chunk of the pipeline may take so that those before and after it hold the rest."""
    low, high = layout.states.windows(layout.fewest, layout.most)
    every = {fewest: layout.states.segments(fewest, layout.most_layers) for fewest in (0, 1)}
    found = []
    for chunk, (fewest, most) in enumerate(zip(layout.fewest, layout.most, strict=True)):
        segments = every[min(int(fewest), 1)]
        layers = segments.counts.sum(axis=1)
        keep = (layers >= fewest) & (layers <= most)
        keep &= (segments.start >= low[chunk]) & (segments.start <= high[chunk])
        keep &= (segments.end >= low[chunk + 1]) & (segments.end <= high[chunk + 1])
        found.append(segments.take(np.flatnonzero(keep)))
    return found


class _Maker:
    """Columns device by device; what does not depend on the device is made once."""

    def __init__(self, layout: Layout, tables: DeviceTables) -> None:
        self.layout, self.tables = layout, tables
        self.by_state = layout.states.end <= FEW_STATES
        self.parts: dict[bytes, Parts] = {}
        self.made: dict[tuple[object, ...], Fillings] = {}
        self.memory: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        self.least: dict[int, tuple[Floats, float]] = {}
        self.segments = chunk_segments(layout)

    def columns(self, device: int) -> DeviceColumns:
        """All of a device."""
        placed = [self.segments[chunk] for chunk in self.layout.chunks[device].tolist()]
        kinds = placed if self.by_state else [_kinds(segments) for segments in placed]
        found = []
        for setting in range(self.tables.settings):
            fill = self._fillings(device, setting, kinds)
            counts = fill.counts.astype(np.int64)
            priced = self.tables.price(device, setting, counts, fill.longest)
            keep = priced.fits
            if self.layout.most_peaks is not None:
                keep = keep & np.all(priced.peaks <= self.layout.most_peaks, axis=1)
            found.append(self._columns(device, setting, kinds, fill, priced, keep))
        whole = joined(found)
        if not self.layout.all_columns:
            whole = whole.take(self._unbeaten(whole))
        return whole if self.by_state else _at_all(whole, placed)

    def _fillings(self, device: int, setting: int, kinds: Sequence[StateSegments]) -> Fillings:
        memory, room = self._memory(device, setting)
        same = bool(np.all(memory == memory[:1]))
        weights = memory[..., :0] if same else memory
        chunks = [self._chunk(*one) for one in zip(kinds, weights, strict=True)]
        which = tuple(id(chunk.parts) for chunk in chunks)
        key = (which, setting, None if same else (memory.tobytes(), room.tobytes()))
        if key not in self.made:
            bounds = self._bounds(setting, room[:0] if same else room)
            self.made[key] = fillings(chunks, self.tables.times(setting), bounds)
        found = self.made[key]
        if not same:
            return found
        needed = np.tensordot(found.counts, memory[0], axes=2)
        return found.take(np.all(needed <= room, axis=1))

    def _memory(self, device: int, setting: int) -> tuple[Floats, Floats]:
        """Bytes of layers, and the room for them."""
        key = (device, setting)
        if key not in self.memory:
            self.memory[key] = self.tables.memory(*key), self.tables.room(*key)
        return self.memory[key]

    def _bounds(self, setting: int, room: Floats) -> Bounds:
        """What holds on every device, and the room of one.

        What fits by every limit fits by their mean.
        """
        if setting not in self.least:
            found = [self._memory(d, setting) for d in range(len(self.layout.chunks))]
            least = np.min([memory.mean(axis=3).min(axis=0) for memory, _ in found], axis=0)
            self.least[setting] = least, max(float(rooms.mean()) for _, rooms in found)
        least, most = self.least[setting]
        return Bounds(
            room=room,
            least_memory=least,
            most_room=most * (1 + _ROUNDING),
            most_time=self.layout.most_time,
            every=self.layout.all_columns,
        )

    def _chunk(self, segments: StateSegments, memory: Floats) -> Chunk:
        tags = segments.start * (self.layout.states.end + 1) + segments.end
        if not self.by_state:
            tags = row_ids(segments.counts)
        key = b"".join(a.tobytes() for a in (tags, segments.use, segments.counts))
        if key not in self.parts:
            self.parts[key] = chunk_parts(segments, self.tables.recomputes)
        parts = self.parts[key]
        row = parts.segment
        return Chunk(parts=parts, tags=tags[row], use=segments.use[row], memory=memory)

    def _columns(
        self,
        device: int,
        setting: int,
        kinds: Sequence[StateSegments],
        fill: Fillings,
        priced: Priced,
        keep: Bools,
    ) -> DeviceColumns:
        """Columns of the fillings to keep, with the boundaries of their segments."""
        fill = fill.take(keep)
        parts = [self._chunk(segments, np.zeros(0)).parts for segments in kinds]
        rows = [part.segment[fill.parts[:, k]] for k, part in enumerate(parts)]
        counts = [part.counts[fill.parts[:, k]] for k, part in enumerate(parts)]
        groups = self.layout.groups
        columns = Columns(
            device=np.full(len(fill), device, dtype=np.int64),
            starts=np.stack([s.start[row] for s, row in zip(kinds, rows, strict=True)], axis=1),
            ends=np.stack([s.end[row] for s, row in zip(kinds, rows, strict=True)], axis=1),
            group=np.full(len(fill), 0 if groups is None else groups[setting], dtype=np.int64),
            sums=np.concatenate([priced.sums[keep], fill.use], axis=1),
            peaks=priced.peaks[keep],
        )
        return DeviceColumns(
            columns=columns,
            setting=np.full(len(fill), setting, dtype=np.int64),
            counts=np.stack(counts, axis=1),
        )

    def _unbeaten(self, found: DeviceColumns) -> Index:
        """Rows that no other with the same boundaries beats in sums and peaks; first of equals."""
        columns = found.columns
        own = columns.sums.shape[1] - len(self.layout.states.lengths)
        kinds = np.concatenate(list(found.counts.sum(axis=3).swapaxes(0, 1)), axis=1)
        content = (
            [columns.starts, columns.ends, columns.sums[:, own:]] if self.by_state else [kinds]
        )
        ids = row_ids(np.concatenate([columns.group[:, None], *content], axis=1))
        values = np.concatenate([columns.sums[:, :own], columns.peaks], axis=1)
        return np.sort(np.fromiter(_fronts(ids, values.astype(np.float64)), dtype=np.intp))


def _fronts(ids: Ints, values: Floats) -> Iterator[int]:
    """Rows of the non-dominated values of each id."""
    order = np.argsort(ids, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1):
        yield from (rows[nondominated(values[rows])] if len(rows) > 1 else rows).tolist()


def _kinds(segments: StateSegments) -> StateSegments:
    """One segment for each content by kinds, without states and sums."""
    counts = np.unique(segments.counts, axis=0)
    zero = np.zeros(len(counts), dtype=np.int64)
    use = np.zeros((len(counts), segments.use.shape[1]), dtype=np.int64)
    return StateSegments(start=zero, end=zero, use=use, counts=counts)


def _at_all(found: DeviceColumns, placed: Sequence[StateSegments]) -> DeviceColumns:
    """Every column at all segments whose kinds its chunks hold, with their sums."""
    for k, segments in enumerate(placed):
        ids = row_ids(np.concatenate([segments.counts, found.counts[:, k].sum(axis=2)]))
        offered, wanted = ids[: len(segments)], ids[len(segments) :]
        order = np.argsort(offered, kind="stable")
        low = np.searchsorted(offered[order], wanted)
        times = np.searchsorted(offered[order], wanted, side="right") - low
        if times.sum() > MOST_COLUMNS:
            raise TooManyColumnsError(
                f"{times.sum()} columns of one device are too many; allowed: {MOST_COLUMNS} "
                "(give a tighter time limit or fewer layers per chunk)"
            )
        found = found.take(np.repeat(np.arange(len(wanted)), times))
        nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        row = order[np.repeat(low, times) + nth]
        columns = found.columns
        columns.starts[:, k], columns.ends[:, k] = segments.start[row], segments.end[row]
        columns.sums[:, columns.sums.shape[1] - segments.use.shape[1] :] += segments.use[row]
    return found


def joined(found: Sequence[DeviceColumns]) -> DeviceColumns:
    """The columns of all, in order."""
    names = Columns.__slots__
    return DeviceColumns(
        columns=Columns(
            **{n: np.concatenate([getattr(one.columns, n) for one in found]) for n in names}
        ),
        setting=np.concatenate([one.setting for one in found]),
        counts=np.concatenate([one.counts for one in found]),
    )
