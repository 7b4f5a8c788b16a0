"""Answers as `--json` prints them, read back: checked, and every plan evaluated again.

A file is taken at its word only where this planner comes to the same figures: versions and hashes
of the databases must be those of this installation, and each plan must evaluate to the costs that
the file gives. What comes back is the answer as `planner.solve` or `planner.evaluate` return it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from frozen_records import dataclass
from planner.answers.api import searched_for
from planner.answers.building import Chosen, Setting, setting_of, with_plan, without_plan
from planner.answers.evaluation import evaluate_plan, limits_of, options_of
from planner.answers.files.checks import (
    EvaluatedDocument,
    FrontDocument,
    SolvedDocument,
    certificate_mistakes,
    front_mistakes,
    proof_mistakes,
    rank_mistakes,
    status_mistakes,
)
from planner.answers.files.clocks import with_front_clocks, with_plan_clocks
from planner.answers.files.documents import (
    Document,
    Kind,
    check_seal,
    check_versions,
    kind_of_document,
    read_document,
)
from planner.answers.files.reevaluation import Rereading
from planner.answers.notes.front import front_note, said_of_chips
from planner.answers.notes.likely import against_first, spread_of
from planner.answers.notes.runs import changes_along
from planner.answers.notes.scope import scope_of, targets_running
from planner.answers.notes.uneven import said_of_stages
from planner.answers.simulated import simulated_facts
from planner.answers.spaces.uniform import reasons
from planner.base.errors import InputError
from planner.base.mistakes import mistakes
from planner.cost.facts import PlanFacts
from planner.question.files.plan_file import left_out
from planner.question.files.plan_text import asked_of
from planner.question.files.result_layout import as_parts
from planner.question.kinds.kind import Kind as Asked
from planner.question.kinds.kind import kind_of
from planner.question.provenance import job_fields, sources_of, versions_in
from planner.question.request import Request
from planner.question.resolved import Resolved, on_chips, resolve
from planner.results.certificate import Certificate
from planner.results.parts import Notes, Question
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.results.solved_parts import Candidates, Front, Wider
from planner.search.machines.machines import budgets_of, on_machine, reticle_words, use_words

_OF_PLAN = "plan."


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """An answer that was read back.

    Attributes:
        kind: Which command gave it: solve, evaluate, or a front of solve.
        answer: The answer; of a front without a best plan.
        plan: The plan that details are about: the best one, the one that was evaluated, or of a
            front the fastest; None where no plan was found.
        resolved: Its job.
        objective: What an explanation compares plans by; None: it is none.
    """

    kind: Kind
    answer: SolveResult | EvaluateResult
    plan: PlanResult | None
    resolved: Resolved | None
    objective: str | None = None


def read_result(document: Document | Path) -> ResultFile:
    """An answer of `solve`, its front, or of `evaluate` or `explain`; `-`: standard input.

    Raises:
        InputError: It cannot be read, is no such answer or one of another version, or its plans
            do not cost what it says; one line per mistake.
    """
    if isinstance(document, Path):
        document = read_document(document)
    path, name, text = document.path, document.name, document.text
    kind = kind_of_document(document.data, name)
    check_versions(document.data, name)
    check_seal(document.data, name)
    data = {**document.data, "versions": versions_in(document.data["versions"])}
    reading = Rereading(name=name, path=path, sealed=True)
    if kind == "evaluate":
        return _evaluated(data, validated(EvaluatedDocument, text, name), reading)
    if kind == "front":
        return _front(validated(FrontDocument, text, name), reading)
    reading = replace(reading, within="question.")  # version 1 is told by the names of today
    parts = as_parts(data)
    text = text if parts == document.data else json.dumps(parts)
    return _solved(parts, validated(SolvedDocument, text, name), reading)


def validated(model: type[Any], text: str, name: str) -> Any:
    """The fields of a document.

    Raises:
        InputError: Some are missing or of the wrong kind.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:

        def label(steps: Any) -> str:
            return f"{name}: {'.'.join(map(str, steps))}"

        raise InputError("\n".join(mistakes(error, label, model.model_fields))) from error


def _evaluated(data: Mapping[str, Any], file: EvaluatedDocument, reading: Rereading) -> ResultFile:
    """The answer of `planner evaluate` or `planner explain`, computed again."""
    read = reading.read(data, file.plan_job, "the plan")
    resolved = resolve(reading.request(file.asked), reading.origin("asked"), read.plan.chips)
    names = [one.name.removeprefix(_OF_PLAN) for one in file.defaults if _OF_PLAN in one.name]
    answer = evaluate_plan(resolved, read.plan, left_out(read.plan, names))
    reading.compare(data, answer.to_dict(), "")
    answer = with_plan_clocks(answer, file.operation_clocks, resolved)
    return ResultFile(
        kind="evaluate",
        answer=answer,
        plan=answer.result,
        resolved=resolved,
        objective=file.objective_name,
    )


def _front(file: FrontDocument, reading: Rereading) -> ResultFile:
    """A front as `solve --pareto front.json` writes it."""
    points, reads = reading.costed([(point, f"front.{n}") for n, point in _numbered(file.front)],
                                   file.plan_job)  # fmt: skip
    resolved = reading.resolve(reads[0])
    job = {**job_fields(resolved), "chips": file.job.get("chips")}
    reading.compare(file.job, job, "job.")
    reading.refuse(front_mistakes(points, file.objectives))
    answer = SolveResult(
        certificate=Certificate(status="front", objective_name=""),
        best=None,
        front=Front(
            plans=tuple(points),
            objectives=file.objectives,
            complete=file.complete,
            note=file.note,
            proved=_proved(file.front),
        ),
        candidates=Candidates(counts={}, seconds=0.0),
        question=Question(job=file.job, plan_job=file.plan_job),
        notes=Notes(spread=spread_of(resolved.cost), sources=sources_of(resolved.cost)),
        versions=file.versions,
        facts=_facts(resolved, points[0]),
    )
    return ResultFile(kind="front", answer=answer, plan=points[0], resolved=resolved)


def _proved(points: list[dict[str, Any]]) -> tuple[bool, ...]:
    return tuple(point.get("proved") is True for point in points)


def _measured(points: list[dict[str, Any]]) -> frozenset[int]:
    """Positions of the plans that the answer advised to measure."""
    return frozenset(at for at, point in enumerate(points) if point.get("measure") is True)


def _numbered(points: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(points, start=1))


def _solved(data: Mapping[str, Any], file: SolvedDocument, reading: Rereading) -> ResultFile:
    """The answer of `planner solve`, of which all but the search itself is worked out again."""
    front, top = file.front.plans, file.candidates.top
    question = searched_for(reading.request(file.question.asked), reading.origin("asked"))
    reading.refuse(status_mistakes(file, question.asked))
    request = question.request
    costed, _ = reading.costed(list(_records(file)), file.question.plan_job)
    if file.best is None:
        answer, resolved, best = _without_plan(file, request, reading), None, None
    else:
        best, rest = costed[0], costed[1:]
        uniform = None if file.stages.uniform is None else rest.pop()
        points, ranked = rest[: len(front)], rest[len(front) : len(front) + len(top)]
        beyond = rest[len(front) + len(top) :]
        reading.refuse(proof_mistakes(file, file.minimized.value_of(best.costs)))
        reading.refuse(front_mistakes(points, file.front.objectives))
        reading.refuse(rank_mistakes(best, ranked))
        reading.refuse(certificate_mistakes(file, request, uniform))
        resolved = _on_machine(request, best, reading)
        setting = _setting(resolved, request, best)
        chosen = _chosen(file, resolved, best, points, ranked, uniform, beyond)
        answer = _with_plan(file, setting, chosen)
    clocks = file.operation_clocks, request, file.question.plan_job
    answer = question.noted(with_front_clocks(answer, *clocks, reading))
    said = answer.to_dict()
    reading.compare(file.question.job, said["question"]["job"], "question.job.")
    reading.compare(data, said, "")
    return ResultFile(kind="solve", answer=answer, plan=best, resolved=resolved)


def _records(file: SolvedDocument) -> Iterator[tuple[dict[str, Any], str]]:
    """The plans of an answer, each with what messages call it."""
    if file.best is not None:
        yield file.best, "best"
    lists = {
        "front.plans": file.front.plans,
        "candidates.top": file.candidates.top,
        "candidates.wider": [one.plan for one in file.candidates.wider if one.plan is not None],
    }
    for name, plans in lists.items():
        yield from ((plan, f"{name}.{number}") for number, plan in _numbered(plans))
    if file.stages.uniform is not None:
        yield file.stages.uniform, "stages.uniform"


def _on_machine(request: Request, best: PlanResult, reading: Rereading) -> Resolved:
    """The job on the machine of the best plan; where machines were a decision, with its chips."""
    origin = reading.origin("asked")
    if kind_of(request) is not Asked.MACHINES:
        resolved = resolve(request, origin)
        return replace(resolved, cost=resolved.cost.on(best.chips))
    resolved = resolve(on_machine(request, best.machine), origin, best.chips)
    return on_chips(resolved, best.chips)


def _facts(resolved: Resolved, plan: PlanResult) -> PlanFacts:
    """The stages and levels of a plan."""
    limit = limits_of(resolved.request).bytes_of_plan(resolved.cost, plan.plan)
    return simulated_facts(resolved.cost, plan.plan, limit)


def _setting(resolved: Resolved, request: Request, best: PlanResult | None) -> Setting:
    """What the answer says of its question."""
    chips = resolved.counts[-1] if best is None else best.chips
    losses = resolved.cost.allocation(chips).losses
    if best is not None and best.machine is not None:
        losses = (*losses, *reticle_words(resolved.cost, resolved.request))
    setting = setting_of(resolved, losses, 0.0)
    return replace(setting, question=replace(setting.question, asked=asked_of(request)))


def _without_plan(file: SolvedDocument, request: Request, reading: Rereading) -> SolveResult:
    """The answer that there is no plan; of several machines it names the nearest."""
    if kind_of(request) is Asked.MACHINES:
        setting = _setting_said(file, request)
    else:
        setting = _setting(resolve(request, reading.origin("asked")), request, None)
    certificate, counts = file.certificate.record, file.candidates.counts
    return _as_searched(file, without_plan(setting, certificate, counts, file.diagnosis))


def _setting_said(file: SolvedDocument, request: Request) -> Setting:
    """What the answer says of a machine that only the search can name."""
    question, notes = file.question, file.notes
    return Setting(
        request=request,
        question=Question(job=question.job, plan_job=question.plan_job, asked=asked_of(request)),
        notes=Notes(
            losses=notes.losses,
            defaults=tuple((one.name, one.value, one.reason) for one in notes.defaults),
            mfu_convention=notes.mfu_convention,
        ),
        started=0.0,
    )


def _chosen(
    file: SolvedDocument,
    resolved: Resolved,
    best: PlanResult,
    points: list[PlanResult],
    ranked: list[PlanResult],
    uniform: PlanResult | None,
    beyond: list[PlanResult],
) -> Chosen:
    """The best plan with those that were evaluated again, and what is said of them."""
    request, model = resolved.request, resolved.cost
    limits = limits_of(request)
    options = options_of(request, targets_running(resolved, best.plan))
    why, near = reasons(resolved, best, limits, options, request.minimized)
    front = tuple(best if best == point else point for point in points)
    note = front_note(resolved, best, len(front), proved=file.front.complete)
    note += changes_along(front, file.front.objectives)
    if best.machine is not None:
        why = (*why, *use_words(model, budgets_of(request), best.chips))
        note = file.front.note
    chosen = Chosen(
        best=best,
        facts=_facts(resolved, best),
        front=Front(
            plans=front,
            objectives=file.front.objectives,
            complete=file.front.complete,
            note=note,
            proved=_proved(file.front.plans),
            limits=file.front.limits,
        ),
        top=against_first(model, ranked, request.minimized, _measured(file.candidates.top)),
        top_complete=file.candidates.top_complete,
        neighbors=near,
        why=why,
        scope=scope_of(
            resolved,
            best,
            _wider(file, resolved, best, beyond),
            said_of_chips(resolved, best, limits, options),
            proved=file.certificate.status == "optimal",
        ),
    )
    if kind_of(request) is not Asked.UNEVEN:
        return chosen
    return said_of_stages(resolved, file.certificate.record, chosen, uniform)


def _wider(
    file: SolvedDocument, resolved: Resolved, best: PlanResult, beyond: list[PlanResult]
) -> list[Wider]:
    """What plans outside of what was searched would give; `beyond`: those of the file."""
    model, objective, left = resolved.cost, resolved.request.minimized, iter(beyond)
    return [
        Wider(
            lifted=one.lifted,
            plan=None
            if one.plan is None
            else against_first(model, [best, next(left)], objective)[1],
            proved=one.proved,
        )
        for one in file.candidates.wider
    ]


def _with_plan(file: SolvedDocument, setting: Setting, chosen: Chosen) -> SolveResult:
    """The answer with a plan."""
    counts, front_counts = file.candidates.counts, file.candidates.front_counts
    answer = with_plan(setting, file.certificate.record, chosen, counts, front_counts)
    return _as_searched(file, answer)


def _as_searched(file: SolvedDocument, answer: SolveResult) -> SolveResult:
    """With what only the search knows; its seal and `SolvedDocument` are all that speaks for it."""
    known = file.candidates
    candidates = replace(answer.candidates, machines=known.machines, seconds=known.seconds)
    return replace(answer, candidates=candidates)
