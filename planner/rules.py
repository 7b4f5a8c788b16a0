"""Which plans a job and a framework can run: one table of rules, read by search and export.

Each rule is a predicate on a plan table, with the framework it belongs to (`any` for arithmetic
that no implementation escapes), where that framework enforces it, and a sentence that says what
is allowed and what is nearest. `violations` names the broken rules of single plans;
`planner.search` drops candidates by the same predicates and counts them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.cost.context import CostModel
from planner.cost.layout import stage_layers
from planner.distinct import distinct
from planner.plan import (
    ALL_TO_ALL,
    AXES,
    DDP,
    GPIPE,
    INTERLEAVED,
    NO_RECOMPUTE,
    OFFLOAD_ACTIVATIONS,
    ORDERS,
    SCHEDULES,
    SHARDINGS,
    SPLITS,
    ZERO2,
    ZERO3,
    ZERO_BUBBLE,
    BoolArray,
    Plan,
    PlanTable,
)

Predicate = Callable[[CostModel, PlanTable], BoolArray]
Explanation = Callable[[CostModel, Plan], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Attributes:
        name: Short name, used in counts.
        framework: "any", or the framework that enforces it.
        source: Where it is enforced or why it holds.
        holds: (n,) True where a plan obeys it.
        explain: One line for a plan that does not: what, what is allowed, what is nearest.
    """

    name: str
    framework: str
    source: str
    holds: Predicate
    explain: Explanation


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def nearest_divisors(value: int, number: int) -> str:
    """The divisors of `number` next to `value`, as words: "8 or 10"."""
    below = [d for d in divisors(number) if d < value]
    above = [d for d in divisors(number) if d > value]
    return " or ".join(str(d) for d in [*below[-1:], *above[:1]])


def _heads(model: CostModel, plans: PlanTable) -> BoolArray:
    return np.asarray(model.shapes.heads % plans.tp == 0)


def _kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    if model.shapes.latent:
        return np.ones(len(plans), dtype=np.bool_)
    kv = model.shapes.kv_heads
    return np.asarray((kv % plans.tp == 0) | (plans.tp % kv == 0))


def _mlp_width(model: CostModel, plans: PlanTable) -> BoolArray:
    ok = np.ones(len(plans), dtype=np.bool_)
    for width in (model.shapes.dense_width, model.shapes.shared_width):
        ok &= width % plans.tp == 0
    return ok


def _sequence(model: CostModel, plans: PlanTable) -> BoolArray:
    chunks = np.where(plans.cp > 1, 2 * plans.cp, 1)
    chunks = chunks * np.where(plans.sequence_parallel, plans.tp, 1)
    return np.asarray(model.job.seq_len % chunks == 0)


def _batch(model: CostModel, plans: PlanTable) -> BoolArray:
    return np.asarray(model.job.global_batch % (plans.data_ranks * plans.micro_batch) == 0)


def _experts(model: CostModel, plans: PlanTable) -> BoolArray:
    if model.shapes.experts == 0:
        return np.asarray(plans.ep == 1)
    ranks = plans.tp * plans.cp * plans.fsdp * plans.dp
    return np.asarray((model.shapes.experts % plans.ep == 0) & (ranks % plans.ep == 0))


def _layers(model: CostModel, plans: PlanTable) -> BoolArray:
    columns = [plans.pp, plans.interleave, plans.split]
    first, which = distinct(columns)
    rules = np.stack(columns, axis=1)[first]
    ok = np.array([_splits(model, *map(int, row)) for row in rules], dtype=np.bool_)
    result = ok[which]
    if plans.stages is not None:
        listed = plans.stages.layers
        explicit = listed[:, 0] >= 0
        stages = (listed >= 0).sum(axis=1)
        layers = np.where(listed >= 0, listed, 0).sum(axis=1)
        adds_up = (stages == plans.pp) & (layers == model.job.model.layers)
        result = np.where(explicit, adds_up & (plans.interleave == 1), result)
    return result


def _splits(model: CostModel, pp: int, interleave: int, split: int) -> bool:
    return stage_layers(model.job.model, pp, interleave, split) is not None


def _interleave(model: CostModel, plans: PlanTable) -> BoolArray:
    m = model.job.global_batch // (plans.data_ranks * plans.micro_batch)
    chunked = plans.interleave > 1
    named = (plans.schedule == INTERLEAVED) == chunked
    return np.asarray(named & (~chunked | ((plans.pp > 1) & (m % plans.pp == 0))))


def _schedule(model: CostModel, plans: PlanTable) -> BoolArray:
    allowed = [SCHEDULES.index(name) for name in model.framework.schedules]
    return np.asarray(np.isin(plans.schedule, allowed) | (plans.pp == 1))


def _zero_bubble(model: CostModel, plans: PlanTable) -> BoolArray:
    return np.asarray((plans.schedule != ZERO_BUBBLE) | ((plans.pp > 1) & model.job.trains_all))


def _split_rule(model: CostModel, plans: PlanTable) -> BoolArray:
    allowed = [SPLITS.index(name) for name in model.framework.splits]
    explicit = np.zeros(len(plans), dtype=np.bool_)
    if plans.stages is not None:
        explicit = plans.stages.layers[:, 0] >= 0
    return np.asarray(np.isin(plans.split, allowed) | (plans.pp == 1) | explicit)


def _sharding(model: CostModel, plans: PlanTable) -> BoolArray:
    ranks = plans.dp * plans.fsdp * plans.cp
    split = (plans.fsdp == 1) | (plans.sharding == ZERO3)
    useful = (plans.sharding == DDP) | (ranks > 1)
    return np.asarray(split & useful)


def _sharding_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    allowed = [SHARDINGS.index(name) for name in model.framework.shardings]
    return np.isin(plans.sharding, allowed)


def _sequence_parallel(model: CostModel, plans: PlanTable) -> BoolArray:
    return ~plans.sequence_parallel | (plans.tp > 1)


def _expert_tp(model: CostModel, plans: PlanTable) -> BoolArray:
    if model.shapes.experts == 0:
        return np.ones(len(plans), dtype=np.bool_)
    return np.asarray((plans.tp == 1) | plans.sequence_parallel)


def _all_to_all(model: CostModel, plans: PlanTable) -> BoolArray:
    swapped = (plans.cp_mode == ALL_TO_ALL) & (plans.cp > 1)
    return np.asarray(~swapped | (model.shapes.heads % (plans.tp * plans.cp) == 0))


def _clock(model: CostModel, plans: PlanTable) -> BoolArray:
    if not model.chip.clock_settable:
        return np.asarray(plans.clock == 1.0)
    return (plans.clock >= min(model.chip.clock_levels)) & (plans.clock <= 1.0)


def _offload_activations(model: CostModel, plans: PlanTable) -> BoolArray:
    moves = plans.offload & OFFLOAD_ACTIVATIONS > 0
    return np.asarray(~moves | (plans.recompute == NO_RECOMPUTE))


def _orders(model: CostModel, plans: PlanTable) -> BoolArray:
    offered = model.framework.orders
    if not offered:
        return np.ones(len(plans), dtype=np.bool_)
    sizes = np.stack([getattr(plans, axis) for axis in AXES], axis=1) > 1
    patterns = sizes @ (1 << np.arange(len(AXES)))
    first, which = distinct([plans.order, patterns])

    def runs(order: int, pattern: int) -> bool:
        active = [axis for bit, axis in enumerate(AXES) if pattern >> bit & 1]
        wanted = [axis for axis in ORDERS[order] if axis in active]
        return any([a for a in other if a in active] == wanted for other in offered)

    pairs = zip(plans.order[first], patterns[first], strict=True)
    ok = np.array([runs(int(order), int(pattern)) for order, pattern in pairs], dtype=np.bool_)
    return ok[which]


def _torchtitan_kv(model: CostModel, plans: PlanTable) -> BoolArray:
    return np.asarray(model.shapes.kv_heads % plans.tp == 0)


def _nanotron_kv(model: CostModel, plans: PlanTable) -> BoolArray:
    return model.shapes.kv_heads >= plans.tp


def _deepspeed_pipeline(model: CostModel, plans: PlanTable) -> BoolArray:
    return np.asarray((plans.pp == 1) | (plans.sharding < ZERO2))


def _micro_batches(model: CostModel, plan: Plan) -> float:
    return model.job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)


RULES: tuple[Rule, ...] = (
    Rule(
        name="heads",
        framework="any",
        source="attention heads are whole on a chip; Megatron-LM core TransformerConfig",
        holds=_heads,
        explain=lambda c, p: (
            f"tp {p.tp} does not divide the {c.shapes.heads} attention heads of "
            f"{c.job.model.name}; nearest: {nearest_divisors(p.tp, c.shapes.heads)}"
        ),
    ),
    Rule(
        name="kv-heads",
        framework="any",
        source="Megatron-LM core >= 0.16 TransformerConfig: query groups divide tp or tp them",
        holds=_kv_heads,
        explain=lambda c, p: (
            f"tp {p.tp} and the {c.shapes.kv_heads} key-value heads of {c.job.model.name} do not "
            f"divide one another; nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
    ),
    Rule(
        name="mlp-width",
        framework="any",
        source="column-parallel MLP",
        holds=_mlp_width,
        explain=lambda c, p: (
            f"tp {p.tp} does not divide the MLP width "
            f"{c.shapes.dense_width or c.shapes.shared_width} of {c.job.model.name}; nearest: "
            f"{nearest_divisors(p.tp, c.shapes.dense_width or c.shapes.shared_width)}"
        ),
    ),
    Rule(
        name="sequence",
        framework="any",
        source="Megatron-LM arguments.py validate_args: seq % (2 cp); torchtitan seq_len_divisor",
        holds=_sequence,
        explain=lambda c, p: (
            f"sequences of {c.job.seq_len} tokens do not divide into cp {p.cp} x tp {p.tp} "
            f"(a multiple of {(2 * p.cp if p.cp > 1 else 1) * (p.tp if p.sequence_parallel else 1)}"
            " is needed)"
        ),
    ),
    Rule(
        name="batch",
        framework="any",
        source="Megatron-LM num_microbatches_calculator.py: batch % (micro_batch dp)",
        holds=_batch,
        explain=lambda c, p: (
            f"dp {p.dp} x fsdp {p.fsdp} x micro-batch {p.micro_batch} does not divide the global "
            f"batch of {c.job.global_batch} sequences; nearest products: "
            f"{nearest_divisors(p.dp * p.fsdp * p.micro_batch, c.job.global_batch)}"
        ),
    ),
    Rule(
        name="experts",
        framework="any",
        source="Megatron-LM validate_args: experts % ep; parallel_state.py: ep folds over tp cp dp",
        holds=_experts,
        explain=lambda c, p: (
            f"ep {p.ep} must divide the {c.shapes.experts} experts of {c.job.model.name} and "
            f"tp x cp x fsdp x dp = {p.chips // p.pp}"
            if c.shapes.experts
            else f"ep {p.ep}: {c.job.model.name} has no experts; allowed: 1"
        ),
    ),
    Rule(
        name="layers",
        framework="any",
        source="planner.cost.layout, the rule named by `split`",
        holds=_layers,
        explain=lambda c, p: (
            f"the {c.job.model.layers} layers of {c.job.model.name} do not divide into pp {p.pp} x "
            f"interleave {p.interleave} chunks by the rule {p.split!r}; nearest pp: "
            f"{nearest_divisors(p.pp, c.job.model.layers)}"
            if p.stages is None
            else f"stages: {len(p.stages)} stages with {sum(s.layers for s in p.stages)} layers; "
            f"needed: interleave 1 and {p.pp} stages (pp) with {c.job.model.layers} layers in all"
        ),
    ),
    Rule(
        name="interleave",
        framework="any",
        source="Megatron-LM schedules.py: interleaved needs micro-batches % pp = 0",
        holds=_interleave,
        explain=lambda c, p: (
            f"interleave {p.interleave} with schedule {p.schedule!r}, pp {p.pp} and "
            f"{_micro_batches(c, p):g} micro-batches: interleave > 1 needs schedule interleaved, "
            "pp > 1 and micro-batches that are a multiple of pp"
        ),
    ),
    Rule(
        name="zero-bubble",
        framework="any",
        source="arXiv:2401.10241: fills bubbles with weight gradients",
        holds=_zero_bubble,
        explain=lambda c, p: "schedule zero-bubble needs pp > 1 and a job that trains all weights",
    ),
    Rule(
        name="sharding",
        framework="any",
        source="fsdp shards weights; zero needs ranks to share state",
        holds=_sharding,
        explain=lambda c, p: (
            f"sharding {p.sharding!r} with fsdp {p.fsdp}, dp {p.dp}, cp {p.cp}: fsdp > 1 needs "
            "zero3, and zero1, zero2, zero3 need dp x fsdp x cp > 1"
        ),
    ),
    Rule(
        name="sequence-parallel",
        framework="any",
        source="Megatron-LM ModelParallelConfig: sequence parallelism needs tp > 1",
        holds=_sequence_parallel,
        explain=lambda c, p: "sequence_parallel needs tp > 1",
    ),
    Rule(
        name="expert-tp",
        framework="any",
        source="Megatron-LM moe_layer.py: experts with tp > 1 train only with sequence parallelism",
        holds=_expert_tp,
        explain=lambda c, p: f"experts with tp {p.tp} need sequence_parallel",
    ),
    Rule(
        name="all-to-all",
        framework="any",
        source="DeepSpeed Ulysses, arXiv:2309.14509: heads are divided by cp",
        holds=_all_to_all,
        explain=lambda c, p: (
            f"cp_mode all-to-all: tp {p.tp} x cp {p.cp} does not divide the {c.shapes.heads} "
            f"attention heads; nearest product: "
            f"{nearest_divisors(p.tp * p.cp, c.shapes.heads)}"
        ),
    ),
    Rule(
        name="clock",
        framework="any",
        source="hardware_db: clock_settable and clock levels of the chip",
        holds=_clock,
        explain=lambda c, p: (
            f"clock {p.clock:g}: {c.chip.name} runs at 1.0 only"
            if not c.chip.clock_settable
            else f"clock {p.clock:g} is outside {min(c.chip.clock_levels):g}..1 of {c.chip.name}"
        ),
    ),
    Rule(
        name="offload-activations",
        framework="any",
        source="Megatron-LM validate_args: activation offloading excludes recomputation",
        holds=_offload_activations,
        explain=lambda c, p: "offloading activations excludes recomputation; use recompute none",
    ),
    Rule(
        name="schedule-offered",
        framework="framework",
        source="planner.frameworks: schedules",
        holds=_schedule,
        explain=lambda c, p: (
            f"{c.framework.name} has no schedule {p.schedule!r}; it has "
            f"{', '.join(c.framework.schedules)}"
        ),
    ),
    Rule(
        name="split-offered",
        framework="framework",
        source="planner.frameworks: splits",
        holds=_split_rule,
        explain=lambda c, p: (
            f"{c.framework.name} does not split layers by {p.split!r}; it has "
            f"{', '.join(c.framework.splits)}"
        ),
    ),
    Rule(
        name="sharding-offered",
        framework="framework",
        source="planner.frameworks: shardings",
        holds=_sharding_offered,
        explain=lambda c, p: (
            f"{c.framework.name} has no sharding {p.sharding!r}; it has "
            f"{', '.join(c.framework.shardings)}"
        ),
    ),
    Rule(
        name="placement-offered",
        framework="framework",
        source="planner.frameworks: orders; Megatron-LM --use-tp-pp-dp-mapping",
        holds=_orders,
        explain=lambda c, p: (
            f"{c.framework.name} cannot lay out ranks as {' '.join(p.order)} (innermost first); "
            f"it can: {'; '.join(' '.join(order) for order in c.framework.orders)}"
        ),
    ),
    Rule(
        name="torchtitan-kv-heads",
        framework="torchtitan",
        source="torchtitan models/common/decoder.py: key-value heads % tp = 0",
        holds=_torchtitan_kv,
        explain=lambda c, p: (
            f"torchtitan needs tp {p.tp} to divide the {c.shapes.kv_heads} key-value heads; "
            f"nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
    ),
    Rule(
        name="nanotron-kv-heads",
        framework="nanotron",
        source="nanotron config/config.py: key-value heads >= tp",
        holds=_nanotron_kv,
        explain=lambda c, p: f"nanotron needs tp {p.tp} <= the {c.shapes.kv_heads} key-value heads",
    ),
    Rule(
        name="deepspeed-pipeline",
        framework="deepspeed",
        source="DeepSpeed runtime/pipe/engine.py: ZeRO-2 and 3 exclude pipelines",
        holds=_deepspeed_pipeline,
        explain=lambda c, p: f"deepspeed has no pipeline (pp {p.pp}) with {p.sharding}; use zero1",
    ),
)


def applicable(framework: str) -> tuple[Rule, ...]:
    """The rules that hold for a framework: those of arithmetic and its own."""
    return tuple(rule for rule in RULES if rule.framework in ("any", "framework", framework))


def violations(model: CostModel, plans: PlanTable, *, arithmetic_only: bool = False) -> list[str]:
    """One line per plan and broken rule, in order; empty when all plans can run.

    Args:
        model: Job, cluster and framework.
        plans: Plans to check.
        arithmetic_only: Leave out the framework's own rules.
    """
    rules = [r for r in applicable(model.framework.name) if r.framework == "any"]
    if not arithmetic_only:
        rules = list(applicable(model.framework.name))
    lines = []
    for rule in rules:
        broken = np.flatnonzero(~rule.holds(model, plans))
        lines += [rule.explain(model, plans.plan(int(row))) for row in broken]
    return lines


__all__ = ["GPIPE", "RULES", "Rule", "applicable", "divisors", "nearest_divisors", "violations"]
