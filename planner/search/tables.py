"""Separable cost tables: each term once per distinct combination of what it depends on.

A candidate is a (logical plan, placement, clock) triple. Its cost is assembled from five terms:

    layer     (tp, cp, ep, micro-batch, sp, cp mode, recompute, offload) x networks of tp, cp, ep
    shard     (mesh, sharding, micro-batches) x data-parallel networks       per layer
    state     (mesh, sharding, offload, layout) x data-parallel networks     per step and stage
    ends      (tp, cp, micro-batch)                                          embedding and head
    send      (tp, cp, micro-batch, sp) x network of pp

Two placements of a mesh are the same when every group has the same costs (bandwidth *and*
latency); only distinct ones are kept. Networks of a group are numbered per group ("classes").
A row of a term is `offset[logical plan] + code[placement]`, so that candidates need no look-up
but two gathers and an addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.cost.context import CostModel
from planner.distinct import distinct
from planner.network.classes import group_classes
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
from planner.plan import AXES, ORDERS, FloatArray, IntArray
from planner.ranks import Layout
from planner.search.deadline import NEVER, Deadline
from planner.search.layouts import MeshLayouts, efficient, least_alone, mesh_layouts

LAYOUTS = ("none", "efficient", "every")
NO_LAYOUTS, EFFICIENT, EVERY = LAYOUTS
LAYER_GROUPS = ("tp", "cp", "ep")
DATA_GROUPS = ("shard", "replica", "data", "expert_shard", "expert_replica", "expert_data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """The distinct placements of every mesh.

    Attributes:
        start: (meshes + 1,) offsets: placements of mesh i are start[i] .. start[i + 1] - 1.
        order: (p,) code of a representative; see `planner.plan.PlanTable`.
        layouts: The layouts among them.
        classes: Group name to (p,) class of its network.
        costs: Group name to the costs of its classes.
        ideal: Group name to (meshes,) class whose every cost is the least over the mesh's
            placements; no placement is cheaper. These classes follow the real ones in `costs`.
        merged: Placements that cost the same as another of their mesh, or, where layouts are
            searched, no less; not counted in p.
    """

    start: IntArray
    order: IntArray
    layouts: tuple[Layout, ...]
    classes: dict[str, IntArray]
    costs: dict[str, GroupCosts]
    ideal: dict[str, IntArray]
    merged: int

    @property
    def count(self) -> IntArray:
        """(meshes,) distinct placements of each mesh."""
        return np.diff(self.start)


def _distinct_orders(
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


def build_placements(
    model: CostModel,
    meshes: dict[str, IntArray],
    orders: tuple[tuple[str, ...], ...] = ORDERS,
    layouts: str = NO_LAYOUTS,
) -> Placements:
    """The distinct placements of the meshes; see `Placements`.

    Args:
        model: Gives the network of each chip count.
        meshes: Columns `AXES`, "ep" and "chips", (m,) each.
        orders: Orders of the axes to consider, innermost first.
        layouts: One of `LAYOUTS`: which layouts over a torus to consider beside them.
    """
    groups = _Groups.build(model, meshes, orders, layouts)
    classes: dict[str, IntArray] = {}
    costs: dict[str, GroupCosts] = {}
    for name in GROUPS:
        if name in EXPERT_GROUPS and model.shapes.experts == 0:  # never used
            classes[name], costs[name] = np.zeros_like(classes["tp"]), costs["tp"]
        else:
            classes[name], costs[name] = groups.classes(name)
    first, _ = distinct([groups.mesh, *classes.values()])
    keep = np.sort(first)
    if layouts == EFFICIENT:
        few = {name: column[keep] for name, column in classes.items()}
        keep = keep[efficient(groups.mesh[keep], few, costs)]
    classes = {name: column[keep] for name, column in classes.items()}
    order, listed = groups.codes(keep)
    start = np.searchsorted(groups.mesh[keep], np.arange(len(meshes["chips"]) + 1))
    ideal = {}
    for name in GROUPS:
        ideal[name], costs[name] = _with_ideal(costs[name], classes[name], start)
    return Placements(
        start=start.astype(np.int64),
        order=order,
        layouts=listed,
        classes=classes,
        costs=costs,
        ideal=ideal,
        merged=len(groups.mesh) - len(keep),
    )


def ideal_networks(
    model: CostModel,
    meshes: dict[str, IntArray],
    orders: tuple[tuple[str, ...], ...],
    names: tuple[str, ...],
    deadline: Deadline = NEVER,
    layouts: str = NO_LAYOUTS,
) -> dict[str, GroupCosts]:
    """For some groups of every mesh, (m,) costs of which each is the least over the placements.

    Of layouts over a torus, the least that the group alone could have.

    Args:
        model, meshes, orders: As for `build_placements`.
        names: "tp", "cp" or "ep".
        deadline: When to give up.
        layouts: As for `build_placements`.

    Raises:
        OutOfTime: The deadline passed.
    """
    groups = _Groups.build(model, meshes, orders)
    start = np.searchsorted(groups.mesh, np.arange(len(meshes["chips"]) + 1))
    ideal = {}
    for name in names:
        deadline.check()
        classes, costs = groups.classes(name)
        best = _least(costs, classes, start)
        if layouts != NO_LAYOUTS:
            best[1:] = np.minimum(best, _least_alone(model, meshes, name, deadline))[1:]
        unique, at = _distinct_costs(best)
        ideal[name] = GroupCosts(unique, costs.levels).take(at)
    return ideal


def _least_alone(
    model: CostModel, meshes: dict[str, IntArray], name: str, deadline: Deadline
) -> FloatArray:
    """(features, m) what no layout of a mesh goes below for a group; inf without a torus."""
    found: list[tuple[IntArray, FloatArray]] = []
    for chips in np.unique(meshes["chips"]).tolist():
        deadline.check()
        at = np.flatnonzero(meshes["chips"] == chips)
        found.append((at, least_alone(model.fabric(chips), meshes[name][at], chips)))
    least = np.empty((len(found[0][1]), len(meshes["chips"])))
    for at, features in found:
        least[:, at] = features
    return least


@dataclass(frozen=True, slots=True)
class _Groups:
    """Where the groups of placements sit.

    Attributes:
        mesh: (p,) mesh of each placement, ascending.
        order: (p,) its index into `ORDERS`, or `len(ORDERS)` and the row of `layouts`.
        layouts: Layouts over tori, if they are asked for.
        fabrics: Distinct networks.
        fabric: (p,) which of them each placement lives on.
        parts: Group name to the segments of its members.
    """

    mesh: IntArray
    order: IntArray
    layouts: MeshLayouts | None
    fabrics: list[Fabric]
    fabric: IntArray
    parts: dict[str, list[Segment]]

    @staticmethod
    def build(
        model: CostModel,
        meshes: dict[str, IntArray],
        orders: tuple[tuple[str, ...], ...],
        layouts: str = NO_LAYOUTS,
    ) -> _Groups:
        """The groups of every placement; arguments as for `build_placements`."""
        mesh, order = _distinct_orders(meshes, orders)
        fabrics, which = _fabrics(model, meshes["chips"])
        sizes = {axis: meshes[axis][mesh] for axis in (*AXES, "ep")}
        axes = axis_segments(Mesh(**sizes, order=order))
        found = None
        if layouts != NO_LAYOUTS:
            found = mesh_layouts(fabrics, which, meshes, every=layouts == EVERY)
            mesh = np.concatenate([mesh, found.mesh])
            by_mesh = np.argsort(mesh, kind="stable")  # orders of a mesh before its layouts
            order = np.concatenate([order, len(ORDERS) + np.arange(len(found))])[by_mesh]
            axes = {name: _stacked(axes[name], found.parts[name], by_mesh) for name in AXES}
            mesh = mesh[by_mesh]
        parts = group_segments(axes, meshes["ep"][mesh])
        return _Groups(mesh, order, found, fabrics, which[mesh], parts)

    def codes(self, rows: IntArray) -> tuple[IntArray, tuple[Layout, ...]]:
        """(r,) codes of some placements, and the layouts among them."""
        order = self.order[rows]
        if self.layouts is None:
            return order, ()
        at = np.flatnonzero(order >= len(ORDERS))
        listed = tuple(self.layouts.layout(int(order[row]) - len(ORDERS)) for row in at)
        order[at] = len(ORDERS) + np.arange(len(at))
        return order, listed

    def classes(self, name: str) -> tuple[IntArray, GroupCosts]:
        """(p,) class of each group, and the costs of the classes; equal costs are one class."""
        classes, costs = group_classes(self.fabrics, self.fabric, self.parts[name])
        unique, which = _distinct_costs(costs.features)
        return which[classes], GroupCosts(unique, costs.levels)


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
    nothing = np.ones_like(few[0][0])
    padded = few + [(nothing, nothing)] * (len(many) - len(few))
    return [
        (np.concatenate([a, c])[rows], np.concatenate([b, d])[rows])
        for (a, b), (c, d) in zip(padded, many, strict=True)
    ]


def _least(costs: GroupCosts, classes: IntArray, start: IntArray) -> FloatArray:
    """(features, meshes) the least of each cost over the mesh's placements."""
    best = np.stack([np.minimum.reduceat(row[classes], start[:-1]) for row in costs.features])
    sizes = costs.features[0][classes]
    best[0] = np.maximum.reduceat(sizes, start[:-1])  # larger groups hold smaller shards
    return best


def _with_ideal(
    costs: GroupCosts, classes: IntArray, start: IntArray
) -> tuple[IntArray, GroupCosts]:
    """Adds, for every mesh, a class with the least of each cost over the mesh's placements."""
    unique, which = _distinct_costs(_least(costs, classes, start))
    merged = GroupCosts(np.hstack([costs.features, unique]), costs.levels)
    return len(costs) + which, merged


def _distinct_costs(features: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct columns of cost features, and which of them each column is."""
    first, which = distinct([row.view(np.int64) for row in features])  # equal bits, equal costs
    return features[:, first], which


@dataclass(frozen=True, slots=True, kw_only=True)
class TermIndex:
    """Where the rows of a term are: row = offset[plan] + code[placement].

    Attributes:
        offset: (n,) per logical plan.
        code: (p,) per placement.
        ideal: (meshes,) code of the ideal classes of each mesh.
        base: (b,) a logical plan that represents each distinct column combination.
        row_base: (rows,) index into `base` of each row.
        row_classes: Group name to (rows,) class of each row.
    """

    offset: IntArray
    code: IntArray
    ideal: IntArray
    base: IntArray
    row_base: IntArray
    row_classes: dict[str, IntArray]

    def __len__(self) -> int:
        return len(self.row_base)


def index_term(
    columns: list[IntArray],
    mesh_id: IntArray,
    mesh_scope: IntArray,
    placements: Placements,
    groups: tuple[str, ...],
) -> TermIndex:
    """Numbers the rows of a term.

    Args:
        columns: (n,) columns of the logical plans that the term depends on. They must determine
            the scope of the plan's mesh.
        mesh_id: (n,) mesh of each plan.
        mesh_scope: (meshes,) meshes with equal scope share the term's class combinations (for the
            layer term: equal tp, cp, ep).
        placements: Distinct placements.
        groups: The groups whose networks the term depends on.
    """
    placement_mesh = np.repeat(np.arange(len(mesh_scope)), placements.count)
    combos, scope_of_combo, code, ideal = _class_combinations(
        mesh_scope, placement_mesh, placements, groups
    )
    per_scope = np.bincount(scope_of_combo, minlength=int(mesh_scope.max(initial=0)) + 1)
    scope_start = np.concatenate([[0], np.cumsum(per_scope)])
    base, which = distinct(columns)
    base_scope = mesh_scope[mesh_id[base]]
    sizes = per_scope[base_scope]
    base_start = np.concatenate([[0], np.cumsum(sizes)])
    row_base = np.repeat(np.arange(len(base)), sizes)
    within = np.arange(len(row_base)) - np.repeat(base_start[:-1], sizes)
    combo = scope_start[base_scope][row_base] + within
    return TermIndex(
        offset=base_start[:-1][which],
        code=code - scope_start[mesh_scope[placement_mesh]],
        ideal=ideal - scope_start[mesh_scope],
        base=base,
        row_base=row_base,
        row_classes={name: combos[name][combo] for name in groups},
    )


def _class_combinations(
    scope: IntArray,
    placement_mesh: IntArray,
    placements: Placements,
    groups: tuple[str, ...],
) -> tuple[dict[str, IntArray], IntArray, IntArray, IntArray]:
    """Distinct (scope, classes) among real and ideal placements, sorted by scope.

    Returns the classes and scope of each combination, and the combination of every placement and
    of every mesh's ideal.
    """
    scopes = np.concatenate([scope[placement_mesh], scope])
    columns = {
        name: np.concatenate([placements.classes[name], placements.ideal[name]]) for name in groups
    }
    first, inverse = distinct([scopes, *columns.values()])
    by_scope = np.argsort(scopes[first], kind="stable")
    rank = np.empty_like(by_scope)
    rank[by_scope] = np.arange(len(by_scope))
    number = rank[inverse]
    real = len(placement_mesh)
    rows = first[by_scope]
    combos = {name: column[rows] for name, column in columns.items()}
    return combos, scopes[rows], number[:real], number[real:]


def scope_of(meshes: dict[str, IntArray], names: tuple[str, ...]) -> IntArray:
    """(m,) number of the distinct combination of some mesh columns."""
    return distinct([meshes[name] for name in names])[1]
