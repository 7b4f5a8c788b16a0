"""From a fleet to its answer: plans of each job, arrays, the schedule, and what is said of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from frozen_records import dataclass
from planner.base.progress import NotedProgress
from planner.base.units import DAY_S
from planner.studies.fleet.answer import FleetResult
from planner.studies.fleet.choices import Choice, Found
from planner.studies.fleet.form import LATENESS, WEIGHTED
from planner.studies.fleet.impossible import smallest_changes
from planner.studies.fleet.late import whys
from planner.studies.fleet.program import by_second, program_of, second_of, unit_of
from planner.studies.fleet.question import FleetQuestion
from planner.studies.fleet.rows import cluster_rows, job_rows, totals_of
from solvers.fleet.listing import first_come
from solvers.fleet.problem import Fleet, Schedule, lateness_of
from solvers.fleet.solving import solve as solve_program
from solvers.solution import Solution, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long a schedule is looked for.

    Attributes:
        seconds: Wall time of one search.
        gap: The relative gap that is enough.
    """

    seconds: float = 60.0
    gap: float = 0.0


def plan_fleet(
    question: FleetQuestion,
    found: Found,
    effort: Effort,
    on_progress: NotedProgress | None = None,
) -> FleetResult:
    """The answer for a fleet.

    Args:
        question: The fleet.
        found: The plans that its jobs may take.
        effort: How long a schedule is looked for.
        on_progress: Called with (what, done, of, note).
    """
    base = _base(question, found)
    if lacking := _without_plan(question, found):
        return replace(base, status=Status.INFEASIBLE.value, reasons=tuple(lacking))
    started = time.perf_counter()
    _say(on_progress, "a schedule")
    program = program_of(question, found.choices, hard=not question.counts_lateness)
    solution = solve_program(program, seconds=effort.seconds, gap=effort.gap)
    base = replace(
        base, status=solution.status.value, **_values(unit_of(question, found.choices), solution)
    )
    if solution.status is Status.INFEASIBLE:
        _say(on_progress, "what would make it possible")
        reasons, changes = smallest_changes(question, found.choices, program, effort.seconds)
        seconds = time.perf_counter() - started
        return replace(base, reasons=reasons, changes=changes, seconds=seconds)
    if solution.decision is None:
        return replace(base, seconds=time.perf_counter() - started)
    schedule, second = _second(question, found.choices, program, solution.decision, effort)
    base = replace(base, **second)
    if question.objective == WEIGHTED:
        base = replace(base, **_weighted(question, found.choices, schedule, base))
    done = _with_schedule(base, question, found.choices, program, schedule)
    _say(on_progress, "why jobs are late")
    late = whys(question, program, schedule, effort.seconds / 4)
    return replace(done, late=late, seconds=time.perf_counter() - started)


def _say(on_progress: NotedProgress | None, what: str) -> None:
    if on_progress is not None:
        on_progress(what, 0, 1)


def _base(question: FleetQuestion, found: Found) -> FleetResult:
    return FleetResult(
        status="",
        objective_name=question.objective,
        objective=None,
        bound=None,
        gap=None,
        grid_s=question.grid_s,
        days=question.steps * question.grid_s / DAY_S,
        solved=found.asked,
        choices=len(found.choices),
    )


def _without_plan(question: FleetQuestion, found: Found) -> list[str]:
    """Jobs that no cluster has a plan for, with why."""
    have = {one.task for one in found.choices}
    lines = []
    for at, task in enumerate(question.tasks):
        if at in have:
            continue
        why = next((text for (job, _), text in found.missing.items() if job == at), "")
        lines.append(f"{task.name}: no plan fits on any of its clusters{why and f': {why}'}")
    return lines


def _values(unit: float, solution: Solution[Schedule]) -> dict[str, Any]:
    """Value, bound and gap in the unit of the objective."""
    if solution.decision is None:
        return {}
    return {
        "objective": solution.objective * unit,
        "bound": solution.bound * unit,
        "gap": solution.gap,
    }


def _weighted(
    question: FleetQuestion, choices: Sequence[Choice], schedule: Schedule, base: FleetResult
) -> dict[str, Any]:
    """Value, bound and gap of what is weighted, as the totals of a schedule have it."""
    totals, weights = totals_of(job_rows(question, choices, schedule)), question.weights
    value = weights.cost * (totals.money or 0.0) + weights.energy * totals.energy_kwh
    value += weights.lateness * totals.late_days
    proved = base.status == Status.OPTIMAL.value
    bound = value if proved else min(value, base.bound or 0.0)
    return {"objective": value, "bound": bound, "gap": (value - bound) / value if value else 0.0}


def _second(
    question: FleetQuestion,
    choices: Sequence[Choice],
    program: Fleet,
    schedule: Schedule,
    effort: Effort,
) -> tuple[Schedule, dict[str, Any]]:
    """Of lateness alone: of schedules that are no later, one with the least of what is second."""
    weights = question.weights
    alone = question.objective == WEIGHTED and weights.cost == weights.energy == 0
    if question.objective != LATENESS and not alone:
        return schedule, {}
    other = by_second(program, question, choices, lateness_of(program, schedule))
    found = solve_program(other, seconds=effort.seconds, gap=effort.gap, start=schedule)
    proved = found.status is Status.OPTIMAL
    return found.decision or schedule, {"second": second_of(question), "second_proved": proved}


def _with_schedule(
    base: FleetResult,
    question: FleetQuestion,
    choices: Sequence[Choice],
    program: Fleet,
    schedule: Schedule,
) -> FleetResult:
    jobs = job_rows(question, choices, schedule)
    usual = first_come(program_of(question, choices, hard=False))
    return replace(
        base,
        jobs=jobs,
        clusters=cluster_rows(question, program, schedule),
        totals=totals_of(jobs),
        usual=None if usual is None else totals_of(job_rows(question, choices, usual)),
    )
