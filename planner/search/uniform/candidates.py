"""Costs of candidates assembled from the separable tables; bounds of whole groups of them.

A *node* is a logical plan with all its placements and clocks. Its candidates are numbered by
(node, placement, clock). `Candidates.costs` gathers the terms of any set of nodes and assembles
time and energy with the same function that evaluates single plans; `Candidates.bounds` does so
once per node with the ideal networks of its mesh, which no placement beats.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, repeated
from planner.cost.columns import columns_of, micro_batches
from planner.cost.context import CostModel
from planner.cost.energy.energy import running_w, standing_w
from planner.cost.layer_costs import EndCost, LayerCost, layer_cost
from planner.cost.pieces import moved_j
from planner.cost.stages.layout import StageClasses, stage_classes
from planner.cost.step import StageCost, StepCost, StepInputs, step_cost
from planner.plan import PlanTable
from planner.schedules import ScheduleColumn, schedule_of
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uniform.space import Space
from planner.search.uniform.tables import Placements, TermIndex
from planner.search.uniform.term_values import LAYER_FIELDS, STATE_FIELDS, TermValues, term_indices


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
        chips: (n,) chips of the logical plans.
        columns: Name to an (n,) column of the logical plans; (1,) where all plans are equal.
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
    chips: FloatArray
    columns: dict[str, NDArray[Any]]
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

    def expand(self, nodes: IntArray) -> Rows:
        """All placements of the given logical plans."""
        mesh = self.space.mesh_id[nodes]
        counts = self.placements.count[mesh]
        plan = repeated(nodes, counts)
        first = repeated(self.placements.start[mesh], counts)
        within = np.arange(len(plan)) - repeated(np.cumsum(counts) - counts, counts)
        return Rows(plan=plan, placement=first + within)

    def ideal(self, nodes: IntArray) -> Rows:
        """One row per logical plan with the ideal networks of its mesh."""
        return Rows(plan=nodes, placement=np.full(len(nodes), -1, dtype=np.int64))

    def costs(self, rows: Rows) -> StepCost:
        """Time and energy of (r, k) candidates: rows times clocks."""
        return step_cost(self.model.assumptions, self._stages(rows), self._inputs(rows))

    def bounds(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """(b, k) times and energies that no placement of a node can beat.

        Every network cost is the least over the placements, the reduction is hidden as far as the
        overlap allows whatever the backward pass, and bubbles are those that schedules call the
        least, so each term is at most its true value; what rounding may add is taken off.
        """
        rows = self.ideal(nodes)
        overlap = self.model.assumptions.dp_overlap
        stages = [
            replace(stage, collective=stage.collective - overlap * stage.collective)
            for stage in self._stages(rows)
        ]
        inputs = replace(self._inputs(rows), bounds=True)
        cost = step_cost(replace(self.model.assumptions, dp_overlap=0.0), stages, inputs)
        return cost.time * ROUNDED_DOWN, cost.energy * ROUNDED_DOWN

    def row_of(self, term: TermIndex, rows: Rows) -> IntArray:
        """Row of a term for each candidate row."""
        if not term.row_classes:  # it depends on no network
            return term.offset.take(rows.plan)
        if len(rows) and rows.placement[0] < 0:
            return term.offset[rows.plan] + term.ideal[self.space.mesh_id[rows.plan]]
        return term.offset.take(rows.plan) + term.code.take(rows.placement)

    def _stages(self, rows: Rows) -> list[StageCost]:
        layer, shard = self.row_of(self.layer, rows), self.row_of(self.shard, rows)
        costs = {kind: self.layer_cost(kind, layer, shard) for kind in ("dense", "moe")}
        state = self.row_of(self.state, rows)
        return [
            StageCost(
                count=self._column(f"count.{index}", rows),
                first=self._column(f"first.{index}", rows),
                last=self._column(f"last.{index}", rows),
                layers=tuple(
                    (self._column(f"{kind}.{index}", rows), cost)
                    for kind, cost in costs.items()
                    if cost is not None
                ),
                **{
                    name: self.values[f"state.{name}"][:, index].take(state)[:, None]
                    for name in STATE_FIELDS
                },
                extra_w=self.extra_w,
            )
            for index in range(self.stages.count.shape[1])
        ]

    def layer_cost(self, kind: str, layer: IntArray, shard: IntArray) -> LayerCost | None:
        """One layer of a kind ("dense", "moe") for pairs of term rows; None where there is none."""
        if f"layer.{kind}.total" not in self.values:
            return None
        parts = {name: self._value(f"layer.{kind}.{name}", layer) for name in LAYER_FIELDS}
        parts["weight_grad"] = self._weight_grad(f"layer.{kind}.weight_grad", layer)
        parts["paired"] = self._of_schedules(f"layer.{kind}.paired", layer, "side_by_side")
        return layer_cost(
            self.model,
            **parts,
            collective=self._value(f"shard.{kind}.collective", shard),
            ahead=self._ahead(f"shard.{kind}.ahead", shard),
            accumulate=self._value(f"shard.{kind}.accumulate", shard),
            hooks=self._hooks(f"shard.{kind}.hooks", shard),
        )

    def _value(self, name: str, rows: IntArray) -> FloatArray:
        """(r, k) rows of a term, stored clock by clock.

        Operands of shape (r, 1) then repeat in long inner loops, not in loops over a few clocks.
        """
        return self.values[name].T.take(rows, axis=1).T

    def _weight_grad(self, name: str, rows: IntArray) -> FloatArray:
        """(r, k) rows of weight gradients, for the schedules that run them apart."""
        return self._of_schedules(name, rows, "splits_backward")

    def _of_schedules(self, name: str, rows: IntArray, attribute: str) -> FloatArray:
        """(r, k) rows of a term that only schedules with an attribute read; (1, 1) without."""
        offered = self.model.framework.schedules
        if any(getattr(schedule_of(schedule), attribute) for schedule in offered):
            return self._value(name, rows)
        return np.zeros((1, 1))

    def _hooks(self, name: str, rows: IntArray) -> FloatArray:
        """(r, 1) rows of a term that only frameworks with hooks read; (1, 1) for others."""
        return self._value(name, rows) if self.model.framework.module_hook_s else np.zeros((1, 1))

    def _ahead(self, name: str, rows: IntArray) -> FloatArray:
        """(r, 1) rows of a term that only perfect overlap reads; (1, 1) without it."""
        if self.model.assumptions.perfect_overlap:
            return self._value(name, rows)
        return np.zeros((1, 1))

    def _column(self, name: str, rows: Rows) -> NDArray[Any]:
        """(r, 1) rows of a column of the logical plans; (1, 1) where all are equal."""
        column = self.columns[name]
        return (column.take(rows.plan) if len(column) > 1 else column)[:, None]

    def _inputs(self, rows: Rows) -> StepInputs:
        ends = self.row_of(self.ends, rows)
        names = ("m", "pp", "v", "chips", "standing_w")
        columns: dict[str, Any] = {name: self._column(name, rows) for name in names}
        return StepInputs(
            **columns,
            schedules=ScheduleColumn(self._column("schedule", rows)),
            ends=EndCost(
                embedding=self._value("ends.embedding", ends),
                head=self._value("ends.head", ends),
                head_backward=self._value("ends.head_backward", ends),
                head_weight_grad=self._weight_grad("ends.head_weight_grad", ends),
                **self._tower(ends),
            ),
            p2p=self._value("send.p2p", self.row_of(self.send, rows)),
            moved_j=self._moved_j(rows),
        )

    def _tower(self, ends: IntArray) -> dict[str, FloatArray]:
        """Those of `EndCost` that only a vision tower has."""
        names = ("tower", "tower_backward") if self.model.job.images else ()
        return {name: self._value(f"ends.{name}", ends) for name in names}

    def _moved_j(self, rows: Rows) -> FloatArray:
        """(r, 1) joules of the component model, where energy is that alone; else (1, 1) zero.

        Of ideal placements no wire counts, a lower bound.
        """
        if not self.model.assumptions.component_energy or not len(rows):
            return np.zeros((1, 1))
        plans, placed = self.space.plans.take(rows.plan), rows.placement[0] >= 0
        if placed:
            order, layouts = self.placements.order[rows.placement], self.placements.layouts
            plans = replace(plans, order=order, layouts=layouts)
        return moved_j(self.model, columns_of(self.model, plans), wires=bool(placed))


def _build(
    model: CostModel, space: Space, placements: Placements, clocks: FloatArray
) -> Candidates:
    """Numbers the rows of every term, then computes the terms on those rows."""
    plans = space.plans
    stages = stage_classes(plans, model.job.model)
    m = micro_batches(model, plans)
    turns = plans.schedules.rounds(m)
    terms = term_indices(model, space, placements, turns)
    counts, which = np.unique(plans.chips, return_inverse=True)
    standing = np.array([standing_w(model, int(count)) for count in counts])[which.ravel()]
    of_term = TermValues(model, plans, placements, clocks[None, :], turns)
    values = {
        **of_term.layer(terms["layer"]),
        **of_term.shard(terms["shard"]),
        **of_term.state(terms["state"], stages),
        **of_term.ends(terms["ends"]),
        **of_term.send(terms["send"]),
    }
    return Candidates(
        model=model,
        space=space,
        placements=placements,
        clocks=clocks,
        stages=stages,
        chips=plans.chips.astype(np.float64),
        columns=_plan_columns(plans, stages, m, standing),
        **terms,
        values={name: np.asfortranarray(table) for name, table in values.items()},
        standing_w=standing,
        extra_w=running_w(model, clocks[None, :]),
    )


def _plan_columns(
    plans: PlanTable, stages: StageClasses, m: FloatArray, standing: FloatArray
) -> dict[str, NDArray[Any]]:
    """The columns of the step; see `Candidates.columns`."""
    columns: dict[str, NDArray[Any]] = {
        "m": m,
        "pp": plans.pp.astype(np.float64),
        "v": plans.interleave.astype(np.float64),
        "schedule": plans.schedule,
        "chips": plans.chips.astype(np.float64),
        "standing_w": standing,
    }
    for name in ("count", "first", "last", "dense", "moe"):
        table = getattr(stages, name)
        columns |= {f"{name}.{i}": table[:, i].copy() for i in range(table.shape[1])}
    return {
        name: column[:1] if len(column) and (column == column[0]).all() else column
        for name, column in columns.items()
    }
