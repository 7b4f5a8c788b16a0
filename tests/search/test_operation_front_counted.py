"""What the front over clocks of operations leaves out, in counts and in time, and what it says."""

import time
from dataclasses import replace

import numpy as np
import pytest
from search.test_operation_front import found, searched

from planner.report.tables.operation_front import front_clocks_lines
from planner.search.deadline import Deadline, OutOfTime
from planner.search.operations import ahead


def looked(name: str, **limits: float | None) -> ahead.OperationFront:
    space, front = searched(name)
    plans = [front.plans.plan(row) for row in range(len(front.plans))]
    return ahead.front_ahead(replace(space, **limits), front.points, plans, 0.01, 0.0)


def test_few_points_are_looked_at_first_and_none_is_left_out() -> None:
    for count in (1, 5, 6, 7, 40):
        order = ahead._spread_first(count)
        assert sorted(order) == list(range(count))
        first = np.sort(order[: ahead._FIRST])
        assert (first[0], first[-1]) == (0, count - 1)
        assert np.diff(first).max(initial=0) <= count / 5 + 1


def test_the_order_of_the_points_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found within a shorter step counts at longer ones that were looked at before."""
    monkeypatch.setattr(ahead, "_spread_first", lambda count: [*range(count)][::-1])
    for one, other in zip(found("pipelines").points, looked("pipelines").points, strict=True):
        assert other.plan == one.plan
        for name in ("mixed_j", "energy_j", "bound_j"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)


def test_where_few_plans_are_sought_each_point_has_its_bound_and_the_answer_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = found("pipelines")
    (line,) = front_clocks_lines(exact)
    assert "(proved)" in line
    monkeypatch.setattr(ahead, "_MOST_SOUGHT_IN_ALL", 0)
    monkeypatch.setattr(ahead, "_MOST_PROGRAMS", 0)
    few = looked("pipelines")
    assert few.unsought == len(exact.points) == len(few.points)
    for one, other in zip(exact.points, few.points, strict=True):
        assert other.bound_j <= one.mixed_j * (1 + 1e-9)
    line, rest = front_clocks_lines(few)
    most = max(100 * point.most_saved for point in few.points)
    assert float(line.split("saves more than ")[1].split()[0]) == pytest.approx(most, rel=5e-3)
    assert rest.startswith("At 3 of 3 points of the front the clocks of some plans were not sought")


def test_a_longer_step_bounds_a_shorter_one() -> None:
    """None needs less within it; also where what bounds it was not looked at."""
    every = found("one stage").points
    search = ahead._Search(searched("one stage")[0].model, None, 0.0, Deadline())
    search._looked = {1.0: (9.0, 2.0, False), 2.0: (8.0, 5.0, True), 3.0: (7.0, 4.0, True)}
    assert [search.point(at, 9.0, every[0].plan).bound_j for at in (1.0, 2.0, 3.0)] == [5, 5, 4]


class _Ticking:
    """A clock on which each look takes a second."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return float(self.looks)


def test_the_deadline_is_looked_at_while_operations_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between any two parts, and for each stage."""
    space, _ = searched("pipelines")
    plan = found("pipelines").points[0].plan
    clock = _Ticking()
    monkeypatch.setattr(time, "perf_counter", clock)
    ahead._Clocked.of(space.model, plan, 1.0, Deadline(1e9))
    looks = clock.looks
    assert looks >= 8 + plan.pp
    for late in range(looks):
        clock.looks = 0
        with pytest.raises(OutOfTime):
            ahead._Clocked.of(space.model, plan, 1.0, Deadline(late + 0.5))
        assert clock.looks == late + 1


def test_a_plan_whose_operations_are_not_made_in_time_keeps_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(*given: object) -> None:
        monkeypatch.setattr(Deadline, "passed", True)
        raise OutOfTime

    monkeypatch.setattr(ahead._Clocked, "of", late)
    some = looked("chips open", deadline=time.perf_counter() + 600)
    times = searched("chips open")[1].points[:, 0].tolist()
    assert [one.step_time_s for one in some.points] == times
    assert len(times) > ahead._FIRST
    assert (some.bounded, some.in_time) == (0, False)
    for one in some.points:
        assert 0 < one.bound_j < one.energy_j == one.mixed_j == one.one_clock_j


def test_plans_that_are_known_have_no_bound_made_better_after_time() -> None:
    space, front = searched("pipelines")
    every = ahead.plans_below(space, front.points)
    limit_s = float(front.points[-1, 0])
    search = ahead._Search(space.model, every, 0.0, Deadline())
    assert search._better(0.0, ahead._LISTED, 0, limit_s) is not None
    search.deadline = Deadline(0.0)
    assert search._better(0.0, ahead._LISTED, 0, limit_s) is None
    assert search._with_changes(0.0, ahead._LISTED, 0, limit_s, 0.01) is None
