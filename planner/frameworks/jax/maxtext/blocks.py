"""The blocks of tokens in which MaxText attends on TPUs.

MaxText e591f30 (2026-08-22) layers/attention_op.py create_sa_config and
kernels/attention/tokamax_ring_attention.py build_splash_config: `sa_block_*` tokens (512 in
configs/base.yml), or all where there are fewer. JAX's splash_attention_kernel.py and Tokamax's
need blocks of whole lanes that divide the sequence; a ring attends in shares of it. Below a block
of lanes `attention: autoselected` multiplies without a kernel.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.jax.maxtext.rules import on_tpu
from planner.frameworks.rules.numbers import divisors, nearest
from planner.frameworks.rules.rule import Rule
from planner.plan import RING, Plan, PlanTable

LANES, BLOCK = 128, 512
"""Tokens: what a block is a multiple of, and the usual block."""


def own_block(model: CostModel, plan: Plan) -> int | None:
    """Tokens of the greatest block that divides what a kernel attends.

    None where the usual one does, or all tokens are one block, or none divides them.
    """
    ring = plan.cp > 1 and plan.cp_mode == "ring"
    tokens = int(model.job.seq_len) // (plan.cp if ring else 1)
    if tokens <= BLOCK or tokens % BLOCK == 0:
        return None
    return next((size for size in range(BLOCK, 0, -LANES) if tokens % size == 0), None)


def blocks_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences on TPUs are whole blocks, or need no kernel."""
    tokens = model.job.seq_len
    return np.full(len(plans), not on_tpu(model) or tokens % LANES == 0 or tokens < LANES)


def shares_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """What the ranks of cp attend on TPUs is whole blocks: shares in a ring, else sequences."""
    shares = np.where(plans.cp_mode == RING, plans.cp, 1)
    whole = model.job.seq_len % (LANES * shares) == 0
    return np.asarray((plans.cp == 1) | (not on_tpu(model)) | whole)


def _sequences(model: CostModel) -> str:
    tokens = model.job.seq_len
    below = int(tokens) // LANES * LANES
    return (
        f"maxtext attends on TPUs in blocks of a multiple of {LANES} tokens, which divide no "
        f"sequences of {tokens}; nearest seq_len: {below} or {below + LANES}"
    )


def _shares(model: CostModel, plan: Plan) -> str:
    tokens = int(model.job.seq_len)
    rings = [n for n in divisors(tokens // LANES) if n % 2 == 0 and tokens % n**2 == 0]
    ring = plan.cp_mode == "ring" and tokens % LANES == 0
    return (
        f"maxtext attends on TPUs in blocks of a multiple of {LANES} tokens, which do not divide "
        f"the {tokens / (plan.cp if plan.cp_mode == 'ring' else 1):g} tokens of cp {plan.cp}; "
        f"nearest cp: {nearest(plan.cp, [1, *rings]) if ring else 1}"
    )


_VERSION = "e591f30 (2026-08-22)"

MAXTEXT_BLOCKS: tuple[Rule, ...] = (
    Rule(
        name="maxtext-blocks",
        field="seq_len",
        framework="maxtext",
        version=_VERSION,
        source="JAX splash_attention_kernel.py: bkv is a multiple of NUM_LANES; "
        "splash_attention_mask_info.py: q_block_size divides q_seq_len",
        holds=blocks_divide,
        explain=lambda c, p: _sequences(c),
    ),
    Rule(
        name="maxtext-share-blocks",
        field="cp",
        framework="maxtext",
        version=_VERSION,
        source="MaxText kernels/attention/tokamax_ring_attention.py build_splash_config: blocks "
        "of the tokens of a shard",
        holds=shares_divide,
        explain=_shares,
    ),
)
