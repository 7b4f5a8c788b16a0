"""The one builder of answers: what every space of a search supplies, put into an answer's parts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from frozen_records import dataclass
from planner.answers.evaluation import training_run
from planner.answers.notes.likely import spread_of
from planner.answers.notes.power import power_words
from planner.answers.notes.runs import run_words
from planner.answers.notes.scope import Scope
from planner.base.deferred import Deferred
from planner.cost.communication.traffic import mfu_convention
from planner.cost.context import CostModel
from planner.cost.facts import PlanFacts
from planner.objectives import Objective
from planner.question.files.plan_text import asked_of, job_of
from planner.question.files.result_layout import RESULT_VERSION
from planner.question.kinds.scope import scope_default
from planner.question.provenance import job_fields, sources_of, versions
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.certificate import Certificate
from planner.results.parts import Diagnosis, Notes, Question
from planner.results.plan import Neighbor, PlanResult, RankedPlan
from planner.results.result import SolveResult
from planner.results.solved_parts import Candidates, Front, Stages
from planner.search.rounding import SAME
from solvers.solution import Status

Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What an answer says of its question, with a plan and without one.

    Attributes:
        request: As asked.
        question: The job as it was understood.
        notes: What is lost, assumed and counted as useful; with a plan also what its times rest on.
        started: `time.perf_counter` value at which the work began.
        model: Of the job on its machine; None of pools.
    """

    request: Request
    question: Question
    notes: Notes
    started: float
    model: CostModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The best plan of a search, and what is known of the plans around it.

    Attributes:
        best: The plan with its cost.
        facts: Its stages and network levels.
        front: The non-dominated plans.
        top, top_complete, neighbors: As of `planner.results.solved_parts.Candidates`.
        why: What binds it, in sentences.
        scope: What it was chosen among, and what runs it.
        stages: What it gains by stages that differ, and by pools.
    """

    best: PlanResult
    facts: PlanFacts
    front: Front
    top: Sequence[RankedPlan]
    why: Sequence[str]
    scope: Scope = field(default=Scope())
    top_complete: bool = False
    neighbors: Sequence[Neighbor] = ()
    stages: Stages = field(default=Stages())


def setting_of(resolved: Resolved, losses: Sequence[str], started: float) -> Setting:
    """What an answer says of a job on one kind of machine."""
    return Setting(
        request=resolved.request,
        question=Question(
            job=job_fields(resolved), plan_job=job_of(resolved), asked=asked_of(resolved.request)
        ),
        notes=Notes(
            losses=tuple(losses),
            defaults=(*resolved.defaults, *scope_default(resolved)),
            mfu_convention=mfu_convention(resolved.cost.assumptions),
            spread=spread_of(resolved.cost),
            sources=sources_of(resolved.cost),
        ),
        started=started,
        model=resolved.cost,
    )


def with_plan(
    setting: Setting,
    certificate: Certificate,
    chosen: Chosen,
    counts: Counts,
    front_counts: Counts | None = None,
) -> SolveResult:
    """The answer when there is a plan.

    Args:
        setting: The question.
        certificate: How the search ended, and why no plan is better.
        chosen: The best plan.
        counts, front_counts: As of `planner.results.solved_parts.Candidates`.
    """
    job = setting.question.plan_job
    front = tuple(replace(plan, job=job) for plan in chosen.front.plans)
    return SolveResult(
        certificate=certificate,
        best=replace(chosen.best, job=job),
        facts=chosen.facts,
        front=replace(chosen.front, plans=front),
        candidates=Candidates(
            counts=counts,
            front_counts=front_counts or {},
            top=chosen.top,
            top_complete=chosen.top_complete,
            neighbors=chosen.neighbors,
            wider=chosen.scope.wider,
            seconds=time.perf_counter() - setting.started,
        ),
        stages=replace(chosen.stages, layout=setting.request.layout),
        notes=replace(
            setting.notes,
            why=chosen.why,
            caveats=Deferred(
                lambda: (
                    *chosen.scope.words,
                    *power_words(setting.request, chosen.best),
                    *run_words(setting.request, setting.model),
                )
            ),
            runs_in=chosen.scope.runs_in,
        ),
        run=training_run(setting.request, chosen.best, setting.model, chosen.front.plans),
        question=setting.question,
        versions=versions(RESULT_VERSION),
    )


def without_plan(
    setting: Setting, certificate: Certificate, counts: Counts, diagnosis: Diagnosis | None
) -> SolveResult:
    """The answer when no plan fits, for a reason, or none was found in time above a bound.

    Args:
        setting: The question.
        certificate: How the search ended, and what is known of plans all the same.
        counts: As of `planner.results.solved_parts.Candidates`.
        diagnosis: Why no plan fits; None where that is not proved.
    """
    return SolveResult(
        certificate=certificate,
        best=None,
        front=Front(
            plans=(),
            objectives=setting.request.front,
            complete=certificate.status == Status.INFEASIBLE.value,
        ),
        candidates=Candidates(counts=counts, seconds=time.perf_counter() - setting.started),
        stages=Stages(layout=setting.request.layout),
        notes=replace(setting.notes, spread=None, sources={}),
        diagnosis=diagnosis,
        question=setting.question,
        versions=versions(RESULT_VERSION),
    )


def as_best(
    points: Sequence[PlanResult], best: PlanResult, objectives: Sequence[Objective]
) -> tuple[PlanResult, ...]:
    """The plans of a front, with the best plan in place of one that has its objectives."""
    return tuple(best if is_tied(point, best, objectives) else point for point in points)


def is_tied(point: PlanResult, best: PlanResult, objectives: Sequence[Objective]) -> bool:
    """Whether a plan of the front has the objectives of the best plan, on the same machine."""
    pairs = [(one.value_of(point.costs), one.value_of(best.costs)) for one in objectives]
    same = all(math.isclose(mine, other, rel_tol=SAME) for mine, other in pairs)
    return same and point.chips == best.chips and point.machine == best.machine
