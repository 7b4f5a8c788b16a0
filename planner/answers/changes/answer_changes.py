"""Two answers of `planner solve` as their files have them, and the fields in which they differ."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frozen_records import dataclass
from planner.answers.api import searched_for
from planner.answers.changes.two_answers import Change
from planner.answers.evaluation import evaluate_plan
from planner.answers.files.checks import SolvedDocument, ending_mistakes, proof_mistakes
from planner.answers.files.documents import Document, check_seal
from planner.answers.files.reevaluation import Rereading
from planner.answers.files.result_file import validated
from planner.base.errors import InputError
from planner.base.jsonfile import SEAL
from planner.base.messages import shown
from planner.objectives.objective import Costs
from planner.question.asked.values import value_words
from planner.question.files.plan_file import PlanRead
from planner.question.files.plan_text import plan_fields
from planner.question.files.result_layout import as_parts
from planner.question.files.versions import check_version
from planner.question.launch.resuming import is_text_of_plan
from planner.question.provenance import versions, versions_in
from planner.question.records import names_own
from planner.question.request import Request
from planner.question.resolved import resolve
from planner.results.result import EvaluateResult

SAME = 1e-9
MOST_CHANGES = 10
"""Of a group that are told; of the others their number is."""
BY_VERSION = {
    "models_db": "the model database",
    "hardware_db": "the hardware database",
    "constants": "the constants of the cost model",
    "planner": "the cost model",
}
"""What may move a cost, by the version that tells of it."""
OF_QUESTION = ("question", "default")
"""Groups of changes of what was asked or assumed."""
_BEFORE_BOUNDS = ("factorizations", "meshes")
"""Stages of the counts that no bound has a part in."""
_RUN_DATA = frozenset({"seconds", SEAL})
"""How long a search took, and the digest of a document, which holds that too."""
_ASSUMED = " (assumed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One of the two, as its file has it."""

    document: Document
    file: SolvedDocument

    @property
    def name(self) -> str:
        """Of its file."""
        return self.document.name

    @property
    def objective(self) -> float | None:
        """What the best plan costs; None: there is none."""
        return self.file.certificate.objective

    @property
    def reading(self) -> Rereading:
        """How its plans are read."""
        return Rereading(
            name=self.name, path=self.document.path, within="question.", sealed=self.is_sealed
        )

    @property
    def is_sealed(self) -> bool:
        """Whether a digest speaks for it; one that does not has been refused."""
        return SEAL in self.document.data

    @property
    def versions(self) -> dict[str, Any]:
        """Of what it rests on."""
        return versions_in(self.file.versions)

    @property
    def moved(self) -> tuple[str, ...]:
        """What this installation has in another version, of `BY_VERSION`."""
        return others(self.versions, versions())

    @property
    def is_proved(self) -> bool:
        """Whether nothing of its question is better, by its file."""
        proved = self.file.certificate
        return proved.status == "optimal" and (proved.gap or 0.0) <= SAME

    @property
    def names_files(self) -> bool:
        """Whether its question names files of the user, which may change."""
        asked = self.file.question.asked
        pools, run = asked.get("pools"), asked.get("resume_from")
        named = (*asked.values(), *(pools if isinstance(pools, dict) else ()))
        return any(map(names_own, named)) or (isinstance(run, str) and not is_text_of_plan(run))

    def costed(self, job: Mapping[str, Any] | None = None) -> EvaluateResult | None:
        """Its best plan by the model of this installation; None: it has none.

        Args:
            job: Another one than its own.

        Raises:
            InputError: This installation cannot cost it.
        """
        read = self.read_best(job)
        if read is None:
            return None
        return evaluate_plan(resolve(read.request, read.origin, read.plan.chips), read.plan)

    def read_best(self, job: Mapping[str, Any] | None = None) -> PlanRead | None:
        """Its best plan with its job; arguments and errors as of `costed`."""
        if self.file.best is None:
            return None
        own = self.file.question.plan_job
        return self.reading.read(self.file.best, own if job is None else job, "best")

    def searched(self) -> Request:
        """What was searched for it.

        Raises:
            InputError: It cannot be asked here.
        """
        reading = self.reading
        asked = reading.request(self.file.question.asked)
        return searched_for(asked, reading.origin("asked")).request

    def value(self, costed: EvaluateResult) -> float:
        """What a plan costs in terms of what was minimized."""
        return float(self.file.minimized.value_of(costed.result.costs))

    def decisions(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What a plan in it chooses."""
        job = self.file.question.plan_job
        return plan_fields(self.reading.read(record, job, "a plan").plan)

    def named(self) -> Iterator[Mapping[str, Any]]:
        """The plans whose costs it gives."""
        yield from self.file.front.plans
        yield from self.file.candidates.top


def others(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """What is of another version, of `BY_VERSION`."""
    return tuple(name for name in BY_VERSION if one.get(name) != other.get(name))


def read_answer(document: Document) -> Answer:
    """The answer in a document of `planner solve`.

    Raises:
        InputError: It is of a version that is not known, was edited, or contradicts itself.
    """
    check_version(document.data, document.origin)
    if SEAL in document.data:
        check_seal(document.data, document.name)
    file = validated(SolvedDocument, json.dumps(as_parts(document.data)), document.name)
    answer = Answer(document=document, file=file)
    if lines := ending_mistakes(file) or _unproved(file):
        why = "the file contradicts itself, so it was edited or is damaged: solve again"
        raise InputError("\n".join(f"{document.name}: {line}; {why}" for line in lines))
    return answer


def _unproved(file: SolvedDocument) -> list[str]:
    """How the objective of a file contradicts the best plan beside it, or the bound.

    What a whole run costs is not in the record of a plan.
    """
    best = file.best
    if best is None or file.minimized.of_run:
        return []
    figures = [
        best.get(name)
        for name in ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes", "chips")
    ]
    for figure in figures:
        if not isinstance(figure, int | float) or isinstance(figure, bool):
            return ["best: its step time, energy, memory or chips are no numbers"]
    time_s, energy_j, memory_bytes, chips = map(float, figures)  # type: ignore[arg-type]
    costs = Costs(step_time_s=time_s, energy_j=energy_j, memory_bytes=memory_bytes, chips=chips)
    return proof_mistakes(file, file.minimized.value_of(costs))


def all_changes(old: Answer, new: Answer) -> tuple[list[Change], dict[str, int]]:
    """The first fields of each group in which they differ, and how many more there are by group."""
    seen: Counter[str] = Counter()
    kept = []
    for one in _changes(old, new):
        seen[one.group] += 1
        if seen[one.group] <= MOST_CHANGES:
            kept.append(one)
    return kept, {name: n - MOST_CHANGES for name, n in seen.items() if n > MOST_CHANGES}


def _changes(old: Answer, new: Answer) -> Iterator[Change]:
    yield from _asked(old, new)
    yield from between("version", old.versions, new.versions)
    yield from _plans(old, new)
    yield from counted(old, new)
    yield from _ends(old, new)


def between(group: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """The fields that two records have otherwise; one that is absent is None."""
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Change(group=group, name=name, old=old.get(name), new=new.get(name))


def _asked(old: Answer, new: Answer) -> Iterator[Change]:
    """In what was asked or else assumed, and in the job as it was understood."""
    ends = (old.file, new.file)
    asked = [one.question.asked for one in ends]
    assumed = [{one.name.replace("-", "_"): one.value for one in end.notes.defaults}
               for end in ends]  # fmt: skip
    jobs = [one.question.job for one in ends]
    said = {*asked[0], *asked[1]}
    for name in dict.fromkeys((*asked[0], *asked[1], *assumed[0], *assumed[1])):
        was, now = (_given(name, *pair) for pair in zip(asked, assumed, strict=True))
        if was == now or _of_one_effect(name, asked, assumed, jobs):
            continue
        group = "question" if any(one.get(name) is not None for one in asked) else "default"
        said.add(name)
        yield Change(group=group, name=name, old=was, new=now)
    yield from (one for one in between("job", *jobs) if one.name not in said)


def _given(name: str, asked: Mapping[str, Any], assumed: Mapping[str, str]) -> Any:
    """What was asked, or else assumed; None: neither."""
    if asked.get(name) is not None or name not in assumed:
        return asked.get(name)
    return assumed[name] + _ASSUMED


def _of_one_effect(name: str, asked: Any, assumed: Any, jobs: Any) -> bool:
    """Whether one answer was asked what the other assumed, so that nothing follows from it."""
    for one, other in ((0, 1), (1, 0)):
        given = asked[one].get(name)
        if given is None or asked[other].get(name) is not None or name not in assumed[other]:
            continue
        if name in jobs[one] and name in jobs[other]:
            return bool(jobs[one][name] == jobs[other][name])
        return assumed[other][name] in (given, value_words(name, given))
    return False


def _plans(old: Answer, new: Answer) -> Iterator[Change]:
    """In what the best plans choose."""
    one, other = old.file.best, new.file.best
    if one is None or other is None:
        return
    try:
        yield from between("plan", old.decisions(one), new.decisions(other))
    except InputError:  # of an unknown form here: as the files have them
        names = ("mesh", "micro_batch", "schedule", "interleave", "sharding", "recompute", "clock")
        yield from between("plan", *({n: at.get(n) for n in names} for at in (one, other)))


def counted(old: Answer, new: Answer) -> Iterator[Change]:
    """In which meshes there are, and what rules say of them: before any bound or incumbent does."""
    counts = [
        {
            f"{stage}: {what}": count
            for stage in _BEFORE_BOUNDS
            for what, count in answer.file.candidates.counts.get(stage, {}).items()
        }
        for answer in (old, new)
    ]
    yield from between("counts", *counts)


def _ends(old: Answer, new: Answer) -> Iterator[Change]:
    """In how the searches ended, and what they proved."""
    one, other = old.file.certificate, new.file.certificate
    if one.status != other.status:
        yield Change(group="answer", name="status", old=one.status, new=other.status)
    gaps = [math.inf if proof.gap is None else proof.gap for proof in (one, other)]
    if not math.isclose(*gaps, rel_tol=SAME, abs_tol=SAME):
        yield Change(group="answer", name="gap", old=one.gap, new=other.gap)


def rest_of(old: Answer, new: Answer) -> list[Change]:
    """In what two answers differ that agree in all of the above; what a run takes aside."""
    parts = [dict(_flat(as_parts(one.document.data))) for one in (old, new)]
    names = dict.fromkeys((*parts[0], *parts[1]))
    return [
        Change(group="answer", name=name, old=shown(was), new=shown(now))
        for name, was, now in ((name, parts[0].get(name), parts[1].get(name)) for name in names)
        if was != now
    ]


def _flat(parts: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Fields of the parts of an answer by their dotted names."""
    for name, part in parts.items():
        if name in _RUN_DATA:
            continue
        if isinstance(part, Mapping):
            yield from ((f"{name}.{inner}", _without_run(value))
                        for inner, value in part.items() if inner not in _RUN_DATA)  # fmt: skip
        else:
            yield name, _without_run(part)


def _without_run(value: Any) -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, Mapping):
        return {name: _without_run(one) for name, one in value.items() if name not in _RUN_DATA}
    return [_without_run(one) for one in value] if isinstance(value, list) else value
