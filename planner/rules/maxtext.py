"""The rules of JAX and MaxText."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import BoolArray, PlanTable
from planner.rules import words
from planner.rules.predicates import whole_rounds
from planner.rules.rule import Rule


def maxtext_micro_batches(model: CostModel, plans: PlanTable) -> BoolArray:
    """Pipelines run a multiple of their stages in micro-batches."""
    return np.asarray((plans.pp == 1) | whole_rounds(model, plans))


_VERSION = "e591f30 (2026-08-22)"

MAXTEXT: tuple[Rule, ...] = (
    Rule(
        name="maxtext-micro-batches",
        field="micro_batch",
        framework="jax",
        version=_VERSION,
        source="MaxText configs: num_pipeline_microbatches % stages = 0",
        holds=maxtext_micro_batches,
        explain=lambda c, p: (
            f"jax runs pipelines with micro-batches that are a multiple of pp {p.pp}, not "
            f"{words.micro_batches(c, p):g}"
        ),
    ),
)
