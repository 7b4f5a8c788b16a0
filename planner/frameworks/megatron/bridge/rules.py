"""What Megatron-Bridge asks of adapters, beside the rules of Megatron-LM."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.megatron.bridge.adapters import fuses
from planner.frameworks.rules.rule import Rule
from planner.plan import DDP, ZERO1, PlanTable


def known_adapters(model: CostModel, plans: PlanTable) -> BoolArray:
    """Frozen weights have 16 bits; magnitudes stand beside whole joint matrices, not experts."""
    job = model.job
    whole = fuses(model) and not model.shapes.experts
    kept = not job.widens and (job.adapter == "lora" or whole)
    return np.full(len(plans), job.trains_all or kept)


def beside_whole_weights(model: CostModel, plans: PlanTable) -> BoolArray:
    """Beside adapters each data rank has all weights and gradients."""
    whole = (plans.sharding == DDP) | (plans.sharding == ZERO1)
    return np.asarray(whole | model.job.trains_all)


_VERSION = "067f987 (2026-08-22)"
BRIDGE: tuple[Rule, ...] = (
    Rule(
        name="bridge-adapters",
        field="job",
        framework="megatron-bridge",
        version=_VERSION,
        source="Megatron-Bridge src/megatron/bridge/peft: lora.py, dora.py, canonical_lora.py",
        holds=known_adapters,
        explain=lambda c, p: (
            "Megatron-Bridge has adapters beside weights in 16 bits, and DoRA beside whole joint "
            "matrices of models without experts; use frozen-weights 16-bit, and with dora "
            "lora-targets all, attention or mlp"
        ),
        launch=True,
    ),
    Rule(
        name="bridge-adapters-sharding",
        field="sharding",
        framework="megatron-bridge",
        version=_VERSION,
        source="Megatron-Bridge src/megatron/bridge/recipes: adapters stand beside the distributed "
        "optimizer, nowhere beside Megatron-FSDP",
        holds=beside_whole_weights,
        per_stage=True,
        explain=lambda c, p: (
            f"Megatron-Bridge has adapters with ddp or zero1, not with {p.sharding}; nearest: zero1"
        ),
        launch=True,
    ),
)
