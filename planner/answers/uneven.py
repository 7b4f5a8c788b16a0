"""The answer of `planner.solve` where the stages of a pipeline may differ."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from planner.answers.diagnosis.uneven import diagnose_uneven, too_little_power
from planner.answers.evaluation import training_run
from planner.answers.notes.likely import against_first, spread_of
from planner.answers.notes.uneven import with_uneven_words
from planner.answers.simulated import simulated_facts
from planner.answers.uneven_front import counted, how_proved, laid_out, proved_by
from planner.answers.uniform import about_job, is_tied, reasons, without_plan
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import evaluate_table
from planner.cost.facts import PlanFacts
from planner.objectives import BY_TIME, Costs
from planner.plan import Plan, PlanTable
from planner.question.provenance import sources_of
from planner.question.resolved import Resolved
from planner.question.uneven_request import is_fastest_alone, limits_on_front
from planner.results.certificate import ROUNDING, UnevenFound
from planner.results.parts import Diagnosis
from planner.results.plan import PlanResult, plan_results
from planner.results.result import SolveResult
from planner.search.objective import optimum
from planner.search.ties import SAME
from planner.search.uneven.certificate import best_time
from planner.search.uneven.front import OnPoint, energy_front
from planner.search.uniform.engine import Found, Search
from solvers.solution import Status


def solve_uneven(
    resolved: Resolved,
    search: Search,
    losses: tuple[str, ...],
    started: float,
    on_point: OnPoint | None = None,
) -> SolveResult:
    """The best plan whose stages may differ, why none is better, and the front of time and energy.

    Args:
        resolved: The job on its machine, with the chips to plan for.
        search: Of plans with uniform stages; it has not run.
        losses: What the cluster gives away at this number of chips.
        started: `time.perf_counter` value at which the work began.
        on_point: Called with every point of the front that is proved.
    """
    request, model = resolved.request, resolved.cost
    assert request.chips is not None
    uniform = search.run((request.chips,))
    if (excess := too_little_power(search, request.chips, uniform)) is not None:
        none = replace(uniform, status=Status.INFEASIBLE)
        return _without_plan(resolved, search, none, None, excess, losses, started)
    known = uniform if search.options.layers is None else _none_of(uniform)
    found = best_time(
        model,
        search.options,
        search.limits,
        request.chips,
        uniform=known,
        gap=request.gap or 0.0,
        deadline=search.deadline,
        on_progress=search.on_progress,
    )
    if len(found.plans) == 0:
        why, least = None, None
        if found.status is Status.INFEASIBLE:
            why = diagnose_uneven(search, request.chips, uniform)
        else:
            least = _least(resolved, float(found.bound[0]))
        none = replace(uniform, status=found.status)
        return _without_plan(resolved, search, none, least, why, losses, started)
    front, proved = _front(resolved, search, known, found, on_point)
    return _with_plan(resolved, search, uniform, found, front, proved, losses, started)


def _least(resolved: Resolved, step_s: float) -> float | None:
    """The objective of which no plan has less that takes so long; None: nothing is known."""
    request, model = resolved.request, resolved.cost
    assert request.chips is not None
    waiting_j = step_s * standing_w(model, request.chips) * request.chips
    known = request.minimized.value_of(
        Costs(step_time_s=step_s, energy_j=waiting_j, chips=request.chips)
    )
    return known if 0 < known < np.inf else None


def _front(
    resolved: Resolved,
    search: Search,
    known: Found,
    found: UnevenFound,
    on_point: OnPoint | None,
) -> tuple[UnevenFound, list[tuple[float, float]]]:
    """The front, and seconds and joules of those of its points that are proved."""
    request = resolved.request
    assert request.chips is not None
    proved: list[tuple[float, float]] = []
    if found.status is Status.OPTIMAL:
        proved.append((float(found.points[0, 0]), float(found.points[0, 1])))
    if is_fastest_alone(request):
        return found, proved

    def proved_point(plan: Plan, time_s: float, energy_j: float) -> None:
        proved.append((time_s, energy_j))
        if on_point is not None:
            on_point(plan, time_s, energy_j)

    front = energy_front(
        resolved.cost,
        search.options,
        search.limits,
        request.chips,
        start=found,
        uniform=known,
        points=limits_on_front(request),
        objective=proved_by(request.minimized),
        gap=request.gap or 0.0,
        deadline=search.deadline,
        on_progress=search.on_progress,
        on_point=proved_point,
    )
    return laid_out(front, found, search.options.layers, request.minimized), proved


def _none_of(uniform: Found) -> Found:
    """A search that found nothing: a layout that is given excludes plans with uniform stages."""
    none = np.empty(0, dtype=np.intp)
    return replace(uniform, plans=uniform.plans.take(none), points=uniform.points[:0])


def _with_plan(
    resolved: Resolved,
    search: Search,
    uniform: Found,
    found: UnevenFound,
    front: UnevenFound,
    proved: list[tuple[float, float]],
    losses: tuple[str, ...],
    started: float,
) -> SolveResult:
    """The answer when there is a plan: `found` is the fastest, `front` all that it is part of."""
    request, model = resolved.request, resolved.cost
    proof = _fastest(found, front) if request.minimized.uneven == BY_TIME else front
    alike = _best_uniform(resolved, uniform)
    minimized, chips = request.minimized, result_chips(resolved)
    best = optimum(proof.points, proof.bound, proof.status, minimized, chips=chips)
    result = _evaluated(resolved, proof.plans.take(np.array([best.row])))[0]
    assert proof.certificate is not None
    value = None if alike is None else request.minimized.value_of(alike.costs)
    certificate = replace(counted(proof.certificate, minimized, chips), uniform=value)
    points = _evaluated(resolved, front.plans)
    done = certificate.gap <= ROUNDING and not certificate.left
    answer = SolveResult(
        status=(Status.OPTIMAL if done else proof.status).value,
        objective_name=request.objective,
        objective=certificate.objective,
        bound=certificate.bound,
        gap=certificate.gap,
        best=result,
        front=tuple(
            result if is_tied(point, result, request.compared) else point for point in points
        ),
        front_objectives=request.front,
        front_note="",
        **how_proved(request, front, proved),
        why=(),
        neighbors=(),
        run=training_run(request, result),
        diagnosis=None,
        losses=losses,
        counts=uniform.counts,
        seconds=time.perf_counter() - started,
        **about_job(resolved),
        sources=sources_of(model),
        top=against_first(model, [result], request.minimized),
        spread=spread_of(model),
        facts=_facts(resolved, search, result),
        layout=request.layout,
        certificate=certificate,
    )
    why, near = reasons(resolved, result, search.limits, search.options, request.minimized)
    answer = replace(answer, why=why, neighbors=near)
    return with_uneven_words(resolved, answer, alike)


def result_chips(resolved: Resolved) -> int:
    """Chips of every plan: all that were asked for."""
    assert resolved.request.chips is not None
    return resolved.request.chips


def _fastest(found: UnevenFound, front: UnevenFound) -> UnevenFound:
    """The fastest plan; of those that are as fast the one that the front begins with."""
    assert found.certificate is not None
    if not len(front.points) or front.points[0, 0] > found.points[0, 0] * (1 + SAME):
        return found
    first = np.array([0])
    seconds = float(front.points[0, 0])
    known = found.certificate
    return replace(
        found,
        plans=front.plans.take(first),
        points=front.points[first],
        certificate=replace(known, objective=seconds, bound=min(known.bound, seconds)),
    )


def _evaluated(resolved: Resolved, plans: PlanTable) -> list[PlanResult]:
    return plan_results(resolved.cost, plans, evaluate_table(resolved.cost, plans))


def _facts(resolved: Resolved, search: Search, result: PlanResult) -> PlanFacts:
    model = resolved.cost
    return simulated_facts(model, result.plan, search.limits.chip_bytes(model))


def _best_uniform(resolved: Resolved, uniform: Found) -> PlanResult | None:
    """The best plan with uniform stages."""
    if len(uniform.points) == 0:
        return None
    objective = resolved.request.minimized
    chips = result_chips(resolved)
    row = optimum(uniform.points, uniform.bound, uniform.status, objective, chips=chips).row
    return _evaluated(resolved, uniform.plans.take(np.array([row])))[0]


def _without_plan(
    resolved: Resolved,
    search: Search,
    none: Found,
    least: float | None,
    why: Diagnosis | None,
    losses: tuple[str, ...],
    started: float,
) -> SolveResult:
    """The answer when no plan fits, for a reason, or none was found in time above a bound."""
    answer = without_plan(resolved, none, search, losses, started, why, least)
    return replace(answer, layout=resolved.request.layout)
