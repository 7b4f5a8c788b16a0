"""Costs of many groups at once: each distinct (network, segments) is costed one time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from planner.base.arrays import IntArray, distinct
from planner.network.axes import with_given_axes
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import Fabric
from planner.network.groups import Segment

_FEW = 1024  # groups whose costs are kept for questions to come on the same network


def group_classes(
    fabrics: Sequence[Fabric],
    fabric: IntArray,
    named: Mapping[str, Sequence[Segment]],
    given: Mapping[str, float],
) -> dict[str, tuple[IntArray, GroupCosts]]:
    """By name: (n,) class of each group, and the costs of the classes.

    Args:
        fabrics: The networks.
        fabric: (n,) index of the network of each group.
        named: What the groups of each name of `planner.network.placement.GROUPS` are made of.
        given: Mesh axis to the number of torus axes that serve it.
    """
    every, classes = list(fabrics), {}
    on, made_of = [], []
    for name, segments in named.items():
        own, index = with_given_axes(fabrics, fabric, name, segments, given)
        index = np.where(index < len(fabrics), index, index + len(every) - len(fabrics))
        every += own[len(fabrics) :]
        parts = [(size, np.where(size > 1, stride, 1)) for size, stride in segments]
        first, classes[name] = distinct([index, *(column for part in parts for column in part)])
        on.append(index[first])
        made_of.append([(size[first], stride[first]) for size, stride in parts])
    costs = _costs(every, np.concatenate(on), one_after_the_other(made_of))
    ends = np.cumsum([len(index) for index in on])
    features = np.split(costs.features, ends[:-1], axis=1)
    return {
        name: (of_group, costs.with_features(rows))
        for (name, of_group), rows in zip(classes.items(), features, strict=True)
    }


def one_after_the_other(groups: Sequence[Sequence[Segment]]) -> list[Segment]:
    """The segments of some groups, then of others, of one member where a group has fewer."""
    most = max(map(len, groups))
    padded = []
    for segments in groups:
        nothing = np.ones_like(segments[0][0])
        padded.append([*segments, *[(nothing, nothing)] * (most - len(segments))])
    return [
        (
            np.concatenate([segments[row][0] for segments in padded]),
            np.concatenate([segments[row][1] for segments in padded]),
        )
        for row in range(most)
    ]


def _costs(fabrics: Sequence[Fabric], fabric: IntArray, segments: Sequence[Segment]) -> GroupCosts:
    """The costs of (n,) groups on their networks."""
    found: GroupCosts | None = None
    used = np.unique(fabric)
    if len(used) == 1:
        return _alike(fabrics[int(used[0])], segments)
    for index in used:
        at = np.flatnonzero(fabric == index)
        parts = [(size[at], stride[at]) for size, stride in segments]
        costs = _alike(fabrics[int(index)], parts)
        if found is None:
            found = costs.with_features(np.zeros((costs.features.shape[0], len(fabric))))
        found.features[:, at] = costs.features
    if found is None:
        raise ValueError("no groups")
    return found


def _alike(fabric: Fabric, segments: Sequence[Segment]) -> GroupCosts:
    """The costs of (n,) groups on one network; those of few groups are kept."""
    if len(segments[0][0]) > _FEW:
        return group_costs(fabric, segments)
    return _kept(fabric, len(segments), np.array(segments, dtype=np.int64).tobytes())


@lru_cache(maxsize=64)
def _kept(fabric: Fabric, count: int, packed: bytes) -> GroupCosts:
    """The costs of groups of `count` segments, whose sizes and strides are packed; read-only."""
    sizes_and_strides = np.frombuffer(packed, dtype=np.int64).reshape(count, 2, -1)
    costs = group_costs(fabric, [(size, stride) for size, stride in sizes_and_strides])
    costs.features.setflags(write=False)
    return costs
