"""The answer of `planner.solve` where the stages of a pipeline may differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.answers.building import Chosen, Setting, as_best, setting_of, with_plan, without_plan
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.uneven import UnevenReasons, too_little_power
from planner.answers.notes.front import said_of_chips
from planner.answers.notes.likely import against_first
from planner.answers.notes.scope import scope_of
from planner.answers.notes.uneven import said_of_stages
from planner.answers.simulated import simulated_facts
from planner.answers.spaces.uneven_front import counted, how_proved, laid_out, proved_by
from planner.answers.spaces.uniform import launched_by_none, reasons
from planner.base.progress import Progress
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import evaluate_table
from planner.objectives import BY_TIME, Costs
from planner.plan import Plan, PlanTable
from planner.question.kinds.uneven import is_fastest_alone, limits_on_front
from planner.question.resolved import Resolved
from planner.results.certificate import ROUNDING, Certificate, UnevenFound
from planner.results.parts import Diagnosis
from planner.results.plan import PlanResult, plan_results
from planner.results.result import SolveResult
from planner.results.solved_parts import Front
from planner.search.driver import Found
from planner.search.objective import optimum
from planner.search.rounding import SAME
from planner.search.space import Trail
from planner.search.uneven.certificate import best_time
from planner.search.uneven.front import OnPoint, energy_front
from planner.search.uniform.engine import UniformSpace, searched
from solvers.solution import Status


def solve_uneven(
    resolved: Resolved,
    space: UniformSpace,
    losses: tuple[str, ...],
    started: float,
    on_progress: Progress | None = None,
    on_point: OnPoint | None = None,
    trail: Trail | None = None,
) -> SolveResult:
    """The best plan whose stages may differ, why none is better, and the front of time and energy.

    Args:
        resolved: The job on its machine, with the chips to plan for.
        space: Plans with uniform stages on those chips, not searched yet.
        losses: What the cluster gives away at this number of chips.
        started: `time.perf_counter` value at which the work began.
        on_progress: Called with (what, done, of).
        on_point: Called with every point of the front that is proved.
        trail: Where the stage problems of its proof are kept; None: nowhere.
    """
    request, model, chips = resolved.request, resolved.cost, resolved.chips
    setting = setting_of(resolved, losses, started)
    uniform = searched(space, on_progress)
    if (excess := too_little_power(space, chips, uniform)) is not None:
        return _without_plan(setting, uniform, Status.INFEASIBLE, diagnosis=excess)
    known = uniform if space.options.layers is None else _none_of(uniform)
    found = best_time(
        model,
        space.options,
        space.limits,
        chips,
        uniform=known,
        gap=request.gap or 0.0,
        deadline=space.deadline,
        on_progress=on_progress,
        trail=trail,
    )
    if found.status is Status.INFEASIBLE:
        if (every := launched_by_none(resolved, space)) is not None:
            return solve_uneven(resolved, every, losses, started, on_progress, on_point, trail)
        why = diagnose(UnevenReasons(space=space, chips=chips, uniform=uniform))
        return _without_plan(setting, uniform, found.status, diagnosis=why)
    if len(found.plans) == 0:
        least = _least(resolved, float(found.bound[0]))
        return _without_plan(setting, uniform, found.status, bound=least)
    front, proved = _front(resolved, space, known, found, on_progress, on_point)
    return _with_plan(resolved, setting, space, uniform, found, front, proved)


def _least(resolved: Resolved, step_s: float) -> float | None:
    """The objective of which no plan has less that takes so long; None: nothing is known."""
    waiting_j = step_s * standing_w(resolved.cost, resolved.chips) * resolved.chips
    least = resolved.request.minimized.value_of(
        Costs(step_time_s=step_s, energy_j=waiting_j, chips=resolved.chips)
    )
    return least if 0 < least < np.inf else None


def _without_plan(
    setting: Setting,
    uniform: Found,
    status: Status,
    bound: float | None = None,
    diagnosis: Diagnosis | None = None,
) -> SolveResult:
    """The answer when no plan fits, for a reason, or none was found in time above a bound."""
    certificate = Certificate(
        status=status.value, objective_name=setting.request.objective, bound=bound
    )
    return without_plan(setting, certificate, uniform.counts, diagnosis)


def _front(
    resolved: Resolved,
    space: UniformSpace,
    known: Found,
    found: UnevenFound,
    on_progress: Progress | None,
    on_point: OnPoint | None,
) -> tuple[UnevenFound, list[tuple[float, float]]]:
    """The front, and seconds and joules of those of its points that are proved."""
    request = resolved.request
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
        space.options,
        space.limits,
        resolved.chips,
        start=found,
        uniform=known,
        points=limits_on_front(request),
        objective=proved_by(request.minimized),
        gap=request.gap or 0.0,
        deadline=space.deadline,
        on_progress=on_progress,
        on_point=proved_point,
    )
    return laid_out(front, found, space.options.layers, request.minimized), proved


def _none_of(uniform: Found) -> Found:
    """A search that found nothing: a layout that is given excludes plans with uniform stages."""
    none = np.empty(0, dtype=np.intp)
    return replace(uniform, plans=uniform.plans.take(none), points=uniform.points[:0])


def _with_plan(
    resolved: Resolved,
    setting: Setting,
    space: UniformSpace,
    uniform: Found,
    found: UnevenFound,
    front: UnevenFound,
    proved: list[tuple[float, float]],
) -> SolveResult:
    """The answer when there is a plan: `found` is the fastest, `front` all that it is part of."""
    request, limits, minimized = resolved.request, space.limits, resolved.request.minimized
    proof = _fastest(found, front) if minimized.uneven == BY_TIME else front
    best = optimum(proof.points, proof.bound, proof.status, minimized, chips=resolved.chips)
    result = _evaluated(resolved, proof.plans.take(np.array([best.row])))[0]
    alike = _best_uniform(resolved, uniform)
    certificate = _certificate(resolved, proof, alike)
    why, near = reasons(resolved, result, limits, space.options, minimized)
    chips = said_of_chips(resolved, result, limits, space.options)
    rows, front_limits = how_proved(request, front, proved)
    chosen = Chosen(
        best=result,
        facts=simulated_facts(
            resolved.cost, result.plan, limits.bytes_of_plan(resolved.cost, result.plan)
        ),
        front=Front(
            plans=as_best(_evaluated(resolved, front.plans), result, request.compared),
            objectives=request.front,
            complete=front.front_complete,
            proved=rows,
            limits=front_limits,
        ),
        top=against_first(resolved.cost, [result], minimized),
        neighbors=near,
        why=why,
        scope=scope_of(
            resolved, result, chips=chips, proved=certificate.status == Status.OPTIMAL.value
        ),
    )
    said = said_of_stages(resolved, certificate, chosen, alike)
    return with_plan(setting, certificate, said, uniform.counts)


def _certificate(resolved: Resolved, proof: UnevenFound, alike: PlanResult | None) -> Certificate:
    """That of a search, which rounding alone may keep from being a proof of the optimum."""
    objective = resolved.request.minimized
    value = None if alike is None else objective.value_of(alike.costs)
    known = counted(proof.certificate, objective, resolved.chips)
    done = known.gap is not None and known.gap <= ROUNDING and not known.left
    status = Status.OPTIMAL if done else proof.status
    return replace(known, status=status.value, uniform=value)


def _fastest(found: UnevenFound, front: UnevenFound) -> UnevenFound:
    """The fastest plan; of those that are as fast the one that the front begins with."""
    if not len(front.points) or front.points[0, 0] > found.points[0, 0] * (1 + SAME):
        return found
    first = np.array([0])
    return replace(
        found,
        plans=front.plans.take(first),
        points=front.points[first],
        certificate=found.certificate.of_plan(float(front.points[0, 0]), found.status),
    )


def _evaluated(resolved: Resolved, plans: PlanTable) -> list[PlanResult]:
    return plan_results(resolved.cost, plans, evaluate_table(resolved.cost, plans))


def _best_uniform(resolved: Resolved, uniform: Found) -> PlanResult | None:
    """The best plan with uniform stages."""
    if len(uniform.points) == 0:
        return None
    objective = resolved.request.minimized
    row = optimum(
        uniform.points, uniform.bound, uniform.status, objective, chips=resolved.chips
    ).row
    return _evaluated(resolved, uniform.plans.take(np.array([row])))[0]
