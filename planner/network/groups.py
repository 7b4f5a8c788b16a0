"""Where the members of a communication group sit.

A group is a product of segments (size, stride): `size` members, `stride` ranks apart, innermost
segment first; rank r sits at position r of the machine. All arrays have shape (n,).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray
from planner.network.fabric import FabricLevel

Segment = tuple[IntArray, IntArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """How many members of each group share one domain of each level.

    Attributes:
        size: (n,) members of the group.
        inside: (levels, n) members inside one domain, from the innermost level outwards; the
            last row equals `size` when the outermost level spans the job.
        below: (levels, n) members inside one domain of the level below, 1 below the first.
    """

    size: IntArray
    inside: IntArray
    below: IntArray


def merged(segments: Sequence[Segment]) -> list[Segment]:
    """The same groups: innermost segments first, and those that adjoin made one.

    A segment that begins where another ends continues it: 3 members side by side, 8 times 3 ranks
    apart, are 24 side by side.
    """
    if len(segments) == 1:
        size, stride = segments[0]
        return [(size, np.where(size > 1, stride, 1))]
    size = np.stack([size for size, _ in segments])
    stride = np.stack([stride for _, stride in segments])
    stride = np.where(size > 1, stride, 1)
    inner_first = np.argsort(np.where(size > 1, stride, 0), axis=0, kind="stable")
    size = np.take_along_axis(size, inner_first, axis=0)
    stride = np.take_along_axis(stride, inner_first, axis=0)
    for row in range(1, len(size)):
        adjoins = stride[row] == size[row - 1] * stride[row - 1]
        size[row] = np.where(adjoins, size[row] * size[row - 1], size[row])
        stride[row] = np.where(adjoins, stride[row - 1], stride[row])
        size[row - 1] = np.where(adjoins, 1, size[row - 1])
        stride[row - 1] = np.where(adjoins, 1, stride[row - 1])
    return list(zip(size, stride, strict=True))


def _members_together(domain: int, size: IntArray, stride: IntArray) -> IntArray:
    """Members of a segment inside a domain in the worst-placed group.

    Groups begin at multiples of size x stride ranks and domains at multiples of `domain`, so
    borders cut groups at every multiple of their common divisor, and the shortest piece is one
    divisor long.
    """
    together: IntArray = np.maximum(np.gcd(domain, size * stride) // stride, 1)
    return together


def membership(levels: Sequence[FabricLevel], segments: Sequence[Segment]) -> Membership:
    """Members per domain of the groups made of `segments` on each of `levels`."""
    return membership_of(levels, merged(segments))


def membership_of(levels: Sequence[FabricLevel], parts: Sequence[Segment]) -> Membership:
    """`membership` of segments that are merged."""
    size = np.ones_like(parts[0][0])
    for count, _ in parts:
        size = size * count
    rows = [np.ones_like(size)]
    for level in levels[:-1]:
        rows.append(np.maximum(members_inside(level.domain, parts), rows[-1]))
    rows.append(size)
    return Membership(size=size, inside=np.stack(rows[1:]), below=np.stack(rows[:-1]))


def members_inside(domain: int, segments: Sequence[Segment]) -> IntArray:
    """(n,) members inside one domain of the worst-placed group made of `segments`."""
    inside = np.ones_like(segments[0][0])
    for size, stride in segments:
        inside = inside * _members_together(domain, size, stride)
    return inside
