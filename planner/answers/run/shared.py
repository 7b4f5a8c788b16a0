"""One plan for several phases: the best of those that are best, or near it, in some of them.

That plan need not be the best of all that run every phase. No plan takes less than the sum of what
each phase takes at least alone: the answer says how far from that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.answers.evaluation import evaluate_plan, limits_of, options_of
from planner.answers.run.phased import Phase
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import unmet, violations
from planner.plan import Plan, PlanTable
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve
from planner.results.plan import plan_results
from planner.results.result import SolveResult
from planner.search.rounding import SAME
from solvers.solution import Status


def with_one_plan(phases: Sequence[Phase], numbers: str) -> list[Phase]:
    """The phases with one plan for all.

    Args:
        phases: With the answers of their own; all have a plan.
        numbers: Of the phases, in words.

    Raises:
        InputError: None of the plans that are best, or near it, in a phase runs in all.
    """
    plans = list(dict.fromkeys(plan for phase in phases for plan in _near(phase.answer)))
    steps = [phase.answer.run.steps if phase.answer.run else 0.0 for phase in phases]
    if phases[0].request.minimized.of_run:  # and not of a step
        steps = [1.0] * len(phases)
    totals = np.asarray(steps) @ np.stack([_values(phase.request, plans) for phase in phases])
    if not np.isfinite(totals.min()):
        raise InputError(
            f"phases: none of the {len(plans)} best plans of phases {numbers} runs in all of them; "
            "leave plan=same out, or fix what they are to have in common, e.g. --fix tp=8"
        )
    plan = plans[int(np.argmin(totals))]
    return [_with_plan(phase, plan, numbers) for phase in phases]


def _near(answer: SolveResult) -> list[Plan]:
    """The plans that a search found worth naming."""
    best = [] if answer.best is None else [answer.best.plan]
    front = [point.plan for point in answer.front]
    return [*best, *(ranked.result.plan for ranked in answer.candidates.top), *front]


def _values(request: Request, plans: Sequence[Plan]) -> FloatArray:
    """(n,) what each plan has of what is minimized; infinite where it may not be used."""
    known: dict[int, Resolved] = {}
    found = np.full(len(plans), np.inf)
    for at, plan in enumerate(plans):
        if plan.chips not in known:
            known[plan.chips] = resolve(request, chips=plan.chips)
        found[at] = _value(known[plan.chips], plan)
    return found


def _value(resolved: Resolved, plan: Plan) -> float:
    model, request, table = resolved.cost, resolved.request, PlanTable.from_plans([plan])
    broken = violations(model, table, all_orders=request.placement == "all")
    targets = options_of(request, resolved.runners.targets).runnable_in
    if broken or unmet(model, table, targets):
        return np.inf
    limits, costs = limits_of(request), evaluate_table(model, table)
    result = plan_results(model, table, costs)[0]
    fits, _ = limits.memory(model, table, costs.memory)
    times, energies = np.array([result.step_time_s]), np.array([result.energy_per_step_j])
    within, _ = limits.costs(model, times, energies, np.array([plan.chips]))
    allowed = bool(fits[0]) and (within is None or bool(within[0]))
    return request.minimized.value_of(result.costs) if allowed else np.inf


def _with_plan(phase: Phase, plan: Plan, numbers: str) -> Phase:
    """A phase with another plan than that of its own."""
    answer = phase.answer
    if answer.best is not None and answer.best.plan == plan:
        return phase
    found = evaluate_plan(resolve(phase.request, chips=plan.chips), plan)
    value = phase.request.minimized.value_of(found.result.costs)
    bound = answer.certificate.bound
    tied = (
        answer.status == Status.OPTIMAL.value and bound is not None and value <= bound * (1 + SAME)
    )
    line = f"the plan is that of phases {numbers}; alone this phase has a better one"
    other = replace(
        answer,
        best=replace(found.result, job=answer.question.plan_job),
        facts=found.facts,
        run=found.run,
        certificate=answer.certificate.of_plan(value, Status.OPTIMAL if tied else Status.FEASIBLE),
        notes=replace(answer.notes, why=(), caveats=(line,), runs_in=()),
    )
    return replace(phase, answer=other)
