"""Every schedule of a small fleet, one after the other: the oracle of `solving`.

It looks at all starts, not only at those that end another job, and knows no bound but the value of
what is scheduled already, so that it shares nothing with what it checks but the problem itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from solvers.fleet.problem import UNLIMITED, Fleet, Run, Schedule, lateness_of, values_of


def least(fleet: Fleet) -> tuple[int, Schedule] | None:
    """The least value of all schedules, and the first that has it; None: there is none."""
    best: tuple[int, Schedule] | None = None
    options = [list(ways(fleet, job)) for job in range(len(fleet.jobs))]

    def place(job: int, before: Schedule) -> None:
        nonlocal best
        value = values_of(fleet, before) + lateness_of(fleet, before)
        if best is not None and value >= best[0]:
            return
        if job == len(options):
            best = (value, before)
            return
        for runs in options[job]:
            if _fits(fleet, (*before, *runs)):
                place(job + 1, (*before, *runs))

    place(0, ())
    return best


def ways(fleet: Fleet, job: int) -> Iterator[Schedule]:
    """Every way to run a job alone, whatever the others do."""
    for row in fleet.rows_of(job).tolist():
        for start in range(int(fleet.jobs.release[job]), fleet.horizon):
            if fleet.jobs.segments[job] == 1:
                run = Run(job=job, choice=row, start=start, steps=int(fleet.choices.steps[row]))
                if run.end <= _last(fleet, job):
                    yield (run,)
            else:
                yield from _continued(fleet, job, row, start, 0, ())


def _continued(
    fleet: Fleet, job: int, row: int, start: int, done: int, before: Schedule
) -> Iterator[Schedule]:
    """The ways that go on with a choice at a step; `done` of the work is."""
    rate = int(fleet.choices.rate[row])
    done -= int(fleet.choices.lost[row]) if before else 0
    for steps in range(1, _last(fleet, job) - start + 1):
        run = Run(job=job, choice=row, start=start, steps=steps)
        if done + rate * steps >= fleet.jobs.work[job]:
            yield (*before, run)
            return
        if len(before) + 1 < fleet.jobs.segments[job]:
            for other in fleet.rows_of(job).tolist():
                here = fleet.choices.cluster[other] == fleet.choices.cluster[row]
                if other != row and here:
                    after = done + rate * steps
                    yield from _continued(fleet, job, other, run.end, after, (*before, run))


def _last(fleet: Fleet, job: int) -> int:
    return min(fleet.horizon, int(fleet.jobs.latest[job]))


def _fits(fleet: Fleet, schedule: Schedule) -> bool:
    """Whether a part of a schedule is within all limits, counted step by step."""
    choices, money = fleet.choices, 0
    held: dict[tuple[int, int], int] = {}
    drawn: dict[tuple[int, int], int] = {}
    for run in schedule:
        at = int(choices.cluster[run.choice])
        for step in range(run.start, run.end):
            held[at, step] = held.get((at, step), 0) + int(choices.units[run.choice])
            drawn[at, step] = drawn.get((at, step), 0) + int(choices.power[run.choice])
        several = sum(other.job == run.job for other in schedule) > 1
        money += int(choices.step_money[run.choice]) * run.steps if several else 0
        money += 0 if several else int(choices.money[run.choice])
    total: dict[int, int] = {}
    for (_, step), watts in drawn.items():
        total[step] = total.get(step, 0) + watts
    return (
        all(amount <= fleet.units[at] for (at, _), amount in held.items())
        and all(
            fleet.power[at] == UNLIMITED or amount <= fleet.power[at]
            for (at, _), amount in drawn.items()
        )
        and (fleet.total_power == UNLIMITED or max(total.values()) <= fleet.total_power)
        and (fleet.money == UNLIMITED or money <= fleet.money)
        and (fleet.most_late == UNLIMITED or lateness_of(fleet, schedule) <= fleet.most_late)
    )
