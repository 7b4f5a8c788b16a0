"""What one plan of a resolved job costs, and what a request says of limits and of the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.answers.notes.caveats import caveats
from planner.answers.notes.likely import spread_of
from planner.answers.simulated import simulated_facts
from planner.base.errors import InputError
from planner.base.vocabulary import LAYOUTS, MESH_AXES
from planner.cost.communication.traffic import mfu_convention
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import unmet, violations
from planner.frameworks.targets import Target
from planner.plan import Plan, PlanTable
from planner.plan.choices import fixed_values
from planner.plan.layout_text import parse_layout
from planner.question.facility import under_limit
from planner.question.files.plan_text import asked_of, job_of
from planner.question.kinds.runners import named_targets
from planner.question.options import SpaceOptions
from planner.question.provenance import job_fields, sources_of, versions
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.question.run.upkeep import deadline_of
from planner.results.parts import Notes, Question, TrainingRun
from planner.results.plan import PlanResult, plan_results
from planner.results.result import EvaluateResult
from planner.search.limits import Limits


def evaluate_plan(
    resolved: Resolved, plan: Plan, assumed: tuple[tuple[str, str, str], ...] = ()
) -> EvaluateResult:
    """What a plan costs for a resolved job; `assumed`: what the source of the plan left out.

    Raises:
        InputError: The plan breaks a rule of arithmetic, or the cluster cannot give its chips.
    """
    model = resolved.cost
    _check_without_pools(plan)
    plan = under_limit(plan, model.clock_limit)
    table = PlanTable.from_plans([plan])
    if broken := violations(model, table, arithmetic_only=True):
        raise InputError("\n".join(f"plan: {line}" for line in broken))
    allocation = model.allocation(plan.chips)
    costs = evaluate_table(model, table)
    result = plan_results(model, table, costs)[0]
    limits = limits_on_given(resolved.request)
    fits, _ = limits.memory(model, table, costs.memory)
    limit_bytes = limits_of(resolved.request).bytes_of_plan(model, plan)
    all_orders = resolved.request.placement == "all"
    broken = violations(model, table, all_orders=all_orders)
    broken += unmet(model, table, named_targets(resolved.request), broken)
    return EvaluateResult(
        result=result,
        fits=bool(fits[0]),
        memory_limit_bytes=limit_bytes,
        warnings=(*broken, *caveats(model, result, limits), *_changes_noted(resolved, plan)),
        run=training_run(resolved.request, result, model),
        question=Question(
            job={**job_fields(resolved), "chips": plan.chips},
            plan_job=job_of(resolved),
            asked=asked_of(resolved.request),
        ),
        notes=Notes(
            losses=allocation.losses,
            defaults=resolved.defaults + assumed,
            mfu_convention=mfu_convention(resolved.cost.assumptions),
            spread=spread_of(model),
            sources=sources_of(model),
        ),
        versions=versions(),
        facts=simulated_facts(model, plan, limit_bytes),
    )


def _changes_noted(resolved: Resolved, plan: Plan) -> list[str]:
    """What is said of fields that the question changes.

    Raises:
        InputError: One of them cannot change what any plan costs.
    """
    if not (resolved.changes.fields or resolved.request.degrade_link):
        return []
    from planner.search.changes.effects import notes_of_changes  # noqa: PLC0415  (few ask)

    table, options = PlanTable.from_plans([plan]), options_of(resolved.request)
    return notes_of_changes(resolved, table, options, plan.chips)


def _check_without_pools(plan: Plan) -> None:
    """Refuses stages on pools of chips, of a job that has none."""
    for at, stage in enumerate(plan.stages or ()):
        if stage.pool is not None:
            raise InputError(
                f"stages: stage {at} is on pool {stage.pool!r}, but the job names no pools; leave "
                "pool out of the stages, or give the job pools instead of hardware"
            )


def limits_of(request: Request) -> Limits:
    """The constraints that a request states."""
    return Limits(
        memory_bytes=request.max_memory,
        memory_margin=request.memory_margin,
        oom_risk=request.oom_risk,
        power_w=request.max_power,
        power_boundary=request.power_boundary,
        step_time_s=request.max_step_time,
        mfu=request.min_mfu,
        run_s=None if request.deadline is None else deadline_of(request)[0],
        run_money=request.budget,
        run_energy_j=request.max_run_energy,
    )


def limits_on_given(request: Request) -> Limits:
    """The constraints on a plan that is given, which may have any risk unless one is stated."""
    limits = limits_of(request)
    return limits if request.max_oom_risk is not None else replace(limits, oom_risk=None)


def options_of(request: Request, targets: tuple[Target, ...] = ()) -> SpaceOptions:
    """The space that a request asks for, of plans that targets can run."""
    axes = None if request.axes is None else frozenset(request.axes)
    if axes is not None and (unknown := sorted(axes - {*MESH_AXES})):
        raise InputError(f"axes: {unknown[0]!r} is not one of {', '.join(MESH_AXES)}")
    if axes is not None and "etp" in axes and "etp" not in request.fix:
        raise InputError(
            "axes: etp says nothing without its sizes; add fix etp=1,2,4, or leave it out"
        )
    return SpaceOptions(
        axes=axes,
        fixed={name: fixed_values(name, values) for name, values in request.fix.items()},
        offload=request.offload,
        clocks=bool(request.clocks),
        all_orders=request.placement == "all",
        torus=request.placement == "torus",
        layers=None if request.layout in LAYOUTS else parse_layout(request.layout),
        runnable_in=targets,
    )


def training_run(
    request: Request,
    result: PlanResult,
    model: CostModel | None,
    rivals: Sequence[PlanResult] = (),
) -> TrainingRun | None:
    """The whole run whose tokens were given; arguments as of `planner.answers.run.training`."""
    if request.train_tokens is None:
        return None
    from planner.answers.run.training import whole_run  # noqa: PLC0415  (few ask)

    return whole_run(request, result, model, rivals)
