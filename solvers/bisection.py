"""The fewest links between two halves of the marked nodes of a graph, proved by CP-SAT.

One Boolean per node says on which side it stands; a Boolean per edge is at least the difference of
its ends; the marked nodes (chips) are split floor(N/2) to the others; unmarked nodes (switches)
stand anywhere. The objective is the sum of edge weights cut. The first marked node stands on a
given side where the halves are equal, so that no cut is met twice.

Source of CP-SAT: L. Perron, F. Didier, https://developers.google.com/optimization/cp/cp_solver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from solvers.cpsat_solver import new_solver, run_search
from solvers.solution import Solution, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionProblem:
    """A graph whose marked nodes are halved.

    Attributes:
        nodes: The number of nodes; 0 .. marked - 1 are the marked ones.
        marked: How many nodes are halved.
        edges: (u, v, weight) per edge, weights whole and positive.
    """

    nodes: int
    marked: int
    edges: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        if not 1 < self.marked <= self.nodes:
            raise ValueError(f"{self.marked} marked of {self.nodes} nodes; at least 2")
        if any(weight < 1 for _, _, weight in self.edges):
            raise ValueError("weights must be whole and positive")

    def cut(self, side: Sequence[int]) -> int:
        """The weight between the two sides."""
        return sum(weight for u, v, weight in self.edges if side[u] != side[v])


def fewest_cut(
    problem: BisectionProblem,
    *,
    time_limit_s: float,
    hint: Sequence[int] | None = None,
    at_least: int = 0,
    seed: int = 0,
) -> Solution[tuple[int, ...]]:
    """The halves with the least weight between them.

    Args:
        problem: What is halved.
        time_limit_s: When the search ends without a proof.
        hint: A side, 0 or 1, per node to start from; with it there is always a decision.
        at_least: A weight that every cut is known to have.
        seed: Of the solver.

    Returns:
        The side of every node (1: the smaller half); objective and bound are weights.
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

    started = time.perf_counter()
    model = cp_model.CpModel()
    side = [model.new_bool_var(f"side{i}") for i in range(problem.nodes)]
    cut = [model.new_bool_var(f"cut{i}") for i in range(len(problem.edges))]
    model.add(sum(side[: problem.marked]) == problem.marked // 2)
    if problem.marked % 2 == 0:
        model.add(side[0] == 1)
    for crossed, (u, v, _) in zip(cut, problem.edges, strict=True):
        model.add_bool_or([side[u].negated(), side[v], crossed])
        model.add_bool_or([side[u], side[v].negated(), crossed])
    total = sum(w * x for x, (_, _, w) in zip(cut, problem.edges, strict=True))
    model.add(total >= at_least)
    model.minimize(total)
    start = _facing(problem, hint)
    for variable, value in zip(side, start, strict=False):
        model.add_hint(variable, value)
    solver = new_solver()
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.random_seed = seed
    status = run_search(solver, model)
    found = tuple(start) or None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        values = tuple(int(solver.value(variable)) for variable in side)
        found = values if found is None else min((values, found), key=problem.cut)
    objective = math.inf if found is None else float(problem.cut(found))
    bound = max(float(at_least), math.ceil(solver.best_objective_bound - 1e-6))
    return Solution(
        decision=found,
        objective=objective,
        bound=min(bound, objective),
        status=_status(found, bound >= objective),
        seconds=time.perf_counter() - started,
    )


def _facing(problem: BisectionProblem, hint: Sequence[int] | None) -> list[int]:
    """The hint with its first node on the side where the model wants it."""
    if hint is None:
        return []
    turned = problem.marked % 2 == 0 and not hint[0]
    return [1 - value if turned else int(value) for value in hint]


def _status(found: tuple[int, ...] | None, proved: bool) -> Status:
    if found is None:
        return Status.TIME_LIMIT
    return Status.OPTIMAL if proved else Status.FEASIBLE
