"""The master in CP-SAT: whole numbers throughout, so that its bound is a proof.

Without a limit on seconds one worker always gives the same answer; of choices that are equally
good, several workers may give any.
Source: L. Perron, F. Didier, CP-SAT, https://developers.google.com/optimization/cp/cp_solver.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.cpsat_solver import new_solver, run_search
from solvers.solution import Solution
from solvers.stages.answers import answer, out_of_time
from solvers.stages.backend import Need, Question
from solvers.stages.master import Master, chosen_of, master_of
from solvers.stages.problem import Choice


@dataclass(frozen=True, slots=True)
class CpSat:
    """Backend "cp-sat"."""

    name: str = "cp-sat"
    can: frozenset[Need] = frozenset(Need)

    def solve(self, question: Question) -> Solution[Choice]:
        """The best choice with its bound.

        Raises:
            RuntimeError: The solver refuses the model.
        """
        started = time.perf_counter()
        master = master_of(question)
        return _solve(question, master, started)


def _solve(question: Question, master: Master, started: float) -> Solution[Choice]:
    from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

    model, variables = _model(cp_model, question, master)
    solver = new_solver()
    solver.parameters.num_workers = question.workers
    if question.seconds is not None:
        left = question.seconds - (time.perf_counter() - started)
        if left <= 0:
            return out_of_time(question, started, float(master.low))
        solver.parameters.max_time_in_seconds = left
    status = run_search(solver, model)
    counts = {
        "variables": len(variables),
        "branches": solver.num_branches,
        "conflicts": solver.num_conflicts,
    }
    if status == cp_model.INFEASIBLE:
        return answer(question, None, math.inf, started, counts)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
        raise RuntimeError(f"CP-SAT ends with {solver.status_name(status)}: {model.validate()}")
    bound = float(round(solver.best_objective_bound) + master.low)
    if status == cp_model.UNKNOWN:
        return answer(question, None, bound, started, counts)
    values = np.array([solver.value(variable) for variable in variables[: master.columns]])
    chosen = chosen_of(question.problem, values)
    return answer(question, chosen, bound, started, counts)


def _model(cp_model: Any, question: Question, master: Master) -> tuple[Any, list[Any]]:
    """The program in CP-SAT and its variables; what need not be whole is whole all the same.

    Its objective starts at 0: that is the bound CP-SAT gives before it has any.
    """
    model = cp_model.CpModel()
    ranges = zip(master.least.tolist(), master.most.tolist(), strict=True)
    variables = [model.new_int_var(least, most, "") for least, most in ranges]
    at, by, ends = (
        part.tolist() for part in (master.rows.indices, master.rows.data, master.rows.indptr)
    )
    lower, upper = master.lower.tolist(), master.upper.tolist()
    for row, (first, last) in enumerate(itertools.pairwise(ends)):
        own = [variables[i] for i in at[first:last]]
        if row < master.exactly_one:
            model.add_exactly_one(own)
        else:
            line = cp_model.LinearExpr.weighted_sum(own, by[first:last])
            model.add_linear_constraint(line, lower[row], upper[row])
    used = np.flatnonzero(master.objective).tolist()
    model.minimize(
        cp_model.LinearExpr.weighted_sum(
            [variables[i] for i in used], [int(master.objective[i]) for i in used]
        )
        + (master.constant - master.low)
    )
    if question.hint is not None:
        hinted = set(question.hint.columns.tolist())
        for column in range(master.columns):
            model.add_hint(variables[column], int(column in hinted))
    return model, variables
