"""`planner.solve` and `planner.evaluate`: one call from a question to an answer."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from frozen_records import dataclass
from hardware_db import Allocation
from planner.answers.evaluation import evaluate_plan, limits_of, options_of
from planner.base.errors import InputError
from planner.base.log import INFO, log
from planner.base.messages import Origin
from planner.base.progress import Progress
from planner.base.vocabulary import PER_OPERATION
from planner.collectives.tables.tables import prepare
from planner.network.synthesized.tables import NCCL
from planner.plan import Plan
from planner.question.asked.typed import EvaluateFields, SolveFields
from planner.question.chips_of_plan import check_request_chips
from planner.question.kinds.contradictions import check_question
from planner.question.kinds.kind import Kind, kind_of
from planner.question.kinds.operation_clocks import check_clocks
from planner.question.kinds.uneven import check_layers
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.results.result import EvaluateResult, SolveResult
from planner.search.uniform.engine import UniformSpace

if TYPE_CHECKING:  # a question loads its own space alone: the rest is much of a short command
    from planner.question.launch.resuming import Resumed
    from planner.search.sharing.session import Session
    from planner.search.space import Trail
    from planner.search.uneven.front import OnPoint

__all__ = ["evaluate", "evaluate_plan", "limits_of", "options_of", "solve", "solve_request"]


def solve(
    *,
    on_progress: Progress | None = None,
    session: Session | None = None,
    **fields: Unpack[SolveFields],
) -> SolveResult:
    """The proven optimal plan for a job on a cluster, and the exact Pareto front.

    Args:
        on_progress: Called with (what, done, of) while the search runs.
        session: What this question shares with those asked before it; the answer is the same
            without, but for its counts and its time.
        **fields: Fields of the question, e.g. `model="llama2-13b"` (`docs/jobs.md`).

    Raises:
        InputError: The question cannot be asked as it is; the message says what is allowed.
    """
    return solve_request(request_from(fields), on_progress, session=session)


def evaluate(source: str | Path | Plan, **fields: Unpack[EvaluateFields]) -> EvaluateResult:
    """What one plan costs.

    Args:
        source: Path of a plan file, or of a row of a front such as `front.json:2`, or a `Plan`
            (then `fields` say the job).
        **fields: Fields of the question that override those of the file.

    Raises:
        InputError: The file or the plan cannot be used.
    """
    if isinstance(source, Plan):
        request = request_from(fields)
        if kind_of(request) is not Kind.POOLS:
            check_request_chips(request, source, ARGUMENTS)
        _check_power(request, fields)
        return _evaluated(request, source, ARGUMENTS)
    from planner.question.files.plan_file import read_plan_file  # noqa: PLC0415  (start-up)

    read = read_plan_file(Path(source), fields)
    _check_power(read[0], fields)
    return _evaluated(*read)


def _check_power(request: Request, fields: EvaluateFields) -> None:
    """Refuses a limit that only clocks of operations keep to, where none are asked for."""
    if fields.get("max_power") is not None and request.clocks != PER_OPERATION:
        raise InputError(f"max-power: has no effect without clocks {PER_OPERATION}; add it")


def _evaluated(
    request: Request,
    plan: Plan,
    origin: Origin,
    assumed: tuple[tuple[str, str, str], ...] = (),
) -> EvaluateResult:
    """What a plan costs; `assumed`: what its source left out."""
    if kind_of(request) is Kind.POOLS:
        check_clocks(request, origin)
        from planner.answers.spaces.pools import evaluate_pools  # noqa: PLC0415  (start-up)
        from planner.question.pools import resolve_pools  # noqa: PLC0415  (start-up)

        return evaluate_pools(resolve_pools(request, origin), plan, assumed)
    resolved = resolve(request, origin, plan.chips)
    found = evaluate_plan(resolved, plan, assumed)
    if request.clocks != PER_OPERATION:
        return found
    from planner.answers.spaces.operations import clocks_of_plan  # noqa: PLC0415  (few ask)
    from planner.results.operation_clocks import SWITCHING_S  # noqa: PLC0415  (start-up)

    return replace(found, clocks=clocks_of_plan(resolved, found.result.plan, SWITCHING_S))


def solve_request(
    request: Request,
    on_progress: Progress | None = None,
    origin: Origin = ARGUMENTS,
    on_point: OnPoint | None = None,
    session: Session | None = None,
    trail: Trail | None = None,
) -> SolveResult:
    """`solve` for a validated request.

    Args:
        request: The question.
        on_progress: Called with (what, done, of) while the search runs.
        origin: Names its fields in messages.
        on_point: With uneven stages called with (plan, seconds, joules) of every point of the
            front that is proved.
        session: See `solve`.
        trail: Where what a search did with every node, or the stage problems of its rows, are
            kept, for a certificate; None: nowhere.

    Raises:
        InputError: The question cannot be asked as it is.
    """
    question = searched_for(request, origin)
    asked = question.request
    log(__name__, INFO, "solve", model=asked.model, hardware=asked.hardware)
    result = solved(asked, on_progress, origin, on_point, session, trail)
    log(
        __name__, INFO, "solved", status=result.status, objective=result.objective,
        bound=result.bound, gap=result.gap, seconds=result.candidates.seconds,
    )  # fmt: skip
    return question.noted(result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A question as it is searched, and what its answer says whatever found the plans.

    Attributes:
        asked: The question.
        request: The same without a run that exists: what its checkpoint keeps is fixed.
        origin: Names its fields in messages.
        run: That run; None: there is none.
    """

    asked: Request
    request: Request
    origin: Origin
    run: Resumed | None = None

    def noted(self, result: SolveResult) -> SolveResult:
        """The answer with what the changes of the question do, and what a run that exists keeps.

        Raises:
            InputError: A change cannot change the answer.
        """
        if self.request.set or self.request.degrade_link:
            from planner.answers.notes.changes import with_changes_noted  # noqa: PLC0415  (few ask)

            options = options_of(self.request)
            result = with_changes_noted(self.request, result, options, self.origin)
        return self.with_run(result)

    def with_run(self, result: SolveResult) -> SolveResult:
        """The answer with what a run that exists keeps, and what leaving its layout gains."""
        if self.run is None:
            return result
        from planner.answers.resuming import with_run_noted  # noqa: PLC0415  (few ask)

        return with_run_noted(self.asked, self.origin, self.run, result)


def searched_for(request: Request, origin: Origin) -> Searched:
    """What is searched for a question; `origin` names its fields in messages.

    Raises:
        InputError: It goes on from a run that cannot be used.
    """
    if request.resume_from is None:
        return Searched(asked=request, request=request, origin=origin)
    from planner.answers.resuming import narrowed  # noqa: PLC0415  (few ask)

    narrow, run = narrowed(request, origin)
    return Searched(asked=request, request=narrow, origin=origin, run=run)


def solved(
    request: Request,
    on_progress: Progress | None,
    origin: Origin,
    on_point: OnPoint | None,
    session: Session | None = None,
    trail: Trail | None = None,
) -> SolveResult:
    """The answer as the search has it, whether changes of the question move it or not.

    Arguments and errors as of `solve_request`.
    """
    started = time.perf_counter()
    check_question(request, origin)
    kind = kind_of(request)
    if kind is Kind.POOLS:
        from planner.answers.spaces.pools import solve_pools  # noqa: PLC0415  (start-up)
        from planner.question.pools import resolve_pools  # noqa: PLC0415  (start-up)

        return solve_pools(resolve_pools(request, origin), on_progress, started, trail)
    if kind is Kind.MACHINES:
        from planner.answers.spaces.machines import solve_machines  # noqa: PLC0415  (start-up)
        from planner.search.machines.joint import machines_of  # noqa: PLC0415  (start-up)

        at = (origin, _deadline(request, started))
        machines = machines_of(request, options_of(request), limits_of(request), *at)
        return solve_machines(replace(machines, session=session), started, on_progress)
    return _on_one_machine(request, on_progress, origin, on_point, session, trail, started)


def _on_one_machine(
    request: Request,
    on_progress: Progress | None,
    origin: Origin,
    on_point: OnPoint | None,
    session: Session | None,
    trail: Trail | None,
    started: float,
) -> SolveResult:
    """`solved` of plans on one machine, whose stages are alike or may differ."""
    resolved = resolve(request, origin)
    allocation = _allocation(resolved, origin)
    if resolved.cost.assumptions.collectives != NCCL:
        prepare(resolved.cost.cluster, resolved.counts[-1], on_progress)
    check_layers(request, resolved.cost.job.model, origin)
    space = UniformSpace(
        model=resolved.cost,
        options=options_of(request, resolved.runners.targets),
        limits=limits_of(request),
        chips=resolved.counts,
        columns=request.compared,
        deadline=_deadline(request, started),
        session=session,
    )
    if kind_of(request) is Kind.UNEVEN:
        from planner.answers.spaces.uneven import solve_uneven  # noqa: PLC0415  (start-up)

        at = (started, on_progress, on_point, trail)
        return solve_uneven(resolved, space, allocation.losses, *at)
    from planner.answers.spaces.uniform import solve_uniform  # noqa: PLC0415  (start-up)

    ahead = None
    if request.clocks == PER_OPERATION:
        from planner.answers.spaces.operations import clocks_of_answers  # noqa: PLC0415  (few ask)

        ahead = clocks_of_answers(resolved, on_progress)
    return solve_uniform(resolved, space, allocation.losses, started, on_progress, trail, ahead)


def _deadline(request: Request, started: float) -> float | None:
    """Value of `time.perf_counter` after which no search goes on; None: it never ends."""
    return None if request.time_limit is None else started + request.time_limit


def _allocation(resolved: Resolved, origin: Origin) -> Allocation:
    """The cluster cut to the most chips of a question; a refusal names them as they were written.

    Of a range any number that the cluster gives will do.
    """
    request, counts = resolved.request, resolved.counts
    known = counts and resolved.chips <= resolved.cost.cluster.max_chips
    try:
        return resolved.cost.allocation(counts[-1] if known else resolved.chips)
    except InputError as error:
        field = "chips" if request.chips_at_most is None else "chips_at_most"
        line = f"{field}{str(error).removeprefix('chips')}"
        raise InputError(origin.blame(line, {field})) from error
