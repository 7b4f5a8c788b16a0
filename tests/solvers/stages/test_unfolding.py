"""Chains of several chunks per device against every choice of columns of random problems."""

from dataclasses import replace

import numpy as np
from stage_problems import choices, line_ups, random_problem, random_question
from support.cases import each

from solvers.solution import Status
from solvers.stages.backend import TIME, Question
from solvers.stages.checking import faults
from solvers.stages.dynamic import directions_of
from solvers.stages.forms import totals_of
from solvers.stages.problem import Form, Limit
from solvers.stages.unfolded import Unfolding
from solvers.stages.unfolding import unfolded

SOME = {"chunks": 2, "limits": 0, "exact": False}


def test_equal_to_every_choice():
    proved = 0
    for seed in range(400):
        question, best, _ = random_question(seed, **SOME)
        one = len(directions_of(question.problem, question.problem.time)) == 1
        found = Unfolding().solve(question)
        assert found.bound <= (np.inf if best is None else best) <= found.objective, seed
        if found.decision is not None:
            assert not faults(question.problem, found.decision, question.longest), seed
        if one:
            assert found.objective == (np.inf if best is None else best), seed
            assert found.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL), seed
            proved += best is not None
    assert proved > 80


def fixed(problem, seed):
    """The problem with one more sum, which some choice has; None where nothing lines up."""
    rng = np.random.default_rng(seed)
    columns = problem.columns
    use = rng.integers(0, 4, (len(columns), 1))
    chosen = list(line_ups(problem))
    if not chosen:
        return None
    amount = int(use[chosen[int(rng.integers(len(chosen)))], 0].sum())
    at = columns.sums.shape[1]
    row = [Form(sums=(0,) * at + (sign,)) for sign in (1, -1)]
    limits = (
        Limit(name="least", form=row[1], upper=-amount),
        Limit(name="most", form=row[0], upper=amount),
    )
    columns = replace(columns, sums=np.concatenate([columns.sums, use], axis=1))
    return replace(problem, columns=columns, limits=limits)


@each("chunks", [1, 2])
def test_totals_become_states(chunks):
    solved = 0
    for seed in range(120):
        problem = fixed(random_problem(seed, **(SOME | {"chunks": chunks})), seed)
        if problem is None or len(directions_of(problem, problem.time)) > 1:
            continue
        ((weights, amount),), left = totals_of(problem)
        assert (weights[-1], left) == (1, ())
        found = Unfolding().solve(Question(problem=problem, minimize=TIME))
        assert found.objective == min(time for _, time, _ in choices(problem))
        assert problem.columns.sums[found.decision.columns, -1].sum() == amount
        solved += 1
    assert solved > 30


def test_chains_are_the_choices_that_line_up():
    """Every path of the chain is a choice, and every choice is a path."""
    for seed in range(60):
        problem = random_problem(seed, **SOME)
        chain = unfolded(problem)
        paths = {(0, ())}
        for device in range(problem.devices):
            own = np.flatnonzero(chain.problem.columns.device == device)
            arcs = zip(
                chain.problem.columns.starts[own, 0].tolist(),
                chain.problem.columns.ends[own, 0].tolist(),
                chain.columns[own].tolist(),
                strict=True,
            )
            arcs = list(arcs)
            paths = {
                (end, (*taken, column))
                for state, taken in paths
                for start, end, column in arcs
                if start == state
            }
        assert {taken for _, taken in paths} == {tuple(c) for c in line_ups(problem)}
