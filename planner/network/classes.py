"""Costs of many groups at once: each distinct (network, segments) is costed one time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from planner.base.arrays import IntArray, distinct
from planner.network.axes import with_given_axes
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


def named_costs(
    fabrics: Sequence[Fabric],
    fabric: IntArray,
    groups: Mapping[str, Sequence[Segment]],
    given: Mapping[str, float],
) -> dict[str, tuple[IntArray, GroupCosts]]:
    """`group_classes` of the groups of every name; names of as many segments are costed together.

    Args:
        fabrics: The networks.
        fabric: (n,) index of each group's network.
        groups: What the n groups of each name are made of.
        given: Mesh axis to the number of torus axes that serve it.
    """
    found: dict[str, tuple[IntArray, GroupCosts]] = {}
    for names in _of_one_length(groups):
        places: dict[int, Fabric] = {}
        index = []
        for name in names:
            own, at = with_given_axes(fabrics, fabric, name, groups[name], given)
            places |= {id(place): place for place in own}
            order = list(places)
            index.append(np.array([order.index(id(place)) for place in own])[at])
        segments = [_end_to_end(parts) for parts in zip(*(groups[n] for n in names), strict=True)]
        classes, costs = group_classes(list(places.values()), np.concatenate(index), segments)
        each = np.split(classes, len(names))
        found |= {name: (own, costs) for name, own in zip(names, each, strict=True)}
    return found


def _of_one_length(groups: Mapping[str, Sequence[Segment]]) -> Iterable[list[str]]:
    """The names of groups by how many segments they have."""
    names: dict[int, list[str]] = {}
    for name, parts in groups.items():
        names.setdefault(len(parts), []).append(name)
    return names.values()


def _end_to_end(parts: Sequence[Segment]) -> Segment:
    """One segment of the groups of several names, one name after the other."""
    return np.concatenate([size for size, _ in parts]), np.concatenate([step for _, step in parts])
