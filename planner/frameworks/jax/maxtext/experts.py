"""Experts, each of which MaxText divides by tp."""

from __future__ import annotations

from planner.frameworks.rules.experts import divided, undivided
from planner.frameworks.rules.rule import Rule

MAXTEXT_EXPERTS = (
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
