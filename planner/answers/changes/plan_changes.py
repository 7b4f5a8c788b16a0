"""Why one answer has another plan than the other: the question, the versions or the search.

Both plans are held against both questions by the versions of one answer. Where the plan of that
answer is the better one in the question of the other too, what was asked is not what made it so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from frozen_records import dataclass
from planner.answers.changes.answer_changes import SAME, Answer, counted
from planner.answers.changes.pair import Pair
from planner.answers.changes.standing import Standing, standing
from planner.answers.changes.two_answers import Reason
from planner.base.errors import InputError

_LONGEST = 100  # characters of a value in a sentence
_BY_QUESTION = "another plan is best under what was asked or assumed otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """Both plans in both questions; None: it cannot be told.

    Attributes:
        theirs_there: The plan that was costed again in the question of mine.
        theirs: It in its own.
        mine_there: The plan of mine in the question of theirs.
    """

    theirs_there: Standing | None
    theirs: Standing | None
    mine_there: Standing | None

    @property
    def value_there(self) -> float | None:
        """What the plan of mine costs in the question of theirs, where it is allowed."""
        return None if self.mine_there is None else self.mine_there.value


def of_choice(pair: Pair) -> Iterator[Reason]:
    """What another job makes of one plan, and why another plan is best."""
    under = _under(pair) if pair.is_asked_otherwise else pair.recosted
    if under is None:
        yield _of_another_job(pair)
        return
    held = _Held(
        theirs_there=standing(pair.theirs, pair.mine),
        theirs=standing(pair.theirs, pair.theirs),
        mine_there=standing(pair.mine, pair.theirs),
    )
    same = pair.share(pair.recosted, under)
    if abs(same) > SAME:
        words = f"the job is another: the {pair.minimized.noun} of the same plan moved with it"
        yield Reason(cause="question", change=same, words=words)
    elif pair.is_asked_otherwise and (words := _needless(pair, held)):
        yield Reason(cause="question", change=0.0, words=words)
    if pair.moved("plan"):
        cause, words = _of_plan(pair, held)
        yield Reason(cause=cause, change=pair.share(under, pair.least), words=words)


def _needless(pair: Pair, held: _Held) -> str:
    """That another question, in which a plan costs the same, has no part in it; empty: it may."""
    there, value = held.theirs_there, held.value_there
    if there is None or there.value is None:
        return ""
    if not pair.moved("plan"):
        return "what was asked or assumed otherwise does not move what this plan costs"
    if value is None or not _better(value, pair.recosted):
        return ""
    return "what was asked or assumed otherwise moves neither what a plan costs nor which is better"


def clipped(text: str) -> str:
    """A value in a sentence."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _under(pair: Pair) -> float | None:
    """What the plan that was costed again costs in the job of the other; None: it is none of it."""
    try:
        costed = pair.theirs.costed(pair.mine.file.question.plan_job)
    except InputError:
        return None
    return None if costed is None else pair.mine.value(costed)


def _of_another_job(pair: Pair) -> Reason:
    """Plans that no job has in common."""
    words, cause = "the job is another, and so are its best plan and what that costs", "question"
    if pair.rests_on_another:
        words += f"; what of it is of {pair.behind} cannot be told"
        cause = "unknown"
    return Reason(cause=cause, change=pair.share(pair.recosted, pair.least), words=words)


def _of_plan(pair: Pair, held: _Held) -> tuple[str, str]:
    """Cause and words of why the plan of one is not that of the other."""
    (theirs, mine), there = pair.names, held.theirs_there
    if there is not None and there.value is not None and _better(there.value, pair.least):
        words = f"the plan of {theirs} is allowed in the question of {mine} and better"
        if pair.mine.is_proved:
            changed = "; a file that it names may have changed" * pair.mine.names_files
            return "unknown", f"{words}, but that of {mine} is proved{changed}"
        return "search", f"{words}: {_ended(pair, pair.mine)}, and did not come to it"
    return _of_questions(pair, held) if pair.is_asked_otherwise else _of_one(pair, there)


def _better(one: float, other: float) -> bool:
    """Whether one objective is less than another by more than rounding."""
    return one < other and not math.isclose(one, other, rel_tol=SAME)


def _of_one(pair: Pair, there: Standing | None) -> tuple[str, str]:
    """Cause and words where both were asked the same."""
    if there is not None and there.refusal:
        return _of_refused(pair, there)
    if _better(pair.recosted, pair.least):
        words = f"the plan of {pair.names[0]} is better here"
        if pair.rests_on_another or pair.mine.is_proved:
            return "unknown", f"{words}; whether it is allowed cannot be told"
        return "search", f"{words}: {_ended(pair, pair.mine)}, and did not come to it"
    if not _better(pair.least, pair.recosted):
        return "search", "both plans cost the same: which is named is of the search"
    return _of_versions(pair, "")


def _of_refused(pair: Pair, there: Standing) -> tuple[str, str]:
    """Cause and words where a plan may not be had in its own question."""
    judge = "other version" if pair.is_of_two_versions else "same versions"
    words = f"the plan of {pair.names[0]} is refused by the {judge}: {there.refusal}"
    if pair.is_of_two_versions and not pair.theirs.names_files:
        return "space", words
    return "unknown", f"{words}; {pair.behind}"


def _of_questions(pair: Pair, held: _Held) -> tuple[str, str]:
    """Cause and words where something was asked or assumed otherwise."""
    (theirs, mine), there = pair.names, held.theirs_there
    if held.theirs is not None and held.theirs.refusal:
        return _of_refused(pair, held.theirs)
    value = held.value_there
    if value is not None and _better(value, pair.recosted):
        cause, words = _of_versions(pair, f" in the question of {theirs} too")
        if there is not None and there.refusal:
            words += f"; in that of {mine} the plan of {theirs} is not allowed: {there.refusal}"
        return cause, words
    found = [
        f"that of {one} is not allowed in the question of {asked} ({stands.refusal})"
        for one, asked, stands in ((theirs, mine, there), (mine, theirs, held.mine_there))
        if stands is not None and stands.refusal
    ]
    if held.mine_there is None and (not found or held.theirs is None):
        return _of_either(pair)
    if there is None and not (found or pair.mine.is_proved):
        return _of_either(pair)
    if value is not None and not found:
        return _by_order(pair, there, value)
    if there is not None and not there.refusal and not _better(pair.least, there.value or 0.0):
        found.append(f"both cost the same in that of {mine}")
    return "question", f"{_by_question(pair)}{': ' * bool(found)}{', and '.join(found)}"


def _by_question(pair: Pair) -> str:
    """That what was asked otherwise makes another plan best, and by which versions."""
    judge = f", by the versions of {pair.names[1]}" if pair.is_of_two_versions else ""
    return _BY_QUESTION + judge


def _by_order(pair: Pair, there: Standing | None, mine_there: float) -> tuple[str, str]:
    """Cause and words where both questions allow both plans, as far as is known."""
    (theirs, mine), same = pair.names, "both cost the same"
    before = f"that of {theirs} is the better one" if _better(pair.recosted, mine_there) else same
    now = "its own"
    if there is not None and not _better(pair.least, there.value or 0.0):
        now = same
    if before == now:
        return "search", f"{same} in both questions: which is named is of the search"
    words = f"in the question of {theirs} {before}, in that of {mine} {now}"
    return "question", f"{_by_question(pair)}: {words}"


def _of_either(pair: Pair) -> tuple[str, str]:
    """Cause and words where the plans cannot be held against both questions."""
    if pair.rests_on_another:
        words = f"another plan is best, and what was asked is another, as may be {pair.behind}"
        return "unknown", f"{words}: which of them made it so cannot be told here"
    early = [one for one in (pair.theirs, pair.mine) if not one.is_proved]
    if early:
        return "unknown", f"{_BY_QUESTION}, or as {_ended(pair, early[0])}"
    return "question", _BY_QUESTION


def _ended(pair: Pair, answer: Answer) -> str:
    """How a search ended that proved nothing."""
    name, proved = pair.names[answer is pair.mine], answer.file.certificate
    gap = f", gap {proved.gap:.2%}" if proved.gap else ""
    return f"the search for {name} proved no plan the best ({proved.status}{gap})"


def _of_versions(pair: Pair, where: str) -> tuple[str, str]:
    """Cause and words where the plan of mine is allowed and better in the question of theirs.

    Args:
        pair: The answers.
        where: Ends what is said of the question; empty: it is that of both.
    """
    theirs, mine = pair.names
    named = _is_named(pair)
    if not pair.rests_on_another:
        return _of_one_version(pair, where, named=named)
    if named:
        know = "versions know" if pair.is_of_two_versions else "answers name"
        words = f"both {know} both plans; their order follows from the change of the costs"
        return "cost", f"{words}{where}: {pair.behind}"
    better = f"the plan of {mine}, which {theirs} does not name, is the better one{where}"
    if not pair.theirs.is_proved:
        return "unknown", f"{better}: by {pair.behind}, or as {_ended(pair, pair.theirs)}"
    if pair.versions and "planner" not in pair.versions:
        return "cost", f"{better}: by {pair.behind}"
    words = f"{better}: it costs less, or was not searched there, by {pair.behind}"
    return "unknown", words + _other_meshes(pair, where)


def _of_one_version(pair: Pair, where: str, *, named: bool) -> tuple[str, str]:
    """The same where the versions are those of both."""
    theirs, mine = pair.names
    if not pair.theirs.is_proved:
        words = f"{_ended(pair, pair.theirs)}, and did not come to that of {mine}"
        return "search", f"{words}, which is allowed and better{where}"
    meshes = "" if named else _other_meshes(pair, where)
    if meshes and not pair.theirs.names_files:
        return "space", f"the best plan is none that the other answer names{meshes}"
    words = f"{theirs} is proved, but the plan of {mine} is allowed and better{where}"
    return "unknown", f"{words}, by the same versions: {pair.behind}{meshes}"


def _other_meshes(pair: Pair, where: str) -> str:
    """How the meshes are others, where no other question may have made them so."""
    found = [] if where else list(counted(pair.theirs, pair.mine))
    if not found:
        return ""
    return f", and the meshes that were searched are others ({clipped(found[0].name)})"


def _is_named(pair: Pair) -> bool:
    """Whether theirs gives what the plan of mine costs."""
    mine, theirs = pair.mine, pair.theirs
    chosen = mine.decisions(mine.file.best or {})
    return any(_is(theirs, record, chosen) for record in theirs.named())


def _is(answer: Answer, record: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    try:
        return answer.decisions(record) == chosen
    except InputError:
        return False
