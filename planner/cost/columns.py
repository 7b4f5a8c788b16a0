"""A plan table with what is derived from it before any cost: stages, parameters, networks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.cost.context import CostModel, mesh_of, networks
from planner.cost.memory.memory import stage_parameters
from planner.cost.memory.parameters import LocalParameters
from planner.cost.stages.layout import StageClasses, stage_classes
from planner.cost.stages.recomputation import RecomputeGroup, recompute_groups
from planner.network.collectives import GroupCosts
from planner.network.placement import Mesh
from planner.plan import PlanTable
from planner.schedules import ScheduleColumn

Nets = dict[str, GroupCosts]
"""Costs of the groups of plans by `planner.network.placement.GROUPS`, (n, 1) each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """A plan table with what is derived from it before any cost.

    Attributes:
        plans: n plans.
        stages: Their stage classes, (n, s).
        local: Parameters per chip before data-parallel sharding, (n, 1) each.
        parameters: The same for every stage class, (n, s): dense, experts.
        nets: Costs of the groups, (n, 1) each.
        batch: (n,) sequences per step.
        m: (n, 1) micro-batches per step.
        groups: The layers of the stage classes, by what is recomputed of them.
        sharding, clock: (n, 1), or (n, s) where stages differ; no clock is above the model's limit.
    """

    plans: PlanTable
    stages: StageClasses
    local: LocalParameters
    parameters: tuple[FloatArray, FloatArray]
    nets: Nets
    batch: FloatArray
    m: FloatArray
    groups: tuple[RecomputeGroup, ...]
    sharding: IntArray
    clock: FloatArray

    def take(self, index: IntArray) -> Columns:
        """The rows of `index`."""
        if len(index) == len(self.plans) == 1:
            return self
        return Columns(
            plans=self.plans.take(index),
            stages=self.stages.take(index),
            local=LocalParameters(
                **{name: getattr(self.local, name)[index] for name in self.local.__slots__}
            ),
            parameters=(self.parameters[0][index], self.parameters[1][index]),
            nets={name: costs.take(index) for name, costs in self.nets.items()},
            batch=self.batch[index],
            m=self.m[index],
            groups=tuple(group.take(index) for group in self.groups),
            sharding=self.sharding[index],
            clock=self.clock[index],
        )

    def with_batches(self, batches: IntArray) -> Columns:
        """The same plans with other batches, (n,) sequences per step."""
        each = self.plans.data_ranks * self.plans.micro_batch
        return replace(self, batch=batches.astype(np.float64), m=(batches / each)[:, None])

    @property
    def rounds(self) -> FloatArray:
        """(n, 1) times per step that a stage runs its layers."""
        return ScheduleColumn(self.plans.schedule[:, None]).rounds(self.m)

    @property
    def replicas(self) -> FloatArray:
        """(n,) copies of the model's layers in a pipeline: m / rounds."""
        return np.asarray(self.plans.schedules.values("replicas"), dtype=np.float64)

    def over_stages(self, table: FloatArray) -> FloatArray:
        """(n,) sum over all stages of a quantity per stage class, (n, 1) or (n, s)."""
        total = np.zeros(len(self.plans))
        for index in range(self.stages.count.shape[1]):
            column = table[:, index if table.shape[1] > 1 else 0]
            total = total + self.stages.count[:, index] * column
        return total


def columns_of(
    model: CostModel,
    plans: PlanTable,
    batches: IntArray | None = None,
    stages: StageClasses | None = None,
    mesh: Mesh | None = None,
    nets: Nets | None = None,
) -> Columns:
    """Everything that precedes the costs of a plan table.

    Args:
        model: Job and machine.
        plans: n plans.
        batches: (n,) sequences per step of each plan; default the job's.
        stages: Other stage classes than the plans' own.
        mesh: Where groups are placed; default on all chips of the plans.
        nets: Costs of the groups, where `networks_of` has found them.
    """
    if batches is None:
        batches = np.full(len(plans), model.job.global_batch)
    stages = stages or stage_classes(plans, model.job.model)
    sharding, clock = stage_choices(plans, stages)
    clock = np.minimum(clock, model.clock_limit)
    local = parameters_on_chip(model, plans)
    return Columns(
        plans=plans,
        stages=stages,
        local=local,
        parameters=stage_parameters(plans, stages, local),
        nets=nets or _nets(model, mesh or mesh_of(plans)),
        batch=batches.astype(np.float64),
        m=(batches / (plans.data_ranks * plans.micro_batch))[:, None],
        groups=recompute_groups(plans, stages),
        sharding=sharding,
        clock=clock,
    )


def on_other_networks(model: CostModel, columns: Columns) -> Columns:
    """The columns for a model of the same job whose network or constants differ."""
    return replace(columns, nets=_nets(model, mesh_of(columns.plans)))


def _nets(model: CostModel, mesh: Mesh) -> Nets:
    """Costs of the groups, (n, 1) each."""
    return _rows_of(networks(model, mesh), 0, len(mesh))


def _rows_of(found: Mapping[str, GroupCosts], first: int, count: int) -> Nets:
    rows = np.arange(first, first + count)[:, None]
    return {name: costs.take(rows) for name, costs in found.items()}


def networks_of(asked: Sequence[tuple[CostModel, PlanTable]]) -> list[Nets | None]:
    """The costs of the groups of several tables, of those on one network at once.

    Args:
        asked: Models, which may differ in all, each with plans.

    Returns:
        Those of each table; None where its cluster cannot give the chips of one on it.
    """
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for at, (model, plans) in enumerate(asked):
        experts = model.shapes.experts > 0
        network = model.cluster, model.assumptions, model.torus_axes, model.tables
        alike[*network, experts, plans.layouts].append(at)
    found: list[Nets | None] = [None] * len(asked)
    for members in alike.values():
        meshes = [mesh_of(asked[at][1]) for at in members]
        try:
            costs = networks(asked[members[0]][0], Mesh.joined(meshes))
        except InputError:
            continue
        ends = np.cumsum([len(mesh) for mesh in meshes])
        for at, mesh, end in zip(members, meshes, ends, strict=True):
            found[at] = _rows_of(costs, int(end) - len(mesh), len(mesh))
    return found


def micro_batches(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) micro-batches per step: global batch / (dp * fsdp * micro_batch)."""
    return model.job.global_batch / (plans.data_ranks * plans.micro_batch)


def parameters_on_chip(model: CostModel, plans: PlanTable) -> LocalParameters:
    """Parameters per chip before data-parallel sharding, (n, 1) each."""
    return model.local_parameters(plans.tp[:, None], plans.expert_ranks[:, None])


def stage_choices(plans: PlanTable, stages: StageClasses) -> tuple[IntArray, FloatArray]:
    """Sharding and clock: (n, 1), or (n, s) where the stages of a plan differ."""
    if plans.stages is None:
        return plans.sharding[:, None], plans.clock[:, None]
    width = min(stages.count.shape[1], plans.stages.layers.shape[1])
    own = (plans.stages.layers[:, :width] >= 0) & (np.arange(width) < plans.pp[:, None])

    def merged(column: Any, table: Any) -> Any:
        wide = np.repeat(column[:, None], stages.count.shape[1], axis=1)
        wide[:, :width] = np.where(own, table[:, :width], wide[:, :width])
        exists = stages.count > 0
        wide = np.where(exists, wide, wide[:, :1])
        return wide[:, :1] if (wide == wide[:, :1]).all() else wide

    sharding = merged(plans.sharding, plans.stages.sharding)
    return sharding, merged(plans.clock, plans.stages.clock)
