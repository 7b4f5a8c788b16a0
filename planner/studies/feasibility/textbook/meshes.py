"""Whole meshes under `roofline`: the batches between which each is compute-bound and fits.

With the rates that the ordinary network code gives the groups of a mesh on its real placement
(beta seconds per byte of an all-gather), the conditions of How to Scale Your Model, part 5, are

    DP, ZeRO-1, ZeRO-2   B >= X C beta(data)                            ("Data Parallelism")
    ZeRO-3               B >= X C beta(shard), B >= dp C beta(replica)  ("FSDP", "Scaling Across")
    TP                   Y <= F / (C beta(tp)), whatever B              ("Tensor Parallelism")
    memory               10 P / shards + 2 L (D + 2 F) B / N <= HBM     (questions 1 to 3)

with X = dp x fsdp x cp data ranks. A stage of a pipeline holds L / pp layers, which divides math
and weights alike; there is no bubble, and the whole batch passes at once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, repeated
from planner.cost.context import CostModel, mesh_of, networks
from planner.cost.memory.memory import activation_bytes
from planner.plan import AXES, DDP, EVEN, NO_RECOMPUTE, ORDERS, ZERO3, PlanTable
from planner.schedules import code_of_schedule
from planner.search.placements.groups import EFFICIENT, NO_LAYOUTS
from planner.search.placements.layouts import torus_of
from planner.search.uniform.meshes import Meshes
from planner.search.uniform.tables import build_placements, ideal_networks
from planner.studies.feasibility import answer
from planner.studies.feasibility.strategies import Strategy, meshes_of, with_batch, with_orders

_NEVER = np.inf
_NETS = ("tp", "shard", "replica", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshLimits:
    """What each of n whole meshes of a strategy allows; arrays have shape (n,).

    Attributes:
        chips: N.
        plans: The meshes, each in some placements, the whole batch in one micro-batch.
        sharded: Tokens per step from which gathering weights, or reducing gradients, hides.
        across: Tokens per step from which the reduction across replicas of ZeRO-3 hides.
        most_tp: Degree of tensor parallelism up to which its exchanges hide; inf without.
        state: Bytes of weights and optimizer per chip.
        most: Tokens per step that fit in memory, below zero where the state does not fit.
        beta_x, beta_y: Seconds per byte of an all-gather over the shards and over tp.
    """

    chips: int
    plans: PlanTable
    sharded: FloatArray
    across: FloatArray
    most_tp: FloatArray
    state: FloatArray
    most: FloatArray
    beta_x: FloatArray
    beta_y: FloatArray

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def least(self) -> FloatArray:
        """(n,) tokens per step from which a mesh is compute-bound: at least one per chip."""
        data = np.maximum(np.maximum(self.sharded, self.across), float(self.chips))
        return np.where(self.plans.tp <= self.most_tp, data, _NEVER)

    def communication(self, batch_tokens: float) -> FloatArray:
        """(n,) seconds of communication over those of computing: T_comms / T_math at a batch."""
        data = np.maximum(self.sharded, self.across) / batch_tokens
        return np.maximum(data, self.plans.tp / self.most_tp)

    def best(self, batch_tokens: float | None = None) -> int:
        """The mesh that is compute-bound from the fewest tokens on.

        Those come first that fit there (or at the batch given), then those that fit at all.
        """
        least, chips = self.least, float(self.chips)
        wanted = least if batch_tokens is None else np.maximum(batch_tokens, chips)
        rank = np.where(self.most >= wanted, 0, np.where(self.most >= chips, 1, 2))
        rank = np.where((rank == 0) & ~np.isfinite(least), 1, rank)
        excess = np.where(np.isfinite(least), 0.0, self.plans.tp / self.most_tp)
        return int(np.lexsort((self.plans.tp, excess, least, rank))[0])

    def binds(self, row: int, strategy: Strategy) -> str:
        """What sets the smallest compute-bound batch of a mesh."""
        if self.plans.tp[row] > self.most_tp[row]:
            return answer.TP
        if self.least[row] <= self.chips:
            return answer.NOTHING
        if self.across[row] > self.sharded[row]:
            return answer.DCN if strategy.pods else answer.DP
        return answer.FSDP if strategy.sharding == "zero3" else answer.DP


def mesh_limits(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    memory_bytes: float,
    *,
    ideal: bool = False,
    meshes: PlanTable | None = None,
) -> MeshLimits | None:
    """The limits of all whole meshes of a strategy; None where it has none on so many chips.

    Args:
        model: Job, cluster and the assumptions `roofline`.
        strategy: The strategy.
        chips: N.
        memory_bytes: Bytes per chip that may be filled.
        ideal: Every group of a mesh as if placed the best for it alone: no placement is compute-
            bound where this is not.
        meshes: Some of `mesh_plans`; default all.
    """
    sized = with_batch(model, chips)
    plans = mesh_plans(sized, strategy, chips) if meshes is None else meshes
    if len(plans) == 0:
        return None
    if ideal:
        kind = EFFICIENT if _has_layouts(sized, strategy, chips) else NO_LAYOUTS
        nets = ideal_networks(sized, _columns(plans), ORDERS, _NETS, layouts=kind)
    else:
        plans = _placed(sized, strategy, plans)
        nets = networks(sized, mesh_of(plans))
    one = np.ones(len(plans))
    beta = {name: nets[name].gather_s(one) for name in _NETS}
    rate = sized.assumptions.matmul_flop_per_s
    ranks = (plans.data_ranks * plans.cp).astype(np.float64)
    zero3 = plans.sharding == ZERO3
    state, most = tokens_beside_state(sized, plans, memory_bytes)
    with np.errstate(divide="ignore"):
        most_tp = np.where(plans.tp > 1, sized.shapes.dense_width / (rate * beta["tp"]), np.inf)
    return MeshLimits(
        chips=chips,
        plans=plans,
        sharded=ranks * rate * np.where(zero3, beta["shard"], beta["data"]),
        across=np.where(zero3, plans.dp * rate * beta["replica"], 0.0),
        most_tp=most_tp,
        state=state,
        most=most,
        beta_x=np.where(zero3, beta["shard"], beta["data"]),
        beta_y=beta["tp"],
    )


def _placed(model: CostModel, strategy: Strategy, plans: PlanTable) -> PlanTable:
    """Every mesh in every placement that may be the best: orders and, on a torus, layouts."""
    if not _has_layouts(model, strategy, int(plans.chips[0])):
        return with_orders(model, strategy, plans, every=True)
    found = build_placements(model, _columns(plans), ORDERS, EFFICIENT)
    rows = repeated(np.arange(len(plans)), found.count)
    return replace(plans.take(rows), order=found.order, layouts=found.layouts)


def _has_layouts(model: CostModel, strategy: Strategy, chips: int) -> bool:
    """Whether axes may come in parts: on a torus, unless pods are kept whole or axes are given."""
    free = not model.framework.orders and not model.torus_axes and not strategy.pods
    return free and torus_of(model.fabric(chips)) is not None


def _columns(plans: PlanTable) -> dict[str, IntArray]:
    """The columns of meshes as the search has them."""
    return {axis: getattr(plans, axis) for axis in (*AXES, "ep", "etp", "chips")}


def mesh_plans(model: CostModel, strategy: Strategy, chips: int) -> PlanTable:
    """The whole meshes of a strategy as plans: one micro-batch, equal stages, nothing recomputed.

    A micro-batch holds the shares of all chips of a data rank.
    """
    meshes: Meshes = meshes_of(model, strategy, chips)
    equal = model.job.model.layers % meshes.columns["pp"] == 0
    columns = {name: column[equal] for name, column in meshes.columns.items()}
    size = len(columns["tp"])
    zero = np.zeros(size, dtype=np.int64)
    return PlanTable(
        **{axis: columns[axis] for axis in ("dp", "fsdp", "tp", "cp", "ep", "pp")},
        etp=zero + 1,
        micro_batch=columns["tp"] * columns["cp"] * columns["pp"],
        interleave=zero + 1,
        schedule=zero + code_of_schedule("1f1b"),
        sharding=zero + strategy.code,
        sequence_parallel=columns["tp"] > 1,
        cp_mode=zero,
        recompute=zero + NO_RECOMPUTE,
        offload=zero,
        order=zero,
        split=zero + EVEN,
        clock=np.ones(size),
    )


def tokens_beside_state(
    model: CostModel, plans: PlanTable, memory_bytes: float
) -> tuple[FloatArray, FloatArray]:
    """(n,) bytes of state per chip, and tokens per step that fit beside it."""
    state, per_token = _bytes(model, plans)
    return state, (memory_bytes - state) / per_token


def _bytes(model: CostModel, plans: PlanTable) -> tuple[FloatArray, FloatArray]:
    """(n,) bytes of state per chip, and bytes per chip for every token of the step."""
    framework, ranks = model.framework, plans.data_ranks * plans.cp
    shards = np.where(plans.sharding == ZERO3, plans.fsdp * plans.cp, ranks)
    shards = np.where(plans.sharding == DDP, 1, shards)
    of_weights = np.where(plans.sharding == ZERO3, shards, 1)
    held = model.job.model.total_parameters / (plans.tp * plans.pp)
    state = held * (framework.weight_bytes / of_weights + framework.optimizer_bytes / shards)
    saved = activation_bytes(
        model.shapes,
        framework,
        plans.tp,
        plans.sequence_parallel,
        moe=False,
        fused=True,
        seq_len=model.job.seq_len,
    )["none"]
    return state, saved * model.job.model.layers / plans.pp / ranks
