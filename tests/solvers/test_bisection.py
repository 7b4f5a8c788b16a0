"""The proved bisection against every way to halve the marked nodes."""

from itertools import combinations, product

import networkx as nx
import pytest
from support.cases import each

from solvers.bisection import BisectionProblem, fewest_cut
from solvers.solution import Status


def every_cut(problem: BisectionProblem) -> int:
    """The least over all halves and all sides of the other nodes."""
    free = problem.nodes - problem.marked
    best = 10**9
    for half in combinations(range(problem.marked), problem.marked // 2):
        for rest in product((0, 1), repeat=free):
            side = [int(node in half) for node in range(problem.marked)] + list(rest)
            best = min(best, problem.cut(side))
    return best


def random_problem(seed: int) -> BisectionProblem:
    nodes = 5 + seed % 5
    graph = nx.gnp_random_graph(nodes, 0.55, seed=seed)
    edges = tuple((u, v, 1 + (u * v + seed) % 3) for u, v in graph.edges)
    return BisectionProblem(nodes=nodes, marked=nodes - seed % 3, edges=edges)


@each("seed", range(40))
def test_equal_to_enumeration(seed: int) -> None:
    problem = random_problem(seed)
    found = fewest_cut(problem, time_limit_s=30)
    assert found.status is Status.OPTIMAL
    assert found.objective == found.bound == every_cut(problem)
    assert found.decision is not None
    assert problem.cut(found.decision) == found.objective
    assert sum(found.decision[: problem.marked]) == problem.marked // 2


@each("turned", [False, True])
def test_without_time_the_hint_stays(turned: bool) -> None:
    edges = tuple((u, v, 1) for u, v in nx.random_regular_graph(6, 60, seed=1).edges)
    problem = BisectionProblem(nodes=60, marked=60, edges=edges)
    hint = [int((node < 30) != turned) for node in range(60)]
    found = fewest_cut(problem, time_limit_s=0.01, hint=hint, at_least=4)
    assert found.decision is not None
    assert 4 <= found.bound <= found.objective <= problem.cut(hint)
    assert found.status in (Status.FEASIBLE, Status.OPTIMAL)


def test_a_known_bound_is_no_obstacle() -> None:
    cube = nx.hypercube_graph(4)
    number = {node: at for at, node in enumerate(cube)}
    edges = tuple((number[u], number[v], 1) for u, v in cube.edges)
    problem = BisectionProblem(nodes=16, marked=16, edges=edges)
    assert fewest_cut(problem, time_limit_s=30, at_least=8).objective == 8


def test_wrong_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        BisectionProblem(nodes=3, marked=1, edges=())
    with pytest.raises(ValueError, match="positive"):
        BisectionProblem(nodes=3, marked=2, edges=((0, 1, 0),))
