"""What Megatron-LM makes of a plan: words that its rules and its export share."""

from __future__ import annotations

import math
from collections import Counter

from models_db import Model
from planner.base.units import plural
from planner.cost.context import CostModel
from planner.frameworks.rules.formats import scales_blocks
from planner.frameworks.rules.numbers import nearest_divisors
from planner.plan import Plan
from planner.plan.words import sharding_words

USUAL = ("tp", "cp", "fsdp", "dp", "pp")
PIPELINE_INSIDE = ("tp", "cp", "pp", "fsdp", "dp")
"""Orders of the axes, innermost first."""


def pipeline_inside(plan: Plan) -> bool:
    """Whether data ranks lie outside of stages: --use-tp-pp-dp-mapping.

    Source: Megatron-LM megatron/core/parallel_state.py, order tp-cp-ep-pp-dp.
    """
    used = [axis for axis, size in plan.ranks if size > 1]
    orders = (USUAL, PIPELINE_INSIDE)
    usual, other = ([axis for axis in order if getattr(plan, axis) > 1] for order in orders)
    return used == other and used != usual


HIDDEN = "the prediction hides these collectives behind computation"
"""What is said of collectives that a launch does not hide."""
LATENT_EXPOSES_TP = "Transformer Engine switches it off beside latent attention"
"""The user buffers of its projections have names that core/extensions/transformer_engine.py,
TELinear, does not know: one of them switches the overlap of all layers off."""

FP8_RECIPES = {"delayed": "delayed", "current": "tensorwise", "blockwise": "blockwise"}
"""What --fp8-recipe calls the recipes of `planner.assumptions.recipes`."""
_PRECISIONS = ("bf16", "fp16", "fp32", "fp8", "mxfp8", "fp4")


def model_lacks(model: CostModel) -> list[str]:
    """What a model has and Megatron-LM's GPT has not.

    Source: Megatron-LM core/transformer/transformer_layer.py (a norm before attention and one
    before the MLP, one after the other), core/models/gpt/gpt_model.py (position embeddings),
    core/transformer/transformer_config.py (window_size), d98e8a64dd (2026-08-22).
    """
    found, window = model.job.model, model.job.model.window
    lacks = {
        "attention and MLP side by side": found.parallel_block,
        f"positions by {found.positions.kind}": found.positions.kind not in _POSITIONS,
        _norms_words(found): found.norm.per_layer != 2,
        "norm after the embedding": found.norm.embedding,
        "model without a last norm": not found.norm.final,
        "attention in chunks": (
            window is not None and window.kind == "chunked" and window.tokens < model.job.seq_len
        ),
    }
    return [words for words, holds in lacks.items() if holds]


def _norms_words(model: Model) -> str:
    """Layers with other norms than one before attention and one before the MLP."""
    if model.order is not None and model.norm.per_layer == 1:
        return "layers of attention or an MLP alone, only of both"
    return f"layers with {plural(model.norm.per_layer, 'norm')}, only with 2"


_POSITIONS = ("rope", "learned", "none")


def job_lacks(model: CostModel) -> list[str]:
    """What a job asks for and Megatron-LM has not."""
    job = model.job
    lacks = {
        "preference pairs": bool(job.reference),
        f"precision {job.precision}, only {', '.join(_PRECISIONS)}": (
            job.precision not in _PRECISIONS
        ),
        f"precision {job.precision} on {model.chip.title}, of NVIDIA's only on Blackwell": (
            not scales_blocks(model.chip, job.precision)
        ),
        "sequences of a fraction of tokens": job.seq_len != int(job.seq_len),
    }
    return [words for words, holds in lacks.items() if holds]


def needs_exchange(model: CostModel) -> str:
    """What of a model keeps rings from dividing its sequences; empty: nothing does."""
    found, window = model.job.model, model.job.model.window
    if found.attention.sinks:
        return "attention sinks"
    slides = window is not None and window.kind == "sliding" and window.tokens < model.job.seq_len
    return "sliding windows" if slides else ""


def experts_across_replicas(model: CostModel, plan: Plan) -> str:
    """Which ranks expert groups may take beside replicas of shards, in one sentence."""
    ranks = plan.tp * plan.cp * plan.fsdp
    shared = math.gcd(ranks, plan.etp)
    near = f"nearest: etp {shared} and ep 1"
    if shared == plan.etp:
        spread = math.gcd(ranks // shared, model.shapes.experts)
        near = f"nearest ep: {nearest_divisors(plan.ep, spread)}"
    whole = f"ep {plan.ep}" if plan.etp == 1 else f"ep x etp = {plan.expert_ranks}"
    return (
        f"megatron takes the ranks of {whole} from tp x cp x fsdp = {ranks}, not from the dp "
        f"{plan.dp} replicas of the shards; {near}"
    )


def experts_inside(model: CostModel, plan: Plan) -> str:
    """What stages inside of data ranks ask of the other axes, in one sentence."""
    start = "megatron puts stages inside of data ranks (--use-tp-pp-dp-mapping) only"
    end = f"use order {' '.join(USUAL)}"
    if not model.shapes.experts:
        return f"{start} without context parallelism, not with cp {plan.cp}; {end}, or cp 1"
    ranks = plan.tp * plan.cp
    if plan.etp > 1:
        held = plan.expert_ranks
        return f"{start} where ep x etp is tp x cp = {ranks}, not {held}; {end}"
    return f"{start} where ep is tp x cp = {ranks}, not {plan.ep}; {end}, or ep {ranks}"


def many_shardings(model: CostModel, plan: Plan) -> str:
    """Which shardings the stages have, in one sentence."""
    counts = Counter(stage.sharding or plan.sharding for stage in plan.stages or ())
    usual = max(counts, key=lambda name: counts[name])
    return f"megatron has one sharding for all stages, not {sharding_words(plan)}; nearest: {usual}"


def many_recomputations(model: CostModel, plan: Plan) -> str:
    """How recomputation may be chosen."""
    return (
        "megatron recomputes the first N layers of every stage in one way, the same on all stages; "
        "these differ; nearest: recompute none or full"
    )


MUON = "muon"
MOMENTS = {"adam-bf16": "bf16", "adam-fp8": "fp8"}
"""Optimizers to the format of both moments (`--exp-avg-dtype`, `--exp-avg-sq-dtype`)."""


def optimizer_beside(model: CostModel, plan: Plan) -> str:
    """What the optimizer of the job asks of a plan, in one sentence."""
    name = model.job.optimizer
    shared = "zero1" if name in MOMENTS else "ddp or zero1"
    formats = " and not in fp16" if name == MUON else ""
    moved = ", moved to the host" if "optimizer" in plan.offload else ""
    return (
        f"megatron runs the optimizer {name} with {shared}, on the chip{formats}, not with "
        f"{plan.sharding} in {model.job.precision}{moved}; nearest: zero1"
    )
