"""Two answers of `planner solve` to one question, of two versions: why the second is another.

The best plan of one is costed by the model of the other, which has to be that of this installation:
what that moves is of the cost (databases, constants, cost model), the rest of the question, where
that is another, or of the choice (which plans there are, which the search found).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from frozen_records import dataclass
from planner.answers.evaluation import limits_on_given, options_of
from planner.answers.files.answer_changes import (
    BY_VERSION,
    SAME,
    Answer,
    all_changes,
    counted,
    read_answer,
    rest_of,
)
from planner.answers.files.documents import Document
from planner.answers.files.two_answers import Change, Reason, TwoAnswers
from planner.base.errors import InputError
from planner.base.messages import first_lines, shown
from planner.explanation.steps.neighbors import judged
from planner.question.facility import under_limit
from planner.question.kinds.kind import Kind, kind_of
from planner.question.resolved import resolve
from planner.results.result import EvaluateResult
from planner.verification.asked import fingerprints

_OF_QUESTION = ("question", "default")
_LONGEST = 100  # characters of a value in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """The answer whose plan was costed again, and that of this installation.

    Attributes:
        theirs, mine: The two.
        again: What the plan of theirs costs now.
        changes: In which they differ.
        reverse: Whether mine is the older one.
    """

    theirs: Answer
    mine: Answer
    again: EvaluateResult
    changes: list[Change]
    reverse: bool

    @property
    def recosted(self) -> float:
        """The objective of that plan now."""
        return self.theirs.value(self.again)

    def share(self, theirs: float, mine: float) -> float:
        """By which share a figure moved from the older answer to the newer one."""
        return theirs / mine - 1 if self.reverse else mine / theirs - 1

    def moved(self, *groups: str) -> bool:
        """Whether they differ in a field of these groups."""
        return any(one.group in groups for one in self.changes)


def two_answers(old: Document, new: Document) -> TwoAnswers:
    """Why the answer in one document is another than that in an older one.

    Raises:
        InputError: One is of a version that is not known, was edited, contradicts itself, or is of
            another objective.
    """
    before, after = read_answer(old), read_answer(new)
    one, other = before.file.minimized, after.file.minimized
    if one.name != other.name:
        raise InputError(
            f"plans: {before.name} minimizes {one.name} and {after.name} {other.name}; "
            "compare answers to one question"
        )
    changes, left_out = all_changes(before, after)
    reasons, parts = _reasons(before, after, changes)
    if more := sum(left_out.get(group, 0) for group in _OF_QUESTION):
        words = f"and {more:,} more of what was asked or assumed"
        reasons.insert(_told(changes), Reason(cause="question", change=None, words=words))
    reasons += [*_proof(before, after), *_unexplained(before, after, reasons)]
    return TwoAnswers(
        names=(before.name, after.name),
        objective_name=one.name,
        unit=one.unit,
        statuses=(before.file.certificate.status, after.file.certificate.status),
        objectives=(before.objective, after.objective),
        changes=tuple(changes if changes or reasons else rest_of(before, after)),
        changes_left_out=left_out,
        parts_s=parts,
        reasons=tuple(reasons),
    )


def _told(changes: list[Change]) -> int:
    """How many fields of the question are reasons."""
    return sum(one.group in _OF_QUESTION for one in changes)


def _reasons(
    old: Answer, new: Answer, changes: list[Change]
) -> tuple[list[Reason], dict[str, tuple[float, float]]]:
    """Why the objective moved, and the time parts of the plan that was costed by both models."""
    found = [
        Reason(cause="question", change=None, words=f"{_clipped(one.name)}: {_was(one)}")
        for one in changes
        if one.group in _OF_QUESTION
    ]
    ends = {"old": old, "new": new}
    try:
        costed = {name: one.costed() for name, one in ends.items()}
    except InputError as error:
        line = first_lines(str(error).split("\n"), 1)[0]
        words = f"this installation cannot cost both plans ({line})"
        return [*found, Reason(cause="unknown", change=None, words=words)], {}
    for empty, full in (("old", "new"), ("new", "old")):
        if ends[empty].objective is None:
            return [*found, *_without(ends[empty], ends[full], costed[full])], {}
    of_today = [name for name in ("new", "old") if _agrees(ends[name], costed[name])]
    if not of_today:
        return [*found, *_of_neither(old, new)], {}
    mine = of_today[0]
    other = "old" if mine == "new" else "new"
    again = costed[other]
    if again is None:
        return found, {}
    pair = _Pair(theirs=ends[other], mine=ends[mine], again=again, changes=changes,
                 reverse=mine == "old")  # fmt: skip
    parts = _parts(pair)
    return [*found, *_of_cost(pair), *_of_choice(pair)], parts


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
    words = f"{answer.name}: its plan costs another time, under the same versions: "
    if answer.is_sealed:
        return words + "another cost model had this version number, or a file that it names changed"
    return words + "it was edited or is damaged (no digest speaks for it): solve again"


def _was(one: Change) -> str:
    if one.group == "default":
        return f"{_word(one.old, 'not assumed')} before, {_word(one.new, 'not assumed')} now"
    return f"{_word(one.old)} before, {_word(one.new)} now"


def _word(value: Any, absent: str = "not given") -> str:
    """A value as it is asked for: `tp=2`, `dp, tp`."""
    if isinstance(value, dict):
        return _clipped(", ".join(f"{name}={_word(each)}" for name, each in value.items()))
    if isinstance(value, list):
        return _clipped(", ".join(map(_word, value)))
    if value is None:
        return absent
    return _clipped(value) if isinstance(value, str) else shown(value)


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _agrees(answer: Answer, costed: EvaluateResult | None) -> bool:
    """Whether this installation gives an answer's best plan the cost that the file says."""
    if costed is None or answer.objective is None:
        return costed is None and answer.objective is None
    return math.isclose(answer.value(costed), answer.objective, rel_tol=SAME)


def _of_cost(pair: _Pair) -> Iterator[Reason]:
    """What the same plan costs more or less, and all that may be behind it."""
    before = float(pair.theirs.objective or 1.0)
    change = pair.share(before, pair.recosted)
    if abs(change) <= SAME:
        return
    moved = pair.theirs.moved
    if not moved or not pair.moved("version", "plan", "job", *_OF_QUESTION):
        cause = "cost" if pair.theirs.is_sealed else "unknown"
        yield Reason(cause=cause, change=change, words=_disowned(pair.theirs))
        return
    words = f"the same plan costs another time: {' or '.join(BY_VERSION[name] for name in moved)}"
    if not pair.theirs.is_sealed:
        words += f"; or {pair.theirs.name} was edited (no digest speaks for it)"
    yield Reason(cause="cost", change=change, words=words)


def _of_question(pair: _Pair) -> Iterator[Reason]:
    """What follows from what was asked or assumed otherwise: for one plan, and for the choice."""
    mine = float(pair.mine.objective or 1.0)
    under = _under(pair)
    if under is None:
        words = "the job is another, and so are its best plan and what that costs"
        yield Reason(cause="question", change=pair.share(pair.recosted, mine), words=words)
        return
    same = pair.share(pair.recosted, under)
    if abs(same) > SAME:
        words = "the job is another: the same plan costs another time in it"
        yield Reason(cause="question", change=same, words=words)
    if pair.moved("plan"):
        words = "another plan is best under what was asked or assumed otherwise"
        yield Reason(cause="question", change=pair.share(under, mine), words=words)


def _under(pair: _Pair) -> float | None:
    """What the plan that was costed again costs in the job of the other; None: it is none of it."""
    try:
        costed = pair.theirs.costed(pair.mine.file.question.plan_job)
    except InputError:
        return None
    return None if costed is None else pair.mine.value(costed)


def _of_choice(pair: _Pair) -> Iterator[Reason]:
    """Why one answer has another plan than the other."""
    theirs, mine, again = pair.theirs, pair.mine, pair.again
    if mine.objective is None:
        return
    if pair.moved(*_OF_QUESTION):
        yield from _of_question(pair)
        return
    if not pair.moved("plan"):
        return
    change = pair.share(pair.recosted, mine.objective)
    if again.warnings or not again.fits:
        reason = (again.warnings or ("it does not fit in memory",))[0]
        words = f"{theirs.name}: its plan is refused by the other version: {reason}"
        yield Reason(cause="space", change=change, words=words)
        return
    chosen = mine.decisions(mine.file.best or {})
    if any(_is(theirs, record, chosen) for record in theirs.named()):
        words = "both versions know both plans; their order follows from the change of the costs"
        yield Reason(cause="cost", change=change, words=words)
        return
    if mine.objective / pair.recosted - 1 > SAME:
        words = "the search did not come to the other plan, which is better here and allowed"
        yield Reason(cause="search", change=change, words=words)
        return
    others = list(counted(theirs, mine))
    words = "the best plan is none that the other answer names"
    if others:
        words += f", and the meshes that were searched are others ({_clipped(others[0].name)})"
    yield Reason(cause="space" if others else "cost", change=change, words=words)


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


def _is(answer: Answer, record: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    try:
        return answer.decisions(record) == chosen
    except InputError:
        return False


def _without(empty: Answer, full: Answer, costed: EvaluateResult | None) -> Iterator[Reason]:
    """Why one answer has no plan."""
    if costed is None:
        return
    diagnosis = empty.file.diagnosis
    said = diagnosis.explanation if diagnosis else "the search ended before it had one"
    words = f"{empty.name} has no plan: {said}"
    if there := _in_question(empty, full):
        words += f"; that of {full.name} is {there}"
    yield Reason(cause="space" if diagnosis else "search", change=None, words=words)


def _in_question(empty: Answer, full: Answer) -> str:
    """Whether this installation allows the plan of one answer in the question of the other.

    Nothing is said of it in another job, on other chips or machines, or among other layouts.
    """
    asked = [one.file.question.asked for one in (empty, full)]
    try:
        request, read = empty.searched(), full.read_best()
        if kind_of(request) in (Kind.POOLS, Kind.MACHINES) or read is None:
            return ""
        own, there = resolve(read.request, read.origin, read.plan.chips), resolve(request)
    except InputError:
        return ""
    same = all(asked[0].get(name) == asked[1].get(name) for name in ("layout", "placement"))
    if not same or fingerprints(own) != fingerprints(there) or read.plan.chips not in there.counts:
        return ""
    targets = () if there.runners.assumed else there.runners.targets
    plan = under_limit(read.plan, there.cost.clock_limit)
    limits, options = limits_on_given(request), options_of(request, targets)
    (found,) = judged(there.cost, [("", plan)], limits, options)
    return f"not allowed there ({found.refusal.words})" if found.refusal else "allowed there"


def _parts(pair: _Pair) -> dict[str, tuple[float, float]]:
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
