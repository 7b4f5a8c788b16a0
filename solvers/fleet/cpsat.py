"""The search of CP-SAT through a program, from a schedule that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solvers.cpsat_solver import new_solver, run_search
from solvers.fleet.problem import Run, Schedule, objective_of
from solvers.fleet.program import Program
from solvers.fleet.symmetry import canonical
from solvers.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How a search ended: its status, the schedule it found, its value, and a bound of it."""

    status: Status
    schedule: Schedule | None
    value: int
    bound: int


def searched(
    program: Program,
    *,
    seconds: float,
    gap: float = 0.0,
    bound: int = 0,
    start: Schedule | None = None,
    seed: int = 0,
    beside: bool = False,
) -> Searched:
    """Searches a program.

    Args:
        program: What to search; it is changed.
        seconds: That there are.
        gap: The relative one that is enough.
        bound: A known one.
        start: A schedule to begin with.
        seed: Of the search.
        beside: Whether it only looks for better schedules beside those that are known, over and
            over, by large neighbourhoods, and proves nothing.
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

    if start is not None:
        _hint(program, start)
    if bound > 0:
        program.model.add(program.goal >= bound)
    solver = new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.interleave_search = solver.parameters.use_lns_only = beside
    solver.parameters.random_seed = seed
    solver.parameters.relative_gap_limit = gap
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    outcome = run_search(solver, program.model)
    if outcome == cp_model.INFEASIBLE:
        return Searched(status=Status.INFEASIBLE, schedule=None, value=0, bound=0)
    known = max(bound, round(solver.best_objective_bound)) if outcome != cp_model.UNKNOWN else bound
    if outcome not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Searched(status=Status.TIME_LIMIT, schedule=None, value=0, bound=known)
    schedule, value = _read(program, solver), round(solver.objective_value)
    done = known >= value
    return Searched(
        status=Status.OPTIMAL if done else Status.FEASIBLE,
        schedule=schedule,
        value=value if program.free else objective_of(program.fleet, schedule),
        bound=min(known, value),
    )


def _hint(program: Program, schedule: Schedule) -> None:
    """Begins with a schedule."""
    fleet = program.fleet
    runs: dict[int, list[Run]] = {}
    for run in canonical(fleet, schedule):
        runs.setdefault(run.job, []).append(run)
    for job, own in runs.items():
        last = own[-1].end
        for segment in range(int(fleet.jobs.segments[job])):
            now = own[segment] if segment < len(own) else None
            if not segment:
                program.model.add_hint(program.vars.start[job, segment], own[0].start)
            program.model.add_hint(program.vars.end[job, segment], now.end if now else last)
            for row in fleet.rows_of(job).tolist():
                chosen = now is not None and now.choice == row
                program.model.add_hint(program.vars.taken[segment, row], chosen)
                if (segment, row) in program.vars.length:
                    steps = now.steps if now is not None and chosen else 0
                    program.model.add_hint(program.vars.length[segment, row], steps)
        if job in program.vars.late:
            late = max(0, last - int(fleet.jobs.deadline[job]))
            program.model.add_hint(program.vars.late[job], late)


def _read(program: Program, solver: Any) -> Schedule:
    """The schedule that a search found."""
    runs, fleet = [], program.fleet
    for (segment, row), one in program.vars.taken.items():
        if not solver.boolean_value(one):
            continue
        job = int(fleet.choices.job[row])
        steps = (
            solver.value(program.vars.length[segment, row])
            if (segment, row) in program.vars.length
            else int(fleet.choices.steps[row])
        )
        start = solver.value(program.vars.start[job, segment])
        runs.append(Run(job=job, choice=row, start=start, steps=steps))
    return tuple(sorted(runs, key=lambda run: (run.job, run.start)))
