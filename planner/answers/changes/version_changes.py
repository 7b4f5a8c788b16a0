"""Two answers of `planner solve` to one question, of two versions: why the second is another.

The best plan of one is costed by the model of the other, which has to be that of this installation:
what that moves is of the cost (databases, constants, cost model), the rest of the question, where
that is another, or of the choice (which plans there are, which the search found).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.answers.changes.answer_changes import (
    OF_QUESTION,
    SAME,
    Answer,
    all_changes,
    others,
    read_answer,
    rest_of,
)
from planner.answers.changes.pair import Pair, behind
from planner.answers.changes.plan_changes import clipped, of_choice
from planner.answers.changes.standing import ALLOWED, allowed_words, standing
from planner.answers.changes.two_answers import Change, Reason, TwoAnswers
from planner.answers.files.documents import Document
from planner.answers.files.reevaluation import OF_ANOTHER
from planner.base.errors import InputError
from planner.base.messages import first_lines
from planner.objectives import Objective
from planner.results.result import EvaluateResult


def two_answers(old: Document, new: Document) -> TwoAnswers:
    """Why the answer in one document is another than that in an older one.

    Raises:
        InputError: One is of a version that is not known, was edited, contradicts itself, or is of
            another objective.
    """
    before, after = read_answer(old), read_answer(new)
    minimized = _minimized(before, after)
    changes, left_out = all_changes(before, after)
    reasons, parts = _reasons(before, after, changes)
    if more := sum(left_out.get(group, 0) for group in OF_QUESTION):
        words = f"and {more:,} more of what was asked or assumed"
        reasons.insert(_told(changes), Reason(cause="question", change=None, words=words))
    reasons += [*_proof(before, after), *_unexplained(before, after, reasons)]
    return TwoAnswers(
        names=(before.name, after.name),
        minimized=minimized,
        statuses=(before.file.certificate.status, after.file.certificate.status),
        objectives=(before.objective, after.objective),
        changes=tuple(changes if changes or reasons else rest_of(before, after)),
        changes_left_out=left_out,
        parts_s=parts,
        reasons=tuple(reasons),
    )


def _minimized(old: Answer, new: Answer) -> Objective:
    """What both have the least of.

    Raises:
        InputError: It is not the same, or not in one unit.
    """
    one, other = old.file.minimized, new.file.minimized
    if (one.name, one.unit) == (other.name, other.unit):
        return one
    named = (one.name, other.name) if one.name != other.name else (one.noun, other.noun)
    raise InputError(
        f"plans: {old.name} minimizes {named[0]} and {new.name} {named[1]}; "
        "compare answers to one question"
    )


def _told(changes: list[Change]) -> int:
    """How many fields of the question are reasons."""
    return sum(one.group in OF_QUESTION for one in changes)


def _reasons(
    old: Answer, new: Answer, changes: list[Change]
) -> tuple[list[Reason], dict[str, tuple[float, float]]]:
    """Why the objective moved, and the time parts of the plan that was costed by both models."""
    found = [
        Reason(cause="question", change=None, words=f"{clipped(one.name)}: {_was(one)}")
        for one in changes
        if one.group in OF_QUESTION
    ]
    try:
        costed = (old.costed(), new.costed())
    except InputError as error:
        return [*found, *_uncosted(old, new, changes, error)], {}
    for empty, full, cost in ((old, new, costed[1]), (new, old, costed[0])):
        if empty.objective is None:
            return [*found, *_without(empty, full, cost)], {}
    pair = _pair((old, new), costed, changes)
    if pair is None:
        return [*found, *_of_neither(old, new)], {}
    return [*found, *_of_cost(pair), *of_choice(pair)], _parts(pair)


def _uncosted(
    old: Answer, new: Answer, changes: list[Change], error: InputError
) -> Iterator[Reason]:
    """That a plan cannot be costed, where that might say why the answer is another."""
    if old.objective != new.objective or any(one.group == "plan" for one in changes):
        line = first_lines(str(error).split("\n"), 1)[0]
        words = f"this installation cannot cost both plans ({line})"
        yield Reason(cause="unknown", change=None, words=words)


def _pair(
    ends: tuple[Answer, Answer],
    costed: tuple[EvaluateResult | None, EvaluateResult | None],
    changes: list[Change],
) -> Pair | None:
    """The two told apart by which is of this installation; None: neither is.

    One of another version may cost here what it says; where it is all there is, it stands for this
    installation only beside the same plan, or one that costs what it says too.
    """
    of_today = [at for at in (1, 0) if _agrees(ends[at], costed[at])]
    if not of_today:
        return None
    mine = min(of_today, key=lambda at: bool(ends[at].moved))
    again = costed[1 - mine]
    assert again is not None, "an answer without a plan is told before"
    pair = Pair(theirs=ends[1 - mine], mine=ends[mine], again=again, changes=changes,
                reverse=mine == 0)  # fmt: skip
    if abs(pair.recost) > SAME and pair.mine.moved and pair.moved("plan", "job", *OF_QUESTION):
        return None
    return pair


def _of_neither(old: Answer, new: Answer) -> Iterator[Reason]:
    """Why no plan costs here what its file says."""
    edited = [one for one in (old, new) if not one.moved]
    for one in edited:
        yield Reason(cause="unknown", change=None, words=_disowned(one))
    if not edited:
        words = "neither file is an answer of this installation: solve again here, and compare"
        yield Reason(cause="unknown", change=None, words=words)


def _disowned(answer: Answer) -> str:
    """What is said of a file of the versions here whose figures are not those that they give."""
    noun = answer.file.minimized.noun
    words = f"{answer.name}: the {noun} of its plan is another, under the same versions: "
    if answer.is_sealed:
        return words + OF_ANOTHER
    return words + "it was edited or is damaged (no digest speaks for it): solve again"


def _was(one: Change) -> str:
    absent = "not assumed" if one.group == "default" else "not given"
    old, new = (clipped(absent if words is None else words) for words in one.in_words)
    return f"{old} before, {new} now"


def _agrees(answer: Answer, costed: EvaluateResult | None) -> bool:
    """Whether this installation gives an answer's best plan the cost that the file says."""
    if costed is None or answer.objective is None:
        return costed is None and answer.objective is None
    return math.isclose(answer.value(costed), answer.objective, rel_tol=SAME)


def _of_cost(pair: Pair) -> Iterator[Reason]:
    """What the same plan costs more or less, and all that may be behind it."""
    change, theirs = pair.recost, pair.theirs
    if abs(change) <= SAME:
        return
    words = _disowned(theirs)
    if pair.versions:
        words = f"the {pair.minimized.noun} of the same plan moved: {pair.behind}"
        if not theirs.is_sealed:
            words += f"; or {theirs.name} was edited (no digest speaks for it)"
    known = pair.versions or theirs.is_sealed
    yield Reason(cause="cost" if known else "unknown", change=change, words=words)


def _proof(old: Answer, new: Answer) -> Iterator[Reason]:
    """How the search ended otherwise, where both have plans."""
    ends = [one.file.certificate.status for one in (old, new)]
    if ends[0] != ends[1] and old.objective is not None and new.objective is not None:
        words = f"the search ended otherwise: {ends[0]} before, {ends[1]} now"
        yield Reason(cause="search", change=None, words=words)


def _unexplained(old: Answer, new: Answer, reasons: list[Reason]) -> Iterator[Reason]:
    """What is left of a change where each reason says how much is of it."""
    if old.objective is None or new.objective is None or not old.objective:
        return
    if any(one.cause == "unknown" and one.change is None for one in reasons):
        return
    known = math.prod(1 + one.change for one in reasons if one.change is not None)
    left = new.objective / old.objective / known - 1 if known else 0.0
    if abs(left) > SAME * 10:
        words = "no field that is compared here says why"
        yield Reason(cause="unknown", change=left, words=words)


def _without(empty: Answer, full: Answer, costed: EvaluateResult | None) -> Iterator[Reason]:
    """Why one answer has no plan."""
    if costed is None:
        return
    diagnosis = empty.file.diagnosis
    said = diagnosis.explanation if diagnosis else "the search ended before it had one"
    words, cause = f"{empty.name} has no plan: {said}", "space" if diagnosis else "search"
    if there := allowed_words(full, empty):
        words += f"; that of {full.name} is {there}"
    if diagnosis and there and _is_not_of_question(empty, full, there):
        moved = others(empty.versions, full.versions)
        judge = "versions of this installation" if moved else "same versions"
        cause = "cost" if moved and "planner" not in moved else "unknown"
        words += f", by the {judge}: {behind(empty, full)}"
    yield Reason(cause=cause, change=None, words=words)


def _is_not_of_question(empty: Answer, full: Answer, there: str) -> bool:
    """Whether that one has no plan is of the versions or of a file, not of what was asked.

    Args:
        empty, full: The answers.
        there: Of `allowed_words`.
    """
    of_one = not others(empty.versions, full.versions)
    judged = empty if there == ALLOWED else full
    if bool(judged.moved) == of_one:
        return False
    own = None if there == ALLOWED else standing(full, full)
    return there == ALLOWED or bool(own is not None and own.refusal)


def _parts(pair: Pair) -> dict[str, tuple[float, float]]:
    """Seconds by part of the plan, as its file has them and now, where they differ."""
    breakdown = (pair.theirs.file.best or {}).get("breakdown")
    told = breakdown.get("time_s") if isinstance(breakdown, dict) else None
    if not isinstance(told, dict):
        return {}
    pairs = {
        name: (float(before), float(now))
        for name, now in pair.again.result.time_s.items()
        if isinstance(before := told.get(name, 0.0), int | float)
    }
    return {
        name: both[::-1] if pair.reverse else both
        for name, both in pairs.items()
        if not math.isclose(*both, rel_tol=SAME, abs_tol=1e-12)
    }
