"""Sizes of a topology for a number of chips: most cubic, balanced, and the nearest that exist."""

from __future__ import annotations

import functools
import math

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.network.topology.kinds import GRIDS, MOST_CHIPS, Topology, check_name

DIMENSIONS = {"mesh": 2, "torus": 3, "hyperx": 2}
"""Dimensions of a grid of which only the number of chips is given."""
_FEWEST = 2


def check_chips(chips: int, what: str = "chips") -> None:
    """Refuses fewer than two chips and more than the formulas hold.

    Raises:
        InputError: Between one chip and another there are no hops to count.
    """
    if chips < _FEWEST:
        raise InputError(f"{what}: {shown(chips)} gives no pair of chips; use at least 2")
    if chips > MOST_CHIPS:
        raise InputError(f"{what}: {shown(chips)} is more than {MOST_CHIPS:,}")


def fitted(name: str, chips: int, dimensions: int | None = None) -> Topology:
    """The topology of that name with so many chips.

    Grids get the most cubic sizes with at most so many dimensions, the largest first; a leaf-spine
    as many leaves as chips per leaf, as nearly as that divides, and as many spines as chips per
    leaf (no oversubscription); a dragonfly the sizes nearest to the balance a = 2 p = 2 h of Kim
    et al. (ISCA 2008).

    Args:
        name: One of `NAMES`.
        chips: The number of chips, at least 2.
        dimensions: Most dimensions of a grid; default: `DIMENSIONS`.

    Raises:
        InputError: The name is unknown, or no such topology has that number of chips; the nearest
            numbers are named.
    """
    check_name(name)
    check_chips(chips)
    sizes = _sizes(name, chips, dimensions)
    if sizes is None:
        near = " or ".join(f"{count:,}" for count in nearest_chips(name, chips))
        raise InputError(f"chips: no {name} has {chips:,} chips; nearest: {near}")
    return Topology(name=name, sizes=sizes)


def fits(name: str, chips: int) -> bool:
    """Whether a topology of that name has so many chips."""
    return _FEWEST <= chips <= MOST_CHIPS and _sizes(name, chips, None) is not None


def nearest_chips(name: str, chips: int) -> list[int]:
    """The numbers of chips next to a given one, below and above, that a topology can have."""
    below = next((count for count in range(chips - 1, 1, -1) if fits(name, count)), None)
    end = min(8 * chips + 72, MOST_CHIPS + 1)
    above = next((count for count in range(chips + 1, end) if fits(name, count)), None)
    return [count for count in (below, above) if count is not None]


@functools.lru_cache(maxsize=4096)
def _sizes(name: str, chips: int, dimensions: int | None) -> tuple[int, ...] | None:
    if name in GRIDS:
        return most_cubic(chips, dimensions or DIMENSIONS[name])
    if name == "hypercube":
        power = chips.bit_length() - 1
        return (power,) if 1 << power == chips else None
    if name == "leaf-spine":
        leaf = min(_divisors(chips), key=lambda size: (abs(math.log(size * size / chips)), size))
        return chips, leaf, leaf
    if name == "fat-tree":
        k = round((4 * chips) ** (1 / 3))
        return (k,) if k % 2 == 0 and k**3 == 4 * chips else None
    if name == "dragonfly":
        return _dragonfly(chips)
    return (chips,)


def most_cubic(chips: int, dimensions: int) -> tuple[int, ...]:
    """A number of chips as a product of so many sizes, as nearly equal as they can be.

    Sizes of one are left out, and the largest comes first: (4, 4, 4) for 64 in three dimensions,
    (7,) for 7 in two.
    """
    best = min(_products(chips, dimensions, chips), key=lambda sizes: (sum(sizes), sizes))
    return tuple(size for size in best if size > 1) or (1,)


def _products(chips: int, dimensions: int, largest: int) -> list[tuple[int, ...]]:
    """All products of so many sizes, in falling order of the sizes."""
    if dimensions == 1:
        return [(chips,)] if chips <= largest else []
    return [
        (size, *rest)
        for size in _divisors(chips)
        if size <= largest and size**dimensions >= chips
        for rest in _products(chips // size, dimensions - 1, size)
    ]


def _divisors(number: int) -> list[int]:
    low = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*low, *(number // divisor for divisor in low)})


def _dragonfly(chips: int) -> tuple[int, int, int] | None:
    """Routers per group a, global links per router h and chips per router p: p a (a h + 1) = N."""
    found = []
    for p in _divisors(chips):
        for a in _divisors(chips // p):
            groups = chips // p // a
            if a > 1 and groups > 1 and (groups - 1) % a == 0:
                h = (groups - 1) // a
                found.append((abs(math.log(a / (2 * p))) + abs(math.log(a / (2 * h))), a, h, p))
    if not found:
        return None
    _, a, h, p = min(found)
    return a, h, p
