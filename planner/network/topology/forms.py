"""Links, ports, switches, diameter and bisection in closed form, over sizes or arrays of sizes.

Sizes are those of `planner.network.topology.kinds.Topology`; `sizes_of` finds them for numbers of
chips. A link is a cable that carries traffic both ways at once; a pair of chips along a dimension
of two has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from planner.base.arrays import IntArray
from planner.network.topology.fit import fitted
from planner.network.topology.hops import whole_chips
from planner.network.topology.kinds import LINES, check_name, chips_of

Sizes = Sequence[IntArray | int]
_Form = Callable[[list[IntArray]], IntArray]


def sizes_of(name: str, n: npt.ArrayLike, dimensions: int | None = None) -> tuple[IntArray, ...]:
    """Sizes of a topology for each number of chips, as `fitted` chooses them.

    Args:
        name: One of `NAMES`.
        n: (m,) numbers of chips.
        dimensions: Most dimensions of a grid; dimensions that are not needed have size 1.

    Returns:
        One array of shape (m,) per size.

    Raises:
        InputError: See `average_hops`.
    """
    check_name(name)
    chips = np.atleast_1d(whole_chips(n))
    if name in LINES:
        return (chips,)
    each, inverse = np.unique(chips, return_inverse=True)
    found = [fitted(name, int(count), dimensions).sizes for count in each]
    most = max(map(len, found), default=1)
    padded = [(*sizes, *[1] * (most - len(sizes))) for sizes in found]
    return tuple(np.asarray(padded, dtype=np.int64).reshape(-1, most)[inverse].T)


def link_count(name: str, sizes: Sizes) -> IntArray:
    """Links of a topology, those between chips and switches included."""
    return _of(_LINKS, name, sizes)


def ports_per_chip(name: str, sizes: Sizes) -> IntArray:
    """The most links at one chip; a link to a switch takes one port."""
    return _of(_PORTS, name, sizes)


def switch_count(name: str, sizes: Sizes) -> IntArray:
    """Switches; routers that carry chips count as switches."""
    return _of(_SWITCHES, name, sizes)


def switch_ports(name: str, sizes: Sizes) -> IntArray:
    """Ports in use at all switches: every end of a link that is not at a chip."""
    n = chips_of(name, sizes)
    at_chips = np.where(switch_count(name, sizes) > 0, n, 2 * link_count(name, sizes))
    return np.asarray(2 * link_count(name, sizes) - at_chips, dtype=np.int64)


def diameter_hops(name: str, sizes: Sizes) -> IntArray:
    """The most hops between two chips; of a dragonfly under local-global-local routing."""
    return _of(_DIAMETERS, name, sizes)


def bisection_links(name: str, sizes: Sizes) -> IntArray:
    """The fewest links between two halves of the chips, floor(N / 2) and the others.

    Switches stand on whichever side cuts fewer. Exact, save the dragonfly's, which is an upper
    bound: the cut between halves of its groups; see `bisection_is_exact`.

    Source: mesh and torus, Arjona Aroca and Fernandez Anta, Bisection (band)width of product
    networks (2014); products of complete graphs, Lindsey (1964); fat tree, the full bisection of
    a rearrangeably non-blocking network; leaf-spine, see `_leaf_spine_cut`.
    """
    return _of(_CUTS, name, sizes)


def bisection_is_exact(name: str) -> bool:
    """Whether `bisection_links` is the fewest links, not only a cut that exists."""
    check_name(name)
    return name != "dragonfly"


def _of(table: dict[str, _Form], name: str, sizes: Sizes) -> IntArray:
    check_name(name)
    given = [np.asarray(size, dtype=np.int64) for size in sizes]
    return np.asarray(table[name](given), dtype=np.int64)


def _n(sizes: list[IntArray]) -> IntArray:
    return np.asarray(np.prod(np.broadcast_arrays(*sizes), axis=0), dtype=np.int64)


def _ring_links(k: IntArray) -> IntArray:
    """k; one for two, none for one."""
    return np.asarray(k - (k <= 2), dtype=np.int64)


def _along(links: Callable[[IntArray], IntArray]) -> _Form:
    """Links of a product: N / k_i copies of the graph along each dimension."""
    return lambda sizes: np.sum([_n(sizes) // k * links(k) for k in sizes], axis=0)


def _summed(each: Callable[[IntArray], IntArray]) -> _Form:
    """A sum over dimensions: ports and diameters of products add up."""
    return lambda sizes: np.sum([each(k) for k in sizes], axis=0)


def _pairs(k: IntArray) -> IntArray:
    return k * (k - 1) // 2


def _halves(k: IntArray) -> IntArray:
    """Pairs across two halves of a complete graph."""
    return k * k // 4


def _nothing(sizes: list[IntArray]) -> IntArray:
    return np.zeros_like(sizes[0])


def _one(sizes: list[IntArray]) -> IntArray:
    return np.ones_like(sizes[0])


def _dragonfly_links(sizes: list[IntArray]) -> IntArray:
    """Chips to routers, a (a - 1) / 2 within each of G groups, one between each two groups."""
    a, h, p = sizes
    routers = a * (a * h + 1)
    return p * routers + router_links(routers, a, h)


def router_links(routers: IntArray | int, a: IntArray | int, h: IntArray | int) -> IntArray:
    """Links between the first so many routers of a dragonfly, at most its a (a h + 1).

    Groups fill one after the other. Several groups use all global links of their routers, some of
    them side by side where the groups are fewer than a h + 1.
    """
    r, a, h = (np.asarray(given, dtype=np.int64) for given in (routers, a, h))
    local = r // a * _pairs(a) + _pairs(r % a)
    return np.asarray(local + np.where(r > a, r * h // 2, 0), dtype=np.int64)


def _leaf_spine_cut(sizes: list[IntArray]) -> IntArray:
    """The smaller of floor(N/2) chip links and a cut between the leaves and the spines.

    With x of L leaves on the smaller side, x s links to s spines are cut and the floor(N/2) - x g
    chips that are missing there leave others' leaves; this is linear in x, so that x = 0 or
    x = floor(L/2) is the least.
    """
    n, g, spines = sizes
    split = n // g // 2
    return np.minimum(n // 2, split * spines + n // 2 - split * g)


def _dragonfly_cut(sizes: list[IntArray]) -> IntArray:
    """Links between halves of the G groups; an odd group is halved along its routers.

    An even G cuts (G/2)^2 links. An odd one has q = (G - 1)/2 groups on each side, q^2 links, and
    floor(a^2/4) within the halved group, whose own links lead to groups of its sides; with an odd
    number of routers h/2 of them do not, and half the chips of one router stand across.
    """
    a, h, p = sizes
    groups = a * h + 1
    odd = _halves(a) + a % 2 * (h // 2 + p // 2)
    cut = (groups // 2) ** 2 + np.where(groups % 2 == 1, odd, 0)
    return np.where(p > 0, np.minimum(cut, p * a * groups // 2), cut)


def _slabs(cut: Callable[[IntArray], IntArray]) -> _Form:
    """Halving a product dimension by dimension, up to and including the first of even size.

    A dimension of odd size leaves a slab in the middle that is halved along the next one. The
    dimensions come in the order of links cut per chip of a line, fewest first; of equals an even
    one first.
    """

    def total(sizes: list[IntArray]) -> IntArray:
        k = np.stack(np.broadcast_arrays(*sizes))
        order = np.lexsort((k % 2, cut(k) / k), axis=0)
        k = np.take_along_axis(k, order, axis=0)
        inside = np.prod(k, axis=0) // np.cumprod(k, axis=0)
        reached = np.cumprod(np.concatenate([np.ones_like(k[:1]), k[:-1] % 2]), axis=0)
        return np.asarray((inside * cut(k) * reached).sum(axis=0), dtype=np.int64)

    return total


_LINKS: dict[str, _Form] = {
    "linear": lambda s: s[0] - 1,
    "ring": lambda s: _ring_links(s[0]),
    "fully-connected": lambda s: _pairs(s[0]),
    "mesh": _along(lambda k: k - 1),
    "torus": _along(_ring_links),
    "hyperx": _along(_pairs),
    "hypercube": lambda s: s[0] * (1 << s[0]) // 2,
    "star": lambda s: s[0] - 1,
    "switch": lambda s: s[0],
    "leaf-spine": lambda s: s[0] + s[0] // s[1] * s[2],
    "fat-tree": lambda s: 3 * s[0] ** 3 // 4,
    "dragonfly": _dragonfly_links,
}
_PORTS: dict[str, _Form] = {
    "linear": lambda s: np.minimum(s[0] - 1, 2),
    "ring": lambda s: np.minimum(s[0] - 1, 2),
    "fully-connected": lambda s: s[0] - 1,
    "mesh": _summed(lambda k: np.minimum(k - 1, 2)),
    "torus": _summed(lambda k: np.minimum(k - 1, 2)),
    "hyperx": _summed(lambda k: k - 1),
    "hypercube": lambda s: s[0],
    "star": lambda s: s[0] - 1,
    "switch": _one,
    "leaf-spine": _one,
    "fat-tree": _one,
    "dragonfly": lambda s: np.where(s[2] > 0, 1, s[0] - 1 + s[1]),
}
_SWITCHES: dict[str, _Form] = {
    **dict.fromkeys(
        ("linear", "ring", "fully-connected", "mesh", "torus", "hyperx", "hypercube", "star"),
        _nothing,
    ),
    "switch": _one,
    "leaf-spine": lambda s: s[0] // s[1] + s[2],
    "fat-tree": lambda s: 5 * s[0] ** 2 // 4,
    "dragonfly": lambda s: np.where(s[2] > 0, s[0] * (s[0] * s[1] + 1), 0),
}
_DIAMETERS: dict[str, _Form] = {
    "linear": lambda s: s[0] - 1,
    "ring": lambda s: s[0] // 2,
    "fully-connected": _one,
    "mesh": _summed(lambda k: k - 1),
    "torus": _summed(lambda k: k // 2),
    "hyperx": _summed(lambda k: np.minimum(k - 1, 1)),
    "hypercube": lambda s: s[0],
    "star": lambda s: np.minimum(s[0] - 1, 2),
    "switch": lambda s: 2 * _one(s),
    "leaf-spine": lambda s: np.where(s[1] < s[0], 4, 2),
    "fat-tree": lambda s: 6 * _one(s),
    "dragonfly": lambda s: np.where(s[0] > 1, 3, 1) + 2 * (s[2] > 0),
}
_CUTS: dict[str, _Form] = {
    "linear": _one,
    "ring": lambda s: np.minimum(s[0] - 1, 2),
    "fully-connected": lambda s: _halves(s[0]),
    "mesh": _slabs(lambda k: np.minimum(k - 1, 1)),
    "torus": _slabs(lambda k: np.minimum(k - 1, 2)),
    "hyperx": _slabs(_halves),
    "hypercube": lambda s: (1 << s[0]) // 2,
    "star": lambda s: s[0] // 2,
    "switch": lambda s: s[0] // 2,
    "leaf-spine": _leaf_spine_cut,
    "fat-tree": lambda s: s[0] ** 3 // 8,
    "dragonfly": _dragonfly_cut,
}
