"""The plans of a certificate: each that fits is listed once, closed or costed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.evaluate import evaluate_totals
from planner.plan import PlanTable
from planner.plan.plan import offload_mask
from planner.verification.bounds import plan_bounds
from planner.verification.case import AT_A_TIME, Case, agree, once
from planner.verification.faults import Fault
from planner.verification.rows import Node, Row, code_of, row_of, table, words
from planner.verification.space import Space
from planner.verification.tree import Tree


def check_plans(case: Case, tree: Tree) -> None:
    """Every plan that fits on a node that was searched is listed once, and none beats the front.

    Raises:
        Fault: It is not so.
    """
    rows, counts = case.plans([*tree.searched, *tree.begun])
    case.count("plans", counts, kept="kept")
    begun = set(tree.begun)
    fits = {row for row in rows if row[0] not in begun}
    closed = [_listed(row, tree.searched) for row in case.own.plans.closed]
    costed = [_listed(row, tree.searched) for row in case.own.plans.costed]
    once([*closed, *costed], fits, "plans", node=0)
    case.checked["plans"] = counts["considered"]
    _check_closed(case, closed)
    check_costed(case, costed)


def _listed(row: Sequence[Any], searched: Sequence[Node]) -> Row:
    """A plan of the certificate."""
    at, sharding, spread, mode, recompute, offload = row[:6]
    if not 0 <= at < len(searched):
        raise Fault(f"plans: no node has the number {at}")
    return searched[at], (
        code_of("sharding", sharding, "plans"),
        spread,
        code_of("cp_mode", mode, "plans"),
        code_of("recompute", recompute, "plans"),
        _mask(offload),
    )


def _mask(names: str) -> int:
    """The mask of what is offloaded, of names between plus signs."""
    try:
        return offload_mask(filter(None, names.split("+")))
    except InputError as error:
        raise Fault(f"plans: {error}") from error


def _check_closed(case: Case, rows: Sequence[Row]) -> None:
    """Bounds of plans are what they are said to be, and the front covers them."""
    corners = plan_bounds(case.asked, rows, case.space.orders(rows))
    for row, stated, own in zip(rows, case.own.plans.closed, corners, strict=True):
        where = f"plans: one on {words(row[0])}"
        agree(where, "least seconds", stated[6], float(own[:, 0].min()))
        agree(where, "least joules", stated[7], float(own[:, 1].min()))
    if (at := case.uncovered(corners)) is not None:
        node = rows[at][0]
        raise Fault(f"plans: one on {words(node)} is closed, but no point of the front is below it")
    case.checked["bounds of plans"] = len(rows)


def check_costed(case: Case, rows: Sequence[Row]) -> None:
    """No order and no clock of some plans that the limits allow is better than the front.

    Raises:
        Fault: One is.
    """
    pairs = zip(rows, case.space.orders(rows), strict=True)
    every = [(row, order) for row, orders in pairs for order in orders]
    for start in range(0, len(every), AT_A_TIME):
        part = every[start : start + AT_A_TIME]
        placed = table([row for row, _ in part], [order for _, order in part])
        for clock in case.asked.clocks:
            plans = replace(placed, clock=np.full(len(placed), clock))
            _check_candidates(case, plans)
    case.checked["candidates costed"] += len(every) * len(case.asked.clocks)


def _check_candidates(case: Case, plans: PlanTable) -> None:
    """None of some plans, costed one by one, is allowed and better than the front."""
    costs = evaluate_totals(case.asked.model, plans)
    points: FloatArray = np.stack([costs.step_time_s, costs.energy_j], axis=1)
    allowed = case.asked.within(points[:, 0], points[:, 1], plans.chips)
    better = np.flatnonzero(allowed & ~case.covered(points))
    if len(better):
        time_s, energy_j = points[better[0]]
        node, _ = row_of(plans, int(better[0]))
        raise Fault(
            f"plans: one on {words(node)} of {plans.chips[better[0]]} chips is better than the "
            f"front: {time_s:.6g} s, {energy_j:.6g} J"
        )


def check_closed_whole(case: Case, tree: Tree) -> None:
    """No candidate of a closed node or plan is better than the front, whatever its bound says.

    Raises:
        Fault: One is.
    """
    listed = [_listed(row, tree.searched) for row in case.own.plans.closed]
    check_costed(case, [*listed, *case.plans(tree.closed)[0]])


def check_more_chips(case: Case) -> None:
    """On greater numbers of chips, which were asked for, no plan is within the limits.

    Raises:
        Fault: One is.
    """
    for chips in case.asked.more_chips:
        asked = case.asked.on(chips)
        larger = Case(own=case.own, asked=asked, space=Space(asked))
        rows, counts = larger.plans(larger.space.nodes(larger.space.meshes()[0])[0])
        check_costed(larger, rows)
        case.checked["plans on more chips"] += counts["considered"]
