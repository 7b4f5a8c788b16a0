"""Layouts of the mesh axes over a torus as candidates beside the orders of the axes.

For a mesh, every way to cut its axes into parts and to lay these along the physical axes of the
slice that its chips form (`planner.search.placements.patterns`). A job on several slices, or on
several nodes with a torus each, has the rest of every axis across them, in the order tp, cp, fsdp,
dp, pp.

Only *efficient* layouts are kept unless all are wanted: a layout goes when another of the mesh
makes no collective slower. A plan does not get faster when a message gets slower, nor does it need
less energy, so neither the optimum nor the front of time and energy loses anything. The mean power
may be lower, though: under a limit on power every layout of other costs is a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import product

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import Fabric, Torus
from planner.network.groups import Segment
from planner.plan import AXES
from planner.plan.ranks import Layout
from planner.search.deadline import NEVER, Deadline
from planner.search.placements.patterns import ALL, layouts_of, patterns, unbeaten

_AT_A_TIME = 2**18
_EXACT = (0, 1)  # rows of the costs: members and nodes; the seconds follow
_GATHER, _REDUCE, _SEND, _EXCHANGE = (2, 3, 4, 5), (6, 7, 8, 9), (10, 11), (12, 13, 14)
_CROSSINGS = 15
_USED = {
    "cp": (*_GATHER, *_EXCHANGE), "ep": _EXCHANGE, "pp": _SEND,
}  # fmt: skip
_USED_ELSEWHERE = (*_GATHER, *_REDUCE)


@dataclass(frozen=True, slots=True)
class MeshLayouts:
    """The layouts of some meshes.

    Attributes:
        mesh: (l,) mesh of each layout, ascending.
        parts: Each of `AXES` to its segments, (l,) each: one per physical axis and one across
            slices.
    """

    mesh: IntArray
    parts: dict[str, list[Segment]]

    def __len__(self) -> int:
        return len(self.mesh)

    def take(self, index: IntArray) -> MeshLayouts:
        """The layouts of `index`."""
        parts = {
            axis: [(size[index], stride[index]) for size, stride in segments]
            for axis, segments in self.parts.items()
        }
        return MeshLayouts(self.mesh[index], parts)

    def layout(self, row: int) -> Layout:
        """A row as plans hold it, innermost part first."""
        parts = [
            (int(stride[row]), axis, int(size[row]))
            for axis, segments in self.parts.items()
            for size, stride in segments
            if size[row] > 1
        ]
        return tuple((axis, size) for _, axis, size in sorted(parts))


def torus_of(fabric: Fabric) -> Torus | None:
    """The torus that layouts are laid along: innermost, of more than one physical axis."""
    torus = fabric.levels[0].torus
    return torus if torus is not None and len(torus.dims) > 1 else None


def mesh_layouts(
    fabrics: list[Fabric],
    fabric: IntArray,
    meshes: dict[str, IntArray],
    kept: str,
    select: Callable[[MeshLayouts], IntArray],
    deadline: Deadline = NEVER,
) -> MeshLayouts:
    """The layouts of some meshes.

    Args:
        fabrics: Distinct networks.
        fabric: (m,) which of them each mesh lives on; those without a torus have no layouts.
        meshes: Columns `AXES`, "ep" and "etp", (m,) each.
        kept: Of which patterns; one of `planner.search.placements.patterns.KEPT`.
        select: Which of those layouts to keep, given a few hundred thousand at a time.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    sizes = np.stack([meshes[axis] for axis in AXES], axis=1)
    tori = [torus_of(network) for network in fabrics]
    axes = max((len(torus.dims) for torus in tori if torus), default=0)
    found, block, held = [_table([], axes)], [], 0
    for row, mesh in enumerate(sizes):
        torus = tori[int(fabric[row])]
        if torus is None:
            continue
        deadline.check()
        ep, etp = (int(meshes[name][row]) for name in ("ep", "etp"))
        own = _parts_of(torus, mesh, ep * etp, axes, kept if etp == 1 else ALL)
        block.append((row, own))
        held += len(own)
        if held > _AT_A_TIME:
            found.append(_selected(_table(block, axes), select))
            block, held = [], 0
    found.append(_selected(_table(block, axes), select))
    return MeshLayouts(
        np.concatenate([part.mesh for part in found]),
        {axis: _end_to_end([part.parts[axis] for part in found]) for axis in AXES},
    )


def _selected(found: MeshLayouts, select: Callable[[MeshLayouts], IntArray]) -> MeshLayouts:
    return found.take(select(found)) if len(found) else found


def _end_to_end(lists: list[list[Segment]]) -> list[Segment]:
    """Lists of as many segments each, row after row."""
    return [
        (np.concatenate([size for size, _ in same]), np.concatenate([step for _, step in same]))
        for same in zip(*lists, strict=True)
    ]


def _table(block: list[tuple[int, IntArray]], axes: int) -> MeshLayouts:
    """The layouts of some meshes from (mesh, parts) of each."""
    nothing = np.ones((0, axes + 1, 2, len(AXES)), dtype=np.int64)
    parts = np.concatenate([nothing, *(own for _, own in block)])
    mesh = [np.full(len(own), row, dtype=np.int64) for row, own in block]
    return MeshLayouts(
        np.concatenate([np.empty(0, dtype=np.int64), *mesh]),
        {
            name: [(parts[:, at, 0, i].copy(), parts[:, at, 1, i].copy()) for at in range(axes + 1)]
            for i, name in enumerate(AXES)
        },
    )


def _parts_of(torus: Torus, mesh: IntArray, ep: int, axes: int, kept: str) -> IntArray:
    """(l, axes + 1, 2, 5) size and stride of every part of every layout of a mesh."""
    chosen = layouts_of(torus.dims, torus.wrap, tuple(mesh.tolist()), ep, kept)
    parts = np.ones((len(chosen), axes + 1, 2, len(AXES)), dtype=np.int64)
    inside = 1
    left = np.tile(mesh, (len(chosen), 1))
    for at, length in enumerate(torus.dims):
        found = patterns(length)
        parts[:, at, 0] = found.size[chosen[:, at]]
        parts[:, at, 1] = found.stride[chosen[:, at]] * inside
        left = left // parts[:, at, 0]
        inside *= length
    parts[:, -1, 0] = left
    parts[:, -1, 1] = np.cumprod(left, axis=1) // left * inside
    return parts


def efficient(
    mesh: IntArray, classes: dict[str, IntArray], costs: dict[str, GroupCosts]
) -> IntArray:
    """Ascending placements of which no other of their mesh makes every collective as fast.

    Args:
        mesh: (p,) mesh of each placement, ascending.
        classes: Group name to (p,) class of its network.
        costs: Group name to the costs of the classes.
    """
    levels = next(iter(costs.values())).levels
    exact = [*_EXACT, *range(_CROSSINGS, _CROSSINGS + 3 * levels)]
    same = [mesh]
    seconds: list[FloatArray] = []
    for name, of_class in classes.items():
        features = costs[name].features
        same.append(distinct([row.view(np.int64) for row in features[exact]])[1][of_class])
        used = [features[row] for row in _used(name, costs[name])]
        ranks = np.stack([np.unique(row, return_inverse=True)[1] for row in used])
        seconds += [row[of_class] for row in np.unique(ranks, axis=0) if row.any()]
    points = np.stack(seconds or [np.zeros_like(mesh)], axis=1).astype(np.float32)
    _, which = distinct(same)
    order = np.argsort(which, kind="stable")
    bounds = np.flatnonzero(np.diff(which[order])) + 1
    kept = [rows[unbeaten(points[rows])] for rows in np.split(order, bounds) if len(rows)]
    return np.sort(np.concatenate(kept)) if kept else order


def _used(name: str, costs: GroupCosts) -> list[int]:
    """Rows of the costs that plans use of a group, those of synthesized collectives included."""
    rows = list(_USED.get(name, _USED_ELSEWHERE))
    kinds = {"cp": ("gather", "exchange"), "ep": ("exchange",), "pp": ()}
    for kind in kinds.get(name, ("gather", "reduce")):
        rows += [
            row + at for row in costs.rows_of(kind) for at in range(3 if kind == "exchange" else 2)
        ]
    return rows


def least_alone(fabric: Fabric, sizes: IntArray, chips: int) -> FloatArray:
    """(features, n) costs below which no layout can be for a group of each of `sizes`.

    The group alone on the slice, whatever becomes of the rest; inf where none has that size. On
    an axis neighbours are best: members that are further apart have less than a link each, or as
    much where they are half of a ring. Across slices every distance is tried.
    """
    wanted, which = np.unique(sizes, return_inverse=True)
    segments, members = _alone(fabric, chips)
    rows = np.flatnonzero(np.isin(members, wanted))
    costs = group_costs(fabric, [(size[rows], stride[rows]) for size, stride in segments])
    for row in costs.rows_of("gather")[:1]:  # schedules may use links of chips further apart
        costs.features[row:] = 0.0
    least = np.full((costs.features.shape[0], len(wanted)), np.inf)
    np.minimum.at(least.T, np.searchsorted(wanted, members[rows]), costs.features.T)
    return least[:, which.ravel()]


def _alone(fabric: Fabric, chips: int) -> tuple[list[Segment], IntArray]:
    """Segments of all groups of `least_alone`, and how many members each has."""
    torus = torus_of(fabric)
    dims = () if torus is None else torus.dims
    places = [_divisors(length) for length in dims]
    slices = chips // math.prod(dims)
    across = [(o, math.prod(dims) * s) for o in _divisors(slices) for s in _divisors(slices // o)]
    rows = np.array([[*at, *end] for at in product(*places) for end in across], dtype=np.int64)
    inner = np.cumprod([1, *dims])
    segments = [(rows[:, at], np.full(len(rows), inner[at])) for at in range(len(dims))]
    segments.append((rows[:, -2], rows[:, -1]))
    return segments, rows[:, :-1].prod(axis=1)


@lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    return tuple(n for n in range(1, number + 1) if number % n == 0)
