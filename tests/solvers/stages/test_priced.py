"""The bound by prices of time against the cheapest choice within each limit."""

from dataclasses import replace

import numpy as np
import pytest
import stage_problems
from family_instances import choices, random_problem
from support.cases import each

from solvers.stages.priced import priced_bound
from solvers.stages.problem import Columns, Form, Limit, StageProblem

PRICES = np.array([0.0, 0.5, 1.0, 2.0, 4.0])


@each("seed", range(40))
def test_no_choice_within_the_limit_costs_less(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed))
    known = choices(problem)
    bound = priced_bound(problem, PRICES, ranges=1 + seed % 6)
    assert bound.at(None) <= min(c.cost for c in known)
    for limit in sorted({c.time for c in known}):
        least = min(c.cost for c in known if c.time <= limit)
        assert bound.at(limit) <= least
    close = priced_bound(problem, PRICES, ranges=40)
    assert close.at(None) >= 0.97 * min(c.cost for c in known)


@each("seed", range(60))
def test_chunks_forms_crossings_and_limits_only_raise_the_truth(seed: int) -> None:
    problem = stage_problems.random_problem(seed, exact=False, largest=20)
    cost = replace(problem.cost, peaks=tuple(abs(w) for w in problem.cost.peaks), crossings=0)
    problem = replace(problem, cost=cost, crossings=None)
    known = [(time, value) for _, time, value in stage_problems.choices(problem)]
    bound = priced_bound(problem, PRICES, ranges=4)
    assert bound.at(None) <= min((value for _, value in known), default=np.inf)
    for limit in sorted({time for time, _ in known})[::5]:
        assert bound.at(limit) <= min(value for time, value in known if time <= limit)


def test_cost_that_time_lowers_is_refused() -> None:
    problem = replace(random_problem(np.random.default_rng(1)), cost_per_time=-1)
    with pytest.raises(ValueError, match="nor may time"):
        priced_bound(problem, PRICES)


def test_a_limit_below_all_choices_bounds_them_high() -> None:
    problem = random_problem(np.random.default_rng(1))
    soonest = min(c.time for c in choices(problem))
    dear = priced_bound(problem, np.array([0.0, 1e6]), ranges=20)
    assert dear.at(soonest // 2) > 1e6
    assert priced_bound(problem, PRICES, beyond=10).at(11) == -np.inf


def test_sums_that_limits_fix_are_used_up() -> None:
    """Two devices with two chunks each in no order: the first sum must come to five."""
    held = np.array([2, 3, 2, 3])
    problem = StageProblem(
        layers=0,
        chunks=np.array([[0, 2], [1, 3]]),
        columns=Columns(
            device=np.array([0, 0, 1, 1]),
            starts=np.zeros((4, 2), dtype=np.int64),
            ends=np.zeros((4, 2), dtype=np.int64),
            group=np.zeros(4, dtype=np.int64),
            sums=np.stack([10 * held, held], axis=1),
            peaks=held[:, None],
        ),
        time=(Form(sums=(1,), peaks=(1,)),),
        cost=Form(sums=(1,)),
        limits=(
            Limit(name="least", form=Form(sums=(0, -1)), upper=-5),
            Limit(name="most", form=Form(sums=(0, 1)), upper=5),
        ),
    )
    assert priced_bound(problem, PRICES).at(None) == pytest.approx(50)
