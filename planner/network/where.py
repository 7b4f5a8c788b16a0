"""Where the ranks of a plan sit, for people: levels that groups cross, physical axes of a torus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from frozen_records import dataclass
from planner.network.fabric import Fabric
from planner.network.groups import membership
from planner.network.placement import Mesh, axis_segments, group_segments
from planner.plan import AXES
from planner.plan.ranks import Layout

_NAMES = "xyzuvw"
_AXES = ("tp", "cp", "etp", "ep", "fsdp", "dp", "pp")


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
    groups = axis_segments(mesh)
    if int(mesh.ep[0]) * int(mesh.etp[0]) > 1:
        folded = group_segments(groups, mesh.ep, mesh.etp)
        groups = {**groups, "ep": folded["ep"], "etp": folded["etp"]}
    found: dict[str, dict[str, tuple[int, int, int]]] = {name: {} for name in fabric.names}
    for axis in _AXES:
        if int(getattr(mesh, axis)[0]) == 1:
            continue
        inside = [1, *membership(fabric.levels, groups[axis]).inside[:, 0].tolist()]
        for level, (below, now) in zip(fabric.levels, pairwise(inside), strict=True):
            if now > below:
                found[level.name][axis] = (below, now, inside[-1])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusAxis:
    """One physical axis of a torus: its name, length, whether it closes, and what it serves.

    Attributes:
        name: x, y, ...
        length: Chips along it.
        closed: Whether it is a ring.
        parts: (mesh axis, ranks along it), innermost first.
    """

    name: str
    length: int
    closed: bool
    parts: Layout


def torus_axes(fabric: Fabric, ranks: Layout) -> tuple[tuple[TorusAxis, ...], Layout]:
    """The physical axes of the innermost level that a mesh is laid along, and what lies outside.

    Nothing without a torus, and where a part ends inside a physical axis and goes on in the next.

    Args:
        fabric: The network.
        ranks: All parts of all axes, innermost first; see `planner.plan.Plan.ranks`.
    """
    torus = fabric.levels[0].torus
    if torus is None or len(torus.dims) < 2 or math.prod(torus.dims) == 1:
        return (), ()
    cut = list(_cut(torus.dims, ranks))
    if len(cut) <= len(torus.dims):
        return (), ()
    *inside, across = cut
    axes = tuple(
        TorusAxis(name=_NAMES[at], length=length, closed=closed, parts=parts)
        for at, (length, closed, parts) in enumerate(
            zip(torus.dims, torus.wrap, inside, strict=True)
        )
        if length > 1
    )
    return axes, across


def torus_words(fabric: Fabric, ranks: Layout) -> str:
    """Which parts of which mesh axes each physical axis serves; empty as in `torus_axes`.

    Physical axes that do not close into rings are called open.

    Args:
        fabric, ranks: As there.
    """
    axes, across = torus_axes(fabric, ranks)
    if not axes:
        return ""
    words = [
        f"{axis.name} ({axis.length}{'' if axis.closed else ', open'}): {_listed(axis.parts)}"
        for axis in axes
    ]
    words += ["all wrap"] if all(axis.closed for axis in axes) else []
    words += [f"outside: {_listed(across)}"] if across else []
    return "; ".join(words)


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
