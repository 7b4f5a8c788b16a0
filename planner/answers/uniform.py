"""What a search found as an answer: the best plan and the front, and what is said of them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.answers.diagnosis.uniform import diagnose
from planner.answers.evaluation import training_run
from planner.answers.notes.front import (
    better_on_fewer,
    fewer_chips,
    front_note,
    keeps_to_chips,
)
from planner.answers.notes.launch import not_launched
from planner.answers.notes.likely import ranked, spread_of
from planner.cost.communication.traffic import mfu_convention
from planner.cost.evaluate import evaluate_table
from planner.cost.facts import plan_facts
from planner.explanation.causes import why_of
from planner.explanation.sensitivity.rebuilding import rebuilding
from planner.explanation.steps.neighbors import judged_steps, ranked_neighbors
from planner.objectives import Objective
from planner.plan import PlanTable
from planner.question.files.plan_file import asked_of, job_of
from planner.question.options import SpaceOptions
from planner.question.provenance import job_fields, sources_of, versions
from planner.question.resolved import Resolved
from planner.results.parts import Diagnosis
from planner.results.plan import Neighbor, PlanResult, plan_results
from planner.results.result import SolveResult
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.ties import SAME, Ties
from planner.search.uniform.engine import Found, Search
from solvers.solution import Status


def with_plan(
    resolved: Resolved,
    search: Search,
    proof: Found,
    exact: Found,
    losses: tuple[str, ...],
    started: float,
    prover: Search | None = None,
) -> SolveResult:
    """The answer when there is a plan: `proof` holds the best one, `exact` starts the front.

    `search` is that of the front, `prover` that of the best plan, where it is another.
    """
    request, model = resolved.request, resolved.cost
    prover = prover or search
    best = optimum(proof.points, proof.bound, proof.status, request.minimized, proof.columns)
    chosen = _first_of_ties(prover, request.minimized, proof.plans.take(np.array([best.row])))
    result = plan_results(model, chosen, evaluate_table(model, chosen))[0]
    top, top_complete = ranked(prover, request.minimized, chosen, proof.status)
    if result.chips != request.chips:
        losses = model.allocation(result.chips).losses
    whole = exact if _is_whole(resolved, proof, exact) else _front(resolved, search, exact)
    known = whole.plans if len(whole.points) else chosen  # time may end before the front begins
    costs = plan_results(model, known, evaluate_table(model, known))
    front = [result if is_tied(point, result, request.compared) else point for point in costs]
    complete = whole.status is Status.OPTIMAL
    note = front_note(request, model, len(front), proved=complete)
    why, near = reasons(resolved, result, search.limits, search.options, request.minimized)
    return SolveResult(
        status=proof.status.value,
        objective_name=request.objective,
        objective=best.value,
        bound=best.bound,
        gap=(best.value - best.bound) / best.value if best.value > 0 else 0.0,
        best=result,
        front=tuple(front),
        front_objectives=request.front,
        front_complete=complete,
        front_note=" ".join([note, *better_on_fewer(result, front)]),
        why=why,
        neighbors=near,
        run=training_run(request, result),
        diagnosis=None,
        losses=losses,
        counts=proof.counts,
        seconds=time.perf_counter() - started,
        **about_job(resolved),
        sources=sources_of(model),
        front_counts={} if whole is proof else whole.counts,
        top=top,
        top_complete=top_complete,
        spread=spread_of(model),
        facts=plan_facts(model, result.plan, search.limits.chip_bytes(model)),
    )


def reasons(
    resolved: Resolved,
    result: PlanResult,
    limits: Limits,
    options: SpaceOptions,
    objective: Objective,
) -> tuple[tuple[str, ...], tuple[Neighbor, ...]]:
    """What binds the best plan, in sentences, and what plans one step away would cost.

    A last sentence says so where its framework cannot launch it.

    Args:
        resolved: The job on its machine.
        result: The best plan.
        limits, options: What it had to obey.
        objective: What it was chosen for.
    """
    near = judged_steps(resolved.cost, result.plan, limits, options)
    _, why = why_of(rebuilding(resolved), result, limits, near)
    untold = not_launched(resolved.request, resolved.cost, result.plan)
    fewer = fewer_chips(resolved.request, result)
    return (*why, *fewer, *untold), ranked_neighbors(resolved.cost, result, near, objective)


def _first_of_ties(search: Search, objective: Objective, found: PlanTable) -> PlanTable:
    """The plan that is named of those that are as fast and take as much energy as an optimum."""
    late = search.deadline is not None and time.perf_counter() >= search.deadline
    if late or search.last is None:
        return found
    costs = evaluate_table(search.model, found)
    counts = any(one.of_memory for one in (objective, *search.columns))
    lean = float(costs.memory_per_chip_bytes[0]) if counts else None
    limits = search.limits if lean is None else replace(search.limits, memory_bytes=lean)
    return Ties(
        model=search.model,
        options=search.options,
        limits=limits,
        clocks=search.clocks,
        boxes=search.last,
        time_s=float(costs.step_time_s[0]),
        energy_j=float(costs.energy.total[0]),
    ).first(found)


def is_tied(point: PlanResult, best: PlanResult, objectives: Sequence[Objective]) -> bool:
    """Whether a plan of the front has the objectives of the best plan, on as many chips."""
    pairs = [(one.value_of(point.costs), one.value_of(best.costs)) for one in objectives]
    same = all(math.isclose(mine, other, rel_tol=SAME) for mine, other in pairs)
    return same and point.chips == best.chips


def _is_whole(resolved: Resolved, proof: Found, exact: Found) -> bool:
    """Whether the search that proved the best plan went over all chip counts already."""
    return exact is proof and resolved.request.minimized.over_chips


def _front(resolved: Resolved, search: Search, exact: Found) -> Found:
    """The front over smaller chip counts as well, unless it keeps to one count."""
    request, model = resolved.request, resolved.cost
    assert request.chips is not None
    if keeps_to_chips(request, model):
        return exact
    counts = tuple(n for n in model.cluster.chip_counts(request.chips) if n < request.chips)
    whole = search.run(counts) if counts else exact
    if exact.status is not Status.OPTIMAL and whole.status is Status.OPTIMAL:
        whole = replace(whole, status=exact.status)
    return whole


def about_job(resolved: Resolved) -> dict[str, Any]:
    """What an answer says of its question: fields of `SolveResult`."""
    return {
        "defaults": resolved.defaults,
        "job": job_fields(resolved),
        "plan_job": job_of(resolved),
        "asked": asked_of(resolved.request),
        "versions": versions(),
        "mfu_convention": mfu_convention(resolved.cost.assumptions),
    }


def without_plan(
    resolved: Resolved,
    found: Found,
    search: Search,
    losses: tuple[str, ...],
    started: float,
    diagnosis: Diagnosis | None = None,
    bound: float | None = None,
) -> SolveResult:
    """The answer when no plan fits, or none was found in time.

    Args:
        resolved: The job on its machine.
        found: The outcome of `search`.
        search: What was searched.
        losses: What the cluster gives away at this number of chips.
        started: `time.perf_counter` value at which the work began.
        diagnosis: Why no plan fits, where it is known.
        bound: No plan has a smaller objective.
    """
    request, model = resolved.request, resolved.cost
    assert request.chips is not None
    proved = found.status is Status.INFEASIBLE
    if proved and diagnosis is None:
        diagnosis = diagnose(
            model, request.chips, search.options, search.limits, found, search.deadline
        )
    return SolveResult(
        status=found.status.value,
        objective_name=request.objective,
        objective=None,
        bound=bound,
        gap=None,
        best=None,
        front=(),
        front_objectives=request.front,
        front_complete=proved,
        front_note="",
        why=(),
        neighbors=(),
        run=None,
        diagnosis=diagnosis,
        losses=losses,
        counts=found.counts,
        seconds=time.perf_counter() - started,
        **about_job(resolved),
    )
