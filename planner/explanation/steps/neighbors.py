"""What the plans one step away would cost, from real evaluations, and what forbids the others."""

from __future__ import annotations

from collections.abc import Sequence

from frozen_records import dataclass
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.explanation.judging import (
    Refusal,
    binding_stages,
    broken_rule,
    is_tie,
    not_asked,
    obeying,
    refusal_of,
    verdict_of,
)
from planner.explanation.steps.steps import steps
from planner.objectives import TIME, Objective
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.plan import Neighbor, PlanResult, plan_results
from planner.search.limits import Limits

_REFUSED, _LIMITED = 3, 2
"""How many plans that cannot be had are named at least, and how many of them for a limit."""


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
    for (what, plan), obeys in zip(changes, _obeying(model, changes, options), strict=True):
        rule = None
        if not obeys:
            rule = broken_rule(
                model, plan, all_orders=options.all_orders, targets=options.runnable_in
            )
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


def _obeying(
    model: CostModel, changes: Sequence[tuple[str, Plan]], options: SpaceOptions
) -> list[bool]:
    """Which plans break no rule for certain; plans with stages are looked at one by one."""
    table = PlanTable.from_plans([plan for _, plan in changes])
    if table.stages is not None:
        return [False] * len(changes)
    kept = obeying(model, table, all_orders=options.all_orders, targets=options.runnable_in)
    return list(map(bool, kept))


def neighbors(
    model: CostModel,
    best: PlanResult,
    limits: Limits,
    options: SpaceOptions,
    objective: Objective = TIME,
    *,
    most: int = 8,
) -> tuple[Neighbor, ...]:
    """Plans one step from `best`: the best that may be had, then some that may not, and why.

    Args:
        model: Job, cluster, assumptions.
        best: The plan that was chosen.
        limits, options: What it had to obey.
        objective: What it was chosen for.
        most: How many to return.
    """
    return ranked_neighbors(
        model, best, judged_steps(model, best.plan, limits, options), objective, most=most
    )


def ranked_neighbors(
    model: CostModel,
    best: PlanResult,
    found: Sequence[Judged],
    objective: Objective,
    *,
    most: int = 8,
) -> tuple[Neighbor, ...]:
    """`neighbors` of plans that were judged before.

    Of what cannot be had a few stay whatever else there is, so that they name what binds: plans
    that a limit forbids before those that break a rule, and those that nobody asked for last.
    """
    allowed = _by_value([one for one in found if one.refusal is None], objective)
    limited = _by_value([one for one in found if _is_limited(one)], objective)
    others = _by_value([one for one in found if _is_not_asked(one)], objective)
    broken = [one for one in found if one.result is None]
    rules = broken[: _REFUSED - min(len(limited), _LIMITED)]
    reserved = min(len(limited), _LIMITED) + len(rules)
    kept = allowed[: max(most - reserved, 1)]
    kept += [*limited, *others][: max(most - len(kept) - len(rules), 0)]
    kept += broken[: most - len(kept)]
    return tuple(named(model, best, one, objective) for one in kept)


def _by_value(found: Sequence[Judged], objective: Objective) -> list[Judged]:
    """Plans that were evaluated, the best first."""
    priced = [
        (objective.value_of(one.result.costs), one) for one in found if one.result is not None
    ]
    return [one for _, one in sorted(priced, key=lambda pair: pair[0])]


def _is_not_asked(one: Judged) -> bool:
    return one.result is not None and one.refusal is not None and one.refusal.needed is None


def _is_limited(one: Judged) -> bool:
    """Whether a limit forbids a plan, such as the memory of a chip."""
    return one.refusal is not None and one.refusal.needed is not None


def named(model: CostModel, best: PlanResult, one: Judged, objective: Objective) -> Neighbor:
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
