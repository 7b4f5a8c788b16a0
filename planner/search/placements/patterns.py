"""The ways to lay mesh axes along the physical axes of a torus.

A *pattern* says how one physical axis is used: parts of mesh axes, innermost first, whose product
is its length. A mesh axis has at most one part on a physical axis: of two, the inner one can move
next to the outer one; then no group is further apart and every ring stays closed.

Patterns with the same parts in another order are the same to everything but the gaps between
members. *Efficient* are those that no other such pattern beats or equals in the rates of all
groups at once; *different* are those of which no other has the same rates. The rate of a box grows
with the rate of each of its axes (`planner.network.torus`), so a layout with another pattern is
nowhere faster. Expert groups take their ranks from the innermost parts; how many they take of an
axis depends on the parts of the axes before it, not on their order, so the same holds axis by axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct, ranges, repeated
from planner.plan import AXES

_GROUPS = (
    ("tp",), ("cp",), ("cp", "fsdp"), ("dp",), ("cp", "fsdp", "dp"), ("tp", "cp", "fsdp"),
    ("tp", "cp", "fsdp", "dp"),
)  # fmt: skip
KEPT = ("all", "different", "efficient")
ALL, DIFFERENT, EFFICIENT = KEPT
_FOLDED = ("tp", "cp", "fsdp", "dp")
_DP = AXES.index("dp")  # experts take of the axes before it, then of it


@dataclass(frozen=True, slots=True)
class Patterns:
    """All patterns of one physical axis, sorted by the sizes of their parts; read-only.

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
def patterns(length: int) -> Patterns:
    """The patterns of a physical axis of `length` chips."""
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
    split, first = np.unique(size, axis=0, return_index=True)
    return Patterns(size, stride, split, np.append(first, len(size)))


@lru_cache(maxsize=1024)
def _listed(
    length: int, closed: bool, ep: int, replicas: int, kept: str
) -> tuple[IntArray, IntArray]:
    """Where the patterns to keep of each split are in a list of them, and the list.

    Args:
        length: Chips along the axis.
        closed: Whether it closes into a ring.
        ep: Ranks that expert groups still want when they come to the axis.
        replicas: Those that they want of dp, after all other axes.
        kept: One of `KEPT`.
    """
    every = patterns(length)
    if kept == ALL:
        return every.start, np.arange(len(every.size))
    gaps = _gaps(every, length, closed, ep, replicas)
    select = unbeaten if kept == EFFICIENT else _first_of_equal
    rows = [start + select(gaps[start:end]) for start, end in pairwise(every.start.tolist())]
    return np.cumsum([0, *map(len, rows)]), np.concatenate(rows)


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


def _gaps(every: Patterns, length: int, closed: bool, ep: int, replicas: int) -> FloatArray:
    """(p, g) what divides the rate of each group: spacing, over 2 on a ring; for pp the spacing."""
    groups = [_only(every, names) for names in (*_GROUPS, ("pp",))]
    groups += _folded(every, ep, replicas) if ep * replicas > 1 else []
    columns = []
    for at, (size, stride) in enumerate(groups):
        members = size.prod(axis=1)
        span = np.where(size > 1, size * stride, 1).max(axis=1)
        ring = (span == length) & closed & (at != len(_GROUPS))
        columns.append(np.where(members > 1, span / members / np.where(ring, 2, 1), 0.0))
    return np.stack(columns, axis=1)


def _only(every: Patterns, names: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """(p, a) sizes and strides of some axes."""
    at = [AXES.index(name) for name in names]
    return every.size[:, at], every.stride[:, at]


def _folded(every: Patterns, ep: int, replicas: int) -> list[tuple[IntArray, IntArray]]:
    """(p, 4) sizes and strides of what expert groups take of the axis, and leave of it."""
    size, stride = _only(every, _FOLDED)
    takes = np.ones_like(size)
    wanted = np.full((len(size), 2), (ep, replicas))
    rows = np.arange(len(size))
    for column in np.argsort(stride, axis=1, kind="stable").T:
        whose = (column == _FOLDED.index("dp")).astype(np.int64)
        part = np.gcd(size[rows, column], wanted[rows, whose])
        takes[rows, column] = part
        wanted[rows, whose] //= part
    left, beyond = size // takes, stride * takes
    kinds = ([0, 1, 2], [3], [0, 1, 2, 3])
    return [(takes, stride), *((left[:, at], beyond[:, at]) for at in kinds)]


def _first_of_equal(points: npt.NDArray[np.floating[Any]]) -> IntArray:
    """Ascending rows of (n, d) points, the first of those that are equal."""
    return np.sort(np.unique(points, axis=0, return_index=True)[1])


def unbeaten(points: npt.NDArray[np.floating[Any]]) -> IntArray:
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


@lru_cache(maxsize=512)
def layouts_of(
    dims: tuple[int, ...], wrap: tuple[bool, ...], mesh: tuple[int, ...], ep: int, kept: str
) -> IntArray:
    """(l, axes) pattern on every physical axis, of every layout of a mesh; read-only.

    Args:
        dims, wrap: Length of each physical axis of a slice, and whether it closes into a ring.
        mesh: Size of each of `AXES`. Where its product is a multiple of the slice, what the
            patterns leave of it goes across slices.
        ep: Ranks of an expert group.
        kept: With which patterns, one of `KEPT`. Unless with all, of layouts in which equal
            physical axes change places one is listed, where no experts are folded.
    """
    same = [
        kept != ALL and ep == 1 and axis > 0 and here == (dims[axis - 1], wrap[axis - 1])
        for axis, here in enumerate(zip(dims, wrap, strict=True))
    ]
    splits = _joined_splits(dims, same, np.array(mesh))
    wanted = np.full(len(splits), ep)
    replicas = np.full(len(splits), ep // math.gcd(ep, math.prod(mesh[:_DP])))
    chosen = np.empty((len(splits), 0), dtype=np.int64)
    for axis, (length, closed) in enumerate(zip(dims, wrap, strict=True)):
        size = patterns(length).split[splits[:, axis]]
        row, pattern = _expanded(length, closed, splits[:, axis], wanted, replicas, kept)
        wanted = wanted // np.gcd(wanted, size[:, :_DP].prod(axis=1))
        replicas = replicas // np.gcd(replicas, size[:, _DP])
        splits, wanted, replicas = splits[row], wanted[row], replicas[row]
        chosen = np.column_stack([chosen[row], pattern])
        if same[axis]:
            ordered = chosen[:, axis - 1] <= chosen[:, axis]
            splits, wanted, replicas = splits[ordered], wanted[ordered], replicas[ordered]
            chosen = chosen[ordered]
    return chosen.astype(np.int16)  # many are remembered; no axis has 32,768 patterns


def _expanded(
    length: int,
    closed: bool,
    split: IntArray,
    wanted: IntArray,
    replicas: IntArray,
    kept: str,
) -> tuple[IntArray, IntArray]:
    """Rows repeated for every pattern of their split on one axis, and the patterns."""
    first, which = distinct([wanted, replicas])
    pairs = zip(wanted[first].tolist(), replicas[first].tolist(), strict=True)
    tables = [_listed(length, closed, *pair, kept) for pair in pairs]
    starts = np.stack([start for start, _ in tables] or [patterns(length).start])
    bases = np.cumsum([0, *(len(listed) for _, listed in tables)])
    counts = starts[which, split + 1] - starts[which, split]
    row = repeated(np.arange(len(split)), counts)
    at = ranges(bases[which] + starts[which, split], counts)
    listed = np.concatenate([np.empty(0, dtype=np.int64), *(listed for _, listed in tables)])
    return row, listed[at]


def _joined_splits(dims: tuple[int, ...], same: list[bool], mesh: IntArray) -> IntArray:
    """(s, axes) split of every physical axis such that the parts divide the mesh."""
    chosen = np.empty((1, 0), dtype=np.int64)
    left = mesh[None, :]
    for axis, length in enumerate(dims):
        split = patterns(length).split
        before, at = np.nonzero(np.all(left[:, None, :] % split[None, :, :] == 0, axis=2))
        if same[axis]:
            ordered = chosen[before, axis - 1] <= at
            before, at = before[ordered], at[ordered]
        chosen = np.column_stack([chosen[before], at])
        left = left[before] // split[at]
    return chosen
