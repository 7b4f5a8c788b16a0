"""The host under zero3 of frameworks whose hooks gather and free the weights of every module."""

from __future__ import annotations

import numpy as np

from planner.assumptions.assumptions import Assumptions
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import FloatArray, IntArray
from planner.cost.kernels.shapes import Shapes
from planner.plan import ZERO3


def hooks_s(
    a: Assumptions,
    framework: FrameworkProfile,
    shapes: Shapes,
    sharding: IntArray,
    *,
    moe: bool,
) -> FloatArray:
    """Seconds in which the host launches a layer whose modules have hooks under zero3; else 0.

    DeepSpeed fetches and frees weights before and after every module, forward, recomputed and
    backward (0.19.8, runtime/zero/parameter_offload.py, `_register_deepspeed_module`). Modules as
    Hugging Face has them: the layer, two norms, attention and its four projections, the MLP, its
    matrices and its activation; the same of every expert where each is launched.
    """
    mlp = 4 + shapes.gated
    if moe:
        mlp = 2 + (mlp * shapes.experts if a.expert_host_s else 1)
    modules = 8 + mlp
    own = (1 + a.host_forward_share) * a.host_s_per_layer
    hooked = own + 3 * framework.module_hook_s * modules
    return np.where(sharding == ZERO3, hooked, 0.0)
