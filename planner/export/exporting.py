"""A plan written for a target, after the rules of the target."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace

from planner.cost.context import CostModel
from planner.errors import InputError
from planner.export.export import Export, Lost
from planner.export.hosts import hosts_of
from planner.export.launch import Launch
from planner.messages import not_one_of
from planner.plan import Plan, PlanTable
from planner.rules import broken
from planner.targets import Target

Exporter = Callable[[Launch], Export]
_WAY_OUT = (
    "{} cannot run this plan as it is: planner solve --runnable-in {} finds the best one that it "
    "can, --allow-lossy writes what it would run in place of this one"
)


def export_plan(
    cost: CostModel,
    plan: Plan,
    target: Target,
    version: str = "",
    *,
    allow_lossy: bool = False,
) -> Export:
    """A plan in the words of a target.

    Args:
        cost: Job and cluster of the plan.
        plan: The plan.
        target: What runs it.
        version: Version of the target's input; empty: the default one.
        allow_lossy: Write also what runs another plan than this one.

    Raises:
        InputError: The plan breaks a rule of arithmetic or cannot be expressed (one line for each
            field), or the target has no such version.
    """
    version = version or target.versions[0]
    if version not in target.versions:
        raise InputError(f"target-version: {not_one_of(version, target.versions)}")
    wrong = broken(cost, PlanTable.from_plans([plan]), target=target)
    impossible = [line for rule, line in wrong if rule.framework == "any"]
    if impossible:
        raise InputError("\n".join(f"plan: {line}" for line in impossible))
    refused = tuple(Lost(rule.field, line) for rule, line in wrong)
    launch = Launch(cost=cost, plan=plan, version=version)
    export = _exporter(target)(launch)
    unsupported = tuple(dict.fromkeys((*refused, *export.unsupported)))
    if unsupported and not allow_lossy:
        lines = [f"{lost.field}: {lost.reason}" for lost in unsupported]
        raise InputError("\n".join((*lines, _WAY_OUT.format(target.title, target.name))))
    return replace(export, unsupported=unsupported, hosts=hosts_of(launch))


def _exporter(target: Target) -> Exporter:
    """The `export` function of a target's module."""
    module = importlib.import_module(f"planner.export.{target.name.replace('-', '_')}")
    function: Exporter = module.export
    return function
