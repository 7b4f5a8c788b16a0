"""A plan file written for a target: the answer of `planner export`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Unpack

from planner.answers.evaluation import limits_on_given
from planner.answers.notes.caveats import caveats
from planner.base.errors import InputError
from planner.base.frozen import thawed
from planner.cost.evaluate import evaluate_table
from planner.frameworks.launching import default_target
from planner.frameworks.registry import framework_of
from planner.frameworks.targets import Target, target_named
from planner.frameworks.writing import export_plan
from planner.plan import Plan, PlanTable
from planner.question.asked import EXPORTED
from planner.question.asked.typed import ExportFields
from planner.question.facility import under_limit
from planner.question.files.plan_file import read_plan_file
from planner.question.provenance import job_fields
from planner.question.request import Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.results.export import ExportResult
from planner.results.plan import PlanResult, plan_results


def export_file(
    path: str | Path,
    to: str,
    version: str = "",
    *,
    launcher: str = "",
    allow_lossy: bool = False,
    row: int | None = None,
    **fields: Unpack[ExportFields],
) -> ExportResult:
    """A plan file in the words of a target.

    Args:
        path: A plan file, or a front.
        to: Name of the target, a key of `planner.frameworks.targets.TARGETS`.
        version: Version of the target's input; empty: the default one.
        launcher: What starts it on all hosts, a key of
            `planner.frameworks.writing.launchers.LAUNCHERS`; empty: the user does.
        allow_lossy: Write also what runs another plan than this one.
        row: Which plan of a front, from 1.
        **fields: Fields of the job that replace those of the file, of
            `planner.question.asked.EXPORTED`.

    Raises:
        InputError: The file, the target, the version or the launcher is none, the plan breaks a
            rule, the target cannot run it, or the launcher does not start it; a line each.
    """
    target = target_named(to)
    if unknown := sorted(set(fields) - set(EXPORTED)):
        raise InputError(f"{unknown[0]}: unknown field; allowed: {', '.join(EXPORTED)}")
    request, plan, origin, _ = read_plan_file(Path(path), fields, flags=True, row=row)
    check_one_kind(request)
    resolved = resolve(request, origin, plan.chips)
    return _exported(resolved, plan, target, version, launcher, allow_lossy=allow_lossy)


def export_result(
    result: PlanResult,
    to: str,
    version: str = "",
    *,
    launcher: str = "",
    allow_lossy: bool = False,
) -> ExportResult:
    """A plan of an answer in the words of a target; arguments and errors as of `export_file`."""
    target, job = target_named(to), {**thawed(result.job)}
    if not job:
        raise InputError(
            "plan: it is no plan of an answer of planner.solve, which knows its job; write a plan "
            "file, and use planner.export_file"
        )
    job |= {} if result.machine is None else result.machine.fields
    request = request_from(job)
    check_one_kind(request)
    resolved = resolve(request, chips=result.chips)
    return _exported(resolved, result.plan, target, version, launcher, allow_lossy=allow_lossy)


def check_one_kind(request: Request) -> None:
    """Refuses pools.

    Raises:
        InputError: There are some.
    """
    if request.pools is not None:
        raise InputError(
            "pools: the plan has stages on several kinds of chips, which no target can launch"
        )


def target_that_writes(resolved: Resolved, plan: Plan) -> str:
    """The name of the first target that a plan can be exported to as it is; empty: there is none.

    Looked at are those that a search would keep to, else those of the framework whose
    memory and speed are predicted.

    Args:
        resolved: The job on its machine.
        plan: On its chips.
    """
    named = resolved.runners.targets
    profile = resolved.cost.job.framework.name
    framework = framework_of(profile)
    first = default_target(profile, resolved.cost.job.learns)
    own = () if framework is None else framework.targets
    for target in named or (*((first,) if first else ()), *own):
        with suppress(InputError):
            export_plan(resolved.cost, plan, target, "", allow_lossy=False)
            return target.name
    return ""


def _exported(
    resolved: Resolved,
    plan: Plan,
    target: Target,
    version: str,
    launcher: str,
    *,
    allow_lossy: bool,
) -> ExportResult:
    model = resolved.cost
    plan = under_limit(plan, model.clock_limit)
    export = export_plan(model, plan, target, version, allow_lossy=allow_lossy, launcher=launcher)
    model.allocation(plan.chips)
    table = PlanTable.from_plans([plan])
    result = plan_results(model, table, evaluate_table(model, table))[0]
    return ExportResult(
        export=export,
        target=target,
        plan=plan,
        job={**job_fields(resolved), "chips": plan.chips},
        step_time_s=result.step_time_s,
        warnings=tuple(caveats(model, result, limits_on_given(resolved.request))),
    )
