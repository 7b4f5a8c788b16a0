"""Stage problems with several chunks per device, from what a device's contents cost.

One column is everything a device holds: the states its v chunks begin and end in, its layers by
kind and recomputation, and its setting (sharding and clock). Memory couples the chunks of a device,
and only totals and the longest chunk count in the time of an interleaved schedule, with D_d all
of device d's time per micro-batch and C_d its longest chunk's,

    T = (m - 1/v) max_d D_d + sum_d C_d + ...,

so a column is known by its states, sums and totals (`solvers.stages.fillings`), not by which chunk
holds what. Rows say that boundaries agree in their states and that the stretches of the layer
sequence are used up (`solvers.stages.sequence`): for identical layers the one sum sum_d N_d = L.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from solvers.stages.fillings import Bools, Floats, Index
from solvers.stages.problem import Choice, Columns, Form, Ints, Limit, StageProblem
from solvers.stages.sequence import LayerStates


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """What fillings count for on a device.

    Attributes:
        sums: (f, a) what adds up over devices.
        peaks: (f, b) what the largest of devices decides.
        fits: (f,) whether they fit on the device.
    """

    sums: Ints
    peaks: Ints
    fits: Bools


class DeviceTables(Protocol):
    """What the contents of devices cost; times of layers in one unit, the caller's.

    A filling fits where its layers' bytes, which may differ by chunk (micro-batches in flight), are
    within every limit of `room`, and `price` says so, which sees totals over the chunks only.
    """

    @property
    def settings(self) -> int:
        """Ways to run a device: shardings and clocks."""

    @property
    def recomputes(self) -> int:
        """Recomputations to choose from for each layer."""

    def times(self, setting: int) -> Floats:
        """(k, r) time of a layer of each kind with each recomputation."""

    def memory(self, device: int, setting: int) -> Floats:
        """(v, k, r, h) bytes of a layer in each chunk, by limit."""

    def room(self, device: int, setting: int) -> Floats:
        """(h,) bytes that the layers of a device may take."""

    def price(self, device: int, setting: int, counts: Ints, longest: Floats) -> Priced:
        """What (f, k, r) layers on a device count for, whose longest chunk takes (f,) `longest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which sequence is split over which chunks, and what is worth looking at.

    Attributes:
        states: The layers in order.
        chunks: (p, v) as in `StageProblem`.
        most_layers: Of one chunk.
        most_time: The layers of a device may take no longer.
        most_peaks: (b,) no column may have more; None: any may.
        all_columns: Keep columns that others beat: a longer time may be wanted.
        groups: (settings,) `Columns.group` of each setting; None: 0.
        sizes: (p v,) layers of every chunk; None: any.
    """

    states: LayerStates
    chunks: Ints
    most_layers: int
    most_time: float = np.inf
    most_peaks: Ints | None = None
    all_columns: bool = False
    groups: Ints | None = None
    sizes: Ints | None = None

    @property
    def most(self) -> Ints:
        """(p v,) layers that each chunk holds at most."""
        return np.full(self.chunks.size, self.most_layers) if self.sizes is None else self.sizes

    @property
    def fewest(self) -> Ints:
        """(p v,) layers that each chunk holds at least: the first and the last may be empty."""
        if self.sizes is not None:
            return self.sizes
        fewest = np.ones(self.chunks.size, dtype=np.int64)
        fewest[[0, -1]] = 0
        return fewest


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceColumns:
    """A stage problem's columns with what they stand for.

    Attributes:
        columns: In `sums`, the layers of each repeating stretch follow those of the tables.
        setting: (c,) of the tables.
        counts: (c, v, k, r) layers in each chunk.
    """

    columns: Columns
    setting: Ints
    counts: Ints

    def take(self, index: Index) -> DeviceColumns:
        """The columns of `index`."""
        return DeviceColumns(
            columns=self.columns.take(index),
            setting=self.setting[index],
            counts=self.counts[index],
        )

    def sizes(self, choice: Choice, chunks: Ints) -> list[int]:
        """Layers of every chunk of the pipeline, in order."""
        sizes = np.zeros(chunks.size, dtype=np.int64)
        sizes[chunks] = self.counts[choice.columns].sum(axis=(2, 3))
        return [int(size) for size in sizes]


def device_problem(
    layout: Layout,
    found: DeviceColumns,
    *,
    time: tuple[Form, ...],
    cost: Form | None = None,
    cost_per_time: int = 0,
    limits: tuple[Limit, ...] = (),
    crossings: Ints | None = None,
) -> StageProblem:
    """The stage problem of columns, with the rows that use the stretches up."""
    lengths = layout.states.lengths
    first = found.columns.sums.shape[1] - len(lengths)
    rows = [
        Limit(name=f"layers of stretch {i}", form=Form(sums=(0,) * (first + i) + (sign,)), upper=u)
        for i, length in enumerate(lengths.tolist())
        for sign, u in ((1, length), (-1, -length))
    ]
    return StageProblem(
        layers=layout.states.end,
        chunks=layout.chunks,
        columns=found.columns,
        time=time,
        cost=cost,
        cost_per_time=cost_per_time,
        limits=(*limits, *rows),
        crossings=crossings,
    )
