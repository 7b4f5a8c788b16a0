"""Two answers of `planner solve` to one question, of two versions: why the second is another.

The best plan of one is costed by the model of the other, which has to be that of this installation:
what that moves is of the cost (databases, constants, cost model), the rest of the choice (which
plans there are, which the search found).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.answers.evaluation import evaluate_plan
from planner.answers.files.checks import SolvedDocument
from planner.answers.files.documents import check_seal, kind_of_document
from planner.answers.files.reevaluation import Rereading
from planner.answers.files.result_file import Document, read_document, validated
from planner.answers.files.two_answers import Change, Reason, TwoAnswers
from planner.base.errors import InputError
from planner.base.jsonfile import SEAL
from planner.base.messages import first_lines, shown
from planner.question.files.plan_text import plan_fields
from planner.question.files.result_layout import as_parts
from planner.question.resolved import resolve
from planner.results.result import EvaluateResult

_SAME = 1e-9
_NAMES = {
    "models_db": "the model database",
    "hardware_db": "the hardware database",
    "constants": "the constants of the cost model",
    "planner": "the cost model",
}
"""What may move a cost, by the version that tells of it."""
_BEFORE_BOUNDS = ("factorizations", "meshes")
"""Stages of the counts that no bound has a part in."""
_OF_QUESTION = ("question", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One of the two, as its file has it."""

    document: Document
    file: SolvedDocument

    @property
    def objective(self) -> float | None:
        return self.file.certificate.objective or None

    @property
    def reading(self) -> Rereading:
        path, name = self.document.path, self.document.name
        return Rereading(name=name, path=path, within="question.")

    def costed(self) -> EvaluateResult | None:
        """Its best plan by the model of this installation; None: it has none.

        Raises:
            InputError: This installation cannot cost it.
        """
        if self.file.best is None:
            return None
        read = self.reading.read(self.file.best, self.file.question.plan_job, "best")
        return evaluate_plan(resolve(read.request, read.origin, read.plan.chips), read.plan)

    def decisions(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What a plan in it chooses."""
        job = self.file.question.plan_job
        return plan_fields(self.reading.read(record, job, "a plan").plan)

    def named(self) -> Iterator[Mapping[str, Any]]:
        """The plans whose costs it gives."""
        yield from self.file.front.plans
        yield from self.file.candidates.top


def are_answers(*paths: Path) -> bool:
    """Whether all files are answers of `planner solve`, whatever else is wrong with them."""
    try:
        return all(
            path.suffix.lower() == ".json" and _kind(read_document(path)) == "solve"
            for path in paths
        )
    except InputError:
        return False


def _kind(document: Document) -> str:
    return kind_of_document(document.data, document.name)


def two_answers(old: Path, new: Path) -> TwoAnswers:
    """Why the answer in one file is another than that in an older one.

    Raises:
        InputError: One cannot be read, was edited, or is of another objective.
    """
    before, after = _read(old), _read(new)
    one, other = before.file.minimized, after.file.minimized
    if one.name != other.name:
        raise InputError(
            f"plans: {before.document.name} minimizes {one.name} and {after.document.name} "
            f"{other.name}; compare answers to one question"
        )
    changes = [*_asked(before, after), *_versions(before, after), *_plans(before, after)]
    reasons, parts = _reasons(before, after, changes)
    return TwoAnswers(
        names=(before.document.name, after.document.name),
        objective_name=one.name,
        unit=one.unit,
        statuses=(before.file.certificate.status, after.file.certificate.status),
        objectives=(before.objective, after.objective),
        changes=tuple([*changes, *_counts(before, after)]),
        parts_s=parts,
        reasons=tuple(reasons),
    )


def _read(path: Path) -> _Answer:
    document = read_document(path)
    if SEAL in document.data:
        check_seal(document.data, document.name)
    if _kind(document) != "solve":
        raise InputError(f"{document.name}: is no answer of planner solve")
    file = validated(SolvedDocument, json.dumps(as_parts(document.data)), document.name)
    return _Answer(document=document, file=file)


def _between(group: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Change(group=group, name=name, old=old.get(name), new=new.get(name))


def _asked(old: _Answer, new: _Answer) -> Iterator[Change]:
    """In what was asked, assumed, and in the job as it was understood."""
    asked, job = (
        [getattr(one.file.question, name) for one in (old, new)] for name in ("asked", "job")
    )
    yield from _between("question", *asked)
    defaults = [
        {one.name: one.value for one in answer.file.notes.defaults} for answer in (old, new)
    ]
    yield from (one for one in _between("default", *defaults) if one.name not in asked[0])
    said = {*asked[0], *asked[1]}
    yield from (one for one in _between("job", *job) if one.name not in said)


def _versions(old: _Answer, new: _Answer) -> Iterator[Change]:
    yield from _between("version", old.file.versions, new.file.versions)


def _plans(old: _Answer, new: _Answer) -> Iterator[Change]:
    """In what the best plans choose."""
    one, other = old.file.best, new.file.best
    if one is None or other is None:
        return
    try:
        yield from _between("plan", old.decisions(one), new.decisions(other))
    except InputError:  # of an unknown form here: as the files have them
        names = ("mesh", "micro_batch", "schedule", "interleave", "sharding", "recompute", "clock")
        yield from _between("plan", *({n: at.get(n) for n in names} for at in (one, other)))


def _counts(old: _Answer, new: _Answer) -> Iterator[Change]:
    """In which meshes there are, and what rules say of them: before any bound or incumbent does."""
    counts = [
        {
            f"{stage}: {what}": count
            for stage in _BEFORE_BOUNDS
            for what, count in answer.file.candidates.counts.get(stage, {}).items()
        }
        for answer in (old, new)
    ]
    yield from _between("counts", *counts)


def _reasons(
    old: _Answer, new: _Answer, changes: list[Change]
) -> tuple[list[Reason], dict[str, tuple[float, float]]]:
    """Why the objective moved, and the time parts of the plan that was costed by both models."""
    found = [
        Reason(cause="question", change=None, words=f"{one.name}: {_was(one)}")
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
        words = "neither file is an answer of this installation: solve again here, and compare"
        return [*found, Reason(cause="unknown", change=None, words=words)], {}
    mine = of_today[0]
    other = "old" if mine == "new" else "new"
    again = costed[other]
    if again is None:
        return found, {}
    recosted = _value(ends[other], again)
    cost = recosted / float(ends[other].objective or 1.0) - 1
    reasons = [*found, *_of_cost(cost if mine == "new" else 1 / (1 + cost) - 1, changes)]
    parts = _parts(ends[other], again, reverse=mine == "old")
    reverse = mine == "old"
    found = list(_of_choice(ends[other], ends[mine], again, recosted, changes, reverse=reverse))
    return [*reasons, *found], parts


def _was(one: Change) -> str:
    return f"{_word(one.old)} before, {_word(one.new)} now"


def _word(value: Any) -> str:
    """A value as it is asked for: `tp=2`, `dp, tp`."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={_word(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_word, value))
    return "not given" if value is None else value if isinstance(value, str) else shown(value)


def _value(answer: _Answer, costed: EvaluateResult) -> float:
    """What the plan costs in terms of what was minimized."""
    return float(answer.file.minimized.value_of(costed.result.costs))


def _agrees(answer: _Answer, costed: EvaluateResult | None) -> bool:
    """Whether this installation gives an answer's best plan the cost that the file says."""
    if costed is None or answer.objective is None:
        return costed is None and answer.objective is None
    return math.isclose(_value(answer, costed), answer.objective, rel_tol=_SAME)


def _of_cost(change: float, changes: list[Change]) -> Iterator[Reason]:
    """What the same plan costs more or less, and what may be behind it."""
    moved = {one.name for one in changes if one.group == "version"}
    causes = [words for name, words in _NAMES.items() if name in moved]
    if "constants" in moved or "hardware_db" not in moved:
        causes = [one for one in causes if one != _NAMES["hardware_db"]]
    if abs(change) <= _SAME:
        return
    words = " or ".join(causes) or "the cost model, under the same version number"
    yield Reason(cause="cost", change=change, words=f"the same plan costs another time: {words}")


def _of_choice(
    theirs: _Answer,
    mine: _Answer,
    again: EvaluateResult,
    recosted: float,
    changes: list[Change],
    *,
    reverse: bool,
) -> Iterator[Reason]:
    """Why one answer has another plan than the other.

    Args:
        theirs: The answer whose plan was costed again, by the model of the other one.
        mine: The answer of this installation.
        again: The cost of that plan now.
        recosted: Its objective.
        changes: In which they differ.
        reverse: Whether the answer of this installation is the older one.
    """
    if not any(one.group == "plan" for one in changes) or mine.objective is None:
        return
    worse = mine.objective / recosted - 1
    change = recosted / mine.objective - 1 if reverse else worse
    if any(one.group in _OF_QUESTION for one in changes):
        words = "another plan is best under what was asked or assumed otherwise"
        yield Reason(cause="question", change=change, words=words)
        return
    if again.warnings or not again.fits:
        reason = (again.warnings or ("it does not fit in memory",))[0]
        words = f"{theirs.document.name}: its plan is refused by the other version: {reason}"
        yield Reason(cause="space", change=change, words=words)
        return
    chosen = mine.decisions(mine.file.best or {})
    if any(_is(theirs, record, chosen) for record in theirs.named()):
        words = "both versions know both plans; their order follows from the change of the costs"
        yield Reason(cause="cost", change=change, words=words)
        return
    if worse > _SAME:
        words = "the search did not come to the other plan, which is better here and allowed"
        yield Reason(cause="search", change=change, words=words)
        return
    counted = list(_counts(theirs, mine))
    words = "the best plan is none that the other answer names"
    if counted:
        words += f", and the meshes that were searched are others ({counted[0].name})"
    yield Reason(cause="space" if counted else "cost", change=change, words=words)


def _is(answer: _Answer, record: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    try:
        return answer.decisions(record) == chosen
    except InputError:
        return False


def _without(empty: _Answer, full: _Answer, costed: EvaluateResult | None) -> Iterator[Reason]:
    """Why one answer has no plan."""
    if costed is None:
        return
    diagnosis = empty.file.diagnosis
    said = diagnosis.explanation if diagnosis else empty.file.certificate.status
    words = f"{empty.document.name} has no plan: {said}"
    if not costed.warnings and costed.fits:
        words += f"; that of {full.document.name} is allowed here"
    yield Reason(cause="space", change=None, words=words)


def _parts(
    answer: _Answer, again: EvaluateResult, *, reverse: bool
) -> dict[str, tuple[float, float]]:
    """Seconds by part of its plan, as its file has them and now, where they differ."""
    breakdown = (answer.file.best or {}).get("breakdown")
    told = breakdown.get("time_s") if isinstance(breakdown, dict) else None
    if not isinstance(told, dict):
        return {}
    pairs = {
        name: (float(before), float(now))
        for name, now in again.result.time_s.items()
        if isinstance(before := told.get(name, 0.0), int | float)
    }
    return {
        name: pair[::-1] if reverse else pair
        for name, pair in pairs.items()
        if not math.isclose(*pair, rel_tol=_SAME, abs_tol=1e-12)
    }
