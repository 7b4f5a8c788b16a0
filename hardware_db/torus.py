"""Slices of a torus: which shapes exist for a chip count, which axes are rings, what is twisted."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

from hardware_db.cluster import TorusRules

Shape = tuple[int, ...]

_TWISTED_AXES = 3


@lru_cache(maxsize=64)
def slice_shapes(rules: TorusRules) -> dict[int, Shape]:
    """The most cubic shape for every chip count that one slice can have, ascending in count.

    A shape made of whole cubes fits if its axes, in some order, are within the pod's. The most
    cubic shape has the smallest sum of axis lengths (shortest rings), then the shortest longest
    axis.
    """
    shapes = [tuple(shape) for shape in rules.slices]
    if rules.cube_edge:
        edge = rules.cube_edge
        lengths = [range(edge, axis + 1, edge) for axis in sorted(rules.pod)]
        shapes += [shape for shape in product(*lengths) if list(shape) == sorted(shape)]
    best: dict[int, Shape] = {}
    for shape in sorted(shapes, key=lambda s: (math.prod(s), sum(s), max(s), s)):
        best.setdefault(math.prod(shape), shape)
    return best


def cubic_shape(size: int, axes: int) -> Shape:
    """The most cubic shape of `size` with so many axes, shortest first: the least sum of lengths.

    Args:
        size: Members of the torus.
        axes: Axes; those of length 1 are kept.
    """
    if axes == 1:
        return (size,)
    found = [
        (axis, *rest)
        for axis in range(1, round(size ** (1 / axes)) + 2)
        if size % axis == 0
        for rest in [cubic_shape(size // axis, axes - 1)]
    ]
    best = min(found, key=lambda shape: (sum(shape), max(shape), sorted(shape)))
    return tuple(sorted(best))


def wraparound(shape: Shape, rules: TorusRules) -> tuple[bool, ...]:
    """Whether each axis of a slice closes into a ring."""
    if rules.wrap_rule == "multiple-of-4-full-cubes":
        closed = all(axis % 4 == 0 for axis in shape)
        return tuple(closed for _ in shape)
    if rules.wrap_rule == "axis-equals-16":
        return tuple(axis == 16 for axis in shape)
    if rules.wrap_rule == "axis-equals-pod":
        left = list(rules.pod)
        return tuple(_take(axis, left) and axis > 2 for axis in shape)
    return tuple(rules.wrap_rule == "always" and axis > 2 for axis in shape)


def exchange_gain(shape: Shape, rules: TorusRules) -> float:
    """Throughput of an all-to-all over a whole slice relative to the regular torus of its shape.

    Slices of shape k x k x 2k and k x 2k x 2k with k a multiple of 4 are twisted where the machine
    can do so; rings along an axis gain nothing.
    """
    short, middle, long = sorted(shape) if len(shape) == _TWISTED_AXES else (1, 1, 1)
    if not rules.twist_gains or short % 4 or long != 2 * short or middle not in (short, long):
        return 1.0
    return rules.twist_gains[0 if middle == short else 1]


def _take(axis: int, left: list[int]) -> bool:
    """Whether a pod axis of that length is still free; takes it."""
    if axis in left:
        left.remove(axis)
        return True
    return False


def split(rules: TorusRules, chips: int) -> tuple[Shape, int] | None:
    """Shape and number of the fewest equal slices that hold `chips` chips, or None.

    Several slices are used only for jobs larger than the largest slice that can be scheduled.
    """
    shapes = slice_shapes(rules)
    if chips in shapes:
        return shapes[chips], 1
    if chips <= _largest_slice(rules):
        return None
    for count in range(2, rules.max_slices + 1):
        size, rest = divmod(chips, count)
        if size < rules.smallest_multislice_chips:
            break
        if rest == 0 and size in shapes:
            return shapes[size], count
    return None


def torus_counts(rules: TorusRules, limit: int) -> set[int]:
    """Every chip count up to `limit` for which `split` finds slices."""
    sizes = [size for size in slice_shapes(rules) if size <= limit]
    counts = set(sizes)
    for size in sizes:
        if size >= rules.smallest_multislice_chips:
            first = max(2, _largest_slice(rules) // size + 1)
            last = min(limit // size, rules.max_slices)
            counts.update(size * count for count in range(first, last + 1))
    return counts


def _largest_slice(rules: TorusRules) -> int:
    """Chips of the largest slice that can be scheduled."""
    return min(math.prod(rules.pod), rules.largest_slice_chips)


def torus_losses(shape: Shape, wrap: tuple[bool, ...], rules: TorusRules) -> list[str]:
    """Sentences about what a slice of that shape gives away."""
    text = "x".join(map(str, shape))
    losses = []
    open_axes = [axis for axis, closed in zip(shape, wrap, strict=True) if axis > 1 and not closed]
    if open_axes:
        which = "no axis" if not any(wrap) else "only part of the axes"
        losses.append(
            f"{which} of the {text} slice has wraparound links: collectives along an open axis "
            "take about twice as long"
        )
    if math.prod(shape) > rules.largest_slice_chips:
        losses.append(
            f"the {text} slice is above the largest slice that can be scheduled "
            f"({rules.largest_slice_chips} chips)"
        )
    return losses
