"""Bytes per chip and stage in plain floats, stage by stage.

Sources: Korthikanti et al., arXiv:2205.05198, section 4 (activations); Rajbhandari et al., ZeRO,
arXiv:1910.02054, section 5 (states); Narayanan et al., arXiv:2104.04473, section 2.2 and Qi et
al., arXiv:2401.10241, table 2 (in flight); bytes per item: `planner.frameworks.profiles`.
"""

import math
from dataclasses import dataclass, replace

from cost.reference_frozen import frozen_bytes, gathered_bytes
from cost.reference_layer import kv_heads_on_chip
from cost.reference_modules import dropped_bytes
from cost.reference_tuning import (
    copies,
    kept_bytes,
    layer_matrices,
    made_bytes,
    passes,
    widened_bytes,
)
from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job
from planner.plan import Plan


@dataclass(frozen=True)
class Local:
    """Parameters on one chip before data-parallel sharding."""

    dense: float
    moe: float
    experts: float
    embedding: float
    head: float


def local_parameters(job: Job, tp: int, ep: int) -> Local:
    """Column- and row-parallel matrices are divided by tp, routed experts by ep, the rest whole."""
    model, h = job.model, job.model.hidden
    unit = tp * job.framework.vocab_multiple
    table = math.ceil(model.vocab_size / unit) * unit * h / tp
    attention = _attention(model, tp) + model.norm_parameters
    dense = moe = experts = 0.0
    if model.mlp.hidden is not None:
        dense = attention + model.mlp_parameters("dense") / tp
    if model.moe is not None:
        moe = attention + model.router_parameters + model.shared_expert_parameters / tp
        experts = model.moe.experts * model.expert_parameters / ep
    embedding = table + model.position_parameters + model.embedding_norm_parameters
    return Local(dense, moe, experts, embedding, table + model.final_norm_parameters)


def _attention(model: Model, tp: int) -> float:
    h, dim = model.hidden, model.head_dim
    if model.attention.kind == "mla":
        whole = (model.attention.kv_lora_rank or 0) + (model.attention.qk_rope_head_dim or 0)
        whole = h * (whole + (model.attention.q_lora_rank or 0))
        return whole + (model.attention_parameters - whole) / tp
    matrices = 2 * h * model.heads * dim + 2 * h * model.kv_heads * dim
    small = model.attention_parameters - matrices
    keys = kv_heads_on_chip(model, tp)
    return 2 * h * model.heads * dim / tp + 2 * h * keys * dim + small


@dataclass(frozen=True)
class StageSpec:
    """One stage: its layers by kind and what it chooses for itself."""

    index: int
    dense: int
    moe: int
    first: bool
    last: bool
    recompute: str
    sharding: str
    clock: float


def chunk_sizes(model: Model, chunks: int, split: str) -> list[int]:
    """Layers per chunk by the rule of `planner.plan.SPLITS`."""
    layers = model.layers
    if chunks == 1:
        return [layers]
    if split == "by-cost":
        return _by_cost(model, chunks)
    ends = 1 if split.endswith("counted") else 0
    items = layers + 2 * ends
    if split.startswith("even"):
        assert items % chunks == 0
    sizes = [items // chunks + (1 if chunk < items % chunks else 0) for chunk in range(chunks)]
    sizes[0] -= ends
    sizes[-1] -= ends
    return sizes


def _by_cost(model: Model, chunks: int) -> list[int]:
    """Greedy: a chunk takes layers until the running cost passes its share of the whole."""
    kind = model.layer_kinds[-1]
    weights = model.layer_parameters(kind) - model.norm_parameters
    if kind == "moe" and model.moe is not None:
        weights -= (model.moe.experts - model.moe.experts_per_token) * model.expert_parameters
    share = (model.layers + model.vocab_size * model.hidden / weights) / chunks
    sizes, done = [], 0
    for chunk in range(chunks - 1):
        size = 0
        while done < model.layers and (size == 0 or done <= share * (chunk + 1)):
            done += 1
            size += 1
        sizes.append(size)
    return [*sizes, model.layers - done]


def stages_of(plan: Plan, model: Model) -> list[StageSpec]:
    """Every stage of a plan in order, chunk s on stage s mod pp."""
    if plan.stages is not None:
        sizes = [stage.layers for stage in plan.stages]
    else:
        sizes = chunk_sizes(model, plan.pp * plan.interleave, plan.split)
    kinds: list[list[str]] = [[] for _ in range(plan.pp)]
    start = 0
    for chunk, size in enumerate(sizes):
        kinds[chunk % plan.pp] += model.layer_kinds[start : start + size]
        start += size
    assert start == model.layers
    specs = []
    for index, held in enumerate(kinds):
        own = plan.stages[index] if plan.stages is not None else None
        specs.append(
            StageSpec(
                index,
                held.count("dense"),
                held.count("moe"),
                index == 0,
                index == plan.pp - 1,
                (own and own.recompute) or plan.recompute,
                (own and own.sharding) or plan.sharding,
                plan.clock if own is None or own.clock is None else own.clock,
            )
        )
    return specs


def stage_parameters(job: Job, plan: Plan, stage: StageSpec, local: Local) -> tuple[float, float]:
    """Dense and expert parameters of a stage; a tied table is stored once on a single stage."""
    dense = stage.dense * local.dense + stage.moe * local.moe
    return dense + ends_of(job, plan, stage, local), stage.moe * local.experts


def ends_of(job: Job, plan: Plan, stage: StageSpec, local: Local) -> float:
    """Embedding and head; tied and on the same stage they are one table."""
    held = local.embedding if stage.first else 0.0
    if stage.last:
        held += local.head
        if job.model.tied_embeddings and plan.pp == 1:
            held -= local.head - job.model.final_norm_parameters
    return held


def trained_share(job: Job) -> float:
    """Share of parameters with gradients: adapters of every matrix of every layer, or all."""
    if job.kind != "lora":
        return 1.0
    model = job.model
    pairs = [pair for kind in model.layer_kinds for pair in layer_matrices(model, kind)]
    magnitudes = sum(columns for _, columns in pairs) if job.adapter == "dora" else 0
    factors = job.lora_rank * sum(rows + columns for rows, columns in pairs)
    return (factors + magnitudes) / model.total_parameters


def shard_counts(plan: Plan, sharding: str) -> tuple[float, float]:
    """Ranks that divide the state of dense and expert parameters.

    Dense: cp x fsdp, and dp but under zero3. Experts: the same ranks and tp, less what the expert
    groups take of each axis, innermost first and replicas last.
    """
    names = ["tp", "cp", "fsdp"] + ([] if sharding == "zero3" else ["dp"])
    ranks = plan.cp * plan.fsdp * (1 if sharding == "zero3" else plan.dp)
    wanted, copies = plan.ep * plan.etp, 1
    for axis in [axis for axis in plan.order if axis in ("tp", "cp", "fsdp")] + ["dp"]:
        taken = math.gcd(getattr(plan, axis), wanted)
        wanted //= taken
        copies *= getattr(plan, axis) // taken if axis in names else 1
    return float(ranks), float(copies)


LEVEL = {"ddp": 0, "zero1": 1, "zero2": 2, "zero3": 3}


def in_flight(plan: Plan, stage: int, m: float) -> float:
    """Micro-batches whose activations stage `stage` holds, in units of all its layers."""
    if plan.schedule == "gpipe":
        return m
    if plan.schedule == "zero-bubble":
        return min(m, plan.pp)
    if plan.interleave > 1:
        chunks = 2 * (plan.pp - stage - 1) + (plan.interleave - 1) * plan.pp + 1
        return min(m, chunks / plan.interleave)
    return min(m, plan.pp - stage)


def layer_activations(
    job: Job, plan: Plan, kind: str, word: str = "none", *, fused: bool
) -> dict[str, float]:
    """Bytes per token and layer kept for backward, by recomputation; and while recomputing."""
    model, framework, tp = job.model, job.framework, plan.tp
    h, dims = model.hidden, model.head_dim + model.attention.v_head_dim
    rows = tp if plan.sequence_parallel else 1
    kv = kv_heads_on_chip(model, tp) * tp
    width, routed = float(model.mlp.hidden or 0), 0.0
    if kind == "moe" and model.moe is not None:
        width = model.moe.experts_per_token * model.moe.expert_hidden
        width += model.moe.shared_experts * model.moe.shared_expert_hidden
        routed = 2 * model.moe.experts_per_token * h
    per_width = framework.gated_saved if model.mlp.gated else framework.plain_saved
    # 2 bytes each: queries and attention output of all heads, keys and values; log-sum-exp 4.
    beside = kept_bytes(job, kind, layer_matrices(model, kind))
    beside += widened_bytes(job, kind, plan.ep * plan.etp) / (
        plan.micro_batch * job.seq_len / plan.cp
    )
    core = 2 * model.heads * dims + 2 * kv * dims + 4 * model.heads + beside
    latents = 4 * ((model.attention.q_lora_rank or 0) + (model.attention.kv_lora_rank or 0))
    scores = 0.0 if fused else 5 * model.heads * job.seq_len / tp
    read = 1 if model.parallel_block else 2  # inputs of the two halves, then of their norms
    inputs = 2 * h * (read + model.norm.per_layer) / rows
    experts = (framework.combined_saved / 2 + plan.etp) * routed
    none = inputs + latents + (core + per_width * width + experts) / tp + scores
    full = 2 * h / rows
    selective = none - scores
    if framework.selective in ("half-matmuls", "second-matmuls"):
        qkv = model.heads * model.head_dim + kv * dims
        up = width * (2 if model.mlp.gated else 1)
        half = (qkv + up) / tp + 2 * h / rows
        out = (2 * model.heads * model.attention.v_head_dim + 4 * model.heads + beside) / tp
        selective = min(none, full + half + out)
    if framework.selective == "up-projections":
        up = width * (2 if model.mlp.gated else 1)
        out = 2 * model.heads * model.attention.v_head_dim + 4 * model.heads + beside
        attends = out if model.attention.kind == "mla" else core
        selective = 4 * h / rows + latents / 2 + scores
        selective += (attends + 2 * up + plan.etp * routed) / tp
    working = none + 4 * width / tp + 4 * h / rows
    dropped, live = dropped_bytes(job, plan, word, kind, scores)
    found = {"none": none, "selective": selective, "full": full, "working": working}
    return {word: none - dropped, **found, "again": dropped + live}


def _gathered(job: Job, plan: Plan) -> tuple[float, float]:
    """Bytes per token kept of gathered inputs per layer, and of gathers in flight once."""
    if not plan.sequence_parallel:
        return 0.0, 0.0
    rule = job.framework.keeps_gathered
    share = {"never": 0.0, "always": 1.0}.get(rule)
    if share is None and (plan.pp == 1 or plan.tp <= 4):
        share = 0.75
    elif share is None:
        share = 0.4 if plan.tp <= 8 else 0.0
    whole = job.model.hidden * (1 - 1 / plan.tp)
    buffers = whole * (job.framework.gather_buffers + 2 * (1 - share))
    inputs = 1 if job.model.parallel_block else 2
    return 2 * inputs * whole * share, buffers if job.framework.gather_buffers else 0.0


def stage_memory(job: Job, plan: Plan, stage: StageSpec, *, fused: bool) -> dict[str, float]:
    """Bytes by part on one stage; `host` beside them."""
    framework = job.framework
    local = local_parameters(job, plan.tp, plan.ep * plan.etp)
    dense, experts = stage_parameters(job, plan, stage, local)
    m = job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)
    share = trained_share(job)
    shards = shard_counts(plan, stage.sharding)
    level = LEVEL[stage.sharding]

    def kept(per_parameter: float, from_level: int) -> float:
        split = shards if level >= from_level else (1.0, 1.0)
        return per_parameter * (dense / split[0] + experts / split[1])

    weights = kept(framework.weight_bytes, 3)
    if job.kind == "lora":
        frozen, ends = frozen_bytes(job), ends_of(job, plan, stage, local)
        split = shards if level >= 3 else (1.0, 1.0)
        rest = (dense - ends) / split[0] + experts / split[1]
        weights = frozen[0] * rest + frozen[1] * ends / split[0] + share * weights
    weights += copies(job) * kept(max(framework.weight_bytes, 2.0), 3)
    gradients = kept(framework.gradient_bytes * share, 2)
    optimizer = kept(framework.optimizer_bytes * share, 1)
    if job.optimizer != "adam":
        moments = framework.optimizer_bytes - framework.master_bytes
        split = shards if level >= 1 else (1.0, 1.0)
        own = {"muon": moments / 2, "lion": moments / 2, "adafactor": 0.0, "adam-bf16": 4.0}
        optimizer = share * kept(framework.master_bytes + own[job.optimizer], 1)
        if job.optimizer == "muon":
            optimizer += share * moments / 2 * ends_of(job, plan, stage, local) / split[0]
    activations, streamed = _activations(job, plan, stage, m, fused=fused)
    logits = 0.0
    if stage.last:
        per_logit = framework.logits_bytes + (framework.lingering_logits_bytes if m > 1 else 0)
        per_logit += 2 * passes(job)
        unit = plan.tp * framework.vocab_multiple
        columns = math.ceil(job.model.vocab_size / unit) * unit
        columns /= plan.tp if framework.vocab_parallel_loss else 1
        logits = plan.micro_batch * job.seq_len / plan.cp * columns * per_logit
    buffers = _buffers(job, plan, stage, local, dense + experts)
    largest = max(local.dense, local.moe + local.experts)
    host = 0.0
    if "optimizer" in plan.offload:
        host, optimizer = host + optimizer, 0.0
        if level >= 2:  # each shard of the gradients leaves when it is reduced
            host, gradients = host + gradients, 0.0
    if "weights" in plan.offload:
        host, weights = host + weights, 0.0 if level == 3 else min(weights, 4 * largest)
    if "activations" in plan.offload:
        host, activations = host + activations, streamed
    phase = framework.optimizer_phase * (dense + experts)
    if "optimizer" not in plan.offload:
        stepped = share * kept(1.0, 1)
        stepped = min(stepped, 1e9) if level == 3 else stepped
        phase += framework.widened_gradients * stepped
    buffers += max(phase - activations - logits - buffers, 0.0)
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer": optimizer,
        "activations": activations,
        "logits": logits,
        "buffers": buffers,
        "constant": framework.constant_bytes,
        "host": host,
    }


def _activations(
    job: Job, plan: Plan, stage: StageSpec, m: float, *, fused: bool
) -> tuple[float, float]:
    """Saved activations of all micro-batches in flight; what stays if they are offloaded."""
    tokens = plan.micro_batch * job.seq_len / plan.cp
    full = stage.recompute == "full"
    saved, peak, live = 0.0, 0.0, 0.0
    gathered, once = _gathered(job, plan)
    for kind, layers in (("dense", stage.dense), ("moe", stage.moe)):
        if not layers:
            continue
        bytes_of = layer_activations(job, plan, kind, stage.recompute, fused=fused)
        live, extra = max(live, bytes_of["again"]), gathered
        one = bytes_of[stage.recompute] + (0.0 if full else extra)
        saved += layers * one
        peak = max(peak, bytes_of["working"] + extra if full else 2 * one)
    whole = saved * in_flight(plan, stage.index, m) + (peak if full else live)
    whole += once if peak else 0.0
    return tokens * whole, tokens * min(peak, whole)


def _buffers(job: Job, plan: Plan, stage: StageSpec, local: Local, parameters: float) -> float:
    framework = job.framework
    held = [local.dense] * bool(stage.dense) + [local.moe + local.experts] * bool(stage.moe)
    layer = max(held, default=0.0)
    # Dummy weight gradients: of the last layer (experts follow dense layers), once per shape.
    shapes = local.dense if stage.dense else 0.0
    if stage.moe:
        shapes = local.moe + job.model.expert_parameters / plan.etp
    trained = trained_share(job)  # frozen parameters have no gradients
    kept = trained * framework.weight_gradient_buffer * shapes
    kept += trained * framework.gradient_residue * parameters
    kept += framework.embedding_residue * (local.embedding if stage.first else 0.0)
    kept += made_bytes(job) / plan.tp if layer else 0.0
    if stage.sharding != "zero3":
        return kept
    if framework.gathers_once_under_pp and plan.pp > 1:
        held = 2.0 * parameters
        if job.kind == "lora":
            ends = ends_of(job, plan, stage, local)
            held = gathered_bytes(job) * (parameters - ends) + 2 * ends
        return kept + held + 2 * copies(job) * parameters + trained * 4 * parameters
    compiled = framework.name == "jax"  # one pass of a loop over layers, gradients in 16 bits
    at_once = 1 if compiled else 2
    gradients = trained * (2.0 if compiled else framework.gradient_bytes) * layer
    live = max(at_once * layer, min(framework.live_parameters, job.model.total_parameters))
    ends = 2 * ends_of(job, plan, stage, local)
    return kept + gathered_bytes(job) * live + at_once * gradients + ends


def stays_unsharded(job: Job, plan: Plan) -> bool:
    """Whether FSDP holds a pipeline stage whole through the step instead of gathering it anew."""
    return job.framework.gathers_once_under_pp and plan.pp != 1


def reduces_each_time(job: Job, plan: Plan) -> bool:
    """Whether replicas reduce whole gradients with every micro-batch."""
    return job.framework.reduces_replicas_every_micro_batch and plan.pp < 2


def summed(job: Job, a: Assumptions) -> Job:
    """The job with Megatron's gradients summed as sent, Megatron-DeepSpeed's in 32 bits."""
    profile, wide = job.framework, job.era == "megatron-deepspeed"
    if profile.name != "megatron":
        return job
    return replace(
        job, framework=replace(profile, gradient_bytes=4.0 if wide else a.gradient_wire_bytes)
    )
