"""The rules of Megatron-LM and Megatron-Bridge."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import OFFLOAD_OPTIMIZER, BoolArray, PlanTable
from planner.rules.rule import Rule


def megatron_offload(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights and activations move to the host without pipelines only."""
    moves = plans.offload & ~OFFLOAD_OPTIMIZER > 0
    return np.asarray(~moves | (plans.pp == 1))


_VERSION = "core 0.20.0 dev, d98e8a64dd (2026-08-22)"

MEGATRON: tuple[Rule, ...] = (
    Rule(
        name="megatron-offload",
        field="offload",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM core/transformer/transformer_config.py: cpu_offloading excludes "
        "pipelines",
        holds=megatron_offload,
        explain=lambda c, p: (
            f"megatron moves {' and '.join(n for n in p.offload if n != 'optimizer')} to the host "
            f"without a pipeline only, not with pp {p.pp}"
        ),
    ),
)
