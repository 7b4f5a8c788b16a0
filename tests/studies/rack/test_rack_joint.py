"""The joint search against an evaluation of every plan."""

import time
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from support.cases import each

from planner.studies.rack.solve.answer import RackAnswer
from planner.studies.rack.solve.joint import JointProblem, joint_problem
from planner.studies.rack.solve.request import rack_request
from planner.studies.rack.solve.search import Search
from planner.studies.rack.solve.solve import solve_rack
from solvers.factored import brute_force_minimum
from solvers.factored_cpsat import front as exact_front
from solvers.factored_cpsat import minimize
from solvers.solution import Status
from studies.rack.brute_force import Everything, everything, front_of
from studies.rack.questions import question_and_plans, random_question

TIES_EVERY = 4


def in_quanta(joint: JointProblem, found: Everything) -> Any:
    """(n, 2) time and energy of every plan, its terms rounded as the integer problem says."""
    question, cost, q = joint.question, found.cost, joint.time_quantum_s
    a = question.assumptions

    def times(quantum: float) -> Any:
        fetch = np.rint(cost.transfers["weight fetch"].latency_s / quantum)
        others = sum(t.latency_s for name, t in cost.transfers.items() if name != "weight fetch")
        computing = np.rint(cost.compute.latency_s / quantum)
        busy = np.maximum(computing, fetch) if a.hides_fetch else computing + fetch
        rest = np.rint(others / quantum)
        return np.maximum(busy, rest) if a.hides_collectives else busy + rest

    time = times(q)
    inside = sum(cost.compute.energy_j.values())
    static = cost.energy_j.get("static", 0.0)
    unit = joint.energy_quantum_j
    energy = np.rint(inside / unit) + np.rint((cost.total_j - inside - static) / unit)
    if joint.static_quantum_s is not None:
        watts = round(question.machine.chip.idle_w * joint.static_quantum_s / unit)
        energy = energy + found.plans.chips * watts * times(joint.static_quantum_s)
    return np.stack([time, energy], axis=1)[found.allowed]


@each("block", range(10))
def test_optima_of_random_questions(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        question, found = question_and_plans(seed)
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
            if seed % TIES_EVERY:  # telling ties apart takes most of the time
                continue
            _, best = Search(joint).optimum(joint.problem, objective)
            assert best is not None
            assert best.value(objective) == pytest.approx(points[:, column].min(), rel=2e-5), seed


@each("block", range(6))
def test_fronts_of_random_questions(block: int) -> None:
    for seed in range(1000 + block * 10, 1010 + block * 10):
        question, found = question_and_plans(seed)
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


@each("block", range(4))
def test_what_budgets_cost_and_what_frees_a_plan(block: int) -> None:
    seen = set()
    for seed in range(2000 + block * 12, 2012 + block * 12):
        question, found = question_and_plans(seed)
        objective = ("time", "energy", "edp")[seed % 3]
        answer = solve_rack(question, objective)
        both = np.stack([found.cost.latency_s, found.cost.total_j], axis=1)
        values = {"time": both[:, 0], "energy": both[:, 1], "edp": both.prod(axis=1)}[objective]
        kept = {name: found.uses[name] <= most * (1 + 1e-12)
                for name, most in question.budgets.items()}  # fmt: skip
        if answer.best is None:
            assert not len(found.points)
            _check_remedies(answer, found, kept)
            seen.add("infeasible")
            continue
        assert answer.value == pytest.approx(values[found.allowed].min(), rel=5e-5), seed
        for budget in answer.budgets:
            others = np.all([mask for name, mask in kept.items() if name != budget.name], axis=0)
            better = others & (values <= answer.value * (1 - 1e-3))
            uses = found.uses[budget.name][better]
            assert budget.binds == bool(len(uses)), (seed, budget.name)
            if budget.next_limit is not None:
                assert budget.next_limit == pytest.approx(uses.min(), rel=1e-5)
                wider = others & (found.uses[budget.name] <= uses.min() * (1 + 1e-9))
                assert budget.next_point is not None
                after = budget.next_point.value(objective)
                assert after == pytest.approx(values[wider].min(), rel=5e-5)
                seen.add("binds")
    assert seen


def _check_remedies(answer: RackAnswer, found: Everything, kept: dict[str, Any]) -> None:
    """Remedies are of the smallest size, as small as they can be, and all of that size."""
    size = len(answer.remedies[0].budgets)
    free = {}
    for group in combinations(kept, size):
        others = np.ones(len(found.plans), dtype=np.bool_)
        for name in kept.keys() - set(group):
            others &= kept[name]
        if others.any():
            free[group] = found.uses[group[0]][others].min()
    assert {tuple(remedy.budgets) for remedy in answer.remedies} == set(free)
    for remedy in answer.remedies:
        least = next(iter(remedy.budgets.values()))
        assert least == pytest.approx(free[tuple(remedy.budgets)], rel=1e-5)
    if size > 1:
        for name in kept:
            assert not np.all([mask for n, mask in kept.items() if n != name], axis=0).any()


def test_the_solver_says_what_the_model_says() -> None:
    answer = solve_rack(random_question(5), "edp")
    for point in answer.front:
        assert point.solver_latency_s == pytest.approx(point.latency_s, rel=1e-5)
        assert point.solver_energy_j == pytest.approx(point.energy_j, rel=1e-5)
        assert sum(point.energy_by_part_j.values()) == pytest.approx(point.energy_j)
    assert answer.front_complete
    assert answer.resolution is not None
    assert 0 < answer.resolution < 1e-4
    times = [point.latency_s for point in answer.front]
    assert times == sorted(times)


def test_a_wrong_quantum_is_noticed() -> None:
    question = random_question(7)
    joint = joint_problem(question)
    decision = minimize(joint.without(*question.budgets), "time").decision
    assert decision is not None
    wrong = replace(joint, time_quantum_s=joint.time_quantum_s * 1.01)
    with pytest.raises(RuntimeError, match="the solver's time"):
        Search(wrong).point(decision)


@each("seed", range(3000, 3012))
def test_a_time_limit_at_any_moment_keeps_a_plan_and_a_bound(seed: int) -> None:
    question, found = question_and_plans(seed)
    points = found.points
    for objective in ("time", "energy", "edp"):
        for limit_s in (1e-9, 0.02):
            answer = solve_rack(question, objective, time_limit_s=limit_s)
            if not len(points):
                assert answer.status in ("infeasible", "time_limit")
                assert answer.best is None
                continue
            least = {"time": points[:, 0], "energy": points[:, 1], "edp": points.prod(axis=1)}
            assert answer.status in ("optimal", "feasible")
            assert answer.value is not None
            assert answer.bound is not None
            assert 0 < answer.bound <= least[objective].min() * (1 + 5e-5)
            assert answer.value >= least[objective].min() * (1 - 5e-5)
            assert answer.best in answer.front


def test_some_plans_of_a_large_question_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few PEs of many, on chips that split well: plans that exist. Without a limit all of them."""
    request = rack_request(workload="fc", gpus="1-40", pes="4,8,12,16,20,24,28,32,64,128")
    joint = joint_problem(request.question)
    whole = {(point.latency_s, point.energy_j) for point in Search(joint).unproved_front()}
    monkeypatch.setattr("planner.studies.rack.solve.search._LISTED", 700)
    some = Search(joint, 0.0).unproved_front()
    assert {point.pes for point in some} <= {4, 8, 12, 16, 24, 28, 32, 64, 128}
    assert {point.chips for point in some} <= {2**k for k in range(6)} | {3, 6, 12, 24}
    for point in some:
        assert any(t <= point.latency_s and e <= point.energy_j for t, e in whole)
    assert whole == {(point.latency_s, point.energy_j) for point in Search(joint).unproved_front()}


SIZES = {"gpus": "2-64", "pes": ",".join(map(str, range(9, 577, 9)))}
KINDS = "linear,ring,fully-connected,mesh,torus,hypercube,star,switch"


@each("asked", [
    {"workload": "ffn", "max_power": "20kW", "topology": KINDS, **SIZES},
    {"workload": "ffn", "max_power": "30kW", "max_ports": "4", "topology": KINDS, **SIZES},
    {"workload": "attention", "total_pes": "7000", "topology": KINDS, **SIZES},
])  # fmt: skip
def test_a_large_question_without_time_has_a_good_plan(asked: dict[str, str]) -> None:
    """Within a tenth of the least latency of all plans."""
    question = rack_request(**asked).question
    joint = joint_problem(question)
    assert joint.plans > 2**16
    least = brute_force_minimum(joint.problem, "time").objective * joint.time_quantum_s
    found = solve_rack(question, time_limit_s=1e-9)
    assert found.value is not None
    assert found.value <= 1.1 * least


def test_the_time_limit_counts_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """What building takes is gone, and then no model of a proof is built any more."""
    question = rack_request(workload="fc").question

    def late(asked: Any) -> JointProblem:
        time.sleep(0.2)
        return joint_problem(asked)

    def unwanted(*_: Any) -> Any:
        raise AssertionError("a proof is begun after the limit")

    monkeypatch.setattr("planner.studies.rack.solve.solve.joint_problem", late)
    monkeypatch.setattr("solvers.factored_cpsat.Model", unwanted)
    found = solve_rack(question, time_limit_s=0.15)
    assert found.status == "feasible"
    assert found.best is not None


@pytest.mark.parametrize("objective", ["time", "energy"])
def test_a_proof_that_is_cut_off_keeps_its_plan_and_bound(
    monkeypatch: pytest.MonkeyPatch, objective: str
) -> None:
    question = replace(random_question(5), budgets={})
    whole = solve_rack(question, objective)
    assert whole.value is not None
    calls = []

    def cut_off(*given: Any, **options: Any) -> Any:
        calls.append(given)
        found = minimize(*given, **options)
        if len(calls) > 1:
            return found
        return replace(found, status=Status.FEASIBLE, bound=found.bound // 2)

    monkeypatch.setattr("planner.studies.rack.solve.search.minimize", cut_off)
    answer = solve_rack(question, objective)
    assert (answer.status, answer.best) == ("feasible", whole.best)
    floor = Search(joint_problem(question)).floor(objective)
    assert answer.bound == pytest.approx(max(whole.value / 2, floor), rel=1e-5)


@each("idle_w", [0.0, 1e-12, 1e-3, 1.0, 1e6, 1e12])
def test_idle_power_of_any_size(idle_w: float) -> None:
    base = random_question(11)
    chip = replace(base.machine.chip, idle_w=idle_w)
    question = replace(
        base,
        machine=replace(base.machine, chip=chip),
        assumptions=replace(base.assumptions, static_power=True),
        budgets={},
    )
    found = everything(question)
    assert found is not None
    for column, objective in enumerate(("time", "energy")):
        value = solve_rack(question, objective).value
        assert value == pytest.approx(found.points[:, column].min(), rel=1e-4)
