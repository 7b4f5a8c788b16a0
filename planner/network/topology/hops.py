"""Average hops between chips in closed form, under uniform traffic over ordered pairs i != j.

A hop is a link crossed, those to and from a switch included. The forms are sums of hops over all
N (N - 1) ordered pairs, whole numbers, so that one formula serves single sizes exactly and arrays
of sizes at once. Each equals the shortest-path sum of the graph, save the dragonfly's, which is
that of minimal local-global-local routing (its shortest paths may take two global links).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.network.topology.fit import check_chips, fitted
from planner.network.topology.kinds import LINES, Topology, check_name, chips_of


def average_hops(name: str, n: npt.ArrayLike) -> FloatArray:
    """Average hops of a topology on each number of chips.

    Args:
        name: One of `NAMES` of `planner.network.topology.kinds`.
        n: Numbers of chips, any shape, each at least 2; sizes are those of `fitted`.

    Returns:
        Hops, of the shape of `n`.

    Raises:
        InputError: The name is unknown, a number is one or less, or no such topology has it.
    """
    check_name(name)
    chips = whole_chips(n)
    if name in LINES:
        return average_hops_of(name, (chips,))
    each, inverse = np.unique(chips, return_inverse=True)
    hops = [float(average_hops_of(name, fitted(name, int(count)).sizes)) for count in each]
    return np.asarray(hops, dtype=np.float64)[inverse].reshape(chips.shape)


def average_hops_of(name: str, sizes: Sequence[IntArray | int]) -> FloatArray:
    """Average hops of a topology of given sizes; sizes may be arrays of a common shape."""
    chips = chips_of(name, sizes)
    pairs = chips * (chips - 1)
    return np.asarray(hop_sum(name, sizes) / pairs, dtype=np.float64)


def exact_average_hops(topology: Topology) -> Fraction:
    """Average hops of a topology as an exact fraction.

    Raises:
        InputError: It has one chip.
    """
    chips = topology.chips
    check_chips(chips)
    return Fraction(int(hop_sum(topology.name, topology.sizes)), chips * (chips - 1))


def grid_average_hops(
    lengths: Sequence[IntArray | int],
    closed: Sequence[npt.ArrayLike],
    spacing: Sequence[IntArray | int] | None = None,
) -> FloatArray:
    """Average hops of a grid of which some axes close into rings; 1 where there is one place.

    Args:
        lengths: Places along each axis, integers or arrays of a common shape.
        closed: Whether each axis closes into a ring.
        spacing: Links from one place of an axis to the next; default 1.
    """
    given = [np.asarray(length, dtype=np.int64) for length in lengths]
    places = np.prod(np.broadcast_arrays(*given), axis=0)
    total = np.zeros(places.shape)
    for axis, ring, links in zip(given, closed, spacing or [1] * len(given), strict=True):
        along = np.where(ring, _ring([axis]), _linear([axis]))
        total = total + (places // axis) ** 2 * along * links
    return np.where(places > 1, total / np.maximum(places * (places - 1), 1), 1.0)


def hop_sum(name: str, sizes: Sequence[IntArray | int]) -> IntArray:
    """Hops summed over all ordered pairs of chips, a whole number.

    Args:
        name: One of `NAMES`.
        sizes: As in `Topology`; each an integer or an array of a common shape.
    """
    check_name(name)
    given = [np.asarray(size, dtype=np.int64) for size in sizes]
    return np.asarray(_SUMS[name](given), dtype=np.int64)


def whole_chips(n: npt.ArrayLike) -> IntArray:
    """Numbers of chips as an array.

    Raises:
        InputError: One of them is no whole number, below 2 or above `MOST_CHIPS`.
    """
    given = np.asarray(n)
    if not np.all(given == np.floor(given)):
        raise InputError("chips: must be whole numbers")
    if given.size:
        check_chips(int(given.min()))
        check_chips(int(given.max()))
    return given.astype(np.int64)


def _linear(sizes: list[IntArray]) -> IntArray:
    """N (N^2 - 1) / 3: average (N + 1) / 3."""
    (n,) = sizes
    return n * (n * n - 1) // 3


def _ring(sizes: list[IntArray]) -> IntArray:
    """N floor(N^2 / 4): average N^2 / (4 (N - 1)) for even N, (N + 1) / 4 for odd N."""
    (n,) = sizes
    return n * (n * n // 4)


def _full(sizes: list[IntArray]) -> IntArray:
    """N (N - 1): average 1."""
    (n,) = sizes
    return n * (n - 1)


def _star(sizes: list[IntArray]) -> IntArray:
    """2 (N - 1)^2: one hop to and from the hub, two between others; average 2 (N - 1) / N."""
    (n,) = sizes
    return 2 * (n - 1) ** 2


def _switch(sizes: list[IntArray]) -> IntArray:
    """2 N (N - 1): up and down; average 2."""
    return 2 * _full(sizes)


def _product(
    along: Callable[[list[IntArray]], IntArray],
) -> Callable[[list[IntArray]], IntArray]:
    """The sum over a product of graphs: distances add up, dimension by dimension.

    Each of the k_i^2 ordered pairs of coordinates is met by (N / k_i)^2 pairs of chips. A torus of
    two along a dimension has one link there, as a mesh has: N floor(N^2/4) is 2 for both.
    """

    def total(sizes: list[IntArray]) -> IntArray:
        n = np.prod(np.broadcast_arrays(*sizes), axis=0)
        return np.asarray(sum((n // k) ** 2 * along([k]) for k in sizes), dtype=np.int64)

    return total


def _hypercube(sizes: list[IntArray]) -> IntArray:
    """N d N/2: half of the d = log2 N bits differ on average over all N^2 pairs."""
    (d,) = sizes
    n = np.asarray(1 << d, dtype=np.int64)
    return n * d * (n // 2)


def _leaf_spine(sizes: list[IntArray]) -> IntArray:
    """N [2 (g - 1) + 4 (N - g)]: two hops within a leaf of g chips, four between leaves."""
    n, g, _ = sizes
    return n * (2 * (g - 1) + 4 * (n - g))


def _fat_tree(sizes: list[IntArray]) -> IntArray:
    """N [2 (k/2 - 1) + 4 (k^2/4 - k/2) + 6 (N - k^2/4)]: under one switch, in a pod, beyond."""
    (k,) = sizes
    n, pod, edge = k**3 // 4, k * k // 4, k // 2
    return np.asarray(n * (2 * (edge - 1) + 4 * (pod - edge) + 6 * (n - pod)), dtype=np.int64)


def _dragonfly(sizes: list[IntArray]) -> IntArray:
    """N [2 (p - 1) + 2 p (aG - 1) + p R], R hops from one router to all others.

    R = (a - 1) + (G - 1)(2a - 1) + (G - 1 - h) a: within the group; to each other group the link
    and the landing group's a - 1 others; a local hop first where the router has no link there.
    """
    a, h, p = sizes
    groups = a * h + 1
    routers = a * groups
    far = (a - 1) + (groups - 1) * (2 * a - 1) + (groups - 1 - h) * a
    with_chips = routers * p * (2 * (p - 1) + 2 * p * (routers - 1) + p * far)
    return np.asarray(np.where(p > 0, with_chips, routers * far), dtype=np.int64)


_SUMS: dict[str, Callable[[list[IntArray]], IntArray]] = {
    "linear": _linear,
    "ring": _ring,
    "fully-connected": _full,
    "mesh": _product(_linear),
    "torus": _product(_ring),
    "hyperx": _product(_full),
    "hypercube": _hypercube,
    "star": _star,
    "switch": _switch,
    "leaf-spine": _leaf_spine,
    "fat-tree": _fat_tree,
    "dragonfly": _dragonfly,
}
