"""`planner.explain` and `planner.compare`: why a plan costs what it costs, and against others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.errors import InputError
from planner.evaluation import evaluate_plan, limits_of, options_of
from planner.explanation.answer import ExplainResult
from planner.explanation.explaining import explained
from planner.messages import not_one_of
from planner.plan import Plan
from planner.planfile import check_chips, read_plan_file
from planner.request import OBJECTIVES, request_from
from planner.resolved import Resolved, resolve

Progress = Callable[[str, int, int], None]


def explain(
    source: str | Path | Plan,
    *,
    objective: str = "time",
    on_progress: Progress | None = None,
    **fields: Any,
) -> ExplainResult:
    """Why one plan costs what it costs: what binds it, its neighbours, what it leans on.

    Args:
        source: Path of a plan file, or a `Plan` (then `fields` say the job).
        objective: What plans are compared by: time, energy, edp or memory.
        on_progress: Called with (what, done, of).
        **fields: Fields of `planner.request.Request` that override those of the file.

    Raises:
        InputError: The file or the plan cannot be used.
    """
    if isinstance(source, Plan):
        request = request_from(fields)
        check_chips(request.chips, source, "chips")
        resolved = resolve(request, chips=source.chips)
        return explain_plan(resolved, source, objective, on_progress=on_progress)
    request, plan, origin, assumed = read_plan_file(Path(source), fields)
    resolved = resolve(request, origin, plan.chips)
    return explain_plan(resolved, plan, objective, assumed, on_progress)


def explain_plan(
    resolved: Resolved,
    plan: Plan,
    objective: str = "time",
    assumed: tuple[tuple[str, str, str], ...] = (),
    on_progress: Progress | None = None,
) -> ExplainResult:
    """`explain` for a resolved job; `assumed`: what the source of the plan left out.

    Raises:
        InputError: The plan breaks a rule of arithmetic, the cluster cannot give its chips, or
            the objective is unknown.
    """
    if objective not in OBJECTIVES:
        raise InputError(f"objective: {not_one_of(objective, OBJECTIVES)}")
    evaluated = evaluate_plan(resolved, plan, assumed)
    request = resolved.request
    options = replace(options_of(request), offload=True, clocks=True, axes=None, fixed={})
    return ExplainResult(
        evaluated=evaluated,
        explained=explained(
            resolved,
            evaluated.result,
            limits_of(request),
            options,
            objective,
            on_progress=on_progress,
        ),
    )
