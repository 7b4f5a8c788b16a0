"""Where the groups of every placement sit, and which of them cost the same.

A placement of a mesh is an order of its axes or, on a torus, a layout of their parts. Networks of
a group are numbered ("classes"): two with equal costs are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.context import CostModel
from planner.network.classes import group_classes, one_after_the_other
from planner.network.collectives import GroupCosts
from planner.network.fabric import Fabric
from planner.network.groups import Segment
from planner.network.placement import (
    EXPERT_GROUPS,
    GROUPS,
    Mesh,
    axis_segments,
    group_segments,
)
from planner.plan import AXES, ORDERS
from planner.plan.ranks import Layout
from planner.search.deadline import NEVER, Deadline
from planner.search.placements import patterns
from planner.search.placements.layouts import MeshLayouts, efficient, mesh_layouts

LAYOUTS = ("none", "efficient", "every")
NO_LAYOUTS, EFFICIENT, EVERY = LAYOUTS


def distinct_orders(
    meshes: dict[str, IntArray], allowed: tuple[tuple[str, ...], ...]
) -> tuple[IntArray, IntArray]:
    """(mesh, order) pairs: one order per allowed permutation of the axes that exceed 1."""
    big = np.stack([meshes[axis] > 1 for axis in AXES], axis=1)
    pattern = big @ (1 << np.arange(len(AXES)))
    mesh_parts = [np.empty(0, dtype=np.int64)]
    order_parts = [np.empty(0, dtype=np.int64)]
    for value in np.unique(pattern):
        active = tuple(axis for bit, axis in enumerate(AXES) if value >> bit & 1)
        orders = _representatives(active, allowed)
        at = np.flatnonzero(pattern == value)
        mesh_parts.append(np.repeat(at, len(orders)))
        order_parts.append(np.tile(orders, len(at)))
    mesh = np.concatenate(mesh_parts)
    by_mesh = np.argsort(mesh, kind="stable")
    return mesh[by_mesh], np.concatenate(order_parts)[by_mesh]


@lru_cache(maxsize=256)
def _representatives(active: tuple[str, ...], allowed: tuple[tuple[str, ...], ...]) -> IntArray:
    """One of the allowed orders for each permutation of the active axes, first come first kept.

    The array is shared: read-only.
    """
    seen: dict[tuple[str, ...], int] = {}
    for order in allowed:
        seen.setdefault(tuple(a for a in order if a in active), ORDERS.index(order))
    return np.array(list(seen.values()), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PlacedGroups:
    """Where the groups of placements sit.

    Attributes:
        mesh: (p,) mesh of each placement, ascending.
        order: (p,) its index into `ORDERS`, or `len(ORDERS)` and the row of `layouts`.
        layouts: Layouts over tori, if they are asked for.
        fabrics: Distinct networks.
        fabric: (p,) which of them each placement lives on.
        parts: Group name to the segments of its members.
        experts: Whether the model has experts.
        torus_axes: See `CostModel`.
    """

    mesh: IntArray
    order: IntArray
    layouts: MeshLayouts | None
    fabrics: list[Fabric]
    fabric: IntArray
    parts: dict[str, list[Segment]]
    experts: bool
    torus_axes: Mapping[str, float]

    @staticmethod
    def build(
        model: CostModel,
        meshes: dict[str, IntArray],
        orders: tuple[tuple[str, ...], ...],
        layouts: str = NO_LAYOUTS,
        deadline: Deadline = NEVER,
    ) -> PlacedGroups:
        """The groups of every placement; arguments as for `build_placements`."""
        mesh, order = distinct_orders(meshes, orders)
        fabrics, which = _fabrics(model, meshes["chips"])
        sizes: dict[str, Any] = {axis: meshes[axis][mesh] for axis in (*AXES, "ep", "etp")}
        axes = axis_segments(Mesh(**sizes, order=order))
        experts, given = model.shapes.experts > 0, model.torus_axes
        groups = PlacedGroups(mesh, order, None, fabrics, which[mesh], {}, experts, given)
        if layouts == NO_LAYOUTS:
            return replace(groups, parts=group_segments(axes, sizes["ep"], sizes["etp"]))
        kept = patterns.DIFFERENT if layouts == EVERY else patterns.EFFICIENT
        select = partial(groups.chosen, which, meshes["ep"], meshes["etp"], kept)
        found = mesh_layouts(fabrics, which, meshes, kept, select, deadline)
        mesh = np.concatenate([mesh, found.mesh])
        by_mesh = np.argsort(mesh, kind="stable")  # orders of a mesh before its layouts
        order = np.concatenate([order, len(ORDERS) + np.arange(len(found))])[by_mesh]
        axes = {name: _stacked(axes[name], found.parts[name], by_mesh) for name in AXES}
        mesh = mesh[by_mesh]
        return replace(
            groups,
            mesh=mesh,
            order=order,
            layouts=found,
            fabric=which[mesh],
            parts=group_segments(axes, meshes["ep"][mesh], meshes["etp"][mesh]),
        )

    def chosen(
        self, which: IntArray, ep: IntArray, etp: IntArray, kept: str, found: MeshLayouts
    ) -> IntArray:
        """The different or efficient ones of some layouts; (m,) `which` fabric, `ep` and `etp`."""
        parts = group_segments(found.parts, ep[found.mesh], etp[found.mesh])
        here = replace(self, mesh=found.mesh, fabric=which[found.mesh], parts=parts)
        classes, costs = here.all_classes()
        rows = np.sort(distinct([here.mesh, *classes.values()])[0])
        if kept == patterns.DIFFERENT:
            return rows
        few = {name: of_group[rows] for name, of_group in classes.items()}
        return rows[efficient(here.mesh[rows], few, costs)]

    def all_classes(self) -> tuple[dict[str, IntArray], dict[str, GroupCosts]]:
        """`classes` of every group; those of experts are never used without experts."""
        named = [name for name in GROUPS if self.experts or name not in EXPERT_GROUPS]
        found = self.classes(named)
        tp = found["tp"]
        unused = (np.zeros_like(tp[0]), tp[1])
        every = {name: found.get(name, unused) for name in GROUPS}
        classes = {name: of_group[0] for name, of_group in every.items()}
        return classes, {name: of_group[1] for name, of_group in every.items()}

    def codes(self, rows: IntArray) -> tuple[IntArray, tuple[Layout, ...]]:
        """(r,) codes of some placements, and the layouts among them."""
        order = self.order[rows]
        if self.layouts is None:
            return order, ()
        at = np.flatnonzero(order >= len(ORDERS))
        listed = tuple(self.layouts.layout(int(order[row]) - len(ORDERS)) for row in at)
        order[at] = len(ORDERS) + np.arange(len(at))
        return order, listed

    def classes(self, names: Sequence[str]) -> dict[str, tuple[IntArray, GroupCosts]]:
        """By name: (p,) class of each group, and their costs; equal costs are one class."""
        named = {name: self.parts[name] for name in names}
        found = {}
        for name, (classes, costs) in group_classes(
            self.fabrics, self.fabric, named, self.torus_axes
        ).items():
            unique, which = distinct_costs(costs.features)
            found[name] = which[classes], costs.with_features(unique)
        return found


def _fabrics(model: CostModel, chips: IntArray) -> tuple[list[Fabric], IntArray]:
    """Distinct networks, and which of them each mesh lives on.

    Chip counts that see the same levels (all large jobs of a switched cluster) share one.
    """
    counts, inverse = np.unique(chips, return_inverse=True)
    fabrics: list[Fabric] = []
    which = np.zeros(len(counts), dtype=np.int64)
    seen: dict[Fabric, int] = {}
    for index, count in enumerate(counts):
        fabric = model.fabric(int(count))
        if fabric not in seen:
            seen[fabric] = len(fabrics)
            fabrics.append(fabric)
        which[index] = seen[fabric]
    return fabrics, which[inverse.ravel()]


def _stacked(few: list[Segment], many: list[Segment], rows: IntArray) -> list[Segment]:
    """The segments of orders, then of layouts, which have more, in another order of the rows."""
    both = one_after_the_other([few, many])
    return [(size[rows], stride[rows]) for size, stride in both]


def distinct_costs(features: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct columns of cost features, ascending, and which of them each column is.

    Costs are not negative: their big-endian bytes are in order as they are.
    """
    groups = np.ascontiguousarray(features.T, dtype=">f8")
    packed = groups.view(np.dtype((np.void, groups.itemsize * len(features)))).ravel()
    _, first, which = np.unique(packed, return_index=True, return_inverse=True)
    return features[:, first], which
