"""Where the members of a communication group sit, and the rates they get from each level.

A group is a product of segments (size, stride): `size` members, `stride` ranks apart, innermost
segment first; rank r sits at position r of the machine, so a level with domains of D chips holds
`floor(D / stride)` of a segment's members side by side. Levels share their uplinks among the
groups that live beside each other, so r members inside a domain own r chips' worth of uplink:

    rate of a ring = min over the levels it crosses of (rate per chip x members inside)

(one line covers both the hierarchy and the sharing of NICs). All arrays have shape (n,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.network.fabric import FabricLevel, Torus
from planner.plan import FloatArray, IntArray

Segment = tuple[IntArray, IntArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """How many members of each group share one domain of each level.

    Attributes:
        size: (n,) members of the group.
        inside: (levels, n) members inside one domain, from the innermost level outwards; the
            last row equals `size` when the outermost level spans the job.
    """

    size: IntArray
    inside: IntArray


def _aligned_members(domain: int, size: IntArray, stride: IntArray) -> IntArray:
    """Members of a segment inside a domain in the worst-placed group.

    Groups tile the domain when its room for members and the group size divide one another;
    otherwise some group straddles a border and only the common divisor is sure to be together.
    """
    room = np.maximum(domain // stride, 1)
    fits = np.minimum(room, size)
    tiles = (domain % stride == 0) & ((room % size == 0) | (size % room == 0))
    return np.where(tiles | (room == 1), fits, np.gcd(room, size))


def membership(levels: Sequence[FabricLevel], segments: Sequence[Segment]) -> Membership:
    """Members per domain of the groups made of `segments` on each of `levels`."""
    size = np.ones_like(segments[0][0])
    for count, _ in segments:
        size = size * count
    rows: list[IntArray] = []
    for level in levels[:-1]:
        inside = np.ones_like(size)
        for count, stride in segments:
            inside = inside * _aligned_members(level.domain, count, stride)
        rows.append(inside if not rows else np.maximum(inside, rows[-1]))
    rows.append(size)
    return Membership(size=size, inside=np.stack(rows))


def ring_rate(
    levels: Sequence[FabricLevel], members: Membership, segments: Sequence[Segment]
) -> FloatArray:
    """(n,) bytes per second that enter a member of a ring over the group; inf for one member."""
    rate = np.full(members.size.shape, np.inf)
    outside = np.ones_like(members.size)
    for level, inside in zip(levels, members.inside, strict=True):
        crossed = inside > outside
        own = level_rate(level, inside, segments)
        rate = np.where(crossed, np.minimum(rate, own * outside), rate)
        outside = np.maximum(outside, inside)
    return rate


def level_rate(level: FabricLevel, inside: IntArray, segments: Sequence[Segment]) -> FloatArray:
    """(n,) ring rate that one chip gets from a level on which `inside` members meet."""
    if level.torus is not None:
        return torus_ring_rate(level.torus, inside, segments)
    if level.peer_bytes_per_s > 0:
        return level.peer_bytes_per_s * np.maximum(inside - 1, 1).astype(np.float64)
    rate = np.full(inside.shape, level.bytes_per_s)
    for size, bytes_per_s in reversed(level.by_group):
        rate = np.where(inside <= size, bytes_per_s, rate)
    return rate


def neighbour_rate(level: FabricLevel, stride: IntArray) -> FloatArray:
    """(n,) bytes per second from a chip to the one `stride` ranks further on the same level.

    On a torus the message walks along one axis, and as many siblings as it passes chips share
    each link.
    """
    if level.torus is None:
        return np.full(stride.shape, level.peer_bytes_per_s or level.bytes_per_s)
    passed = np.ones_like(stride)
    inner = 1
    for length in level.torus.dims:
        here = (stride >= inner) & (stride < inner * length)
        passed = np.where(here, np.maximum(stride // inner, 1), passed)
        inner *= length
    return level.torus.link_bytes_per_s / passed


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusExtent:
    """The footprint of a group on one physical axis.

    Attributes:
        members: (n,) members along the axis.
        spacing: (n,) links between neighbours; as many sibling groups share each link.
        ring: (n,) whether the members close into a ring over the wraparound link.
    """

    members: IntArray
    spacing: IntArray
    ring: npt.NDArray[np.bool_]


def torus_extents(torus: Torus, segments: Sequence[Segment]) -> list[TorusExtent]:
    """The footprint of each group on each physical axis, first axis first."""
    extents = []
    inner = 1
    for length, wraps in zip(torus.dims, torus.wrap, strict=True):
        outer = inner * length
        members = np.ones_like(segments[0][0])
        spacing = np.full_like(members, length)
        for size, stride in segments:
            low, high = np.maximum(stride, inner), np.minimum(stride * size, outer)
            here = np.maximum(high // np.maximum(low, 1), 1)
            members = members * here
            spacing = np.where(here > 1, np.minimum(spacing, low // inner), spacing)
        ring = np.logical_and(wraps, members * spacing == length)
        extents.append(TorusExtent(members=members, spacing=spacing, ring=ring))
        inner = outer
    return extents


def torus_ring_rate(torus: Torus, inside: IntArray, segments: Sequence[Segment]) -> FloatArray:
    """(n,) bytes per second into a member: rates add over the axes that the group spans.

    A closed ring uses both directions of an axis (2 links), an open line one; `spacing` siblings
    share them. Source: How to Scale Your Model, parts 2 and 3 (bandwidth per axis). A group whose
    `inside` members do not tile the axes (5 chips of a 16-long axis) gets one link.
    """
    rate = np.zeros(inside.shape)
    placed = np.ones_like(inside)
    for extent in torus_extents(torus, segments):
        per_axis = torus.link_bytes_per_s * np.where(extent.ring, 2.0, 1.0) / extent.spacing
        rate = rate + np.where(extent.members > 1, per_axis, 0.0)
        placed = placed * extent.members
    return np.where((placed == inside) & (inside > 1), rate, torus.link_bytes_per_s)


def torus_exchange_s_per_byte(torus: Torus, segments: Sequence[Segment]) -> FloatArray:
    """(n,) seconds per byte that each member sends in a uniform all-to-all inside a torus.

    Half of the traffic of an axis crosses its middle: e/8 bytes per link and byte sent on a ring
    of e members, e/4 on an open line; the longest axis decides.
    """
    cost = np.zeros(segments[0][0].shape)
    for extent in torus_extents(torus, segments):
        cut = np.where(extent.ring, 8.0, 4.0)
        axis = extent.members * extent.spacing / cut / torus.link_bytes_per_s
        cost = np.maximum(cost, np.where(extent.members > 1, axis, 0.0))
    return cost
