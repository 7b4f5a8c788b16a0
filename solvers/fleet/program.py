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
from itertools import pairwise
from typing import Any

from solvers.fleet.problem import UNLIMITED, Fleet, Ints
from solvers.fleet.symmetry import alike

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
        whole, stepped: Choice of a job with several segments to whether it runs in one of them,
            and to the steps of its first segment where it runs in several.
        held: (job, cluster) to whether a job with several segments runs there.
    """

    taken: dict[tuple[int, int], Any] = field(default_factory=dict)
    start: dict[tuple[int, int], Any] = field(default_factory=dict)
    length: dict[tuple[int, int], Any] = field(default_factory=dict)
    end: dict[tuple[int, int], Any] = field(default_factory=dict)
    whole: dict[int, Any] = field(default_factory=dict)
    stepped: dict[int, Any] = field(default_factory=dict)
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
        release, latest = self._ends(job)
        rows = self.fleet.rows_of(job).tolist()
        start = self.model.new_int_var(release, max(release, latest), "")
        work: list[Any] = []
        before = None
        second = self.model.new_bool_var("")
        for segment in range(int(self.fleet.jobs.segments[job])):
            used = second if segment == 1 else self.model.new_bool_var("")
            if before is None:
                self.model.add(used == 1)
            else:
                self.model.add_implication(used, before)
            end = self._segment(job, segment, rows, start, used, work)
            start, before = end, used
        self.model.add(sum(work) >= int(self.fleet.jobs.work[job]))
        self._first_counted(job, rows, second)
        self._on_one_cluster(job, rows)
        self._late(job, start)

    def _first_counted(self, job: int, rows: Sequence[int], second: Any) -> None:
        """What the first segment counts: its choice as a whole where no second one follows it."""
        model, (release, latest) = self.model, self._ends(job)
        for row in rows:
            taken, length = self.vars.taken[0, row], self.vars.length[0, row]
            whole = model.new_bool_var("")
            model.add_bool_and(taken, second.negated()).only_enforce_if(whole)
            model.add_bool_or(taken.negated(), second, whole)
            model.add(length <= int(self.fleet.choices.steps[row])).only_enforce_if(whole)
            stepped = model.new_int_var(0, max(0, latest - release), "")
            model.add(stepped == length).only_enforce_if(second)
            model.add(stepped == 0).only_enforce_if(second.negated())
            self.vars.whole[row], self.vars.stepped[row] = whole, stepped

    def _segment(
        self, job: int, segment: int, rows: Sequence[int], start: Any, used: Any, work: list[Any]
    ) -> Any:
        """The end of one segment, whose work is added to that of the job."""
        model, choices = self.model, self.fleet.choices
        release, latest = self._ends(job)
        end = model.new_int_var(release, max(release, latest), "")
        taken = {row: model.new_bool_var("") for row in rows}
        model.add(sum(taken.values()) == used)
        lengths = []
        for row, one in taken.items():
            steps = model.new_int_var(0, max(0, latest - release), "")
            model.add(steps == 0).only_enforce_if(one.negated())
            model.add(steps >= 1).only_enforce_if(one)
            ends = model.new_int_var(release, max(release, latest), "")
            span = model.new_optional_interval_var(start, steps, ends, one, "")
            self._intervals.append((row, job, span))
            self.vars.taken[segment, row], self.vars.length[segment, row] = one, steps
            lengths.append(steps)
            work.append(int(choices.rate[row]) * steps)
            if segment:
                work.append(-int(choices.lost[row]) * one)
        model.add(end == start + sum(lengths))
        self.vars.start[job, segment], self.vars.end[job, segment] = start, end
        return end

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
            if row not in self.vars.whole:
                yield int(whole[row]) * one
            elif segment:
                yield int(of_step[row]) * self.vars.length[segment, row]
            else:
                yield int(whole[row]) * self.vars.whole[row]
                yield int(of_step[row]) * self.vars.stepped[row]

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
            for one, two in pairwise(group):
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
