"""Rows of an answer from a schedule."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base.units import DAY_S
from planner.studies.fleet.answer import ClusterRow, JobRow, Segment, Totals
from planner.studies.fleet.choices import Choice
from planner.studies.fleet.program import POWER_W
from planner.studies.fleet.question import FleetQuestion
from solvers.fleet.problem import Fleet, Run, Schedule, used


def job_rows(
    question: FleetQuestion, choices: Sequence[Choice], schedule: Schedule
) -> tuple[JobRow, ...]:
    """A row per job, in the order of the file."""
    return tuple(
        _job_row(question, choices, at, [run for run in schedule if run.job == at])
        for at in range(len(question.tasks))
    )


def _job_row(
    question: FleetQuestion, choices: Sequence[Choice], at: int, runs: Sequence[Run]
) -> JobRow:
    task, day = question.tasks[at], question.grid_s / DAY_S
    site = question.sites[choices[runs[0].choice].site]
    shares = _shares(question, choices, runs)
    parts = [(choices[run.choice], share) for run, share in zip(runs, shares, strict=True)]
    deadline = None if task.deadline is None else task.deadline * day
    end = runs[-1].end * day
    money = [one.money * share for one, share in parts if one.money is not None]
    return JobRow(
        name=task.name,
        model=task.request.model,
        cluster=site.name,
        priority=task.form.priority,
        segments=tuple(
            _segment(question, choices[run.choice], run, share)
            for run, share in zip(runs, shares, strict=True)
        ),
        deadline_day=deadline,
        late_days=0.0 if deadline is None else max(0.0, end - deadline),
        money=sum(money) if len(money) == len(parts) else None,
        energy_kwh=sum(one.energy_kwh * share for one, share in parts),
    )


def _shares(question: FleetQuestion, choices: Sequence[Choice], runs: Sequence[Run]) -> list[float]:
    """The share of its choice's whole run that each segment takes; of one segment all of it."""
    if len(runs) == 1:
        return [1.0]
    day = question.grid_s / DAY_S
    return [run.steps * day / choices[run.choice].days for run in runs]


def _segment(question: FleetQuestion, choice: Choice, run: Run, share: float) -> Segment:
    day = question.grid_s / DAY_S
    return Segment(
        chips=choice.plan["chips"],
        held_chips=choice.units * question.sites[choice.site].unit_chips,
        start_day=run.start * day,
        end_day=run.end * day,
        run_days=choice.days * share,
        power_w=choice.power_w,
        plan=choice.plan,
    )


def cluster_rows(
    question: FleetQuestion, program: Fleet, schedule: Schedule
) -> tuple[ClusterRow, ...]:
    """A row per cluster."""
    units, power = used(program, schedule)
    last = max(run.end for run in schedule)
    return tuple(
        ClusterRow(
            name=site.name,
            hardware=site.record.name,
            chips=site.form.chips,
            unit=site.unit_name,
            unit_chips=site.unit_chips,
            used=float(units[at].sum()) / (site.units * last),
            peak_chips=int(units[at].max()) * site.unit_chips,
            peak_power_w=float(power[at].max()) * POWER_W,
            max_power_w=site.form.max_power,
        )
        for at, site in enumerate(question.sites)
    )


def totals_of(jobs: Sequence[JobRow]) -> Totals:
    """Of all jobs together."""
    money = [job.money for job in jobs if job.money is not None]
    return Totals(
        money=sum(money) if len(money) == len(jobs) else None,
        energy_kwh=sum(job.energy_kwh for job in jobs),
        late_days=sum(job.late_days * job.priority for job in jobs),
        late_jobs=sum(job.late_days > 0 for job in jobs),
        end_day=max(job.end_day for job in jobs),
    )
