"""Searches of uneven pipelines that answer at once, with a plan made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.plan import Plan, PlanTable
from planner.results.certificate import Certificate, FunnelStage, UnevenFound
from planner.search.driver import Found
from solvers.solution import Status

FUNNEL = (
    FunnelStage(name="memory", rows=1000, meshes=30, dropped=100, lowest=None),
    FunnelStage(name="LB0", rows=900, meshes=29, dropped=800, lowest=None),
    FunnelStage(name="LB1", rows=100, meshes=7, dropped=97, lowest=None),
)


def found_of(model: CostModel, plans: list[Plan], uniform: Found, **changes: Any) -> UnevenFound:
    """What a search that found some plans answers, the fastest of them proved."""
    table = PlanTable.from_plans(plans)
    costs = evaluate_table(model, table)
    points = np.stack([costs.step_time_s, costs.energy.total], axis=1)
    seconds = float(points[0, 0])
    least = uniform.points[0, 0] if len(uniform.points) else None
    known = Certificate(
        status="optimal",
        objective_name="time",
        uniform=None if least is None else float(least),
        objective=seconds,
        bound=seconds * (1 - 3e-7),
        funnel=FUNNEL,
        solved=3,
        stage_solves=5,
        left=0,
        lowest_left=None,
        solvers={"dynamic": 5},
    )
    outcome = UnevenFound(
        plans=table,
        points=points,
        status=Status.OPTIMAL,
        bound=np.array([known.bound, points[:, 1].min()]),
        front_complete=True,
        certificate=known,
        seconds=0.1,
    )
    return replace(outcome, **changes)
