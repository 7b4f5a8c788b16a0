"""The rows of an uneven search: everything that stages share, the rest is theirs.

A row is a mesh with its placement, micro-batch, schedule, interleave, sequence parallelism and
context-parallel mode. Its stages then choose their layers, recomputation, sharding and clock.
Interleaved stages have nearly equal chunks (`planner.search.uneven.aligned`); how many layers the
fullest has is one more choice of a row. Interleaves that no equal chunks go with are searched where
they are asked for. Layouts that are given may have any chunks. Under bidirectional schedules
a device is a pair of ranks that hold the same two chunks, which are about equal
(`planner.search.uneven.columns.pairs`). Plans that keep parts on the host are not among the
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct, ranges, repeated
from planner.cost.context import CostModel
from planner.frameworks.rules import Demand, Rule, applicable, demands_of, freedom_of
from planner.network.collectives import GroupCosts
from planner.plan import SHARDINGS, PlanTable
from planner.question.options import SpaceOptions
from planner.schedules import schedule_at
from planner.search.deadline import NEVER, Deadline
from planner.search.placements.groups import EVERY, NO_LAYOUTS
from planner.search.runnable import fields_beside, ordered_plans, runnable_placements, without
from planner.search.uneven.aligned import fullest_devices, usual
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.space import (
    PartialPlans,
    Space,
    cross_exchanges,
    cross_partial_plans,
    recomputes,
)
from planner.search.uniform.tables import Placements, build_placements

_OF_SPLITS = ("layers", "split-offered")
_RECOMPUTE = "recompute"
"""`Rule.field` of rules about how layers are recomputed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """n rows; see the module.

    Attributes:
        plans: (n,) their shared choices; sharding, recomputation, split and clock say nothing.
        mesh_id: (n,) row of `meshes`.
        meshes: The meshes.
        placement: (n,) row of `placements`.
        placements: The distinct placements of the meshes.
        shardings: (n, 4) which shardings a stage may have, by code.
        recomputes: Codes of the recomputations that a layer may have, ascending.
        modes: (n, r) which of those stands in the place of each; those that a row may not have
            are replaced by one that it may.
        first: (n,) that number of first layers of every chunk recompute in full, no others do; -1:
            as the stages like.
        counts: Rows considered before placement, and what each rule drops.
        fullest: (n,) layers of the fullest device of interleaved rows whose chunks are not given,
            as in `planner.search.uneven.aligned`; 0 for others, and where it is still open.
        layers: Layers of every chunk in order, where they are given.
    """

    plans: PlanTable
    mesh_id: IntArray
    meshes: Meshes
    placement: IntArray
    placements: Placements
    shardings: BoolArray
    recomputes: tuple[int, ...]
    modes: IntArray
    first: IntArray
    counts: dict[str, int]
    fullest: IntArray
    layers: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.mesh_id)

    def take(self, index: IntArray) -> Rows:
        """The rows of `index`."""
        return replace(
            self,
            plans=self.plans.take(index),
            mesh_id=self.mesh_id[index],
            placement=self.placement[index],
            shardings=self.shardings[index],
            modes=self.modes[index],
            first=self.first[index],
            fullest=self.fullest[index],
        )

    def by_fullest(self, layers: int) -> tuple[Rows, IntArray]:
        """Rows of every number of layers that the fullest device may have, and whose they are.

        Args:
            layers: Of the model.
        """
        if self.layers is not None:
            return self, np.arange(len(self))
        shapes = np.stack([self.plans.pp, self.plans.interleave], axis=1)
        few, which = np.unique(shapes, axis=0, return_inverse=True)
        options = [fullest_devices(layers, pp, v) if v > 1 else [0] for pp, v in few.tolist()]
        own = [options[shape] for shape in which.ravel().tolist()]
        row = np.repeat(np.arange(len(self)), [len(numbers) for numbers in own])
        fullest = np.array([n for numbers in own for n in numbers], dtype=np.int64)
        return replace(self.take(row), fullest=fullest), row

    def micro_batches(self, model: CostModel) -> FloatArray:
        """(n,) m: micro-batches of a step."""
        return model.job.global_batch / (self.plans.data_ranks * self.plans.micro_batch)

    @property
    def both_ways(self) -> BoolArray:
        """(n,) whether pipelines in opposite directions share the stages."""
        return np.asarray(self.plans.schedules.values("bidirectional"))

    @property
    def devices(self) -> IntArray:
        """(n,) stages that choose their contents: pp, or pp / 2 pairs of equal stages."""
        return np.where(self.both_ways, self.plans.pp // 2, self.plans.pp)

    def networks(self) -> dict[str, GroupCosts]:
        """Costs of every group of every row, (n, 1) each."""
        return {
            name: costs.take(self.placements.classes[name][self.placement][:, None])
            for name, costs in self.placements.costs.items()
        }

    @property
    def logical_meshes(self) -> set[tuple[int, ...]]:
        """The combinations of tp, cp and pp."""
        axes = [getattr(self.plans, name) for name in ("tp", "cp", "pp")]
        first, _ = distinct(axes)
        return set(zip(*(axis[first].tolist() for axis in axes), strict=True))


def given_runs(sizes: tuple[int, ...] | None, devices: int, layers: int) -> BoolArray:
    """(p, L + 1, L + 1) runs of layers, by start and number, that devices have if they are given.

    Args:
        sizes: Layers of each device; None: any.
        devices, layers: p, L.
    """
    if sizes is None:
        return np.ones((devices, layers + 1, layers + 1), dtype=np.bool_)
    given = np.zeros((devices, layers + 1, layers + 1), dtype=np.bool_)
    given[np.arange(devices), np.cumsum((0, *sizes[:-1])), sizes] = True
    return given


def uneven_partial_plans(
    model: CostModel, counts: tuple[int, ...], options: SpaceOptions
) -> PartialPlans:
    """Every mesh, micro-batch, schedule and interleave on some chip counts.

    Args:
        model: Job and machine.
        counts: Chip counts that plans may use.
        options: Values fixed, the layers of the chunks included; `split` says nothing here.
    """
    meshes = enumerate_meshes(model, counts, options, uneven=True)
    partial_plans = cross_partial_plans(model, meshes, options, uneven=True)
    pp, v = meshes.columns["pp"][partial_plans.mesh_id], partial_plans.columns["interleave"]
    if options.layers is not None:
        searched, name = pp * v == len(options.layers), "layout"
    else:
        fixed = [schedule_at(code) for code in options.fixed.get("schedule", ())]
        asked = "interleave" in options.fixed or (
            bool(fixed) and all(schedule.interleaves for schedule in fixed)
        )
        searched, name = asked | usual(model.job.model.layers, pp, v), "chunks"
    if searched.all():
        return partial_plans
    kept = np.flatnonzero(searched)
    dropped = {name: len(partial_plans) - len(kept)}
    return replace(partial_plans.take(kept), counts={**partial_plans.counts, **dropped})


def cross_rows(
    model: CostModel,
    partial_plans: PartialPlans,
    options: SpaceOptions,
    deadline: Deadline = NEVER,
) -> Rows:
    """Every row on some partial plans that the rules allow, in the order of the partial plans.

    Args:
        model: Job and machine.
        partial_plans: From `uneven_partial_plans`.
        options: Values fixed, orders and layouts.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    logical_rows = allowed_rows(model, partial_plans, options)
    fields = fields_beside(demands_of(model, options.runnable_in))
    space = logical_rows.space.apart(fields)
    deadline.check()
    layouts = EVERY if options.torus else NO_LAYOUTS
    orders = options.orders(model.framework)
    columns = space.meshes.columns
    if len(space):
        runs = runnable_placements(model, options, columns)
        placements = build_placements(model, columns, orders, layouts, deadline, runs)
    else:
        placements = no_placements(len(space.meshes))
    logical_rows = replace(logical_rows, space=space)
    return placed_rows(logical_rows, placements, allowed_recomputes(model, options), options.layers)


def placed_rows(
    rows: LogicalRows,
    placements: Placements,
    recomputes: tuple[int, ...],
    layers: tuple[int, ...] | None,
) -> Rows:
    """Rows on every placement of their meshes; `recomputes` and `layers` as of `Rows`."""
    space = rows.space
    copies = placements.count[space.mesh_id]
    logical = repeated(np.arange(len(space)), copies)
    placed = ranges(placements.start[space.mesh_id], copies)
    plans = replace(
        space.plans.take(logical), order=placements.order[placed], layouts=placements.layouts
    )
    return Rows(
        plans=plans,
        mesh_id=space.mesh_id[logical],
        meshes=space.meshes,
        placement=placed,
        placements=placements,
        shardings=rows.shardings[logical],
        recomputes=recomputes,
        modes=rows.modes[logical],
        first=np.full(len(logical), -1, dtype=np.int64),
        counts=space.counts,
        fullest=np.zeros(len(logical), dtype=np.int64),
        layers=layers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalRows:
    """Rows before placement.

    Attributes:
        space: Their shared choices, n.
        shardings: (n, 4) which shardings a stage may have.
        modes: (n, r) see `Rows`.
    """

    space: Space
    shardings: BoolArray
    modes: IntArray


def allowed_rows(
    model: CostModel, partial_plans: PartialPlans, options: SpaceOptions
) -> LogicalRows:
    """The rows that the rules allow."""
    space = cross_exchanges(model, partial_plans, options)
    rules = [rule for rule in applicable(model.framework) if rule.name not in _OF_SPLITS]
    counts = dict(space.counts)
    keep = np.ones(len(space), dtype=np.bool_)
    for rule in rules:
        if not rule.per_stage:
            keep = without(keep, rule.holds(model, space.plans), rule.name, counts)
    every = demands_of(model, options.runnable_in)
    demands = [one for one in every if one.rule.name not in _OF_SPLITS]
    keep = _dealt(model, options, demands, space.plans, keep, counts)
    shardings = _shardings(model, space.plans, options, rules, demands)
    keep = without(keep, shardings.any(axis=1), "sharding", counts)
    modes = _modes(space.plans, allowed_recomputes(model, options), demands)
    keep = without(keep, modes[:, 0] >= 0, "recompute", counts)
    at = np.flatnonzero(keep)
    return LogicalRows(
        space=replace(space.take(at), counts=counts), shardings=shardings[at], modes=modes[at]
    )


def _dealt(
    model: CostModel,
    options: SpaceOptions,
    demands: Sequence[Demand],
    plans: PlanTable,
    keep: BoolArray,
    counts: dict[str, int],
) -> BoolArray:
    """(n,) rows of those kept that targets run, whose stages they can launch."""
    for demand in demands:
        if not demand.rule.per_stage and not demand.rule.of_order:
            keep = without(keep, demand.holds(plans), demand.name, counts)
    if (no_lists := freedom_of(model, demands).no_lists) is not None:
        keep = without(keep, np.zeros(len(plans), dtype=np.bool_), no_lists.name, counts)
    return ordered_plans(model, options, demands, plans, keep, counts)


def _modes(plans: PlanTable, recomputes: tuple[int, ...], demands: Sequence[Demand]) -> IntArray:
    """(n, r) places of the recomputations that targets run, see `Rows.modes`; -1 without one."""
    modes = np.tile(np.arange(len(recomputes)), (len(plans), 1))
    for at, code in enumerate(recomputes):
        same = replace(plans, recompute=np.full(len(plans), code, dtype=np.int64))
        for demand in demands:
            if demand.rule.field == _RECOMPUTE:
                modes[~demand.holds(same), at] = -1
    first = np.max(modes, axis=1, initial=-1, keepdims=True)
    return np.where(modes < 0, first, modes)


def no_placements(meshes: int) -> Placements:
    """That none of so many meshes is placed."""
    none = np.empty(0, dtype=np.int64)
    return Placements(
        start=np.zeros(meshes + 1, dtype=np.int64),
        order=none,
        layouts=(),
        classes={},
        costs={},
        ideal={},
    )


def allowed_recomputes(model: CostModel, options: SpaceOptions) -> tuple[int, ...]:
    """Codes of the recomputations that differ and are asked for, ascending."""
    codes = np.array(recomputes(model, options))
    return tuple(codes[options.allows("recompute", codes)].tolist())


def _shardings(
    model: CostModel,
    plans: PlanTable,
    options: SpaceOptions,
    rules: list[Rule],
    demands: Sequence[Demand],
) -> BoolArray:
    """(n, 4) shardings that the rules on stages allow and that are asked for."""
    allowed = np.zeros((len(plans), len(SHARDINGS)), dtype=np.bool_)
    for code in range(len(SHARDINGS)):
        same = np.full(len(plans), code, dtype=np.int64)
        table = replace(plans, sharding=same)
        allowed[:, code] = options.allows("sharding", same)
        for rule in rules:
            if rule.per_stage:
                allowed[:, code] &= rule.holds(model, table)
        for demand in demands:
            if demand.rule.per_stage:
                allowed[:, code] &= demand.holds(table)
    return allowed
