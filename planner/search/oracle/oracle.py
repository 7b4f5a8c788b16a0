"""The mesh problem as an integer program: an independent check of the exhaustive engine.

The choices of a plan are variables; what couples them are tables of the combinations that can
occur, and one product: tp cp pp dp fsdp = chips.

    place    (mesh, order)                              -> networks of every group
    layer    (tp, cp, ep, etp, micro-batch, ...), networks -> row of the layer term
    shard    (mesh, sharding, m), networks              -> row of the sharding term
    lay      (layer, shard, clock)                      -> seconds of one layer of each kind
    state    (mesh, sharding, offload, layout), networks -> seconds per step of each stage class
    ends, send, batch, layout, schedule, clock, held, saved (memory)

Time and energy are the formulas of `planner.cost.step`, written once more over integers: seconds
in multiples of a quantum, watts in multiples of another. The constraint solver (or the join of
`solvers.factored`) proves the optimum of the integer problem; decoded plans are costed by the
model again, and agree with the exhaustive engine to the rounding.

Schedules that split the backward pass are left out: what fills their bubbles depends on which stage
is slowest.
Every table is listed in full, so this is for small jobs (10^5 candidates, not 10^7).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.columns import micro_batches
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.memory.memory import stage_parameters
from planner.cost.memory.state import step_bytes
from planner.cost.step import forward_pass_s, step_factor
from planner.cost.terms import LAYER_GROUPS, layer_groups
from planner.frameworks.rules import demands_of, offloads_allowed
from planner.plan import (
    OFFLOAD_ACTIVATIONS,
    OFFLOAD_OPTIMIZER,
    OFFLOAD_WEIGHTS,
    PlanTable,
)
from planner.plan.ranks import Layout
from planner.question.options import SpaceOptions
from planner.schedules import code_of_schedule
from planner.schedules.passes import paced_sends
from planner.search.limits import Limits
from planner.search.oracle.formula import StepFormula
from planner.search.runnable import fields_beside, runnable_placements, runnable_plans
from planner.search.uniform.batch import layouts_within
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import Space, cross_choices, cross_partial_plans
from planner.search.uniform.tables import DATA_GROUPS, build_placements
from solvers.factored import FactoredProblem, Limit, Product, Table

MESH = ("tp", "cp", "pp", "dp", "fsdp", "ep", "etp")
_CHOICES = (
    *MESH, "micro_batch", "schedule", "interleave", "split", "sharding", "sequence_parallel",
    "cp_mode", "recompute", "offload",
)  # fmt: skip
_QUANTA = 1_000_000  # of the least possible step time, and of the standing power


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshProblem:
    """The integer problem of a job on a chip count, and how to read its solutions.

    Attributes:
        problem: Objectives "time" and "energy".
        clocks: (k,) relative clocks; the choice "clock" is an index.
        layouts: Those of the codes of the choice "order"; see `planner.plan.PlanTable`.
        plans: Logical plans before limits on memory.
        assignments: Candidates: plans times placements times clocks.
        time_s: Seconds per unit of the objective "time".
        energy_j: Joules per unit of the objective "energy".
    """

    problem: FactoredProblem
    clocks: FloatArray
    layouts: tuple[Layout, ...]
    plans: int
    assignments: int
    time_s: float
    energy_j: float

    def decode(self, decisions: list[dict[str, int]]) -> PlanTable:
        """The plans behind decisions of the problem."""
        columns = {n: np.array([d[n] for d in decisions], dtype=np.int64) for n in _CHOICES}
        columns["sequence_parallel"] = columns["sequence_parallel"].astype(np.bool_)
        return PlanTable(
            **columns,  # type: ignore[arg-type]
            order=np.array([d["order"] for d in decisions], dtype=np.int64),
            layouts=self.layouts,
            clock=self.clocks[[d["clock"] for d in decisions]],
        )


def mesh_problem(
    model: CostModel, chips: int, options: SpaceOptions, limits: Limits | None = None
) -> MeshProblem:
    """Builds the integer problem.

    Args:
        model: Job, cluster, assumptions.
        chips: Chips that every plan uses.
        options: What is searched; schedules that split the backward pass are dropped.
        limits: Memory per chip; the other limits are not used.

    Raises:
        ValueError: No plan passes the rules, or energy is that of components, which is not a
            formula of times.
    """
    if model.assumptions.component_energy:
        raise ValueError(
            "energy by component is not a formula of times; use planner.search.uniform.engine"
        )
    if limits is not None and limits.oom_risk is not None:
        raise ValueError("the formula has one limit on memory, whatever is known of it")
    space = _whole_space(model, chips, options)
    if len(space) == 0:
        raise ValueError(f"no plan of {model.job.model.name} on {chips} chips passes the rules")
    orders = options.orders(model.framework)
    layouts = layouts_within(options, limits or Limits(), model)
    runs = runnable_placements(model, options, space.meshes.columns)
    placements = build_placements(model, space.meshes.columns, orders, layouts, runs=runs)
    clocks = model.clocks(wanted=options.clocks)
    candidates = Candidates.build(model, space, placements, clocks)
    return _Builder(candidates, limits or Limits()).build()


def _whole_space(model: CostModel, chips: int, options: SpaceOptions) -> Space:
    """Every logical plan that the rules allow, with every offload, whatever its memory."""
    meshes = enumerate_meshes(model, (chips,), options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    left_out = space.plans.schedules.values("splits_backward")
    space = space.take(np.flatnonzero(~left_out))
    masks = np.arange(8 if options.offload else 1)
    at = np.repeat(np.arange(len(space)), len(masks))
    offload = np.tile(masks, len(space))
    space = space.take(at)
    space = replace(space, plans=replace(space.plans, offload=offload))
    allowed = offloads_allowed(model, space.plans)
    runs = runnable_plans(model, options, space.plans, allowed, {})
    fields = fields_beside(demands_of(model, options.runnable_in))
    return space.take(np.flatnonzero(runs)).apart(fields)


class _Builder:
    """Projects all candidates of a job onto the columns of each table."""

    def __init__(self, candidates: Candidates, limits: Limits) -> None:
        self.candidates = candidates
        self.model = candidates.model
        self.limits = limits
        self.rows = candidates.expand(np.arange(len(candidates.space)))
        self.classes = candidates.stages.count.shape[1]
        self.chips = int(candidates.chips[0])
        self.common = math.lcm(*np.unique(candidates.space.plans.interleave).tolist())
        self.columns = self._columns()
        a = self.model.assumptions
        self.hides = a.dp_overlap * a.dp_window  # of a backward pass
        times = candidates.costs(self.rows).time
        self.quantum_s = float(times.min()) / _QUANTA
        self.quantum_w = float(candidates.standing_w[0]) / _QUANTA**0.5

    def build(self) -> MeshProblem:
        """All tables, both objectives, the limit on memory."""
        clocks = self.candidates.clocks
        choices = {name: self.columns[name] for name in (*_CHOICES, "order")}
        choices["clock"] = np.arange(len(clocks))
        formula = StepFormula.of(
            self.model.assumptions,
            classes=self.classes,
            chips=self.chips,
            common=self.common,
            seconds=lambda value: int(self._seconds(np.array(value))),
            standing_w=int(self._watts(self.candidates.standing_w[:1])[0]),
        )
        limit = math.floor(self.limits.chip_bytes(self.model))
        host = math.floor(self.model.chip.host_memory_bytes)
        problem = FactoredProblem(
            choices={n: tuple(np.unique(c).tolist()) for n, c in choices.items()},
            products=(Product(factors=("tp", "cp", "pp", "dp", "fsdp"), equals=self.chips),),
            tables=self._tables(),
            limits=(
                Limit(name="memory", expression=formula.bytes_here, upper=limit),
                Limit(name="host_memory", expression=formula.bytes_on_host, upper=host),
            ),
            objectives={"time": formula.time, "energy": formula.energy},
        )
        factor = float(step_factor(self.model.assumptions, self.candidates.chips[:1])[0])
        unit = self.quantum_s * factor / self.common
        return MeshProblem(
            problem=problem,
            clocks=clocks,
            layouts=self.candidates.placements.layouts,
            plans=len(self.candidates.space),
            assignments=len(self.rows) * len(clocks),
            time_s=unit,
            energy_j=unit * self.quantum_w,
        )

    def _columns(self) -> dict[str, IntArray]:
        """(r,) what every candidate before clocks chose, and the rows of its terms."""
        c, plan = self.candidates, self.rows.plan
        placement = self.rows.placement
        columns = {n: getattr(c.space.plans, n)[plan].astype(np.int64) for n in _CHOICES}
        columns["order"] = c.placements.order[placement]
        columns["m"] = micro_batches(self.model, c.space.plans)[plan].astype(np.int64)
        columns["gpipe"] = (columns["schedule"] == code_of_schedule("gpipe")).astype(np.int64)
        columns["mesh"] = c.space.mesh_id[plan]
        columns["held"] = columns["offload"] & OFFLOAD_OPTIMIZER
        columns["moved"] = columns["offload"] & ~OFFLOAD_OPTIMIZER
        for name in ("tp", "cp", "ep", "etp", "pp"):
            columns[f"net_{name}"] = c.placements.classes[name][placement]
        columns["net_data"] = distinct([c.placements.classes[n] for n in DATA_GROUPS])[1][placement]
        for name in ("layer", "shard", "state", "ends", "send"):
            columns[f"{name}_row"] = c.row_of(getattr(c, name), self.rows)
        return columns

    def _tables(self) -> tuple[Table, ...]:
        c = self.candidates
        nets = (*(f"net_{name}" for name in (*LAYER_GROUPS, "pp")), "net_data")
        groups = layer_groups(self.model.assumptions)
        of_layer = (*groups[len(LAYER_GROUPS) :], *(f"net_{name}" for name in groups))
        of_ends = ("net_tp",) if self.model.job.images else ()
        of_host = ("fsdp", "sharding") if np.any(self.columns["moved"] & OFFLOAD_WEIGHTS) else ()
        layout = ("pp", "interleave", "split")
        layer = (*LAYER_GROUPS, "micro_batch", "sequence_parallel", "cp_mode", "recompute")
        sends = c.values["send.p2p"][self.columns["send_row"], 0]
        paced = paced_sends(self.model.assumptions, self.columns["interleave"]) * sends
        fixed = [
            self._table("place", (*MESH, "order"), ("mesh", *nets)),
            self._table("batch", ("dp", "fsdp", "micro_batch"), ("m",)),
            self._table("host", ("offload", "recompute"), ("held", "moved")),
            self._table("schedules", ("schedule", "interleave", "pp", "m"), ("gpipe",)),
            self._table("modes", ("tp", "cp", "sequence_parallel", "cp_mode"), ()),
            self._table("sharded", ("dp", "fsdp", "cp", "sharding"), ()),
            self._table("layer", (*layer, "moved", *of_host, *of_layer), ("layer_row",)),
            self._table("shard", ("mesh", "sharding", "m", "net_data"), ("shard_row",)),
            self._layout(layout),
            self._state(("mesh", "sharding", "held", *layout[1:], "net_data")),
            self._lay(),
            self._ends(("tp", "cp", "micro_batch", *of_ends)),
            self._table(
                "send",
                ("tp", "cp", "micro_batch", "sequence_parallel", "pp", "net_pp", "interleave"),
                (),
                {"p2p": self._seconds(sends), "paced": self._seconds(paced)},
            ),
            Table(
                name="clock",
                keys=("clock",),
                rows=np.arange(len(c.clocks))[:, None],
                outputs={"extra_w": self._watts(c.extra_w[0])},
            ),
        ]
        return (*fixed, *self._memory(layout))

    def _table(
        self,
        name: str,
        keys: tuple[str, ...],
        outputs: tuple[str, ...],
        more: dict[str, IntArray] | None = None,
    ) -> Table:
        """Projection onto keys; RuntimeError when the keys do not determine an output."""
        columns = {n: self.columns[n] for n in outputs} | (more or {})
        first, which = distinct([self.columns[n] for n in keys])
        for output, column in columns.items():
            if not np.array_equal(column[first][which], column):
                raise RuntimeError(f"table {name}: {keys} do not determine {output}")
        return Table(
            name=name,
            keys=keys,
            rows=np.stack([self.columns[n][first] for n in keys], axis=1),
            outputs={n: column[first] for n, column in columns.items()},
        )

    def _layout(self, keys: tuple[str, ...]) -> Table:
        stages, plan = self.candidates.stages, self.rows.plan
        outputs = {
            f"{name}{i}": getattr(stages, name)[plan, i].astype(np.int64)
            for name in ("count", "first", "last", "dense", "moe")
            for i in range(self.classes)
        }
        outputs["share"] = self.common // self.columns["interleave"]
        outputs["ranks"] = self.chips // self.columns["pp"]
        return self._table("layout", keys, (), outputs)

    def _state(self, keys: tuple[str, ...]) -> Table:
        row, plan = self.columns["state_row"], self.rows.plan
        overlap = self.model.assumptions.dp_overlap
        outputs = {}
        for i in range(self.classes):
            exists = self.candidates.stages.count[plan, i] > 0
            for name in ("collective", "optimizer", "optimizer_kernels"):
                seconds = self.candidates.values[f"state.{name}"][row, i]
                outputs[f"{name}{i}"] = self._seconds(np.where(exists, seconds, 0.0))
            hidden = overlap * self.candidates.values["state.collective"][row, i]
            outputs[f"hidden{i}"] = self._seconds(np.where(exists, hidden, 0.0))
        return self._table("state", keys, (), outputs)

    def _lay(self) -> Table:
        """Seconds of one layer for every pair of layer and sharding rows that occurs."""
        first, _ = distinct([self.columns["layer_row"], self.columns["shard_row"]])
        clocks = len(self.candidates.clocks)
        at = np.repeat(first, clocks)
        clock = np.tile(np.arange(clocks), len(first))
        outputs = {}
        a = self.model.assumptions
        for kind in ("dense", "moe"):
            pair = self.columns["layer_row"][first], self.columns["shard_row"][first]
            cost = self.candidates.layer_cost(kind, *pair)
            none = np.zeros(1)
            columns = {
                "total": none if cost is None else cost.total,
                "kernels": none if cost is None else cost.kernels,
                "ahead": none if cost is None else forward_pass_s(a, cost),
                "hides": none if cost is None else self.hides * cost.hides,
            }
            for name, seconds in columns.items():
                wide = np.broadcast_to(seconds, (len(first), clocks))
                outputs[f"{kind}_{name}"] = self._seconds(wide.ravel())
        rows = np.stack([self.columns["layer_row"][at], self.columns["shard_row"][at], clock], 1)
        keys = ("layer_row", "shard_row", "clock")
        return Table(name="lay", keys=keys, rows=rows, outputs=outputs)

    def _ends(self, keys: tuple[str, ...]) -> Table:
        first, _ = distinct([self.columns[n] for n in keys])
        clocks = len(self.candidates.clocks)
        at = np.repeat(first, clocks)
        shape = (len(first), clocks)
        row = self.columns["ends_row"][first]
        values = self.candidates.values
        seconds = {
            "embedding": values["ends.embedding"][row],
            "head": values["ends.head"][row],
            "head_ahead": values["ends.head"][row] - values["ends.head_backward"][row],
            "head_hides": self.hides * values["ends.head_backward"][row],
            "tower_back": values["ends.tower_backward"][row],
            "tower_hides": self.hides * values["ends.tower_backward"][row],
        }
        outputs = {
            name: self._seconds(np.broadcast_to(table, shape).ravel())
            for name, table in seconds.items()
        }
        columns = [*(self.columns[n][at] for n in keys), np.tile(np.arange(clocks), len(first))]
        rows = np.stack(columns, axis=1)
        return Table(name="ends", keys=(*keys, "clock"), rows=rows, outputs=outputs)

    def _memory(self, layout: tuple[str, ...]) -> tuple[Table, Table]:
        """Bytes of state, buffers and the optimizer's phase; bytes of the micro-batches."""
        plans = self.candidates.space.plans
        framework = replace(self.model.framework, optimizer_phase=0.0, widened_gradients=0.0)
        model = replace(self.model, job=replace(self.model.job, framework=framework))
        held = memory_table(model, plans)
        alone = replace(plans, offload=plans.offload & ~OFFLOAD_ACTIVATIONS)
        host = memory_table(model, alone).host
        live = held.parts["activations"] + held.parts["logits"]
        state = held.total - live - held.parts["buffers"]
        kept = {"state": state, "buffers": held.parts["buffers"], "host": host}
        kept["phase"] = self._optimizer_phase(plans)
        moved = {"live": live, "host_live": held.host - host}
        state_keys = ("mesh", "sharding", "offload", *layout[1:])
        live_keys = ("tp", "cp", "etp", "micro_batch", "sequence_parallel", "recompute", "moved")
        return (
            self._table("kept", state_keys, (), self._bytes(kept)),
            self._table("live", (*live_keys, "schedule", *layout, "m"), (), self._bytes(moved)),
        )

    def _optimizer_phase(self, plans: PlanTable) -> FloatArray:
        """(n, s) bytes that the optimizer step allocates when nothing of the passes is left."""
        stages = self.candidates.stages
        local = self.model.local_parameters(plans.tp[:, None], plans.expert_ranks[:, None])
        dense, experts = stage_parameters(plans, stages, local)
        exists = stages.count > 0
        phase = step_bytes(self.model.job, plans, dense, experts, plans.sharding[:, None])
        return np.where(exists, phase, 0.0)

    def _bytes(self, tables: dict[str, FloatArray]) -> dict[str, IntArray]:
        """Columns of whole bytes per stage class, by name and class."""
        return {
            f"{name}{i}": np.rint(table[self.rows.plan, i]).astype(np.int64)
            for name, table in tables.items()
            for i in range(self.classes)
        }

    def _seconds(self, seconds: FloatArray) -> IntArray:
        quanta: IntArray = np.rint(seconds / self.quantum_s).astype(np.int64)
        return quanta

    def _watts(self, watts: FloatArray) -> IntArray:
        quanta: IntArray = np.rint(watts / self.quantum_w).astype(np.int64)
        return quanta
