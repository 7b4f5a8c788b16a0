"""Fleets: the best schedule against every schedule, bounds, and what people do."""

from __future__ import annotations

from random_fleets import random_fleet
from support.cases import each

from solvers.fleet.enumeration import least
from solvers.fleet.problem import broken, objective_of
from solvers.fleet.solving import solve
from solvers.solution import Status


@each("seed", range(40))
def test_the_best_schedule_is_that_of_all_schedules(seed: int) -> None:
    fleet = random_fleet(seed)
    truth, found = least(fleet), solve(fleet)
    if truth is None:
        assert found.status is Status.INFEASIBLE
        return
    assert found.status is Status.OPTIMAL
    assert found.decision is not None
    assert not broken(fleet, found.decision)
    assert objective_of(fleet, found.decision) == found.objective == found.bound == truth[0]
