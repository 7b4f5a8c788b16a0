"""Ports of a chip and links of a job on a machine, by the wiring of its levels."""

from __future__ import annotations

import math

from hardware_db import Allocation
from hardware_db.torus import Shape

_SWITCHED = ("switch", "fat-tree", "leaf-spine", "dragonfly")


def degree(name: str, size: int, shape: Shape) -> int:
    """Ports that a chip inside a direct wiring of `size` chips has; 1 on a switch."""
    if name in _SWITCHED:
        return 1
    if name == "fully-connected":
        return size - 1
    if name in ("ring", "linear"):
        return min(2, size - 1)
    return sum(2 if axis > 2 else axis - 1 for axis in shape)


def ports_per_chip(allocation: Allocation) -> int:
    """Ports of the busiest chip, all levels together; a switched level takes one."""
    return sum(_of_level(allocation)[0])


def links_of(allocation: Allocation) -> int:
    """Links of all levels: edges of direct wirings, one per chip and tier of switches."""
    return sum(_of_level(allocation)[1])


def _of_level(allocation: Allocation) -> tuple[list[int], list[int]]:
    """Ports per chip and links of each level of an allocation."""
    ports, links, inside, climbing = [], [], 1, False
    for level in allocation.levels:
        domain = level.domain_chips or allocation.chips
        size = domain // inside
        shape, wrap = level.torus_dims, level.torus_wrap
        if level.topology in _SWITCHED:
            ports.append(0 if climbing else 1)
            links.append(allocation.chips)
            climbing = level.kind == "scale-out"
        else:
            if level.topology in ("ring", "linear"):
                shape, wrap = (size,), (level.topology == "ring" and size > 2,)
            edges = (
                size * (size - 1) // 2
                if level.topology == "fully-connected"
                else _edges(shape, wrap)
            )
            ports.append(degree(level.topology, size, shape))
            links.append(allocation.chips // max(size, 1) * edges)
        inside = domain
    return ports, links


def _edges(shape: Shape, wrap: tuple[bool, ...]) -> int:
    """Links of a torus or mesh."""
    every = math.prod(shape)
    return sum(
        every // axis * (axis if closed else axis - 1)
        for axis, closed in zip(shape, wrap, strict=True)
    )
