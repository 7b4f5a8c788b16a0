"""What transformers runs of a job: whether it has the model, and with which kernel it attends."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.hugging_face.types import flash_attention, transformers_type
from planner.frameworks.rules import alike
from planner.plan import PlanTable

CAPPED = ("gemma2",)
"""Types whose scores are capped, which PyTorch's own attention does not do."""


def known_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """Transformers has an architecture with the model's layers."""
    return np.full(len(plans), transformers_type(model.job.model) is not None)


def attention_kernel(model: CostModel, *, flash_always: bool) -> str:
    """Transformers' name of the kernel of attention; `eager` where there is no fused one.

    FlashAttention takes 16 bits on GPUs that PyTorch calls cuda, of NVIDIA's from Ampere on.

    Args:
        model: Job and machine.
        flash_always: It is wanted wherever it runs; else for capped scores and windows alone.
    """
    one = model.job.model
    capped = transformers_type(one) in CAPPED
    if not flash_attention(one):
        return "eager"
    wanted = flash_always or capped or one.window is not None
    if wanted and alike.fuses_attention(model):
        return "flash_attention_2"
    return "eager" if capped else "sdpa"
