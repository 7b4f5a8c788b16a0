"""By which methods a question is answered: a search, and beyond it phases and trees."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from planner.base.progress import Progress
from planner.base.units import plural, show_seconds
from planner.collectives.machines.large import (
    METHODS,
    SEARCH,
    Composed,
    composed,
    methods_for,
    search_time_s,
    with_chunks,
    worth_having,
)
from planner.collectives.questions.answers import FrontAnswer
from planner.collectives.questions.question import Question
from solvers.collectives.rows import Front
from solvers.solution import Status

Search = Callable[[Question], FrontAnswer]
Limits = Callable[[Question], tuple[Fraction, int]]
"""The least R / C and the fewest steps of a question."""


def by_methods(
    question: Question, search: Search, limits: Limits, on_progress: Progress | None = None
) -> FrontAnswer:
    """The answer of a search, widened by schedules in phases and along trees where it leaves room.

    Args:
        question: Its `method` asks for one alone.
        search: Answers by search alone.
        limits: What no schedule goes below.
        on_progress: Called with (what, done, of).
    """
    started = time.perf_counter()
    deadline = started + question.time_limit_s
    if question.method == SEARCH:
        return search(question)
    if question.method is not None:
        limit, least = _limits(question, limits, on_progress)
        if question.steps is not None and question.steps < least * _halves(question):
            return search(question)
        rows = _composed(question, (question.method,), limit, deadline, on_progress)
        return _composed_answer(question, rows, limit, least, started)
    if on_progress is not None:
        on_progress("schedules", 0, 1)
    seconds = search_time_s(question.machine, question.collective, question.time_limit_s)
    found = search(replace(question, time_limit_s=seconds))
    found = replace(found, question=question)
    if seconds == question.time_limit_s or _settled(found):
        return found
    limit = found.front.limit or _limits(question, limits, on_progress)[0]
    methods = methods_for(question.machine, question.collective)
    rows = _composed(question, methods, limit, deadline, on_progress)
    rows = with_chunks(rows, question.chunks, question.steps, _most_chunks(question))
    return _widened(found, rows, time.perf_counter() - started)


def _halves(question: Question) -> int:
    return 2 if question.collective == "allreduce" else 1


def _most_chunks(question: Question) -> int | None:
    """The largest C that is asked for; of an all-reduce each half may have so many per member."""
    if question.max_chunks is None or question.collective != "allreduce":
        return question.max_chunks
    return question.max_chunks * question.machine.network.nodes


def _limits(
    question: Question, limits: Limits, on_progress: Progress | None
) -> tuple[Fraction, int]:
    """The limits, with a word that they are looked for."""
    if on_progress is not None:
        on_progress("bounds", 0, 1)
    return limits(question)


def _composed(
    question: Question,
    methods: tuple[str, ...],
    limit: Fraction,
    deadline: float,
    on_progress: Progress | None,
) -> list[Composed]:
    """Schedules of some methods, of any steps; their first may have more chunks than asked for."""
    return composed(
        question.machine, question.collective, methods, limit=limit, deadline=deadline,
        most=question.max_chunks, on_progress=on_progress,
    )  # fmt: skip


def _settled(found: FrontAnswer) -> bool:
    """Whether nothing but a search can say more: all is proved, or R / C is the least there is."""
    if found.status in (Status.INFEASIBLE.value, Status.OPTIMAL.value):
        return True
    return bool(found.rows) and found.rows[-1].load <= found.front.limit


def _widened(found: FrontAnswer, rows: list[Composed], seconds: float) -> FrontAnswer:
    """The answer of a search with the rows that no row of it beats."""
    searched = [Composed(method=SEARCH, row=row) for row in found.rows]
    question = found.question
    kept = worth_having([*searched, *rows])
    if question.chunks is not None or question.steps is not None:
        kept = kept[-1:]
    front = replace(found.front, rows=tuple(one.row for one in kept), seconds=seconds)
    status = found.status
    if kept and status == Status.TIME_LIMIT.value:
        status = Status.FEASIBLE.value
    return replace(found, status=status, front=front, methods=tuple(one.method for one in kept))


def _composed_answer(
    question: Question, rows: list[Composed], limit: Fraction, least: int, started: float
) -> FrontAnswer:
    """The answer of one method that is no search, from all that it made."""
    most = _most_chunks(question)
    kept = worth_having(with_chunks(rows, question.chunks, question.steps, most))
    if question.chunks is not None or question.steps is not None:
        kept = kept[-1:]
    assert question.method in METHODS
    ends = (
        "finer pieces were not tried; other methods may find better schedules"
        if kept
        else _none_fits(question, rows)
    )
    front = Front(
        collective=question.collective, rows=tuple(one.row for one in kept), least_steps=least,
        limit=limit, complete=False, ends=ends, seconds=time.perf_counter() - started,
    )  # fmt: skip
    proved = bool(kept) and all(one.row.proved for one in kept)
    single = question.chunks is not None or question.steps is not None
    refused = Status.INFEASIBLE if rows else Status.TIME_LIMIT
    status = Status.FEASIBLE if kept else refused
    return FrontAnswer(
        question=question,
        status=(Status.OPTIMAL if proved and single else status).value,
        front=front,
        methods=tuple(one.method for one in kept),
    )


def _none_fits(question: Question, rows: list[Composed]) -> str:
    """Why a method has no schedule of what was asked for: the chunks and steps of those it made."""
    method, chunks, steps = question.method, question.chunks, question.steps
    if not rows:
        return f"{method} made no schedule within {show_seconds(question.time_limit_s)}"
    most = _most_chunks(question)
    asked = [] if chunks is None else [f"of {plural(chunks, 'chunk')}"]
    asked += [] if most is None else [f"of at most {plural(most, 'chunk')}"]
    asked += [] if steps is None else [f"in {plural(steps, 'step')}"]
    words = f"{method} on {question.machine.label} have no schedule {' '.join(asked)}"
    cut = with_chunks(rows, chunks, None, most)
    if not cut:
        fewest = min(one.row.chunks for one in rows)
        return f"{words}: their chunks are a multiple of {fewest}; a search may find one"
    return f"{words}: their fewest are {min(one.row.steps for one in cut)}; a search may find one"
