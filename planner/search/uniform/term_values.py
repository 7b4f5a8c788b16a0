"""The rows of the separable terms: where they are, and what the cost model says they are.

Every value comes from the functions that evaluate single plans, on one row per distinct
combination of what a term depends on; see `planner.search.uniform.tables`.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.communication.data_parallel import counts_micro_batches
from planner.cost.communication.replicas import with_replicas
from planner.cost.context import CostModel
from planner.cost.memory.memory import stage_parameters
from planner.cost.memory.parameters import LocalParameters, trained_share
from planner.cost.memory.state import host_keys, shards_on_host
from planner.cost.pieces import layer_columns
from planner.cost.stages.layout import StageClasses, stage_tensors
from planner.cost.terms import (
    LAYER_GROUPS,
    data_nets,
    layer_groups,
    layer_terms,
    send_term,
    shard_terms,
    state_terms,
)
from planner.cost.vision.seconds import end_costs
from planner.network.collectives import GroupCosts
from planner.plan import OFFLOAD_OPTIMIZER, PlanTable
from planner.schedules import schedule_of
from planner.search.uniform.space import Space
from planner.search.uniform.tables import (
    DATA_GROUPS,
    Placements,
    TermIndex,
    index_term,
    scope_of,
)

STATE_FIELDS = ("collective", "optimizer", "optimizer_kernels")
LAYER_FIELDS = ("total", "backward", "kernels")
_PER_LAYER = ("tp", "cp", "ep", "etp", "micro_batch", "sequence_parallel", "cp_mode", "recompute")


def term_indices(
    model: CostModel, space: Space, placements: Placements, rounds: FloatArray
) -> dict[str, TermIndex]:
    """Where the rows of every term are, from the columns and the groups that it depends on.

    Args:
        model: Job and framework.
        space: Logical plans.
        placements: Distinct placements per mesh.
        rounds: (n,) times per step that a stage runs its layers.
    """
    plans, mesh_id, axes = space.plans, space.mesh_id, space.meshes.columns
    everywhere = np.zeros(len(space.meshes), dtype=np.int64)
    own = np.arange(len(everywhere))
    each = counts_micro_batches(model.framework, plans.sharding, plans.pp)
    batches = np.where(each, rounds, np.minimum(rounds, 2)).astype(np.int64)
    per_layer = [getattr(plans, name).astype(np.int64) for name in _PER_LAYER]
    per_layer += host_keys(plans)
    of_layer = layer_groups(model.assumptions)
    more = of_layer[len(LAYER_GROUPS) :]
    held = plans.offload & OFFLOAD_OPTIMIZER
    replicas, dealt = plans.schedules.values("replicas").astype(np.int64), plans.schedules.dealt_as
    ends = [plans.tp, plans.cp, plans.micro_batch]
    of_ends = ("tp",) if model.job.images else ()
    send = [*ends, plans.sequence_parallel.astype(np.int64), plans.pp]
    columns: dict[str, tuple[list[IntArray], IntArray, tuple[str, ...]]] = {
        "layer": (
            [*per_layer, plans.offload & ~OFFLOAD_OPTIMIZER, *(getattr(plans, n) for n in more)],
            scope_of(axes, of_layer),
            of_layer,
        ),
        "shard": ([mesh_id, plans.sharding, batches], own, DATA_GROUPS),
        "state": (
            [mesh_id, plans.sharding, held, plans.interleave, plans.split, replicas, dealt],
            own,
            state_groups(model),
        ),
        "ends": (ends, scope_of(axes, of_ends) if of_ends else everywhere, of_ends),
        "send": (send, scope_of(axes, ("tp", "cp", "pp")), ("pp",)),
    }
    return {
        name: index_term(keys, mesh_id, scope, placements, groups)
        for name, (keys, scope, groups) in columns.items()
    }


def state_groups(model: CostModel) -> tuple[str, ...]:
    """The groups that the terms of a step depend on; copies of layers exchange gradients."""
    copied = any(schedule_of(name).bidirectional for name in model.framework.schedules)
    return (*DATA_GROUPS, "pp") if copied else DATA_GROUPS


@dataclass(frozen=True, slots=True)
class TermValues:
    """Computes the terms on their rows, with the functions that evaluate single plans."""

    model: CostModel
    plans: PlanTable
    placements: Placements
    clock: FloatArray
    rounds: FloatArray

    def _nets(self, term: TermIndex) -> dict[str, GroupCosts]:
        return {
            name: self.placements.costs[name].take(classes[:, None])
            for name, classes in term.row_classes.items()
        }

    def _column(self, name: str, term: TermIndex) -> IntArray:
        column: IntArray = getattr(self.plans, name)[term.base][term.row_base, None]
        return column

    def _local(self, term: TermIndex) -> LocalParameters:
        holders = self._column("ep", term) * self._column("etp", term)
        return self.model.local_parameters(self._column("tp", term), holders)

    def _tokens(self, term: TermIndex) -> FloatArray:
        local = self._column("micro_batch", term) * self.model.job.seq_len
        return local / self._column("cp", term)

    def layer(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the layer term, (rows, k) each."""
        names = (*_PER_LAYER, "offload")
        rows = self.plans.take(term.base[term.row_base])
        columns = layer_columns(
            self.model,
            held=shards_on_host(rows, rows.sharding[:, None]),
            **{n: self._column(n, term) for n in names},
            clock=self.clock,
        )
        times = layer_terms(self.model, columns, self._nets(term), self._local(term))
        found = {}
        for kind in ("dense", "moe"):
            layer = getattr(times, kind)
            if layer is not None:
                for name in (*LAYER_FIELDS, "weight_grad", "paired"):
                    found[f"layer.{kind}.{name}"] = getattr(layer, name)
        return found

    def shard(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the per-layer sharding term, (rows, 1) each."""
        terms = shard_terms(
            self.model,
            data_nets(self._nets(term)),
            self._local(term),
            self._column("sharding", term),
            self._column("pp", term),
            self.rounds[term.base][term.row_base, None],
            trained_share(self.model.job),
        )
        return {
            f"shard.{kind}.{name}": getattr(terms, name)[index]
            for index, kind in enumerate(("dense", "moe"))
            for name in ("collective", "ahead", "accumulate", "hooks")
        }

    def state(self, term: TermIndex, stages: StageClasses) -> dict[str, FloatArray]:
        """Rows of the per-step term, (rows, s) each."""
        base = self.plans.take(term.base[term.row_base])
        at = stages.take(term.base[term.row_base])
        local = self._local(term)
        dense, experts = stage_parameters(base, at, local)
        sharding = base.sharding[:, None]
        nets = self._nets(term)
        terms = state_terms(
            self.model,
            data_nets(nets),
            sharding,
            base.offload[:, None],
            base.pp[:, None],
            dense,
            experts,
            stage_tensors(at),
            trained_share(self.model.job),
        )
        terms = with_replicas(self.model, terms, base, nets, sharding, (dense, experts))
        return {f"state.{name}": getattr(terms, name) for name in STATE_FIELDS}

    def ends(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the embedding and head term, (rows, k) each."""
        tp, net = self._column("tp", term), self._nets(term).get("tp")
        ends = end_costs(self.model, tp, self._tokens(term), self.clock, net)
        shape = ends.embedding.shape
        return {
            f"ends.{f.name}": np.broadcast_to(getattr(ends, f.name), shape) for f in fields(ends)
        }

    def send(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the pipeline message term, (rows, 1)."""
        p2p = send_term(
            self.model,
            self._column("tp", term),
            self._tokens(term),
            self._column("sequence_parallel", term).astype(np.bool_),
            self._nets(term)["pp"],
        )
        return {"send.p2p": p2p}
