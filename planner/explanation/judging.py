"""How one plan is told against another: by how much, what forbids it, whether the two tie."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import exp, log

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray
from planner.base.messages import distinguished
from planner.base.units import (
    is_change,
    plain,
    show_change,
    show_percent,
)
from planner.base.vocabulary import CHOICES, MESH_AXES
from planner.cost.breakdown import Breakdown
from planner.cost.context import CostModel
from planner.cost.energy.boundaries import MEASURED, PRINTED
from planner.cost.intervals import is_prediction, tie_noise, ties
from planner.cost.stages.layout import stage_classes
from planner.frameworks.rules import Rule, broken, unbroken
from planner.frameworks.targets import Target
from planner.objectives import TIME, Objective
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.plan import PlanResult
from planner.search.limits import Limits

_OF_RUNS = {"deadline": ("days", 86400.0), "budget": ("", 1.0), "run_energy": ("Wh", 3600.0)}
"""By limit on the whole run, the unit in which it is told, and its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a plan may not be had.

    Attributes:
        reason: memory, host memory, step time, power, MFU, the name of a rule, or "not asked for".
        words: With the figures.
        source: Where a rule comes from; empty elsewhere.
        needed, allowed: Of a limit, in SI units; else None.
    """

    reason: str
    words: str
    source: str = ""
    needed: float | None = None
    allowed: float | None = None

    @property
    def excess(self) -> float | None:
        """What is needed over what is allowed; of a least value the other way round."""
        if self.needed is None or not self.allowed:
            return None
        return self.needed / self.allowed


def over(value: float, limit: float, unit: str) -> str:
    """`92.1 of 80 GB`: three digits, the unit of the limit for both."""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")):
        if limit >= scale:
            figures = distinguished(value / scale, limit / scale, _digits)
            return f"{' of '.join(figures)} {prefix}{unit}"
    return f"{value:.3g} of {limit:.3g} {unit}"


def _digits(value: float, more: int) -> str:
    return plain(value, 3 + more)


def binding_stages(model: CostModel, plans: PlanTable, costs: Breakdown) -> list[str]:
    """Per plan ` on stage 3`, the pipeline stage whose chips are fullest; empty without stages.

    Stages count from 0; of equal ones the first.
    """
    classes = stage_classes(plans, model.job.model)
    rows = np.arange(len(plans))
    first = classes.position[rows, costs.memory.binding_stage].astype(int)
    return [
        f" on stage {stage}" if pp > 1 else ""
        for stage, pp in zip(first.tolist(), plans.pp.tolist(), strict=True)
    ]


def refusal_of(
    model: CostModel, result: PlanResult, limits: Limits, stage: str = ""
) -> Refusal | None:
    """The limit that forbids a plan, with its figures, or None.

    Args:
        model: Job, cluster, assumptions.
        result: What the plan costs.
        limits: What it has to obey.
        stage: Of `binding_stages`.
    """
    memory = limits.bytes_of_plan(model, result.plan)
    inside, it_w = limits.power_boundary, result.power_per_chip_w * result.chips
    at = "" if inside == PRINTED else f" {MEASURED[inside]}"
    cool = it_w <= limits.it_w(model, np.array([result.chips]))[0]
    checks: tuple[tuple[str, float, float | None, str, str], ...] = (
        ("memory", result.memory_per_chip_bytes, memory, "B", stage),
        ("host memory", result.host_memory_bytes, limits.host_limit(model), "B", ""),
        ("step time", result.step_time_s, limits.step_time_s, "s", ""),
        ("power", result.power_w(inside), limits.power_w, "W", at),
    )
    for name, value, limit, unit, where in checks:
        within = cool if name == "power" else limit is None or value <= limit
        if limit is not None and not within:
            words = f"{name}: {over(value, limit, unit)}{where}"
            return Refusal(reason=name, words=words, needed=value, allowed=limit)
    if limits.mfu is not None and result.mfu < limits.mfu:
        reached, least = distinguished(result.mfu, limits.mfu, show_percent)
        words = f"MFU: {reached}, not allowed below {least}"
        return Refusal(reason="MFU", words=words, needed=result.mfu, allowed=limits.mfu)
    return _refusal_of_run(model, result, limits)


def _refusal_of_run(model: CostModel, result: PlanResult, limits: Limits) -> Refusal | None:
    """The limit on the whole run that forbids a plan, with its figures, or None."""
    if not limits.on_run or result.run is None:
        return None
    for name, value in limits.run_values(model, result.run).items():
        limit = limits.run_limits[name]
        if not value <= limit:
            unit, scale = _OF_RUNS[name]
            words = f"{name.replace('_', ' ')}: {over(float(value) / scale, limit / scale, unit)}"
            return Refusal(reason=name, words=words, needed=float(value), allowed=limit)
    return None


def broken_rule(
    model: CostModel, plan: Plan, *, all_orders: bool, targets: Iterable[Target] = ()
) -> Refusal | None:
    """The first rule that a plan breaks, with where the rule comes from, or None."""
    table = PlanTable.from_plans([plan])
    found = broken(model, table, all_orders=all_orders)
    for target in () if found else targets:
        found += broken(model, table, target=target)
    if not found:
        return None
    rule, line = found[0]
    return Refusal(reason=rule.name, words=line, source=rule.source)


def obeying(
    model: CostModel,
    plans: PlanTable,
    *,
    all_orders: bool,
    targets: Iterable[Target] = (),
    spared: Collection[Rule] = (),
) -> BoolArray:
    """(n,) plans without explicit stages that break no rule; see `broken_rule`.

    Of rules of the targets, those that are `spared` may be broken.
    """
    kept = unbroken(model, plans, all_orders=all_orders)
    for target in targets:
        kept &= unbroken(model, plans, target=target, spared=spared)
    return kept


def not_asked(model: CostModel, plan: Plan, options: SpaceOptions) -> Refusal | None:
    """The flag that rules a plan out, or None."""
    if plan.clock < model.clock_limit and not options.clocks:
        return Refusal(reason="not asked for", words="not asked for (--no-clocks)")
    if plan.offload and not options.offload:
        return Refusal(reason="not asked for", words="not asked for (--offload allows it)")
    table = PlanTable.from_plans([plan])
    for name in (*MESH_AXES, *CHOICES):
        if options.allows(name, getattr(table, name).astype(np.int64))[0]:
            continue
        flag = "--fix" if name in options.fixed else "--axes"
        words = f"not asked for ({flag} rules out {name} {getattr(plan, name)})"
        return Refusal(reason="not asked for", words=words)
    return None


def tie_ratio(model: CostModel, one: Plan, other: Plan, objective: Objective) -> float | None:
    """The ratio of two results below which two plans of one job cannot be told apart; 1 or more.

    Energy carries the error of time once, energy x time twice; memory none of it, so there the
    ratio is one of times. Plans that differ in clocks alone, of the plan or of its stages, share
    their whole error: 1, only equal ones tie. None where times are bounds, not predictions.

    Args:
        model: Of the job.
        one, other: The plans.
        objective: What they are compared by.
    """
    if not is_prediction(model.assumptions):
        return None
    if _at_one_clock(other) == _at_one_clock(one):
        return 1.0
    return exp(tie_noise(model.job) * max(objective.degree, 1))


def _at_one_clock(plan: Plan) -> Plan:
    """A plan without its clocks."""
    if plan.stages is None:
        return replace(plan, clock=1.0)
    return replace(
        plan, clock=1.0, stages=tuple(replace(stage, clock=None) for stage in plan.stages)
    )


def is_tie(
    model: CostModel, best: PlanResult, other: PlanResult, objective: Objective
) -> bool | None:
    """Whether two plans of one job are within `tie_ratio` of each other; None where it has none.

    By memory, which carries no error, the time decides.
    """
    ratio = tie_ratio(model, best.plan, other.plan, objective)
    if ratio is None:
        return None
    decides = deciding(objective)
    return bool(ties(decides.value_of(other.costs), decides.value_of(best.costs), log(ratio)))


def deciding(objective: Objective) -> Objective:
    """What decides whether two plans tie: the time where an objective carries no error of it."""
    return objective if objective.degree else TIME


def verdict_of(best: PlanResult, other: PlanResult, objective: Objective) -> str:
    """How a plan compares by the objective; most objectives with its time as well."""
    change = change_of(best, other, objective)
    word = _by(change, objective) if is_change(change) else f"same {objective.short}"
    verdict = f"{word} ({objective.shown(other.costs)})"
    if objective.with_time:
        later = change_of(best, other, TIME)
        verdict += f", {_by(later, TIME)}" if is_change(later) else ", same time"
    return verdict


def gain_of(best: PlanResult, other: PlanResult, objective: Objective) -> str:
    """By how much a plan differs by the objective: `faster by 0.67 %`."""
    return _by(change_of(best, other, objective), objective)


def change_of(best: PlanResult, other: PlanResult, objective: Objective) -> float:
    """The objective of another plan over that of the best one, minus one."""
    return objective.value_of(other.costs) / objective.value_of(best.costs) - 1


def _by(change: float, objective: Objective) -> str:
    return f"{objective.more if change > 0 else objective.less} by {show_change(change)}"
