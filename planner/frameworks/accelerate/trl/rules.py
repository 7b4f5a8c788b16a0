"""What TRL's own scripts cannot be told."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.rules.rule import Rule
from planner.plan import PlanTable


def own_reference(model: CostModel, plans: PlanTable) -> BoolArray:
    """Beside adapters the reference is the model without them."""
    job = model.job
    return np.full(len(plans), job.trains_all or job.reference != "model")


TRL: tuple[Rule, ...] = (
    Rule(
        name="trl-reference",
        field="job",
        framework="trl",
        version="1.16.0 (PyPI)",
        source="TRL trainer/dpo_trainer.py: a model with adapters has no ref_model of its own",
        holds=own_reference,
        explain=lambda c, p: (
            "beside adapters TRL takes the model without them as reference, not a second model; "
            "use reference adapters or precomputed"
        ),
        launch=True,
    ),
)
