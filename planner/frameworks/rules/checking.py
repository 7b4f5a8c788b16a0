"""Which rules a plan breaks, and in which of its stages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.frameworks.framework import Target
from planner.frameworks.registry import FRAMEWORKS
from planner.frameworks.rules.rule import DEVICES_RULE, Rule
from planner.frameworks.rules.table import rules_of
from planner.plan import FULL, RECOMPUTATIONS, SELECTIVE, Plan, PlanTable

OFFLOAD = "offload"
LAYOUT_RULE = "placement-offered"
SPLIT_RULE = "split-offered"
STAGE_CHOICES = ("recompute", "sharding", "clock")


def applicable(
    framework: FrameworkProfile, target: Target | None = None, version: str = ""
) -> tuple[Rule, ...]:
    """The rules that hold for a framework: those of arithmetic, its own and its parent's.

    With a target also those of what a version of it can launch, the default one where none is
    named; a split that it does not know is no matter where it is given the layers of every stage.
    """
    rules = rules_of(framework, target)
    if target is None:
        return tuple(rule for rule in rules if not rule.launch)
    version = version or target.versions[0]
    found = (rule for rule in rules if version in (rule.versions or (version,)))
    return tuple(r for r in found if not (target.lists_layers and r.name == SPLIT_RULE))


def judged_for(model: CostModel, target: Target) -> CostModel:
    """The model with the framework that runs a target: its own where it is of that family."""
    wanted = FRAMEWORKS[target.framework]
    if target.framework in (model.framework.name, model.framework.derived_from):
        return model
    return replace(model, job=replace(model.job, framework=wanted))


def offloads_allowed(model: CostModel, plans: PlanTable) -> BoolArray:
    """(n,) plans whose offloading obeys the rules about it, whatever the other rules say."""
    allowed = np.ones(len(plans), dtype=np.bool_)
    for rule in applicable(model.framework):
        if rule.field == OFFLOAD:
            allowed &= rule.holds(model, plans)
    return allowed


def violations(
    model: CostModel,
    plans: PlanTable,
    *,
    arithmetic_only: bool = False,
    all_orders: bool = False,
) -> list[str]:
    """One line per plan and broken rule, in order; empty when all plans can run; see `broken`."""
    found = broken(model, plans, arithmetic_only=arithmetic_only, all_orders=all_orders)
    return [line for _, line in found]


def broken(
    model: CostModel,
    plans: PlanTable,
    *,
    arithmetic_only: bool = False,
    all_orders: bool = False,
    target: Target | None = None,
    version: str = "",
) -> list[tuple[Rule, str]]:
    """The broken rules with one line per plan, in order; empty when all plans can run.

    What stages choose for themselves is checked stage by stage; such a line names its stage
    (counted from 0). What a chip is to software is left out where a target runs on no such chips.

    Args:
        model: Job, cluster and framework.
        plans: Plans to check.
        arithmetic_only: Leave out the framework's own rules.
        all_orders: Leave out what rank layouts the framework has: others were asked for.
        target: What is to run them; with its rules, of its framework.
        version: Version of the target's input; empty: the default one.
    """
    model = model if target is None else judged_for(model, target)
    rules = _rules(model, target, version, all_orders=all_orders)
    if arithmetic_only:
        rules = tuple(rule for rule in rules if rule.framework == "any")
    found: list[tuple[Rule, str]] = []
    for rule in rules:
        if rule.per_stage and plans.stages is not None:
            lines = _of_stages(rule, model, plans)
        else:
            rows = np.flatnonzero(~rule.holds(model, plans))
            lines = [rule.explain(model, plans.plan(int(row))) for row in rows]
        found += [(rule, line) for line in lines]
    if any(rule.of_other_chips for rule, _ in found):
        return [(rule, line) for rule, line in found if rule.name != DEVICES_RULE]
    return found


def unbroken(
    model: CostModel,
    plans: PlanTable,
    *,
    all_orders: bool = False,
    target: Target | None = None,
    spared: Collection[Rule] = (),
) -> BoolArray:
    """(n,) plans without explicit stages that break no rule; arguments as of `broken`.

    Rules that are `spared` may be broken.
    """
    model = model if target is None else judged_for(model, target)
    kept = np.ones(len(plans), dtype=np.bool_)
    for rule in _rules(model, target, all_orders=all_orders):
        if rule not in spared:
            kept &= rule.holds(model, plans)
    return kept


def _rules(
    model: CostModel, target: Target | None, version: str = "", *, all_orders: bool
) -> tuple[Rule, ...]:
    """The rules that hold for the framework of a model, without those of rank layouts if wanted."""
    rules = applicable(model.framework, target, version)
    return tuple(rule for rule in rules if not (all_orders and rule.name == LAYOUT_RULE))


def refused_by(model: CostModel, plan: Plan, targets: Iterable[Target]) -> list[tuple[Rule, str]]:
    """The rules of targets that a plan breaks, with a line each; empty: all run it as it is."""
    table = PlanTable.from_plans([plan])
    return [one for target in targets for one in broken(model, table, target=target)]


def _of_stages(rule: Rule, model: CostModel, plans: PlanTable) -> list[str]:
    """The lines of one rule; stages that inherit the plan's choices share one."""
    spread, owner, stage = _spread(plans)
    own = np.zeros(len(owner), dtype=np.bool_)
    for name in STAGE_CHOICES:
        own |= getattr(spread, name) != getattr(plans, name)[owner]
    broken_rows = np.flatnonzero(~rule.holds(model, spread)).tolist()
    said = {row: (int(owner[row]), rule.explain(model, spread.plan(row))) for row in broken_rows}
    of_plan = {said[row] for row in broken_rows if not own[row]}
    lines: dict[tuple[int, str], None] = dict.fromkeys(sorted(of_plan))
    for row in broken_rows:
        plan, line = said[row]
        if said[row] not in of_plan:
            place = "chunk" if plans.interleave[plan] > 1 else "stage"
            lines[plan, f"{place} {stage[row]}: {line}"] = None
    return [line for _, line in lines]


def _spread(plans: PlanTable) -> tuple[PlanTable, IntArray, IntArray]:
    """A row per explicit stage with its choices as the plan's, or per plan without stages.

    A stage that recomputes in several ways has a row for each. Returns the rows, the plan of each,
    and the stage (0 for a plan without stages).
    """
    assert plans.stages is not None
    table = plans.stages
    counted = table.recomputed.sum(axis=2)
    used = np.zeros((*table.layers.shape, len(RECOMPUTATIONS)), dtype=np.bool_)
    used[..., SELECTIVE], used[..., FULL] = counted[..., 0] > 0, counted[..., 1] > 0
    others = (counted.sum(axis=2) < table.layers) | (counted.sum(axis=2) == 0)
    used |= others[..., None] & (table.recompute[..., None] == np.arange(len(RECOMPUTATIONS)))
    used &= (table.layers >= 0)[..., None]
    listed = table.layers[:, 0] >= 0
    used[np.flatnonzero(~listed), 0, plans.recompute[~listed]] = True
    owner, stage, recompute = np.nonzero(used)
    explicit = listed[owner]

    def chosen(name: str) -> Any:
        return np.where(explicit, getattr(table, name)[owner, stage], getattr(plans, name)[owner])

    choices = {name: chosen(name) for name in STAGE_CHOICES if name != "recompute"}
    spread = replace(plans.take(owner), **choices, recompute=recompute, stages=None)
    return spread, owner, stage
