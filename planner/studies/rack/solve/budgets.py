"""What each budget of a rack question takes away, what frees a plan, and what else there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from planner.studies.rack.solve.answer import BudgetUse, RackPoint, Remedy
from planner.studies.rack.solve.joint import JointProblem, quanta_of
from planner.studies.rack.solve.question import BUDGETS
from planner.studies.rack.solve.search import Search
from solvers.factored import FactoredProblem, Limit

_NOTICED = 1e-3
"""Improvements below this share are no reason for a larger budget."""


def budgets_at(search: Search, objective: str, best: RackPoint) -> Iterator[BudgetUse]:
    """What each budget takes away: the smallest larger one that is worth it, and its optimum."""
    for name, limit in search.joint.question.budgets.items():
        step = _next_step(search, objective, best, name)
        yield BudgetUse(
            name=name,
            limit=limit,
            used=_used(best, name),
            next_limit=None if step is None else step[0] * BUDGETS[name].quantum,
            next_point=None if step is None else step[1],
        )


def _next_step(
    search: Search, objective: str, best: RackPoint, name: str
) -> tuple[int, RackPoint] | None:
    """The smallest larger budget, in its quanta, that is worth it alone, and the optimum there."""
    joint = search.joint
    problem = joint.without(name)
    if objective == "edp":
        return _bisected(search, best, name)
    better = int(_quantum_value(joint, best, objective) * (1 - _NOTICED))
    found = search.proved(problem, name, {objective: better})
    if found.decision is None:
        return None
    needed = int(found.objective)
    point = search.best_of(_limited(problem, name, needed), objective)
    assert point is not None, "a plan was just found"
    return needed, point


def _bisected(search: Search, best: RackPoint, name: str) -> tuple[int, RackPoint] | None:
    """The same for energy times time, which no single proof bounds: halving the possible budgets.

    The optimum never gets worse with a larger budget, so the budgets that are worth it are those
    from some value on.
    """
    joint = search.joint
    problem = joint.without(name)
    limit = quanta_of(name, joint.question.budgets[name])
    steps = [step for step in joint.steps(name) if step > limit]
    found: tuple[int, RackPoint] | None = None
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2 if found else len(steps) - 1  # the largest one first
        point = search.best_of(_limited(problem, name, steps[middle]), "edp")
        if point is not None and point.edp_js <= best.edp_js * (1 - _NOTICED):
            high, found = middle, (steps[middle], point)
        elif found is None:
            return None
        else:
            low = middle + 1
    return found


def _limited(problem: FactoredProblem, name: str, upper: int) -> FactoredProblem:
    limit = Limit(name=name, expression=problem.objective(name), upper=upper)
    return replace(problem, limits=(*problem.limits, limit))


def _used(point: RackPoint, name: str) -> float:
    """What a plan takes of a budget, SI."""
    taken: dict[str, Any] = {
        "total-pes": point.total_pes,
        "max-area": point.area_m2,
        "max-power": point.power_w,
        "max-links": point.links,
        "max-ports": point.ports,
        "max-memory": point.weight_bytes_per_chip,
    }
    return float(taken[name])


def remedies_of(search: Search, objective: str) -> Iterator[Remedy]:
    """The smallest sets of budgets that free a plan when they grow, each as little as it can."""
    joint, names = search.joint, tuple(search.joint.question.budgets)
    for size in range(1, len(names) + 1):
        found = False
        for group in combinations(names, size):
            problem = joint.without(*group)
            needed = {}
            for name in group:
                least = search.proved(problem, name)
                if least.decision is None:
                    break
                needed[name] = int(least.objective)
                problem = _limited(problem, name, needed[name])
            else:
                found = True
                point = search.best_of(problem, objective)
                assert point is not None
                grown = {name: most * BUDGETS[name].quantum for name, most in needed.items()}
                yield Remedy(budgets=grown, point=point)
        if found:
            return


def rivals_of(search: Search, objective: str, best: RackPoint) -> dict[str, RackPoint | None]:
    """The optimum without each choice of the best plan: other chips, PEs, topology, strategy."""
    problem, question = search.joint.problem, search.joint.question
    taken = {
        "chips": best.chips,
        "pes": best.pes,
        "topology": question.machine.topologies.index(best.topology),
        "zero": int(best.zero),
    }
    rivals: dict[str, RackPoint | None] = {}
    for name, value in taken.items():
        others = tuple(other for other in problem.choices[name] if other != value)
        rivals[name] = None
        if others:
            choices = {**problem.choices, name: others}
            changed = replace(problem, choices=choices)
            rivals[name] = search.best_of(changed, objective)
    return rivals


def _quantum_value(joint: JointProblem, point: RackPoint, objective: str) -> int:
    if objective == "time":
        return round(point.solver_latency_s / joint.time_quantum_s)
    return round(point.solver_energy_j / joint.energy_quantum_j)
