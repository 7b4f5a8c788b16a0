"""Documents of answers: which fields they have, and whether what they say can be true.

Costs and words about a plan are worked out again elsewhere. What a search alone knows (how it
ended, what it counted) cannot be, short of searching again: here it has to agree with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from planner.answers.files.clocks import FrontClocks, PlanClocks
from planner.answers.files.reevaluation import differences
from planner.base.fields import choice, refusal
from planner.objectives import BY_PRODUCT, OBJECTIVES, Objective, objective_asked
from planner.question.kinds.kind import Kind, kind_of
from planner.question.kinds.uneven import UNEVEN, limits_on_front
from planner.question.request import Request
from planner.results.certificate import LAUNCHABLE, Certificate, FunnelStage, TimeStep
from planner.results.parts import Diagnosis, FrontLimits, MachineSearch
from planner.results.plan import PlanResult

Minimized = Annotated[str, choice(OBJECTIVES)]
Whole = Annotated[int, Field(ge=0)]
_CONSIDERED = "considered"
SOLVED = "stages"
SPLIT = (SOLVED, "LB_E again")
"""Stages of a funnel to which interleaved rows come once for each of the layers that their fullest
device may have."""
"""The stage of a funnel whose rows are solved to proof or left."""
_SAME = 1e-9


def _adding_up(stages: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Counts of stages in each of which all that was considered was dropped, left or passed."""
    for name, counts in stages.items():
        total = sum(count for what, count in counts.items() if what != _CONSIDERED)
        if counts and counts.get(_CONSIDERED) != total:
            raise refusal(f"{name}: {_CONSIDERED} is not the sum of the others, {total:,}")
    return stages


Counts = Annotated[dict[str, dict[str, Whole]], AfterValidator(_adding_up)]


class _Loose(BaseModel):
    """Fields that documents have beside these are compared with what is worked out again."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class DefaultTaken(_Loose):
    """A value that was assumed."""

    name: str
    value: str
    reason: str


class _Front(_Loose):
    """The front of an answer."""

    plans: list[dict[str, Any]]
    objectives: tuple[Minimized, ...]
    complete: bool
    note: str
    limits: FrontLimits | None


class _Certificate(_Loose):
    """How a search ended, and why no plan is better."""

    status: Literal["optimal", "feasible", "infeasible", "time_limit"]
    objective_name: Minimized
    objective: float | None
    bound: float | None
    gap: float | None
    uniform: float | None
    funnel: tuple[FunnelStage, ...]
    solved: Whole
    stage_solves: Whole
    left: Whole
    lowest_left: float | None
    solvers: dict[str, Whole]
    refused: dict[str, Whole] = {}
    steps: tuple[TimeStep, ...]

    @property
    def record(self) -> Certificate:
        """As answers have it."""
        return Certificate(**{one.name: getattr(self, one.name) for one in fields(Certificate)})


class _Wider(_Loose):
    """What lifting a wish gives."""

    lifted: str
    plan: dict[str, Any] | None
    proved: bool


class _Candidates(_Loose):
    """What was searched, and the best few plans."""

    top: list[dict[str, Any]]
    top_complete: bool
    wider: list[_Wider] = []
    counts: Counts
    front_counts: Counts
    machines: tuple[MachineSearch, ...]
    seconds: Annotated[FiniteFloat, Field(ge=0)]


class _Stages(_Loose):
    """What was asked of the stages."""

    layout: str
    uniform: dict[str, Any] | None


class _Notes(_Loose):
    """What an answer says beside its figures."""

    losses: tuple[str, ...]
    defaults: list[DefaultTaken]
    mfu_convention: str
    runs_in: tuple[str, ...] = ()


class _Question(_Loose):
    """What was asked."""

    job: dict[str, Any]
    plan_job: dict[str, Any]
    asked: dict[str, Any]


class SolvedDocument(_Loose):
    """What `planner solve --json` prints beside its plans."""

    certificate: _Certificate
    best: dict[str, Any] | None
    front: _Front
    candidates: _Candidates
    stages: _Stages
    notes: _Notes
    diagnosis: Diagnosis | None
    operation_clocks: FrontClocks | None = None
    question: _Question
    versions: dict[str, str]

    @property
    def minimized(self) -> Objective:
        """What the best plan has the least of."""
        return objective_asked(self.certificate.objective_name, self.question.asked)


class _Known(_Loose):
    """What answers about one plan, and fronts, have."""

    job: dict[str, Any]
    plan_job: dict[str, Any]
    versions: dict[str, str]


class FrontDocument(_Known):
    """What `planner solve --pareto front.json` writes beside its plans."""

    objectives: tuple[Minimized, ...]
    complete: bool
    note: str
    front: list[dict[str, Any]] = Field(min_length=1)


class EvaluatedDocument(_Known):
    """What `planner evaluate --json` prints beside its plan; `planner explain --json` has more."""

    asked: dict[str, Any]
    defaults: list[DefaultTaken]
    operation_clocks: PlanClocks | None = None
    objective_name: Minimized | None = None


def status_mistakes(file: SolvedDocument, request: Request) -> list[str]:
    """How the end of a search contradicts the plans, the counts or the time that was given."""
    status = file.certificate.status
    within = status == "feasible" and None not in (request.gap, file.certificate.gap)
    early = request.time_limit is not None or within
    lines = ending_mistakes(file)
    if status in ("feasible", "time_limit") and not early:
        lines.append(f"certificate.status: {status!r} contradicts a search without a time limit")
    asked = [
        ("certificate.objective_name", file.certificate.objective_name, request.objective),
        ("front.objectives", file.front.objectives, request.front),
        ("stages.layout", file.stages.layout, request.layout),
    ]
    lines += _front_limit_mistakes(file, request)
    return lines + [
        f"{name}: contradicts what was asked" for name, value, wanted in asked if value != wanted
    ]


def ending_mistakes(file: SolvedDocument) -> list[str]:
    """How the end of a search contradicts the plans, whatever was asked."""
    status, front, lines = file.certificate.status, file.front.plans, []
    if (file.best is not None) != (status in ("optimal", "feasible")):
        word = "no best plan" if file.best is None else "a best plan"
        lines.append(f"certificate.status: {status!r} contradicts {word}")
    if (file.diagnosis is not None) != (status == "infeasible"):
        word = "no diagnosis" if file.diagnosis is None else "a diagnosis"
        lines.append(f"certificate.status: {status!r} contradicts {word}")
    if bool(front) != bool(file.candidates.top) or bool(front) != (file.best is not None):
        lines.append("best, front.plans, candidates.top: one is empty, another is not")
    if file.best is None and file.certificate.objective is not None:
        lines.append("certificate.objective: contradicts no best plan")
    return lines


def _front_limit_mistakes(file: SolvedDocument, request: Request) -> list[str]:
    """How the limits that make up a front contradict what was asked, or its plans."""
    wanted = limits_on_front(request) if file.best is not None else None
    limits = file.front.limits
    if (limits and limits.asked) != wanted:
        return ["front.limits: contradicts what was asked"]
    if limits is not None and not 0 <= limits.proved <= (wanted or 0):
        return [f"front.limits.proved: {limits.proved:,} of {wanted:,} limits"]
    return []


def proof_mistakes(file: SolvedDocument, value: float) -> list[str]:
    """How an objective, a bound and a gap contradict the best plan or one another.

    Args:
        file: The answer.
        value: The objective of its best plan.
    """
    known, bound = file.certificate, file.certificate.bound
    if bound is None and known.status == "optimal":
        return ["certificate.bound: is missing beside a best plan that is proved"]
    if bound is not None and bound > value * (1 + _SAME):
        return [f"certificate.bound: {bound:g} is above the objective, {value:g}"]
    told = {"objective": known.objective, "gap": known.gap}
    gap = replace(known.record, objective=value).gap
    if lines := list(differences(told, {"objective": value, "gap": gap})):
        return [f"certificate.{line}" for line in lines]
    if known.status == "optimal" and gap is not None and gap > 1e-6:
        return [f"certificate.status: 'optimal' contradicts a gap of {gap:.3g}"]
    return []


def certificate_mistakes(
    file: SolvedDocument, request: Request, uniform: PlanResult | None
) -> list[str]:
    """How a certificate contradicts the best uniform plan or itself.

    Args:
        file: The answer.
        request: The question.
        uniform: The best uniform plan, evaluated again.
    """
    found, kind = file.certificate.record, kind_of(request)
    if found.objective is None:
        return []
    bound = -np.inf if found.bound is None else found.bound
    if kind in (Kind.UNIFORM, Kind.MACHINES):
        value: float | None = found.objective
    else:
        value = None if uniform is None else file.minimized.value_of(uniform.costs)
    wanted = {"uniform": value}
    lines = [f"certificate.{line}" for line in differences({"uniform": found.uniform}, wanted)]
    if lines:
        return lines
    within = file.stages.layout == UNEVEN  # a layout that is given excludes uniform plans
    if within and value is not None and found.objective > value * (1 + _SAME):
        lines.append(f"certificate.uniform: {value:g} is below the objective, {found.objective:g}")
    split = within and request.fix.get("interleave") != ("1",) and kind is not Kind.POOLS
    lines += _funnel_mistakes(found, split=split)
    lowest = [("lowest_left", found.lowest_left)]
    lowest += [(f"funnel.{at}.lowest", one.lowest) for at, one in enumerate(found.funnel, start=1)]
    lines += [
        f"certificate.{name}: {least:g} is below the bound, {bound:g}"
        for name, least in lowest
        if file.minimized.uneven != BY_PRODUCT and least is not None and least < bound * (1 - _SAME)
    ]
    least = min((step.product_js for step in found.steps), default=bound)
    if least < bound * (1 - _SAME):
        lines.append(f"certificate.steps: {least:g} J s is below the bound, {bound:g}")
    if found.status == "optimal" and found.left:
        lines.append(f"certificate.left: {found.left:,} rows contradict the status 'optimal'")
    return lines


def _funnel_mistakes(found: Certificate, *, split: bool) -> list[str]:
    """Rows that are lost between the stages of a funnel, or after stage problems.

    The first stage counts rows before their placements, each of which is a row to the next; so is
    each way to tell a target of a row.

    Args:
        found: With the funnel.
        split: Whether rows may be interleaved, see `SPLIT`.
    """
    lines = []
    funnel = found.funnel
    for at, stage in enumerate(funnel):
        left = stage.rows - stage.dropped
        if at + 1 < len(funnel):
            ends = stage.name.endswith(LAUNCHABLE), funnel[at + 1].name.endswith(LAUNCHABLE)
            fullest = split and funnel[at + 1].name in SPLIT
            more = (at == 0 or ends == (False, True) or fullest) and left > 0
            after = left if more else funnel[at + 1].rows
        else:
            after = found.solved + found.left if stage.name == SOLVED else max(left, 0)
        if left != after:
            lines.append(
                f"certificate.funnel.{at + 1}: {stage.rows:,} rows less {stage.dropped:,} dropped "
                f"leave {left:,}, not {after:,}"
            )
    return lines


def front_mistakes(points: Sequence[PlanResult], objectives: Sequence[str]) -> list[str]:
    """Plans of a front that are out of order, or that another one beats in everything.

    Args:
        points: As the front has them.
        objectives: What they are compared by.
    """
    costs = np.array(
        [[OBJECTIVES[name].value_of(point.costs) for name in objectives] for point in points]
    )
    times = costs[:, 0]
    late = np.flatnonzero(times[1:] < times[:-1] * (1 - _SAME))
    lines = [f"front.{row + 2}: is faster than the plan before it" for row in late]
    one, other = costs[:, None, :], costs[None, :, :]
    beaten = np.all(other <= one, axis=2) & np.any(other < one * (1 - _SAME), axis=2)
    rows = np.flatnonzero(np.any(beaten, axis=1))
    return lines + [f"front.{row + 1}: front.{beaten[row].argmax() + 1} beats it" for row in rows]


def rank_mistakes(best: PlanResult, ranked: Sequence[PlanResult]) -> list[str]:
    """Whether the best plans begin with the best one."""
    if ranked and ranked[0].plan != best.plan:
        return ["top.1: is not the best plan"]
    return []
