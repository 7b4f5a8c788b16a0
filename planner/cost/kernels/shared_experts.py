"""Shared experts beside the exchange of the routed ones, which they hide."""

from __future__ import annotations

import numpy as np

from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray
from planner.cost.communication.exchanges import ACTIVATION_BYTES
from planner.cost.kernels.linears import Linear, seconds

Halves = tuple[FloatArray, FloatArray]
"""Seconds of the up and of the down projection of the shared experts, in one pass."""


def shared_expert_s(
    a: Assumptions, operators: dict[str, list[Linear]], clock: FloatArray, *, trains_all: bool
) -> tuple[Halves, Halves] | None:
    """The projections forward and backward where they run beside the exchange; None: they do not.

    Args:
        a: Rates, and whether software runs them so (`Assumptions.shared_beside`).
        operators: Of the layer.
        clock: Relative clocks.
        trains_all: Whether weights get gradients.
    """
    shared = operators.get("shared experts")
    if not a.shared_beside or shared is None:
        return None
    up, down = (seconds(a, [one], clock) for one in shared)
    trained = float(trains_all)
    backward = tuple(one.input_grad + trained * one.weight_grad for one in (up, down))
    return (up.forward, down.forward), (backward[0], backward[1])


def beside_shared_experts(a: Assumptions, exposed: FloatArray, halves: Halves) -> FloatArray:
    """What of an exchange is left exposed beside the shared experts.

        left = max(d - up, 0) + max(c - down, 0),    d / (d + c) = b / (b + 2)

    (d, c: exposed dispatch and combine; b: bytes per element of the dispatch.) The up projection
    runs while tokens go to their experts and the down projection while they come back; backward
    the gradients of both travel beside the same two. Source: Megatron-LM
    core/transformer/moe/shared_experts.py and token_dispatcher.py (`--moe-shared-expert-overlap`).
    """
    up, down = halves
    there = a.dispatch_bytes / (a.dispatch_bytes + ACTIVATION_BYTES) * exposed
    return np.maximum(there - up, 0.0) + np.maximum(exposed - there - down, 0.0)
