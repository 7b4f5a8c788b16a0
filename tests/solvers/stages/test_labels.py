"""The cheapest choice by labels, where boxes are halved until few labels are made of each."""

import math
from dataclasses import replace

import pytest
from stage_problems import choices, random_problem
from support.cases import each

from solvers.solution import Status
from solvers.stages.backend import COST, Question
from solvers.stages.labels import Labels


@each("at_once", [1, 4])
@each("share", [1.0, 0.5])
def test_halved_boxes_have_the_cheapest_choice(at_once, share):
    """In any time, and within the time that a share of the choices take."""
    solved = 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("solvers.stages.labels._AT_ONCE", at_once)
        for seed in range(24):
            problem = random_problem(seed, chunks=1, limits=0, exact=False)
            found = sorted((time, cost) for _, time, cost in choices(problem))
            longest = found[math.ceil(share * len(found)) - 1][0] if found else None
            solution = Labels(work=20_000).solve(
                replace(Question(problem=problem, minimize=COST), longest=longest)
            )
            if not found:
                assert solution.status is Status.INFEASIBLE
                continue
            best = min(cost for time, cost in found if time <= longest)
            assert solution.bound <= best <= solution.objective, seed
            solved += solution.status is Status.OPTIMAL
            if solution.status is Status.OPTIMAL:
                assert solution.objective == best, seed
    assert solved >= 12
