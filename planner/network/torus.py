"""Rates of groups on a torus, or on a ring or a line, which are tori of one axis.

A group whose segments begin and end where axes do is a *box*: on each axis it has some members,
evenly spaced. The groups beside it fill the gaps and share the links, so a box that has `spacing`
links from member to member gets one link over `spacing`, twice that where it closes into a ring.

    all-gather of a box    rate = min( sum of the axes' rates, min over axes of
                                       (g - 1) / (e - 1) x the axis's rate )
    all-to-all of a box    half of the bytes cross the middle of each axis; the longest one decides;
                           over a whole twisted slice, that over the gain

The second term of the first line is the share of the buffer that an axis with e of g members
carries at least. Any other group is cut into pieces where it fills an axis; pieces that are no box
are chains, each member `stride` ranks from the next. Its costs are those of a schedule that works
along one piece after the other and walks axis after axis, so they can be had.

Source of the rates per axis: How to Scale Your Model, parts 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.network.fabric import Torus
from planner.network.groups import Segment, members_inside
from planner.network.topology.hops import grid_average_hops

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusExtent:
    """The footprint of a box on one physical axis.

    Attributes:
        members: (n,) members along the axis.
        spacing: (n,) links between neighbours, or the mean where a box has two kinds of gaps; as
            many sibling groups share each link.
        ring: (n,) whether the members close into a ring over the wraparound link.
    """

    members: IntArray
    spacing: IntArray
    ring: BoolArray


def _axes(torus: Torus) -> Iterator[tuple[int, int, bool]]:
    """(ranks between neighbours, length, closed) of each axis, first axis first."""
    inner = torus.unit
    for length, wraps in zip(torus.dims, torus.wrap, strict=True):
        yield inner, length, wraps
        inner *= length


def torus_extents(torus: Torus, segments: Sequence[Segment]) -> list[TorusExtent]:
    """The footprint of each group on each physical axis, first axis first, as if it were a box."""
    extents = []
    for inner, length, wraps in _axes(torus):
        members = np.ones_like(segments[0][0])
        span = np.ones_like(members)
        for size, stride in segments:
            low, high = np.maximum(stride, inner), np.minimum(stride * size, inner * length)
            here = np.maximum(high // low, 1)
            members = members * here
            span = np.where(here > 1, np.maximum(span, high // inner), span)
        spacing = np.where(members > 1, -(-span // members), length)
        ring = np.logical_and(wraps, span == length)
        extents.append(TorusExtent(members=members, spacing=spacing, ring=ring))
    return extents


def _boxes(torus: Torus, segments: Sequence[Segment]) -> BoolArray:
    """(n,) whether segments and axes begin and end at multiples of one another."""
    box = np.ones(segments[0][0].shape, dtype=np.bool_)
    for border in [torus.unit, *(inner * length for inner, length, _ in _axes(torus))]:
        for size, stride in segments:
            ends = size * stride
            nested = (ends % border == 0) | (border % ends == 0)
            box &= (size == 1) | (stride % border == 0) | ((border % stride == 0) & nested)
    return box


def _walk(inner: int, length: int, stride: IntArray) -> IntArray:
    """(n,) most links of an axis that a message to the rank `stride` further walks or crosses.

    The shorter way, with or without a carry from the axes before it. It is also the most
    messages that share a link in one direction, on a ring and on a line.
    """
    steps = stride // inner % length
    carried = (steps + 1) % length
    straight = np.minimum(steps, length - steps)
    carries = stride % inner != 0
    return np.where(carries, np.maximum(straight, np.minimum(carried, length - carried)), straight)


def shift_load(torus: Torus, stride: IntArray) -> IntArray:
    """(n,) messages per link when every chip sends one to the rank `stride` further."""
    load = np.ones_like(stride)
    for inner, length, _ in _axes(torus):
        load = np.maximum(load, _walk(inner, length, stride))
    return load


def _touches(inner: int, length: int, size: IntArray, stride: IntArray) -> BoolArray:
    """(n,) whether some group of a segment has members at two places of an axis."""
    ends = size * stride
    leaves = (ends > inner) | (inner % ends != 0)
    touched: BoolArray = (size > 1) & (stride % (inner * length) != 0) & leaves
    return touched


def _chain_load(torus: Torus, size: IntArray, stride: IntArray) -> IntArray:
    """(n,) messages per link when every member sends one each way along the chain; 0 off the torus.

    On a line those that go on to the next axis walk back, beside the messages of the other way.
    """
    load = np.zeros_like(stride)
    for inner, length, wraps in _axes(torus):
        walked = np.maximum(_walk(inner, length, stride), 1) * (1 if wraps else 2)
        load = np.maximum(load, np.where(_touches(inner, length, size, stride), walked, 0))
    return load


def _pieces(torus: Torus, segments: Sequence[Segment]) -> list[Segment]:
    """The same groups in more segments, cut where an axis ends that they fill."""
    pieces = []
    for size, stride in segments:
        left, step = size, stride
        for inner, length, _ in _axes(torus):
            border = inner * length
            fill = np.maximum(border // step, 1)
            part = np.where((fill * step == border) & (left % fill == 0), fill, 1)
            pieces.append((part, step))
            left, step = left // part, step * part
        pieces.append((left, step))
    return pieces


def torus_ring_rate(torus: Torus, inside: IntArray, segments: Sequence[Segment]) -> FloatArray:
    """(n,) bytes per second into a member of which `inside` are in one domain.

    A closed ring uses both directions of an axis, an open line one. Segments are best `merged`:
    what adjoins but comes in parts may be taken for a chain.
    """
    below = members_inside(torus.unit, segments)
    rate, placed = _box_rate(torus, segments)
    chained = ~_boxes(torus, segments) | (placed * below != inside)
    if np.any(chained):
        few = [(size[chained], stride[chained]) for size, stride in segments]
        rate[chained] = _chain_rate(torus, few)
    return rate


def _box_rate(torus: Torus, segments: Sequence[Segment]) -> tuple[FloatArray, IntArray]:
    """(n,) rate of an all-gather of boxes, one link where there is nothing to gather; (n,) members.

    Axes work at the same time, as far as each carries its share of the buffer.
    """
    extents = torus_extents(torus, segments)
    members: IntArray = np.prod([extent.members for extent in extents], axis=0)
    total = np.zeros(members.shape)
    most = np.full(members.shape, np.inf)
    for extent in extents:
        own = torus.link_bytes_per_s * np.where(extent.ring, torus.ring_links, 1.0) / extent.spacing
        spread = extent.members > 1
        share = (members - 1) / np.maximum(extent.members - 1, 1)
        total = total + np.where(spread, own, 0.0)
        most = np.where(spread, np.minimum(most, share * own), most)
    return np.where(members > 1, np.minimum(total, most), torus.link_bytes_per_s), members


def _chain_rate(torus: Torus, segments: Sequence[Segment]) -> FloatArray:
    """(n,) rate of an all-gather along one piece after the other, from the innermost outwards."""
    share = np.ones(segments[0][0].shape)
    seconds = np.zeros(share.shape)
    for size, stride in reversed(_pieces(torus, segments)):
        load = _chain_load(torus, size, stride)
        box_rate, _ = _box_rate(torus, [(size, stride)])
        box = _boxes(torus, [(size, stride)])
        own = np.where(box, box_rate, torus.link_bytes_per_s / np.maximum(load, 1))
        seconds = seconds + np.where(load > 0, share * (size - 1) / size / own, 0.0)
        share = np.where(load > 0, share / size, share)
    rate: FloatArray = np.full(share.shape, torus.link_bytes_per_s)
    gathers = seconds > 0
    rate[gathers] = (1 - share[gathers]) / seconds[gathers]
    return rate


def torus_average_hops(torus: Torus, segments: Sequence[Segment]) -> FloatArray:
    """(n,) links between two members on average, shortest paths; 1 where none are on the torus.

    Groups that are no box count as if they were one.
    """
    extents = torus_extents(torus, segments)
    return grid_average_hops(
        [extent.members for extent in extents],
        [extent.ring for extent in extents],
        [extent.spacing for extent in extents],
    )


def torus_exchange_s_per_byte(torus: Torus, segments: Sequence[Segment]) -> FloatArray:
    """(n,) seconds per byte that each member sends in a uniform all-to-all inside a torus.

    A box with e members on an axis puts e/8 bytes per byte sent on each link of a ring, e/4 on a
    line. A twisted slice spreads the bytes better over all links, where all of it takes part.
    """
    load = _box_exchange_load(torus, segments)
    chained = ~_boxes(torus, segments)
    if np.any(chained):
        few = [(size[chained], stride[chained]) for size, stride in segments]
        load[chained] = _chain_exchange_load(torus, few)
    return load / torus.link_bytes_per_s


def _box_exchange_load(torus: Torus, segments: Sequence[Segment]) -> FloatArray:
    """(n,) bytes on the fullest link per byte that each member of a box sends."""
    load = np.zeros(segments[0][0].shape)
    members = np.ones_like(segments[0][0])
    for extent in torus_extents(torus, segments):
        members = members * extent.members
        cut = np.where(extent.ring, 4.0 * torus.ring_links, 4.0)
        axis = extent.members * extent.spacing / cut
        load = np.maximum(load, np.where(extent.members > 1, axis, 0.0))
    return np.where(members == math.prod(torus.dims), load / torus.exchange_gain, load)


def _chain_exchange_load(torus: Torus, segments: Sequence[Segment]) -> FloatArray:
    """(n,) bytes on the fullest link per byte sent, along one piece after the other.

    A chain of g members puts g/4 on each hop. At most every byte crosses the middle of an axis.
    """
    load = np.zeros(segments[0][0].shape)
    for size, stride in _pieces(torus, segments):
        hops = size / 4.0 * _chain_load(torus, size, stride)
        box = _boxes(torus, [(size, stride)])
        load = load + np.where(box, _box_exchange_load(torus, [(size, stride)]), hops)
    most = np.zeros(load.shape)
    for inner, length, wraps in _axes(torus):
        half = length / (2.0 * torus.ring_links if wraps else 2.0)
        for size, stride in segments:
            most = np.maximum(most, np.where(_touches(inner, length, size, stride), half, 0.0))
    return np.minimum(load, most)
