"""The answer of a search over machines: its best machine, its front, and what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from planner.answers.building import (
    Chosen,
    Setting,
    as_best,
    setting_of,
    with_plan,
    without_plan,
)
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.machines import MachineReasons
from planner.answers.notes.front import range_words
from planner.answers.notes.runs import changes_along
from planner.answers.spaces.uniform import certificate_of, chosen_of
from planner.base.progress import Progress
from planner.base.units import plural
from planner.cost.evaluate import evaluate_table
from planner.question.files.plan_text import asked_of
from planner.question.resolved import Resolved, on_chips
from planner.results.certificate import Certificate
from planner.results.parts import MachineSearch
from planner.results.plan import PlanResult, plan_results
from planner.results.result import SolveResult
from planner.results.solved_parts import Front
from planner.search.driver import Found
from planner.search.machines.joint import Machines, MachinesFound, search_machines
from planner.search.machines.machines import Candidate, reticle_words, use_words
from planner.search.objective import least_left, optimum
from planner.search.uniform.engine import least_memory, searched
from solvers.solution import Status


def solve_machines(machines: Machines, started: float, on_progress: Progress | None) -> SolveResult:
    """The best plan on the best machine, and the front over all machines.

    Args:
        machines: Not searched yet.
        started: `time.perf_counter` value at which the work began.
        on_progress: Called with (what, done, of).
    """
    found, request = search_machines(machines, on_progress), machines.request
    proof = found.proof
    if len(proof.points) == 0:
        options = machines.runners.lifted(machines.options)
        if proof.status is Status.INFEASIBLE and options is not None:
            return solve_machines(replace(machines, options=options), started, on_progress)
        return _without_plan(machines, found, started, on_progress)
    row = optimum(proof.points, proof.bound, proof.status, request.minimized, proof.columns).row
    at, chips = machines.of_model(proof.models[row]), proof.plans.plan(row).chips
    resolved = _on(machines.candidates[at], chips)
    certificate = certificate_of(resolved, proof)
    space, rows = machines.space(at, chips), np.array([row])
    best = replace(proof, plans=proof.plans.take(rows), points=proof.points[rows])
    exact = best
    if not machines.late:
        own = searched(space)
        exact = own if len(own.points) or request.minimized.of_memory else best
        own = least_memory(space) if request.minimized.of_memory else own
        best = own if len(own.points) else best
    chosen = chosen_of(resolved, space, best, exact, alone=False)
    losses = resolved.cost.allocation(chips).losses
    wishes = reticle_words(resolved.cost, request)
    setting = _setting(machines, resolved, (*losses, *wishes), started)
    chosen = _with_machines(machines, found, at, chosen)
    front = Counter(point.machine.words for point in chosen.front.plans if point.machine)
    answer = with_plan(setting, certificate, chosen, proof.counts)
    return _searched(machines, found, answer, front)


def _setting(
    machines: Machines, resolved: Resolved, losses: tuple[str, ...], started: float
) -> Setting:
    """What an answer says of a machine, of a question about several."""
    setting = setting_of(resolved, losses, started)
    return replace(setting, question=replace(setting.question, asked=asked_of(machines.request)))


def _searched(
    machines: Machines, found: MachinesFound, answer: SolveResult, front: Mapping[str, int]
) -> SolveResult:
    """The answer with what was searched of each machine; `front`: plans by its words."""
    records = []
    for at, one in enumerate(machines.candidates):
        runs = [run.counts for machine, run in found.runs if machine == at]
        partial_plans, candidates = (
            sum((Counter(run[stage]) for run in runs), Counter[str]())
            for stage in ("partial_plans", "candidates")
        )
        most = one.counts[-1] if one.counts else 0
        words = one.machine(most or 1).words
        records.append(
            MachineSearch(
                words=words,
                most_chips=most,
                limited_by=one.limited_by,
                chip_counts=len(machines.full(at)) + len(machines.rest(at)),
                partial_plans=partial_plans["considered"],
                bound=partial_plans["bound"],
                evaluated=candidates["evaluated"],
                front=front.get(words, 0),
            )
        )
    return replace(answer, candidates=replace(answer.candidates, machines=tuple(records)))


def _without_plan(
    machines: Machines, found: MachinesFound, started: float, on_progress: Progress | None
) -> SolveResult:
    """The answer without a plan, which names the machine that comes nearest."""
    at, alone = _nearest_miss(machines, found)
    one, asked = machines.candidates[at], machines.request.chip_range
    resolved = _on(one, asked[1] if asked else one.counts[-1] if found.alone else 1)
    proof, minimized = found.proof, machines.request.minimized
    certificate = Certificate(
        status=alone.status.value,
        objective_name=minimized.name,
        bound=least_left(proof.bound, proof.status, minimized, proof.columns),
    )
    why = None
    if alone.status is Status.INFEASIBLE:
        why = diagnose(
            MachineReasons(
                searched=machines.space(at),
                chips=resolved.chips,
                found=alone,
                machines=machines,
                outcome=found,
                on_progress=on_progress,
            )
        )
    setting = _setting(machines, resolved, (), started)
    answer = without_plan(setting, certificate, alone.counts, why)
    return _searched(machines, found, answer, {})


def _on(one: Candidate, chips: int) -> Resolved:
    """The job on a machine and its chips."""
    return on_chips(one.resolved, chips)


def _with_machines(machines: Machines, found: MachinesFound, at: int, chosen: Chosen) -> Chosen:
    """The best plan of a machine with the front of all machines."""
    one, chips = machines.candidates[at], chosen.best.chips
    best = replace(chosen.best, machine=one.machine(chips))
    known = _results(machines, found.whole) or [best]  # time may end before the front begins
    front = as_best(known, best, machines.request.compared)
    complete = found.whole.status is Status.OPTIMAL
    return replace(
        chosen,
        best=best,
        front=Front(
            plans=front,
            objectives=machines.request.front,
            complete=complete,
            note=_note(machines, len(front), complete=complete)
            + changes_along(front, machines.request.front),
        ),
        top=tuple(
            replace(plan, result=replace(plan.result, machine=one.machine(plan.result.chips)))
            for plan in chosen.top
        ),
        why=(*chosen.why, *use_words(one.model, machines.budgets, chips)),
    )


def _note(machines: Machines, points: int, *, complete: bool) -> str:
    """What the front ranges over."""
    several = plural(len(machines.candidates), "machine")
    most = max(one.counts[-1] for one in machines.candidates if one.counts)
    exactly = machines.request.keeps_to_chips
    chips = f"{'the most' if exactly else 'all'} chips that the budgets allow (up to {most:,})"
    if machines.request.chip_range is not None:
        chips = range_words(*machines.request.chip_range)
    scope = f"plans on {several} (PEs per chip and wiring) of {chips}"
    if not complete:
        return f"The front of {scope} is incomplete: the time limit ended the search."
    return f"The exact front of {scope}: {plural(points, 'plan')}; proved complete."


def _results(machines: Machines, found: Found) -> list[PlanResult]:
    """The plans of a search with their costs and machines."""
    results: dict[int, PlanResult] = {}
    owners = np.array([machines.of_model(model) for model in found.models], dtype=np.int64)
    for at in np.unique(owners):
        one, rows = machines.candidates[int(at)], np.flatnonzero(owners == at)
        plans = found.plans.take(rows)
        costed = plan_results(one.model, plans, evaluate_table(one.model, plans))
        for row, result in zip(rows, costed, strict=True):
            results[int(row)] = replace(result, machine=one.machine(result.chips))
    return [results[row] for row in sorted(results)]


def _nearest_miss(machines: Machines, found: MachinesFound) -> tuple[int, Found]:
    """The machine with the most memory that was searched, or the first; and its outcome."""

    def room(at: int) -> float:
        one = machines.candidates[at]
        return one.counts[-1] * one.model.allocatable_bytes

    searched = sorted(found.alone, key=room)
    return (searched[-1], found.alone[searched[-1]]) if searched else (0, found.proof)
