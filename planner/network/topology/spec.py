"""Topologies as they are typed: `ring`, `ring:8`, `torus:4x4x4`, `fat-tree:k=4`."""

from __future__ import annotations

import re

from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.network.topology.fit import check_chips, fitted
from planner.network.topology.kinds import (
    DGX1,
    GRIDS,
    MEASURED,
    NAMES,
    PARAMETERS,
    Topology,
    chips_of,
)

_SHORT = {"dimensions": "d"}
_EXAMPLES = {
    "leaf-spine": "leaf-spine:chips=16,leaf=4,spines=4",
    "fat-tree": "fat-tree:k=4",
    "dragonfly": "dragonfly:a=4,h=2,p=2",
    "hypercube": "hypercube:16 or hypercube:d=4",
    "mesh": "mesh:4x4",
    "torus": "torus:4x4x4",
    "hyperx": "hyperx:4x4",
}
_MOST_DIMENSIONS = 12


def parse_topology(spec: str, chips: int | None = None) -> Topology:
    """A topology from its spec; a plain number after the name is the number of chips.

    Args:
        spec: `NAME`, `NAME:CHIPS`, `NAME:4x4x4` (grids) or `NAME:k=4,...`.
        chips: The number of chips of a spec without sizes.

    Raises:
        InputError: The name is unknown, or the sizes are missing, malformed or impossible.
    """
    name, colon, sizes = (part.strip() for part in spec.partition(":"))
    if name in MEASURED:
        raise InputError(f"topology: {shown(spec)}: {MEASURED[name]}")
    if name not in NAMES:
        known = (*NAMES, *(other for other in MEASURED if other not in ("custom", *DGX1[1:])))
        raise InputError(f"topology: {not_one_of(name, known)}")
    try:
        if not colon:
            if chips is None:
                raise InputError(f"no number of chips; write {name}:16 or give one for all of them")
            return fitted(name, chips)
        topology = _sized(name, sizes)
        if chips is not None and topology.chips != chips:
            raise InputError(f"has {topology.chips:,} chips, but {chips:,} are asked for")
        return topology
    except InputError as error:
        text = str(error)
        raise InputError(f"topology: {shown(spec)}: {text.removeprefix('chips: ')}") from error


def _sized(name: str, text: str) -> Topology:
    if re.fullmatch(r"[0-9]{1,9}", text):
        return fitted(name, int(text))
    if name in GRIDS:
        if not re.fullmatch(r"[0-9]{1,7}(x[0-9]{1,7})+", text):
            raise _malformed(name)
        return _grid(name, tuple(map(int, text.split("x"))))
    given = _given(name, text)
    return _CHECKED[name](given) if name in _CHECKED else fitted(name, given["chips"])


def _grid(name: str, sizes: tuple[int, ...]) -> Topology:
    if min(sizes) < 1 or len(sizes) > _MOST_DIMENSIONS:
        raise InputError(f"each size must be at least 1, of at most {_MOST_DIMENSIONS} dimensions")
    total = 1
    for size in sizes:
        total *= size
    check_chips(total)
    return Topology(name=name, sizes=tuple(size for size in sizes if size > 1))


def _given(name: str, text: str) -> dict[str, int]:
    """`k=4,h=2` as a mapping."""
    known = [_SHORT.get(word, word) for word in PARAMETERS[name]]
    found: dict[str, int] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-z]+)\s*=\s*([0-9]{1,7})\s*", part)
        if match is None:
            raise _malformed(name)
        key, value = match[1], int(match[2])
        if key not in known:
            raise InputError(not_one_of(key, known))
        if key in found:
            raise InputError(f"{key} is given twice")
        found[key] = value
    return found


def _malformed(name: str) -> InputError:
    return InputError(f"write the sizes like {_EXAMPLES.get(name, f'{name}:16')}")


def _needed(given: dict[str, int], *names: str) -> tuple[int, ...]:
    if missing := [name for name in names if name not in given]:
        raise InputError(f"{missing[0]} is missing")
    return tuple(given[name] for name in names)


def _hypercube(given: dict[str, int]) -> Topology:
    (d,) = _needed(given, "d")
    if not 1 <= d <= 19:
        raise InputError(f"d={d}: a hypercube has 1 to 19 dimensions")
    return Topology(name="hypercube", sizes=(d,))


def _leaf_spine(given: dict[str, int]) -> Topology:
    chips, leaf = _needed(given, "chips", "leaf")
    check_chips(chips)
    spines = given.get("spines", leaf)
    if leaf < 1 or chips % leaf:
        sizes = [size for size in range(1, chips + 1) if chips % size == 0]
        near = min(sizes, key=lambda size: (abs(size - leaf), size))
        raise InputError(f"leaf={leaf} does not divide {chips:,} chips; nearest: leaf={near}")
    if spines < 1 and leaf < chips:
        raise InputError("spines=0 leaves the leaves apart; use at least 1")
    return Topology(name="leaf-spine", sizes=(chips, leaf, spines))


def _fat_tree(given: dict[str, int]) -> Topology:
    (k,) = _needed(given, "k")
    if k < 2 or k % 2:
        near = "k=2" if k < 2 else f"k={k - 1} or k={k + 1}"
        raise InputError(f"k={k}: switches must have an even number of ports; nearest: {near}")
    check_chips(k**3 // 4)
    return Topology(name="fat-tree", sizes=(k,))


def _dragonfly(given: dict[str, int]) -> Topology:
    a, h = _needed(given, "a", "h")
    p = given.get("p", h)
    if a < 1 or h < 1:
        raise InputError(f"a={a},h={h}: routers and global links per router must be at least 1")
    check_chips(int(chips_of("dragonfly", (a, h, p))))
    return Topology(name="dragonfly", sizes=(a, h, p))


_CHECKED = {
    "hypercube": _hypercube,
    "leaf-spine": _leaf_spine,
    "fat-tree": _fat_tree,
    "dragonfly": _dragonfly,
}
