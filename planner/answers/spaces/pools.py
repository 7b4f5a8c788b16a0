"""The answers of `planner.solve` and `planner.evaluate` on pools of different chips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.answers.building import Chosen, Setting, with_plan, without_plan
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.pools import SECONDS, PooledQuestion, PooledReasons
from planner.answers.evaluation import limits_of, limits_on_given, options_of, training_run
from planner.answers.notes.caveats import caveats
from planner.answers.notes.scope import Scope, risk_words
from planner.answers.spaces.pool_plan import PooledPlan, widest_spread
from planner.answers.spaces.uneven_front import counted
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.base.units import plural, show_percent, show_seconds
from planner.base.vocabulary import MESH_AXES
from planner.cost.communication.traffic import mfu_convention
from planner.cost.memory.risk import lacks_headroom
from planner.cost.pools.pools import Pool, without_pools
from planner.cost.step import ends_s
from planner.frameworks.rules import violations
from planner.objectives import Costs
from planner.plan import Plan, PlanTable
from planner.plan.clocks import clocks_of
from planner.question.facility import under_limits
from planner.question.files.plan_text import asked_of
from planner.question.kinds.scope import risk_default
from planner.question.options import SpaceOptions
from planner.question.pools import ResolvedPools
from planner.question.provenance import versions
from planner.question.request import Request
from planner.results.parts import Notes, Question
from planner.results.plan import RankedPlan
from planner.results.pool_use import PoolUse
from planner.results.result import EvaluateResult, SolveResult
from planner.results.solved_parts import Front, Stages
from planner.search.driver import Driver
from planner.search.rows import Fastest
from planner.search.space import Trail
from planner.search.uneven.certificate import best_time
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

_NOTE = (
    "On pools of chips the fastest plan alone is searched, at full clock; energy is that of this "
    "plan."
)


_SCOPE = (
    "All plans of the framework are searched: no target of planner export runs pools of different "
    "chips."
)


def solve_pools(
    resolved: ResolvedPools,
    on_progress: Progress | None,
    started: float,
    trail: Trail | None = None,
) -> SolveResult:
    """The fastest plan on all pools, why none is faster, and what each pool alone would do.

    Args:
        resolved: The job on its pools.
        on_progress: Called with (what, done, of).
        started: `time.perf_counter` value at which the work began.
        trail: Where the stage problems of its proof are kept; None: nowhere.
    """
    request = resolved.request
    asked = PooledQuestion(
        pools=resolved.pools,
        options=options_of(request),
        limits=limits_of(request),
        deadline=None if request.time_limit is None else started + request.time_limit,
    )
    found = asked.searched(request.gap or 0.0, on_progress, trail)
    setting, counts = _setting(resolved, started), _counts(found)
    if found.plan is None:
        certificate, why = replace(found.certificate, objective_name=request.objective), None
        if found.status is Status.INFEASIBLE:
            why = diagnose(PooledReasons(asked=asked.hurried(SECONDS), rows=found.rows))
        else:
            certificate = replace(certificate, bound=_bound(resolved, found))
        return without_plan(setting, certificate, counts, why)
    chosen = _chosen(request, asked, found, found.plan)
    certificate = counted(found.certificate, request.minimized, found.plan.chips)
    return with_plan(setting, certificate, chosen, counts)


def _setting(resolved: ResolvedPools, started: float) -> Setting:
    """What an answer says of a job on pools."""
    return Setting(
        request=resolved.request,
        question=_question(resolved),
        notes=_notes(resolved, searched=True),
        started=started,
    )


def _question(resolved: ResolvedPools) -> Question:
    return Question(
        job=resolved.job, plan_job=resolved.plan_job(), asked=asked_of(resolved.request)
    )


def _notes(resolved: ResolvedPools, *, searched: bool = False) -> Notes:
    """What is lost on each pool, what was assumed (also of a search), and what times rest on."""
    losses = [
        f"{pool.name}: {loss}"
        for pool in resolved.pools
        for loss in pool.model.allocation(pool.chips).losses
    ]
    return Notes(
        losses=tuple(losses),
        defaults=(*resolved.defaults, *(risk_default(resolved.request) if searched else ())),
        spread=widest_spread(resolved.pools),
        mfu_convention=mfu_convention(resolved.pools[0].model.assumptions),
        sources=resolved.sources,
    )


def _counts(found: Fastest) -> dict[str, dict[str, int]]:
    """Rows considered, dropped and kept."""
    dropped = sum(count for name, count in found.counts.items() if name != "considered")
    considered = found.counts.get("considered", 0)
    return {"rows before placement": {**found.counts, "kept": considered - dropped}}


def _chosen(request: Request, asked: PooledQuestion, found: Fastest, plan: Plan) -> Chosen:
    """The fastest plan, beside what each pool does alone."""
    known = PooledPlan(pools=asked.pools, plan=plan, limits=asked.limits, allowed=asked.limits)
    pairs = zip(known.uses, known.pools, strict=True)
    uses = tuple(_with_alone(use, pool, asked) for use, pool in pairs)
    return Chosen(
        scope=Scope(words=(_SCOPE, *risk_words(request))),
        best=known.result,
        facts=known.facts,
        front=Front(
            plans=(known.result,),
            objectives=request.front,
            complete=False,
            note=_NOTE,
            proved=(found.status is Status.OPTIMAL,),
        ),
        top=(RankedPlan(result=known.result, difference=0.0, tie=True),),
        why=_why(known),
        stages=Stages(pools=uses),
    )


def _with_alone(use: PoolUse, pool: Pool, asked: PooledQuestion) -> PoolUse:
    """A pool with the step time of the best plan on it alone, of any mesh and layers."""
    free, limits, deadline = _of_any_mesh(asked.options), asked.limits, asked.deadline
    space = UniformSpace(
        model=pool.model, options=free, limits=limits, chips=(pool.chips,), deadline=deadline
    )
    uniform = Driver().run(space)
    found = best_time(pool.model, free, limits, pool.chips, uniform=uniform, deadline=deadline)
    known = float(found.points[0, 0]) if len(found.points) else None
    return replace(use, alone_s=known, alone=found.status.value)


def _of_any_mesh(options: SpaceOptions) -> SpaceOptions:
    """The space without layers and sizes of the mesh that are given: those are of all pools."""
    kept = {name: values for name, values in options.fixed.items() if name not in MESH_AXES}
    return replace(options, fixed=kept, layers=None)


def _why(known: PooledPlan) -> tuple[str, ...]:
    """How work is dealt to the pools, and which of them the step waits for."""
    whole = known.found.whole
    factor = float(whole.step.factor[0, 0])
    times = [
        factor * float((stage.sum_layers("total") + ends_s(stage, whole.inputs))[0, 0])
        for stage in whole.stages
    ]
    lines = []
    for use in known.uses:
        slow = max(times[stage] for stage in use.stages)
        each = use.layers / len(use.stages)
        lines.append(
            f"{use.name}: {use.layers} layers on {plural(len(use.stages), 'stage')} of "
            f"{use.chips // len(use.stages):,} chips, {each:.3g} each; its slowest stage "
            f"takes {show_seconds(slow)} per micro-batch."
        )
    lines.append(
        f"The fastest stage takes {show_percent(min(times) / max(times))} of the time of the "
        "slowest."
    )
    return tuple(lines)


def _bound(resolved: ResolvedPools, found: Fastest) -> float | None:
    """The objective that no plan goes below; None: nothing is known."""
    if not found.bound_s:
        return None
    least = Costs(step_time_s=found.bound_s, energy_j=np.nan, chips=resolved.chips)
    return resolved.request.minimized.value_of(least)


def evaluate_pools(
    resolved: ResolvedPools, plan: Plan, assumed: tuple[tuple[str, str, str], ...] = ()
) -> EvaluateResult:
    """What a plan on pools costs; `assumed`: what the source of the plan left out.

    Raises:
        InputError: The plan breaks a rule of arithmetic, or its stages are not on these pools.
    """
    pools, request = resolved.pools, resolved.request
    plan = under_limits(plan, {pool.name: pool.model.clock_limit for pool in pools})
    broken = _broken(pools, plan, arithmetic_only=True)
    if broken:
        raise InputError("\n".join(f"plan: {line}" for line in broken))
    limits, allowed = limits_of(request), limits_on_given(request)
    known = PooledPlan(pools=pools, plan=plan, limits=limits, allowed=allowed)
    notes = _notes(resolved)
    return EvaluateResult(
        result=known.result,
        fits=all(use.fits for use in known.uses),
        memory_limit_bytes=known.limit_bytes,
        warnings=tuple(dict.fromkeys([*_broken(pools, plan), *_caveats(known)])),
        run=training_run(request, known.result, None),
        notes=replace(notes, defaults=notes.defaults + assumed),
        question=_question(resolved),
        versions=versions(),
        facts=known.facts,
        pools=known.uses,
    )


def _seen_by(pool: Pool, plan: Plan) -> Plan:
    """The plan as one of the pool's chips, at the clocks of its own stages."""
    limit = pool.model.clock_limit
    stages = plan.stages or ()
    own = [stage if stage.pool == pool.name else replace(stage, clock=limit) for stage in stages]
    seen = replace(plan, stages=tuple(own))
    return without_pools(replace(seen, clock=min(max(clocks_of(seen)), limit)))


def _broken(pools: Sequence[Pool], plan: Plan, *, arithmetic_only: bool = False) -> list[str]:
    """Rules that the plan breaks on some pool."""
    lines: dict[str, None] = {}
    for pool in pools:
        table = PlanTable.from_plans([_seen_by(pool, plan)])
        lines |= dict.fromkeys(violations(pool.model, table, arithmetic_only=arithmetic_only))
    return list(lines)


def _caveats(known: PooledPlan) -> list[str]:
    """What a user should know beside, of every pool."""
    lines = []
    for pool, use in zip(known.pools, known.uses, strict=True):
        framework, held = pool.model.framework, np.array(use.memory_bytes)
        seen = replace(
            known.result,
            plan=_seen_by(pool, known.plan),
            memory_per_chip_bytes=use.memory_bytes,
            lacks_headroom=bool(lacks_headroom(framework, held, pool.model.chip.memory_bytes)),
        )
        of_pool = caveats(pool.model, seen, known.allowed)
        memory = ("memory: ", "headroom: ")
        lines += [f"{use.name}: {line}" if line.startswith(memory) else line for line in of_pool]
    return lines
