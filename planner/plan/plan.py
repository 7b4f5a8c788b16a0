"""A plan: how one training step is split over the chips, one at a time and in tables.

`Plan` is the noun that people read and edit; `PlanTable` is the same thing as a struct of
arrays, which is what the cost model evaluates. Names are the field's standard terms:

    dp      replicas of the model; under zero1 and zero2 they share its optimizer and gradients
    fsdp    shards of weights, gradients and optimizer, with `zero3`; beside dp > 1 hybrid (HSDP)
    tp      tensor parallelism, with sequence parallelism when `sequence_parallel`
    cp      context parallelism: the sequence is split, K/V travel (`ring` or `all-to-all`)
    ep      expert parallelism; folded over tp x cp x fsdp x dp, so not a factor of the chips
    etp     tensor parallelism of each expert, whatever that of attention is; folded likewise
    pp      pipeline parallelism

`order` lists the axes, neighbours in the machine first; a `layout` replaces it where an axis comes
in parts (`planner.plan.ranks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.vocabulary import CP_MODES, SHARDINGS, SPLITS
from planner.plan.ranks import Layout, check_layout
from planner.plan.recomputations import RECOMPUTATIONS, recomputation
from planner.schedules import SCHEDULES, ScheduleColumn

OFFLOADS = ("optimizer", "weights", "activations")
AXES = ("tp", "cp", "fsdp", "dp", "pp")
ORDERS: tuple[tuple[str, ...], ...] = tuple(permutations(AXES))
DEFAULT_ORDER = ORDERS.index(("tp", "cp", "fsdp", "dp", "pp"))

DDP, ZERO1, ZERO2, ZERO3 = range(4)
RING, ALL_TO_ALL = range(2)
EVEN, EVEN_COUNTED, FRONT, FRONT_COUNTED, BY_COST = range(5)
OFFLOAD_OPTIMIZER, OFFLOAD_WEIGHTS, OFFLOAD_ACTIVATIONS = 1, 2, 4

_MESH = ("dp", "fsdp", "tp", "cp", "ep", "etp", "pp")
_AS_TP_SAYS: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One pipeline stage of an explicit layout; with interleaving one chunk, in pipeline order.

    Attributes:
        layers: Transformer layers on the stage (the embedding sits on the first stage and the
            head on the last, whatever this number says).
        recompute: One of `RECOMPUTATIONS`, of layers not counted by the next two; None: the plan's.
        selective, full: Layers with that recomputation, (dense, mixtures of experts).
        sharding: One of `SHARDINGS`; None takes the plan's. Chunks of one device agree.
        clock: Relative clock, 1 is the clock at which the peak rates hold; None: the plan's.
            Chunks of one device agree.
        pool: Which of the job's pools of chips it runs on (`planner.cost.pools.pools`); None: the
            job has one kind of chips.
    """

    layers: int
    recompute: str | None = None
    selective: tuple[int, int] = (0, 0)
    full: tuple[int, int] = (0, 0)
    sharding: str | None = None
    clock: float | None = None
    pool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One complete way to run a job; see the module for the meaning of the axes.

    `sequence_parallel` is on where tp > 1 unless given; parts of a `layout` multiply to the mesh.
    """

    dp: int = 1
    fsdp: int = 1
    tp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    pp: int = 1
    micro_batch: int = 1
    schedule: str = "1f1b"
    interleave: int = 1
    sharding: str = "zero1"
    sequence_parallel: bool = _AS_TP_SAYS
    cp_mode: str = "ring"
    recompute: str = "none"
    offload: tuple[str, ...] = ()
    order: tuple[str, ...] = AXES
    split: str = "even"
    clock: float = 1.0
    stages: tuple[Stage, ...] | None = None
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if self.sequence_parallel is _AS_TP_SAYS:
            object.__setattr__(self, "sequence_parallel", self.tp > 1)

    @property
    def chips(self) -> int:
        """Chips used: dp * fsdp * tp * cp * pp."""
        return self.dp * self.fsdp * self.tp * self.cp * self.pp

    @property
    def mesh(self) -> dict[str, int]:
        """The axis sizes by name, `ep` included; `etp` where it divides experts."""
        return {axis: getattr(self, axis) for axis in _MESH if axis != "etp" or self.etp > 1}

    @property
    def expert_ranks(self) -> int:
        """Ranks that hold one copy of the experts: ep * etp."""
        return self.ep * self.etp

    @property
    def ranks(self) -> Layout:
        """The layout, or the order with the size of each axis, innermost first."""
        if self.layout is not None:
            return self.layout
        return tuple((axis, getattr(self, axis)) for axis in complete_order(self.order))


_INTEGERS = ("dp", "fsdp", "tp", "cp", "ep", "etp", "pp", "micro_batch", "interleave")
NAMED: dict[str, Sequence[str]] = {
    "schedule": SCHEDULES,
    "sharding": SHARDINGS,
    "cp_mode": CP_MODES,
    "recompute": RECOMPUTATIONS,
    "split": SPLITS,
}
"""Choices whose values have names: tables of plans keep their places here."""


def code_of(name: str, value: str) -> int:
    """The integer code of a named choice, e.g. `code_of("sharding", "zero3") == 3`.

    Raises:
        InputError: The value is not one of the allowed names.
    """
    if name == "recompute":
        return RECOMPUTATIONS.index(recomputation(value))
    allowed = NAMED[name]
    if value not in allowed:
        raise InputError(f"{name}: {value!r} is not one of {', '.join(allowed)}")
    return allowed.index(value)


def offload_mask(names: Iterable[str]) -> int:
    """The bit mask of offloaded parts: optimizer 1, weights 2, activations 4."""
    mask = 0
    for name in names:
        if name not in OFFLOADS:
            raise InputError(f"offload: {name!r} is not one of {', '.join(OFFLOADS)}")
        mask |= 1 << OFFLOADS.index(name)
    return mask


def offload_names(mask: int) -> tuple[str, ...]:
    """The names behind a mask; inverse of `offload_mask`."""
    return tuple(name for bit, name in enumerate(OFFLOADS) if mask >> bit & 1)


def complete_order(order: Sequence[str]) -> tuple[str, ...]:
    """An order of all five axes from one that names only some; the rest follow outside.

    Raises:
        InputError: An axis is unknown or named twice.
    """
    unknown = [axis for axis in order if axis not in AXES]
    if unknown or len(set(order)) != len(order):
        raise InputError(
            f"placement: {list(order)} must name each of {', '.join(AXES)} at most once, "
            "innermost first"
        )
    return (*order, *(axis for axis in AXES if axis not in order))


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTable:
    """Explicit stages of the plans that have them, padded to the longest.

    Attributes:
        layers: (n, s) layers per stage (per chunk, with interleaving), -1 where a plan has no
            such stage; a plan without explicit stages has -1 everywhere.
        recompute, sharding: (n, s) codes.
        recomputed: (n, s, 2, 2) layers counted apart: dense and mixtures of experts, with
            selective and full recomputation; the others recompute as `recompute` says.
        clock: (n, s) relative clocks.
    """

    layers: IntArray
    recompute: IntArray
    recomputed: IntArray
    sharding: IntArray
    clock: FloatArray

    def take(self, index: npt.NDArray[np.intp]) -> StageTable:
        """The rows of `index`."""
        return StageTable(**{f.name: getattr(self, f.name)[index] for f in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """Many plans as a struct of arrays; every array has shape (n,).

    Named choices are the integer codes of `SHARDINGS`, `planner.schedules.SCHEDULES`, ...;
    `offload` is the mask of `offload_mask`; `order` indexes `ORDERS`, and from `len(ORDERS)` on
    `layouts`, which all rows share. `stages` is None when no plan has explicit stages.
    """

    dp: IntArray
    fsdp: IntArray
    tp: IntArray
    cp: IntArray
    ep: IntArray
    etp: IntArray
    pp: IntArray
    micro_batch: IntArray
    interleave: IntArray
    schedule: IntArray
    sharding: IntArray
    sequence_parallel: BoolArray
    cp_mode: IntArray
    recompute: IntArray
    offload: IntArray
    order: IntArray
    split: IntArray
    clock: FloatArray
    stages: StageTable | None = field(default=None)
    layouts: tuple[Layout, ...] = ()

    def __len__(self) -> int:
        return len(self.dp)

    @property
    def chips(self) -> IntArray:
        """(n,) chips used by each plan."""
        return self.dp * self.fsdp * self.tp * self.cp * self.pp

    @property
    def schedules(self) -> ScheduleColumn:
        """The pipeline schedules of the plans."""
        return ScheduleColumn(self.schedule)

    @property
    def expert_ranks(self) -> IntArray:
        """(n,) ranks that hold one copy of the experts: ep * etp."""
        return self.ep * self.etp

    @property
    def data_ranks(self) -> IntArray:
        """(n,) ranks that see different sequences: dp * fsdp."""
        return self.dp * self.fsdp

    def take(self, index: npt.NDArray[np.intp]) -> PlanTable:
        """The rows of `index`, as a new table."""
        columns = {name: getattr(self, name)[index] for name in COLUMNS}
        stages = None if self.stages is None else self.stages.take(index)
        return PlanTable(**columns, stages=stages, layouts=self.layouts)

    @staticmethod
    def joined(tables: Sequence[PlanTable]) -> PlanTable:
        """The rows of the first table, then of the next, ...; of plans without explicit stages."""
        columns = {name: np.concatenate([getattr(t, name) for t in tables]) for name in COLUMNS}
        layouts = tables[0].layouts
        if any(table.layouts != layouts for table in tables):
            before = np.cumsum([0, *(len(table.layouts) for table in tables[:-1])])
            shift = np.repeat(before, [len(table) for table in tables])
            columns["order"] += np.where(columns["order"] >= len(ORDERS), shift, 0)
            layouts = tuple(layout for table in tables for layout in table.layouts)
        return PlanTable(**columns, layouts=layouts)  # type: ignore[arg-type]

    def plan(self, row: int) -> Plan:
        """Row `row` as a `Plan`."""
        named = {name: int(getattr(self, name)[row]) for name in _INTEGERS}
        coded = {name: allowed[int(getattr(self, name)[row])] for name, allowed in NAMED.items()}
        order = int(self.order[row])
        return Plan(
            **named,  # type: ignore[arg-type]
            **coded,  # type: ignore[arg-type]
            sequence_parallel=bool(self.sequence_parallel[row]),
            offload=offload_names(int(self.offload[row])),
            order=ORDERS[order] if order < len(ORDERS) else AXES,
            clock=float(self.clock[row]),
            stages=self._stages_of(row),
            layout=None if order < len(ORDERS) else self.layouts[order - len(ORDERS)],
        )

    def _stages_of(self, row: int) -> tuple[Stage, ...] | None:
        """The explicit stages of a row; what a stage shares with the plan is None."""
        if self.stages is None or self.stages.layers[row, 0] < 0:
            return None
        table = self.stages

        def own(name: str, at: int) -> Any:
            value = getattr(table, name)[row, at]
            return None if value == getattr(self, name)[row] else value

        def named(name: str, at: int) -> str | None:
            code = own(name, at)
            return None if code is None else NAMED[name][int(code)]

        def stage(at: int) -> Stage:
            clock = own("clock", at)
            return Stage(
                layers=int(table.layers[row, at]),
                recompute=named("recompute", at),
                selective=_pair(table.recomputed[row, at, :, 0]),
                full=_pair(table.recomputed[row, at, :, 1]),
                sharding=named("sharding", at),
                clock=None if clock is None else float(clock),
            )

        return tuple(stage(int(at)) for at in np.flatnonzero(table.layers[row] >= 0))

    @staticmethod
    def from_plans(plans: Sequence[Plan]) -> PlanTable:
        """A table with one row per plan, in order; all chips of a table are of one kind.

        Raises:
            InputError: A named choice is unknown, a layout contradicts its mesh, or stages are on
                pools of chips.
        """
        if any(stage.pool is not None for plan in plans for stage in plan.stages or ()):
            raise InputError(
                "pools: the stages of this plan are on pools of chips, which planner solve and "
                "planner evaluate read; everything else is about one kind of chips"
            )
        order, layouts = _order_codes(plans)
        columns: dict[str, npt.NDArray[np.generic]] = {
            name: np.array([getattr(plan, name) for plan in plans], dtype=np.int64)
            for name in _INTEGERS
        }
        for name in NAMED:
            codes = [code_of(name, getattr(plan, name)) for plan in plans]
            columns[name] = np.array(codes, dtype=np.int64)
        return PlanTable(
            **columns,  # type: ignore[arg-type]
            sequence_parallel=np.array([plan.sequence_parallel for plan in plans], dtype=np.bool_),
            offload=np.array([offload_mask(plan.offload) for plan in plans], dtype=np.int64),
            order=order,
            clock=np.array([plan.clock for plan in plans], dtype=np.float64),
            stages=_stage_table(plans),
            layouts=layouts,
        )


COLUMNS = tuple(f.name for f in fields(PlanTable) if f.name not in {"stages", "layouts"})
"""The arrays of a `PlanTable` with one entry per plan."""


def _order_codes(plans: Sequence[Plan]) -> tuple[IntArray, tuple[Layout, ...]]:
    """(n,) codes of the orders and layouts, and the distinct layouts."""
    layouts: dict[Layout, int] = {}
    codes = []
    for plan in plans:
        if plan.layout is None:
            codes.append(ORDERS.index(complete_order(plan.order)))
            continue
        check_layout(plan.layout, {axis: getattr(plan, axis) for axis in AXES})
        codes.append(len(ORDERS) + layouts.setdefault(plan.layout, len(layouts)))
    return np.array(codes, dtype=np.int64), tuple(layouts)


def _pair(counts: IntArray) -> tuple[int, int]:
    return int(counts[0]), int(counts[1])


def _stage_table(plans: Sequence[Plan]) -> StageTable | None:
    longest = max((len(plan.stages or ()) for plan in plans), default=0)
    if longest == 0:
        return None
    shape = (len(plans), longest)
    table = StageTable(
        layers=np.full(shape, -1, dtype=np.int64),
        recompute=np.zeros(shape, dtype=np.int64),
        recomputed=np.zeros((*shape, 2, 2), dtype=np.int64),
        sharding=np.zeros(shape, dtype=np.int64),
        clock=np.ones(shape, dtype=np.float64),
    )
    every = [(plan, stage) for plan in plans for stage in plan.stages or ()]
    stages = np.array([len(plan.stages or ()) for plan in plans])
    at = np.nonzero(np.arange(longest) < stages[:, None])
    table.layers[at] = [stage.layers for _, stage in every]
    table.recompute[at] = [
        code_of("recompute", stage.recompute or plan.recompute) for plan, stage in every
    ]
    table.recomputed[at] = [[*zip(stage.selective, stage.full, strict=True)] for _, stage in every]
    table.sharding[at] = [
        code_of("sharding", stage.sharding or plan.sharding) for plan, stage in every
    ]
    table.clock[at] = [plan.clock if stage.clock is None else stage.clock for plan, stage in every]
    return table
