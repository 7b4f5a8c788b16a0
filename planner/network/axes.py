"""Groups whose share of a torus is given instead of following from their placement.

M torus axes that serve a mesh axis give it M closed rings: 2 M links per chip, whatever the shape
of the slice. That is how a textbook writes it (M_X, M_Y of How to Scale Your Model, part 5); it
may be more than a placement can have. A group that fills the slice has the axes of all mesh axes
that are given, since it leaves no ranks to the others; where those are all of the torus, its own
shape counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.base.arrays import IntArray
from planner.network.fabric import Fabric
from planner.network.groups import Segment

# The mesh axes whose torus axes serve a group, first given first.
SERVED_BY = {
    "tp": ("tp",),
    "cp": ("cp",),
    "pp": ("pp",),
    "shard": ("fsdp", "cp"),
    "replica": ("dp",),
    "data": ("dp", "fsdp", "cp"),
}


def with_given_axes(
    fabrics: Sequence[Fabric],
    index: IntArray,
    group: str,
    segments: Sequence[Segment],
    given: Mapping[str, float],
) -> tuple[list[Fabric], IntArray]:
    """The networks of the groups of one name, and (n,) which of them each group lives on.

    Args:
        fabrics: The networks as they are.
        index: (n,) which of them each group lives on.
        group: A name of `planner.network.placement.GROUPS`.
        segments: What the groups are made of.
        given: Mesh axis to the number of torus axes that serve it.
    """
    axes = [given[axis] for axis in SERVED_BY.get(group, ()) if axis in given]
    if not axes:
        return list(fabrics), index
    size = np.prod([count for count, _ in segments], axis=0)
    nearest = np.min([np.where(count > 1, stride, size) for count, stride in segments], axis=0)
    domain = np.array([fabric.levels[0].domain for fabric in fabrics])
    fills = (size >= domain[index]) & (nearest == 1)
    own = [_served_by(fabric, axes[0]) for fabric in fabrics]
    whole = [_served_by(fabric, sum(given.values())) for fabric in fabrics]
    every = np.array([_dimensions(fabric) <= sum(given.values()) for fabric in fabrics])
    kept = np.where(every[index], 0, 2 * len(fabrics))
    return [*fabrics, *own, *whole], index + np.where(fills, kept, len(fabrics))


def _dimensions(fabric: Fabric) -> int:
    """Axes of the innermost torus; none of other networks."""
    torus = fabric.levels[0].torus
    return 0 if torus is None else len(torus.dims)


def _served_by(fabric: Fabric, axes: float) -> Fabric:
    """A network whose innermost level gives every chip that many closed rings."""
    inner, *outer = fabric.levels
    if inner.torus is None:
        return fabric
    rate = axes * inner.torus.ring_links * inner.torus.link_bytes_per_s
    return replace(fabric, levels=(replace(inner, torus=None, bytes_per_s=rate), *outer))
