"""What a profile does not say of Acme's trainer."""

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.rules.rule import Rule
from planner.plan import PlanTable


def on_one_node(model: CostModel, plans: PlanTable) -> BoolArray:
    """Ranks of tensor parallelism share a node."""
    return np.asarray(plans.tp <= model.cluster.node_chips)


def on_nvidia(model: CostModel, plans: PlanTable) -> BoolArray:
    """The chips are NVIDIA's."""
    return np.full(len(plans), model.chip.vendor == "NVIDIA")


RULES = (
    Rule(
        name="acme-node",
        field="tp",
        framework="acme",
        source="acme/parallel.py: the group of tp is that of the node",
        holds=on_one_node,
        explain=lambda c, p: (
            f"acme keeps tp inside a node: {p.tp} must be at most {c.cluster.node_chips}"
        ),
    ),
    Rule(
        name="acme-chips",
        field="hardware",
        framework="acme",
        source="acme/kernels: CUDA",
        holds=on_nvidia,
        explain=lambda c, p: f"acme runs on NVIDIA's chips, not on {c.chip.title}",
        launch=True,  # a search for the best plan of any kind leaves it out
    ),
)
