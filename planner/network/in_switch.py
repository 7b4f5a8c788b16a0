"""All-reduces whose sums the switches make: inside one domain, and over several by a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.base.arrays import FloatArray
from planner.network.fabric import Fabric
from planner.network.groups import Membership
from planner.network.synthesized.costs import NEVER

_CHIPS = 8


def in_switch_rows(
    fabric: Fabric,
    members: Membership,
    rate: FloatArray,
    own: Sequence[FloatArray],
    base: FloatArray,
) -> list[FloatArray]:
    """Rows alpha, beta of an all-reduce done by the switches of the innermost level.

    One domain by its switches alone, several with a tree between them where that is allowed. The
    latency of the assumptions is that of 8 chips; as each reduces its own part, more take longer.

    Args:
        fabric: The fabric.
        members: Where the members are.
        rate: (n,) rate of a flat ring.
        own: What one chip gets from each level, (n,) each.
        base: (n,) start-up latency of the outermost level crossed.
    """
    inner = fabric.levels[0]
    inside = members.inside[0]
    alone = inside == members.size
    offered = [name in fabric.algorithms for name in ("in-switch", "in-switch-tree")]
    allowed = (inside >= inner.in_switch_group) & np.where(alone, *offered)
    if inner.in_switch_gain == 0 or fabric.asymptotic_volume:
        allowed = np.zeros_like(allowed)
    gain = inner.in_switch_gain or 1.0
    start = fabric.in_switch_latency_s * np.maximum(inside / _CHIPS, 1.0)
    alpha = inner.base_latency_s + start
    ring = 2.0 * (members.size - 1) / members.size / rate
    beta = ring / gain
    if offered[1]:
        climb, uplink = _domain_tree(fabric, members, own, base)
        within = 2.0 * (inside - 1) / inside / own[0] / gain
        alpha = np.where(alone, alpha, fabric.in_switch_latency_s + climb)
        beta = np.where(alone, beta, np.maximum(within, uplink))
    return [np.where(allowed, alpha, NEVER), np.where(allowed, beta, 0.0)]


def _domain_tree(
    fabric: Fabric, members: Membership, own: Sequence[FloatArray], base: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n,) seconds, and seconds per byte, of a double binary tree over the innermost domains.

    Two domains swap what they have; of more each passes every byte on twice, up and down.
    """
    inside = members.inside[0]
    alpha = base
    rate = np.full(members.size.shape, np.inf)
    reached = np.zeros(members.size.shape)
    outer = list(zip(fabric.levels, members.below, members.inside, own, strict=True))[1:]
    for level, below, upto, of_chip in outer:
        height = np.ceil(np.log2(np.maximum(upto / inside, 1.0)))
        alpha = alpha + 2.0 * (height - reached) * level.hop_latency_s
        rate = np.where(upto > below, np.minimum(rate, of_chip * below), rate)
        reached = height
    passes = np.where(members.size > 2 * inside, 2.0, 1.0)
    return alpha, passes / (rate * fabric.tree_efficiency)
