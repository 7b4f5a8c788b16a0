"""Ports of a chip and links of a job on a machine, by the closed forms of its levels' wirings."""

from __future__ import annotations

import math

from hardware_db import Allocation, Level
from hardware_db.torus import Shape
from planner.network.topology import forms

_SWITCHED = ("switch", "fat-tree", "leaf-spine", "dragonfly")
_LINES = ("ring", "linear", "fully-connected")


def degree(name: str, size: int, shape: Shape) -> int:
    """Ports that a chip inside a direct wiring of `size` chips has; 1 on a switch."""
    if name in _SWITCHED:
        return 1
    if name in _LINES:
        return int(forms.ports_per_chip(name, (size,)))
    return int(forms.ports_per_chip("torus", shape))  # a mesh has as many


def ports_per_chip(allocation: Allocation) -> int:
    """Ports of the busiest chip, all levels together; a switched level takes one."""
    return sum(_of_level(allocation)[0])


def links_of(allocation: Allocation) -> int:
    """Links of all levels: edges of direct wirings, one per chip and tier of switches.

    A dragonfly has those between its switches instead of the second tier.
    """
    return sum(_of_level(allocation)[1])


def _of_level(allocation: Allocation) -> tuple[list[int], list[int]]:
    """Ports per chip and links of each level of an allocation."""
    ports, links, inside, climbing = [], [], 1, False
    for level in allocation.levels:
        domain = level.domain_chips or allocation.chips
        size = domain // inside
        if level.topology in _SWITCHED:
            ports.append(0 if climbing else 1)
            links.append(_between(allocation, level) if level.dragonfly else allocation.chips)
            climbing = level.kind == "scale-out"
        elif level.topology in _LINES or level.torus_dims:
            ports.append(degree(level.topology, size, level.torus_dims))
            links.append(allocation.chips // max(size, 1) * _direct(level, size))
        else:  # another graph, known by its links per chip
            ports.append(level.links)
            links.append(allocation.chips * level.links // 2)
        inside = domain
    return ports, links


def _direct(level: Level, size: int) -> int:
    """Links of one domain of a direct wiring; an axis that is not closed is a line."""
    if level.topology in _LINES:
        return int(forms.link_count(level.topology, (size,)))
    every = math.prod(level.torus_dims)
    return sum(
        every // axis * int(forms.link_count("ring" if closed else "linear", (axis,)))
        for axis, closed in zip(level.torus_dims, level.torus_wrap, strict=True)
    )


def _between(allocation: Allocation, level: Level) -> int:
    """Links between the switches of a dragonfly, which is one of several side by side.

    Cards of equal position in their nodes share a switch, so a leaf of s chips has s / p switches.
    """
    a, h, p = level.dragonfly
    built = allocation.cluster.levels
    leaf = built[[one.name for one in built].index(level.name) - 1]
    rails = (leaf.domain_chips or p) // p
    routers = -(-allocation.chips // (rails * p))
    return rails * int(forms.router_links(routers, a, h))
