"""Answers of solvers of the stage problem, in the terms of its integer tables."""

from __future__ import annotations

import math
import time

from solvers.solution import Solution, Status
from solvers.stages.backend import TIME, Question
from solvers.stages.checking import evaluate
from solvers.stages.problem import Choice, Ints


def objective_of(question: Question, choice: Choice) -> int:
    """What is minimized."""
    return choice.time if question.minimize == TIME else choice.cost


def answer(
    question: Question,
    chosen: Ints | None,
    bound: float,
    started: float,
    counts: dict[str, int] | None = None,
) -> Solution[Choice]:
    """What a solver found, evaluated again, with the status that its bound gives.

    Args:
        question: What was asked.
        chosen: (p,) columns; None: nothing was found.
        bound: No choice that is wanted has a smaller objective; inf: there is none. It counts up
            to `Question.below`, above which nothing was looked for.
        started: `time.perf_counter()` at the beginning.
        counts: Of the search.
    """
    choice = None if chosen is None else evaluate(question.problem, chosen)
    objective = math.inf if choice is None else float(objective_of(question, choice))
    most = objective if question.below is None else min(objective, float(question.below))
    if choice is None:
        status = Status.INFEASIBLE if bound >= most else Status.TIME_LIMIT
    else:
        status = Status.OPTIMAL if bound >= objective else Status.FEASIBLE
    return Solution(
        decision=choice,
        objective=objective,
        bound=min(bound, most),
        status=status,
        seconds=time.perf_counter() - started,
        counts=counts or {},
    )


def out_of_time(question: Question, started: float, bound: float = -math.inf) -> Solution[Choice]:
    """No time was left to search."""
    return answer(question, None, bound, started)
