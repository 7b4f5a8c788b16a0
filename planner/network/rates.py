"""The rates that a communication group gets from the levels it crosses.

Levels share their uplinks among the groups that live beside each other, so r members inside a
domain own r chips' worth of uplink:

    rate of a ring = min over the levels it crosses of (rate per chip x members inside)

(one line covers both the hierarchy and the sharing of NICs). What one chip gets from a level
depends on its wiring: a switch gives every chip its own rate, direct links join the members that
they connect, and on a torus or a ring the groups beside each other share links
(`planner.network.torus`). All arrays have shape (n,).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.network.fabric import Fabric, FabricLevel
from planner.network.groups import Membership, Segment
from planner.network.topology.fit import fits
from planner.network.topology.hops import average_hops, grid_average_hops
from planner.network.torus import shift_load, torus_exchange_s_per_byte, torus_ring_rate


def ring_rate(
    members: Membership, own: Sequence[FloatArray], *, slowest_link: bool = False
) -> FloatArray:
    """(n,) bytes per second that enter a member of a ring over the group; inf for one member.

    Args:
        members: Where the members are.
        own: What one chip gets from each level; see `level_rates`.
        slowest_link: Whether the ring crosses each level over the link of one chip.
    """
    rate = np.full(members.size.shape, np.inf)
    for below, inside, of_chip in zip(members.below, members.inside, own, strict=True):
        links = 1 if slowest_link else below
        rate = np.where(inside > below, np.minimum(rate, of_chip * links), rate)
    return rate


def pace(level: FabricLevel, segments: Sequence[Segment]) -> FloatArray:
    """(n,) share of its rate that a group on a level with slow links keeps.

    Rings are laid without regard to what is slow, and each carries as much as the others: a group
    goes at the pace of the slowest link between two of its members.
    """
    share = np.ones(segments[0][0].shape)
    for u, v, left in level.slowed:
        first, second = np.full(share.shape, u), np.full(share.shape, v)
        for size, stride in reversed(segments):
            step = np.maximum(stride, 1)
            first = first - np.where(size > 1, first // step % size * step, 0)
            second = second - np.where(size > 1, second // step % size * step, 0)
        share = np.where(first == second, np.minimum(share, left), share)
    return share


def level_rates(
    levels: Sequence[FabricLevel], members: Membership, segments: Sequence[Segment]
) -> list[FloatArray]:
    """`level_rate` of each level, (n,) each."""
    return [
        level_rate(level, inside, segments)
        * (pace(level, segments) if level.slowed else 1.0)
        / level_hops(level, inside // below)
        for level, below, inside in zip(levels, members.below, members.inside, strict=True)
    ]


def level_hops(level: FabricLevel, meeting: IntArray) -> FloatArray | float:
    """(n,) links of a level that a byte between two of `meeting` members takes on average.

    All members of a domain take the hops of its own axes. Fewer count as a machine of their own,
    of the level's topology; a number of them that no such topology has as a ring of that many.
    """
    if not level.hops_of:
        return 1.0
    counts, which = np.unique(np.maximum(meeting, 2), return_inverse=True)
    each = [_average_hops(level, int(count)) for count in counts]
    return np.asarray(each, dtype=np.float64)[which.reshape(meeting.shape)]


def _average_hops(level: FabricLevel, count: int) -> float:
    lengths = [length for length, _ in level.hop_axes]
    if lengths and math.prod(lengths) == count:
        return float(grid_average_hops(lengths, [closed for _, closed in level.hop_axes]))
    return float(average_hops(level.hops_of if fits(level.hops_of, count) else "ring", count))


def level_rate(level: FabricLevel, inside: IntArray, segments: Sequence[Segment]) -> FloatArray:
    """(n,) ring rate that one chip gets from a level on which `inside` members meet.

    Segments go innermost first; what it returns for groups that do not cross the level is
    meaningless.
    """
    if level.torus is not None:
        return torus_ring_rate(level.torus, inside, segments)
    if level.peer_bytes_per_s > 0:
        return level.peer_bytes_per_s * np.maximum(inside - 1, 1).astype(np.float64)
    if level.by_group:
        return _graph_rate(level, inside, segments)
    return np.full(inside.shape, level.bytes_per_s)


def _graph_rate(level: FabricLevel, inside: IntArray, segments: Sequence[Segment]) -> FloatArray:
    """(n,) ring rate on a graph of direct links known by the rates R of groups side by side.

    A chip's links are taken to be spread evenly over the d(n) doublings that make a block of n, as
    those of a hybrid cube mesh are: of R(g s) it has 1 - d(s) / d(g s) to the chips of its block of
    g s that are outside its block of s. Of these a group with g members s apart holds (g - 1) k of
    (g - 1) s, where k is its members in a block of s; the rest belongs to the groups beside it.
    So no rate lowers another, as a difference of two would.
    """
    rate = np.zeros(inside.shape)
    below = np.ones_like(inside)
    for size, stride in segments:
        reach = np.minimum(size * stride, level.domain)
        whole, outside = _doublings(reach), np.maximum(_doublings(reach) - _doublings(stride), 0)
        own = _block_rate(level, reach) * outside / np.maximum(whole, 1) * below / stride
        rate = rate + np.where(size > 1, own, 0.0)
        below = below * size
    rate = np.minimum(rate, _block_rate(level, np.maximum(inside, 2)))
    return np.where(rate > 0, rate, level.bytes_per_s)  # no member beside another: never used


def _doublings(chips: IntArray) -> FloatArray:
    """(n,) doublings of one chip that make a block of so many, or more."""
    return np.ceil(np.log2(chips))


def _block_rate(level: FabricLevel, chips: IntArray) -> FloatArray:
    """(n,) ring rate of `chips` side by side; 0 for one."""
    rate = np.full(chips.shape, level.by_group[-1][1])
    for size, bytes_per_s in reversed(level.by_group):
        rate = np.where(chips <= size, bytes_per_s, rate)
    return np.where(chips > 1, rate, 0.0)


def neighbour_rate(level: FabricLevel, stride: IntArray) -> FloatArray:
    """(n,) bytes per second from a chip to the one `stride` ranks further on the same level.

    On a torus as many siblings share a link as the message passes links of that axis.
    """
    if level.torus is None:
        return np.full(stride.shape, level.peer_bytes_per_s or level.bytes_per_s)
    return level.torus.link_bytes_per_s / shift_load(level.torus, stride)


def step_rate(level: FabricLevel, segments: Sequence[Segment]) -> FloatArray:
    """(n,) rate of a message to the next member on a level, whichever segment it steps along."""
    rate = np.full(segments[0][0].shape, np.inf)
    for size, stride in segments:
        own = neighbour_rate(level, stride)
        if level.slowed:
            own = own * pace(level, [(size, stride)])
        rate = np.where(size > 1, np.minimum(rate, own), rate)
    return rate


def exchange_s_per_byte(
    fabric: Fabric, members: Membership, segments: Sequence[Segment], own: Sequence[FloatArray]
) -> list[FloatArray]:
    """Rows beta inside a node, beta between nodes of an all-to-all.

    The levels of either kind work at the same time. Inside a node a level carries what stays in
    its domains; a network card carries all that leaves the node.
    """
    near = np.zeros(members.size.shape)
    far = np.zeros(members.size.shape)
    levels = zip(fabric.levels, members.below, members.inside, own, strict=True)
    for level, below, inside, of_chip in levels:
        leaving = members.size if level.scale_out else inside
        share = (leaving - below) / members.size
        if level.torus is not None:
            shared = torus_exchange_s_per_byte(level.torus, segments)
            cost = np.maximum(shared, share / level.bytes_per_s)
        elif level.scale_out:
            cost = share / (level.bytes_per_s * (pace(level, segments) if level.slowed else 1.0))
        else:
            cost = share / (of_chip * fabric.exchange_efficiency)
        cost = np.where(inside > below, cost, 0.0)
        if level.scale_out:
            far = np.maximum(far, cost)
        else:
            near = np.maximum(near, cost)
    return [near, far]
