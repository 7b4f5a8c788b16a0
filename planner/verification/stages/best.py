"""The best plan of a proof whose stages differ: one that the question allows, with its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.base.vocabulary import MESH_AXES
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.energy.meter import pooled_meter
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.cost.pools.evaluate import evaluate_stages
from planner.cost.pools.pools import Pool, owners, without_pools
from planner.frameworks.rules import broken, refused_by, violations
from planner.frameworks.targets import Target
from planner.plan import FULL, SELECTIVE, Plan, PlanTable
from planner.plan.clocks import clocks_of
from planner.plan.plan import code_of, complete_order
from planner.question.pools import ResolvedPools
from planner.question.resolved import Resolved
from planner.verification.asked import Asked, asked_of_one
from planner.verification.case import SAME, Declared
from planner.verification.claim import check_in_space
from planner.verification.faults import Fault
from planner.verification.rows import mesh_of, row_of
from planner.verification.space import Space
from planner.verification.stages.listing import StageSpace

_ALWAYS = (*MESH_AXES, "micro_batch", "interleave")
_WHERE = "best"


def on_one_machine(resolved: Resolved, space: StageSpace, plan: Plan) -> tuple[float, float]:
    """Seconds and joules of a plan that the question allows.

    Args:
        resolved: The question.
        space: Its partial plans.
        plan: One that is said to be the best.

    Raises:
        Fault: It is not allowed.
    """
    asked, model = space.asked, resolved.cost
    if plan.chips != resolved.chips:
        raise Fault(f"best: the plan is on {plan.chips} chips")
    plans = PlanTable.from_plans([plan])
    all_orders = resolved.request.placement == "all"
    if lines := violations(model, plans, all_orders=all_orders):
        raise Fault(f"best: {lines[0]}")
    targets: tuple[Target, ...] = resolved.runners.targets
    if refused := refused_by(model, plan, targets):
        raise Fault(f"best: {refused[0][1]}")
    _check_declared(asked, space, plan, plans)
    _check_clocks(asked, plan)
    chip, host = asked.fits(plans, memory_table(model, plans))
    if not (chip[0] and host[0]):
        raise Fault("best: the plan does not fit in memory")
    totals = evaluate_totals(model, plans)
    if not asked.within(totals.step_time_s, totals.energy_j, plans.chips)[0]:
        raise Fault("best: the plan breaks a limit on time, power or utilization")
    return float(totals.step_time_s[0]), float(totals.energy_j[0])


def on_pools(pooled: ResolvedPools, space: StageSpace, plan: Plan) -> tuple[float, float]:
    """The same of a plan on pools."""
    pools = pooled.pools
    if plan.chips != pooled.chips:
        raise Fault(f"best: the plan is on {plan.chips} chips")
    owner, plans = owners(pools, plan), PlanTable.from_plans([without_pools(plan)])
    _check_declared(space.asked, space, plan, plans)
    whole = evaluate_stages(pools, owner, plans)[1]
    all_orders = pooled.request.placement == "all"
    for at, each in enumerate(pooled.each):
        seen = PlanTable.from_plans([_seen_by(pools[at], plan)])
        alone = at > 0  # the rules of the framework are those of all pools
        if lines := broken(each.cost, seen, arithmetic_only=alone, all_orders=all_orders):
            raise Fault(f"best: {lines[0][1]}")
        limit = each.cost.clock_limit
        if not np.isclose(np.array(clocks_of(plan))[owner == at], limit, rtol=SAME).all():
            raise Fault(f"best: a stage on {pools[at].name} is not at the highest clock")
        mine, most = owner == at, asked_of_one(each).most_bytes(plans)[0]
        if (whole.memory.total[0, mine] > most).any():
            raise Fault(f"best: a stage does not fit in memory on {pools[at].name}")
    time_s, energy_j = float(whole.step.time[0, 0]), float(whole.step.energy[0, 0])
    if not _within(pooled, time_s, energy_j):
        raise Fault("best: the plan breaks a limit on time, power or utilization")
    return time_s, energy_j


def _seen_by(pool: Pool, plan: Plan) -> Plan:
    """A plan as if all of it were on the chips of a pool, at the clocks of its own stages."""
    limit = pool.model.clock_limit
    stages = [
        stage if stage.pool == pool.name else replace(stage, clock=limit)
        for stage in plan.stages or ()
    ]
    return without_pools(replace(plan, stages=tuple(stages), clock=min(plan.clock, limit)))


def _within(pooled: ResolvedPools, time_s: float, energy_j: float) -> bool:
    """Whether a step on all pools is within the limits on time, power and utilization."""
    request, pools = pooled.request, pooled.pools
    if request.max_step_time is not None and time_s > request.max_step_time:
        return False
    if request.max_power is not None:
        meter = pooled_meter(pools, request.power_boundary)
        if energy_j > meter.it_w(request.max_power) * time_s:
            return False
    if request.min_mfu is None:
        return True
    job, shapes = pools[0].model.job, pools[0].model.shapes
    flop = job.batch_tokens * model_flop_per_token(job, shapes)
    peak = sum(pool.chips * peak_flop_per_s(pool.model) for pool in pools)
    return bool(flop >= request.min_mfu * peak * time_s)


def _check_declared(asked: Asked, space: StageSpace, plan: Plan, plans: PlanTable) -> None:
    """The plan is one that the question narrows its plans down to.

    Raises:
        Fault: It is not.
    """
    for name, code, words in _choices(plan):
        if not asked.allows(name, code):
            raise Fault(f"best: {name} {words} is not what the question fixes")
    _check_layout(asked, space, plan)
    if plan.stages is None:
        free = plan.layout is not None  # whose order says nothing
        _check_uniform(asked, replace(plan, layout=None) if free else plan)
        return
    if plan.offload:
        raise Fault("best: stages that differ keep nothing on the host")
    node = row_of(plans)[0]
    if space.breaks(mesh_of(node)):
        raise Fault("best: the plan is not on a mesh of the question")
    nodes = space.nodes([mesh_of(node)])[0]
    if not any(one[:-1] == node[:-1] and space.deals_out(one) for one in nodes):
        raise Fault("best: the plan is not in the space of the question")


def _choices(plan: Plan) -> Iterator[tuple[str, int, str]]:
    """Every choice of a plan that says something, its code, and its word."""
    for name in _ALWAYS:
        yield name, getattr(plan, name), str(getattr(plan, name))
    if plan.pp > 1:
        yield "schedule", code_of("schedule", plan.schedule), plan.schedule
    if plan.tp > 1:
        spread = plan.sequence_parallel
        yield "sequence_parallel", int(spread), str(spread).lower()
    if plan.cp > 1:
        yield "cp_mode", code_of("cp_mode", plan.cp_mode), plan.cp_mode
    for word in dict.fromkeys(_shardings(plan)):
        yield "sharding", code_of("sharding", word), word
    for word in dict.fromkeys(_recomputations(plan)):
        yield "recompute", code_of("recompute", word), word


def _shardings(plan: Plan) -> Iterator[str]:
    """The sharding of every stage."""
    if plan.stages is None:
        yield plan.sharding
    for stage in plan.stages or ():
        yield stage.sharding or plan.sharding


def _recomputations(plan: Plan) -> Iterator[str]:
    """How the layers of every stage recompute."""
    if plan.stages is None:
        yield plan.recompute
    for stage in plan.stages or ():
        counted = sum(stage.selective) + sum(stage.full)
        if counted < stage.layers:
            yield stage.recompute or plan.recompute
        for code, layers in ((SELECTIVE, stage.selective), (FULL, stage.full)):
            if sum(layers):
                yield ("none", "selective", "full")[code]


def _check_layout(asked: Asked, space: StageSpace, plan: Plan) -> None:
    """Layers are those that are given, and axes are nested as they may be.

    Raises:
        Fault: They are not.
    """
    request, layers = asked.request, space.layers
    if layers is not None and [stage.layers for stage in plan.stages or ()] != [*layers]:
        raise Fault("best: the layers of the stages are not those that are given")
    if plan.layout is not None:
        if request.placement != "torus":
            raise Fault("best: the question asks for no layouts over a torus")
        return
    active = [axis for axis in complete_order(plan.order) if getattr(plan, axis) > 1]
    wanted = [[axis for axis in order if getattr(plan, axis) > 1] for order in asked.orders]
    if active not in wanted:
        raise Fault("best: the plan does not run in this order of its axes")


def _check_clocks(asked: Asked, plan: Plan) -> None:
    """Every stage is at a clock that is wanted.

    Raises:
        Fault: It is not.
    """
    for clock in clocks_of(plan):
        if not np.isclose(asked.clocks, clock, rtol=SAME).any():
            raise Fault(f"best: clock {clock} is none of the question")


def _check_uniform(asked: Asked, plan: Plan) -> None:
    """A plan whose stages are alike is one of the uniform plans of the question."""
    declared = Declared(asked=asked, space=Space(asked))
    check_in_space(declared, PlanTable.from_plans([plan]), _WHERE)
