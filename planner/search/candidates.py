"""Costs of candidates assembled from the separable tables; bounds of whole groups of them.

A *box* is a logical plan with all its placements and clocks. Its candidates are numbered by
(box, placement, clock). `Candidates.costs` gathers the terms of any set of boxes and assembles
time and energy with the same function that evaluates single plans; `Candidates.bounds` does so
once per box with the ideal networks of its mesh, which no placement beats.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from planner.cost.columns import micro_batches
from planner.cost.context import CostModel
from planner.cost.energy import extra_w, standing_w
from planner.cost.evaluate import layer_columns
from planner.cost.layout import StageClasses, stage_classes
from planner.cost.memory import stage_parameters
from planner.cost.parameters import LocalParameters, local_parameters, trained_share
from planner.cost.step import EndCost, LayerCost, StageCost, StepCost, StepInputs, step_cost
from planner.cost.terms import (
    data_nets,
    end_terms,
    layer_cost,
    layer_terms,
    send_term,
    shard_terms,
    state_terms,
)
from planner.network.collectives import GroupCosts
from planner.plan import (
    GPIPE,
    OFFLOAD_OPTIMIZER,
    ZERO2,
    ZERO_BUBBLE,
    FloatArray,
    IntArray,
    PlanTable,
)
from planner.search.space import Space
from planner.search.tables import (
    DATA_GROUPS,
    LAYER_GROUPS,
    Placements,
    TermIndex,
    index_term,
    scope_of,
)

_LAYER_FIELDS = ("total", "backward", "kernels")
_PER_LAYER = ("tp", "cp", "ep", "micro_batch", "sequence_parallel", "cp_mode", "recompute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Candidates before clocks: logical plan and placement, (r,) each; placement -1 is ideal."""

    plan: IntArray
    placement: IntArray

    def __len__(self) -> int:
        return len(self.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """All candidates of a space, ready to be costed; `build` makes it.

    Attributes:
        model: Job, cluster, assumptions.
        space: Logical plans.
        placements: Distinct placements per mesh.
        clocks: (k,) relative clocks that are tried.
        stages: Stage classes of the logical plans.
        m, chips: (n,) micro-batches and chips of the logical plans.
        layer, shard, state, ends, send: Where the rows of the terms are.
        values: Term name to arrays of its rows.
        standing_w: (n,) standing power per chip.
        extra_w: (1, k) power above waiting at each clock.
    """

    model: CostModel
    space: Space
    placements: Placements
    clocks: FloatArray
    stages: StageClasses
    m: FloatArray
    chips: FloatArray
    layer: TermIndex
    shard: TermIndex
    state: TermIndex
    ends: TermIndex
    send: TermIndex
    values: dict[str, FloatArray]
    standing_w: FloatArray
    extra_w: FloatArray

    @staticmethod
    def build(
        model: CostModel, space: Space, placements: Placements, clocks: FloatArray
    ) -> Candidates:
        """Builds every table of a space."""
        return _build(model, space, placements, clocks)

    def expand(self, boxes: IntArray) -> Rows:
        """All placements of the given logical plans."""
        mesh = self.space.mesh_id[boxes]
        counts = self.placements.count[mesh]
        plan = np.repeat(boxes, counts)
        first = np.repeat(self.placements.start[mesh], counts)
        within = np.arange(len(plan)) - np.repeat(np.cumsum(counts) - counts, counts)
        return Rows(plan=plan, placement=first + within)

    def ideal(self, boxes: IntArray) -> Rows:
        """One row per logical plan with the ideal networks of its mesh."""
        return Rows(plan=boxes, placement=np.full(len(boxes), -1, dtype=np.int64))

    def costs(self, rows: Rows) -> StepCost:
        """Time and energy of (r, k) candidates: rows times clocks."""
        return step_cost(self.model.assumptions, self._stages(rows), self._inputs(rows))

    def bounds(self, boxes: IntArray) -> tuple[FloatArray, FloatArray]:
        """(b, k) times and energies that no placement of a box can beat.

        Every network cost is the least over the placements, the reduction is hidden as far as the
        overlap allows whatever the backward pass, and GPipe waits for one stage instead of one per
        pass, so each term is at most its true value.
        """
        rows = self.ideal(boxes)
        overlap = self.model.assumptions.dp_overlap
        stages = [
            replace(stage, collective=stage.collective - overlap * stage.collective)
            for stage in self._stages(rows)
        ]
        inputs = self._inputs(rows)
        inputs = replace(inputs, gpipe=np.zeros_like(inputs.gpipe))
        cost = step_cost(replace(self.model.assumptions, dp_overlap=0.0), stages, inputs)
        return cost.time, cost.energy

    def row_of(self, term: TermIndex, rows: Rows) -> IntArray:
        """Row of a term for each candidate row."""
        if len(rows) and rows.placement[0] < 0:
            return term.offset[rows.plan] + term.ideal[self.space.mesh_id[rows.plan]]
        return np.take(term.offset, rows.plan) + np.take(term.code, rows.placement)

    def _stages(self, rows: Rows) -> list[StageCost]:
        layer, shard = self.row_of(self.layer, rows), self.row_of(self.shard, rows)
        costs = [self.layer_cost(kind, layer, shard) for kind in ("dense", "moe")]
        state = self.row_of(self.state, rows)
        return [
            StageCost(
                count=_column(self.stages.count, index, rows.plan),
                first=_column(self.stages.first, index, rows.plan),
                last=_column(self.stages.last, index, rows.plan),
                dense_layers=_column(self.stages.dense, index, rows.plan),
                moe_layers=_column(self.stages.moe, index, rows.plan),
                dense=costs[0],
                moe=costs[1],
                collective=_column(self.values["state.collective"], index, state),
                optimizer=_column(self.values["state.optimizer"], index, state),
                optimizer_kernels=_column(self.values["state.optimizer_kernels"], index, state),
                extra_w=self.extra_w,
            )
            for index in range(self.stages.count.shape[1])
        ]

    def layer_cost(self, kind: str, layer: IntArray, shard: IntArray) -> LayerCost | None:
        """One layer of a kind ("dense", "moe") for pairs of term rows; None where there is none."""
        if f"layer.{kind}.total" not in self.values:
            return None
        parts = {name: self._value(f"layer.{kind}.{name}", layer) for name in _LAYER_FIELDS}
        parts["weight_grad"] = np.zeros((1, 1))  # read by zero-bubble schedules only
        if "zero-bubble" in self.model.framework.schedules:
            parts["weight_grad"] = self._value(f"layer.{kind}.weight_grad", layer)
        return layer_cost(
            self.model,
            **parts,
            collective=self._value(f"shard.{kind}.collective", shard),
            accumulate=self._value(f"shard.{kind}.accumulate", shard),
        )

    def _value(self, name: str, rows: IntArray) -> FloatArray:
        """(r, k) rows of a term, stored clock by clock.

        Operands of shape (r, 1) then repeat in long inner loops, not in loops over a few clocks.
        """
        return np.take(self.values[name].T, rows, axis=1).T

    def _inputs(self, rows: Rows) -> StepInputs:
        plans = self.space.plans
        ends = self.row_of(self.ends, rows)
        schedule = np.take(plans.schedule, rows.plan)
        return StepInputs(
            m=np.take(self.m, rows.plan)[:, None],
            pp=np.take(plans.pp, rows.plan)[:, None].astype(np.float64),
            v=np.take(plans.interleave, rows.plan)[:, None].astype(np.float64),
            zero_bubble=(schedule == ZERO_BUBBLE)[:, None],
            gpipe=(schedule == GPIPE)[:, None],
            chips=np.take(self.chips, rows.plan)[:, None],
            ends=EndCost(
                embedding=self._value("ends.embedding", ends),
                head=self._value("ends.head", ends),
                head_backward=self._value("ends.head_backward", ends),
                head_weight_grad=self._value("ends.head_weight_grad", ends),
            ),
            p2p=self._value("send.p2p", self.row_of(self.send, rows)),
            standing_w=np.take(self.standing_w, rows.plan)[:, None],
        )


def _column(table: FloatArray, index: int, rows: IntArray) -> FloatArray:
    """(r, 1) rows of one column of a table that is stored by columns."""
    return np.take(table[:, index], rows)[:, None]


def _build(
    model: CostModel, space: Space, placements: Placements, clocks: FloatArray
) -> Candidates:
    """Numbers the rows of every term, then computes the terms on those rows."""
    plans = space.plans
    stages = stage_classes(plans, model.job.model)
    m = micro_batches(model, plans)
    terms = _terms(space, placements, m)
    counts, which = np.unique(plans.chips, return_inverse=True)
    standing = np.array([standing_w(model, int(count)) for count in counts])
    maker = _Maker(model, plans, placements, clocks[None, :], m)
    values = {
        **maker.layer(terms["layer"]),
        **maker.shard(terms["shard"]),
        **maker.state(terms["state"], stages),
        **maker.ends(terms["ends"]),
        **maker.send(terms["send"]),
    }
    return Candidates(
        model=model,
        space=space,
        placements=placements,
        clocks=clocks,
        stages=stages.by_columns(),
        m=m,
        chips=plans.chips.astype(np.float64),
        **terms,
        values={name: np.asfortranarray(table) for name, table in values.items()},
        standing_w=standing[which.ravel()],
        extra_w=extra_w(model.chip, clocks[None, :]),
    )


def _terms(space: Space, placements: Placements, m: FloatArray) -> dict[str, TermIndex]:
    """Where the rows of every term are, from the columns and the groups that it depends on."""
    plans, mesh_id, axes = space.plans, space.mesh_id, space.meshes.columns
    everywhere = np.zeros(len(space.meshes), dtype=np.int64)
    own = np.arange(len(everywhere))
    batches = np.where(plans.sharding == ZERO2, m, np.minimum(m, 2)).astype(np.int64)
    per_layer = [getattr(plans, name).astype(np.int64) for name in _PER_LAYER]
    held = plans.offload & OFFLOAD_OPTIMIZER
    ends = [plans.tp, plans.cp, plans.micro_batch]
    send = [*ends, plans.sequence_parallel.astype(np.int64), plans.pp]
    columns: dict[str, tuple[list[IntArray], IntArray, tuple[str, ...]]] = {
        "layer": (
            [*per_layer, plans.offload & ~OFFLOAD_OPTIMIZER],
            scope_of(axes, ("tp", "cp", "ep")),
            LAYER_GROUPS,
        ),
        "shard": ([mesh_id, plans.sharding, batches], own, DATA_GROUPS),
        "state": (
            [mesh_id, plans.sharding, held, plans.interleave, plans.split],
            own,
            DATA_GROUPS,
        ),
        "ends": (ends, everywhere, ()),
        "send": (send, scope_of(axes, ("tp", "cp", "pp")), ("pp",)),
    }
    return {
        name: index_term(keys, mesh_id, scope, placements, groups)
        for name, (keys, scope, groups) in columns.items()
    }


@dataclass(frozen=True, slots=True)
class _Maker:
    """Computes the terms on their rows, with the functions that evaluate single plans."""

    model: CostModel
    plans: PlanTable
    placements: Placements
    clock: FloatArray
    m: FloatArray

    def _nets(self, term: TermIndex) -> dict[str, GroupCosts]:
        return {
            name: self.placements.costs[name].take(classes[:, None])
            for name, classes in term.row_classes.items()
        }

    def _column(self, name: str, term: TermIndex) -> IntArray:
        column: IntArray = getattr(self.plans, name)[term.base][term.row_base, None]
        return column

    def _local(self, term: TermIndex) -> LocalParameters:
        return local_parameters(
            self.model.job.model,
            self._column("tp", term),
            self._column("ep", term),
            self.model.vocab_multiple,
        )

    def _tokens(self, term: TermIndex) -> FloatArray:
        local = self._column("micro_batch", term) * self.model.job.seq_len
        return local / self._column("cp", term)

    def layer(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the layer term, (rows, k) each."""
        names = (*_PER_LAYER, "offload")
        columns = layer_columns(
            self.model, **{n: self._column(n, term) for n in names}, clock=self.clock
        )
        times = layer_terms(self.model, columns, self._nets(term), self._local(term))
        found = {}
        for kind in ("dense", "moe"):
            layer = getattr(times, kind)
            if layer is not None:
                for name in (*_LAYER_FIELDS, "weight_grad"):
                    found[f"layer.{kind}.{name}"] = getattr(layer, name)
        return found

    def shard(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the per-layer sharding term, (rows, 1) each."""
        terms = shard_terms(
            self.model,
            data_nets(self._nets(term)),
            self._local(term),
            self._column("sharding", term),
            self.m[term.base][term.row_base, None],
            trained_share(self.model.job),
        )
        return {
            f"shard.{kind}.{name}": getattr(terms, name)[index]
            for index, kind in enumerate(("dense", "moe"))
            for name in ("collective", "accumulate")
        }

    def state(self, term: TermIndex, stages: StageClasses) -> dict[str, FloatArray]:
        """Rows of the per-step term, (rows, s) each."""
        base = self.plans.take(term.base[term.row_base])
        at = stages.take(term.base[term.row_base])
        local = self._local(term)
        dense, experts = stage_parameters(self.model.job, base, at, local)
        sharding = base.sharding[:, None]
        terms = state_terms(
            self.model,
            data_nets(self._nets(term)),
            sharding,
            base.offload[:, None],
            dense,
            experts,
            trained_share(self.model.job),
        )
        names = ("collective", "optimizer", "optimizer_kernels")
        return {f"state.{name}": getattr(terms, name) for name in names}

    def ends(self, term: TermIndex) -> dict[str, FloatArray]:
        """Rows of the embedding and head term, (rows, k) each."""
        ends = end_terms(self.model, self._column("tp", term), self._tokens(term), self.clock)
        return {f"ends.{f.name}": getattr(ends, f.name) for f in fields(ends)}

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
