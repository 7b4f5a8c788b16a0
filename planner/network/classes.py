"""Costs of many groups at once: each distinct (network, segments) is costed one time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.base.arrays import IntArray, distinct
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import Fabric
from planner.network.groups import Segment


def group_classes(
    fabrics: Sequence[Fabric], fabric: IntArray, segments: Sequence[Segment]
) -> tuple[IntArray, GroupCosts]:
    """(n,) class of each group, and the costs of the classes.

    Args:
        fabrics: The networks.
        fabric: (n,) index of each group's network.
        segments: What the groups are made of; see `planner.network.placement.segments`.
    """
    parts = [(size, np.where(size > 1, stride, 1)) for size, stride in segments]
    first, classes = distinct([fabric, *(column for part in parts for column in part)])
    found: GroupCosts | None = None
    for index in np.unique(fabric[first]):
        rows = np.flatnonzero(fabric[first] == index)
        at = first[rows]
        costs = group_costs(fabrics[int(index)], [(size[at], stride[at]) for size, stride in parts])
        if found is None:
            found = costs.with_features(np.zeros((costs.features.shape[0], len(first))))
        found.features[:, rows] = costs.features
    if found is None:
        raise ValueError("no groups")
    return classes, found
