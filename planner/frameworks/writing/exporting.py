"""A plan written for a target, after the rules of the target."""

from __future__ import annotations

from dataclasses import replace

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cost.context import CostModel
from planner.frameworks.decoders import unwritten_layers
from planner.frameworks.framework import Target
from planner.frameworks.registry import framework_of_target
from planner.frameworks.rules import broken
from planner.frameworks.writing.export import Export, Lost
from planner.frameworks.writing.hosts import hosts_of
from planner.frameworks.writing.launch import Launch, Profiled
from planner.frameworks.writing.predicted import lost_prediction
from planner.plan import Plan, PlanTable


def export_plan(
    cost: CostModel,
    plan: Plan,
    target: Target,
    version: str = "",
    *,
    allow_lossy: bool = False,
    profiled: Profiled | None = None,
    launcher: str = "",
) -> Export:
    """A plan in the words of a target.

    Args:
        cost: Job and cluster of the plan.
        plan: The plan.
        target: What runs it.
        version: Version of the target's input; empty: the default one.
        allow_lossy: Write also what runs another plan than this one.
        profiled: Run a few steps only, and record the last.
        launcher: What starts the job on all hosts, a key of
            `planner.frameworks.writing.launchers.LAUNCHERS`; empty: the user does.

    Raises:
        InputError: The plan breaks a rule of arithmetic or cannot be expressed (one line for each
            field), the target has no such version, or the launcher does not start it.
    """
    version = version or target.versions[0]
    if target.versions == ("",) and version:
        raise InputError(f"target-version: {target.title} has one version only; leave it out")
    if version not in target.versions:
        raise InputError(f"target-version: {not_one_of(version, target.versions)}")
    if layers := unwritten_layers(cost.job.model):
        raise InputError(
            f"model: {cost.job.model.name} has {layers}, which no target is written with yet; its "
            "plans are planned and compared, and not exported"
        )
    table = PlanTable.from_plans([plan])
    wrong = broken(cost, table, target=target, version=version)
    impossible = [line for rule, line in wrong if rule.framework == "any"]
    if impossible:
        raise InputError("\n".join(f"plan: {line}" for line in impossible))
    refused = tuple(dict.fromkeys(Lost(rule.field, line) for rule, line in wrong))
    if refused and not allow_lossy:
        lines = [f"{lost.field}: {lost.reason}" for lost in refused]
        raise InputError("\n".join((*lines, _way_out(cost, table, target, version, profiled))))
    launch = Launch(cost=cost, plan=plan, version=version, profiled=profiled)
    export = framework_of_target(target).write(launch, target)
    lossy = (*lost_prediction(launch), *export.lossy)
    export = replace(export, lossy=lossy, unsupported=refused, hosts=hosts_of(launch))
    return _launched(launcher, target, launch, export) if launcher else export


def _launched(launcher: str, target: Target, launch: Launch, export: Export) -> Export:
    """The export with what starts it."""
    from planner.frameworks.writing.launchers import launched, launcher_named  # noqa: PLC0415  (only where a job is asked for)

    return launched(launcher_named(launcher), target, launch, export)


def _way_out(
    cost: CostModel,
    table: PlanTable,
    target: Target,
    version: str,
    profiled: Profiled | None,
) -> str:
    """What to do about a plan that a version of a target does not run.

    A search asks the rules of the default version, so that it finds nothing where those about the
    job are broken, and perhaps the same plan where only those of another version are. A
    launch that is to be measured is of the default version, and of the plan itself.
    """
    default = target.versions[0]
    broken_by = {v: broken(cost, table, target=target, version=v) for v in target.versions}
    of_job = {v: any(rule.of_job for rule, _ in found) for v, found in broken_by.items()}
    ways = []
    others = [name for name, found in broken_by.items() if not found]
    if others and profiled is None:
        ways.append(f"--target-version {' or '.join(others)} writes this one")
    if broken_by[default] and not of_job[default]:
        whose = "it" if version == default else f"{target.title} {default}"
        search = f"planner solve --runnable-in {target.name}"
        ways.append(f"{search} finds the best one that {whose} can run")
    if profiled is None:
        ways.append("--allow-lossy writes what it would run in place of this one")
    named = f"{target.title} {version}".strip()
    what = "runs no plan of this job" if of_job[version] else "cannot run this plan as it is"
    return f"{named} {what}" + (f": {', '.join(ways)}" if ways else "")
