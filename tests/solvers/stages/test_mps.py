"""Stage problems as MPS files, read and solved by a solver that is none of ours."""

import itertools
from dataclasses import replace

import pytest
from stage_problems import random_problem
from support.cases import each

from solvers.solution import Status
from solvers.stages.backend import COST, TIME, Question
from solvers.stages.mps import mps_of
from solvers.stages.problem import StageProblem
from solvers.stages.solving import solve_stages


def by_scip(text: str) -> float | None:
    """The least objective of a file; None: it has no solution."""
    builder = pytest.importorskip("ortools.linear_solver.python.model_builder")
    model, solver = builder.Model(), builder.Solver("scip")
    assert model.import_from_mps_string(text)
    status = solver.solve(model)
    if status == builder.SolveStatus.INFEASIBLE:
        return None
    assert status == builder.SolveStatus.OPTIMAL
    return float(solver.objective_value)


@each("seed", range(40))
def test_another_solver_finds_the_same(seed: int) -> None:
    problem: StageProblem = random_problem(seed)
    for minimize, longest in itertools.product((TIME, COST), (None, 60)):
        question = Question(problem=problem, minimize=minimize, longest=longest)
        found = solve_stages(question)
        other = by_scip(mps_of(question))
        if found.status is Status.INFEASIBLE:
            assert other is None
        else:
            assert other == pytest.approx(found.objective, abs=1e-6)


@each("minimize", [TIME, COST])
def test_that_nothing_is_better_is_confirmed_too(minimize: str) -> None:
    problem = random_problem(3, limits=0)
    least = int(solve_stages(Question(problem=problem, minimize=minimize)).objective)
    asked = Question(problem=problem, minimize=minimize, below=least)
    assert by_scip(mps_of(asked)) is None
    assert by_scip(mps_of(replace(asked, below=least + 1))) == pytest.approx(least)
