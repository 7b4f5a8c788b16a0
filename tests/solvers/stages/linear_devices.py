"""Interleaved schedules of linear tables: several chunks per device, by device columns.

With D_d the time of device d per micro-batch, its layers and its extra, and C_d the time of the
layers of its longest chunk plus a v-th of its extra,

    v T = (m v - 1) max_d D_d + v sum_d C_d + v crossings;   v E = v m sum cost + cost_per_time v T

are whole numbers. Source of T: Narayanan et al., arXiv:2104.04473, section 2.2: with equal chunks
the fill is that of (p - 1) / v stages.
"""

from __future__ import annotations

import numpy as np

from solvers.stages.device_columns import device_columns
from solvers.stages.devices import DeviceColumns, Layout, Priced, device_problem
from solvers.stages.fillings import Floats
from solvers.stages.linear import LinearTables
from solvers.stages.problem import Form, Ints, StageProblem
from solvers.stages.sequence import layer_states


class LinearDevices:
    """Linear tables as the contents of devices; sums are v C and cost, the peak is D."""

    def __init__(self, tables: LinearTables) -> None:
        self.tables = tables

    @property
    def settings(self) -> int:
        """Rows of `LinearTables.time`."""
        return len(self.tables.time)

    @property
    def recomputes(self) -> int:
        """Modes of a layer."""
        return int(self.tables.time.shape[2])

    def times(self, setting: int) -> Floats:
        """(k, r) of one layer."""
        times: Floats = self.tables.time[setting].astype(np.float64)
        return times

    def memory(self, device: int, setting: int) -> Floats:
        """(v, k, r, 1) of one layer in each chunk."""
        kept = self.tables.in_flight[device][:, None, None] * self.tables.kept[setting]
        memory: Floats = (kept + self.tables.held[setting][:, None]).astype(np.float64)
        return memory[..., None]

    def room(self, device: int, setting: int) -> Floats:
        """(1,) what the layers may take."""
        left = self.tables.memory[device] - self.tables.extra_memory[device, setting]
        return np.array([left], dtype=np.float64)

    def price(self, device: int, setting: int, counts: Ints, longest: Floats) -> Priced:
        """Time and cost with the extras."""
        tables, v = self.tables, self.tables.chunks.shape[1]
        extra = tables.extra_time[device, setting]
        cost = np.tensordot(counts, tables.costs[setting], axes=2)
        time = np.tensordot(counts, tables.time[setting], axes=2) + extra
        fill = v * longest.astype(np.int64) + extra
        return Priced(
            sums=np.stack([fill, cost + tables.extra_costs[device, setting]], axis=1),
            peaks=time[:, None],
            fits=np.ones(len(counts), dtype=np.bool_),
        )


def interleaved_columns(tables: LinearTables, below: int | None = None) -> DeviceColumns:
    """The device columns of linear tables.

    Args:
        tables: With v chunks per device.
        below: Only choices with v T below it are wanted; None: all.
    """
    layout = interleaved_layout(tables, below)
    return device_columns(layout, LinearDevices(tables))


def interleaved_layout(tables: LinearTables, below: int | None = None) -> Layout:
    """The layout of linear tables; v T >= (m v - 1) D + sum of D, so a limit on T is one on D."""
    m, v = tables.micro_batches, tables.chunks.shape[1]
    most = np.iinfo(np.int64).max
    if below is not None:
        least = int(tables.time.min(axis=(0, 2))[tables.kinds].sum())
        least += int(tables.extra_time.min(axis=1).sum())
        most = (below - 1 - least) // (m * v - 1) if m * v > 1 else below - 1
    return Layout(
        states=layer_states(tuple(tables.kinds.tolist()), kinds=tables.time.shape[1]),
        chunks=tables.chunks,
        most_layers=min(tables.most_layers, tables.layers),
        most_time=float(most),
        most_peaks=np.array([most]),
        groups=None if tables.crossings is None else tables.group,
    )


def interleaved_problem(tables: LinearTables, found: DeviceColumns) -> StageProblem:
    """The stage problem of device columns, in units of v T and v E."""
    m, v = tables.micro_batches, tables.chunks.shape[1]
    crossed = 0 if tables.crossings is None else v
    return device_problem(
        interleaved_layout(tables),
        found,
        time=(Form(sums=(1, 0), peaks=(m * v - 1,), crossings=crossed),),
        cost=None if tables.cost is None else Form(sums=(0, v * m)),
        cost_per_time=tables.cost_per_time,
        crossings=tables.crossings,
    )
