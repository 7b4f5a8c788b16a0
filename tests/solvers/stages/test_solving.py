"""Solvers of the stage problem against every choice in plain Python, and what ends a search."""

import math
from dataclasses import replace

import numpy as np
import pytest
from stage_problems import choices, random_problem, random_question, value
from support.cases import each

from solvers.solution import Solution, Status
from solvers.stages import solving
from solvers.stages.backend import COST, TIME, Need, Question
from solvers.stages.checking import evaluate, faults
from solvers.stages.cpsat import CpSat
from solvers.stages.forms import needs_of
from solvers.stages.highs import Highs
from solvers.stages.problem import Choice, Columns, Form, Limit, StageProblem
from solvers.stages.solving import (
    backend_of,
    capable,
    exact_front,
    lexicographic,
    solve_stages,
)

CHUNKS, PER_CHUNK = 10, 40


@each("chunk", range(CHUNKS))
def test_every_solver_equals_plain_python(chunk):
    """400 random questions: one and two chunks, crossings, limits, cost, exact time."""
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        question, best, _ = random_question(seed)
        _agrees(solve_stages(question), question, best)
        for name in capable(question):
            found = backend_of(name).solve(question)
            unproved = found.status in (Status.TIME_LIMIT, Status.FEASIBLE)
            if not unproved or name in ("cp-sat", "highs"):
                _agrees(found, question, best)
            assert found.bound <= (math.inf if best is None else best) <= found.objective


@pytest.mark.parametrize("chunk", range(4))
def test_starting_choices_change_no_answer(chunk, monkeypatch):
    """The shortest paths, multipliers and intervals that large problems get, on small ones."""
    monkeypatch.setattr(solving, "_MANY", 0)
    for seed in range(1000 + chunk * 50, 1050 + chunk * 50):
        question, best, _ = random_question(seed, chunks=1)
        _agrees(solve_stages(question), question, best)


def _agrees(solution, question, best):
    want = math.inf if best is None else best
    assert (solution.objective, solution.bound) == (want, want)
    assert solution.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
    if solution.decision is not None:
        assert faults(question.problem, solution.decision, question.longest) == []
        true = value_of_choice(question.problem, solution.decision)
        assert (solution.decision.time, solution.decision.cost) == true


def value_of_choice(problem, choice):
    """Time and cost, by the code of the plain enumeration."""
    chosen = choice.columns.tolist()
    time = max(value(problem, form, chosen) for form in problem.time)
    return time, value(problem, problem.cost, chosen) + problem.cost_per_time * time


def test_random_questions_cover_every_need():
    """But for totals, which `test_devices` and `test_unfolding` ask for."""
    seen = [needs_of(random_question(seed)[0]) for seed in range(60)]
    assert frozenset().union(*seen) == frozenset(Need) - {Need.TOTALS}


@each("chunk", range(4))
def test_fronts_equal_plain_python(chunk):
    """100 fronts of time and cost, with limits and with costs that fall with time."""
    for seed in range(chunk * 25, (chunk + 1) * 25):
        problem = random_problem(seed + 5000)
        points = sorted({(time, cost) for _, time, cost in choices(problem)})
        efficient, least = [], math.inf
        for time, cost in points:
            if cost < least:
                efficient.append((time, cost))
                least = cost
        found = list(exact_front(problem))
        assert [(s.decision.time, s.decision.cost) for s in found] == efficient[::-1]
        assert all(s.status is Status.OPTIMAL for s in found)


def ladder(**changes):
    """Three devices, 6 layers, columns by length; a layer takes 4 at cost 3, or 5 at cost 1."""
    rows = [
        (d, a, b, (b - a) * time, (b - a) * cost)
        for d in range(3)
        for a in range(7)
        for b in range(a, 7)
        for time, cost in ((4, 3), (5, 1))
    ]
    table = np.array(rows)
    columns = Columns(
        device=table[:, 0],
        starts=table[:, 1:2],
        ends=table[:, 2:3],
        group=np.zeros(len(rows), dtype=np.int64),
        sums=table[:, 3:5],
        peaks=table[:, 3:4],
    )
    parts = {
        "layers": 6,
        "chunks": np.arange(3)[:, None],
        "columns": columns,
        "time": (Form(sums=(1,), peaks=(7,)),),
        "cost": Form(sums=(0, 1)),
    }
    return StageProblem(**(parts | changes))


def test_ladder():
    """8 micro-batches: 7 * 8 + 24 = 80 at 2 fast layers each; all slow: 7 * 10 + 30 = 100."""
    assert solve_stages(Question(problem=ladder())).objective == 80.0
    cheapest = lexicographic(Question(problem=ladder(), minimize=COST))
    assert (cheapest.decision.time, cheapest.decision.cost) == (100, 6)
    front = [(s.decision.time, s.decision.cost) for s in exact_front(ladder())]
    assert front[0] == (100, 6)
    assert front[-1] == (80, 18)


def test_only_choices_below_are_wanted():
    question = Question(problem=ladder())
    for solve in (solve_stages, CpSat().solve, Highs().solve):
        assert solve(replace(question, below=81)).objective == 80.0
        none = solve(replace(question, below=80))
        assert (none.decision, none.status, none.bound) == (None, Status.INFEASIBLE, 80.0)
        cheap = replace(question, minimize=COST, longest=99)
        least = solve(cheap).objective
        assert solve(replace(cheap, below=int(least) + 1)).objective == least
        assert solve(replace(cheap, below=int(least))).bound == least
    assert solve_stages(replace(question, longest=79)).bound == math.inf


def test_hints_start_the_search_and_wrong_ones_are_passed_over():
    question = Question(problem=ladder(), minimize=COST, longest=90)
    best = solve_stages(question)
    again = solve_stages(replace(question, hint=best.decision))
    assert again.decision.columns.tolist() == best.decision.columns.tolist()
    slow = lexicographic(Question(problem=ladder(), minimize=COST)).decision
    assert slow.time > 90
    beyond = Choice(columns=np.array([0, 1, 10**6]), time=0, cost=0)
    for hint in (slow, beyond):
        assert solve_stages(replace(question, hint=hint)).objective == best.objective
    hinted = CpSat().solve(replace(question, hint=best.decision))
    assert hinted.objective == best.objective


def test_no_time_leaves_an_honest_bound():
    question = Question(problem=ladder(), minimize=COST, longest=97, seconds=0.0)
    best = solve_stages(replace(question, seconds=None))
    for solve in (solve_stages, CpSat().solve, Highs().solve):
        stopped = solve(question)
        assert stopped.status is Status.TIME_LIMIT
        assert stopped.bound <= best.objective
    worse = solve_stages(replace(question, hint=solve_stages(Question(problem=ladder())).decision))
    assert worse.status is Status.FEASIBLE
    assert worse.bound <= best.objective <= worse.objective
    (last,) = exact_front(ladder(), seconds=0.0)
    assert last.status is Status.TIME_LIMIT


def test_bounds_of_interrupted_searches_hold_below_zero():
    """CP-SAT calls its bound 0 before it has one; here every objective is far below."""
    problem = ladder(cost=Form(constant=-(10**9), sums=(0, 1)))
    question = Question(problem=problem, minimize=COST, longest=90, seconds=1e-9)
    assert CpSat().solve(question).bound <= 6 - 10**9


class Wrong:
    """A solver that fails, or answers what is not so."""

    name, can = "wrong", frozenset(Need)

    def __init__(self, answer):
        self.answer = answer

    def solve(self, question):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def lie(columns, bound, problem):
    choice = evaluate(problem, columns)
    return Solution(
        decision=replace(choice, time=choice.time - 1),
        objective=choice.time - 1.0,
        bound=bound,
        status=Status.OPTIMAL,
        seconds=0.0,
    )


@pytest.mark.parametrize("kind", ["raises", "does not line up", "wrong time"])
def test_the_next_solver_answers_where_one_fails(kind, monkeypatch):
    question = Question(problem=ladder(), longest=85)
    left = solving.pruned(question).question.problem
    first = np.searchsorted(left.columns.device, np.arange(3))
    best = CpSat().solve(replace(question, problem=left))
    answers = {
        "raises": RuntimeError("no memory"),
        "does not line up": lie(first, 0.0, left),
        "wrong time": lie(best.decision.columns, 0.0, left),
    }
    true = solving.backend_of
    monkeypatch.setattr(
        solving, "backend_of", lambda name: Wrong(answers[kind]) if name == "cp-sat" else true(name)
    )
    found = solve_stages(question, backend="cp-sat")
    assert (found.objective, found.status) == (80.0, Status.OPTIMAL)
    assert found.counts["failed cp-sat"] == 1
    assert any(name.startswith("solved by") for name in found.counts)


def test_all_solvers_failing_is_an_error_and_contradictions_are_too(monkeypatch):
    question = Question(problem=ladder(), longest=85)
    true = solving.backend_of
    monkeypatch.setattr(solving, "backend_of", lambda name: Wrong(RuntimeError("no memory")))
    with pytest.raises(RuntimeError, match=r"cp-sat: no memory; .*highs: no memory"):
        solve_stages(question)
    never = Solution(
        decision=None, objective=math.inf, bound=math.inf, status=Status.INFEASIBLE, seconds=0.0
    )
    monkeypatch.setattr(
        solving, "backend_of", lambda name: Wrong(never) if name == "highs" else true(name)
    )
    with pytest.raises(RuntimeError, match="contradict"):
        solve_stages(question, check="highs")


def test_answers_are_checked_by_another_solver():
    for seed in range(20):
        question = random_question(seed)[0]
        assert solve_stages(question, check="highs").counts.get("checked by highs") == 1


def test_solvers_by_name(monkeypatch):
    question = Question(problem=ladder(), longest=85)
    assert solve_stages(question, backend="highs").counts["solved by highs"] == 1
    with pytest.raises(ValueError, match=r"no stage solver 'gurobi'; there are .*cp-sat, highs"):
        solve_stages(question, backend="gurobi")
    assert capable(question)[-2:] == ["cp-sat", "highs"]
    monkeypatch.setattr(solving, "backend_of", lambda name: Unable())
    with pytest.raises(ValueError, match="cannot do cost"):
        solve_stages(replace(question, minimize=COST), backend="cp-sat")


class Unable:
    """A solver of time alone."""

    can = frozenset()


def test_highs_proves_large_numbers_only_to_its_tolerance():
    """Times near 2**45: HiGHS is right, and says that it has not proved the last unit."""
    scale = 2**38
    columns = ladder().columns
    large = ladder(columns=replace(columns, sums=columns.sums * scale, peaks=columns.peaks * scale))
    found = Highs().solve(Question(problem=large))
    assert found.objective == 80 * scale
    assert found.status is Status.FEASIBLE
    assert 0 < found.gap < 1e-5
    assert CpSat().solve(Question(problem=large)).status is Status.OPTIMAL
    both = solve_stages(Question(problem=large), backend="highs", check="cp-sat")
    assert both.objective == 80 * scale


def test_limits_by_time_take_the_time_as_it_is():
    """A limit cost <= 0.1 time: slow choices may cost more, and time may not be overstated."""
    power = Limit(name="power", form=Form(sums=(0, 10)), upper=0, per_time=-1)
    problem = ladder(limits=(power,))
    want = min(time for _, time, _ in choices(problem))
    for solve in (solve_stages, CpSat().solve, Highs().solve):
        found = solve(Question(problem=problem))
        assert found.objective == want
        assert 10 * found.decision.cost <= found.decision.time
    assert {Need.EXACT_TIME, Need.LIMITS} == needs_of(Question(problem=problem, minimize=TIME))
