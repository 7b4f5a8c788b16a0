"""What the plan of one answer costs in the question of another, and whether it is allowed there."""

from __future__ import annotations

import math
from dataclasses import replace

from frozen_records import dataclass
from planner.answers.changes.answer_changes import Answer
from planner.answers.evaluation import limits_of, options_of
from planner.base.errors import InputError
from planner.base.vocabulary import LAYOUTS
from planner.explanation.steps.neighbors import judged
from planner.frameworks.targets import Target
from planner.plan import Plan
from planner.question.facility import under_limit
from planner.question.files.plan_file import PlanRead
from planner.question.kinds.kind import Kind, kind_of
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve
from planner.search.limits import Limits
from planner.verification.asked import fingerprints

ALLOWED = "allowed there"
_FREEDOMS = ("layout", "placement")
"""Fields that say which forms plans have: of another form not all can be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A plan in a question, by the model of this installation.

    Attributes:
        value: What it costs in terms of what that question minimizes; None: it is not allowed.
        refusal: Why it is not; empty where it is.
    """

    value: float | None
    refusal: str = ""


def standing(answer: Answer, asked: Answer) -> Standing | None:
    """How the best plan of one answer stands in the question of another; None: it cannot be told.

    It cannot of pools, of machines that are a decision, of what this installation cannot ask, and
    of most plans whose form that question does not have.
    """
    job = None if answer is asked else asked.file.question.plan_job
    try:
        request = asked.searched()
        if kind_of(request) in (Kind.POOLS, Kind.MACHINES):
            return None
        read = answer.read_best(job)
        return None if read is None else _stands(answer, asked, read, request)
    except InputError:
        return None


def allowed_words(full: Answer, empty: Answer) -> str:
    """Whether this installation allows the plan of one answer in the question of the other.

    Nothing is said of it in another job, on other chips or machines, or among other layouts.
    """
    try:
        request, read = empty.searched(), full.read_best()
        if read is None:
            return ""
        own = resolve(read.request, read.origin, read.plan.chips)
        there = resolve(request)
        same = fingerprints(own) == fingerprints(there) and read.plan.chips in there.counts
    except InputError:
        return ""
    found = standing(full, empty) if same and _of_one_form(full, empty) else None
    if found is None:
        return ""
    return f"not allowed there ({found.refusal})" if found.refusal else ALLOWED


def _of_one_form(one: Answer, other: Answer) -> bool:
    """Whether both questions ask for plans of one form."""
    asked = [end.file.question.asked for end in (one, other)]
    return all(asked[0].get(name) == asked[1].get(name) for name in _FREEDOMS)


def _stands(answer: Answer, asked: Answer, read: PlanRead, request: Request) -> Standing | None:
    there = resolve(request)
    plan = under_limit(read.plan, there.cost.clock_limit)
    if refusal := _of_other_chips(plan, there, asked) or _of_other_form(plan, request):
        return Standing(value=None, refusal=refusal)
    if plan.chips not in there.counts:
        return None
    free = request.layout in LAYOUTS and request.placement != "torus" and plan.layout is None
    if not (free or _of_one_form(answer, asked)):
        return None
    limits, targets = _kept(asked, there)
    model = there.cost.on(plan.chips)
    (found,) = judged(model, [("", plan)], limits, options_of(request, targets))
    if found.refusal or found.result is None:
        return Standing(value=None, refusal=found.refusal.words if found.refusal else "")
    return Standing(value=asked.file.minimized.value_of(found.result.costs))


def _kept(asked: Answer, there: Resolved) -> tuple[Limits, tuple[Target, ...]]:
    """Limits and targets of a question: of those that were assumed what its own plan keeps to.

    A search lets go of them where no plan keeps to them.
    """
    limits, targets = limits_of(there.request), there.runners.targets
    risk = _of_best(asked, "out_of_memory_probability", math.inf)
    if there.request.max_oom_risk is None and risk > (limits.oom_risk or 0.0):
        limits = replace(limits, oom_risk=None)
    runs = {target.name for target in targets} & set(asked.file.notes.runs_in)
    return limits, () if there.runners.assumed and not runs else targets


def _of_best(answer: Answer, name: str, absent: float) -> float:
    """A figure of the best plan of an answer."""
    figure = (answer.file.best or {}).get(name)
    return figure if isinstance(figure, int | float) else absent


def _of_other_chips(plan: Plan, there: Resolved, asked: Answer) -> str:
    """Why a plan has too many or too few chips for a question; empty where it has not.

    Fewer are taken only where no plan is on all of them.
    """
    most, fewest = there.chips, min(there.counts)
    if plan.chips > most:
        return f"it takes {_chips(plan.chips)}, there are {most:,}"
    on_all = not there.takes_fewer or _of_best(asked, "chips", 0) >= fewest
    if plan.chips < fewest and on_all:
        return f"it takes {_chips(plan.chips)}, {fewest:,} at least were asked for"
    return ""


def _of_other_form(plan: Plan, request: Request) -> str:
    """Why a plan has stages that a question does not; empty where it may have them."""
    if plan.stages is not None and request.layout == LAYOUTS[0]:
        return f"its stages differ, and layout {LAYOUTS[0]} was asked for"
    return ""


def _chips(count: int) -> str:
    return f"{count:,} chip{'s' * (count != 1)}"
