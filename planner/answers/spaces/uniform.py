"""What a search over uniform stages found as an answer: the best plan and the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np

from planner.answers.building import Chosen, as_best, setting_of, with_plan, without_plan
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.uniform import UniformReasons, refused_jobs
from planner.answers.notes.front import front_note, said_of_chips
from planner.answers.notes.likely import against_first, likely_plans
from planner.answers.notes.runs import changes_along
from planner.answers.notes.scope import Scope, scope_of, scope_when_read
from planner.answers.spaces.lifted import lifted
from planner.base.arrays import FloatArray
from planner.base.deferred import Deferred
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.facts import plan_facts
from planner.explanation.causes import why_of
from planner.explanation.sensitivity.rebuilding import rebuilding
from planner.explanation.steps.neighbors import Judged, judged_steps, ranked_neighbors
from planner.objectives import Objective
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.question.resolved import Resolved
from planner.results.certificate import Certificate
from planner.results.plan import Neighbor, PlanResult, RankedPlan, plan_results
from planner.results.result import SolveResult
from planner.results.solved_parts import Front
from planner.search.advice import with_advice
from planner.search.best_few import BestFew
from planner.search.columns import BOTH, Columns, column_of, prover_of
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Found
from planner.search.infeasible.remedies import first_possible
from planner.search.limits import Limits
from planner.search.objective import least_left, optimum
from planner.search.rounding import SAME
from planner.search.space import Trail
from planner.search.ties import Ties
from planner.search.uniform.engine import UniformSpace, least_memory, searched
from solvers.solution import Status


def solve_uniform(
    resolved: Resolved,
    space: UniformSpace,
    losses: tuple[str, ...],
    started: float,
    on_progress: Progress | None,
    trail: Trail | None = None,
    ahead: Callable[[UniformSpace, SolveResult], SolveResult] | None = None,
) -> SolveResult:
    """The best plan whose stages are equal, and the exact front of the objectives asked for.

    Args:
        resolved: The job on its machine, with the chips to plan for.
        space: Its plans on those chips, not searched yet.
        losses: What the cluster gives away at this number of chips.
        started: `time.perf_counter` value at which the work began.
        on_progress: Called with (what, done, of).
        trail: Where what the proof did with every node is kept; None: nowhere.
        ahead: What is made of an answer and the space that it was found in; None: nothing.
    """
    minimized, setting = resolved.request.minimized, setting_of(resolved, losses, started)
    prover = replace(space, columns=prover_of(minimized, space.columns))
    apart = minimized.of_memory or prover.columns != space.columns
    proof = least_memory(space) if minimized.of_memory else searched(prover, on_progress, trail)
    if len(proof.points) == 0:
        if (other := _instead(resolved, space, proof)) is not None:
            there = replace(resolved, cost=other.model)
            return solve_uniform(there, other, losses, started, on_progress, trail, ahead)
        certificate = Certificate(
            status=proof.status.value,
            objective_name=minimized.name,
            bound=least_left(proof.bound, proof.status, minimized, proof.columns),
        )
        asked = UniformReasons(searched=space, chips=space.chips[-1], found=proof)
        why = diagnose(asked) if proof.status is Status.INFEASIBLE else None
        return without_plan(setting, certificate, proof.counts, why)
    exact = searched(space, on_progress) if apart else proof
    holder = space if minimized.of_memory else prover
    chosen = chosen_of(resolved, holder, proof, exact)
    counts = {} if exact is proof else exact.counts
    if chosen.best.chips != resolved.chips:
        left = resolved.cost.allocation(chosen.best.chips).losses
        setting = replace(setting, notes=replace(setting.notes, losses=left))
    found = with_plan(setting, certificate_of(resolved, proof), chosen, proof.counts, counts)
    return found if ahead is None else ahead(space, found)


def _instead(resolved: Resolved, space: UniformSpace, proof: Found) -> UniformSpace | None:
    """The space that is searched next, where this one has no plan; None: none was left out.

    First fewer chips; then all plans of the framework, where those that its target runs were
    assumed.
    """
    if proof.status is not Status.INFEASIBLE or space.chips != resolved.counts:
        return None
    if _none_ends(space, proof):
        return None
    runs_some = not refused_jobs(space.model, space.chips[-1], space.options)
    if runs_some and (fewer := _most_with_plan(resolved, space)) is not None:
        return space.on(fewer)
    return launched_by_none(resolved, space)


def _none_ends(space: UniformSpace, proof: Found) -> bool:
    """Whether plans are within all limits, of which no whole run ends."""
    if proof.misses.endless or space.model.run is None:
        return proof.misses.endless
    with suppress(OutOfTime):
        return first_possible(replace(space, columns=BOTH), space.chips[::-1]) is not None
    return False


def launched_by_none(resolved: Resolved, space: UniformSpace) -> UniformSpace | None:
    """All plans of the framework, where those that its target runs were assumed; else None."""
    options = resolved.runners.lifted(space.options)
    return None if options is None else replace(space, options=options)


def _most_with_plan(resolved: Resolved, space: UniformSpace) -> int | None:
    """The most chips below those asked for on which a plan fits, where on these none does.

    None where no fewer are wanted, or none of them has a plan that time lets find.
    """
    if space.chips != (resolved.chips,) or not resolved.takes_fewer:
        return None
    below = [n for n in resolved.cost.cluster.chip_counts(resolved.chips) if n < resolved.chips]
    with suppress(OutOfTime):
        return first_possible(replace(space, columns=BOTH), below[::-1])
    return None


def certificate_of(resolved: Resolved, proof: Found) -> Certificate:
    """That no plan is better than the best one of a search that found some.

    Time may end a search for a front whose least value of the objective is proved.
    """
    objective = resolved.request.minimized
    best = optimum(proof.points, proof.bound, proof.status, objective, proof.columns)
    proved = best.bound is not None and best.bound >= best.value * (1 - SAME)
    status = Status.OPTIMAL if proved else proof.status
    return Certificate(
        status=status.value,
        objective_name=objective.name,
        objective=best.value,
        bound=best.bound,
        uniform=best.value,
    )


def chosen_of(
    resolved: Resolved, prover: UniformSpace, proof: Found, whole: Found, *, alone: bool = True
) -> Chosen:
    """The best plan with what is known of others.

    Args:
        resolved: The job on its machine.
        prover: The space of the best plan, after its search.
        proof: Holds the best plan.
        whole: The front.
        alone: Whether that space is all of the question; else nothing is said of wider ones.
    """
    request, model, minimized = resolved.request, resolved.cost, resolved.request.minimized
    best = optimum(proof.points, proof.bound, proof.status, minimized, proof.columns)
    found = proof.plans.take(np.array([best.row]))
    named = _first_of_ties(prover, minimized, found, proof.points[best.row], proof.columns)
    few, complete_few = likely_plans(prover, minimized, named, best.value, proof.status)
    known = whole.plans if len(whole.points) else named  # time may end before the front begins
    plans = PlanTable.joined([named, known])
    result, *points = plan_results(model, plans, evaluate_table(model, plans))
    front = as_best(points, result, request.compared)
    complete = whole.status is Status.OPTIMAL
    note = front_note(resolved, result, len(front), proved=complete)
    note += changes_along(front, request.front)
    why, neighbors = reasons(resolved, result, prover.limits, prover.options, minimized)
    proved = proof.status is Status.OPTIMAL
    plain = replace(prover, beside=None, session=None)  # without what was searched: it is large

    def scope(space: UniformSpace) -> Scope:
        wider = lifted(resolved, space, minimized, named, result) if alone else []
        chips = said_of_chips(resolved, result, space.limits, space.options)
        return scope_of(resolved, result, wider, chips, proved=proved)

    return Chosen(
        best=result,
        facts=plan_facts(model, result.plan, prover.limits.bytes_of_plan(model, result.plan)),
        front=Front(
            plans=front,
            objectives=request.front,
            complete=complete,
            note=note,
        ),
        top=Deferred(lambda: _ranked(model, minimized, result, few())),
        top_complete=complete_few,
        neighbors=neighbors,
        why=why,
        scope=scope_when_read(lambda: scope(plain)) if prover.deadline is None else scope(prover),
    )


def _ranked(
    model: CostModel, objective: Objective, best: PlanResult, few: BestFew
) -> tuple[RankedPlan, ...]:
    """The best few plans, of which the first has its cost, and those worth measuring beside."""
    plans, measure = with_advice(model, objective, few)
    others = plans.take(np.arange(1, len(plans)))
    costs = plan_results(model, others, evaluate_table(model, others)) if len(others) else []
    return against_first(model, [best, *costs], objective, measure)


def reasons(
    resolved: Resolved,
    result: PlanResult,
    limits: Limits,
    options: SpaceOptions,
    objective: Objective,
) -> tuple[Sequence[str], Sequence[Neighbor]]:
    """What binds the best plan, in sentences, and what plans one step away would cost.

    Both are worked out when one of them is first looked at.

    Args:
        resolved: The job on its machine.
        result: The best plan.
        limits, options: What it had to obey.
        objective: What it was chosen for.
    """
    made = rebuilding(resolved)

    @cache
    def near() -> list[Judged]:
        return judged_steps(resolved.cost, result.plan, limits, options)

    return (
        Deferred(lambda: why_of(made, result, limits, near())[1]),
        Deferred(lambda: ranked_neighbors(resolved.cost, result, near(), objective)),
    )


def _first_of_ties(
    space: UniformSpace,
    objective: Objective,
    found: PlanTable,
    point: FloatArray,
    columns: Columns,
) -> PlanTable:
    """The plan that is named of those that are as fast and take as much energy as an optimum.

    Args:
        space: After its search.
        objective: What is minimized.
        found: One row, the optimum.
        point, columns: (d,) its objectives, and which they are.
    """
    if Deadline(space.deadline).passed or space.last is None:
        return found
    counts = any(one.of_memory for one in (objective, *space.columns))
    runs = {one: float(point[at]) for at, one in enumerate(columns) if one.of_run}
    time_s, energy_j = (column_of(point, columns, one) for one in BOTH)
    nodes, limits, opened = space.last, space.limits, space.first
    if counts or time_s is None or energy_j is None:
        costs = evaluate_table(space.model, found)
        time_s, energy_j = costs.step_time_s[0], costs.energy.total[0]
        if counts:
            lean = float(costs.memory_per_chip_bytes[0])
            limits, opened = replace(limits, memory_bytes=lean), None
    ties = Ties(
        space=replace(space, limits=limits),
        nodes=nodes,
        time_s=float(time_s),
        energy_j=float(energy_j),
        opened=opened,
        runs=runs,
    )
    return space.recalled("ties", lambda: ties.first(found), objective, of=found.plan(0))
