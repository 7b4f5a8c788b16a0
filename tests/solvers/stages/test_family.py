"""The least cost and the front over many stage problems, against all choices of all of them."""

import time
from dataclasses import replace

import numpy as np
import pytest
from family_instances import choices, random_problem
from support.cases import each

from solvers.solution import Solution, Status
from solvers.stages.backend import Question
from solvers.stages.family import UNLIMITED, FamilySearch, Known
from solvers.stages.problem import Choice, StageProblem


def solve(question: Question) -> Solution[Choice]:
    """Least cost by trying everything, of equals the slowest; nothing where no time is left."""
    if question.seconds is not None and question.seconds <= 0:
        return Solution(
            decision=None, objective=np.inf, bound=-np.inf, status=Status.TIME_LIMIT, seconds=0.0
        )
    longest = UNLIMITED if question.longest is None else question.longest
    below = UNLIMITED if question.below is None else question.below
    inside = [c for c in choices(question.problem) if c.time <= longest and c.cost < below]
    best = min(inside, key=lambda c: (c.cost, -c.time), default=None)
    value = float(below) if best is None else float(best.cost)
    status = Status.INFEASIBLE if best is None else Status.OPTIMAL
    return Solution(
        decision=best,
        objective=np.inf if best is None else value,
        bound=value,
        status=status,
        seconds=0.0,
    )


def fastest(problem: StageProblem, choice: Choice, _seconds: float | None) -> Choice:
    return min((c for c in choices(problem) if c.cost <= choice.cost), key=lambda c: c.time)


class Tables:
    """A family whose bounds are a share of the truth, tighter when tightened."""

    def __init__(self, problems: list[StageProblem]) -> None:
        self.problems = problems
        self.share = np.full(len(problems), 0.5)

    def __len__(self) -> int:
        return len(self.problems)

    def bounds(self, limit: int | None) -> np.ndarray:
        longest = UNLIMITED if limit is None else limit
        truth = [
            min((c.cost for c in choices(p) if c.time <= longest), default=UNLIMITED)
            for p in self.problems
        ]
        return np.array([int(share * t) for share, t in zip(self.share, truth, strict=True)])

    def loose(self) -> np.ndarray:
        return self.share < 0.8

    def tighten(self, rows: np.ndarray, _limit: int | None) -> None:
        self.share[rows] += 0.2

    def problem(self, row: int, limit: int | None) -> StageProblem | None:
        longest = UNLIMITED if limit is None else limit
        inside = any(c.time <= longest for c in choices(self.problems[row]))
        return self.problems[row] if inside else None

    def scale(self, _row: int) -> int:
        return 1

    def real(self, row: int, choice: Choice) -> Known | None:
        scale = self.scale(row)
        return Known(
            time=choice.time // scale,
            cost=choice.cost // scale,
            row=row,
            choice=choice,
            problem=self.problem(row, None),
        )


class Relaxed(Tables):
    """Problems that are cheaper than the rows until a choice of theirs is asked for."""

    def __init__(self, problems: list[StageProblem]) -> None:
        super().__init__(problems)
        self.level = np.zeros(len(problems), dtype=int)

    def loose(self) -> np.ndarray:
        return self.level == 1

    def tighten(self, rows: np.ndarray, _limit: int | None) -> None:
        self.level[rows[0]] = 2

    def problem(self, row: int, limit: int | None) -> StageProblem | None:
        problem = super().problem(row, limit)
        if problem is None or self.level[row] == 2:
            return problem
        return replace(problem, cost=replace(problem.cost, constant=problem.cost.constant - 9))

    def real(self, row: int, choice: Choice) -> Known | None:
        if self.level[row] == 2:
            return super().real(row, choice)
        self.level[row] = 1
        return None


class Parts(Tables):
    """The same in units of a third: every table times three, and one more where time ends."""

    def problem(self, row: int, limit: int | None) -> StageProblem | None:
        problem = super().problem(row, limit)
        if problem is None:
            return None
        columns = problem.columns
        finer = replace(columns, sums=3 * columns.sums, peaks=3 * columns.peaks)
        time, cost = problem.time[0], problem.cost
        return replace(
            problem,
            columns=finer,
            time=(replace(time, constant=3 * time.constant + 2),),
            cost=replace(cost, constant=3 * cost.constant),
        )

    def scale(self, _row: int) -> int:
        return 3


def whole_front(problems: list[StageProblem]) -> list[tuple[int, int]]:
    points = sorted({(c.time, c.cost) for p in problems for c in choices(p)})
    front: list[tuple[int, int]] = []
    for taken, cost in points:
        if not front or cost < front[-1][1]:
            front.append((taken, cost))
    return front[::-1]


def search(problems: list[StageProblem], **options: object) -> FamilySearch:
    family = options.pop("family", None) or Tables(problems)
    return FamilySearch(
        family=family,
        solve=solve,
        settles=lambda _: False,
        fastest=fastest,
        **options,
    )


@each("seed", range(25))
def test_the_front_is_that_of_all_choices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problems = [random_problem(rng) for _ in range(5)]
    points = list(search(problems).front())
    assert [(p.found.time, p.found.cost) for p in points] == whole_front(problems)
    assert all(p.proved and p.bound == p.found.cost for p in points)


@each("seed", range(8))
def test_rows_may_count_in_parts_of_a_unit(seed: int) -> None:
    problems = [random_problem(np.random.default_rng(300 + seed)) for _ in range(4)]
    points = list(search(problems, family=Parts(problems)).front())
    assert [(p.found.time, p.found.cost) for p in points] == whole_front(problems)


@each("seed", range(8))
def test_relaxations_give_way_to_their_rows(seed: int) -> None:
    problems = [random_problem(np.random.default_rng(400 + seed)) for _ in range(4)]
    rows = Relaxed(problems)
    points = list(search(problems, family=rows).front())
    assert [(p.found.time, p.found.cost) for p in points] == whole_front(problems)


@each("seed", range(10))
def test_limits_give_the_cheapest_choice_within_each(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    problems = [random_problem(rng) for _ in range(5)]
    front = whole_front(problems)
    limits = [front[0][0], (front[0][0] + front[-1][0]) // 2, front[-1][0], front[-1][0] - 1]
    points = list(search(problems).within(limits))
    assert {p.found.cost for p in points} == {
        next(cost for taken, cost in front if taken <= limit) for limit in limits[:-1]
    }


@each("seed", range(10))
def test_the_least_product_is_on_the_way(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    problems = [random_problem(rng) for _ in range(5)]
    least = min(c.time * c.cost for p in problems for c in choices(p))
    points = list(search(problems).least_product())
    assert min(p.found.time * p.found.cost for p in points) == least
    assert len(points) <= len(whole_front(problems)) + 1


@each("seed", range(10))
def test_the_least_product_within_a_gap_is_proved_within_it(seed: int) -> None:
    """No choice is known between what is proved of the fastest one and its time."""
    gap = 0.2
    problems = [random_problem(np.random.default_rng(500 + seed)) for _ in range(5)]
    everything = [c for p in problems for c in choices(p)]
    fastest_one = min(everything, key=lambda c: (c.time, c.cost))
    known = Known(time=fastest_one.time, cost=fastest_one.cost)
    soonest = int(known.time * (1 - gap))
    run = search(problems, gap=gap, known=[known], soonest=soonest)
    points = list(run.least_product())
    best = min([known.time * known.cost, *(p.found.time * p.found.cost for p in points)])
    ends = [*(p.limit for p in points[1:]), run.faster]
    proved = [(end + 1) * p.bound for p, end in zip(points, ends, strict=True)]
    proved.append(soonest * int(run.bounds(run.faster).min()))
    assert min(c.time * c.cost for c in everything) >= min(*proved, best)
    assert min(proved) >= best * (1 - gap) - soonest
    exact = search(problems, known=[known], soonest=known.time)
    assert len(points) <= len(list(exact.least_product()))
    assert len(run.solved) <= len(exact.solved)


@each("seed", range(3))
def test_of_choices_that_cost_the_same_the_fastest_is_found(seed: int) -> None:
    problem = random_problem(np.random.default_rng(600 + seed))
    columns = replace(problem.columns, sums=problem.columns.sums * [1, 0])
    alike = replace(problem, columns=columns, cost_per_time=0)
    found = search([alike]).best(None)
    assert found is not None
    assert found.found.time == min(c.time for c in choices(alike))


def test_no_limit_below_the_soonest_choice_is_asked_for() -> None:
    problems = [random_problem(np.random.default_rng(5)) for _ in range(3)]
    front = whole_front(problems)
    points = list(search(problems, soonest=front[1][0]).front())
    assert [p.found.time for p in points] == [taken for taken, _ in front[:2]]


@each("apart", range(-2, 7))
def test_what_is_faster_by_the_rounding_alone_is_not_asked_for(apart: int) -> None:
    """The last point is `apart` above what no choice goes below, known to the rounding."""
    problems = [random_problem(np.random.default_rng(5)) for _ in range(3)]
    rounding, last = 2, whole_front(problems)[-1][0]
    run = search(problems, rounding=rounding, soonest=last - apart - rounding)
    asked: list[int] = []
    bounds = run.family.bounds
    run.family.bounds = lambda limit: asked.append(limit) or bounds(limit)
    point = run.best(last)
    assert point is not None
    asked.clear()
    assert point.found.time == last
    assert run.best(run._next(point)) is None
    assert bool(asked) == (apart > rounding)


def test_a_known_choice_from_elsewhere_that_nothing_beats_is_the_answer() -> None:
    problems = [random_problem(np.random.default_rng(7))]
    known = Known(time=5, cost=1, label=3)
    point = search(problems, known=[known]).best(10_000)
    assert point is not None
    assert point.found is known
    assert point.solved == 0


def test_a_gap_stops_early_with_a_bound_within_it() -> None:
    problems = [random_problem(np.random.default_rng(seed)) for seed in range(8)]
    exact = search(problems).best(None)
    loose = search(problems, gap=0.3).best(None)
    assert exact is not None
    assert loose is not None
    assert loose.bound <= exact.found.cost <= loose.found.cost
    assert loose.bound >= loose.found.cost * 0.7 - 1
    assert loose.solved <= exact.solved


def test_without_time_nothing_is_called_proved() -> None:
    problems = [random_problem(np.random.default_rng(3))]
    late = search(problems, deadline=time.perf_counter() - 1)
    assert late.best(None) is None
    assert late.bounds(None).min() < UNLIMITED
    rows = search(problems, known=[Known(time=1, cost=10_000)], row_seconds=0.0)
    point = rows.best(None)
    assert point is not None
    assert not point.proved


def test_limits_that_rise_are_refused() -> None:
    rows = search([random_problem(np.random.default_rng(3))])
    rows.best(50)
    with pytest.raises(ValueError, match="must not rise"):
        rows.best(60)
