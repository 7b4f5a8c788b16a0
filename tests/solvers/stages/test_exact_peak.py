"""The search by the heaviest peak against every choice, under limits that allow more with time."""

import random

import numpy as np
import pytest
from stage_problems import choices, line_ups, powered_problem, random_question
from support.cases import each

from solvers.solution import Status
from solvers.stages import exact_peak
from solvers.stages.backend import COST, TIME, Question
from solvers.stages.capped_labels import Cap, CappedLabels
from solvers.stages.checking import evaluate, faults
from solvers.stages.dominance import clearly_undominated, least_of_equals
from solvers.stages.exact_peak import ExactPeak
from solvers.stages.peak_caps import suits
from solvers.stages.problem import Columns, Form, Limit, StageProblem
from solvers.stages.solving import solve_stages


@each("seed", range(16))
def test_limits_that_allow_more_with_time(seed: int) -> None:
    """Time and cost, without and with a limit on time and an objective to beat."""
    draw = random.Random(seed)
    problem = powered_problem(seed)
    every = list(choices(problem))
    for minimize in (TIME, COST):
        best = sorted((time, cost)[minimize == COST] for _, time, cost in every)
        _answers(Question(problem=problem, minimize=minimize), best)
        if not best:
            continue
        _answers(Question(problem=problem, minimize=minimize, below=best[0]), [])
        _answers(Question(problem=problem, minimize=minimize, below=best[0] + 1), best)
        longest = draw.choice([time for _, time, _ in every])
        within = sorted((t, c)[minimize == COST] for _, t, c in every if t <= longest)
        _answers(Question(problem=problem, minimize=minimize, longest=longest), within)


def _answers(question: Question, best: list[int]) -> None:
    found = ExactPeak().solve(question)
    if not best:
        assert found.status is Status.INFEASIBLE
        return
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, best[0], best[0])
    assert found.decision is not None
    assert faults(question.problem, found.decision, question.longest) == []


@each("seed", range(8))
def test_bounds_of_little_work_hold(seed: int) -> None:
    """Whatever number of labels ends a search, its bound is below the answer."""
    problem = powered_problem(seed)
    every = list(choices(problem))
    for minimize in (TIME, COST):
        least = min(((t, c)[minimize == COST] for _, t, c in every), default=np.inf)
        for work in (0, 30, 300):
            found = ExactPeak(work).solve(Question(problem=problem, minimize=minimize))
            assert found.bound <= least <= found.objective


@pytest.mark.parametrize("seed", range(12))
def test_labels_alone_find_the_best(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without prices, which find most answers of small problems."""
    monkeypatch.setattr(exact_peak._Search, "_handler_zang", lambda *_: (-np.inf, []))
    problem = powered_problem(seed)
    every = list(choices(problem))
    for minimize in (TIME, COST):
        best = sorted((time, cost)[minimize == COST] for _, time, cost in every)
        _answers(Question(problem=problem, minimize=minimize), best)


@each("seed", range(10))
def test_every_chain_has_a_label_that_is_no_worse(seed: int) -> None:
    """In time, in a sum that counts time against it, and in one that nearly is a multiple."""
    draw = np.random.default_rng(seed)
    problem = powered_problem(seed)
    columns = problem.columns
    cost = draw.integers(0, 40, len(columns))
    near = cost * 7 // 3 + draw.integers(0, 3, len(columns))
    table = np.stack([columns.sums[:, 0], near, cost], axis=1).astype(np.float64)
    rows = [np.array([-2.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])]
    labels = CappedLabels(
        problem=problem,
        table=table,
        peaks=columns.peaks[:, [1, 0]],
        caps=[Cap(weights=np.array([1.0, 0.0, 0.0]), upper=np.inf)],
        compared=rows,
        ends=np.inf,
    )
    found = labels.run(10**7)
    assert found is not None
    weighed = np.stack([table[:, 0], *(table @ row for row in rows)], axis=1)
    left = weighed[found].sum(axis=1)
    peaks = columns.peaks[found, 1].max(axis=1)
    chains = np.array(list(line_ups(problem)))
    assert len(found) < len(chains)
    for chain in chains[draw.integers(0, len(chains), 300)]:
        same = peaks == columns.peaks[chain, 1].max()
        assert (left[same] <= weighed[chain].sum(axis=0)).all(axis=1).any()


def test_too_many_values_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    question = Question(problem=powered_problem(1))
    assert ExactPeak().solve(question).status is Status.OPTIMAL
    monkeypatch.setattr(exact_peak, "_MOST_VALUES", 0)
    found = ExactPeak().solve(question)
    assert found.bound == -np.inf
    assert solve_stages(question).status is Status.OPTIMAL


def test_time_that_is_over_leaves_a_bound() -> None:
    found = ExactPeak().solve(Question(problem=powered_problem(1), seconds=0.0))
    assert found.bound == -np.inf


@each("seed", range(60))
def test_random_questions_are_proved_or_left(seed: int) -> None:
    question, best, _ = random_question(seed + 7000, chunks=1, crossings=False)
    found = ExactPeak().solve(question)
    if suits(question):
        assert found.objective == (np.inf if best is None else best)
        assert found.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
    else:
        assert found.status is Status.TIME_LIMIT


def test_random_questions_suit_often() -> None:
    asked = [random_question(seed + 7000, chunks=1, crossings=False)[0] for seed in range(60)]
    assert sum(suits(question) for question in asked) > 15


def test_a_slower_choice_is_the_best_one() -> None:
    """The fast way takes too much for its time; only the slow one is within the limit."""
    problem = StageProblem(
        layers=2,
        chunks=np.arange(2)[:, None],
        columns=Columns(
            device=np.array([0, 0, 1]),
            starts=np.array([[0], [0], [1]]),
            ends=np.array([[1], [1], [2]]),
            group=np.zeros(3, dtype=np.int64),
            sums=np.array([[4, 30], [9, 29], [4, 5]]),
            peaks=np.array([[4], [9], [4]]),
        ),
        time=(Form(sums=(1,), peaks=(2,)),),
        limits=(Limit(name="power", form=Form(sums=(0, 1)), upper=4, per_time=-1),),
    )
    assert [evaluate(problem, [c, 2]).time for c in (0, 1)] == [16, 31]
    found = ExactPeak().solve(Question(problem=problem))
    assert found.decision is not None
    assert found.decision.columns.tolist() == [1, 2]
    assert found.status is Status.OPTIMAL


def test_a_slower_start_that_takes_as_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some device must be slow: the one that loses 5, not the one that loses 16."""
    monkeypatch.setattr(exact_peak._Search, "_handler_zang", lambda *_: (-np.inf, []))
    problem = StageProblem(
        layers=2,
        chunks=np.arange(2)[:, None],
        columns=Columns(
            device=np.array([0, 0, 1, 1]),
            starts=np.array([[0], [0], [1], [1]]),
            ends=np.array([[1], [1], [2], [2]]),
            group=np.zeros(4, dtype=np.int64),
            sums=np.array([[4, 30], [9, 30], [4, 30], [20, 30]]),
            peaks=np.full((4, 1), 50),
        ),
        time=(Form(sums=(1,), peaks=(1,)),),
        limits=(Limit(name="power", form=Form(sums=(0, 1)), upper=-2, per_time=-1),),
    )
    found = ExactPeak().solve(Question(problem=problem))
    assert found.decision is not None
    assert found.decision.columns.tolist() == [1, 2]
    assert (found.objective, found.status) == (63, Status.OPTIMAL)


def test_dominance_by_a_margin() -> None:
    draw = random.Random(0)
    for _ in range(100):
        n = draw.randint(1, 12)
        key, first, second = (np.array([draw.randint(0, 4) for _ in range(n)]) for _ in range(3))
        margin = draw.choice([0.5, 1, 2, 2.5])
        left = {
            i
            for i in range(n)
            if not any(
                key[j] == key[i] and first[j] <= first[i] and second[j] + margin <= second[i]
                for j in range(n)
            )
        }
        assert set(clearly_undominated(key, first, second, margin).tolist()) == left


def test_least_of_equals() -> None:
    same = np.array([[1, 2], [1, 2], [1, 3], [1, 2]])
    worse = np.array([[5], [4], [9], [4]])
    left = least_of_equals(same, worse).tolist()
    assert len(left) == 2
    assert 2 in left
    assert worse[min(left), 0] == 4
