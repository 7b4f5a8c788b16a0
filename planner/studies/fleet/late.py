"""Why jobs are late, and what one more domain of chips or one more day would buy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.base.units import DAY_S
from planner.studies.fleet.answer import Bought, Late
from planner.studies.fleet.question import FleetQuestion
from solvers.fleet.listing import earliest_end
from solvers.fleet.problem import Fleet, Schedule
from solvers.fleet.solving import solve
from solvers.solution import Status

_MOST = 3
"""Late jobs that are explained, the ones that count most first."""


def whys(
    question: FleetQuestion,
    program: Fleet,
    schedule: Schedule,
    seconds: float,
) -> tuple[Late, ...]:
    """Why jobs are late; nothing where none is.

    Args:
        question: The fleet.
        program: Its arrays, with their objective.
        schedule: The answer.
        seconds: Wall time of each search for what a change buys.
    """
    late = _late_steps(program, schedule)
    order = sorted(late, key=lambda job: -late[job] * question.tasks[job].form.priority)
    known: dict[tuple[str, int], tuple[Schedule, bool]] = {}
    return tuple(
        Late(
            job=question.tasks[job].name,
            alone_day=(earliest_end(program, job) or 0) * question.grid_s / DAY_S,  # it has one
            waits_for=tuple(_waits_for(question, program, schedule, job)),
            bought=tuple(_bought(question, program, schedule, job, seconds, known)),
        )
        for job in order[:_MOST]
    )


def _late_steps(program: Fleet, schedule: Schedule) -> dict[int, int]:
    """Late jobs, and by how many steps."""
    ends = {run.job: run.end for run in schedule}
    late = {job: end - int(program.jobs.deadline[job]) for job, end in ends.items()}
    return {job: steps for job, steps in late.items() if steps > 0}


def _waits_for(
    question: FleetQuestion, program: Fleet, schedule: Schedule, job: int
) -> Iterator[str]:
    """Other jobs on its cluster between its release and its end, the ones that hold most first."""
    own = [run for run in schedule if run.job == job]
    where = program.choices.cluster[own[0].choice]
    first, last = int(program.jobs.release[job]), own[-1].end
    held: dict[int, int] = {}
    for run in schedule:
        beside = min(run.end, last) - max(run.start, first)
        if run.job != job and beside > 0 and program.choices.cluster[run.choice] == where:
            area = beside * int(program.choices.units[run.choice])
            held[run.job] = held.get(run.job, 0) + area
    for other in sorted(held, key=lambda at: -held[at])[:_MOST]:
        yield question.tasks[other].name


def _bought(
    question: FleetQuestion,
    program: Fleet,
    schedule: Schedule,
    job: int,
    seconds: float,
    known: dict[tuple[str, int], tuple[Schedule, bool]],
) -> Iterator[Bought]:
    """What one more domain on its cluster buys, and one more day until its deadline."""
    run = next(run for run in schedule if run.job == job)
    at = int(program.choices.cluster[run.choice])
    site, units = question.sites[at], program.units.copy()
    units[at] += 1
    deadline = program.jobs.deadline.copy()
    deadline[job] += max(1, round(DAY_S / question.grid_s))
    changes = (
        (
            f"{site.unit_chips:,} more chips ({site.unit_name}) on {site.name}",
            ("units", at),
            replace(program, units=units),
        ),
        (
            "a deadline one day later",
            ("day", job),
            replace(program, jobs=replace(program.jobs, deadline=deadline)),
        ),
    )
    for words, key, changed in changes:
        if key not in known:
            found = solve(changed, seconds=seconds, start=schedule)
            known[key] = (found.decision or schedule, found.status is Status.OPTIMAL)
        yield _words(question, changed, known[key], words, job)


def _words(
    question: FleetQuestion, changed: Fleet, found: tuple[Schedule, bool], words: str, job: int
) -> Bought:
    schedule, proved = found
    late, day = _late_steps(changed, schedule), question.grid_s / DAY_S
    priority = {at: question.tasks[at].form.priority for at in late}
    return Bought(
        change=words,
        late_days=sum(steps * priority[at] for at, steps in late.items()) * day,
        job_late_days=late.get(job, 0) * day,
        proved=proved,
    )
