"""Least traffic of a matrix multiplication between a small memory and the one below it.

A multiplication (m x k) @ (k x n) runs from a memory with room for S elements. One block of a x b
elements of one of its three matrices stays there while a column of a and a row of b elements of
the other two stream past it, so a b + a + b <= S, that is (a + 1)(b + 1) <= S + 1. Elements moved:

    outputs stay (a x b of m x n)   m n + m k ceil(n / b) + k n ceil(m / a)
    inputs stay  (a x b of m x k)   m k + k n ceil(m / a) + m n (2 ceil(k / b) - 1)
    weights stay (a x b of k x n)   k n + m k ceil(n / b) + m n (2 ceil(k / a) - 1)

Outputs that do not stay are written once per pass over k and read back by all passes but the
first. No schedule moves less than 2 m n k / sqrt(S) - 2 S elements (Smith, Lowery, Langou and
van de Geijn, A Tight I/O Lower Bound for Matrix Multiplication, arXiv:1702.02017).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray

Number = FloatArray | float

LEAST_ELEMENTS = 3
"""Room for one tile: one element of each matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Elements that cross the boundary below a memory.

    Attributes:
        reads: Elements read from the memory below, partial sums included.
        writes: Elements written to it.
    """

    reads: FloatArray
    writes: FloatArray

    @property
    def total(self) -> FloatArray:
        """Reads and writes together."""
        return self.reads + self.writes


def least_traffic(
    m: Number, n: Number, k: Number, room_elements: Number, input_elements: Number | None = None
) -> Moved:
    """Reads and writes under the best of the three stationarities and its best integer tile.

    The tiles tried are those next to the best real-valued one and those that span a whole side.

    Args:
        m, n, k: Sizes, at least 1; broadcast.
        room_elements: Room S in elements, at least `LEAST_ELEMENTS`; infinite where all fits.
        input_elements: Distinct elements of the m x k operand where neighbouring rows share some
            (a convolution's windows); default m k.

    Source: the module's equations.
    """
    inputs = m * k if input_elements is None else input_elements
    m, n, k, inputs, room = (
        np.asarray(x, float)
        for x in np.broadcast_arrays(m, n, k, inputs, np.minimum(room_elements, 1e18))
    )
    outputs, weights = m * n, k * n
    sides = np.stack([m, m, k]), np.stack([n, k, n])
    per_pass = np.stack([weights, weights, 2 * outputs]), np.stack([inputs, 2 * outputs, inputs])
    passes_a, passes_b = _passes(sides, per_pass, room)
    fixed = np.stack([outputs, inputs - outputs, weights - outputs])
    moved = fixed + per_pass[0] * passes_a + per_pass[1] * passes_b
    best = np.argmin(moved, axis=0)[None]
    total = np.take_along_axis(moved, best, 0)[0]
    rounds = np.stack([np.ones_like(m), passes_b[1], passes_a[2]])
    writes = outputs * np.take_along_axis(rounds, best, 0)[0]
    return Moved(reads=total - writes, writes=writes)


def least_traffic_elements(
    m: Number, n: Number, k: Number, room_elements: Number, input_elements: Number | None = None
) -> FloatArray:
    """Reads and writes of `least_traffic` together, in elements."""
    return least_traffic(m, n, k, room_elements, input_elements).total


def _passes(
    sides: tuple[FloatArray, FloatArray], per_pass: tuple[FloatArray, FloatArray], room: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Passes ceil(p / a) and ceil(q / b) of the best tile of sides p and q, (3, n) each.

    For real-valued tiles a / b = (p cost_p) / (q cost_q), cost being the elements of one pass.
    """
    (p, q), (cost_p, cost_q), area = sides, per_pass, np.floor(room) + 1
    widest = np.floor(area / 2)
    ideal = np.sqrt(area * (cost_p / cost_q) * (p / q))
    a = np.minimum(np.maximum(ideal, 2), widest) - 1
    b = np.minimum(np.maximum(area / (a + 1), 2), widest) - 1
    best_p, best_q = np.empty_like(p), np.empty_like(p)
    least = np.full_like(p, np.inf)
    for side, other, tile, swapped in ((p, q, a, False), (q, p, b, True)):
        for passes in _tries(side, tile):
            rest = _rest(side, other, passes, area)
            of_p, of_q = (rest, passes) if swapped else (passes, rest)
            moved = cost_p * of_p
            moved += cost_q * of_q
            better = moved < least
            np.copyto(least, moved, where=better)
            np.copyto(best_p, of_p, where=better)
            np.copyto(best_q, of_q, where=better)
    return best_p, best_q


def _tries(side: FloatArray, tile: FloatArray) -> tuple[FloatArray, ...]:
    """Passes over a side worth trying: one, and those of the tiles around the real-valued one."""
    wider = np.floor(np.maximum(side / tile, 1))
    return np.ones_like(side), wider, np.ceil(side / np.floor(tile))


def _rest(side: FloatArray, other: FloatArray, passes: FloatArray, area: FloatArray) -> FloatArray:
    """Passes over the other side that the widest tile needs; infinite where none fits."""
    width = np.ceil(side / passes)
    width += 1
    np.divide(area, width, out=width)
    np.floor(width, out=width)
    width -= 1
    with np.errstate(divide="ignore"):
        np.divide(other, width, out=width)
    np.copyto(width, np.inf, where=width < 0)
    return np.ceil(width, out=width)


@lru_cache(maxsize=4096)
def divisor_traffic_elements(m: int, n: int, k: int, room_elements: int) -> int:
    """The least traffic with tiles that divide their sides, as most mapping engines demand.

    Args:
        m, n, k: Sizes, at least 1.
        room_elements: Room in elements, at least `LEAST_ELEMENTS`.

    Returns:
        Elements read and written under the best of the module's three equations.
    """
    cases = (
        (m, n, m * n, k * n, m * k),
        (m, k, m * k - m * n, k * n, 2 * m * n),
        (k, n, k * n - m * n, 2 * m * n, m * k),
    )
    return min(
        fixed + cost_p * (p // a) + cost_q * (q // b)
        for p, q, fixed, cost_p, cost_q in cases
        for a in divisors(p)
        for b in divisors(q)
        if a * b + a + b <= room_elements
    )


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """The divisors of a positive integer, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))
