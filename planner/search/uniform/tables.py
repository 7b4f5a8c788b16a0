"""Separable cost tables: each term once per distinct combination of what it depends on.

A candidate is a (logical plan, placement, clock) triple. Its cost is assembled from five terms:

    layer     (tp, cp, ep, etp, micro-batch, sp, cp mode, recompute, offload) x their networks
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

from collections.abc import Callable

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray, counted, distinct, repeated
from planner.cost.context import CostModel
from planner.network.collectives import GroupCosts
from planner.network.placement import EXPERT_GROUPS, GROUPS
from planner.plan import ORDERS
from planner.plan.ranks import Layout
from planner.search.deadline import NEVER, Deadline
from planner.search.placements.groups import EFFICIENT, NO_LAYOUTS, PlacedGroups, distinct_costs
from planner.search.placements.layouts import efficient, least_alone

Runs = Callable[[IntArray, IntArray], BoolArray]
"""Of (p,) meshes and codes of orders, which can be run."""
_MADE_OF = {"shard": ("cp", "fsdp"), "replica": ("dp",), "data": ("cp", "fsdp", "dp")}
_AT_A_TIME = 1 << 16  # costs of placements in one array: they stay in the cache
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
    """

    start: IntArray
    order: IntArray
    layouts: tuple[Layout, ...]
    classes: dict[str, IntArray]
    costs: dict[str, GroupCosts]
    ideal: dict[str, IntArray]

    @property
    def count(self) -> IntArray:
        """(meshes,) distinct placements of each mesh."""
        return np.diff(self.start)


def build_placements(
    model: CostModel,
    meshes: dict[str, IntArray],
    orders: tuple[tuple[str, ...], ...] = ORDERS,
    layouts: str = NO_LAYOUTS,
    deadline: Deadline = NEVER,
    runs: Runs | None = None,
) -> Placements:
    """The distinct placements of the meshes; see `Placements`.

    Args:
        model: Gives the network of each chip count.
        meshes: Columns `AXES`, "ep", "etp" and "chips", (m,) each.
        orders: Orders of the axes to consider, innermost first.
        layouts: One of `LAYOUTS`: which layouts over a torus to consider beside them.
        deadline: When to give up.
        runs: Which orders can be run; every mesh has one. None: all, as every layout can.

    Raises:
        OutOfTime: The deadline passed.
    """
    groups = PlacedGroups.build(model, meshes, orders, layouts, deadline)
    classes, costs = groups.all_classes()
    some = np.arange(len(groups.mesh))
    if runs is not None:
        some = np.flatnonzero(runs(groups.mesh, groups.order))
    first, _ = distinct([groups.mesh[some], *(column[some] for column in classes.values())])
    keep = some[np.sort(first)]
    if layouts == EFFICIENT:
        few = {name: column[keep] for name, column in classes.items()}
        keep = keep[efficient(groups.mesh[keep], few, costs)]
    classes = {name: column[keep] for name, column in classes.items()}
    order, listed = groups.codes(keep)
    start = np.searchsorted(groups.mesh[keep], np.arange(len(meshes["chips"]) + 1))
    ideal = {}
    for name in GROUPS:
        if name in EXPERT_GROUPS and not groups.experts:
            ideal[name] = np.zeros(len(meshes["chips"]), dtype=np.int64)  # never used
            continue
        ideal[name], costs[name] = _with_ideal(costs[name], classes[name], start)
    return Placements(
        start=start.astype(np.int64),
        order=order,
        layouts=listed,
        classes=classes,
        costs=costs,
        ideal=ideal,
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
        names: "tp", "cp", "ep" or "etp".
        deadline: When to give up.
        layouts: As for `build_placements`.

    Raises:
        OutOfTime: The deadline passed.
    """
    groups = PlacedGroups.build(model, meshes, orders)
    start = np.searchsorted(groups.mesh, np.arange(len(meshes["chips"]) + 1))
    ideal = {}
    for name, (classes, costs) in groups.classes(names).items():
        deadline.check()
        best = _least(costs, classes, start)
        if layouts != NO_LAYOUTS:
            best[1:] = np.minimum(best, _least_alone(model, meshes, name, deadline))[1:]
        unique, at = distinct_costs(best)
        ideal[name] = costs.with_features(unique).take(at)
    return ideal


def _least_alone(
    model: CostModel, meshes: dict[str, IntArray], name: str, deadline: Deadline
) -> FloatArray:
    """(features, m) what no layout of a mesh goes below for a group; inf without a torus."""
    axes = [meshes[axis] for axis in _MADE_OF.get(name, (name,))]
    sizes: IntArray = np.prod(axes, axis=0)
    found: list[tuple[IntArray, FloatArray]] = []
    for chips in np.unique(meshes["chips"]).tolist():
        deadline.check()
        at = np.flatnonzero(meshes["chips"] == chips)
        found.append((at, least_alone(model.fabric(chips), sizes[at], chips)))
    least = np.empty((len(found[0][1]), len(meshes["chips"])))
    for at, features in found:
        least[:, at] = features
    return least


def _least(costs: GroupCosts, classes: IntArray, start: IntArray) -> FloatArray:
    """(features, meshes) the least of each cost over the mesh's placements."""
    rows = max(_AT_A_TIME // max(len(classes), 1), 1)
    index = classes.astype(np.intp, copy=False)
    parts = [
        np.minimum.reduceat(np.take(costs.features[at : at + rows], index, axis=1), start[:-1], 1)
        for at in range(0, len(costs.features), rows)
    ]
    best = np.concatenate(parts)
    sizes = costs.features[0][classes]
    best[0] = np.maximum.reduceat(sizes, start[:-1])  # larger groups hold smaller shards
    return best


def _with_ideal(
    costs: GroupCosts, classes: IntArray, start: IntArray
) -> tuple[IntArray, GroupCosts]:
    """Adds, for every mesh, a class with the least of each cost over the mesh's placements."""
    unique, which = distinct_costs(_least(costs, classes, start))
    merged = costs.with_features(np.hstack([costs.features, unique]))
    return len(costs) + which, merged


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
    placement_mesh = repeated(np.arange(len(mesh_scope)), placements.count)
    combos, scope_of_combo, code, ideal = _class_combinations(
        mesh_scope, placement_mesh, placements, groups
    )
    per_scope = counted(scope_of_combo, int(mesh_scope.max(initial=0)) + 1)
    scope_start = np.concatenate([[0], np.cumsum(per_scope)])
    base, which = distinct(columns)
    base_scope = mesh_scope[mesh_id[base]]
    sizes = per_scope[base_scope]
    base_start = np.concatenate([[0], np.cumsum(sizes)])
    row_base = repeated(np.arange(len(base)), sizes)
    within = np.arange(len(row_base)) - repeated(base_start[:-1], sizes)
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
