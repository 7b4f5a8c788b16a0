"""The front of uneven plans as an answer has it: which plans belong, and which are proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.objectives import BY_ENERGY, BY_PRODUCT, BY_TIME, ENERGY, TIME, Costs, Objective
from planner.plan import Plan
from planner.question.kinds.uneven import limits_on_front
from planner.question.request import Request
from planner.results.certificate import Certificate, UnevenFound
from planner.results.parts import FrontLimits
from planner.search.objective import values
from planner.search.rounding import SAME
from solvers.solution import Status


def laid_out(
    front: UnevenFound, found: UnevenFound, layers: tuple[int, ...] | None, objective: Objective
) -> UnevenFound:
    """A front without plans whose chunks hold other layers than were given.

    A front that loses plans is not complete, and proves no optimum; its bounds still hold.

    Args:
        front: The front, or what is known of it.
        found: The fastest plan; it stays where no other does.
        layers: Of every chunk; None: they are not given.
        objective: What is minimized.
    """
    plans = [front.plans.plan(row) for row in range(len(front.plans))]
    rows = np.flatnonzero([layers is None or _holds(plan, layers) for plan in plans])
    if len(rows) == len(plans):
        return front
    kept = (front.plans.take(rows), front.points[rows])
    plan_table, points = kept if len(rows) else (found.plans, found.points)
    value = float(values(points, proved_by(objective)).min())
    return replace(
        front,
        plans=plan_table,
        points=points,
        status=Status.FEASIBLE,
        front_complete=False,
        certificate=front.certificate.of_plan(value, Status.FEASIBLE),
    )


def proved_by(objective: Objective) -> Objective:
    """What the certificate of a front is of: the objective where it proves it, else energy."""
    return objective if objective.uneven == BY_PRODUCT else ENERGY


def counted(known: Certificate, objective: Objective, chips: int) -> Certificate:
    """A certificate of time, or of energy, as one of an objective that grows with it alone."""
    known = replace(known, objective_name=objective.name)
    if objective.uneven == BY_TIME:
        return known.counted(
            lambda s: objective.value_of(Costs(step_time_s=s, energy_j=np.nan, chips=chips)),
            (TIME.unit, objective.unit),
        )
    if objective.uneven == BY_ENERGY:
        return known.counted(
            lambda j: objective.value_of(Costs(step_time_s=np.nan, energy_j=j, chips=chips)),
            (ENERGY.unit, objective.unit),
        )
    return known


def _holds(plan: Plan, layers: tuple[int, ...]) -> bool:
    """Whether the chunks of a plan hold these layers."""
    if plan.stages is None:
        return plan.pp == len(layers) == 1
    return tuple(stage.layers for stage in plan.stages) == layers


def how_proved(
    request: Request, front: UnevenFound, proved: Sequence[tuple[float, float]]
) -> tuple[tuple[bool, ...], FrontLimits | None]:
    """Which plans of a front are proved, and for how many of its limits.

    Args:
        request: The question.
        front: Plans ascending in time, descending in energy.
        proved: Seconds and joules of the points that were proved.
    """
    rows = _proved_rows(front, proved)
    return rows, _front_limits(limits_on_front(request), front, rows)


def _proved_rows(front: UnevenFound, proved: Sequence[tuple[float, float]]) -> tuple[bool, ...]:
    """Which plans of a front are among points that were proved."""
    known = np.array(proved).reshape(-1, 2)
    alike = np.isclose(front.points[:, None, :], known[None, :, :], rtol=SAME, atol=0.0)
    return tuple(alike.all(axis=2).any(axis=1).tolist())


def _front_limits(
    asked: int | None, front: UnevenFound, proved: Sequence[bool]
) -> FrontLimits | None:
    """How many of the evenly spaced limits on the time have a cheapest plan that is proved."""
    if asked is None:
        return None
    if front.status is Status.OPTIMAL:
        return FrontLimits(asked=asked, proved=asked)
    times = front.points[:, 0]
    limits = np.linspace(times[-1], times[0], asked) * (1 + SAME)
    cheapest = np.searchsorted(times, limits, side="right") - 1
    return FrontLimits(asked=asked, proved=sum(proved[row] for row in cheapest))
