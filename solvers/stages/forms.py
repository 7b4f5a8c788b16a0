"""Linear forms of a stage problem, and what they say together: sums of forms, and caps on them.

Time is the largest of several forms, so a limit on time is a limit on each of them, and a limit
on form + w time with w >= 0 is one on form + w f for each form f of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from solvers.stages.backend import COST, TIME, Need, Question
from solvers.stages.problem import Form, Ints, Limit, StageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """`form` <= `upper` in every choice that is wanted."""

    form: Form
    upper: int


def plus(form: Form, factor: int, other: Form) -> Form:
    """`form` + `factor` `other`."""
    return Form(
        constant=form.constant + factor * other.constant,
        sums=tuple(a + factor * b for a, b in zip_longest(form.sums, other.sums, fillvalue=0)),
        peaks=tuple(a + factor * b for a, b in zip_longest(form.peaks, other.peaks, fillvalue=0)),
        crossings=form.crossings + factor * other.crossings,
    )


def weights(values: tuple[int, ...], width: int) -> Ints:
    """(width,) the weights of a form; missing ones are 0."""
    return np.array([*values, *[0] * (width - len(values))], dtype=np.int64)


class Extents:
    """How large the forms of a problem can be, in whole numbers without a limit on their size.

    What is always 0 counts as 1, so that weights are never above the size of their form.
    """

    def __init__(self, problem: StageProblem) -> None:
        self.problem, columns = problem, problem.columns
        order = np.argsort(columns.device, kind="stable")
        first = np.searchsorted(columns.device[order], np.arange(problem.devices))
        least = np.minimum.reduceat(columns.sums[order], first).tolist()
        most = np.maximum.reduceat(columns.sums[order], first).tolist()
        of_device = [
            [max(abs(a), abs(b)) for a, b in zip(*ends, strict=True)]
            for ends in zip(least, most, strict=True)
        ]
        self.sums = [max(sum(sizes), 1) for sizes in zip(*of_device, strict=True)]
        ends = (columns.peaks.min(axis=0).tolist(), columns.peaks.max(axis=0).tolist())
        self.peaks = [max(abs(a), abs(b), 1) for a, b in zip(*ends, strict=True)]
        cross = [] if problem.crossings is None else problem.crossings.ravel().tolist()
        self.crossings = max((problem.devices - 1) * max(map(abs, cross), default=0), 1)

    def of(self, form: Form) -> int:
        """Largest absolute value that a form can have."""
        sums = sum(abs(w) * most for w, most in zip(form.sums, self.sums, strict=False))
        peaks = sum(abs(w) * most for w, most in zip(form.peaks, self.peaks, strict=False))
        return int(abs(form.constant) + sums + peaks + abs(form.crossings) * self.crossings)

    def of_time(self) -> int:
        """Largest absolute value that time can have."""
        return max(self.of(form) for form in self.problem.time)


def with_time(problem: StageProblem, form: Form, per_time: int, longest: int | None) -> list[Form]:
    """Forms none of which is ever above `form` + `per_time` time, in choices up to `longest`."""
    if per_time == 0:
        return [form]
    if per_time > 0:
        return [plus(form, per_time, time) for time in problem.time]
    most = Extents(problem).of_time() if longest is None else longest
    return [plus(form, per_time, Form(constant=most))]


def longest_of(question: Question) -> int | None:
    """The limit on time, `Question.below` included where time is minimized."""
    limits = [] if question.longest is None else [question.longest]
    if question.minimize == TIME and question.below is not None:
        limits.append(question.below - 1)
    return min(limits, default=None)


def objective_forms(question: Question) -> list[Form]:
    """Forms of which none is ever above the objective."""
    problem = question.problem
    if question.minimize == TIME:
        return [*problem.time]
    cost, per_time = problem.cost or Form(), problem.cost_per_time
    forms = with_time(problem, cost, per_time, longest_of(question))
    if question.soonest is not None and per_time > 0:
        forms.append(plus(cost, per_time, Form(constant=question.soonest)))
    return forms


def caps_of(question: Question) -> list[Cap]:
    """Every limit of a question as caps on forms."""
    problem, most = question.problem, longest_of(question)
    caps = [] if most is None else [Cap(form=form, upper=most) for form in problem.time]
    if question.minimize == COST and question.below is not None:
        caps += [Cap(form=form, upper=question.below - 1) for form in objective_forms(question)]
    for limit in problem.limits:
        forms = with_time(problem, limit.form, limit.per_time, most)
        caps += [Cap(form=form, upper=limit.upper) for form in forms]
    return caps


def totals_of(problem: StageProblem) -> tuple[list[tuple[Ints, int]], tuple[Limit, ...]]:
    """The sums that limits fix, as (weights, value), and the other limits.

    A sum is fixed by a limit on it and one on its negative; its weights count no column negative.
    """
    width = problem.columns.sums.shape[1]
    pure = [
        not (limit.per_time or any(limit.form.peaks) or limit.form.crossings)
        for limit in problem.limits
    ]
    rows = [weights(limit.form.sums, width) for limit in problem.limits]
    uppers = [limit.upper - limit.form.constant for limit in problem.limits]
    found, used = [], set()
    for i, row in enumerate(rows):
        if not pure[i] or not np.any(row) or np.any(problem.columns.sums @ row < 0):
            continue
        for j, other in enumerate(rows):
            if pure[j] and uppers[j] == -uppers[i] and np.array_equal(other, -row):
                found.append((row, uppers[i]))
                used |= {i, j}
                break
    left = tuple(limit for i, limit in enumerate(problem.limits) if i not in used)
    return found, left


def needs_of(question: Question) -> frozenset[Need]:
    """What a solver must be able to do for this question."""
    problem = question.problem
    in_order = problem.chunks.shape[1] == 1 and bool(
        np.all(problem.chunks[:, 0] == np.arange(problem.devices))
    )
    totals, limits = totals_of(problem)
    per_time = [limit.per_time for limit in problem.limits]
    if question.minimize == COST:
        per_time.append(problem.cost_per_time)
    needs = {
        Need.CHUNKS: not in_order,
        Need.CROSSINGS: problem.crossings is not None,
        Need.COST: question.minimize == COST,
        Need.TOTALS: bool(totals),
        Need.LIMITS: bool(limits),
        Need.EXACT_TIME: min(per_time, default=0) < 0,
    }
    return frozenset(need for need, needed in needs.items() if needed)


def heaviest_peak(problem: StageProblem) -> int | None:
    """The peak with the largest weight in the first form of time; None without any."""
    weighed = [(weight, -b) for b, weight in enumerate(problem.time[0].peaks) if weight]
    return -max(weighed)[1] if weighed else None
