"""Experts of targets that divide each of them by tp; the experts of a plan are whole.

Megatron-LM has a setting for it, DeepSpeed divides no model with experts; nanotron's experts and
those of the program for JAX are whole.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.rules.rule import Rule
from planner.plan import Plan, PlanTable


def undivided(model: CostModel, plans: PlanTable) -> BoolArray:
    """Nothing divides experts, or there are none."""
    return np.asarray((plans.tp == 1) | (model.shapes.experts == 0))


def undivided_in_groups(model: CostModel, plans: PlanTable) -> BoolArray:
    """Expert groups keep experts whole; without them nothing may divide these."""
    return np.asarray((plans.ep > 1) | undivided(model, plans))


def divided(target: str, plan: Plan) -> str:
    """How a target cuts experts, in one sentence."""
    return (
        f"{target} divides the width of every expert by tp {plan.tp}, where the plan counts whole "
        "experts; nearest tp: 1"
    )


EXPERTS: tuple[Rule, ...] = (
    Rule(
        name="torchtitan-whole-experts",
        field="ep",
        framework="torchtitan",
        version="main b5bcd76 (2026-08-21)",
        source="torchtitan models/llama4/infra/parallelize.py: without ep the plan of experts is "
        "TensorParallel",
        holds=undivided_in_groups,
        explain=lambda c, p: f"{divided('torchtitan', p)}, or ep more than 1",
        launch=True,
    ),
    Rule(
        name="accelerate-whole-experts",
        field="tp",
        framework="fsdp",
        version="Transformers 5.23",
        source="Transformers models/*/configuration_*.py, base_model_tp_plan: gate_up_proj of "
        "experts is packed_colwise, down_proj rowwise",
        holds=undivided,
        explain=lambda c, p: divided("Transformers", p),
        launch=True,
    ),
    Rule(
        name="maxtext-whole-experts",
        field="tp",
        framework="maxtext",
        version="e591f30 (2026-08-22)",
        source="MaxText configs/base.yml, logical_axis_rules: mlp_moe is sharded over tensor",
        holds=undivided,
        explain=lambda c, p: divided("maxtext", p),
        launch=True,
    ),
)
