"""Clocks of the stages of a given plan: the front of time and energy with all else fixed.

The order of Perseus: plan for time first, then lower the clocks of stages that have slack. What the
joint search of `planner.search.uneven.front` finds beyond it is what planning for both is worth.
Each stage of the plan is a device (under bidirectional schedules each pair of ranks), each clock a
column; the weights are those of `planner.cost.step`. Source: Chung et al., Perseus,
arXiv:2312.06902.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.breakdown import Evaluated
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, evaluated
from planner.cost.stages.explicit import chunk_kinds
from planner.cost.stages.layout import plan_chunks
from planner.cost.step import StageCost, ends_s
from planner.plan import Plan, PlanTable, Stage
from planner.schedules import schedule_of
from planner.search.uneven.columns.columns import pair_of
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.columns.stage_choices import (
    PairCosts,
    StageChoiceCosts,
    pair_costs,
    stage_costs,
)
from planner.search.uneven.terms import unstaged_s
from solvers.frontier import nondominated
from solvers.stages.problem import Choice, Columns, Form, StageProblem
from solvers.stages.solving import exact_front


def clock_front(
    model: CostModel, plan: Plan, upper_s: float | None = None
) -> tuple[list[Plan], FloatArray]:
    """The plan with every choice of clocks per stage that no other is better than.

    Args:
        model: Job and machine.
        plan: Uniform or with listed stages.
        upper_s: Slower plans are not wanted; None: all are.

    Returns:
        The plans, ascending in time, and (f, 2) their seconds and joules.
    """
    clocked = _Clocked.build(model, explicit_plan(model, plan))
    longest = None if upper_s is None else int(upper_s / clocked.unit_s)
    found = [
        clocked.plan_of(point.decision)
        for point in exact_front(clocked.problem, longest=longest)
        if point.decision is not None
    ]
    if not found:
        return [], np.empty((0, 2))
    totals = evaluate_totals(model, PlanTable.from_plans(found))
    points = np.stack([totals.step_time_s, totals.energy_j], axis=1)
    keep = nondominated(points)
    return [found[at] for at in keep], points[keep]


def explicit_plan(model: CostModel, plan: Plan) -> Plan:
    """The same plan with its stages listed."""
    if plan.stages is not None:
        return plan
    sizes = plan_chunks(plan, model.job.model)
    kinds = chunk_kinds(model.job.model.layer_kinds, sizes)
    none = np.zeros_like(kinds)
    counts = {name: kinds if plan.recompute == name else none for name in ("selective", "full")}
    stages = tuple(
        Stage(
            layers=int(size),
            recompute="none",
            selective=pair_of(counts["selective"][c]),
            full=pair_of(counts["full"][c]),
            sharding=plan.sharding,
            clock=plan.clock,
        )
        for c, size in enumerate(sizes)
    )
    return replace(plan, stages=stages)


def with_stage_clocks(plan: Plan, clocks: Sequence[float]) -> Plan:
    """A listed plan with a clock per stage, or per pair of stages with the same chunks."""
    assert plan.stages is not None
    last = plan.pp - 1
    device = [min(c, last - c) if _both_ways(plan) else c % plan.pp for c in range(last + 1)]
    stages = tuple(
        replace(stage, clock=clocks[device[c % plan.pp]]) for c, stage in enumerate(plan.stages)
    )
    return replace(plan, stages=stages, clock=max(stage.clock or 0.0 for stage in stages))


def _both_ways(plan: Plan) -> bool:
    return schedule_of(plan.schedule).bidirectional


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clocked:
    """The stage problem of the clocks of a plan.

    Attributes:
        plan: With listed stages.
        clocks: (k,) of which each stage has one.
        problem: Column d k + c: stage d at clock c.
        unit_s: Seconds of a unit of time.
    """

    plan: Plan
    clocks: FloatArray
    problem: StageProblem
    unit_s: float

    @staticmethod
    def build(model: CostModel, plan: Plan) -> _Clocked:
        """Of a listed plan."""
        clocks = model.clocks(wanted=True)
        table = PlanTable.from_plans(
            [with_stage_clocks(plan, [clock] * plan.pp) for clock in clocks.tolist()]
        )
        x = evaluated(model, table)
        upper_s = float(x.step.time.max())
        waiting_w = plan.chips * float(x.inputs.standing_w[0, 0])
        units = Units.of(waiting_w, upper_s)
        return _Clocked(
            plan=plan,
            clocks=clocks,
            problem=_problem(model, x, plan, units),
            unit_s=units.time_s / _parts(model, plan),
        )

    def plan_of(self, choice: Choice) -> Plan:
        """The plan of a choice."""
        return with_stage_clocks(self.plan, self.clocks[choice.columns % len(self.clocks)].tolist())


def _parts(model: CostModel, plan: Plan) -> int:
    """Units count in v-ths where chunks do."""
    return plan.interleave if model.assumptions.bubbles else 1


def _problem(model: CostModel, x: Evaluated, plan: Plan, units: Units) -> StageProblem:
    """Every stage at every clock, in whole numbers that are rounded down."""
    v, bubbles = _parts(model, plan), model.assumptions.bubbles
    m = round(float(x.inputs.m[0, 0]))
    factor = float(x.step.factor[0, 0])
    both = _both_ways(plan)
    stages = plan.pp // 2 if both else plan.pp
    forms = schedule_of(plan.schedule).step_forms(m, v, bubbles=bubbles)
    sums, peaks, weights = forms.sums, forms.peaks, forms.forms
    peaks = (*peaks, "exposed", "optimizer")
    columns = [_costs(model, plan, stage, x) for stage in x.stages[:stages]]
    named = {
        name: units.of_seconds(np.concatenate([getattr(one, name) for one in columns]), factor)
        for name in {*sums, *peaks}
    }
    joules = np.concatenate([one.extra_j for one in columns])
    constant = int(units.of_seconds(v * _constant_s(model, x, plan, m), factor)[0])
    device = np.repeat(np.arange(stages), len(joules) // stages)
    standing = round(plan.chips * float(x.inputs.standing_w[0, 0]) * units.time_s / units.joules)
    return StageProblem(
        layers=stages,
        chunks=np.arange(stages)[:, None],
        columns=Columns(
            device=device,
            starts=device[:, None],
            ends=device[:, None] + 1,
            group=np.zeros_like(device),
            sums=np.stack(
                [*(named[name] for name in sums), units.of_joules(v * joules)],
                axis=1,
            ),
            peaks=np.stack([named[name] for name in peaks], axis=1),
        ),
        time=tuple(
            Form(constant=constant, sums=(*added, 0), peaks=(*paced, v, v))
            for added, paced in weights
        ),
        cost=Form(sums=(*(0 for _ in sums), 1)),
        cost_per_time=standing,
    )


def _constant_s(model: CostModel, x: Evaluated, plan: Plan, m: int) -> FloatArray:
    """(1,) seconds that no clock changes; of pairs of ranks messages are part of the rounds."""
    a, p2p = model.assumptions, x.inputs.p2p[:1, 0]
    if _both_ways(plan):
        return a.step_s + 0.0 * p2p
    return unstaged_s(a, PlanTable.from_plans([plan]), np.array([m]), p2p)


def _costs(
    model: CostModel, plan: Plan, stage: StageCost, x: Evaluated
) -> StageChoiceCosts | PairCosts:
    """(k,) costs of a stage, or of a pair of ranks, at every clock."""
    a, inputs, factor = model.assumptions, x.inputs, float(x.step.factor[0, 0])
    costs: StageChoiceCosts | PairCosts
    if _both_ways(plan):
        costs = pair_costs(a, stage, inputs, factor)
    else:
        costs = stage_costs(a, schedule_of(plan.schedule), stage, inputs, factor)
        if stage.longest is not None and a.bubbles:
            longest = stage.longest * inputs.v + ends_s(stage, inputs)
            costs = replace(costs, filling=np.where(np.isnan(longest), costs.time, longest))
    shape = costs.time.shape
    return type(costs)(
        **{f.name: np.broadcast_to(getattr(costs, f.name), shape)[:, 0] for f in fields(costs)}
    )
