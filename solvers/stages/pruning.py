"""Columns that no wanted choice holds, dropped before a search, by proofs in whole numbers.

Two rules:

1. *Completion.* Let form <= upper be a cap. A choice with column c has form at least
   constant + A(c) + sum_b u_b B_b(c): A(c) is the least of w S + w_x X among choices with c, B_b(c)
   the least P_b, each by a dynamic program of its own. Above `upper`, c goes. With one chunk per
   device the states are (layer where the device begins, group). With several chunks they are the
   layers that the devices so far hold in all: a relaxation, in which crossings count as the least.
   A cap on objective + w limit is one more. The range of the heaviest peak may be cut into
   intervals: a column stays that stays in some interval, within which P_b is at least its lower end
   and no column has more than its upper end.
2. *Dominance.* Of two columns with the same device, chunks and group, one goes when the other is
   no worse in what each form sums, and in each weighed peak. Where more time may be better, what
   time is made of must be equal.

Rule 1 is repeated while it drops something, for the least completions rise with each column that
goes. Its value for the objective, over all columns of a device, is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from solvers.stages.backend import COST, Need, Question
from solvers.stages.completion import Completion
from solvers.stages.forms import (
    Cap,
    Extents,
    caps_of,
    heaviest_peak,
    needs_of,
    objective_forms,
    plus,
    weights,
)
from solvers.stages.problem import Columns, Form, Ints, StageProblem

_ROUNDS = 4
_ROOM = 2**58
"""Weighed caps stay within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What is left of a question.

    Attributes:
        question: Over the columns that are left; its hint is None where a column of it went.
        kept: (c,) which they are.
        possible: False: no wanted choice exists; then the question is the one that was asked.
        lower: No wanted choice has a smaller objective.
    """

    question: Question
    kept: npt.NDArray[np.intp]
    possible: bool
    lower: float


def pruned(
    question: Question, *, multipliers: Sequence[tuple[int, float]] = (), intervals: int = 1
) -> Pruned:
    """A question without the columns that no best answer needs; see the module.

    Args:
        question: With `below`, the better known the more goes.
        multipliers: (which of `caps_of`, w) for caps of their own: objective + w cap.
        intervals: Of the peak that time weighs most.
    """
    problem = question.problem
    keep = np.arange(len(problem.columns))
    caps = [*caps_of(question), *_weighed_caps(question, multipliers)]
    lower = -math.inf
    for again in range(_ROUNDS):
        columns = problem.columns.take(keep)
        if len(np.unique(columns.device)) < problem.devices:
            break
        inside, bound = _completed(
            replace(problem, columns=columns), caps, objective_forms(question), intervals
        )
        lower = max(lower, bound)
        keep = keep[inside]
        if again == 0 and len(keep):
            keep = keep[_undominated(_over(question, keep))]
        elif inside.all():
            break
    possible = len(np.unique(problem.columns.device[keep])) == problem.devices
    left = _over(question, keep) if possible else question
    return Pruned(question=left, kept=keep, possible=possible, lower=lower)


def sooner(question: Question) -> Question:
    """The question with the longest time that wanted costs leave beside the least of columns."""
    problem = question.problem
    if question.minimize != COST or question.below is None or problem.cost_per_time <= 0:
        return question
    completion = Completion(problem)
    if not completion.reachable.any():
        return question
    least = int(completion.least(problem.cost or Form()).min())
    longest = (question.below - 1 - least) // problem.cost_per_time
    if question.longest is not None:
        longest = min(longest, question.longest)
    return replace(question, longest=longest)


def _completed(
    problem: StageProblem, caps: Sequence[Cap], objective: Sequence[Form], intervals: int
) -> tuple[npt.NDArray[np.bool_], float]:
    """(c,) columns that rule 1 leaves, and what the objective is at least."""
    left = np.zeros(len(problem.columns), dtype=np.bool_)
    lower = math.inf
    for own, floors in _intervals(problem, intervals):
        columns = problem.columns.take(own)
        completion = Completion(replace(problem, columns=columns), floors)
        inside = completion.reachable
        for cap in caps:
            inside = inside & (completion.least(cap.form) <= cap.upper)
        if len(np.unique(columns.device[inside])) < problem.devices:
            continue
        left[own[inside]] = True
        each = [_of_all(completion.least(form), columns, inside) for form in objective]
        lower = min(lower, max(each))
    return left, lower


def _intervals(
    problem: StageProblem, count: int
) -> Iterator[tuple[npt.NDArray[np.intp], dict[int, int]]]:
    """Columns that choices with one peak in an interval may hold, and the lower end of it."""
    every = np.arange(len(problem.columns))
    b = heaviest_peak(problem)
    if b is None or count == 1:
        yield every, {}
        return
    peak, completion = problem.columns.peaks[:, b], Completion(problem)
    if not completion.reachable.any():
        return
    low, high = completion.least_peak(b), int(peak.max())
    ends = np.unique([low + (high - low) * (i + 1) // count for i in range(count)]).tolist()
    for end in ends:
        yield every[peak <= end], {b: low}
        low = end + 1


def _weighed_caps(question: Question, multipliers: Sequence[tuple[int, float]]) -> list[Cap]:
    """Caps on a objective + b cap, b / a near each multiplier and numbers within 64 bits."""
    if question.below is None:
        return []
    caps, made = caps_of(question), []
    extents = Extents(question.problem)
    for form in objective_forms(question):
        for j, by in multipliers:
            size = extents.of(form) + by * extents.of(caps[j].form)
            a = max(int(_ROOM / (size + 1)), 1)
            b = round(a * by)
            upper = a * (question.below - 1) + b * caps[j].upper
            upper = min(max(upper, -_ROOM), _ROOM)
            made.append(Cap(form=plus(plus(Form(), a, form), b, caps[j].form), upper=upper))
    return made


def _over(question: Question, keep: npt.NDArray[np.intp]) -> Question:
    """The question over some columns."""
    problem = question.problem
    hint = question.hint
    if hint is not None:
        at = np.searchsorted(keep, hint.columns)
        there = keep[np.minimum(at, len(keep) - 1)] == hint.columns
        hint = replace(hint, columns=at) if there.all() else None
    return replace(
        question, problem=replace(problem, columns=problem.columns.take(keep)), hint=hint
    )


def _of_all(least: Ints, columns: Columns, inside: npt.NDArray[np.bool_]) -> int:
    """The largest over devices of the least over their columns inside: each device holds one."""
    of_device = np.full(int(columns.device.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(of_device, columns.device[inside], least[inside])
    return int(of_device.max())


def _undominated(question: Question) -> npt.NDArray[np.bool_]:
    """(c,) columns that are left by rule 2; of equal ones the first."""
    problem, columns = question.problem, question.problem.columns
    others = [limit.form for limit in problem.limits]
    if question.minimize == COST and problem.cost is not None:
        others.append(problem.cost)
    time, worse = _keys(columns, problem.time), _keys(columns, others)
    same = [columns.device[:, None], columns.group[:, None], columns.starts, columns.ends]
    if Need.EXACT_TIME in needs_of(question):
        same.append(time)
    else:
        worse = np.hstack([time, worse])
    return best_of_equals(np.hstack(same), worse)


def _keys(columns: Columns, forms: Sequence[Form]) -> Ints:
    """(c, k) what each form sums, and each peak that some form weighs."""
    width = columns.sums.shape[1]
    sums = [columns.sums @ weights(form.sums, width) for form in forms]
    peaks = {b for form in forms for b, weight in enumerate(form.peaks) if weight}
    parts = [*sums, *(columns.peaks[:, b] for b in sorted(peaks))]
    return np.stack(parts, axis=1) if parts else np.empty((len(columns), 0), dtype=np.int64)


def best_of_equals(same: Ints, worse: Ints) -> npt.NDArray[np.bool_]:
    """(n,) rows that no other row with equal `same` is as good as in all of `worse`.

    Rows are sorted by both: what dominates a row comes before it. Step k compares every row with
    the one k places before, as long as both have equal `same`.
    """
    order = np.lexsort([*worse.T[::-1], *same.T[::-1]])
    same, worse = same[order], worse[order]
    starts = np.concatenate([[True], (same[1:] != same[:-1]).any(axis=1)])
    place = np.arange(len(order)) - np.maximum.accumulate(
        np.where(starts, np.arange(len(order)), 0)
    )
    left = np.ones(len(order), dtype=np.bool_)
    rows = np.flatnonzero(place >= 1)
    step = 1
    while len(rows):
        left[rows[(worse[rows - step] <= worse[rows]).all(axis=1)]] = False
        step += 1
        rows = rows[left[rows] & (place[rows] >= step)]
    kept = np.empty_like(left)
    kept[order] = left
    return kept
