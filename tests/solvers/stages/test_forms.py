"""Linear forms: what they add up to, how large they can be, and which sums limits fix."""

import itertools
from dataclasses import replace

import numpy as np
from stage_problems import choices, line_ups, random_problem, random_question, value
from support.cases import each

from solvers.stages.backend import COST, TIME, Question
from solvers.stages.forms import (
    Extents,
    caps_of,
    heaviest_peak,
    longest_of,
    objective_forms,
    plus,
    with_time,
)
from solvers.stages.problem import Form

SEEDS = range(14)


def test_no_choice_has_a_larger_form():
    for seed in SEEDS:
        problem = random_problem(seed)
        extents = Extents(problem)
        for form in (*problem.time, problem.cost):
            assert all(abs(value(problem, form, c)) <= extents.of(form) for c in line_ups(problem))
        assert extents.of_time() == max(map(extents.of, problem.time))


def test_sizes_are_those_of_the_largest_columns():
    """A device's largest column for sums, the largest of all for peaks; what is always 0 is 1."""
    for seed in SEEDS:
        problem = random_problem(seed)
        columns = problem.columns
        signed = replace(
            problem,
            columns=replace(columns, sums=columns.sums - 12, peaks=columns.peaks * [[-1, 0]]),
        )
        of_device = [signed.columns.sums[columns.device == d] for d in range(problem.devices)]
        sums = sum(np.abs(one).max(axis=0) for one in of_device)
        crossed = problem.crossings is not None and np.abs(problem.crossings).max()
        extents = Extents(signed)
        assert extents.sums == [max(int(size), 1) for size in sums]
        assert extents.peaks == [max(int(columns.peaks[:, 0].max()), 1), 1]
        assert extents.crossings == max(int(crossed) * (problem.devices - 1), 1)
        form = Form(constant=-3, sums=(2, -5), peaks=(7, -11), crossings=-13)
        pieces = (2 * extents.sums[0], 5 * extents.sums[1], 7 * extents.peaks[0], 11)
        assert extents.of(form) == 3 + sum(pieces) + 13 * extents.crossings


def test_a_sum_of_forms_is_the_form_of_sums():
    for seed in SEEDS:
        problem = random_problem(seed)
        for one, other in itertools.pairwise((*problem.time, problem.cost)):
            for chosen in itertools.islice(line_ups(problem), 5):
                both = value(problem, one, chosen) - 3 * value(problem, other, chosen)
                assert value(problem, plus(one, -3, other), chosen) == both


@each("seed", SEEDS)
def test_forms_and_caps_hold_for_every_choice(seed):
    """No form is above the objective, and every choice below what is known keeps every cap."""
    question = random_question(seed)[0]
    problem = question.problem
    found = list(choices(problem))
    if not found:
        return
    longest = sorted(time for _, time, _ in found)[len(found) // 2]
    for minimize in (TIME, COST):
        values = [time if minimize == TIME else cost for _, time, cost in found]
        asked = Question(
            problem=problem, minimize=minimize, longest=longest, below=max(values) + 1,
            soonest=min(time for _, time, _ in found),
        )  # fmt: skip
        if minimize == COST:
            assert_below(asked, sorted(values)[len(values) // 2], found)
        caps, forms = caps_of(asked), objective_forms(asked)
        most = longest_of(asked)
        assert most == (min(longest, max(values)) if minimize == TIME else longest)
        for (chosen, time, _), objective in zip(found, values, strict=True):
            if time <= longest:
                assert all(value(problem, form, chosen) <= objective for form in forms)
                assert all(value(problem, cap.form, chosen) <= cap.upper for cap in caps)
            else:
                assert any(value(problem, cap.form, chosen) > cap.upper for cap in caps)


def assert_below(asked, below, found):
    """Where less cost than is known is wanted, what costs as much is above some cap."""
    problem = asked.problem
    caps = caps_of(replace(asked, below=below))
    for chosen, time, cost in found:
        over = any(value(problem, cap.form, chosen) > cap.upper for cap in caps)
        if time <= asked.longest and cost < below:
            assert not over
        elif problem.cost_per_time >= 0:
            assert over


def test_time_in_a_form_by_hand():
    problem = replace(
        random_problem(0), time=(Form(constant=5, sums=(1,)), Form(constant=9, peaks=(2,)))
    )
    form = Form(constant=1, sums=(0, 4))
    assert with_time(problem, form, 0, None) == [form]
    assert with_time(problem, form, 3, None) == [
        Form(constant=16, sums=(3, 4)), Form(constant=28, sums=(0, 4), peaks=(6,)),
    ]  # fmt: skip
    assert with_time(problem, form, -2, 50) == [Form(constant=-99, sums=(0, 4))]
    most = Extents(problem).of_time()
    assert with_time(problem, form, -2, None) == [Form(constant=1 - 2 * most, sums=(0, 4))]


@each(("peaks", "heaviest"), [
    ((), None), ((0, 0), None), ((1, 1), 0), ((1, 2), 1), ((0, 3, 3), 1), ((5, 3), 0),
])  # fmt: skip
def test_the_peak_that_weighs_most_is_the_first_of_them(peaks, heaviest):
    problem = replace(random_problem(1), time=(Form(peaks=peaks),))
    assert heaviest_peak(problem) == heaviest
