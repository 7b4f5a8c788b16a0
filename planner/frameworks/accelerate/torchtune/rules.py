"""What torchtune's recipes cannot be told."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.base.vocabulary import TARGET_GROUPS
from planner.cost.context import CostModel
from planner.frameworks.accelerate.torchtune.models import MODELS
from planner.frameworks.accelerate.tuning import FROZEN, known_frozen
from planner.frameworks.rules.rule import Rule
from planner.plan import ZERO3, PlanTable

PRECISIONS = ("bf16", "fp32")
_VERSION = "0.6.1 (PyPI)"


def built(model: CostModel, plans: PlanTable) -> BoolArray:
    """There is a builder of the model."""
    return np.full(len(plans), model.job.model.name in MODELS)


def one_mesh(model: CostModel, plans: PlanTable) -> BoolArray:
    """State is sharded over all ranks of several."""
    return np.asarray(((plans.sharding == ZERO3) & (plans.dp == 1)) | (plans.chips == 1))


def whole_mlp(model: CostModel, plans: PlanTable) -> BoolArray:
    """All matrices of the MLP have adapters, or none."""
    inner = {*TARGET_GROUPS["mlp"]} & {*model.job.adapted}
    whole = inner in (set(), {*TARGET_GROUPS["mlp"]})
    attention = bool({*model.job.adapted} - {*TARGET_GROUPS["mlp"]})
    return np.full(len(plans), model.job.trains_all or (whole and attention))


def known_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights are kept as they are multiplied."""
    return np.full(len(plans), model.job.precision in PRECISIONS)


def own_reference(model: CostModel, plans: PlanTable) -> BoolArray:
    """The reference is a second model, or the model without adapters where there are some."""
    usual = "model" if model.job.trains_all else "adapters"
    return np.full(len(plans), model.job.reference in ("", usual))


TORCHTUNE: tuple[Rule, ...] = (
    Rule(
        name="torchtune-model",
        field="model",
        framework="torchtune",
        version=_VERSION,
        source="torchtune models/*/_model_builders.py",
        holds=built,
        explain=lambda c, p: (
            f"torchtune builds no {c.job.model.name}; of the database it builds {', '.join(MODELS)}"
        ),
        launch=True,
    ),
    Rule(
        name="torchtune-mesh",
        field="sharding",
        framework="torchtune",
        version=_VERSION,
        source="torchtune recipes/lora_finetune_distributed.py: fully_shard over all ranks",
        holds=one_mesh,
        explain=lambda c, p: (
            f"torchtune shards state over all ranks, not {p.sharding} with dp {p.dp}; use zero3 "
            f"with fsdp {p.chips} and dp 1"
        ),
        launch=True,
    ),
    Rule(
        name="torchtune-targets",
        field="job",
        framework="torchtune",
        version=_VERSION,
        source="torchtune models/*/_model_builders.py: lora_attn_modules, apply_lora_to_mlp",
        holds=whole_mlp,
        explain=lambda c, p: (
            "torchtune has adapters beside matrices of attention that are named, and beside all of "
            "the MLP or none of it; use lora-targets all, attention, or mlp with some of q,k,v,o"
        ),
        launch=True,
    ),
    Rule(
        name="torchtune-precision",
        field="precision",
        framework="torchtune",
        version=_VERSION,
        source="torchtune training/precision.py, get_dtype",
        holds=known_precision,
        explain=lambda c, p: (
            f"torchtune runs {' or '.join(PRECISIONS)}, not {c.job.precision}; nearest: bf16"
        ),
        launch=True,
    ),
    Rule(
        name="torchtune-frozen-weights",
        field="job",
        framework="torchtune",
        version=_VERSION,
        source="torchtune modules/peft/lora.py, quantize_base: NF4 of torchao",
        holds=known_frozen,
        explain=lambda c, p: (
            f"torchtune freezes weights in {' or '.join(FROZEN)}, not in {c.job.frozen_weights}"
        ),
        launch=True,
    ),
    Rule(
        name="torchtune-reference",
        field="job",
        framework="torchtune",
        version=_VERSION,
        source="torchtune recipes/lora_dpo_distributed.py (disable_adapter), "
        "recipes/full_dpo_distributed.py (ref_checkpointer)",
        holds=own_reference,
        explain=lambda c, p: (
            f"torchtune has no reference {c.job.reference} for a {c.job.kind} job; use "
            f"{'model' if c.job.trains_all else 'adapters'}"
        ),
        launch=True,
    ),
)
