"""The rules of nanotron."""

from __future__ import annotations

from planner.cost.context import CostModel
from planner.plan import BoolArray, PlanTable
from planner.rules.rule import Rule


def nanotron_kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """There is a key-value head for every rank of tp."""
    return model.shapes.kv_heads >= plans.tp


_VERSION = "2411b02 (2026-04-07)"

NANOTRON: tuple[Rule, ...] = (
    Rule(
        name="nanotron-kv-heads",
        field="tp",
        framework="nanotron",
        version=_VERSION,
        source="nanotron config/config.py: key-value heads >= tp",
        holds=nanotron_kv_heads,
        explain=lambda c, p: f"nanotron needs tp {p.tp} <= the {c.shapes.kv_heads} key-value heads",
    ),
)
