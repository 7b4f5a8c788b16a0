"""The rules of DeepSpeed."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import ZERO2, BoolArray, PlanTable
from planner.rules.rule import Rule


def deepspeed_pipeline(model: CostModel, plans: PlanTable) -> BoolArray:
    """No zero2 or zero3 in a pipeline."""
    return np.asarray((plans.pp == 1) | (plans.sharding < ZERO2))


_VERSION = "edaa722 (2026-08-22)"

DEEPSPEED: tuple[Rule, ...] = (
    Rule(
        name="deepspeed-pipeline",
        field="sharding",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/pipe/engine.py: ZeRO-2 and 3 exclude pipelines",
        holds=deepspeed_pipeline,
        per_stage=True,
        explain=lambda c, p: f"deepspeed has no pipeline (pp {p.pp}) with {p.sharding}; use zero1",
    ),
)
