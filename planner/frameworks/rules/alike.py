"""Whether the stages of a plan choose alike: predicates for what cannot tell stages apart."""

from __future__ import annotations

import numpy as np

from hardware_db import Chip
from planner.base.arrays import BoolArray
from planner.base.units import GIB
from planner.cost.context import CostModel
from planner.frameworks.rules.numbers import nearest_divisors
from planner.plan import FULL, RECOMPUTES, SELECTIVE, Plan, PlanTable


def layers_alike(model: CostModel, plans: PlanTable) -> BoolArray:
    """Explicit stages have the same number of layers."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    layers = plans.stages.layers
    return np.asarray(((layers == layers[:, :1]) | (layers < 0)).all(axis=1))


def one_recompute(model: CostModel, plans: PlanTable) -> BoolArray:
    """All layers of a plan recompute alike."""
    table = plans.stages
    if table is None:
        return np.ones(len(plans), dtype=np.bool_)
    counted = table.recomputed.sum(axis=2)
    others = (counted.sum(axis=2) < table.layers)[..., None]
    used = others & (
        table.recompute[..., None] == np.arange(max(table.recompute.max() + 1, len(RECOMPUTES)))
    )
    used[..., SELECTIVE] |= counted[..., 0] > 0
    used[..., FULL] |= counted[..., 1] > 0
    return np.asarray(used.any(axis=1).sum(axis=1) <= 1)


def one_sharding(model: CostModel, plans: PlanTable) -> BoolArray:
    """All stages of a plan have the same sharding."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    sharding = plans.stages.sharding
    same = sharding == sharding[:, :1]
    return np.asarray((same | (plans.stages.layers < 0)).all(axis=1))


def choices_alike(model: CostModel, plans: PlanTable) -> BoolArray:
    """All layers recompute alike, and all stages share one sharding.

    Clocks are those of hosts, which may differ by stage under any framework.
    """
    return np.asarray(one_recompute(model, plans) & one_sharding(model, plans))


def middle_chunks_filled(model: CostModel, plans: PlanTable) -> BoolArray:
    """No chunk between the first and the last is without layers."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    layers = plans.stages.layers
    followed = np.concatenate([layers[:, 1:] >= 0, np.zeros((len(plans), 1), dtype=np.bool_)], 1)
    return np.asarray(~((layers == 0) & followed)[:, 1:].any(axis=1))


CUDA_VENDORS = ("NVIDIA", "AMD")
GPUS = "GPUs (NVIDIA, AMD, Intel)"
_INTEL_GPU = "xe"


def is_gpu(chip: Chip) -> bool:
    """A GPU as PyTorch has them; of Intel's chips those whose architecture is an Xe."""
    intel = chip.vendor == "Intel" and chip.architecture.lower().startswith(_INTEL_GPU)
    return chip.vendor in CUDA_VENDORS or intel


def on_gpus(model: CostModel, plans: PlanTable) -> BoolArray:
    """The chips are GPUs."""
    return np.full(len(plans), is_gpu(model.chip))


def one_device(model: CostModel, plans: PlanTable) -> BoolArray:
    """Software sees a chip as one device."""
    return np.full(len(plans), model.chip.devices == 1)


DEVICE_FILE = "which docs/files.md (A chip that is several devices) makes of the chip's own"


def many_devices(model: CostModel) -> str:
    """As what software sees a chip of several devices, in one sentence."""
    chip = model.chip
    each = chip.memory_bytes / chip.devices / GIB
    return (
        f"{chip.title} is {chip.devices} devices of {each:.3g} GiB to software, with a rank on "
        f"each, where the plan has one rank; nearest: a chip file of one device, {DEVICE_FILE}"
    )


def on_cuda(model: CostModel, plans: PlanTable) -> BoolArray:
    """The chips are GPUs that PyTorch calls cuda, as it calls AMD's too."""
    return np.full(len(plans), model.chip.vendor in CUDA_VENDORS)


BEFORE_AMPERE = ("Kepler", "Maxwell", "Pascal", "Volta", "Turing")
"""NVIDIA's architectures below compute capability 8.0, as a chip's `architecture` starts."""


def before_ampere(chip: Chip) -> bool:
    """Whether neither FlashAttention 2 nor cuDNN's fused attention has kernels for a GPU.

    Sources: transformers 5.23 modeling_utils.py (compute capability 8 for FlashAttention 2);
    TransformerEngine d0067d0da6 (2026-08-22), pytorch/attention/dot_product_attention/utils.py
    (both need 8.0) and common/fused_attn/fused_attn.cpp (sm_arch of 80).
    """
    return chip.vendor == "NVIDIA" and chip.architecture.startswith(BEFORE_AMPERE)


def fuses_attention(model: CostModel) -> bool:
    """Whether these kernels run: on GPUs that PyTorch calls cuda, in 16 bits."""
    chip = model.chip
    fast = chip.vendor in CUDA_VENDORS and not before_ampere(chip)
    return fast and model.job.precision != "fp32"


def keeps_scores(model: CostModel) -> bool:
    """Whether such a GPU has to do without them."""
    return model.chip.vendor in CUDA_VENDORS and not fuses_attention(model)


def unlike_layers(framework: str, plan: Plan) -> str:
    """Which layers the stages of a plan have, in one sentence."""
    layers = [stage.layers for stage in plan.stages or ()]
    total, chunks = sum(layers), len(layers)
    start = f"{framework} has as many layers on every stage, not {', '.join(map(str, layers))}"
    if total % chunks == 0:
        return f"{start}; nearest: {total // chunks} on each"
    near = nearest_divisors(chunks, total)
    return (
        f"{start}, and {total} do not divide into {chunks} stages; nearest pp x interleave: {near}"
    )


def unlike_choices(framework: str, plan: Plan) -> str:
    """What stages of a plan choose for themselves, in one sentence."""
    own = [
        name
        for name in ("recompute", "selective", "full", "sharding")
        if any(getattr(stage, name) not in (None, (0, 0)) for stage in plan.stages or ())
    ]
    return (
        f"{framework} has one recomputation and one sharding for all layers; the stages differ in "
        f"{', '.join(own)}: give them those of the plan"
    )
