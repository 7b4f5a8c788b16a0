"""What TRL's own scripts cannot be told."""

from __future__ import annotations

from planner.frameworks.accelerate.tuning import own_reference
from planner.frameworks.rules.rule import Rule

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
