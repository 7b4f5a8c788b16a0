"""Slices of a torus as people type them, `16x16x16`, and how many chips they have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from hardware_db import Cluster
from planner.base.errors import InputError

SHAPE = re.compile(r"\s*[0-9]{1,9}(\s*x\s*[0-9]{1,9})+\s*", re.IGNORECASE)


def product_of(text: str) -> int:
    """The product of what `SHAPE` matches; at least 1."""
    return max(math.prod(map(int, re.split("x", text.lower()))), 1)


def slice_chips(text: str, cluster: Cluster) -> int:
    """The chips of a slice of a torus, in any order of its axes.

    Args:
        text: As `SHAPE` matches it.
        cluster: Whose slices are meant.

    Raises:
        InputError: It has no torus, or no such slice.
    """
    shape = tuple(sorted(int(axis) for axis in re.split("x", text.lower())))
    if cluster.levels[0].torus is None:
        inner = cluster.levels[0]
        chips = math.prod(shape)
        raise InputError(
            f"chips: {text}: {cluster.name} has no torus (its {inner.name} is a "
            f"{inner.topology}); give a number, e.g. {max(chips, 1)}"
        )
    shapes = _slices(cluster)
    for chips, known in shapes.items():
        if tuple(sorted(known)) == shape:
            return chips
    near = shapes.get(math.prod(shape)) or _nearest(shape, shapes.values())
    raise InputError(
        f"chips: {text} is not a slice of {cluster.name} (whole cubes within its pod, the most "
        f"cubic shape of each count); nearest: {'x'.join(map(str, near))}"
    )


def _slices(cluster: Cluster) -> dict[int, tuple[int, ...]]:
    """Chips and shape of every slice of one torus."""
    inner = cluster.levels[0]
    most = inner.domain_chips or cluster.max_chips
    found = ((count, cluster.scale(count)) for count in cluster.chip_counts(most))
    return {count: cut.levels[0].torus_dims for count, cut in found if cut.slices == 1}


def _nearest(shape: tuple[int, ...], shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape whose axes differ least, of those with the fewest axes added or lost."""

    def distance(other: tuple[int, ...]) -> tuple[int, int]:
        size = max(len(shape), len(other))
        left = (1,) * (size - len(shape)) + shape
        right = (1,) * (size - len(other)) + tuple(sorted(other))
        return sum(abs(a - b) for a, b in zip(left, right, strict=True)), size

    return min(shapes, key=distance)
