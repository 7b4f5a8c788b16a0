"""Where the ranks of a plan sit, for people: levels that groups cross, physical axes of a torus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from planner.network.fabric import Fabric, Torus
from planner.network.groups import membership
from planner.network.placement import Mesh, axis_segments, segments
from planner.plan import AXES
from planner.ranks import Layout

_NAMES = "xyzuvw"
_AXES = ("tp", "cp", "ep", "fsdp", "dp", "pp")


def crossed_levels(fabric: Fabric, mesh: Mesh) -> dict[str, tuple[str, ...]]:
    """For each axis above 1 of a mesh of one row, the levels that its groups cross."""
    by_level = members_by_level(fabric, mesh)
    return {
        axis: tuple(name for name, members in by_level.items() if axis in members)
        for axis in _AXES
        if int(getattr(mesh, axis)[0]) > 1
    }


def members_by_level(fabric: Fabric, mesh: Mesh) -> dict[str, dict[str, tuple[int, int, int]]]:
    """The axes of a mesh of one row that cross each level, innermost level first.

    Returns:
        By level and axis: ranks of a group in one domain of the level inside, in one domain of
        this level (of the worst-placed group), and in all.
    """
    groups = {**axis_segments(mesh), "ep": segments(mesh)["ep"]}
    found: dict[str, dict[str, tuple[int, int, int]]] = {name: {} for name in fabric.names}
    for axis in _AXES:
        if int(getattr(mesh, axis)[0]) == 1:
            continue
        inside = [1, *membership(fabric.levels, groups[axis]).inside[:, 0].tolist()]
        for level, (below, now) in zip(fabric.levels, pairwise(inside), strict=True):
            if now > below:
                found[level.name][axis] = (below, now, inside[-1])
    return found


def torus_words(fabric: Fabric, ranks: Layout) -> str:
    """Which parts of which mesh axes each physical axis serves; empty without a torus.

    Empty too where a part ends inside a physical axis and goes on in the next. Physical axes that
    do not close into rings are called open.

    Args:
        fabric: The network.
        ranks: All parts of all axes, innermost first; see `planner.plan.Plan.ranks`.
    """
    torus = fabric.levels[0].torus
    if torus is None or len(torus.dims) < 2 or math.prod(torus.dims) == 1:
        return ""
    cut = list(_cut(torus.dims, ranks))
    if len(cut) <= len(torus.dims):
        return ""
    *inside, across = cut
    words = [
        f"{_NAMES[at]} ({length}{'' if closed else ', open'}): {_listed(parts)}"
        for at, (length, closed, parts) in enumerate(_axes(torus, inside))
        if length > 1
    ]
    words += ["all wrap"] if _all_closed(torus) else []
    words += [f"outside: {_listed(across)}"] if across else []
    return "; ".join(words)


def _axes(torus: Torus, inside: Sequence[Layout]) -> Iterator[tuple[int, bool, Layout]]:
    return zip(torus.dims, torus.wrap, inside, strict=True)


def _all_closed(torus: Torus) -> bool:
    return all(closed for length, closed in zip(torus.dims, torus.wrap, strict=True) if length > 1)


def _listed(parts: Layout) -> str:
    return ", ".join(f"{axis} {size}" for axis, size in parts)


def _cut(dims: Sequence[int], ranks: Layout) -> Iterator[Layout]:
    """The parts on each physical axis, then those outside; fewer where a part does not fit."""
    assert all(axis in AXES for axis, _ in ranks)
    left = [(axis, size) for axis, size in ranks if size > 1]
    for length in dims:
        here: list[tuple[str, int]] = []
        room = length
        while room > 1 and left:
            axis, size = left.pop(0)
            part = math.gcd(size, room)
            if part < min(size, room):
                return
            here.append((axis, part))
            room //= part
            if size > part:
                left.insert(0, (axis, size // part))
        if room > 1:
            return
        yield tuple(here)
    yield tuple(left)
