"""What the search by the heaviest peak takes on, how it judges choices, and what it rounds."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
from stage_problems import line_ups, powered_problem
from support.cases import each

from solvers.solution import Status
from solvers.stages.backend import COST, TIME, Question
from solvers.stages.capped_labels import Cap, CappedLabels
from solvers.stages.checking import evaluate, faults
from solvers.stages.exact_peak import ExactPeak
from solvers.stages.peak_caps import Capped, suits
from solvers.stages.problem import LARGEST, Columns, Form, Limit, StageProblem


def test_time_that_lowers_the_cost_suits_only_where_time_counts() -> None:
    problem = replace(powered_problem(1), cost_per_time=-1)
    assert suits(Question(problem=problem, minimize=TIME))
    question = Question(problem=problem, minimize=COST)
    assert not suits(question)
    assert ExactPeak().solve(question).status is Status.TIME_LIMIT


def test_peaks_that_lower_what_is_limited_do_not_suit() -> None:
    problem = powered_problem(1)
    assert suits(Question(problem=problem))
    limit = Limit(name="low", form=Form(peaks=(0, -1)), upper=100)
    assert not suits(Question(problem=replace(problem, limits=(limit,))))
    cheap = replace(problem, cost=Form(sums=(0, 1), peaks=(-1,)))
    assert suits(Question(problem=cheap, minimize=TIME))
    assert not suits(Question(problem=cheap, minimize=COST))


def test_time_that_sums_lower_does_not_suit() -> None:
    problem = powered_problem(1)
    less = replace(problem, time=(Form(constant=500, sums=(-1,), peaks=(3,)),))
    assert not suits(Question(problem=less))
    apart = replace(problem, time=(Form(sums=(1,), peaks=(3,)), Form(sums=(0, 1), peaks=(3,))))
    assert not suits(Question(problem=apart))


def test_numbers_beyond_doubles_do_not_suit() -> None:
    problem = powered_problem(1)
    for constant, held in ((LARGEST // 4, True), (LARGEST // 4 + 1, False)):
        limit = Limit(name="far", form=Form(constant=constant), upper=LARGEST, per_time=0)
        assert suits(Question(problem=replace(problem, limits=(limit,)))) == held


@each("seed", range(8))
def test_choices_are_judged_as_by_their_definition(seed: int) -> None:
    """Objective, time and limits of some, those that take too long included."""
    draw = random.Random(seed)
    problem = powered_problem(seed)
    every = list(line_ups(problem))
    chosen = draw.sample(every, min(200, len(every)))
    true = [evaluate(problem, list(columns)) for columns in chosen]
    longest = int(np.median([choice.time for choice in true]))
    for minimize in (TIME, COST):
        question = Question(problem=problem, minimize=minimize, longest=longest)
        goal, times, inside = Capped.of(question).judged(np.array(chosen), longest)
        assert times.tolist() == [choice.time for choice in true]
        assert goal.tolist() == [(c.time, c.cost)[minimize == COST] for c in true]
        assert inside.tolist() == [faults(problem, choice, longest) == [] for choice in true]


@each("seed", range(60))
def test_a_chain_on_the_edge_of_a_cap_is_kept(seed: int) -> None:
    """Weights that are no whole numbers add up with rounding, in an order that differs."""
    draw = np.random.default_rng(seed)
    devices = 8
    problem = StageProblem(
        layers=devices,
        chunks=np.arange(devices)[:, None],
        columns=Columns(
            device=np.arange(devices),
            starts=np.arange(devices)[:, None],
            ends=np.arange(devices)[:, None] + 1,
            group=np.zeros(devices, dtype=np.int64),
            sums=np.zeros((devices, 1), dtype=np.int64),
            peaks=np.zeros((devices, 1), dtype=np.int64),
        ),
        time=(Form(sums=(1,)),),
    )
    table = draw.integers(0, 10**6, (devices, 2)).astype(np.float64)
    weights = draw.random(2)
    exact = sum(
        (
            Fraction(float(w)) * int(total)
            for w, total in zip(weights, table.sum(axis=0), strict=True)
        ),
        Fraction(0),
    )
    upper = float(exact)
    if Fraction(upper) < exact:
        upper = float(np.nextafter(upper, np.inf))
    labels = CappedLabels(
        problem=problem,
        table=table,
        peaks=problem.columns.peaks,
        caps=[Cap(weights=weights, upper=upper)],
        compared=[],
        ends=np.inf,
    )
    found = labels.run(100)
    assert found is not None
    assert found.tolist() == [list(range(devices))]
