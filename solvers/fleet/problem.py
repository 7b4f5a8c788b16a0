"""What is asked of a fleet, as arrays of whole numbers, and a schedule that answers it.

    choice c   of job j on cluster k: steps d_c, units u_c, power p_c, money m_c, value v_c
    minimize   sum of the values of what is chosen + sum_j weight_j max(0, end_j - deadline_j)
    such that  each job has one choice and one start, from its release on, and ends by the horizon;
               at no step do the jobs of a cluster hold more units, or draw more power, than it has;
               nor do all jobs draw more power, or cost more money, than there is.

A job with several segments may change its choice on its cluster, without a pause: in each step it
does `rate_c` of its work, and loses `lost_c` where a segment other than its first begins. In one
segment it costs and adds what its choice does as a whole, in several what each of their steps does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
UNLIMITED = -1
"""A limit that there is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The choices of all jobs, one row each, sorted by job.

    Attributes:
        job, cluster: (c,) whose, and where.
        steps: (c,) how long it runs.
        units, power: (c,) what it holds and draws meanwhile.
        money, value: (c,) what it costs, and what it adds to the objective.
        rate, lost: (c,) of jobs with several segments: work per step, and work lost at a change.
        step_money, step_value: (c,) of jobs in more than one segment: money and value of a step;
            over `steps` no less than `money` and `value`.
    """

    job: Ints
    cluster: Ints
    steps: Ints
    units: Ints
    power: Ints
    money: Ints
    value: Ints
    rate: Ints
    lost: Ints
    step_money: Ints
    step_value: Ints

    def __len__(self) -> int:
        return len(self.job)

    def take(self, rows: Ints) -> Choices:
        """Some of the rows."""
        return Choices(**{name: getattr(self, name)[rows] for name in self.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs, one row each.

    Attributes:
        release: (j,) first step.
        deadline: (j,) last end that is not late.
        weight: (j,) what a step of lateness adds to the objective.
        latest: (j,) last end that is allowed.
        work: (j,) of jobs with several segments.
        segments: (j,) how many a job may have at most; 1: its choice never changes.
    """

    release: Ints
    deadline: Ints
    weight: Ints
    latest: Ints
    work: Ints
    segments: Ints

    def __len__(self) -> int:
        return len(self.release)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What is asked.

    Attributes:
        jobs, choices: See there.
        units, power: (k,) of each cluster; power may be `UNLIMITED`.
        total_power, money: Of all clusters and jobs together, or `UNLIMITED`.
        horizon: Steps that there are.
        most_late: The largest weighted lateness of all jobs together, or `UNLIMITED`.
    """

    jobs: Jobs
    choices: Choices
    units: Ints
    power: Ints
    total_power: int
    money: int
    horizon: int
    most_late: int = UNLIMITED

    def rows_of(self, job: int) -> Ints:
        """The rows of a job's choices."""
        return np.flatnonzero(self.choices.job == job)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A choice that runs: a whole job, or one segment of it."""

    job: int
    choice: int
    start: int
    steps: int

    @property
    def end(self) -> int:
        """The step at which it no longer runs."""
        return self.start + self.steps


Schedule = tuple[Run, ...]
"""The runs of all jobs, by job and start."""


def without_dominated(fleet: Fleet, kept: Sequence[int] = ()) -> tuple[Fleet, Ints]:
    """The fleet without choices that another one of the same job and cluster is no worse than.

    Also its rows; those that are to be kept are among them.

    Whatever a schedule does with such a choice, it does with the other one. Choices of jobs with
    several segments are compared by what a step does and takes. Money and power count where they
    are limited.
    """
    found = {row for job in range(len(fleet.jobs)) for row in _undominated(fleet, job)}
    rows = np.array(sorted(found | set(kept)), dtype=np.int64)
    return replace(fleet, choices=fleet.choices.take(rows)), rows


def _undominated(fleet: Fleet, job: int) -> Iterator[int]:
    rows, all_of = fleet.rows_of(job), fleet.choices
    columns = ["steps", "units", "value"]
    columns += ["power"] if _power_counts(fleet) else []
    columns += ["money"] if fleet.money != UNLIMITED else []
    if fleet.jobs.segments[job] > 1:
        columns += ["lost", "step_value"]
        columns += ["step_money"] if fleet.money != UNLIMITED else []
    figures = np.stack([getattr(all_of, name)[rows] for name in columns], axis=1)
    if fleet.jobs.segments[job] > 1:
        figures = np.concatenate([figures, -all_of.rate[rows, None]], axis=1)
    cluster = all_of.cluster[rows]
    for at, row in enumerate(rows.tolist()):
        no_worse = (cluster == cluster[at]) & (figures <= figures[at]).all(axis=1)
        equal = no_worse & (figures == figures[at]).all(axis=1)
        if no_worse.sum() == equal.sum() and not equal[:at].any():
            yield row


def _power_counts(fleet: Fleet) -> bool:
    """Whether power is limited anywhere."""
    return fleet.total_power != UNLIMITED or bool((fleet.power != UNLIMITED).any())


def objective_of(fleet: Fleet, schedule: Schedule) -> int:
    """The value of a schedule."""
    return values_of(fleet, schedule) + lateness_of(fleet, schedule)


def values_of(fleet: Fleet, schedule: Schedule) -> int:
    """The values of what is chosen, without lateness."""
    return _sum(schedule, fleet.choices.value, fleet.choices.step_value)


def _sum(schedule: Schedule, whole: Ints, of_step: Ints) -> int:
    """Of jobs in one segment what their choices have, of others what their steps have."""
    segments = Counter(run.job for run in schedule)
    return sum(
        int(whole[run.choice]) if segments[run.job] == 1 else int(of_step[run.choice]) * run.steps
        for run in schedule
    )


def lateness_of(fleet: Fleet, schedule: Schedule) -> int:
    """The weighted lateness of all jobs together."""
    ends: dict[int, int] = {}
    for run in schedule:
        ends[run.job] = max(run.end, ends.get(run.job, 0))
    late = ((job, max(0, end - int(fleet.jobs.deadline[job]))) for job, end in ends.items())
    return sum(int(fleet.jobs.weight[job]) * steps for job, steps in late)


def money_of(fleet: Fleet, schedule: Schedule) -> int:
    """What a schedule costs."""
    return _sum(schedule, fleet.choices.money, fleet.choices.step_money)


def used(fleet: Fleet, schedule: Schedule) -> tuple[Ints, Ints]:
    """(k, horizon) units held and power drawn in each step."""
    units = np.zeros((len(fleet.units), fleet.horizon), dtype=np.int64)
    power = np.zeros_like(units)
    for run in schedule:
        at = int(fleet.choices.cluster[run.choice])
        units[at, run.start : run.end] += fleet.choices.units[run.choice]
        power[at, run.start : run.end] += fleet.choices.power[run.choice]
    return units, power


def broken(fleet: Fleet, schedule: Schedule) -> list[str]:
    """What a schedule breaks, by a count of its own; empty: nothing."""
    found = [line for job in range(len(fleet.jobs)) for line in _broken_by(fleet, schedule, job)]
    units, power = used(fleet, schedule)
    if (units > fleet.units[:, None]).any():
        found.append("units")
    limited = fleet.power != UNLIMITED
    if (power[limited] > fleet.power[limited, None]).any():
        found.append("power of a cluster")
    if fleet.total_power != UNLIMITED and (power.sum(axis=0) > fleet.total_power).any():
        found.append("power of all")
    if fleet.money != UNLIMITED and money_of(fleet, schedule) > fleet.money:
        found.append("money")
    if fleet.most_late != UNLIMITED and lateness_of(fleet, schedule) > fleet.most_late:
        found.append("lateness")
    return found


def _broken_by(fleet: Fleet, schedule: Schedule, job: int) -> Iterator[str]:
    runs = [run for run in schedule if run.job == job]
    jobs, choices = fleet.jobs, fleet.choices
    if not runs or any(choices.job[run.choice] != job for run in runs):
        yield f"job {job} does not run"
        return
    if len(runs) > jobs.segments[job] or len({int(choices.cluster[r.choice]) for r in runs}) > 1:
        yield f"job {job} has more segments than it may"
    if any(one.end != two.start for one, two in pairwise(runs)):
        yield f"job {job} pauses"
    if runs[0].start < jobs.release[job] or runs[-1].end > min(fleet.horizon, jobs.latest[job]):
        yield f"job {job} runs outside of its time"
    if jobs.segments[job] > 1:
        done = sum(int(choices.rate[run.choice]) * run.steps for run in runs)
        done -= sum(int(choices.lost[run.choice]) for run in runs[1:])
        if done < jobs.work[job]:
            yield f"job {job} does not end"
        if len(runs) == 1 and runs[0].steps > choices.steps[runs[0].choice]:
            yield f"job {job} runs too long"
    elif runs[0].steps != choices.steps[runs[0].choice]:
        yield f"job {job} runs too long or too short"
