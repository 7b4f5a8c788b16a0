"""With which kernel MaxText attends on GPUs, and which rings that kernel has.

MaxText e591f30 layers/attention_op.py; Transformer Engine d0067d0
common/fused_attn/fused_attn.cpp (nvte_get_fused_attn_backend) and jax/flax/transformer.py, whose
DotProductAttention falls to unfused attention where no kernel fits, which knows no ring.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.jax.maxtext.models import attends_globally, caps_scores
from planner.frameworks.rules.alike import before_ampere, keeps_scores
from planner.frameworks.rules.numbers import divisors, nearest
from planner.plan import Plan, PlanTable

DOT_PRODUCT, CUDNN, CHOSEN = "dot_product", "cudnn_flash_te", "autoselected"
_HEAD_DIMS = {"Ampere": (0, 128), "Ada": (0, 128), "Hopper": (0, 256), "Blackwell": (256, 128),
              "Blackwell Ultra": (256, 128)}  # fmt: skip
"""Of NVIDIA's chips that have the kernel: a width of heads beside all multiples of 8 up to one."""


def gpu_kernel(model: CostModel) -> str:
    """`attention` on GPUs: cuDNN's kernel takes neither sinks nor caps of scores.

    Of latents MaxText chooses one itself, where GPUs have any.
    """
    if model.shapes.latent:
        return DOT_PRODUCT if before_ampere(model.chip) else CHOSEN
    lacks = model.shapes.sinks or caps_scores(model.job.model)
    return DOT_PRODUCT if lacks or keeps_scores(model) else CUDNN


def why_unfused(model: CostModel) -> str:
    """Why GPUs keep the scores, in a few words; empty where they attend in one kernel."""
    kernel, width = gpu_kernel(model), model.shapes.head_dim
    if kernel == CHOSEN:
        return ""
    if before_ampere(model.chip):
        return f"fused attention needs an NVIDIA chip from Ampere on, not {model.chip.title}"
    if keeps_scores(model):
        return "fused attention runs in 16 bits, not in fp32"
    if kernel == DOT_PRODUCT:
        return "cuDNN's kernel has neither sinks nor capped scores"
    if model.chip.vendor != "NVIDIA":
        return ""
    extra, most = _HEAD_DIMS.get(model.chip.architecture, (0, 0))
    fits = width % 8 == 0 and (width <= most or width == extra)
    return "" if fits else f"cuDNN's kernel has no heads of {width} on {model.chip.title}"


def why_no_ring(model: CostModel) -> str:
    """Why GPUs attend in no ring, in a few words; empty where they can."""
    if model.shapes.latent:
        return "latent attention has no ring"
    if not attends_globally(model.job.model):
        return "windows have no ring"
    return why_unfused(model)


def gpu_rings(model: CostModel, plans: PlanTable) -> BoolArray:
    """(n,) no ring, or a ring of an even size that halves its share of the sequence."""
    even = (plans.cp % 2 == 0) & (model.job.seq_len % (2 * plans.cp) == 0)
    return np.asarray((plans.cp == 1) | (even & (not why_no_ring(model))))


def no_gpu_ring(model: CostModel, plan: Plan) -> str:
    """Why GPUs do not run the ring of a plan, in one sentence."""
    reason = why_no_ring(model)
    if reason:
        return f"maxtext has no cp {plan.cp} on GPUs for {model.job.model.name}: {reason}; use cp 1"
    tokens = int(model.job.seq_len)
    even = [cp for cp in divisors(tokens) if cp % 2 == 0 and tokens % (2 * cp) == 0]
    return (
        f"maxtext balances rings on GPUs over an even cp of which twice divides the sequence, not "
        f"cp {plan.cp} with {model.job.seq_len} tokens; nearest: "
        f"{nearest(plan.cp, [1, *even])}"
    )
