"""The rules of Hugging Face Accelerate and PyTorch FSDP."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import BoolArray, PlanTable
from planner.rules.rule import Rule


def accelerate_replicas(model: CostModel, plans: PlanTable) -> BoolArray:
    """Replicas stand beside tp or cp only where they are sharded."""
    divided = (plans.tp > 1) | (plans.cp > 1)
    return np.asarray((plans.dp == 1) | (plans.fsdp > 1) | ~divided)


_VERSION = "16cb6eb (2026-07-24)"

ACCELERATE: tuple[Rule, ...] = (
    Rule(
        name="accelerate-replicas",
        field="dp",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate parallelism_config.py: dp_replicate > 1 with tp or cp needs "
        "dp_shard > 1",
        holds=accelerate_replicas,
        explain=lambda c, p: (
            f"fsdp has the dp {p.dp} replicas beside tp {p.tp} and cp {p.cp} only with "
            "fsdp > 1; move ranks from dp to fsdp"
        ),
    ),
)
