"""Costs of many groups at once: each distinct (network, segments) is costed one time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.base.arrays import IntArray, distinct
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import Fabric
from planner.network.groups import Segment


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one kind, such as the tensor parallel ones of n plans.

    Attributes:
        fabrics: Networks.
        fabric: (n,) index of each group's network.
        segments: What the groups are made of; see `planner.network.placement.segments`.
    """

    fabrics: Sequence[Fabric]
    fabric: IntArray
    segments: Sequence[Segment]


def group_classes(kinds: Mapping[str, Groups]) -> dict[str, tuple[IntArray, GroupCosts]]:
    """By kind (n,) the class of each group, and the costs of the classes of that kind.

    All kinds are costed together: most of their groups are alike, and one pass over long arrays
    costs less than many over short ones.
    """
    fabrics: list[Fabric] = []
    on = np.concatenate([_indices(fabrics, of.fabrics)[of.fabric] for of in kinds.values()])
    segments = _side_by_side([of.segments for of in kinds.values()])
    first, classes = distinct([on, *(column for segment in segments for column in segment)])
    costs = _costs(fabrics, on[first], [(size[first], stride[first]) for size, stride in segments])
    ends = np.cumsum([len(of.fabric) for of in kinds.values()])[:-1]
    return {
        name: _used(of_kind, costs)
        for name, of_kind in zip(kinds, np.split(classes, ends), strict=True)
    }


def _indices(known: list[Fabric], fabrics: Sequence[Fabric]) -> IntArray:
    """Where each network stands among the known ones, to which new ones are added."""
    for fabric in fabrics:
        if fabric not in known:
            known.append(fabric)
    return np.array([known.index(fabric) for fabric in fabrics])


def _side_by_side(kinds: Sequence[Sequence[Segment]]) -> list[Segment]:
    """The segments of all kinds one after another, padded with segments of one member."""
    most = max(map(len, kinds))
    found = []
    for at in range(most):
        parts = [of[at] if at < len(of) else (np.ones_like(of[0][0]),) * 2 for of in kinds]
        size = np.concatenate([size for size, _ in parts])
        stride = np.concatenate([stride for _, stride in parts])
        found.append((size, np.where(size > 1, stride, 1)))
    return found


def _costs(fabrics: Sequence[Fabric], fabric: IntArray, segments: Sequence[Segment]) -> GroupCosts:
    """The costs of groups on several networks; arguments as for `Groups`."""
    found: GroupCosts | None = None
    for index in np.unique(fabric):
        rows = np.flatnonzero(fabric == index)
        parts = [(size[rows], stride[rows]) for size, stride in segments]
        costs = group_costs(fabrics[int(index)], parts)
        if found is None:
            found = costs.with_features(np.zeros((costs.features.shape[0], len(fabric))))
        found.features[:, rows] = costs.features
    if found is None:
        raise ValueError("no groups")
    return found


def _used(classes: IntArray, costs: GroupCosts) -> tuple[IntArray, GroupCosts]:
    """Classes numbered among those that occur, and the costs of these."""
    occurs = np.zeros(len(costs), dtype=np.bool_)
    occurs[classes] = True
    return np.cumsum(occurs)[classes] - 1, costs.with_features(costs.features[:, occurs])
