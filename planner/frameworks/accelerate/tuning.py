"""What tuning and adapters of PEFT ask of a plan and a job, whatever launches them."""

from __future__ import annotations

import numpy as np

from planner.assumptions.optimizers import UNQUANTIZED
from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.hugging_face.adapters import TYPES, adapts_experts, module_names
from planner.frameworks.rules import shared
from planner.frameworks.rules.rule import Rule
from planner.plan import PlanTable

FROZEN = (UNQUANTIZED, "nf4")
"""Formats of frozen weights that bitsandbytes has for transformers, and torchao for torchtune."""
WEIGHTS = ("MODEL", "the weights: their name, or their folder on every host")
"""The variable that names what is tuned."""
_VERSION = "0.21.2 (PyPI)"


def data_linked(name: str, command: str) -> str:
    """A command, behind the link that has a file of the folder stand for what DATA names."""
    return f'[[ "$DATA" -ef {name} ]] || ln -sf "$DATA" {name}; {command}'


def whole_matrices(model: CostModel, plans: PlanTable) -> BoolArray:
    """Adapters stand beside whole matrices, and whole sequences go through them."""
    whole = (plans.tp == 1) & (plans.cp == 1)
    return np.asarray(whole | model.job.trains_all)


def known_modules(model: CostModel, plans: PlanTable) -> BoolArray:
    """The adapted matrices are modules of their own."""
    return np.full(len(plans), model.job.trains_all or bool(module_names(model)))


def no_experts(model: CostModel, plans: PlanTable) -> BoolArray:
    """Experts have no adapters."""
    return np.full(len(plans), not adapts_experts(model))


def known_frozen(model: CostModel, plans: PlanTable) -> BoolArray:
    """Frozen weights have a format that the libraries load."""
    return np.full(len(plans), model.job.trains_all or model.job.frozen_weights in FROZEN)


def own_reference(model: CostModel, plans: PlanTable) -> BoolArray:
    """Beside adapters the reference is the model without them."""
    job = model.job
    return np.full(len(plans), job.trains_all or job.reference != "model")


def reference_rule(framework: str, name: str, version: str, source: str) -> Rule:
    """That a library has no second model as reference beside adapters.

    Args:
        framework: The target.
        name: Its name as its authors write it.
        version: Of its release.
        source: Where it says so.
    """
    return Rule(
        name=f"{framework}-reference",
        field="job",
        framework=framework,
        version=version,
        source=source,
        holds=own_reference,
        explain=lambda c, p: (
            f"beside adapters {name} takes the model without them as reference, not a second "
            "model; use reference adapters or precomputed"
        ),
        launch=True,
    )


TUNED: tuple[Rule, ...] = (
    Rule(
        name="tuned-mesh",
        field="tp",
        framework="tuned",
        source="the exported files of TRL, Axolotl and torchtune shard state and divide nothing",
        holds=shared.undivided_layers,
        explain=lambda c, p: (
            f"the target is told of sharded state and replicas, not of tp {p.tp} and cp {p.cp}; "
            "nearest: tp 1 and cp 1, with fsdp in their place"
        ),
        launch=True,
    ),
    Rule(
        name="tuned-job",
        field="job",
        framework="tuned",
        source="TRL, Axolotl and torchtune load weights and tune them",
        holds=shared.tunes,
        explain=lambda c, p: "the target tunes weights that are there; use job finetune",
        launch=True,
    ),
)
PEFT: tuple[Rule, ...] = (
    Rule(
        name="peft-mesh",
        field="tp",
        framework="peft",
        version=_VERSION,
        source="PEFT tuners/lora/layer.py: A and B are whole; Accelerate _prepare_cp divides "
        "sequences of models without adapters only in its tests",
        holds=whole_matrices,
        explain=lambda c, p: (
            f"adapters of PEFT stand beside whole matrices on whole sequences, not with tp {p.tp} "
            f"and cp {p.cp}; nearest: tp 1 and cp 1, with fsdp in their place"
        ),
        launch=True,
    ),
    Rule(
        name="peft-model",
        field="model",
        framework="peft",
        version=_VERSION,
        source="Transformers 5.23 models/*/modeling_*.py: names of modules",
        holds=known_modules,
        explain=lambda c, p: (
            f"adapters are written beside modules of models like {', '.join(TYPES)}, not of "
            f"{c.job.model.name}"
        ),
        launch=True,
    ),
    Rule(
        name="peft-experts",
        field="job",
        framework="peft",
        version=_VERSION,
        source="Transformers 5.23 models/*/modeling_*.py: experts are one parameter of three "
        "dimensions",
        holds=no_experts,
        explain=lambda c, p: (
            f"the experts of {c.job.model.name} are no modules that adapters stand beside; use "
            "lora-targets attention"
        ),
        launch=True,
    ),
    Rule(
        name="peft-frozen-weights",
        field="job",
        framework="peft",
        version=_VERSION,
        source="Transformers 5.23 utils/quantization_config.py BitsAndBytesConfig",
        holds=known_frozen,
        explain=lambda c, p: (
            f"frozen weights are loaded in {' or '.join(FROZEN)}, not in {c.job.frozen_weights}"
        ),
        launch=True,
    ),
)
