"""The rules of nanotron."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.cost.stages.layout import stage_layers
from planner.frameworks.decoders import block_of
from planner.frameworks.rules import alike, shared, words
from planner.frameworks.rules.predicates import micro_batches
from planner.frameworks.rules.rule import Rule
from planner.plan import BY_COST, DDP, NO_RECOMPUTE, Plan, PlanTable
from planner.schedules import code_of_schedule

BLOCKS = ("llama2", "qwen2", "mixtral")
PRECISIONS = ("bf16", "fp16")


def nanotron_kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """There is a key-value head for every rank of tp."""
    return model.shapes.kv_heads >= plans.tp


def enough_micro_batches(model: CostModel, plans: PlanTable, count: IntArray) -> BoolArray:
    """1F1B has a micro-batch for every stage but one."""
    enough = count >= plans.pp - 1
    return np.asarray((plans.schedule != code_of_schedule("1f1b")) | enough)


def nanotron_1f1b(model: CostModel, plans: PlanTable) -> BoolArray:
    """See `enough_micro_batches`."""
    return enough_micro_batches(model, plans, micro_batches(model, plans))


def _too_few(model: CostModel, plan: Plan) -> str:
    found = words.micro_batches(model, plan)
    return (
        f"nanotron runs 1f1b with at least pp - 1 = {plan.pp - 1} micro-batches, not with "
        f"{found:g}; nearest pp: {math.floor(found) + 1}, or schedule gpipe"
    )


def known_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """The model is like Llama or Qwen 2, with heads that make up the hidden width."""
    one = model.job.model
    return np.full(len(plans), block_of(one) in BLOCKS and one.heads * one.head_dim == one.hidden)


def whole_experts(model: CostModel, plans: PlanTable) -> BoolArray:
    """Experts are not spread."""
    return np.asarray(plans.ep == 1)


def context_starts(model: CostModel, plans: PlanTable) -> BoolArray:
    """Context parallelism goes on from a checkpoint, and its gradients are those of PyTorch's DDP.

    That is so with replicas, or where no optimizer states are shared.
    """
    reduced = (plans.dp > 1) | (plans.sharding == DDP)
    return np.asarray((plans.cp == 1) | (reduced & (model.job.kind == "finetune")))


def nothing_moves(model: CostModel, plans: PlanTable) -> BoolArray:
    """Nothing moves to the host."""
    return np.asarray(plans.offload == 0)


def known_job(model: CostModel, plans: PlanTable) -> BoolArray:
    """16 bits, and all weights."""
    return np.full(len(plans), model.job.precision in PRECISIONS and model.job.kind != "lora")


def has_flash(model: CostModel, plans: PlanTable) -> BoolArray:
    """FlashAttention 2 has kernels for the chips."""
    return np.full(len(plans), not alike.before_ampere(model.chip))


def known_products(model: CostModel, plans: PlanTable) -> BoolArray:
    """The products of experts are in bf16."""
    return np.full(len(plans), not model.shapes.experts or model.job.precision != "fp16")


def dealt_by_cost(model: CostModel, plans: PlanTable) -> BoolArray:
    """Explicit stages have the layers that nanotron gives them."""
    right = np.ones(len(plans), dtype=np.bool_)
    if plans.stages is None:
        return right
    for row in np.flatnonzero(plans.stages.layers[:, 0] >= 0):
        layers = plans.stages.layers[row]
        dealt = dealt_layers(model, int(plans.pp[row]))
        right[row] = dealt == tuple(layers[layers >= 0].tolist())
    return right


def dealt_layers(model: CostModel, pp: int) -> tuple[int, ...]:
    """Layers of each stage by nanotron's rule; empty where there are too many stages."""
    found = stage_layers(model.job.model, pp, 1, BY_COST)
    return () if found is None else tuple(map(int, found))


def _dealt(model: CostModel, plan: Plan) -> str:
    found = ", ".join(map(str, dealt_layers(model, plan.pp))) or "none"
    listed = ", ".join(str(stage.layers) for stage in plan.stages or ())
    return f"nanotron deals out layers by their cost, {found}, not {listed}; use split by-cost"


def nothing_again(model: CostModel, plans: PlanTable) -> BoolArray:
    """Nothing is computed again."""
    return np.asarray(plans.recompute == NO_RECOMPUTE)


def whole_sequences(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences are whole."""
    return np.asarray(plans.cp == 1)


def known_early(model: CostModel, plans: PlanTable) -> BoolArray:
    """The model has neither biases nor experts."""
    one = model.job.model
    return np.full(len(plans), not (one.attention.bias or one.moe))


_VERSION = "2411b02 (2026-04-07)"
_only_in_05 = partial(
    Rule,
    framework="nanotron",
    version="v0.5, 4799d24702 (2024-04-19)",
    launch=True,
    versions=("0.5",),
)

NANOTRON: tuple[Rule, ...] = (
    Rule(
        name="nanotron-kv-heads",
        field="tp",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/config.py: key-value heads >= tp",
        holds=nanotron_kv_heads,
        alone=True,
        explain=lambda c, p: f"nanotron needs tp {p.tp} <= the {c.shapes.kv_heads} key-value heads",
    ),
    Rule(
        name="nanotron-1f1b",
        field="micro_batch",
        framework="nanotron",
        version=_VERSION,
        source="nanotron parallel/pipeline_parallel/engine.py: "
        "OneForwardOneBackwardPipelineEngine.train_batch_iter",
        holds=nanotron_1f1b,
        counted=enough_micro_batches,
        explain=_too_few,
    ),
    Rule(
        name="nanotron-model",
        field="model",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/models_config.py: LlamaConfig, Qwen2Config (with moe_config)",
        holds=known_model,
        explain=lambda c, p: (
            f"nanotron has no model of the kind of {c.job.model.name}; nearest: "
            f"{', '.join(BLOCKS)}, with heads that make up the hidden width"
        ),
        launch=True,
    ),
    Rule(
        name="nanotron-experts",
        field="ep",
        framework="nanotron",
        version=_VERSION,
        source="nanotron parallel/context.py: the world is tp cp dp pp, in which ep has no place",
        holds=whole_experts,
        explain=lambda c, p: f"nanotron does not spread experts over ep {p.ep} ranks; nearest: 1",
        launch=True,
    ),
    Rule(
        name="nanotron-ring",
        field="cp_mode",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/models_config.py: llama3_ring_attention",
        holds=shared.by_ring,
        explain=lambda c, p: f"nanotron has cp {p.cp} by ring only; use cp_mode ring",
        launch=True,
    ),
    Rule(
        name="nanotron-context",
        field="cp",
        framework="nanotron",
        version=_VERSION,
        source="nanotron trainer.py: _load_model_checkpoint and training_step raise otherwise",
        holds=context_starts,
        explain=lambda c, p: (
            f"nanotron starts cp {p.cp} from a checkpoint only (job finetune), with dp more than 1 "
            f"or ddp, not job {c.job.kind} with dp {p.dp} and {p.sharding}; nearest cp: 1"
        ),
        launch=True,
    ),
    _only_in_05(
        name="nanotron-recompute-0.5",
        field="recompute",
        source="nanotron v0.5 config/parallelism_config.py has no recompute_layer",
        holds=nothing_again,
        explain=lambda c, p: "nanotron 0.5 computes nothing again; use recompute none",
        per_stage=True,
    ),
    _only_in_05(
        name="nanotron-context-0.5",
        field="cp",
        source="nanotron v0.5 config/parallelism_config.py has no context_parallel_size",
        holds=whole_sequences,
        explain=lambda c, p: f"nanotron 0.5 divides no sequences: cp {p.cp} must be 1",
    ),
    _only_in_05(
        name="nanotron-model-0.5",
        field="model",
        source="nanotron v0.5 config/models_config.py: LlamaConfig, without biases and experts",
        holds=known_early,
        explain=lambda c, p: (
            f"nanotron 0.5 has LlamaConfig only, without biases and experts, not for "
            f"{c.job.model.name}; nearest: llama2"
        ),
    ),
    Rule(
        name="nanotron-recompute",
        field="recompute",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/parallelism_config.py: recompute_layer",
        holds=shared.whole_layers,
        explain=lambda c, p: "nanotron recomputes whole layers or nothing; use none or full",
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="nanotron-offload",
        field="offload",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/config.py has no offloading",
        holds=nothing_moves,
        explain=lambda c, p: f"nanotron does not move {' and '.join(p.offload)} to the host",
        launch=True,
    ),
    Rule(
        name="nanotron-job",
        field="precision",
        framework="nanotron",
        version=_VERSION,
        source="nanotron optim/gradient_accumulator.py refuses weights in 32 bits, as flash_attn "
        "does; all weights are trained",
        holds=known_job,
        explain=lambda c, p: (
            f"nanotron trains all weights in {', '.join(PRECISIONS)}, not job {c.job.kind} in "
            f"{c.job.precision}"
        ),
        launch=True,
    ),
    Rule(
        name="nanotron-expert-products",
        field="precision",
        framework="nanotron",
        version=_VERSION,
        source="nanotron nn/moe.py: grouped_gemm (15721c6, csrc/grouped_gemm.cu takes bfloat16)",
        holds=known_products,
        explain=lambda c, p: (
            f"nanotron multiplies the {c.shapes.experts} experts in bf16 only, not "
            f"{c.job.precision}; nearest precision: bf16"
        ),
        launch=True,
    ),
    Rule(
        name="nanotron-stages",
        field="stages",
        framework="nanotron",
        version=_VERSION,
        source="nanotron models/base.py build_model: cumulative cost",
        holds=dealt_by_cost,
        explain=_dealt,
        launch=True,
    ),
    Rule(
        name="nanotron-choices",
        field="stages",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/parallelism_config.py: one recompute_layer",
        holds=alike.choices_alike,
        explain=lambda c, p: alike.unlike_choices("nanotron", p),
        launch=True,
    ),
    Rule(
        name="nanotron-chips",
        field="hardware",
        framework="nanotron",
        version=_VERSION,
        source="nanotron distributed.py initialize_torch_distributed: CUDA or nothing",
        holds=alike.on_cuda,
        explain=lambda c, p: (
            f"nanotron runs on GPUs of {' and '.join(alike.CUDA_VENDORS)}, not on {c.chip.name}"
        ),
        launch=True,
    ),
    Rule(
        name="nanotron-flash",
        field="hardware",
        framework="nanotron",
        version=_VERSION,
        source="nanotron models/llama.py and models/qwen.py import flash_attn, whose kernels need "
        "compute capability 8.0",
        holds=has_flash,
        explain=lambda c, p: (
            "nanotron attends by FlashAttention 2, which NVIDIA's chips run from Ampere on, not "
            f"{c.chip.title}"
        ),
        launch=True,
    ),
)
