"""The fastest plans within one, two and three changes: all are evaluated, and none is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from math import exp

import numpy as np

from planner.base.arrays import BoolArray, FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.intervals import is_prediction, tie_noise
from planner.explanation.improvement.answer import Improvement, Improvements
from planner.explanation.improvement.space import DECISIONS, MOST, Near, near
from planner.explanation.judging import obeying
from planner.frameworks.rules import refused_by
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits

Writer = Callable[[Plan], tuple[str, str]]
"""What writes a plan into a launch, as a diff; else empty, and why."""
_BEST = 3
_TRIED = 40
"""Plans that are tried, the fastest first, until some are found that can be written."""
_AT_ONCE = 1 << 14
_SAME = 1e-4  # share of a step time below which a plan is no faster


def improvements(
    model: CostModel,
    plan: Plan,
    limits: Limits,
    options: SpaceOptions,
    *,
    writes: Writer | None = None,
    best: int = _BEST,
    most: int = MOST,
) -> Improvements:
    """The fastest plans that differ in one decision, in two, and in three.

    A plan counts where it is faster than the one asked about; of several changes where it is
    faster than what fewer give too. Of a plan that does not fit, the fastest that do.

    Args:
        model: Job, cluster, assumptions.
        plan: The plan.
        limits, options: What plans have to obey; `options.runnable_in` has to run them. A rule of
            it that the plan itself breaks binds no other: forks launch what the framework that
            they are read as does not, such as parallel blocks.
        writes: What writes a plan into the launch, or why nothing does; of the fastest that cannot
            be written others take the place.
        best: How many of each number of changes.
        most: Changes to look for.
    """
    close = near(model, plan, options, most)
    targets = options.runnable_in
    spared = {rule for rule, _ in refused_by(model, plan, targets)}
    runs = np.asarray(
        obeying(model, close.plans, all_orders=options.all_orders, targets=targets, spared=spared)
    )
    kept = _taken(close, runs)
    times, memory = _evaluated(model, kept.plans)
    own = evaluate_totals(model, PlanTable.from_plans([plan]))
    own_time = float(own.step_time_s[0])
    own_fits = bool(_fitting(model, PlanTable.from_plans([plan]), own.memory_bytes, limits)[0])
    fits = _fitting(model, kept.plans, memory, limits)
    beats = own_time * (1 - _SAME) if own_fits else np.inf
    found: dict[int, tuple[Improvement, ...]] = {}
    for count in range(1, most + 1):
        rows = np.flatnonzero(fits & (kept.changes == count) & (times < beats))
        rows = rows[np.argsort(times[rows], kind="stable")]
        plans = ((kept.plans.plan(row), times[row], memory[row]) for row in rows.tolist())
        near_ones = (_improvement(model, plan, *one, own_time) for one in plans)
        found[count] = tuple(_written(near_ones, writes, best))
        if found[count]:
            beats = min(beats, found[count][0].step_time_s * (1 - _SAME))
    return Improvements(
        found=found,
        fits=own_fits,
        looked_at=len(runs),
        runnable=int(runs.sum()),
        fitting=int(fits.sum()),
    )


def _written(found: Iterable[Improvement], writes: Writer | None, best: int) -> list[Improvement]:
    """The first plans that can be written; where none of many can, the first one as it is."""
    if writes is None:
        return list(islice(found, best))
    kept: list[Improvement] = []
    first: Improvement | None = None
    for one in islice(found, _TRIED):
        diff, why = writes(one.plan)
        said = replace(one, diff=diff, why_no_diff=why)
        first = first or said
        if diff:
            kept.append(said)
        if len(kept) == best:
            break
    return kept or ([first] if first else [])


def _taken(close: Near, kept: BoolArray) -> Near:
    rows = np.flatnonzero(kept)
    return Near(plans=close.plans.take(rows), changes=close.changes[rows])


def _evaluated(model: CostModel, plans: PlanTable) -> tuple[FloatArray, FloatArray]:
    """(n,) seconds of a step and bytes per chip, some thousand plans at a time."""
    times, memory = [np.zeros(0)], [np.zeros(0)]
    for start in range(0, len(plans), _AT_ONCE):
        some = plans.take(np.arange(start, min(start + _AT_ONCE, len(plans))))
        totals = evaluate_totals(model, some)
        times.append(totals.step_time_s)
        memory.append(totals.memory_bytes)
    return np.concatenate(times), np.concatenate(memory)


def _fitting(model: CostModel, plans: PlanTable, memory: FloatArray, limits: Limits) -> BoolArray:
    """(n,) which plans fit on their chips."""
    if not len(plans):
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(memory <= limits.bytes_of(model, plans))


def _improvement(
    model: CostModel, plan: Plan, other: Plan, time_s: float, memory: float, own_s: float
) -> Improvement:
    """A plan beside the one asked about."""
    ratio = float(time_s) / own_s
    noise = tie_noise(model.job) if is_prediction(model.assumptions) else None
    return Improvement(
        changes=changes_between(plan, other),
        plan=other,
        step_time_s=float(time_s),
        memory_per_chip_bytes=float(memory),
        gain=1 - ratio,
        gain_low=None if noise is None else 1 - ratio * exp(noise),
        gain_high=None if noise is None else 1 - ratio * exp(-noise),
        tie=None if noise is None else bool(abs(np.log(ratio)) <= noise),
    )


def changes_between(plan: Plan, other: Plan) -> dict[str, tuple[str, str]]:
    """The decisions in which two plans differ, with both values in words."""
    return {
        name: (_word(getattr(plan, name)), _word(getattr(other, name)))
        for name in DECISIONS
        if getattr(plan, name) != getattr(other, name) and not _is_forced(name, other)
    }


def _is_forced(name: str, plan: Plan) -> bool:
    """Whether a plan leaves no choice of a decision."""
    if name == "sequence_parallel":
        return plan.tp == 1
    return name == "interleave" and plan.pp == 1


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
