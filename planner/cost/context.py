"""What stays the same while plans vary: the job, the machine, the assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from frozen_records import dataclass
from hardware_db import Allocation, Chip, Cluster, FrozenMap, HardwareError
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.number_formats import operand_bytes
from planner.assumptions.software import ERAS, FrameworkProfile
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.base.errors import InputError
from planner.cost.energy.facility import Facility, default_facility
from planner.cost.job import Job
from planner.cost.kernels.selection import modules_had, sets_of
from planner.cost.kernels.shapes import Shapes, mlp_blocks, shapes_of
from planner.cost.memory.parameters import LocalParameters, block_parameters, local_parameters
from planner.cost.vision.tower import tower_of, tower_parameters
from planner.network.classes import group_classes
from planner.network.collectives import GroupCosts
from planner.network.fabric import Fabric, Tables, build_fabric, no_tables
from planner.network.placement import EXPERT_GROUPS, GROUPS, Mesh, segments
from planner.plan import AXES, PlanTable

if TYPE_CHECKING:  # few jobs ask for their whole run
    from planner.cost.goodput.runs import Running


def one_format(job: Job, assumptions: Assumptions) -> tuple[Job, Assumptions]:
    """Gradients in the format that a framework sends them in.

        bytes in memory = max(bytes on the wire, least bytes of sums of the era)

    The latter where the buffer that sums gradients is the one that is reduced. In fp32 both have 32
    bits. Nothing changes where no gradients travel, where a framework leaves it to the era, or
    where the assumptions differ from those of the era.
    """
    framework, era = job.framework, ERAS[job.era]
    wire = framework.sent_bytes or assumptions.gradient_wire_bytes
    if not wire:
        return job, assumptions
    wide = operand_bytes(job.precision) if job.precision == "fp32" else 0.0
    if not framework.sums_as_sent:
        asked = assumptions.gradient_wire_bytes != era.gradient_wire_bytes
        if asked or not framework.sent_bytes:
            return job, assumptions
        return job, replace(assumptions, gradient_wire_bytes=max(wire, wide))
    summed = max(wire, wide, era.gradient_sum_bytes)
    return (
        replace(job, framework=replace(framework, gradient_bytes=summed)),
        replace(assumptions, gradient_wire_bytes=wire),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """The cost model of one job on one cluster; `build` makes it.

    Attributes:
        job, cluster, assumptions: As given.
        shapes: The model's dimensions at the job's sequence length.
        vocab_multiple: The vocabulary is padded to this times tp.
        torus_axes: Mesh axis to the number of torus axes that serve it, where that is given;
            else it follows from the placement.
        facility: What lies around the machines.
        clock_limit: Highest relative clock, which a power cap may lower.
        run: The whole run that the job is, where its tokens are known.
        tables: Gives the synthesized collectives of a domain of the innermost level.
    """

    job: Job
    cluster: Cluster
    assumptions: Assumptions
    shapes: Shapes
    vocab_multiple: int
    torus_axes: FrozenMap[float] = field(default_factory=FrozenMap)
    facility: Facility = field(default_factory=default_facility)
    clock_limit: float = 1.0
    run: Running | None = None
    tables: Tables = no_tables
    _fabrics: dict[int, Fabric] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by chips; many plans ask for the same

    @staticmethod
    def build(
        job: Job,
        cluster: Cluster,
        assumptions: Assumptions,
        torus_axes: Mapping[str, float] | None = None,
    ) -> CostModel:
        """The model with its derived shapes, gradients in one format where that holds."""
        job, assumptions = one_format(job, assumptions)
        return CostModel(
            job=job,
            cluster=cluster,
            assumptions=assumptions,
            shapes=mlp_blocks(job.model)
            if assumptions.mlp_blocks
            else shapes_of(job.model, job.seq_len, job.lengths),
            vocab_multiple=job.framework.vocab_multiple,
            torus_axes=FrozenMap(torus_axes),
        )

    @property
    def chip(self) -> Chip:
        """The chip of the cluster."""
        return self.cluster.chip

    @property
    def levels(self) -> FloatArray:
        """(k,) relative clocks of its chips, highest first.

        Those that can be set, and what a power cap makes of them: chips under it lower their clock
        by themselves, below the lowest that can be set too.
        """
        levels = self.chip.clock_levels if self.chip.clock_settable else (1.0,)
        return np.unique(np.minimum(levels, self.clock_limit))[::-1].copy()

    def clocks(self, *, wanted: bool) -> FloatArray:
        """(k,) of its `levels` to choose from, highest first; only the highest unless `wanted`.

        Nor where energy is that of components, which no clock changes.
        """
        return self.levels if wanted and not self.assumptions.component_energy else self.levels[:1]

    @property
    def framework(self) -> FrameworkProfile:
        """The framework of the job."""
        return self.job.framework

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of its layers that a plan may recompute: the framework can be told them."""
        had = modules_had(self.shapes, shared_beside=self.assumptions.shared_beside)
        return tuple(name for name in had if name in self.framework.recompute_modules)

    @property
    def module_sets(self) -> list[int]:
        """Codes of recomputations of sets of them, each another plan (`sets_of`)."""
        names = self.modules if self.job.trains_all else ()
        return sets_of(names, fused=self.assumptions.fused_attention)

    @property
    def allocatable_bytes(self) -> float:
        """Bytes per chip beside what the framework holds outside its allocator; not below 0."""
        return max(self.chip.memory_bytes - self.framework.reserve_bytes, 0.0)

    def allocation(self, chips: int) -> Allocation:
        """The cluster cut to `chips`.

        Raises:
            InputError: The cluster cannot give that many; names the nearest counts.
        """
        try:
            return _allocation(self.cluster, chips)
        except HardwareError as error:
            raise InputError(str(error)) from error

    def fabric(self, chips: int) -> Fabric:
        """The levels of the network as a job of `chips` chips finds them."""
        found = self._fabrics.get(chips)
        if found is None:
            found = build_fabric(self.allocation(chips), self.assumptions, self.tables)
            self._fabrics[chips] = found
        return found

    def on(self, chips: int) -> CostModel:
        """The model for another number of chips: where they share tokens, with their shares."""
        if not self.assumptions.token_granularity or chips == self.job.global_batch:
            return self
        share = self.job.batch_tokens / chips
        return replace(self, job=replace(self.job, seq_len=share, global_batch=chips))

    def local_parameters(self, tp: IntArray, expert_ranks: IntArray) -> LocalParameters:
        """Parameters per chip for arrays of degrees: tp, and ep times etp."""
        if self.assumptions.mlp_blocks:
            return block_parameters(self.job.model, tp)
        found = local_parameters(self.job.model, tp, expert_ranks, self.vocab_multiple)
        if (tower := tower_of(self.job)) is None:
            return found
        every, gathered = tower_parameters(tower, self.job.model.hidden, tp)
        return replace(
            found, tower=every + found.tower, tower_gathered=gathered + found.tower_gathered
        )

    def network_w_per_chip(self, chips: int) -> float:
        """Static power of switches and optics of the levels in use, per chip."""
        return sum(level.switch_power_w_per_chip for level in self.allocation(chips).levels)


@lru_cache(maxsize=512)
def _allocation(cluster: Cluster, chips: int) -> Allocation:
    return cluster.scale(chips)


def mesh_of(plans: PlanTable) -> Mesh:
    """The placement columns of a plan table."""
    return Mesh(
        tp=plans.tp,
        cp=plans.cp,
        fsdp=plans.fsdp,
        dp=plans.dp,
        pp=plans.pp,
        ep=plans.ep,
        etp=plans.etp,
        order=plans.order,
        layouts=plans.layouts,
    )


def networks(model: CostModel, mesh: Mesh) -> dict[str, GroupCosts]:
    """The costs of every group of `planner.network.placement`, (n,) each.

    Plans may use different numbers of chips; each finds the network of its own size. Without
    experts their groups are never used; those of tp stand in.
    """
    first, at = distinct([getattr(mesh, name) for name in ("order", "ep", "etp", *AXES)])
    few = mesh.take(first)
    counts, which = np.unique(few.chips, return_inverse=True)
    fabrics = [model.fabric(int(count)) for count in counts]
    named = segments(few)
    if model.shapes.experts == 0:
        named = {name: made for name, made in named.items() if name not in EXPERT_GROUPS}
    found = group_classes(fabrics, which.ravel(), named, model.torus_axes)
    costs = {name: of_class.take(classes[at]) for name, (classes, of_class) in found.items()}
    return {name: costs.get(name, costs["tp"]) for name in GROUPS}
