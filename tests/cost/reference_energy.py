"""Energy and utilization, by hand: part of the reference of `cost.reference`."""

import math
from statistics import NormalDist

from cost.reference_layer import up_share
from cost.reference_memory import (
    StageSpec,
    stages_of,
)
from cost.reference_modules import named, parameters_again
from cost.reference_repeats import attention_again, last_share, mean_context, second_share
from cost.reference_tuning import dropped_parameters, passes
from hardware_db import Chip, Cluster
from planner.cost.job import Job
from planner.plan import Plan


def busy_w(chip: Chip, clock: float) -> float:
    """Power while kernels run: idle + dynamic x f x V^2."""
    volts = max(chip.voltage_floor, 1 + chip.voltage_slope * (clock - 1))
    return min(chip.idle_w + (chip.busy_w - chip.idle_w) * clock * volts * volts, chip.tdp_w)


def joules(
    cluster: Cluster, plan: Plan, specs: list[StageSpec], time: float, busy: list[float]
) -> tuple[float, float, float, float, float]:
    """Total, low, high, static and host joules: every stage has chips / pp chips.

    Low and high are the 10 % and 90 % quantiles of the normal distribution whose variance is that
    of busy, waiting and host power, and of the fabric, which is known to 30 %.
    """
    chip = cluster.chip
    per_stage = plan.chips / plan.pp
    network = sum(lv.switch_power_w_per_chip for lv in cluster.scale(plan.chips).levels)
    total = 0.0
    for spec, run in zip(specs, busy, strict=True):
        extra = max(busy_w(chip, spec.clock) - chip.wait_w, 0.0)
        total += per_stage * (run * extra + time * (chip.wait_w + chip.host_w + network))
    mean = sum(busy) / plan.pp
    sigma = plan.chips * math.sqrt(
        (mean * chip.busy_sigma_w) ** 2
        + ((time - mean) * chip.wait_sigma_w) ** 2
        + (time * chip.host_sigma_w) ** 2
        + (time * 0.3 * network) ** 2
    )
    spread = NormalDist().inv_cdf(0.9) * sigma
    host = plan.chips * chip.host_w * time
    static = plan.chips * (chip.idle_w + network) * time
    return total, max(total - spread, 0.0), total + spread, static, host


def forward_flop_per_token(job: Job) -> tuple[float, float]:
    """FLOP of one forward pass: matrices, attention (causality not halved)."""
    model = job.model
    active = model.active_parameters - model.position_parameters
    active -= 0 if model.tied_embeddings else model.vocab_size * model.hidden
    dims = model.head_dim + model.attention.v_head_dim
    context = mean_context(model, job.seq_len)
    return 2.0 * active, 2.0 * model.layers * model.heads * context * dims


def peak_flop_per_s(job: Job, chip: Chip) -> float:
    """Peak at the job's precision, else at 16 bits."""
    name = "fp8" if job.precision == "mxfp8" else job.precision
    for dtype in (name, "bf16", "fp16", "fp32"):
        if dtype in chip.peak_flop_per_s:
            return chip.peak_flop_per_s[dtype]
    raise AssertionError(chip.name)


def utilization(
    job: Job, chip: Chip, plan: Plan, time: float, *, fused: bool
) -> tuple[float, float]:
    linear, attention = forward_flop_per_token(job)
    needed = linear * (3 if job.kind != "lora" else 2) + 3 * attention
    needed += passes(job) * (linear + attention)
    tokens = job.global_batch * job.seq_len
    peak = peak_flop_per_s(job, chip) * plan.chips * time
    again = sum(repeated_flop_per_token(job, plan, fused=fused))
    return tokens * needed / peak, tokens * (needed + again) / peak


def repeated_flop_per_token(job: Job, plan: Plan, *, fused: bool) -> tuple[float, float]:
    """FLOP that recomputation adds: matrices of the layers (not the head), attention."""
    model = job.model
    _, attention = forward_flop_per_token(job)
    active = dict.fromkeys(("dense", "moe"), 0.0)
    for kind in set(model.layer_kinds):
        active[kind] = model.layer_parameters(kind)
    if model.moe is not None:
        idle = model.moe.experts - model.moe.experts_per_token
        active["moe"] -= idle * model.expert_parameters
    active = {kind: count + dropped_parameters(job, kind) for kind, count in active.items()}
    linear = repeated = 0.0
    for spec in stages_of(plan, model):
        scores = {"full": 1.0}.get(spec.recompute, 0.0)
        matrices = scores * (1 - last_share(job))
        if spec.recompute == "selective" and job.framework.selective == "half-matmuls":
            matrices = 0.5
        elif spec.recompute == "selective" and job.framework.selective == "second-matmuls":
            matrices = second_share(job)
        elif spec.recompute == "selective" and job.framework.selective == "up-projections":
            matrices = up_share(model)
        elif spec.recompute == "selective" and attention_again(job, fused=fused):
            scores = 1.0
        if "core_attn" in named(spec.recompute, "dense"):
            scores = 1.0
        for kind, layers in (("dense", spec.dense), ("moe", spec.moe)):
            linear += 2 * layers * parameters_again(model, spec.recompute, kind)
        linear += matrices * 2 * (spec.dense * active["dense"] + spec.moe * active["moe"])
        repeated += scores * attention * (spec.dense + spec.moe) / model.layers
    return linear, repeated
