"""Every plan on pools of different chips: which pool has which stage, and what each stage is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from enumerated.allowed import Bools, most_bytes, within
from enumerated.found import Enumerated
from enumerated.plain import Plain, no_freedom
from enumerated.stages import plans_of, rows_of
from planner.cost.energy.meter import pooled_meter
from planner.cost.pools.evaluate import evaluate_stages
from planner.cost.pools.pools import Pool, owners, total_chips, without_pools
from planner.objectives import Costs
from planner.plan import Plan, PlanTable
from planner.question.pools import resolve_pools
from planner.question.request import ARGUMENTS, Request

_ON_POOLS = ("1f1b", "gpipe", "zero-bubble")
_MOST_PLANS = 4_000
"""Of a question: a plan on pools is dear to cost."""


def on_pools(request: Request, plain: Plain = no_freedom) -> Enumerated:
    """All plans on all chips of all pools, at full clock; each pool's cap lowers its own."""
    pools = resolve_pools(request, ARGUMENTS).pools
    found, first = Enumerated(request), pools[0].model
    chips = total_chips(pools)
    by_order: dict[tuple[int, ...], list[Plan]] = {}
    listed = 0
    for of_first in rows_of(request, first, chips):
        row = replace(of_first, clocks=(1.0,))
        per_stage = chips // row.shared.pp
        whole = all(pool.chips % per_stage == 0 for pool in pools)
        if whole and row.shared.schedule in _ON_POOLS:
            counts = [pool.chips // per_stage for pool in pools]
            for order in _orders(counts):
                named = plans_of(first, row, _MOST_PLANS - listed, [pools[at].name for at in order])
                by_order.setdefault(order, []).extend(named)
                listed += len(named)
    for named in by_order.values():
        _add(found, pools, named, plain)
    return found


def _orders(counts: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to deal stages to pools that have so many."""
    for order in product(range(len(counts)), repeat=sum(counts)):
        if all(order.count(at) == count for at, count in enumerate(counts)):
            yield order


def _add(found: Enumerated, pools: tuple[Pool, ...], named: list[Plan], plain: Plain) -> None:
    """Costs plans whose stages are on pools in one order."""
    request, owner = found.request, owners(pools, named[0])
    plans = PlanTable.from_plans([without_pools(plan) for plan in named])
    whole = evaluate_stages(pools, owner, plans)[1]
    room = np.stack([most_bytes(request, pools[at].model, plans) for at in owner], axis=1)
    fits = (whole.memory.total <= room).all(axis=1)
    costs = Costs(
        step_time_s=whole.step.time[:, 0],
        energy_j=whole.step.energy[:, 0],
        memory_bytes=whole.memory.total.max(axis=1),
        chips=plans.chips.astype(np.float64),
    )
    allowed = fits & _allowed(request, pools, costs)
    found.add(costs, allowed, plain(pools[0].model, plans))


def _allowed(request: Request, pools: tuple[Pool, ...], costs: Costs) -> Bools:
    """(n,) plans within the limits."""
    limited = request.model_copy(update={"max_power": None})
    allowed = within(limited, [(pool.model, pool.chips) for pool in pools], costs)
    if request.max_power is not None:
        meter = pooled_meter(pools, request.power_boundary)
        allowed &= costs.energy_j <= meter.it_w(request.max_power) * costs.step_time_s
    return allowed
