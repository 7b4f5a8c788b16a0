"""The rules of JAX: those of its meshes, which MaxText shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.frameworks.jax import slices
from planner.frameworks.rules import alike, shared
from planner.frameworks.rules.numbers import divisors, nearest
from planner.frameworks.rules.rule import Rule
from planner.plan import DDP, ZERO3, Plan, PlanTable


def sharded_ranks(plans: PlanTable) -> IntArray:
    """(n,) ranks over which a matrix or its optimizer states are divided."""
    own = np.where(plans.sharding == ZERO3, plans.fsdp, plans.dp) * plans.cp
    return np.where(plans.sharding == DDP, 1, own)


def hidden_divides(model: CostModel, plans: PlanTable) -> BoolArray:
    """The hidden width divides over the ranks that shard it."""
    hidden = model.job.model.hidden
    divides = hidden % sharded_ranks(plans) == 0
    if model.shapes.experts == 0:
        return np.asarray(divides)
    left = plans.tp * plans.cp * plans.fsdp // np.gcd(plans.ep, plans.tp * plans.cp * plans.fsdp)
    return np.asarray(divides & ((plans.sharding != ZERO3) | (hidden % left == 0)))


def _dividing(model: CostModel, plan: Plan) -> str:
    """The nearest size of one axis, the others as they are, that divides the hidden width."""
    for axis in ("fsdp" if plan.sharding == "zero3" else "dp", "cp", "tp"):
        sizes = divisors(model.job.model.hidden)
        changes: list[dict[str, Any]] = [{axis: size, "stages": None} for size in sizes]
        tried = PlanTable.from_plans([replace(plan, **change) for change in changes])
        passed = [size for size, ok in zip(sizes, hidden_divides(model, tried), strict=True) if ok]
        if passed:
            return f"nearest {axis}: {nearest(getattr(plan, axis), passed)}"
    return "use ddp"


_VERSION = "0.10.2"

JAX: tuple[Rule, ...] = (
    Rule(
        name="jax-slices",
        field="placement",
        framework="jax",
        version=_VERSION,
        source="jax/experimental/mesh_utils.py: create_hybrid_device_mesh takes the size of every "
        "axis inside slices and over slices",
        holds=slices.slices_nest,
        explain=slices.unnested,
        launch=True,
    ),
    Rule(
        name="jax-adapters",
        field="job",
        framework="jax",
        version=_VERSION,
        source="MaxText e591f30 trainers/pre_train/train.py trains all weights, and the exported "
        "program lays out the optimizer of all",
        holds=shared.no_adapters,
        explain=lambda c, p: "jax and maxtext train all weights here; job lora must be finetune",
        launch=True,
    ),
    Rule(
        name="jax-hidden",
        field="sharding",
        framework="jax",
        version=_VERSION,
        source="jax/_src/named_sharding.py: an axis divides the dimension that it shards",
        holds=hidden_divides,
        explain=lambda c, p: (
            f"jax divides the hidden width {c.job.model.hidden} of {c.job.model.name} equally over "
            f"the ranks of {p.sharding} (dp {p.dp}, fsdp {p.fsdp}, cp {p.cp}); {_dividing(c, p)}"
        ),
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="jax-stage-layers",
        field="stages",
        framework="jax",
        version=_VERSION,
        source="a pipeline in one program stacks the weights of equal stages",
        holds=alike.layers_alike,
        explain=lambda c, p: alike.unlike_layers("jax", p),
        launch=True,
    ),
    Rule(
        name="jax-stage-choices",
        field="stages",
        framework="jax",
        version=_VERSION,
        source="a pipeline in one program runs the same code on every stage",
        holds=alike.choices_alike,
        explain=lambda c, p: alike.unlike_choices("jax", p),
        launch=True,
    ),
)
