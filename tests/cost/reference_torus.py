"""Where groups of ranks lie on a torus, by listing their coordinates."""

import itertools
import math
from collections.abc import Sequence

Footprint = tuple[int, int, bool]


class IrregularError(Exception):
    """A group does not fill the domains that it touches evenly."""


def torus_place(rank: int, dims: Sequence[int]) -> tuple[int, ...]:
    """Coordinates on the torus; rank 0 walks the first axis first, other slices repeat."""
    place = []
    for length in dims:
        rank, at = divmod(rank, length)
        place.append(at)
    return tuple(place)


def footprint_of(
    groups: tuple[tuple[int, ...], ...], dims: Sequence[int], wraps: Sequence[bool]
) -> tuple[Footprint, ...]:
    """Per axis of the torus: members, the gap between them, whether they close a ring."""
    slice_chips = math.prod(dims)
    shapes = set()
    for group in groups:
        local = [rank for rank in group if rank // slice_chips == group[0] // slice_chips]
        places = [torus_place(rank % slice_chips, dims) for rank in local]
        axes, count = [], 1
        for axis, length in enumerate(dims):
            at = sorted({place[axis] for place in places})
            gaps = {b - a for a, b in itertools.pairwise(at)}
            if len(gaps) > 1:
                raise IrregularError(f"uneven gaps {gaps} on axis {axis}")
            gap = gaps.pop() if gaps else length
            axes.append((len(at), gap, bool(wraps[axis]) and len(at) * gap == length))
            count *= len(at)
        if count != len(places):
            raise IrregularError("the group is no box on the torus")
        shapes.add(tuple(axes))
    if len(shapes) > 1:
        raise IrregularError("groups have different footprints")
    return shapes.pop()
