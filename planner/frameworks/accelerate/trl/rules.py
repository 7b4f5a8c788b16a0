"""What TRL's own scripts cannot be told."""

from __future__ import annotations

from planner.frameworks.accelerate.tuning import reference_rule
from planner.frameworks.rules.rule import Rule

TRL: tuple[Rule, ...] = (
    reference_rule(
        "trl",
        "TRL",
        "1.16.0 (PyPI)",
        "TRL trainer/dpo_trainer.py: a model with adapters has no ref_model of its own",
    ),
)
