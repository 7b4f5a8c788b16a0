"""The joint search against an evaluation of every plan."""

from typing import Any

import numpy as np
import pytest

from planner.rack.joint import JointProblem, joint_problem
from planner.rack.joint_solve import Search
from rack.brute_force import Everything, everything, front_of
from rack.questions import random_question
from solvers.factored import brute_force_minimum
from solvers.factored_cpsat import front as exact_front
from solvers.factored_cpsat import minimize
from solvers.solution import Status


def in_quanta(joint: JointProblem, found: Everything) -> Any:
    """(n, 2) time and energy of every plan, its terms rounded as the integer problem says."""
    question, cost, q = joint.question, found.cost, joint.time_quantum_s
    a = question.assumptions
    fetch = np.rint(cost.transfers["weight fetch"].latency_s / q)
    others = sum(
        t.latency_s for name, t in cost.transfers.items() if name != "weight fetch"
    )  # fmt: skip
    computing = np.rint(cost.compute.latency_s / q)
    busy = np.maximum(computing, fetch) if a.hides_fetch else computing + fetch
    rest = np.rint(others / q)
    time = np.maximum(busy, rest) if a.hides_collectives else busy + rest
    inside = sum(cost.compute.energy_j.values())
    static = cost.energy_j.get("static", 0.0)
    unit = joint.energy_quantum_j
    energy = np.rint(inside / unit) + np.rint((cost.total_j - inside - static) / unit)
    if a.static_power:
        watts = round(question.machine.chip.idle_w * q / unit)
        energy = energy + found.plans.chips * watts * time
    return np.stack([time, energy], axis=1)[found.allowed]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_optima_of_random_questions(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        question = random_question(seed)
        found = everything(question)
        assert found is not None
        joint = joint_problem(question)
        assert joint.plans == len(found.plans)
        points, whole = found.points, in_quanta(joint, found)
        for column, objective in enumerate(("time", "energy")):
            solution = minimize(joint.problem, objective)
            if not len(points):
                assert solution.status is Status.INFEASIBLE, seed
                continue
            assert solution.status is Status.OPTIMAL
            assert solution.bound == solution.objective == whole[:, column].min(), seed
            assert solution.objective == brute_force_minimum(joint.problem, objective).objective
            _, best = Search(joint).optimum(joint.problem, objective)
            assert best is not None
            assert best.value(objective) == pytest.approx(points[:, column].min(), rel=2e-5), seed


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_fronts_of_random_questions(block: int) -> None:
    for seed in range(1000 + block * 10, 1010 + block * 10):
        question = random_question(seed)
        found = everything(question)
        assert found is not None
        joint = joint_problem(question)
        front = [[t, e] for t, e, _ in exact_front(joint.problem, ("time", "energy"))]
        assert front[::-1] == front_of(in_quanta(joint, found)).tolist(), seed
        assert bool(front) == bool(len(found.points))
        for seconds, joules in front_of(found.points):
            near = [
                t * joint.time_quantum_s <= seconds * (1 + 2e-5)
                and e * joint.energy_quantum_j <= joules * (1 + 2e-5)
                for t, e in front
            ]
            assert any(near), seed
