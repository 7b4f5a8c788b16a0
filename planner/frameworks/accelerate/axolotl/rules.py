"""What Axolotl's own checks refuse, or its file has no keys for."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.accelerate.tuning import reference_rule
from planner.frameworks.rules.rule import Rule
from planner.plan import DDP, PlanTable


def pairs_in_16_bits(model: CostModel, plans: PlanTable) -> BoolArray:
    """Preference pairs with sharded state have frozen weights of 16 bits."""
    quantized = bool(model.job.reference) and model.job.widens
    return np.asarray((plans.sharding == DDP) | (not quantized))


_VERSION = "0.19.0 (PyPI)"
AXOLOTL: tuple[Rule, ...] = (
    reference_rule(
        "axolotl",
        "Axolotl",
        _VERSION,
        "Axolotl core/builders/rl.py: with an adapter there is no ref_model",
    ),
    Rule(
        name="axolotl-pairs",
        field="sharding",
        framework="axolotl",
        version=_VERSION,
        source="Axolotl utils/schemas/validation.py: FSDP2 does not support load_in_4bit with dpo",
        holds=pairs_in_16_bits,
        per_stage=True,
        explain=lambda c, p: (
            f"Axolotl has preference pairs beside {c.job.frozen_weights} weights without sharding, "
            f"not with {p.sharding}; use ddp, or frozen-weights 16-bit"
        ),
        launch=True,
    ),
)
