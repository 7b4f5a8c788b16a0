"""The rows of an uneven search over pools of different chips.

As `planner.search.uneven.rows`, with chips per stage d that divides the chips N_h of every pool, so
that pool h has N_h / d stages. Each order of the axes is a row of its own; rows that find the same
networks in every pool are one. Pipelines without interleave are searched: 1F1B, GPipe, zero-bubble.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.context import networks
from planner.cost.pools.evaluate import slowest_send_s
from planner.cost.pools.pools import Pool, total_chips
from planner.network.collectives import GroupCosts
from planner.network.placement import Mesh
from planner.plan import AXES, ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.schedules import ScheduleColumn
from planner.search.deadline import NEVER, Deadline
from planner.search.placements.groups import distinct_costs
from planner.search.uneven.rows import (
    LogicalRows,
    Rows,
    allowed_recomputes,
    allowed_rows,
    no_placements,
    placed_rows,
)
from planner.search.uneven.terms import RowTerms, row_terms
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.space import cross_partial_plans
from planner.search.uniform.tables import Placements


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledRows:
    """n rows on h pools.

    Attributes:
        pools: The pools.
        own: The rows as each pool sees them: all their chips, its own networks.
    """

    pools: tuple[Pool, ...]
    own: tuple[Rows, ...]

    def __len__(self) -> int:
        return len(self.own[0])

    @property
    def plans(self) -> PlanTable:
        """(n,) the shared choices."""
        return self.own[0].plans

    @property
    def logical_meshes(self) -> set[tuple[int, ...]]:
        """The combinations of tp, cp and pp."""
        return self.own[0].logical_meshes

    def take(self, index: IntArray) -> PooledRows:
        """The rows of `index`."""
        return replace(self, own=tuple(rows.take(index) for rows in self.own))

    @property
    def stages(self) -> IntArray:
        """(n, h) stages of each pool."""
        per_stage = self.plans.chips // self.plans.pp
        return np.stack([pool.chips // per_stage for pool in self.pools], axis=1)

    def terms(self, clocks: Sequence[FloatArray]) -> tuple[RowTerms, ...]:
        """The terms of each pool at its clocks, all with the slowest send, a cell per row."""
        found = [
            row_terms(pool.model, rows, levels)
            for pool, rows, levels in zip(self.pools, self.own, clocks, strict=True)
        ]
        sends = slowest_send_s(
            self.pools, self.plans, [terms.p2p[terms.cell][:, None] for terms in found]
        )
        return tuple(_own_cells(terms, sends[:, 0]) for terms in found)


def _own_cells(terms: RowTerms, p2p: FloatArray) -> RowTerms:
    """The terms with a cell for every row and send."""
    slow, which = np.unique(p2p, return_inverse=True)
    first, cell = distinct([terms.cell, which.ravel().astype(np.int64)])
    at = terms.cell[first]

    def taken(table: FloatArray) -> FloatArray:
        return table if len(table) == 1 else table[at]

    layers = {
        kind: type(cost)(**{name: taken(getattr(cost, name)) for name in cost.__slots__})
        for kind, cost in terms.layers.items()
    }
    ends = type(terms.ends)(
        **{name: taken(getattr(terms.ends, name)) for name in terms.ends.__slots__}
    )
    return replace(terms, cell=cell, layers=layers, ends=ends, p2p=slow[which.ravel()[first]])


def pooled_rows(
    pools: Sequence[Pool], options: SpaceOptions, deadline: Deadline = NEVER
) -> PooledRows:
    """Every row that the rules allow on every pool.

    Args:
        pools: At least two.
        options: Values fixed, orders; layers of the stages where they are given.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    rows = _space(pools, options)
    deadline.check()
    orders = [ORDERS.index(order) for order in options.orders(pools[0].model.framework)]
    placements = _placements(pools, rows.space.meshes, orders)
    recomputes = [allowed_recomputes(pool.model, options) for pool in pools]
    first = placed_rows(rows, placements[0], recomputes[0], options.layers)
    own = [
        replace(first, placements=found, recomputes=codes)
        for found, codes in zip(placements, recomputes, strict=True)
    ]
    return PooledRows(pools=tuple(pools), own=tuple(own))


def _space(pools: Sequence[Pool], options: SpaceOptions) -> LogicalRows:
    """Rows before placement that the rules allow on every pool."""
    model = pools[0].model
    meshes = enumerate_meshes(model, (total_chips(pools),), options, uneven=True)
    per_stage = meshes.columns["chips"] // meshes.columns["pp"]
    whole = [pool.chips % per_stage == 0 for pool in pools]
    meshes = meshes.take(np.flatnonzero(np.all(whole, axis=0)))
    partial_plans = cross_partial_plans(model, meshes, options, uneven=True)
    columns = partial_plans.columns
    known = ScheduleColumn(columns["schedule"]).values("on_pools") & (columns["interleave"] == 1)
    if options.layers is not None:
        known &= meshes.columns["pp"][partial_plans.mesh_id] == len(options.layers)
    return allowed_rows(model, partial_plans.take(np.flatnonzero(known)), options)


def _placements(pools: Sequence[Pool], meshes: Meshes, orders: Sequence[int]) -> list[Placements]:
    """Every distinct placement, by mesh, with its networks in each pool."""
    if not len(meshes):
        return [no_placements(0) for _ in pools]
    columns = meshes.columns
    mesh = np.repeat(np.arange(len(meshes)), len(orders))
    order = np.tile(np.array(orders, dtype=np.int64), len(meshes))
    axes = {name: columns[name][mesh] for name in (*AXES, "ep", "etp")}
    per_stage = columns["chips"] // columns["pp"]
    found = []
    for pool in pools:
        own: dict[str, Any] = {**axes, "pp": (pool.chips // per_stage)[mesh]}
        found.append(_classes(networks(pool.model, Mesh(**own, order=order))))
    first, _ = distinct([mesh, *(column for classes, _ in found for column in classes.values())])
    keep = np.sort(first)
    return [
        Placements(
            start=np.searchsorted(mesh[keep], np.arange(len(meshes) + 1)),
            order=order[keep],
            layouts=(),
            classes={name: column[keep] for name, column in classes.items()},
            costs=costs,
            ideal={},
        )
        for classes, costs in found
    ]


def _classes(found: dict[str, GroupCosts]) -> tuple[dict[str, IntArray], dict[str, GroupCosts]]:
    """Class of every group, and the costs of the classes, all of them different."""
    classes, costs = {}, {}
    for name, groups in found.items():
        unique, which = distinct_costs(groups.features)
        classes[name] = which[groups.columns]
        costs[name] = groups.with_features(unique)
    return classes, costs
