"""`planner.solve` and `planner.evaluate`: one call from a question to an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hardware_db import Allocation
from planner.answers.evaluation import evaluate_plan, limits_of, options_of
from planner.answers.machines import (
    described,
    diagnosis_of,
    nearest_miss,
    winner_of,
    winning,
    with_budgets,
)
from planner.answers.notes.front import counts_of_best
from planner.answers.pools import evaluate_pools, solve_pools
from planner.answers.uneven import solve_uneven
from planner.answers.uniform import with_plan, without_plan
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.collectives.tables.tables import prepare
from planner.cost.context import CostModel
from planner.network.synthesized.tables import NCCL
from planner.plan import Plan
from planner.question.files.plan_file import asked_of, check_chips, read_plan_file
from planner.question.objective_request import check_objective
from planner.question.pool_request import check_pools, is_pooled
from planner.question.pools import resolve_pools
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.question.uneven_request import check_layers, check_uneven, is_uneven
from planner.results.result import EvaluateResult, SolveResult
from planner.search.columns import prover_of
from planner.search.machines.joint import is_joint, joint_search
from planner.search.uneven.front import OnPoint
from planner.search.uniform.engine import Found, Progress, Search, least_memory

__all__ = ["evaluate", "evaluate_plan", "limits_of", "options_of", "solve", "solve_request"]


def solve(
    *, on_progress: Callable[[str, int, int], None] | None = None, **fields: Any
) -> SolveResult:
    """The proven optimal plan for a job on a cluster, and the exact Pareto front.

    Args:
        on_progress: Called with (what, done, of) while the search runs.
        **fields: Fields of `planner.question.request.Request`, e.g. `model="llama2-13b"`.

    Raises:
        InputError: The question cannot be asked as it is; the message says what is allowed.
    """
    return solve_request(request_from(fields), on_progress)


def evaluate(source: str | Path | Plan, **fields: Any) -> EvaluateResult:
    """What one plan costs.

    Args:
        source: Path of a plan file, or a `Plan` (then `fields` say the job).
        **fields: Fields of `Request` that override those of the file.

    Raises:
        InputError: The file or the plan cannot be used.
    """
    if isinstance(source, Plan):
        request = request_from(fields)
        if is_pooled(request):
            return evaluate_pools(resolve_pools(request, ARGUMENTS), source)
        check_chips(request.chips, source, "chips")
        return evaluate_plan(resolve(request, chips=source.chips), source)
    request, plan, origin, assumed = read_plan_file(Path(source), fields)
    if is_pooled(request):
        return evaluate_pools(resolve_pools(request, origin), plan, assumed)
    return evaluate_plan(resolve(request, origin, plan.chips), plan, assumed)


def solve_request(
    request: Request,
    on_progress: Progress | None = None,
    origin: Origin = ARGUMENTS,
    on_point: OnPoint | None = None,
) -> SolveResult:
    """`solve` for a validated request.

    Args:
        request: The question.
        on_progress: Called with (what, done, of) while the search runs.
        origin: Names its fields in messages.
        on_point: With uneven stages called with (plan, seconds, joules) of every point of the
            front that is proved.

    Raises:
        InputError: The question cannot be asked as it is.
    """
    started = time.perf_counter()
    check_objective(request, origin)
    check_uneven(request, origin)
    check_pools(request, origin)
    if is_pooled(request):
        return solve_pools(resolve_pools(request, origin), on_progress, started)
    if is_joint(request):
        return _solve_machines(request, on_progress, origin)
    if request.chips is None:
        raise InputError("chips: is missing; say how many chips to plan for, e.g. --chips 4096")
    resolved = resolve(request, origin)
    if resolved.cost.assumptions.collectives != NCCL:
        prepare(resolved.cost.cluster, request.chips, on_progress)
    allocation = _allocation(resolved.cost, request.chips, origin)
    check_layers(request, resolved.cost.job.model, origin)
    search = Search(
        model=resolved.cost,
        options=options_of(request),
        limits=limits_of(request),
        columns=request.compared,
        deadline=None if request.time_limit is None else started + request.time_limit,
        on_progress=on_progress,
    )
    if is_uneven(request):
        return solve_uneven(resolved, search, allocation.losses, started, on_point)
    columns = prover_of(request.minimized, search.columns)
    prover = search if columns == search.columns else replace(search, columns=columns)
    proof = _proof(resolved, prover)
    if len(proof.points) == 0:
        return without_plan(resolved, proof, prover, allocation.losses, started)
    apart = request.minimized.of_memory or prover is not search
    exact = search.run((request.chips,)) if apart else proof
    return with_plan(resolved, search, proof, exact, allocation.losses, started, prover)


def _solve_machines(request: Request, on_progress: Progress | None, origin: Origin) -> SolveResult:
    """`solve` where PEs per chip, wirings and the number of chips are decided with the plan."""
    started = time.perf_counter()
    joint = joint_search(
        request,
        options_of(request),
        limits_of(request),
        on_progress,
        origin,
        None if request.time_limit is None else started + request.time_limit,
    )
    found = joint.run()
    if found.row is None:
        resolved, alone = nearest_miss(joint, found)
        known = diagnosis_of(joint, found)
        answer = without_plan(resolved, alone, joint.search(0), (), started, known)
        return replace(with_budgets(joint, answer), asked=asked_of(request))
    resolved = winner_of(joint, found)
    assert resolved.request.chips is not None
    search = joint.search(joint.of_model(resolved.cost))
    proof = winning(found) if joint.late else _proof(resolved, search)
    if len(proof.points) == 0:
        proof = winning(found)
    exact = proof
    if request.minimized.of_memory and not joint.late:
        exact = search.run((resolved.request.chips,))
    losses = resolved.cost.allocation(resolved.request.chips).losses
    answer = with_plan(resolved, search, proof, exact, losses, started)
    return replace(described(joint, found, answer), asked=asked_of(request))


def _allocation(model: CostModel, chips: int, origin: Origin) -> Allocation:
    """The cluster cut to the chips of a request; a refusal names them as they were written."""
    try:
        return model.allocation(chips)
    except InputError as error:
        raise InputError(origin.blame(str(error), {"chips"})) from error


def _proof(resolved: Resolved, search: Search) -> Found:
    """The search that proves the best plan on exactly the chips asked for."""
    request = resolved.request
    assert request.chips is not None
    if request.minimized.of_memory:
        return least_memory(
            search.model, request.chips, search.options, search.limits, search.deadline
        )
    return search.run(counts_of_best(request, search.model))
