"""The exact front of time and energy over all rows of an uneven search.

Limits on the step time fall from the slowest time at which a plan can be the cheapest to the
proved least step time; under each the cheapest plan of all rows is proved
(`solvers.stages.family`). Uniform plans, and the fastest plan, are known from the start. Time and
joules count in units of which `planner.search.uneven.columns.integers.FINEST` make up the slowest
time; the
front is exact on those integers: a plan that beats it does so by less than the rounding of the
integer tables, a few millionths of a percent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import field, replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.objectives import BY_ENERGY, BY_PRODUCT, ENERGY, Objective
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.certificate import ROUNDING, Certificate, TimeStep, UnevenFound, within
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Found
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.uneven.energy_funnel import Funnel, NoRowsError, energy_rows
from planner.search.uneven.energy_rows import EnergyRows
from planner.search.uneven.known_plans import seconds_and_joules, with_uniform
from solvers.frontier import nondominated
from solvers.solution import Status
from solvers.stages.backend import TIME, Question, UnansweredError
from solvers.stages.family import UNLIMITED, FamilySearch, Known, Point
from solvers.stages.problem import Choice, Form, Ints, Limit, StageProblem
from solvers.stages.solving import solve_stages

OnPoint = Callable[[Plan, float, float], None]


def energy_front(
    model: CostModel,
    options: SpaceOptions,
    limits: Limits,
    chips: int,
    *,
    start: UnevenFound,
    uniform: Found,
    points: int | None = None,
    objective: Objective = ENERGY,
    gap: float = 0.0,
    deadline: float | None = None,
    on_progress: Progress | None = None,
    on_point: OnPoint | None = None,
) -> UnevenFound:
    """The front of time and energy over all plans whose stages may differ.

    Args:
        model, options, limits: What is searched, and within what.
        chips: That plans use, all of them.
        start: The fastest plan, with its bound.
        uniform: The front of uniform plans.
        points: At most so many limits on the time, evenly between the fastest plan and the one of
            least energy; None: every point there is.
        objective: Proved by energy: the certificate is that of the least energy; by the product:
            of the least product of energy and time, of which the points that matter are found
            first.
        gap: A point within this share of its bound is good enough.
        deadline: `time.perf_counter` value after which nothing further is solved.
        on_progress: Called with ("front", points proved, points asked for).
        on_point: Called with every point that is proved: plan, seconds, joules.

    Raises:
        InputError: Energy is that of components, which no clock of a stage changes.
    """
    started = time.perf_counter()
    if model.assumptions.component_energy:
        raise InputError(
            "layout: uneven: energy of components alone depends on no clock; the front of time and "
            "energy needs the energy of phases (layout: uniform has both)"
        )
    if len(start.plans) == 0:
        return replace(start, front_complete=start.status is Status.INFEASIBLE)
    known, limits = with_uniform(model, start, uniform), limits.on_chips(model, chips)
    upper_s = _upper_s(model, limits, chips, known)
    funnel = Funnel(watts=standing_w(model, chips) * chips)
    at = (known.points, float(known.bound[0]), upper_s, funnel, Deadline(deadline))
    try:
        family = energy_rows(model, options, limits, chips, *at)
    except (OutOfTime, NoRowsError):
        return _known_alone(known, funnel, objective, started)
    family.plans.extend(known.plans.plan(row) for row in range(len(known.plans)))
    search = _search(family, known, gap, deadline)
    asked = _asked(search, family, known, points, objective)
    run = _Run(model, family, funnel, search, known, uniform, objective, started)
    return run.collect(asked, points, on_progress, on_point)


def _upper_s(model: CostModel, limits: Limits, chips: int, known: UnevenFound) -> float:
    """The slowest step that is wanted: slower plans draw more than a known one while they wait."""
    dearest = float(known.points[:, 1].min()) / (standing_w(model, chips) * chips)
    return min(dearest, limits.longest_s(model, chips))


def _known_alone(
    known: UnevenFound, funnel: Funnel, objective: Objective, started: float
) -> UnevenFound:
    """What is known where no rows are left to search, or no time: waiting alone costs joules."""
    ended = funnel.open_rows > 0
    soonest_s, cheapest = float(known.bound[0]), float(known.points[:, 1].min())
    least = min(soonest_s * funnel.watts, cheapest) if ended else cheapest
    value, bound = cheapest, least
    if objective.uneven == BY_PRODUCT:
        value = float(known.points.prod(axis=1).min())
        bound = min(least * soonest_s, value) if ended else value
    status = Status.FEASIBLE if ended else known.status
    return replace(
        known,
        status=status,
        bound=np.array([soonest_s, least]),
        front_complete=known.status is Status.OPTIMAL
        and objective.uneven == BY_ENERGY
        and not ended,
        certificate=Certificate(
            status=status.value,
            objective_name=objective.name,
            uniform=value,
            objective=value,
            bound=bound,
            funnel=funnel.stages(),
            solved=0,
            stage_solves=0,
            left=funnel.open_rows,
            lowest_left=least if ended else None,
            solvers={},
            refused=funnel.refused,
        ),
        seconds=time.perf_counter() - started,
    )


def _search(
    family: EnergyRows,
    known: UnevenFound,
    gap: float,
    deadline: float | None,
) -> FamilySearch:
    """The search over the rows, with what is known rounded up."""
    units = family.units
    rounding = int(family.slack.max(initial=64.0))
    whole = np.ceil(known.points / [units.time_s, units.joules]).astype(np.int64)
    return FamilySearch(
        family=family,
        solve=solve_stages,
        settles=lambda found: any("labels" in name for name in found.counts),
        fastest=_fastest,
        known=[
            Known(time=int(seconds), cost=int(joules), label=at)
            for at, (seconds, joules) in enumerate(whole)
        ],
        gap=within(gap),
        rounding=rounding,
        cost_rounding=int(family.slack_cost.max(initial=64.0)),
        deadline=deadline,
        soonest=int(float(known.bound[0]) / units.time_s) - rounding,
    )


def _fastest(problem: StageProblem, choice: Choice, seconds: float | None) -> Choice:
    """No dearer than a choice, in the least time that is found."""
    least = Limit(
        name="cost",
        form=problem.cost or Form(),
        upper=choice.cost,
        per_time=problem.cost_per_time,
    )
    limited = replace(problem, limits=(*problem.limits, least))
    asked = Question(problem=limited, minimize=TIME, hint=choice, seconds=seconds)
    try:
        found = solve_stages(asked)
    except UnansweredError:
        return choice
    return found.decision or choice


def _asked(
    search: FamilySearch,
    family: EnergyRows,
    known: UnevenFound,
    points: int | None,
    objective: Objective,
) -> Iterator[Point]:
    """Points of the front, the slowest first."""
    first = int(family.upper_s / family.units.time_s)
    if objective.uneven == BY_PRODUCT:
        return search.least_product(first)
    if points is None:
        return search.front(first)
    return _grid(search, first, int(known.points[0, 0] / family.units.time_s) + 1, points)


def _grid(search: FamilySearch, first: int, last: int, points: int) -> Iterator[Point]:
    """The cheapest plan, then those of evenly spaced limits down to the fastest plan's time."""
    cheapest = search.best(first)
    if cheapest is None:
        return
    yield cheapest
    limits = np.linspace(cheapest.found.time, last, points).astype(np.int64)[1:]
    yield from search.within([int(limit) for limit in limits if limit < cheapest.found.time])


@dataclass(slots=True)
class _Run:
    """A search over the front in progress; `lows`: of edp the rows' bounds at each point."""

    model: CostModel
    family: EnergyRows
    funnel: Funnel
    search: FamilySearch
    known: UnevenFound
    uniform: Found
    objective: Objective
    started: float
    lows: list[Ints] = field(init=False, default_factory=list)

    def collect(
        self,
        asked: Iterator[Point],
        points: int | None,
        on_progress: Progress | None,
        on_point: OnPoint | None,
    ) -> UnevenFound:
        """All points, as they are proved."""
        found: list[Point] = []
        plans: list[Plan] = []
        values: list[FloatArray] = []
        for point in asked:
            found.append(point)
            plans.append(self._plan(point.found))
            values.append(seconds_and_joules(self.model, plans[-1:])[0])
            if self.objective.uneven == BY_PRODUCT:
                self.lows.append(self.search.bounds(point.limit))
            if len(found) == 1:
                self.funnel.close(self.search, point)
            if on_point is not None and point.proved:
                on_point(plans[-1], *map(float, values[-1]))
            if on_progress is not None:
                on_progress("front", len(found), points or len(found))
        return self._answer(found, plans, values, complete=points is None)

    def _plan(self, known: Known) -> Plan:
        """The plan of a point."""
        return self.family.plans[known.label]

    def _answer(
        self,
        found: list[Point],
        plans: list[Plan],
        values: list[FloatArray],
        *,
        complete: bool,
    ) -> UnevenFound:
        """The front with the plans that were known, and how much of it is proved."""
        known = self.known.plans
        everything = [*plans, *(known.plan(row) for row in range(len(known)))]
        points = np.array([*values, *self.known.points])
        inside = np.flatnonzero(points[:, 0] <= self.family.upper_s * (1 + 1e-9))
        keep = inside[nondominated(points[inside])]
        value, bound, steps = self._value(found, points[keep])
        proved = bool(found) and all(p.proved for p in found) and not self.search.late
        if self.objective.uneven == BY_PRODUCT:
            proved = (value - bound) / value <= ROUNDING
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        certificate = self._certificate(found, status, value, bound, steps)
        return UnevenFound(
            plans=PlanTable.from_plans([everything[i] for i in keep]),
            points=points[keep],
            status=status,
            bound=np.array([self.known.bound[0], self._least_energy(found)]),
            front_complete=proved and complete and self.objective.uneven == BY_ENERGY,
            certificate=certificate,
            seconds=time.perf_counter() - self.started,
        )

    def _least_energy(self, found: list[Point]) -> float:
        """Joules that no plan goes below."""
        if found:
            return found[0].bound * self.family.units.joules
        limit = int(self.family.upper_s / self.family.units.time_s)
        low = int(self.search.bounds(limit).min(initial=self._cheapest_known()))
        return low * self.family.units.joules

    def _cheapest_known(self) -> int:
        return min(known.cost for known in self.search.known)

    def _value(
        self, found: list[Point], points: FloatArray
    ) -> tuple[float, float, tuple[TimeStep, ...]]:
        """The least energy, or energy x time, what no plan goes below, and what proves that."""
        value, bound = float(points[:, 1].min()), self._least_energy(found)
        steps: tuple[TimeStep, ...] = ()
        if self.objective.uneven == BY_PRODUCT:
            value, steps = float(points.prod(axis=1).min()), self._steps(found)
            waiting = float(self.known.bound[0]) * bound
            bound = min([step.product_js for step in steps], default=waiting)
        return value, min(bound, value), steps

    def _certificate(
        self,
        found: list[Point],
        status: Status,
        value: float,
        bound: float,
        steps: tuple[TimeStep, ...],
    ) -> Certificate:
        """Why no plan has less than a value; it closes the funnel."""
        if not found:
            self.funnel.open_without(self.search)
        elif self.objective.uneven == BY_PRODUCT:
            lows = [*self.lows, self.search.bounds(self.search.faster)]
            wanted = value * (1 - self.search.gap - ROUNDING)
            self.funnel.open_below(lows, [step.above_s for step in steps], wanted)
        solved = np.zeros(len(self.family), dtype=np.bool_)
        solved[list(self.search.solved)] = True
        return Certificate(
            status=status.value,
            objective_name=self.objective.name,
            uniform=self._uniform(),
            objective=value,
            bound=bound,
            funnel=self.funnel.stages(),
            solved=int((solved & ~self.funnel.left).sum()),
            stage_solves=sum(self.search.solves.values()),
            left=int(self.funnel.left.sum()),
            lowest_left=self.funnel.lowest_left,
            solvers={name.removeprefix("solved by "): n for name, n in self.search.solves.items()},
            refused=self.funnel.refused,
            steps=steps,
        )

    def _uniform(self) -> float | None:
        """The objective of the best uniform plan."""
        if not len(self.uniform.points):
            return None
        return optimum(
            self.uniform.points, self.uniform.bound, self.uniform.status, self.objective
        ).value

    def _steps(self, found: list[Point]) -> tuple[TimeStep, ...]:
        """What no plan of each range of step times goes below.

        A plan slower than the limit of the next point and within that of this one costs at least
        the bound of this one. Faster than the last of them, plans cost what their rows are proved
        not to go below, or as much as the fastest plan that was known: nothing dearer is in rows.
        """
        units, soonest_s = self.family.units, float(self.known.bound[0])
        if not found:
            return ()
        limits = [*(point.limit or 0 for point in found), self.search.faster]
        seconds = [max(limit * units.time_s, soonest_s) for limit in limits]
        bounds = [point.bound * units.joules for point in found]
        if seconds[-1] > soonest_s:
            low = int(self.search.bounds(self.search.faster).min(initial=UNLIMITED))
            bounds.append(min(low * units.joules, self.family.top_j))
            seconds.append(soonest_s)
        return tuple(
            TimeStep(above_s=above, within_s=within, energy_j=joules)
            for within, above, joules in zip(seconds, seconds[1:], bounds, strict=False)
        )
