"""Where the experts of a token are, and how much more the busiest rank has than the mean."""

import math
from statistics import NormalDist
from typing import Any

from models_db import Model
from planner.assumptions.assumptions import Assumptions


def places(model: Model, ep: int, nodes: float) -> tuple[float, float]:
    """Distinct ranks and nodes that the experts of a token are expected to be on."""
    moe = model.moe
    assert moe is not None
    per_node = moe.experts / nodes
    if moe.groups > 1:
        nodes = min(nodes, max(nodes / moe.groups, 1) * moe.groups_per_token)
    return (
        ep * _chosen(moe.experts, moe.experts // ep, moe.experts_per_token),
        nodes * _chosen(round(per_node * nodes), round(per_node), moe.experts_per_token),
    )


def _chosen(experts: int, here: int, k: int) -> float:
    """Probability that some of the `here` experts are among k drawn without replacement."""
    return 1 - math.comb(experts - here, k) / math.comb(experts, k)


def busiest_rank(a: Assumptions, model: Model, x: Any) -> float:
    """Blom's expected largest of ep sums of E / ep loads, over the mean load."""
    moe = model.moe
    assert moe is not None
    if a.even_loads:
        return a.moe_imbalance
    spread = a.biased_load_spread if moe.router_bias else a.load_spread
    chosen = max(x.etp * x.tokens * moe.experts_per_token / x.tp, 1)
    chance = (moe.experts - moe.experts_per_token) / (moe.experts - 1) / chosen
    deviation = math.sqrt((1 - 1 / x.ep) * (chance + spread**2 / (moe.experts / x.ep)))
    largest = NormalDist().inv_cdf((x.ep - 0.375) / (x.ep + 0.25))
    most = min(x.ep, moe.experts / moe.experts_per_token)
    return a.moe_imbalance * min(1 + deviation * largest, most)
