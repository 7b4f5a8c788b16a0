"""The predicates of the rules: (n,) True where a plan obeys; `table` says why."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, IntArray, among, distinct
from planner.base.vocabulary import MODULES
from planner.cost.context import CostModel
from planner.cost.memory.parameters import kv_heads_per_chip
from planner.cost.stages.explicit import (
    adds_up,
    chunk_columns,
    explicit_plans,
    of_chunks,
    overcounted,
)
from planner.cost.stages.layout import stage_layers
from planner.frameworks.decoders import unwritten
from planner.plan import (
    ALL_TO_ALL,
    AXES,
    DDP,
    NO_RECOMPUTE,
    OFFLOAD_ACTIVATIONS,
    ORDERS,
    SHARDINGS,
    SPLITS,
    ZERO3,
    PlanTable,
)
from planner.plan.ranks import axes_of
from planner.plan.recomputations import has_modules, names_module
from planner.schedules import code_of_schedule
from planner.schedules.schedule import Schedule


def heads_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Attention heads divide over tp."""
    return np.asarray(model.shapes.heads % plans.tp == 0)


def kv_heads_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Key-value heads divide over tp, or tp over them; latent attention has none."""
    if model.shapes.latent or not model.shapes.heads:
        return np.ones(len(plans), dtype=np.bool_)
    kv = model.shapes.kv_heads
    return np.asarray((kv % plans.tp == 0) | (plans.tp % kv == 0))


def pairs_whole(model: CostModel, plans: PlanTable) -> BoolArray:
    """Both sequences of a preference pair are in one micro-batch."""
    return np.asarray((plans.micro_batch % 2 == 0) | (not model.job.reference))


def scan_heads_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Heads of recurrences, and groups of their keys, divide over tp."""
    scan = model.shapes.scan
    if scan is None:
        return np.ones(len(plans), dtype=np.bool_)
    return np.asarray((scan.heads % plans.tp == 0) & (scan.key_heads % plans.tp == 0))


def scans_whole_sequences(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences that a recurrence runs through are not divided."""
    return np.asarray((plans.cp == 1) | (model.shapes.scan is None))


def layers_are_written(model: CostModel, plans: PlanTable) -> BoolArray:
    """Every layer of the model is one that targets are written with."""
    return np.full(len(plans), not unwritten(model.job))


def mlp_width_divides(model: CostModel, plans: PlanTable) -> BoolArray:
    """Widths of the dense MLP and of the shared experts divide over tp."""
    ok = np.ones(len(plans), dtype=np.bool_)
    for width in (model.shapes.dense_width, model.shapes.shared_width):
        ok &= width % plans.tp == 0
    return ok


def sequence_divides(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences divide over 2 cp chunks (balanced causal halves) and over sequence parallelism."""
    if model.assumptions.token_granularity:
        return np.ones(len(plans), dtype=np.bool_)
    chunks = np.where(plans.cp > 1, 2 * plans.cp, 1)
    chunks = chunks * np.where(plans.sequence_parallel, plans.tp, 1)
    return np.asarray(model.job.seq_len % chunks == 0)


def batch_divides(model: CostModel, plans: PlanTable) -> BoolArray:
    """The data ranks and the micro-batch divide the global batch."""
    return np.asarray(model.job.global_batch % (plans.data_ranks * plans.micro_batch) == 0)


def experts_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Experts, and the ranks of a stage, divide over ep."""
    if model.shapes.experts == 0:
        return np.asarray(plans.expert_ranks == 1)
    ranks = plans.tp * plans.cp * plans.fsdp * plans.dp
    return np.asarray((model.shapes.experts % plans.ep == 0) & (ranks % plans.expert_ranks == 0))


def experts_split(model: CostModel, plans: PlanTable) -> BoolArray:
    """Ranks of etp share the width of an expert evenly."""
    width = model.shapes.expert_width or 1
    return np.asarray(width % plans.etp == 0)


def split_of_experts_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """Experts are whole on a chip where the framework cannot divide them apart from the rest."""
    return np.asarray((plans.etp == 1) | model.framework.splits_experts)


def layers_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """The split rule, or the explicit stages, hand out every layer once."""
    columns = [plans.pp, plans.interleave, plans.split]
    first, which = distinct(columns)
    rules = np.stack(columns, axis=1)[first]
    ok = np.array([fits_layers(model, *map(int, row)) for row in rules], dtype=np.bool_)
    result = ok[which]
    if plans.stages is not None:
        result = np.where(explicit_plans(plans), adds_up(plans, model.job.model), result)
    return result


def counts_fit(model: CostModel, plans: PlanTable) -> BoolArray:
    """Explicit stages recompute no more layers of a kind than they have."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    return np.asarray(~overcounted(plans, model.job.model).any(axis=1))


def chunks_agree(model: CostModel, plans: PlanTable) -> BoolArray:
    """All chunks of a stage have its sharding and its clock, where there are as many as needed."""
    agree = np.ones(len(plans), dtype=np.bool_)
    if plans.stages is None:
        return agree
    right = np.flatnonzero(adds_up(plans, model.job.model) & explicit_plans(plans))
    complete = plans.take(right)
    assert complete.stages is not None
    columns = chunk_columns(complete, int(plans.pp.max()))
    for table in (complete.stages.sharding, complete.stages.clock):
        of_stage = of_chunks(table, columns)
        differs = (of_stage != of_stage[:, :, :1]) & (columns >= 0)
        agree[right] &= ~differs.any(axis=(1, 2))
    return agree


def fits_layers(model: CostModel, pp: int, interleave: int, split: int) -> bool:
    """Whether a rule of `planner.plan.SPLITS` divides the layers into pp x interleave chunks."""
    return stage_layers(model.job.model, pp, interleave, split) is not None


def interleave_fits(model: CostModel, plans: PlanTable) -> BoolArray:
    """Interleave goes with its schedule, pp > 1 and micro-batches that are a multiple of pp."""
    schedules, chunked = plans.schedules, plans.interleave > 1
    named = schedules.of_each("fits_interleave", plans.interleave)
    grouped = ~schedules.values("whole_groups") | whole_rounds(model, plans)
    return np.asarray(named & (~chunked | ((plans.pp > 1) & grouped)))


def micro_batches(model: CostModel, plans: PlanTable) -> IntArray:
    """(n,) whole micro-batches of a step."""
    rows: IntArray = plans.data_ranks * plans.micro_batch
    return model.job.global_batch // rows


def whole_rounds(model: CostModel, plans: PlanTable) -> BoolArray:
    """Micro-batches are a multiple of the stages.

    A batch that does not divide into micro-batches is the matter of `batch_divides`.
    """
    rounds = micro_batches(model, plans) % plans.pp == 0
    return np.asarray(rounds | ~batch_divides(model, plans))


def schedule_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """The framework has the schedule."""
    allowed = [code_of_schedule(name) for name in model.framework.schedules]
    return np.asarray(among(plans.schedule, allowed) | (plans.pp == 1))


def schedule_runs(schedule: Schedule, model: CostModel, plans: PlanTable) -> BoolArray:
    """The stages and micro-batches suit a schedule, and the job has the gradients that it runs.

    A batch that does not divide into micro-batches is the matter of `batch_divides`.
    """
    others = ~plans.schedules.rows(schedule)
    fits = schedule.runs(plans.pp, micro_batches(model, plans))
    fits = fits | (schedule.runs_on(plans.pp) & ~batch_divides(model, plans))
    trains = model.job.trains_all or not schedule.splits_backward
    return np.asarray(others | (fits & trains))


def split_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """The framework deals out layers by the rule, where a rule is used."""
    allowed = [SPLITS.index(name) for name in model.framework.splits]
    return np.asarray(among(plans.split, allowed) | (plans.pp == 1) | explicit_plans(plans))


def sharding_shares(model: CostModel, plans: PlanTable) -> BoolArray:
    """Only zero3 has fsdp > 1, and where state is shared there are ranks to share it.

    Those of zero3 are fsdp x cp, those of zero1 and zero2 dp x cp.
    """
    ranks = plans.cp * np.where(plans.sharding == ZERO3, plans.fsdp, plans.dp)
    split = (plans.fsdp == 1) | (plans.sharding == ZERO3)
    useful = (plans.sharding == DDP) | (ranks > 1)
    return np.asarray(split & useful)


def sharding_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """The framework has the sharding."""
    allowed = [SHARDINGS.index(name) for name in model.framework.shardings]
    return among(plans.sharding, allowed)


def sequence_parallel_fits(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequence parallelism only with tp > 1."""
    return ~plans.sequence_parallel | (plans.tp > 1)


def expert_tp_fits(model: CostModel, plans: PlanTable) -> BoolArray:
    """Experts beside tp need sequence parallelism."""
    if model.shapes.experts == 0:
        return np.ones(len(plans), dtype=np.bool_)
    return np.asarray((plans.tp == 1) | plans.sequence_parallel)


def all_to_all_divides(model: CostModel, plans: PlanTable) -> BoolArray:
    """The heads that tp leaves on a chip divide over cp where cp exchanges them."""
    swapped = (plans.cp_mode == ALL_TO_ALL) & (plans.cp > 1)
    return np.asarray(~swapped | heads_exchange(model, plans.tp, plans.cp))


def heads_exchange(model: CostModel, tp: IntArray, cp: IntArray) -> BoolArray:
    """(n,) True where heads, and the key-value heads of a chip, divide over cp.

    Latent attention expands its keys and values to one of each per head.
    """
    ok = model.shapes.heads % (tp * cp) == 0
    if not model.shapes.latent:
        ok &= kv_heads_per_chip(model.job.model, tp) % cp == 0
    return np.asarray(ok)


def clock_settable(model: CostModel, plans: PlanTable) -> BoolArray:
    """The chip runs at the clock, or a power cap lowers it to one at which it does."""
    return np.asarray((plans.clock >= model.levels[-1]) & (plans.clock <= 1.0))


def offload_fits(model: CostModel, plans: PlanTable) -> BoolArray:
    """Activations are offloaded or recomputed, not both."""
    moves = plans.offload & OFFLOAD_ACTIVATIONS > 0
    return np.asarray(~moves | (plans.recompute == NO_RECOMPUTE))


def modules_there(model: CostModel, plans: PlanTable) -> BoolArray:
    """Modules that recompute are in the model, all trained, and the framework can be told them."""
    ok = np.ones(len(plans), dtype=np.bool_)
    if has_modules(plans.recompute).any():
        for name in MODULES:
            if name not in model.modules or not model.job.trains_all:
                ok &= ~names_module(plans.recompute, name)
    return ok


def order_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """The framework lays out the axes that exceed 1 in this order, and none in parts apart."""
    offered = model.framework.orders
    return laid_out(plans, offered) if offered else np.ones(len(plans), dtype=np.bool_)


def laid_out(plans: PlanTable, offered: tuple[tuple[str, ...], ...]) -> BoolArray:
    """(n,) plans whose axes above 1 lie as in one of some orders, innermost first."""
    sizes = np.stack([getattr(plans, axis) for axis in AXES], axis=1) > 1
    patterns = sizes @ (1 << np.arange(len(AXES)))
    first, which = distinct([plans.order, patterns])

    def runs(order: int, pattern: int) -> bool:
        active = [axis for bit, axis in enumerate(AXES) if pattern >> bit & 1]
        parts = plans.layouts[order - len(ORDERS)] if order >= len(ORDERS) else None
        axes = ORDERS[order] if parts is None else axes_of(parts)
        wanted = [axis for axis in axes if axis in active]
        return any([a for a in other if a in active] == wanted for other in offered)

    pairs = zip(plans.order[first], patterns[first], strict=True)
    ok = np.array([runs(int(order), int(pattern)) for order, pattern in pairs], dtype=np.bool_)
    return ok[which]


def axes_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """The mesh axes that the framework lacks are 1."""
    ok = np.ones(len(plans), dtype=np.bool_)
    for axis in model.framework.lacks:
        ok &= getattr(plans, axis) == 1
    return ok
