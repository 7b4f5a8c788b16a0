"""`planner.solve_phases`: each phase of a run is solved alone; days, energy and money add.

The plan of a phase limits that of no other, so that the least sum is the sum of the least: the
proofs of the phases are the proof of the sum. Phases that share a plan are the exception
(`planner.answers.run.shared`). Errors of their step times and failure rates come from one model, so
that the ends of their intervals add too. The stops from phase to phase
(`planner.answers.run.stops`) are added to what the run takes, and are no part of what is minimized.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Unpack

from planner.answers.api import solve_request
from planner.answers.run.passages import passage_of
from planner.answers.run.phased import Passage, Phase, PhasesResult, Sum
from planner.answers.run.shared import with_one_plan
from planner.answers.run.stops import stop_between
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import Progress
from planner.base.units import DAY_S
from planner.question.asked.typed import SolveFields
from planner.question.files.plan_text import asked_of
from planner.question.kinds.kind import Kind, kind_of
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.run.phases import PLAN, fields_of
from planner.question.run.upkeep import RUN_LIMITS
from planner.results.certificate import Certificate
from planner.results.parts import TrainingRun
from planner.results.result import SolveResult

_SUMMED = (
    "tokens", "steps", "days", "days_low", "days_high", "ideal_days", "energy_mwh",
    "facility_energy_mwh", "cost", "electricity_cost", "co2_t",
)  # fmt: skip


def solve_phases(
    *, on_progress: Progress | None = None, **fields: Unpack[SolveFields]
) -> PhasesResult:
    """The proven optimal plan for each phase of a run, and what the run takes.

    Args:
        on_progress: Called with (what, done, of) while the searches run.
        **fields: Fields of the question, `phases` among them.

    Raises:
        InputError: The question cannot be asked as it is; the message says what is allowed.
    """
    return solve_phases_request(request_from(fields), on_progress)


def solve_phases_request(
    request: Request, on_progress: Progress | None = None, origin: Origin = ARGUMENTS
) -> PhasesResult:
    """`solve_phases` for a validated request; `origin` names its fields in messages."""
    started = time.perf_counter()
    _check(request, origin)
    asked = list(phase_requests(request, origin))
    phases = [
        Phase(request=own, answer=_answer(own, at, on_progress, origin), same=same)
        for at, (own, same) in enumerate(asked, start=1)
    ]
    solved = all(phase.best is not None for phase in phases)
    passages: list[Passage] = []
    if solved:
        phases = [phase for group in _groups(phases) for phase in group]
        passages = [*_passages(phases)]
    return PhasesResult(
        subject=_subject(phases),
        asked=asked_of(request),
        phases=tuple(phases),
        passages=tuple(passages),
        total=_total(phases, passages) if solved else None,
        seconds=time.perf_counter() - started,
    )


def _check(request: Request, origin: Origin) -> None:
    """Refuses what phases cannot have.

    Raises:
        InputError: One line.
    """
    label = origin.label
    if not request.phases:
        raise InputError(
            f"{label(['phases'])}: is missing; say the tokens of each, e.g. 14.8e12,seq_len=8192"
        )
    if request.train_tokens is not None:
        raise InputError(
            f"{label(['train_tokens'])}: each phase says its own; leave them out, or the phases"
        )
    if (kind := kind_of(request)) in (Kind.POOLS, Kind.MACHINES):
        of = "pools" if kind is Kind.POOLS else "several machines"
        raise InputError(f"{label(['phases'])}: are planned on one machine, not on {of}")
    if limits := [name for name in RUN_LIMITS if getattr(request, name) is not None]:
        raise InputError(
            f"{label(limits[:1])}: limits the whole run, whose phases are planned one by one; "
            "leave it out"
        )
    if request.down is not None:
        raise InputError(f"{label(['down'])}: is about one plan that runs; leave the phases out")
    same = any(PLAN in fields_of(phase) for phase in request.phases)
    if same and request.minimized.degree != 1:
        raise InputError(
            f"{label(['phases'])}: plan=same needs an objective that adds over steps, such as "
            f"time, energy or money; {request.objective} does not"
        )


def phase_requests(request: Request, origin: Origin = ARGUMENTS) -> Iterator[tuple[Request, bool]]:
    """What each phase asks alone, and whether it keeps the plan of the one before.

    Raises:
        InputError: A phase cannot be asked as it is.
    """
    asked = request.model_dump(mode="json", exclude_unset=True)
    common = {name: value for name, value in asked.items() if name != "phases"}
    chips: dict[str, str] = {}
    for at, phase in enumerate(request.phases, start=1):
        own = fields_of(phase)
        same = own.pop(PLAN, None) is not None
        chips = chips if same else {name: own[name] for name in ("chips",) if name in own}
        if "chips" in chips:
            common = {name: value for name, value in common.items() if name != "chips_at_most"}
        yield _in_phase({**common, **own, **chips}, at, origin), same
        for name in ("resume_from", "checkpoint"):  # which are about the first alone
            common.pop(name, None)


def _in_phase(fields: dict[str, Any], at: int, origin: Origin) -> Request:
    try:
        return request_from(fields)
    except InputError as error:
        lines = (
            f"{origin.label(['phases'])}: phase {at}: {line}" for line in str(error).split("\n")
        )
        raise InputError("\n".join(lines)) from error


def _answer(request: Request, at: int, on_progress: Progress | None, origin: Origin) -> SolveResult:
    try:
        return solve_request(request, on_progress, origin)
    except InputError as error:
        lines = (f"phase {at}: {line}" for line in str(error).split("\n"))
        raise InputError("\n".join(lines)) from error


def _groups(phases: Sequence[Phase]) -> Iterator[list[Phase]]:
    """Phases that share a plan together, with that plan; each other one alone."""
    at = 0
    while at < len(phases):
        end = at + 1
        while end < len(phases) and phases[end].same:
            end += 1
        group = list(phases[at:end])
        yield group if len(group) == 1 else with_one_plan(group, f"{at + 1} to {end}")
        at = end


def _passages(phases: Sequence[Phase]) -> Iterator[Passage]:
    for before, after in pairwise(phases):
        if before.best is not None and after.best is not None:
            framework = str(before.answer.question.plan_job["framework"])
            yield passage_of(framework, before.best.plan, after.best.plan)


def _subject(phases: Sequence[Phase]) -> str:
    """`llama3.1-405b on 16,384 x h100-sxm5-80 (dgx-h100-ndr)`."""
    jobs = [phase.answer.question.job for phase in phases]
    counts = {
        phase.best.chips if phase.best else job["chips"]
        for phase, job in zip(phases, jobs, strict=True)
    }
    chips = f"{counts.pop():,} x " if len(counts) == 1 else ""
    return f"{jobs[0]['model']} on {chips}{jobs[0]['chip']} ({jobs[0]['hardware']})"


def _total(phases: Sequence[Phase], passages: Sequence[Passage]) -> Sum | None:
    """What all phases take together, with the stops between them."""
    runs = [phase.answer.run for phase in phases]
    known = [run for run in runs if run is not None]
    if len(known) < len(runs):
        return None
    pairs = zip(pairwise(phases), passages, strict=True)
    stops = [stop for pair, one in pairs if (stop := stop_between(*pair, one)) is not None]
    run, work = _summed([*known, *stops]), _summed(known)
    kept = [one.goodput for one in known]
    failures = _added([None if one is None else one.failures for one in kept])
    share = None if None in kept or not work.days else work.ideal_days / work.days
    return Sum(
        run=run,
        stops_s=sum(stop.ideal_days for stop in stops) * DAY_S,
        share=share,
        failures=failures,
        objective=_weighed(phases, lambda proof: proof.objective),
        bound=_weighed(phases, lambda proof: proof.bound),
    )


def _summed(runs: Sequence[TrainingRun]) -> TrainingRun:
    sums: dict[str, Any] = {name: _added([getattr(one, name) for one in runs]) for name in _SUMMED}
    return TrainingRun(**sums)


def _added(values: Sequence[float | None]) -> float | None:
    """The sum; None where one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _weighed(phases: Sequence[Phase], of: Callable[[Certificate], float | None]) -> float | None:
    """A value of each step, summed over all steps; None where it has no sum, or one is missing.

    One of the whole run is that of all steps of a phase already.
    """
    minimized = phases[0].request.minimized
    if minimized.degree != 1:
        return None
    values = [(of(phase.answer.certificate), phase.answer.run) for phase in phases]
    if minimized.of_run:
        return _added([value for value, _ in values])
    return _added([
        None if value is None or run is None else value * run.steps for value, run in values
    ])  # fmt: skip
