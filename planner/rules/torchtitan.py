"""The rules of torchtitan."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import DDP, ONE_F_ONE_B, BoolArray, PlanTable
from planner.rules import words
from planner.rules.numbers import nearest_divisors
from planner.rules.predicates import micro_batches
from planner.rules.rule import Rule


def torchtitan_kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """Key-value heads divide over tp."""
    return np.asarray(model.shapes.kv_heads % plans.tp == 0)


def torchtitan_experts(model: CostModel, plans: PlanTable) -> BoolArray:
    """Expert groups take no ranks of the replicas."""
    return np.asarray(plans.tp * plans.cp * plans.fsdp % plans.ep == 0)


def torchtitan_sequence(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences divide over 2 cp tp, whatever is parallel."""
    whole = model.job.seq_len % (2 * plans.cp * plans.tp) == 0
    return np.asarray(whole | model.assumptions.token_granularity)


def torchtitan_1f1b(model: CostModel, plans: PlanTable) -> BoolArray:
    """1F1B has a micro-batch for every stage."""
    enough = micro_batches(model, plans) >= plans.pp
    return np.asarray((plans.schedule != ONE_F_ONE_B) | (plans.pp == 1) | enough)


def torchtitan_ddp(model: CostModel, plans: PlanTable) -> BoolArray:
    """Without sharding there is data parallelism alone, or none."""
    alone = (plans.dp == 1) | (plans.dp == plans.chips)
    return np.asarray((plans.sharding != DDP) | ((plans.cp == 1) & alone))


_VERSION = "main b5bcd76 (2026-08-21)"

TORCHTITAN: tuple[Rule, ...] = (
    Rule(
        name="torchtitan-kv-heads",
        field="tp",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan models/common/decoder.py: key-value heads % tp = 0",
        holds=torchtitan_kv_heads,
        explain=lambda c, p: (
            f"torchtitan needs tp {p.tp} to divide the {c.shapes.kv_heads} key-value heads; "
            f"nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
    ),
    Rule(
        name="torchtitan-experts",
        field="ep",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/parallel_dims.py: dp_shard cp tp % ep = 0",
        holds=torchtitan_experts,
        explain=words.misplaced_experts,
    ),
    Rule(
        name="torchtitan-sequence",
        field="cp",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/parallel_dims.py: seq_len_divisor = tp * 2 cp",
        holds=torchtitan_sequence,
        explain=lambda c, p: (
            f"torchtitan needs sequences that are a multiple of 2 x cp {p.cp} x tp {p.tp}, not of "
            f"{c.job.seq_len} tokens"
        ),
    ),
    Rule(
        name="torchtitan-1f1b",
        field="micro_batch",
        framework="torchtitan",
        version=_VERSION,
        source="PyTorch torch/distributed/pipelining/schedules.py: Schedule1F1B needs a "
        "micro-batch for every stage",
        holds=torchtitan_1f1b,
        explain=lambda c, p: (
            f"torchtitan runs 1f1b with at least pp {p.pp} micro-batches, not with "
            f"{words.micro_batches(c, p):g}"
        ),
    ),
    Rule(
        name="torchtitan-ddp",
        field="sharding",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan models/llama3/infra/parallelize.py: no DDP beside other axes; cp shards "
        "weights",
        holds=torchtitan_ddp,
        per_stage=True,
        explain=lambda c, p: (
            f"torchtitan has ddp without tp, cp and pp only, not with dp {p.dp}, tp {p.tp}, "
            f"cp {p.cp}, pp {p.pp}; use zero3"
        ),
    ),
)
