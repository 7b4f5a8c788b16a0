"""The rules of MaxText."""

from __future__ import annotations

import math

import numpy as np

from models_db import Model
from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.frameworks.decoders import block_of
from planner.frameworks.jax.maxtext.kernels import gpu_rings, no_gpu_ring
from planner.frameworks.jax.maxtext.models import attends_globally, name_of
from planner.frameworks.jax.slices import inside_slices, slice_chips
from planner.frameworks.rules import words
from planner.frameworks.rules.formats import scales_blocks
from planner.frameworks.rules.numbers import nearest_divisors
from planner.frameworks.rules.predicates import micro_batches, whole_rounds
from planner.frameworks.rules.rule import Rule
from planner.plan import ALL_TO_ALL, RING, ZERO2, ZERO3, Plan, PlanTable

VENDORS = ("Google", "NVIDIA", "AMD")
GPU_FORMATS = {"fp8": "fp8", "mxfp8": "te_mxfp8", "int8": "int8"}
CDNA3_FORMATS = {**GPU_FORMATS, "fp8": "nanoo_fp8"}
"""Chips whose 8-bit numbers have no negative zero (configs/base.yml: MI300 and MI325)."""
TPU_FORMATS = {"fp8": "fp8_full", "int8": "int8"}


def on_tpu(model: CostModel) -> bool:
    """Whether the chips are TPUs."""
    return model.chip.vendor == "Google"


def formats(model: CostModel) -> dict[str, str]:
    """Precisions of the matrix multiplications below 16 bits, and MaxText's names for them."""
    known = TPU_FORMATS if on_tpu(model) else GPU_FORMATS
    known = CDNA3_FORMATS if model.chip.architecture == "CDNA3" else known
    return {name: one for name, one in known.items() if scales_blocks(model.chip, name)}


def uniform(model: Model) -> bool:
    """Whether all layers are of one kind and attend alike."""
    return len(set(model.layer_kinds)) == 1 and len(set(model.attention_windows)) == 1


def _always(plans: PlanTable, holds: bool) -> BoolArray:
    return np.full(len(plans), holds)


def pipeline_rounds(model: CostModel, plans: PlanTable, count: IntArray) -> BoolArray:
    """Pipelines run whole rounds of their stages."""
    return np.asarray((plans.pp == 1) | (count % plans.pp == 0))


def maxtext_micro_batches(model: CostModel, plans: PlanTable) -> BoolArray:
    """Pipelines run a multiple of their stages in micro-batches."""
    return np.asarray((plans.pp == 1) | whole_rounds(model, plans))


def known_hardware(model: CostModel, plans: PlanTable) -> BoolArray:
    """The chips are TPUs or GPUs."""
    return _always(plans, model.chip.vendor in VENDORS)


def known_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """MaxText has the model, or a decoder block of its kind."""
    found = name_of(model.job.model) or block_of(model.job.model)
    return _always(plans, found is not None)


def known_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """MaxText multiplies at the precision on such chips."""
    allowed = {"bf16", "fp16", "fp32", *formats(model)}
    return _always(plans, model.job.precision in allowed)


def experts_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """Models with experts are not multiplied in floating-point 8 bits on GPUs."""
    floats = formats(model).get(model.job.precision) in ("fp8", "nanoo_fp8", "te_mxfp8")
    return _always(plans, model.shapes.experts == 0 or on_tpu(model) or not floats)


def kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """Key-value heads divide over tp, and over cp where cp exchanges them."""
    if model.shapes.latent:
        return _always(plans, True)
    ranks = plans.tp * np.where(plans.cp_mode == ALL_TO_ALL, plans.cp, 1)
    return np.asarray(model.shapes.kv_heads % ranks == 0)


def pipelined_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """A pipeline has one kind of layers."""
    return np.asarray((plans.pp == 1) | uniform(model.job.model))


def experts_in_fsdp(model: CostModel, plans: PlanTable) -> BoolArray:
    """Groups of experts take their ranks from fsdp alone."""
    alone = (plans.cp == 1) & (plans.fsdp % plans.ep == 0)
    return np.asarray((plans.ep == 1) | alone)


def accumulates_at(model: CostModel, plans: PlanTable, count: IntArray) -> BoolArray:
    """Gradients are not accumulated where products are in 8 bits on GPUs; pipelines do not."""
    eight_bits = formats(model).get(model.job.precision) in ("fp8", "nanoo_fp8")
    return np.asarray((plans.pp > 1) | (count <= 1) | (not eight_bits))


def accumulates_gradients(model: CostModel, plans: PlanTable) -> BoolArray:
    """See `accumulates_at`."""
    return accumulates_at(model, plans, micro_batches(model, plans))


def context_shards(model: CostModel, plans: PlanTable) -> BoolArray:
    """Context parallelism shards weights too."""
    return np.asarray((plans.cp == 1) | (plans.sharding == ZERO3))


def gradients_whole(model: CostModel, plans: PlanTable) -> BoolArray:
    """No sharding of gradients apart from weights."""
    return np.asarray(plans.sharding != ZERO2)


def ring_divides(model: CostModel, plans: PlanTable) -> BoolArray:
    """Rings on TPUs are even, of sequences that divide by their square, without windows."""
    ring = (plans.cp > 1) & (plans.cp_mode == RING) & on_tpu(model)
    whole = (plans.cp % 2 == 0) & (model.job.seq_len % plans.cp**2 == 0)
    return np.asarray(~ring | (whole & attends_globally(model.job.model)))


def rings_on_gpus(model: CostModel, plans: PlanTable) -> BoolArray:
    """Rings on GPUs are those of Transformer Engine."""
    return _always(plans, True) if on_tpu(model) else gpu_rings(model, plans)


def exchange_offered(model: CostModel, plans: PlanTable) -> BoolArray:
    """Heads are exchanged on TPUs, by global attention that is not latent."""
    plain = attends_globally(model.job.model) and not model.shapes.latent
    offered = on_tpu(model) and plain
    return np.asarray((plans.cp == 1) | (plans.cp_mode != ALL_TO_ALL) | offered)


def exchanges_inside(model: CostModel, plans: PlanTable) -> BoolArray:
    """Heads are exchanged inside of a slice."""
    exchanged = (plans.cp > 1) & (plans.cp_mode == ALL_TO_ALL)
    return np.asarray(~exchanged | inside_slices(model, plans, "cp"))


def _heads_dealt(model: CostModel, plan: Plan) -> str:
    """The nearest tp, or cp where it exchanges heads, that divides the key-value heads."""
    heads, cp = model.shapes.kv_heads, plan.cp if plan.cp_mode == "all-to-all" else 1
    if heads % cp == 0:
        return f"nearest tp: {nearest_divisors(plan.tp, heads // cp)}"
    if heads % plan.tp == 0:
        return f"nearest cp: {nearest_divisors(cp, heads // plan.tp)}"
    return f"nearest tp with cp 1: {nearest_divisors(plan.tp, heads)}"


def _misplaced(model: CostModel, plan: Plan) -> str:
    """Why MaxText cannot place the experts, in one sentence."""
    if plan.cp > 1:
        return f"maxtext has no expert groups beside cp {plan.cp}: ep {plan.ep} needs cp 1"
    both = math.gcd(plan.fsdp, model.shapes.experts)
    return (
        f"maxtext shards all weights over the ranks of ep {plan.ep}, which it takes from fsdp "
        f"{plan.fsdp}; nearest ep: {nearest_divisors(plan.ep, both)}"
    )


_VERSION = "e591f30 (2026-08-22)"
_TYPES = "MaxText configs/types.py"
_RULES = "MaxText configs/base.yml, logical_axis_rules"

MAXTEXT: tuple[Rule, ...] = (
    Rule(
        name="maxtext-micro-batches",
        field="micro_batch",
        framework="jax",
        version=_VERSION,
        source="MaxText configs: num_pipeline_microbatches % stages = 0",
        holds=maxtext_micro_batches,
        counted=pipeline_rounds,
        explain=lambda c, p: (
            f"jax runs pipelines with micro-batches that are a multiple of pp {p.pp}, not "
            f"{words.micro_batches(c, p):g}"
        ),
    ),
    Rule(
        name="maxtext-hardware",
        field="hardware",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: hardware is tpu, gpu, gpu_multiprocess or cpu",
        holds=known_hardware,
        explain=lambda c, p: f"maxtext runs on TPUs and GPUs, not on {c.chip.title}",
    ),
    Rule(
        name="maxtext-model",
        field="model",
        framework="maxtext",
        version=_VERSION,
        source="MaxText configs/models, common/common_types.py DecoderBlockType",
        holds=known_model,
        explain=lambda c, p: (
            f"maxtext has neither {c.job.model.name} nor a decoder block of its kind; nearest: "
            "llama2, mixtral, qwen2, qwen3, qwen3_moe, gpt3, deepseek"
        ),
    ),
    Rule(
        name="maxtext-precision",
        field="precision",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: QuantizationType",
        holds=known_precision,
        explain=lambda c, p: (
            f"maxtext has no precision {c.job.precision!r} on {c.chip.title}; it has bf16, fp16, "
            f"fp32, {', '.join(formats(c))}"
        ),
    ),
    Rule(
        name="maxtext-experts-precision",
        field="precision",
        framework="maxtext",
        version=_VERSION,
        source="MaxText layers/moe.py get_quantization_dtypes: quant_dg, which quantizations.py "
        "gives to AqtQuantization alone",
        holds=experts_precision,
        explain=lambda c, p: (
            f"maxtext runs no model with experts in {c.job.precision} on GPUs; use bf16, fp16 "
            "or fp32"
        ),
    ),
    Rule(
        name="maxtext-accumulation",
        field="micro_batch",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: quantization fp8 excludes gradient_accumulation_steps > 1",
        holds=accumulates_gradients,
        counted=accumulates_at,
        explain=lambda c, p: (
            f"maxtext accumulates no gradients in fp8 on GPUs: {words.micro_batches(c, p):g} "
            "micro-batches must be 1, or pp more than 1; nearest micro_batch: "
            f"{c.job.global_batch // (p.dp * p.fsdp)}"
        ),
    ),
    Rule(
        name="maxtext-kv-heads",
        field="tp",
        framework="maxtext",
        version=_VERSION,
        source="MaxText layers/attentions.py: _validate_kv_head_sharding",
        holds=kv_heads,
        explain=lambda c, p: (
            f"maxtext needs tp {p.tp} (times cp where it exchanges heads) to divide the "
            f"{c.shapes.kv_heads} key-value heads; {_heads_dealt(c, p)}"
        ),
    ),
    Rule(
        name="maxtext-pipelined-model",
        field="pp",
        framework="maxtext",
        version=_VERSION,
        source="MaxText layers/decoders.py get_pipeline_stage_module: one block for all layers",
        holds=pipelined_model,
        explain=lambda c, p: (
            f"maxtext has pipelines (pp {p.pp}) of layers that are all alike, which those of "
            f"{c.job.model.name} are not; nearest pp: 1"
        ),
    ),
    Rule(
        name="maxtext-experts",
        field="ep",
        framework="maxtext",
        version=_VERSION,
        source=f"{_RULES}: embed is sharded over fsdp and expert",
        holds=experts_in_fsdp,
        explain=_misplaced,
        launch=True,
    ),
    Rule(
        name="maxtext-context",
        field="sharding",
        framework="maxtext",
        version=_VERSION,
        source=f"{_RULES}: embed is sharded over context",
        holds=context_shards,
        explain=lambda c, p: (
            f"maxtext shards weights over cp {p.cp}, which {p.sharding} does not; use zero3"
        ),
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="maxtext-zero2",
        field="sharding",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: shard_optimizer_over_data (ZeRO-1) is the only such switch",
        holds=gradients_whole,
        explain=lambda c, p: "maxtext has no zero2; use zero1 or zero3",
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="maxtext-ring",
        field="cp",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: TPU Tokamax ring attention",
        holds=ring_divides,
        explain=lambda c, p: (
            f"maxtext runs rings on TPUs with an even cp whose square divides the sequence and "
            f"without windows, not cp {p.cp} with {c.job.seq_len} tokens of {c.job.model.name}; "
            "use cp_mode all-to-all or cp 1"
        ),
    ),
    Rule(
        name="maxtext-ring-gpus",
        field="cp",
        framework="maxtext",
        version=_VERSION,
        source="MaxText layers/attention_op.py cudnn_flash_attention, utils/max_utils.py "
        "reorder_causal_load_balanced",
        holds=rings_on_gpus,
        explain=no_gpu_ring,
    ),
    Rule(
        name="maxtext-all-to-all",
        field="cp_mode",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: Ulysses attention on TPUs, attention_type global",
        holds=exchange_offered,
        explain=lambda c, p: (
            "maxtext has cp_mode all-to-all on TPUs only, for global attention that is not latent; "
            "use ring"
        ),
    ),
    Rule(
        name="maxtext-all-to-all-slices",
        field="cp_mode",
        framework="maxtext",
        version=_VERSION,
        source=f"{_TYPES}: Ulysses attention refuses dcn_context_parallelism",
        holds=exchanges_inside,
        explain=lambda c, p: (
            f"maxtext exchanges heads (cp_mode all-to-all) inside of a slice only, and cp {p.cp} "
            f"crosses slices of {slice_chips(c, p.chips)} chips; use ring, or lay cp further inside"
        ),
        launch=True,
        placed=True,
    ),
)
