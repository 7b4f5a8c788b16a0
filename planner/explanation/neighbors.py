"""What the plans one step away would cost, from real evaluations, and what forbids the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.explanation.judging import (
    Refusal,
    binding_stages,
    broken_rule,
    is_tie,
    not_asked,
    refusal_of,
    value_of,
    verdict_of,
)
from planner.explanation.steps import steps
from planner.plan import Plan, PlanTable
from planner.results import Neighbor, PlanResult, plan_results
from planner.search.limits import Limits
from planner.search.options import SpaceOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One plan beside another.

    Attributes:
        change: What is different, in words.
        result: What it costs; None where it breaks a rule.
        refusal: Why it may not be had; None where it may.
    """

    change: str
    result: PlanResult | None
    refusal: Refusal | None


def judged_steps(
    model: CostModel, plan: Plan, limits: Limits, options: SpaceOptions
) -> list[Judged]:
    """Every plan one step away, evaluated in one table, with what forbids it."""
    return judged(model, steps(model, plan, options), limits, options)


def judged(
    model: CostModel,
    changes: Sequence[tuple[str, Plan]],
    limits: Limits,
    options: SpaceOptions,
) -> list[Judged]:
    """Plans with their costs and what forbids them; those that break a rule first.

    Args:
        model: Job, cluster, assumptions.
        changes: What is different about each plan, and the plan.
        limits, options: What a plan has to obey.
    """
    refused: list[Judged] = []
    runnable: list[tuple[str, Plan]] = []
    for what, plan in changes:
        rule = broken_rule(model, plan, all_orders=options.all_orders)
        if rule is None:
            runnable.append((what, plan))
        else:
            refused.append(Judged(change=what, result=None, refusal=rule))
    if not runnable:
        return refused
    table = PlanTable.from_plans([plan for _, plan in runnable])
    costs = evaluate_table(model, table)
    where = binding_stages(model, table, costs)
    results = plan_results(model, table, costs)
    return refused + [
        Judged(
            change=what,
            result=result,
            refusal=refusal_of(model, result, limits, stage)
            or not_asked(model, result.plan, options),
        )
        for (what, _), result, stage in zip(runnable, results, where, strict=True)
    ]


def neighbors(
    model: CostModel,
    best: PlanResult,
    limits: Limits,
    options: SpaceOptions,
    objective: str = "time",
    *,
    most: int = 8,
) -> tuple[Neighbor, ...]:
    """Plans one step from `best`: the best of what is allowed first, then what is not, and why.

    Args:
        model: Job, cluster, assumptions.
        best: The plan that was chosen.
        limits, options: What it had to obey.
        objective: What it was chosen for; one of `planner.search.objective.OBJECTIVES`.
        most: How many to return.
    """
    return ranked_neighbors(
        model, best, judged_steps(model, best.plan, limits, options), objective, most=most
    )


def ranked_neighbors(
    model: CostModel, best: PlanResult, found: Sequence[Judged], objective: str, *, most: int = 8
) -> tuple[Neighbor, ...]:
    """`neighbors` of plans that were judged before."""
    broken = [named(model, best, one, objective) for one in found if one.result is None]
    priced = [
        ((one.refusal is not None, value_of(one.result, objective)), one)
        for one in found
        if one.result is not None
    ]
    priced.sort(key=lambda pair: pair[0])
    room = max(most - min(len(broken), 2), 1)
    kept = [named(model, best, one, objective) for _, one in priced[:room]]
    return (*kept, *broken[: most - len(kept)])


def named(model: CostModel, best: PlanResult, one: Judged, objective: str) -> Neighbor:
    """A judged plan with its verdict against the best one."""
    if one.result is None:
        assert one.refusal is not None
        return Neighbor(change=one.change, result=None, verdict=one.refusal.words)
    if one.refusal is not None:
        return Neighbor(change=one.change, result=one.result, verdict=one.refusal.words)
    return Neighbor(
        change=one.change,
        result=one.result,
        verdict=verdict_of(best, one.result, objective),
        tie=is_tie(model, best, one.result, objective),
    )
