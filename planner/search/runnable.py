"""What targets (`planner.frameworks.targets`) can run of a space: meshes, placements, plans.

Rules about placement depend on the mesh and on the order of its axes; they decide which placements
a mesh has, and a mesh without one is dropped. Some look at one more choice of a plan: plans that
differ in it are on meshes of their own (`Space.apart`), and plans without an order are dropped.
Rules about the job drop all meshes or none. All other rules are held against whole plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from planner.base.arrays import BoolArray, IntArray, distinct
from planner.base.vocabulary import CHOICES
from planner.cost.context import CostModel
from planner.frameworks.rules import PLACEMENT, Demand, demands_of
from planner.plan import AXES, COLUMNS, DEFAULT_ORDER, ZERO3, PlanTable
from planner.question.options import SpaceOptions
from planner.schedules import code_of_schedule
from planner.search.placements.groups import distinct_orders
from planner.search.uniform.tables import Runs

_AT_A_TIME = 1 << 17  # orders of meshes that are judged together
_OF_MESHES = "mesh"
"""`Rule.field` of rules that depend on the mesh alone."""


def runnable_plans(
    model: CostModel,
    options: SpaceOptions,
    plans: PlanTable,
    keep: BoolArray,
    tally: dict[str, int],
) -> BoolArray:
    """(n,) plans of those kept that targets can run in some order; `tally` grows by the others."""
    demands = demands_of(model, options.runnable_in)
    for demand in demands:
        if not demand.rule.of_order and not demand.rule.of_job:
            keep = without(keep, demand.holds(plans), demand.name, tally)
    return ordered_plans(model, options, demands, plans, keep, tally)


def ordered_plans(
    model: CostModel,
    options: SpaceOptions,
    demands: Sequence[Demand],
    plans: PlanTable,
    keep: BoolArray,
    tally: dict[str, int],
) -> BoolArray:
    """(n,) plans of those kept that have an order under the rules that look at a choice too."""
    fields = fields_beside(demands)
    if not fields:
        return keep
    columns = {name: getattr(plans, name) for name in (*AXES, "ep", "etp", *fields)}
    first, which = distinct([*columns.values()])
    few = {name: column[first] for name, column in columns.items()}
    placed = [demand for demand in demands if demand.rule.of_order]
    placed.sort(key=lambda demand: demand.rule.placed)
    for holds, demand in zip(_ordered(model, options, placed, few), placed, strict=True):
        keep = without(keep, holds[which], demand.name, tally)
    return keep


def fields_beside(demands: Iterable[Demand]) -> tuple[str, ...]:
    """What rules about the order of a mesh look at beside it, ascending."""
    return tuple(sorted({demand.rule.field for demand in demands if demand.rule.placed}))


def without(
    keep: BoolArray, holds: BoolArray | np.bool_, name: str, tally: dict[str, int]
) -> BoolArray:
    """(n,) those kept for which a rule holds; `tally` grows by the others."""
    if dropped := int((keep & ~holds).sum()):
        tally[name] = tally.get(name, 0) + dropped
    return keep & holds


def runnable_meshes(
    model: CostModel, options: SpaceOptions, columns: dict[str, IntArray], *, uneven: bool = False
) -> tuple[BoolArray, dict[str, int]]:
    """(m,) meshes that targets can run in an order that is searched, and what each rule drops.

    With `uneven` stages choose their shardings: rules about these drop rows, not meshes.
    """
    demands = demands_of(model, options.runnable_in)
    tally: dict[str, int] = {}
    count = len(columns["tp"])
    keep, every = np.ones(count, dtype=np.bool_), np.arange(count)
    for demand in demands:
        if demand.rule.field == _OF_MESHES or demand.rule.of_job:
            holds = demand.holds(_plans(columns, every, DEFAULT_ORDER))
            keep = without(keep, holds, demand.name, tally)
    gathered = np.full(count, ZERO3)  # what divides its data ranks over fsdp has no other sharding
    for demand in demands:
        if demand.rule.of_sharding and not uneven:
            plans = replace(_plans(columns, every, DEFAULT_ORDER), sharding=gathered)
            holds = demand.holds(plans) | (columns["fsdp"] == 1)
            keep = without(keep, holds, demand.name, tally)
    placed = [demand for demand in demands if demand.rule.field == PLACEMENT]
    for holds, demand in zip(_ordered(model, options, placed, columns), placed, strict=True):
        keep = without(keep, holds, demand.name, tally)
    return keep, tally


def _ordered(
    model: CostModel,
    options: SpaceOptions,
    demands: Sequence[Demand],
    columns: dict[str, IntArray],
) -> BoolArray:
    """(d, m) meshes that have an order under the first demand, under the first two, and so on."""
    mesh, order = distinct_orders(columns, options.orders(model.framework))
    found = np.zeros((len(demands), len(columns["tp"])), dtype=np.bool_)
    for at in np.array_split(np.arange(len(mesh)), len(mesh) // _AT_A_TIME + 1):
        plans = _plans(columns, mesh[at], order[at])
        alive = np.ones(len(at), dtype=np.bool_)
        for number, demand in enumerate(demands):
            alive &= demand.holds(plans)
            found[number, mesh[at[alive]]] = True
    return found


def runnable_placements(
    model: CostModel, options: SpaceOptions, columns: dict[str, IntArray]
) -> Runs | None:
    """Which orders of which meshes targets can run; None: all.

    Columns are those of `Space.apart` where rules look at choices too.
    """
    demands = demands_of(model, options.runnable_in)
    placed = [demand for demand in demands if demand.rule.of_order]
    if not placed:
        return None
    return lambda mesh, order: _all_hold(placed, columns, mesh, order)


def _all_hold(
    demands: Iterable[Demand], columns: dict[str, IntArray], mesh: IntArray, order: IntArray
) -> BoolArray:
    """(p,) whether orders of meshes obey all of some rules."""
    plans = _plans(columns, mesh, order)
    return np.asarray(np.all([demand.holds(plans) for demand in demands], axis=0))


def _plans(columns: dict[str, IntArray], mesh: IntArray, order: IntArray | int) -> PlanTable:
    """(p,) plans of meshes in some orders, with the first of every choice that is no column."""
    fields = {name: np.zeros(len(mesh), dtype=np.int64) for name in COLUMNS}
    fields |= {name: columns[name][mesh] for name in (*AXES, "ep", "etp")}
    fields |= {name: np.ones(len(mesh), dtype=np.int64) for name in ("micro_batch", "interleave")}
    fields["schedule"] += code_of_schedule("1f1b")
    fields |= {name: columns[name][mesh] for name in CHOICES if name in columns}
    fields["order"] += order
    return PlanTable(
        **{name: fields[name] for name in COLUMNS if name not in ("sequence_parallel", "clock")},  # type: ignore[arg-type]
        sequence_parallel=columns["tp"][mesh] > 1,
        clock=np.ones(len(mesh)),
    )
