"""The claim of a certificate: its front, its best plan, bound and gap."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.evaluate import evaluate_totals
from planner.objectives import OBJECTIVES, Costs, objective_asked
from planner.plan import ORDERS, Plan, PlanTable
from planner.question.files.plan_file import plan_of
from planner.question.files.plan_models import PlanModel
from planner.verification.case import SAME, Case, Declared, agree
from planner.verification.document import Certificate, Point
from planner.verification.faults import Fault
from planner.verification.rows import Row, mesh_of, row_of
from planner.verification.tree import Tree


def claim_words(certificate: Certificate) -> str:
    """What is certified, in one sentence."""
    claim, chips = certificate.claim, certificate.space.chips
    on = " to ".join(f"{one:,}" for one in dict.fromkeys((*chips[:1], *chips[-1:]))) + " chips"
    job = f"{certificate.question.get('model')} on {on}"
    if claim.objective_name not in OBJECTIVES or claim.status == "infeasible":
        return f"{job}: no uniform plan that is asked for fits"
    objective = objective_asked(claim.objective_name, certificate.question)
    if claim.objective is None or claim.bound is None:
        known = (
            "" if claim.bound is None else f", and none is below {claim.bound:.6g} {objective.unit}"
        )
        return f"{job}: no plan was found in time{known}"
    front = "; the front of time and energy is complete" if claim.front_complete else ""
    return (
        f"{job}: {objective.noun} {claim.objective:.6g} {objective.unit}, and no uniform plan that "
        f"is asked for is below {claim.bound:.6g} {objective.unit}{front}"
    )


def check_front(case: Case) -> None:
    """Points of the front are plans of the space with their figures, and none beats another.

    Raises:
        Fault: It is not so.
    """
    own = case.own.front
    found = [_figures(case, point, f"front: point {at}") for at, point in enumerate(own)]
    case.points = np.array(found).reshape(-1, 2)
    for at, point in enumerate(case.points):
        if case.covered(point[None], np.delete(case.points, at, axis=0)).any():
            raise Fault(f"front: point {at} is no better than another")
    if case.own.best is not None:
        _figures(case, case.own.best, "best")
    case.checked["points of the front"] = len(found)


def _figures(case: Case, point: Point, where: str) -> tuple[float, float]:
    """Seconds and joules of a point, which it states, of a plan of the space within its limits."""
    plan, asked = _plan(point, where), case.asked
    plans = PlanTable.from_plans([plan])
    if plan.chips not in asked.chips:
        raise Fault(f"{where}: the plan is on {plan.chips} chips")
    if not np.isclose(asked.clocks, plan.clock, rtol=SAME).any():
        raise Fault(f"{where}: clock {plan.clock} is none of the space")
    check_in_space(case, plans, where)
    costs = evaluate_totals(asked.model, plans)
    time_s, energy_j = float(costs.step_time_s[0]), float(costs.energy_j[0])
    agree(where, "step_time_s", point.step_time_s, time_s)
    agree(where, "energy_j", point.energy_j, energy_j)
    if not asked.within(costs.step_time_s, costs.energy_j, plans.chips)[0]:
        raise Fault(f"{where}: the plan breaks a limit on time, power or utilization")
    return time_s, energy_j


def _plan(point: Point, where: str) -> Plan:
    """The plan of a point."""
    try:
        plan = plan_of(PlanModel.model_validate(point.plan))
    except ValueError as error:
        raise Fault(f"{where}: is no plan ({str(error).splitlines()[0]})") from error
    if plan.stages is not None or plan.layout is not None:
        raise Fault(f"{where}: the plan is not in the space")
    return plan


def check_in_space(case: Declared, plans: PlanTable, where: str) -> None:
    """The one plan of a table is among those of its mesh, and fits.

    Raises:
        Fault: It is not.
    """
    row, space = row_of(plans), case.space
    mesh = mesh_of(row[0])
    nodes = [node for node in space.nodes([mesh])[0] if node == row[0]]
    if space.breaks(mesh) or row not in case.plans(nodes)[0]:
        raise Fault(f"{where}: the plan is not in the space, or does not fit in memory")
    nested = [_nested(row, order) for order in space.orders([row])[0]]
    if _nested(row, int(plans.order[0])) not in nested:
        raise Fault(f"{where}: the plan does not run in this order of its axes")


def _nested(row: Row, order: int) -> list[str]:
    """The axes above 1, innermost first."""
    sizes = dict(zip(("tp", "cp", "pp", "dp", "fsdp"), row[0], strict=False))
    return [axis for axis in ORDERS[order] if sizes[axis] > 1]


def check_claim(case: Case, tree: Tree, lowest: FloatArray) -> None:
    """Status, objective, bound and gap follow from the front and from what is left.

    Args:
        case: The certificate.
        tree: Its partial plans.
        lowest: (n, 2) bounds of those that are left.

    Raises:
        Fault: One of them does not.
    """
    claim, objective = case.own.claim, case.asked.request.minimized
    if claim.objective_name != objective.name:
        raise Fault(f"claim: the question asks for {objective.name}")
    if claim.front_complete != (not tree.left and bool(len(case.points))):
        raise Fault("claim: whether the front is complete does not follow from what is left")

    def value(points: FloatArray) -> float:
        costs = Costs(step_time_s=points[:, 0], energy_j=points[:, 1])
        return float(np.min(objective.values(costs)))

    if not len(case.points):
        _check_without_plan(case, value(lowest.min(axis=0)[None]) if tree.left else None)
        return
    best = value(case.points)
    least = value(np.concatenate([case.points, lowest]).min(axis=0)[None])
    bound = min(least, best) if tree.left else best
    if claim.objective is None or claim.bound is None or claim.gap is None:
        raise Fault("claim: figures are missing")
    agree("claim", "objective", claim.objective, best)
    agree("claim", "bound", claim.bound, bound)
    agree("claim", "gap", 1 + claim.gap, 1 + (best - bound) / best)
    status = "optimal" if bound >= best * (1 - SAME) else "feasible"
    if claim.status != status:
        raise Fault(f"claim: the status is {status}, not {claim.status}")
    if case.own.best is None:
        raise Fault("best: is missing")
    own = value(np.array([[case.own.best.step_time_s, case.own.best.energy_j]]))
    agree("best", objective.name, own, best)


def _check_without_plan(case: Case, least: float | None) -> None:
    """Where there is no plan nothing is claimed but what none is below, where any may be left."""
    claim, status = case.own.claim, "infeasible" if least is None else "time_limit"
    figures = (claim.objective, claim.gap, case.own.best)
    if claim.status != status or any(figure is not None for figure in figures):
        raise Fault(f"claim: without a plan the status is {status}, without figures")
    if (claim.bound is None) != (least is None):
        raise Fault("claim: the bound does not follow from what is left")
    if claim.bound is not None and least is not None:
        agree("claim", "bound", claim.bound, least)
