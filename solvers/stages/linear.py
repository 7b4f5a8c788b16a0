"""Stage problems whose time, cost and memory are linear in counts of layers.

A pipeline of p devices runs L layers, each of one of k kinds; a layer runs in one of r modes
(recomputation: more time, less memory), a device in one of s settings (sharding, clock). With
x_kr layers of kind k in mode r, c micro-batches in flight and setting s, a device takes

    time   = extra_time[d, s] + sum time[s, k, r] x_kr                 per micro-batch
    cost   = extra_cost[d, s] + sum cost[s, k, r] x_kr                 per micro-batch
    memory = extra_memory[d, s] + sum (held[s, k] + c kept[s, k, r]) x_kr <= memory[d]

and the step, with m micro-batches in the order of 1F1B,

    T = (m - 1) max time + sum time + crossings;   E = m sum cost + cost_per_time T.

All numbers are whole; `rounded` makes them from floats: times, costs and memory up, limits of
memory down, so that what fits the integers fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from solvers.stages.problem import LARGEST, Ints

Floats = npt.NDArray[np.float64]
_TIMES, _COSTS = ("time", "extra_time", "crossings"), ("cost", "extra_cost")
_SIZES = ("held", "kept", "extra_memory", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearTables:
    """A stage problem by counts of layers; see the module for the symbols.

    Attributes:
        kinds: (L,) kind of each layer, from 0.
        chunks: (p, v) which chunk of the pipeline the k-th chunk of device d is, as in
            `StageProblem.chunks`.
        in_flight: (p, v) micro-batches whose kept memory a chunk holds at once.
        group: (s,) row of `crossings` of each setting.
        time: (s, k, r) of one layer and micro-batch.
        cost: (s, k, r) likewise; None: time is the only objective.
        held: (s, k) memory of one layer, whatever is in flight.
        kept: (s, k, r) memory of one layer per micro-batch in flight.
        extra_time, extra_cost, extra_memory: (p, s) what a device takes besides its layers.
        memory: (p,) what a device has.
        most_layers: At most so many layers per chunk.
        micro_batches: m.
        cost_per_time: What the cost grows by per unit of time.
        crossings: (g, g) time that neighbouring devices of two groups add; None: nothing.

    Raises:
        ValueError: A shape or a number cannot be used.
    """

    kinds: Ints
    chunks: Ints
    in_flight: Ints
    group: Ints
    time: Ints
    held: Ints
    kept: Ints
    extra_time: Ints
    extra_memory: Ints
    memory: Ints
    most_layers: int
    micro_batches: int
    cost: Ints | None = None
    extra_cost: Ints | None = None
    cost_per_time: int = 0
    crossings: Ints | None = field(default=None)

    def __post_init__(self) -> None:
        _check_shapes(self)
        _check_numbers(self)
        _check_objectives(self)

    @property
    def layers(self) -> int:
        """How many there are: L."""
        return len(self.kinds)

    @property
    def devices(self) -> int:
        """How many there are: p."""
        return len(self.chunks)

    @property
    def costs(self) -> Ints:
        """(s, k, r) `cost`, 0 where there is none."""
        return np.zeros_like(self.time) if self.cost is None else self.cost

    @property
    def extra_costs(self) -> Ints:
        """(p, s) `extra_cost`, 0 where there is none."""
        return np.zeros_like(self.extra_time) if self.extra_cost is None else self.extra_cost

    def least(self, device: int) -> int:
        """Fewest layers per chunk: 1, but 0 where the pipeline begins or ends."""
        ends = (0, self.chunks.size - 1)
        return 0 if any(chunk in ends for chunk in self.chunks[device].tolist()) else 1


def rounded(
    *,
    kinds: Ints,
    chunks: Ints,
    in_flight: Ints,
    group: Ints,
    most_layers: int,
    micro_batches: int,
    units: tuple[float, float, float],
    cost_per_time: float = 0.0,
    **floats: Floats | None,
) -> LinearTables:
    """Tables of whole numbers from floats.

    Args:
        kinds, chunks, in_flight, group, most_layers, micro_batches: As in `LinearTables`.
        units: One unit of time, of cost and of memory.
        cost_per_time: In the units of the floats; rounded up.
        floats: The other tables of `LinearTables`, in any unit: times, costs and sizes are rounded
            up, `memory` down.

    Raises:
        ValueError: A number is not finite, negative, or too large for its unit.
    """
    time_unit, cost_unit, memory_unit = units
    unit_of = {
        **dict.fromkeys(_TIMES, time_unit),
        **dict.fromkeys(_COSTS, cost_unit),
        **dict.fromkeys(_SIZES, memory_unit),
    }
    whole = {
        name: None if table is None else _whole(name, table, unit_of[name])
        for name, table in floats.items()
    }
    return LinearTables(
        kinds=kinds,
        chunks=chunks,
        in_flight=in_flight,
        group=group,
        most_layers=most_layers,
        micro_batches=micro_batches,
        cost_per_time=math.ceil(cost_per_time * time_unit / cost_unit),
        **whole,  # type: ignore[arg-type]
    )


def _whole(name: str, table: Floats, unit: float) -> Ints:
    """A table in whole units: up, but down for what a device has."""
    table = np.asarray(table, dtype=np.float64)
    bad = ~np.isfinite(table) | (table < 0)
    _refuse(name, table, bad, "must be finite and at least 0")
    scaled = np.floor(table / unit) if name == "memory" else np.ceil(table / unit)
    largest = f"is over 2**53 units of {unit:g}; take a larger unit"
    _refuse(name, table, scaled >= LARGEST, largest)
    return scaled.astype(np.int64)


def _refuse(
    name: str, table: npt.NDArray[np.generic], bad: npt.NDArray[np.bool_], why: str
) -> None:
    """Raises ValueError with the first bad entry of a table."""
    if np.any(bad):
        at = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}{list(at)} = {table[at]} {why}")


def _check_shapes(tables: LinearTables) -> None:
    p, v = tables.chunks.shape
    s, k, r = tables.time.shape
    groups = int(tables.group.max(initial=-1)) + 1 if tables.crossings is not None else 0
    shapes = {
        "in_flight": (p, v), "group": (s,), "cost": (s, k, r), "held": (s, k),
        "kept": (s, k, r), "extra_time": (p, s), "extra_cost": (p, s),
        "extra_memory": (p, s), "memory": (p,),
    }  # fmt: skip
    for name, shape in shapes.items():
        table = getattr(tables, name)
        if table is not None and table.shape != shape:
            raise ValueError(f"{name} has shape {table.shape}; by chunks and time it is {shape}")
    crossings = tables.crossings
    if crossings is not None and (
        crossings.shape[0] != crossings.shape[1] or len(crossings) < groups
    ):
        raise ValueError(f"crossings has shape {crossings.shape}; {groups} groups are named")
    if sorted(tables.chunks.ravel().tolist()) != list(range(p * v)):
        raise ValueError(f"chunks must name each of 0 to {p * v - 1} once")
    if (tables.cost is None) != (tables.extra_cost is None):
        raise ValueError("cost and extra_cost are given together or not at all")


def _check_numbers(tables: LinearTables) -> None:
    for name in (*_TIMES, *_COSTS, *_SIZES, "in_flight", "group"):
        table = getattr(tables, name)
        if table is not None:
            _refuse(name, table, (table < 0) | (table >= LARGEST), "must be from 0 to 2**53")
    kinds = tables.time.shape[1]
    _refuse(
        "kinds",
        tables.kinds,
        (tables.kinds < 0) | (tables.kinds >= kinds),
        f"must be below {kinds}",
    )
    if tables.micro_batches < 1 or tables.most_layers < 1 or tables.cost_per_time < 0:
        raise ValueError(
            f"micro_batches {tables.micro_batches} and most_layers {tables.most_layers} must be at "
            f"least 1, cost_per_time {tables.cost_per_time} at least 0"
        )


def _check_objectives(tables: LinearTables) -> None:
    """Refuses tables with which an objective or a memory could pass `LARGEST`."""
    p, layers, m = tables.devices, tables.layers, tables.micro_batches
    worst_time = layers * int(tables.time.max()) + p * int(tables.extra_time.max())
    crossings = 0 if tables.crossings is None else p * int(tables.crossings.max())
    time = m * worst_time + crossings
    worst_cost = layers * int(tables.costs.max()) + p * int(tables.extra_costs.max())
    cost = m * worst_cost + tables.cost_per_time * time
    in_flight = int(tables.in_flight.max())
    memory = layers * (int(tables.held.max()) + in_flight * int(tables.kept.max()))
    memory += int(tables.extra_memory.max())
    for name, largest in (("time", time), ("cost", cost), ("kept", memory)):
        if largest >= LARGEST:
            table = getattr(tables, name if name != "cost" or tables.cost is not None else "time")
            at = np.unravel_index(int(np.argmax(table)), table.shape)
            raise ValueError(
                f"{name}{[int(i) for i in at]} = {table[at]}: with {layers} layers and {m} "
                f"micro-batches sums of {name} can pass 2**53; take a larger unit"
            )
