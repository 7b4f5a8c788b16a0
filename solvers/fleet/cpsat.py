"""The fleet as a constraint program: optional intervals under cumulative limits.

    x_c        whether a choice is taken; one of each job (of each segment of it)
    s_j        its start; a choice is the interval [s_j, s_j + d_c) where x_c
    cumulative units of each cluster, power of each cluster, power of all

Clusters that are alike in every respect are interchangeable: a job may be on the second of them
only if a job before it is on the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solvers.cpsat_solver import new_solver, run_search
from solvers.fleet.problem import UNLIMITED, Fleet, Ints, Run, Schedule, objective_of
from solvers.solution import Status

UNITS, POWER, TOTAL_POWER, MONEY = "units", "power", "total_power", "money"
END, LATE = "end", "late"
"""Limits of which there may be the least, in place of the objective."""


@dataclass(slots=True, kw_only=True)
class Variables:
    """The variables of one program.

    Attributes:
        taken: (segment, choice) to whether it is taken.
        start, length, end: (job, segment) to those of it.
        late: Of each job, steps.
        terms: The objective, and money, as lists of (factor, variable).
    """

    taken: dict[tuple[int, int], Any] = field(default_factory=dict)
    start: dict[tuple[int, int], Any] = field(default_factory=dict)
    length: dict[tuple[int, int], Any] = field(default_factory=dict)
    end: dict[tuple[int, int], Any] = field(default_factory=dict)
    held: dict[tuple[int, int], Any] = field(default_factory=dict)
    late: dict[int, Any] = field(default_factory=dict)


class Program:
    """A fleet as a program of CP-SAT.

    Args:
        fleet: What is asked.
        free: `UNITS`, `POWER`, `TOTAL_POWER` or `MONEY`: a limit that may be exceeded, by as little
            as can be, in place of the objective; `END`: the last job ends as early as can be;
            `LATE`: the job that is the latest is as little late as can be; empty: the objective.
        at: The cluster whose units or power that are.
    """

    def __init__(self, fleet: Fleet, free: str = "", at: int = 0) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

        self.fleet, self.model, self.free = fleet, cp_model.CpModel(), free
        self.at = at
        self.vars = Variables()
        self._intervals: list[tuple[int, int, Any]] = []
        for job in range(len(fleet.jobs)):
            if fleet.jobs.segments[job] > 1:
                self._resizable(job)
            else:
                self._whole(job)
        self.amount = self._limits()
        self._alike()
        objective = self._objective()
        self.goal = objective if self.amount is None else self.amount
        self.model.minimize(self.goal)

    def _ends(self, job: int) -> tuple[int, int]:
        latest = min(self.fleet.horizon, int(self.fleet.jobs.latest[job]))
        return int(self.fleet.jobs.release[job]), latest

    def _whole(self, job: int) -> None:
        """A job that keeps its choice."""
        model, choices, rows = self.model, self.fleet.choices, self.fleet.rows_of(job).tolist()
        release, latest = self._ends(job)
        shortest = min((int(choices.steps[row]) for row in rows), default=0)
        latest_start = max(release, latest - shortest)
        start = model.new_int_var(release, latest_start, "")
        end = model.new_int_var(release, max(release, latest), "")
        taken = {row: model.new_bool_var("") for row in rows}
        model.add_exactly_one(taken.values())
        model.add(end == start + sum(int(choices.steps[row]) * one for row, one in taken.items()))
        for row, one in taken.items():
            size = int(choices.steps[row])
            span = model.new_optional_fixed_size_interval_var(start, size, one, "")
            self._intervals.append((row, job, span))
            self.vars.taken[0, row] = one
        self.vars.start[job, 0], self.vars.end[job, 0] = start, end
        self._late(job, end)

    def _resizable(self, job: int) -> None:
        """A job in segments, one after the other, all on one cluster."""
        model, choices, rows = self.model, self.fleet.choices, self.fleet.rows_of(job).tolist()
        release, latest = self._ends(job)
        longest = max(0, latest - release)
        work, before, previous = [], None, None
        for segment in range(int(self.fleet.jobs.segments[job])):
            start = model.new_int_var(release, max(release, latest), "") if before is None else before
            end = model.new_int_var(release, max(release, latest), "")
            used = model.new_bool_var("")
            taken = {row: model.new_bool_var("") for row in rows}
            model.add(sum(taken.values()) == used)
            if previous is None:
                model.add(used == 1)
            else:
                model.add_implication(used, previous)
            lengths = []
            for row, one in taken.items():
                steps = model.new_int_var(0, longest, "")
                model.add(steps == 0).only_enforce_if(one.negated())
                model.add(steps >= 1).only_enforce_if(one)
                ends = model.new_int_var(release, max(release, latest), "")
                span = model.new_optional_interval_var(start, steps, ends, one, "")
                self._intervals.append((row, job, span))
                self.vars.taken[segment, row] = one
                self.vars.length[segment, row] = steps
                lengths.append(steps)
                work.append(int(choices.rate[row]) * steps)
                if segment:
                    work.append(-int(choices.lost[row]) * one)
            model.add(end == start + sum(lengths))
            self.vars.start[job, segment], self.vars.end[job, segment] = start, end
            before, previous = end, used
        model.add(sum(work) >= int(self.fleet.jobs.work[job]))
        self._on_one_cluster(job, rows)
        self._late(job, before)

    def _on_one_cluster(self, job: int, rows: Sequence[int]) -> None:
        choices = self.fleet.choices
        here = {at: self.model.new_bool_var("") for at in {int(choices.cluster[r]) for r in rows}}
        self.model.add_exactly_one(here.values())
        for (_, row), one in self.vars.taken.items():
            if row in rows:
                self.model.add_implication(one, here[int(choices.cluster[row])])
        for at, one in here.items():
            self.vars.held[job, at] = one

    def _late(self, job: int, end: Any) -> None:
        """Steps of lateness, where the job can be late at all."""
        deadline, weight = int(self.fleet.jobs.deadline[job]), int(self.fleet.jobs.weight[job])
        _, latest = self._ends(job)
        if weight and latest > deadline:
            late = self.model.new_int_var(0, latest - deadline, "")
            self.model.add(late >= end - deadline)
            self.vars.late[job] = late

    def _limits(self) -> Any:
        """The limits; the amount of the one that is free, if any is."""
        fleet, free, choices = self.fleet, self.free, self.fleet.choices
        amount = None
        for at in range(len(fleet.units)):
            here = [(row, span) for row, _, span in self._intervals if choices.cluster[row] == at]
            for name, needs, limit in (
                (UNITS, choices.units, int(fleet.units[at])),
                (POWER, choices.power, int(fleet.power[at])),
            ):
                if free == name and self.at == at:
                    amount = self._amount(limit, int(self._most(needs, here)))
                    self._cumulative(here, needs, amount)
                elif limit != UNLIMITED and self._most(needs, here) > limit:
                    self._cumulative(here, needs, limit)
        everywhere = [(row, span) for row, _, span in self._intervals]
        if free == TOTAL_POWER:
            most = int(self._most(choices.power, everywhere))
            amount = self._amount(fleet.total_power, most)
            self._cumulative(everywhere, choices.power, amount)
        elif fleet.total_power != UNLIMITED:
            self._cumulative(everywhere, choices.power, fleet.total_power)
        return self._sums(amount)

    def _sums(self, amount: Any) -> Any:
        """Limits of sums over the jobs, and the end of the last one."""
        fleet, free = self.fleet, self.free
        money = self._money()
        if free == MONEY:
            amount = self._amount(fleet.money, 10**15)
            self.model.add(money <= amount)
        elif fleet.money != UNLIMITED:
            self.model.add(money <= fleet.money)
        if fleet.most_late != UNLIMITED:
            self.model.add(self._weighted_lateness() <= fleet.most_late)
        if free == END:
            amount = self.model.new_int_var(0, fleet.horizon, "")
            for end in self.vars.end.values():
                self.model.add(amount >= end)
        if free == LATE:
            amount = self.model.new_int_var(0, fleet.horizon, "")
            for (job, _), end in self.vars.end.items():
                if fleet.jobs.deadline[job] < fleet.horizon:
                    self.model.add(end <= int(fleet.jobs.deadline[job]) + amount)
        return amount

    def _amount(self, limit: int, most: int) -> Any:
        return self.model.new_int_var(max(0, limit), max(0, limit, most), "")

    def _most(self, needs: Ints, here: Sequence[tuple[int, Any]]) -> int:
        """What jobs can ask for at most, all at once."""
        by_job: dict[int, int] = {}
        for row, _ in here:
            job = int(self.fleet.choices.job[row])
            by_job[job] = max(by_job.get(job, 0), int(needs[row]))
        return sum(by_job.values())

    def _cumulative(self, here: Sequence[tuple[int, Any]], needs: Ints, limit: Any) -> None:
        self.model.add_cumulative(
            [span for _, span in here], [int(needs[row]) for row, _ in here], limit
        )

    def _money(self) -> Any:
        return sum(self._per_choice(self.fleet.choices.money, self.fleet.choices.step_money))

    def _per_choice(self, whole: Ints, of_step: Ints) -> Iterator[Any]:
        """Terms of a sum over what is chosen."""
        for (segment, row), one in self.vars.taken.items():
            if self.fleet.jobs.segments[self.fleet.choices.job[row]] > 1:
                yield int(of_step[row]) * self.vars.length[segment, row]
            else:
                yield int(whole[row]) * one

    def _weighted_lateness(self) -> Any:
        weight = self.fleet.jobs.weight
        return sum(int(weight[job]) * late for job, late in self.vars.late.items())

    def _objective(self) -> Any:
        choices = self.fleet.choices
        values = sum(self._per_choice(choices.value, choices.step_value))
        return values + self._weighted_lateness()

    def _alike(self) -> None:
        """Orders clusters that are alike by the first job on each."""
        if self.free in (UNITS, POWER):
            return
        for group in alike(self.fleet):
            for one, two in zip(group, group[1:], strict=False):
                self._ordered(one, two)

    def _ordered(self, one: int, two: int) -> None:
        earlier: list[Any] = []
        for job in range(len(self.fleet.jobs)):
            first, second = self._on(job, one), self._on(job, two)
            for taken in second:
                if earlier:
                    self.model.add_bool_or([*earlier, taken.negated()])
                else:
                    self.model.add(taken == 0)
            earlier += first

    def _on(self, job: int, at: int) -> list[Any]:
        """Literals of which one is true where a job is on a cluster."""
        if (job, at) in self.vars.held:
            return [self.vars.held[job, at]]
        rows = self.fleet.rows_of(job)
        here = rows[self.fleet.choices.cluster[rows] == at].tolist()
        return [self.vars.taken[0, row] for row in here]

    def hint(self, schedule: Schedule) -> None:
        """Begins with a schedule."""
        runs: dict[int, list[Run]] = {}
        for run in canonical(self.fleet, schedule):
            runs.setdefault(run.job, []).append(run)
        for job, own in runs.items():
            last = own[-1].end
            for segment in range(int(self.fleet.jobs.segments[job])):
                run = own[segment] if segment < len(own) else None
                if not segment:
                    self.model.add_hint(self.vars.start[job, segment], own[0].start)
                self.model.add_hint(self.vars.end[job, segment], run.end if run else last)
                for row in self.fleet.rows_of(job).tolist():
                    chosen = run is not None and run.choice == row
                    self.model.add_hint(self.vars.taken[segment, row], chosen)
                    if (segment, row) in self.vars.length:
                        steps = run.steps if run is not None and chosen else 0
                        self.model.add_hint(self.vars.length[segment, row], steps)
            if job in self.vars.late:
                late = max(0, last - int(self.fleet.jobs.deadline[job]))
                self.model.add_hint(self.vars.late[job], late)

    def read(self, solver: Any) -> Schedule:
        """The schedule that a search found."""
        runs = []
        for (segment, row), one in self.vars.taken.items():
            if not solver.boolean_value(one):
                continue
            job = int(self.fleet.choices.job[row])
            steps = (
                solver.value(self.vars.length[segment, row])
                if (segment, row) in self.vars.length
                else int(self.fleet.choices.steps[row])
            )
            start = solver.value(self.vars.start[job, segment])
            runs.append(Run(job=job, choice=row, start=start, steps=steps))
        return tuple(sorted(runs, key=lambda run: (run.job, run.start)))


def alike(fleet: Fleet) -> list[list[int]]:
    """Groups of clusters with the same limits and the same choices for every job."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    choices = fleet.choices
    for at in range(len(fleet.units)):
        here = np.flatnonzero(choices.cluster == at)
        names = [name for name in choices.__slots__ if name != "cluster"]
        rows = sorted(zip(*(getattr(choices, name)[here].tolist() for name in names), strict=True))
        key = (int(fleet.units[at]), int(fleet.power[at]), tuple(rows))
        groups.setdefault(key, []).append(at)
    return [group for group in groups.values() if len(group) > 1]


def canonical(fleet: Fleet, schedule: Schedule) -> Schedule:
    """The schedule with clusters that are alike renamed in the order of their first jobs."""
    renamed = list(range(len(fleet.units)))
    first: dict[int, int] = {}
    for run in schedule:
        first.setdefault(int(fleet.choices.cluster[run.choice]), run.job)
    for group in alike(fleet):
        order = sorted(group, key=lambda at: (first.get(at, len(fleet.jobs)), at))
        for to, at in zip(group, order, strict=True):
            renamed[at] = to
    return tuple(
        Run(job=r.job, choice=_twin(fleet, r.choice, renamed), start=r.start, steps=r.steps)
        for r in schedule
    )


def _twin(fleet: Fleet, row: int, renamed: Sequence[int]) -> int:
    """The same choice on the cluster that its own is renamed to."""
    choices = fleet.choices
    to = renamed[int(choices.cluster[row])]
    if to == choices.cluster[row]:
        return row
    names = [name for name in choices.__slots__ if name != "cluster"]
    same = choices.cluster == to
    for name in names:
        same &= getattr(choices, name) == getattr(choices, name)[row]
    return int(np.flatnonzero(same)[0])


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
) -> Searched:
    """Searches a program.

    Args:
        program: What to search; it is changed.
        seconds: That there are.
        gap: The relative one that is enough.
        bound: A known one.
        start: A schedule to begin with.
        seed: Of the search.
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

    if start is not None:
        program.hint(start)
    if bound > 0:
        program.model.add(program.goal >= bound)
    solver = new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.interleave_search = False
    solver.parameters.random_seed = seed
    solver.parameters.relative_gap_limit = gap
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    outcome = run_search(solver, program.model)
    if outcome == cp_model.INFEASIBLE:
        return Searched(status=Status.INFEASIBLE, schedule=None, value=0, bound=0)
    known = max(bound, round(solver.best_objective_bound)) if outcome != cp_model.UNKNOWN else bound
    if outcome not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Searched(status=Status.TIME_LIMIT, schedule=None, value=0, bound=known)
    schedule, value = program.read(solver), round(solver.objective_value)
    done = known >= value
    return Searched(
        status=Status.OPTIMAL if done else Status.FEASIBLE,
        schedule=schedule,
        value=value if program.free else objective_of(program.fleet, schedule),
        bound=min(known, value),
    )
