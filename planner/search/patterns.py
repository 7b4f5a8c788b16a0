"""The ways to lay mesh axes along the physical axes of a torus.

A *pattern* says how one physical axis is used: parts of mesh axes, innermost first, whose product
is its length. A mesh axis has at most one part on a physical axis: of two, the inner one can move
next to the outer one; then no group is further apart and every ring stays closed.

Patterns with the same parts in another order are the same to everything but the gaps between
members. `efficient` keeps those that no other such pattern beats or equals in the rates of all
groups at once. The rate of a box grows with the rate of each of its axes
(`planner.network.torus`), so a layout with another pattern is nowhere faster. That holds where
experts are not folded over the axes (ep = 1): how they fold depends on the order of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from planner.plan import AXES, BoolArray, FloatArray, IntArray

_GROUPS = (
    ("tp",), ("cp",), ("cp", "fsdp"), ("dp",), ("cp", "fsdp", "dp"), ("tp", "cp", "fsdp"),
    ("tp", "cp", "fsdp", "dp"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one physical axis, sorted by the sizes of their parts.

    Attributes:
        size: (p, 5) part of each of `AXES`, 1 where it has none.
        stride: (p, 5) chips between neighbours of that part.
        split: (q, 5) the distinct rows of `size`, in order.
        start: (q + 1,) patterns of split i are start[i] .. start[i + 1] - 1.
    """

    size: IntArray
    stride: IntArray
    split: IntArray
    start: IntArray


@lru_cache(maxsize=256)
def patterns(length: int, closed: bool, every: bool) -> Patterns:
    """All patterns of a physical axis; the arrays are shared: read-only.

    Args:
        length: Chips along the axis.
        closed: Whether it closes into a ring.
        every: Not only the efficient ones.
    """
    rows = list(_ordered(length, AXES))
    size, stride = np.ones((2, len(rows), len(AXES)), dtype=np.int64)
    for row, parts in enumerate(rows):
        inside = 1
        for axis, part in parts:
            size[row, AXES.index(axis)] = part
            stride[row, AXES.index(axis)] = inside
            inside *= part
    order = np.lexsort(size.T[::-1])
    size, stride = size[order], stride[order]
    if not every:
        keep = _unbeaten(size, _gaps(length, closed, size, stride))
        size, stride = size[keep], stride[keep]
    split, first = np.unique(size, axis=0, return_index=True)
    return Patterns(size, stride, split, np.append(first, len(size)))


def _ordered(length: int, axes: tuple[str, ...]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Ordered lists of (axis, part > 1) of different axes whose parts multiply to a length."""
    if length == 1:
        yield ()
    for axis in axes:
        others = tuple(other for other in axes if other != axis)
        for part in range(2, length + 1):
            if length % part == 0:
                for outer in _ordered(length // part, others):
                    yield ((axis, part), *outer)


def _gaps(length: int, closed: bool, size: IntArray, stride: IntArray) -> FloatArray:
    """(p, g) what divides the rate of each group: spacing, over 2 on a ring; for pp the spacing."""
    columns = []
    for names in (*_GROUPS, ("pp",)):
        at = [AXES.index(name) for name in names]
        members = size[:, at].prod(axis=1)
        span = np.where(size[:, at] > 1, size[:, at] * stride[:, at], 1).max(axis=1)
        ring = (span == length) & closed & (names != ("pp",))
        columns.append(np.where(members > 1, span / members / np.where(ring, 2, 1), 0.0))
    return np.stack(columns, axis=1)


def _unbeaten(size: IntArray, gaps: FloatArray) -> BoolArray:
    """(p,) patterns with smaller gaps for some group than any other with the same parts."""
    change = np.flatnonzero(np.any(size[1:] != size[:-1], axis=1)) + 1
    keep = np.zeros(len(size), dtype=np.bool_)
    for start, end in pairwise([0, *change.tolist(), len(size)]):
        keep[start + unbeaten(gaps[start:end])] = True
    return keep


def unbeaten(points: FloatArray) -> IntArray:
    """Ascending rows of (n, d) points that no other row is at or below everywhere.

    Of equal rows the first stays. The row with the least sum is always one; it removes what it
    beats, so this takes one pass per row that stays.
    """
    left = np.argsort(points.sum(axis=1), kind="stable")
    kept = []
    while len(left):
        kept.append(left[0])
        left = left[np.any(points[left] < points[left[0]], axis=1)]
    return np.sort(np.array(kept, dtype=np.int64))


@lru_cache(maxsize=8192)
def layouts_of(
    dims: tuple[int, ...], wrap: tuple[bool, ...], mesh: tuple[int, ...], every: bool
) -> IntArray:
    """(l, axes) pattern on every physical axis, of every layout of a mesh; read-only.

    Args:
        dims, wrap: Length of each physical axis of a slice, and whether it closes into a ring.
        mesh: Size of each of `AXES`. Where its product is a multiple of the slice, what the
            patterns leave of it goes across slices.
        every: With all patterns. Else only with the efficient ones, and of layouts in which equal
            physical axes change places one.
    """
    found = [patterns(*axis, every) for axis in zip(dims, wrap, strict=True)]
    splits = _joined_splits(dims, wrap, np.array(mesh), found, every)
    chosen = np.empty((len(splits), 0), dtype=np.int64)
    for axis, here in enumerate(found):
        counts = np.diff(here.start)[splits[:, axis]]
        row = np.repeat(np.arange(len(splits)), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        pattern = here.start[splits[row, axis]] + within
        splits, chosen = splits[row], np.column_stack([chosen[row], pattern])
        if axis and _same(dims, wrap, axis) and not every:
            ordered = chosen[:, axis - 1] <= chosen[:, axis]
            splits, chosen = splits[ordered], chosen[ordered]
    return chosen


def _same(dims: tuple[int, ...], wrap: tuple[bool, ...], axis: int) -> bool:
    """Whether a physical axis is like the one before it."""
    return (dims[axis], wrap[axis]) == (dims[axis - 1], wrap[axis - 1])


def _joined_splits(
    dims: tuple[int, ...],
    wrap: tuple[bool, ...],
    mesh: IntArray,
    found: list[Patterns],
    every: bool,
) -> IntArray:
    """(s, axes) split of every physical axis such that the parts divide the mesh."""
    chosen = np.empty((1, 0), dtype=np.int64)
    left = mesh[None, :]
    for axis, here in enumerate(found):
        before, at = np.nonzero(np.all(left[:, None, :] % here.split[None, :, :] == 0, axis=2))
        if axis and _same(dims, wrap, axis) and not every:
            ordered = chosen[before, axis - 1] <= at
            before, at = before[ordered], at[ordered]
        chosen = np.column_stack([chosen[before], at])
        left = left[before] // here.split[at]
    return chosen
