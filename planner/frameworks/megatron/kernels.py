"""The rules of Transformer Engine, whose products below 16 bits want sizes of whole blocks.

Its attention that divides sequences is a kernel for 16 bits.

A rank quantizes its own part: of every matrix after tp has divided it, and of the tokens after cp
and sequence parallelism have. Source: TransformerEngine d0067d0da6 (2026-08-22), pytorch/utils.py
assert_dim_for_fp8_exec (8 x 16), pytorch/csrc/quantizer.cpp MXFP8Quantizer (32 x 32) and
NVFP4Quantizer (16 x 16).
"""

from __future__ import annotations

import math

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.rules import alike
from planner.frameworks.rules.numbers import nearest_divisors
from planner.frameworks.rules.rule import Rule
from planner.plan import Plan, PlanTable

BLOCKS = {"fp8": (8, 16), "mxfp8": (32, 32), "fp4": (16, 16)}
"""Precision to what divides the rows (tokens) and the columns (widths) of a matrix."""


def whole_widths(model: CostModel, plans: PlanTable) -> BoolArray:
    """The widths that tp divides are whole blocks on a rank; the hidden width is undivided."""
    blocks = BLOCKS.get(model.job.precision)
    if blocks is None:
        return np.ones(len(plans), dtype=np.bool_)
    whole = np.full(len(plans), _undivided(model) % blocks[1] == 0)
    for width in _divided(model):
        whole &= width % (plans.tp * blocks[1]) == 0
    return whole


def whole_tokens(model: CostModel, plans: PlanTable) -> BoolArray:
    """The tokens of a micro-batch on a rank are whole blocks."""
    blocks = BLOCKS.get(model.job.precision)
    if blocks is None or model.assumptions.token_granularity:
        return np.ones(len(plans), dtype=np.bool_)
    ranks = plans.cp * np.where(plans.sequence_parallel, plans.tp, 1)
    return np.asarray(plans.micro_batch * model.job.seq_len % (ranks * blocks[0]) == 0)


def context_in_short(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences are divided in formats of 16 bits and below."""
    return np.asarray((plans.cp == 1) | (model.job.precision != "fp32"))


def context_on_chips(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences are divided on chips with fused attention."""
    return np.asarray((plans.cp == 1) | (not alike.before_ampere(model.chip)))


def _divided(model: CostModel) -> tuple[int, ...]:
    shapes = model.shapes
    return shapes.heads * shapes.value_dim, shapes.dense_width, shapes.shared_width


def _undivided(model: CostModel) -> int:
    return math.gcd(model.shapes.hidden, model.shapes.expert_width)


def _narrow(model: CostModel, plan: Plan) -> str:
    """Which tp leaves whole blocks, in one sentence."""
    block = BLOCKS[model.job.precision][1]
    widths = [width for width in _divided(model) if width]
    common = math.gcd(*widths)
    start = f"megatron (Transformer Engine) multiplies {model.job.precision} in blocks of {block}: "
    if common % block or _undivided(model) % block:
        return f"{start}no tp leaves whole ones of {model.job.model.name}; nearest precision: bf16"
    return (
        f"{start}tp {plan.tp} leaves no whole ones of the widths {', '.join(map(str, widths))}; "
        f"nearest tp: {nearest_divisors(plan.tp, common // block)}"
    )


def _few(model: CostModel, plan: Plan) -> str:
    """How many tokens a rank has and should have, in one sentence."""
    ranks = plan.cp * (plan.tp if plan.sequence_parallel else 1)
    tokens = plan.micro_batch * model.job.seq_len / ranks
    return (
        f"megatron (Transformer Engine) multiplies {model.job.precision} with tokens in blocks of "
        f"{BLOCKS[model.job.precision][0]}: micro_batch {plan.micro_batch} leaves {tokens:g} on a "
        f"rank of cp {plan.cp} and tp {plan.tp}"
    )


_VERSION = "TransformerEngine d0067d0da6 (2026-08-22)"
_SOURCE = "TransformerEngine pytorch/utils.py: assert_dim_for_fp8_exec; pytorch/csrc/quantizer.cpp"
_UNFUSED = (
    "TransformerEngine pytorch/attention/dot_product_attention/utils.py: get_attention_backend, "
    "which has unfused attention alone"
)

KERNELS: tuple[Rule, ...] = (
    Rule(
        name="megatron-whole-widths",
        field="tp",
        framework="megatron",
        version=_VERSION,
        source=_SOURCE,
        holds=whole_widths,
        explain=_narrow,
        launch=True,
    ),
    Rule(
        name="megatron-whole-tokens",
        field="micro_batch",
        framework="megatron",
        version=_VERSION,
        source=_SOURCE,
        holds=whole_tokens,
        explain=_few,
        launch=True,
    ),
    Rule(
        name="megatron-context-precision",
        field="cp",
        framework="megatron",
        version=_VERSION,
        source=f"{_UNFUSED} for 32 bits, and no context parallelism for it",
        holds=context_in_short,
        explain=lambda c, p: (
            f"megatron (Transformer Engine) does not divide sequences in fp32: cp {p.cp} must be "
            "1, or the precision bf16"
        ),
        launch=True,
    ),
    Rule(
        name="megatron-context-chips",
        field="cp",
        framework="megatron",
        version=_VERSION,
        source=f"{_UNFUSED} below sm80, and no context parallelism for it",
        holds=context_on_chips,
        explain=lambda c, p: (
            "megatron (Transformer Engine) divides sequences on NVIDIA's chips from Ampere on, not "
            f"on {c.chip.title}: cp {p.cp} must be 1"
        ),
        launch=True,
    ),
)
