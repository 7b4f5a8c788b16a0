"""The master problem over machines: CP-SAT, the join of its tables, and plain filtering agree."""

import random

import pytest
from support.cases import each

from solvers.factored import brute_force_front
from solvers.factored_cpsat import front, minimize
from solvers.frontier import nondominated
from solvers.machines import Option, master_problem, undominated
from solvers.solution import Status

NAMES = ("time", "energy")


def random_options(rng: random.Random) -> list[Option]:
    return [
        Option(
            machine=machine,
            size=size,
            uses={"pes": size * rng.choice([4, 8]), "links": size * rng.randrange(1, 6)},
            points=[(rng.randrange(1, 60), rng.randrange(1, 60)) for _ in range(rng.randrange(6))],
        )
        for machine in range(rng.randrange(1, 5))
        for size in rng.sample(range(1, 9), rng.randrange(1, 4))
    ]


def by_hand(options: list[Option], budgets: dict[str, int]) -> list[tuple[int, int]]:
    """The front of every plan of every option within the budgets."""
    import numpy as np  # noqa: PLC0415

    allowed = [
        point
        for option in options
        if all(option.uses[name] <= upper for name, upper in budgets.items())
        for point in option.points
    ]
    points = np.array(allowed, dtype=float).reshape(-1, 2)
    return [(int(a), int(b)) for a, b in points[nondominated(points)]]


@each("seed", range(60))
def test_the_master_equals_filtering_everything(seed: int) -> None:
    rng = random.Random(seed)
    options = random_options(rng)
    if not any(option.points for option in options):
        return
    budgets = {"pes": rng.randrange(4, 60), "links": rng.randrange(1, 40)}
    problem = master_problem(options, budgets, NAMES)
    wanted = by_hand(options, budgets)
    joined = sorted(point[:2] for point in brute_force_front(problem, NAMES))
    assert joined == sorted(wanted)
    solved = list(front(problem, NAMES))
    assert sorted(point[:2] for point in solved) == sorted(wanted)
    best = minimize(problem, "time")
    if not wanted:
        assert best.status is Status.INFEASIBLE
        return
    assert best.objective == min(time for time, _ in wanted)
    by_name = {(o.machine, o.size): o for o in options}
    for time, energy, decision in solved:
        assert isinstance(decision, dict)
        option = by_name[decision["machine"], decision["size"]]
        assert option.points[decision["rank"]] == (time, energy)
        assert all(option.uses[name] <= upper for name, upper in budgets.items())


def test_a_plan_that_a_larger_machine_beats_is_left_under_a_budget() -> None:
    small = Option(machine=0, size=1, uses={"pes": 4}, points=[(9, 9)])
    large = Option(machine=1, size=2, uses={"pes": 8}, points=[(1, 1)])
    tight = master_problem([small, large], {"pes": 4}, NAMES)
    roomy = master_problem([small, large], {"pes": 8}, NAMES)
    assert [point[:2] for point in front(tight, NAMES)] == [(9, 9)]
    assert [point[:2] for point in front(roomy, NAMES)] == [(1, 1)]


def test_only_what_its_own_option_beats_may_be_left_out() -> None:
    assert undominated([(3, 3), (2, 4), (4, 4), (1, 9)]) == [3, 1, 0]


def test_no_plan_at_all_is_refused() -> None:
    empty = Option(machine=0, size=1, uses={}, points=[])
    with pytest.raises(ValueError, match="no option has a plan"):
        master_problem([empty], {}, NAMES)
