"""Dynamic program and labels against every choice of random column problems."""

from dataclasses import replace

import numpy as np
import pytest
from stage_problems import random_question
from support.cases import each

from solvers.solution import Status
from solvers.stages.backend import COST, TIME, Question
from solvers.stages.checking import faults
from solvers.stages.cpsat import CpSat
from solvers.stages.dominance import undominated_pairs, undominated_triples
from solvers.stages.dynamic import Dynamic, directions_of
from solvers.stages.labels import Labels
from solvers.stages.problem import Columns, Form, Limit, StageProblem

PLAIN = {"chunks": 1, "limits": 0, "exact": False}


def questions(seeds, minimize=None):
    """Questions with up to three forms, two peaks and crossings, and the true least objective."""
    for seed in seeds:
        question, best, _ = random_question(seed, **PLAIN)
        if minimize in (None, question.minimize):
            yield seed, question, best


def test_dynamic_equals_every_choice():
    proved = 0
    for seed, question, best in questions(range(700), TIME):
        found = Dynamic().solve(question)
        assert found.bound <= (np.inf if best is None else best) <= found.objective, seed
        one = len(directions_of(question.problem, question.problem.time)) == 1
        if found.decision is not None:
            assert not faults(question.problem, found.decision, question.longest), seed
        if one or found.status is Status.OPTIMAL:
            proved += best is not None
            assert found.objective == (np.inf if best is None else best), seed
        if one:
            assert found.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL), seed
    assert proved > 150


def test_labels_equal_every_choice_and_take_the_fastest_of_the_cheapest():
    proved = 0
    for seed in range(900):
        question, best, every = random_question(seed, **PLAIN)
        if question.minimize == TIME:
            continue
        found = Labels().solve(question)
        if len(directions_of(question.problem, question.problem.time)) > 1:
            assert found.status is Status.TIME_LIMIT, seed
            continue
        if best is None:
            assert found.status is Status.INFEASIBLE, seed
            continue
        proved += 1
        longest = np.inf if question.longest is None else question.longest
        fastest = min(time for _, time, cost in every if cost == best and time <= longest)
        assert (found.decision.cost, found.decision.time) == (best, fastest), seed
        assert found.bound == best, seed
    assert proved > 150


@each("backend", [Dynamic, Labels])
def test_only_what_is_below_is_wanted(backend):
    asked = 0
    minimize = TIME if backend is Dynamic else COST
    for _, question, best in questions(range(120), minimize):
        if best is None or len(directions_of(question.problem, question.problem.time)) > 1:
            continue
        asked += 1
        none = backend().solve(replace(question, below=best))
        assert (none.status, none.decision, none.bound) == (Status.INFEASIBLE, None, best)
        assert backend().solve(replace(question, below=best + 1)).objective == best
        hint = backend().solve(question).decision
        assert backend().solve(replace(question, hint=hint)).objective == best
    assert asked > 10


@each("seed", range(3))
def test_larger_problems_equal_cp_sat(seed):
    problem = chain_problem(seed)
    fastest = Dynamic().solve(Question(problem=problem))
    assert fastest.objective == CpSat().solve(Question(problem=problem)).objective
    for slack in (1.02, 1.2):
        question = Question(problem=problem, minimize=COST, longest=int(fastest.objective * slack))
        found = Labels().solve(question)
        assert found.status is Status.OPTIMAL
        assert found.objective == CpSat().solve(question).objective


def chain_problem(seed, devices=4, layers=10):
    """Columns of up to four layers in three ways, whose cost falls as time rises; three peaks."""
    rng = np.random.default_rng(seed)
    device, start, size, way = (
        axis.reshape(-1)
        for axis in np.meshgrid(
            np.arange(devices), np.arange(layers + 1), np.arange(5), np.arange(3), indexing="ij"
        )
    )
    kept = start + size <= layers
    device, start, size, way = device[kept], start[kept], size[kept], way[kept]
    time = size * (20 + 5 * way) + rng.integers(0, 9, len(size))
    cost = size * (90 - 20 * way) + rng.integers(0, 9, len(size))
    others = rng.integers(0, 4, (len(size), 2)) * 10
    return StageProblem(
        layers=layers,
        chunks=np.arange(devices)[:, None],
        columns=Columns(
            device=device,
            starts=start[:, None],
            ends=(start + size)[:, None],
            group=way,
            sums=np.stack([time, cost], axis=1),
            peaks=np.column_stack([time, others]),
        ),
        time=(Form(sums=(1, 0), peaks=(7, 1, 1), crossings=1), Form(constant=40, peaks=(8,))),
        cost=Form(sums=(0, 8), peaks=(0, 0, 2)),
        cost_per_time=1,
        crossings=rng.integers(0, 6, (3, 3)),
    )


def test_labels_beyond_their_work_answer_with_a_bound():
    question = Question(problem=chain_problem(0), minimize=COST, longest=850)
    true = Labels().solve(question)
    short = Labels(work=0).solve(question)
    assert true.status is Status.OPTIMAL
    assert short.status is Status.FEASIBLE
    assert short.bound < true.objective < short.objective


@each("backend", [Dynamic, Labels])
def test_no_time_is_no_proof(backend):
    minimize = TIME if backend is Dynamic else COST
    question = Question(problem=chain_problem(1), minimize=minimize, seconds=0.0)
    found = backend().solve(question)
    true = backend().solve(replace(question, seconds=None))
    assert true.status is Status.OPTIMAL
    assert found.status in (Status.TIME_LIMIT, Status.FEASIBLE)
    assert found.bound <= true.objective


@each("backend", [Dynamic, Labels])
def test_a_device_without_columns_is_infeasible(backend):
    problem = chain_problem(0)
    without = replace(problem, columns=problem.columns.take(problem.columns.device != 2))
    minimize = TIME if backend is Dynamic else COST
    found = backend().solve(Question(problem=without, minimize=minimize))
    assert (found.status, found.bound) == (Status.INFEASIBLE, np.inf)


@each("backend", [Dynamic, Labels])
def test_what_a_solver_cannot_do_is_refused(backend):
    limit = Limit(name="power", form=Form(sums=(1,)), upper=9)
    limited = replace(chain_problem(0), limits=(limit,))
    with pytest.raises(ValueError, match=f"{backend().name} cannot do limits"):
        backend().solve(Question(problem=limited))
    with pytest.raises(ValueError, match="dynamic cannot do cost"):
        Dynamic().solve(Question(problem=chain_problem(0), minimize=COST))


def test_undominated_rows_equal_all_pairs():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        count, levels = int(rng.integers(0, 40)), int(rng.integers(1, 9))
        rows = np.column_stack([rng.integers(0, most, count) for most in (3, levels, 6, 6)])
        for used, kept in (
            (rows, undominated_triples(*rows.T)),
            (rows[:, [0, 2, 3]], undominated_pairs(*rows[:, [0, 2, 3]].T)),
        ):
            distinct = {tuple(row) for row in used.tolist()}
            expected = {row for row in distinct if not any(beats(o, row) for o in distinct)}
            assert sorted(map(tuple, used[kept].tolist())) == sorted(expected)


def beats(one, other):
    same_key = one[0] == other[0]
    return same_key and one != other and all(a <= b for a, b in zip(one, other, strict=True))
