"""The direct links inside one domain of chips: lanes between every two, what rings keep of them.

A lane is one link between two chips. The chips of a hybrid cube mesh (DGX-1) are in the order in
which ranks fill it best: the pairs 0-1, 2-3, ... have two links (the matrix of the MSCCL tools).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from hardware_db import Level, load_reference
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.base.messages import shown

LANES_OF_DGX1 = 6
"""Links of a chip of a hybrid cube mesh."""
_FLAT = ("hybrid-cube-mesh", "fully-connected", "ring", "linear", "hypercube")
TILED = (*_FLAT, "torus", "mesh")
"""Topologies of a level whose chips are joined directly, with a known place for every link."""


def lanes_between(level: Level, chips: int) -> IntArray:
    """(chips, chips) lanes between every two chips of a domain; where none is degraded.

    Args:
        level: A scale-up level whose topology is one of `TILED`.
        chips: Chips of the domain that the job has: the first of it.
    """
    if level.topology == "hybrid-cube-mesh":
        return _dgx1()[:chips, :chips]
    if level.topology == "fully-connected":
        return 1 - np.eye(chips, dtype=np.int64)
    if level.torus_dims:
        return _grid(level.torus_dims, level.torus_wrap)
    if level.topology == "hypercube":
        return _grid((2,) * (chips.bit_length() - 1), (False,) * (chips.bit_length() - 1))
    closed = level.topology == "ring" and level.domain_chips == chips
    return _grid((chips,), (closed and chips > 2,))


@lru_cache(maxsize=1)
def _dgx1() -> IntArray:
    """Links of a DGX-1; the array is shared: read-only."""
    table = load_reference("topologies").quantities["dgx1-v100.links_between_msccl"].value
    return np.array(table, dtype=np.int64)


def _grid(dims: tuple[int, ...], wrap: tuple[bool, ...]) -> IntArray:
    """Links of a torus or mesh whose first axis ranks walk first."""
    chips = prod(dims)
    lanes = np.zeros((chips, chips), dtype=np.int64)
    stride = 1
    for length, closed in zip(dims, wrap, strict=True):
        place = np.arange(chips) // stride % length
        here = np.flatnonzero((place < length - 1) | closed)
        there = here + np.where(place[here] < length - 1, stride, -stride * (length - 1))
        if length > 1:
            np.add.at(lanes, (here, there), 1)
            np.add.at(lanes, (there, here), 1)
        stride *= length
    return lanes


def link_words(u: int, v: int) -> str:
    """`0-2`, or `3` of a link to a switch."""
    return f"{u}-{v}" if u != v else f"{u}"


def left_for_rings(level: Level, chips: int) -> tuple[tuple[int, int, float], ...]:
    """(chip, chip, share) of the rate of rings that each degraded link of a domain leaves.

    Of links to switches the chip stands twice: all rings that leave it or come to it go over it.
    A slow link holds up every ring, for rings carry equal parts. Of one that has failed the rings
    are given up: each takes two lanes of every chip. If there is no other ring, it has become a
    line, with half of the rate.
    """
    slow = [(u, v, share) for u, v, share in level.degraded if max(u, v) < chips]
    if not slow or level.topology not in TILED:
        return tuple(slow)
    lanes = lanes_between(level, chips)
    rings = max(int(lanes.sum(axis=1).max()) // 2, 1)
    return tuple(
        (u, v, share if share > 0 else max(1 - int(lanes[u, v]) / rings, 0.5 / rings))
        for u, v, share in slow
    )


def check_degraded(level: Level, u: int, v: int, cluster: str) -> None:
    """Refuses a link that a level does not have.

    Raises:
        InputError: It names the links that there are.
    """
    size = level.domain_chips or 0
    direct = level.kind == "scale-up" and level.topology in TILED
    if not direct and level.topology in TILED:
        raise InputError(f"{level.name} of {cluster} has no links of single chips; leave it out")
    if direct == (u == v):
        said = (
            "links are between two chips, e.g. 0-1"
            if direct
            else (f"a chip has a link to a switch, not to another chip; name one chip, e.g. {u}")
        )
        raise InputError(f"{level.name} of {cluster} is wired as {level.topology}: {said}")
    if not direct:
        if size and u >= size:
            raise InputError(f"{u}: chips of a domain of {level.name} are 0 to {size - 1}")
        return
    if level.torus is not None and (level.torus.cube_edge or not level.torus_dims):
        raise InputError(
            f"{level.name} of {cluster} comes in slices of a torus, whose links have no fixed "
            "place; degrade a level with a fixed wiring"
        )
    if not 0 <= min(u, v) <= max(u, v) < size or u == v:
        raise InputError(
            f"{u}-{v}: chips of a domain of {level.name} are 0 to {size - 1}, two different ones"
        )
    lanes = lanes_between(level, size)
    if not lanes[u, v]:
        near = ", ".join(f"{u}-{w}" for w in np.flatnonzero(lanes[u]).tolist())
        raise InputError(f"{shown(f'{u}-{v}')}: no link joins these chips; {u} has {near}")
