"""What lifting a wish would give that is usually assumed: what runs plans, risk, whole layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.answers.notes.likely import against_first
from planner.answers.notes.scope import BOTH_WISHES
from planner.answers.spaces.modules import with_modules
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import refused_by
from planner.objectives import Objective
from planner.plan import PlanTable
from planner.question.kinds.scope import MAX_OOM_RISK, RUNNABLE_IN
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, plan_results
from planner.results.solved_parts import Wider
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.wider import better_plan


def lifted(
    resolved: Resolved,
    space: UniformSpace,
    objective: Objective,
    named: PlanTable,
    best: PlanResult,
) -> list[Wider]:
    """The best plan without each wish and, where neither alone gives one, without both.

    After these a plan with modules that recompute, where the question left them out and it is
    clearly better.

    Args:
        resolved: The job on its machine.
        space: The space of the best plan, after its search.
        objective: What is minimized.
        named, best: The best plan, as a table of one row and with its cost.
    """
    here = replace(space, chips=_numbers(resolved, space), beside=space.last)
    return [
        *_without_wishes(here, objective, named, best),
        *with_modules(here, objective, named, best),
    ]


def _without_wishes(
    here: UniformSpace, objective: Objective, named: PlanTable, best: PlanResult
) -> list[Wider]:
    """The best plan without each wish, and without both; `here`: the space with them."""
    wider = dict(_wider(here))
    if len(wider) < 2 or here.deadline is not None:
        return [_better(name, each, objective, named, best) for name, each in wider.items()]
    widest = replace(wider[RUNNABLE_IN], limits=wider[MAX_OOM_RISK].limits)
    both = _better(BOTH_WISHES, widest, objective, named, best)
    alone = [
        replace(both, lifted=name)
        if _obeys(both, here, name)
        else _better(name, each, objective, named, best)
        for name, each in wider.items()
    ]
    named_alone = both.plan is None or any(one.plan for one in alone)
    return alone if named_alone else [*alone, both]


def _obeys(found: Wider, space: UniformSpace, lifted_alone: str) -> bool:
    """Whether the best without both wishes is that without one: it obeys the other, or is none."""
    if found.plan is None or not found.proved:
        return found.proved
    plan, risk = found.plan.result, space.limits.oom_risk
    if lifted_alone == RUNNABLE_IN:
        return risk is not None and plan.out_of_memory_probability <= risk
    return not refused_by(space.model, plan.plan, space.options.runnable_in)


def _numbers(resolved: Resolved, space: UniformSpace) -> tuple[int, ...]:
    """The numbers of chips of a question, from that of its plans on where none fits on all."""
    used, asked = space.chips[-1], resolved.chips
    if used == asked or not resolved.request.keeps_to_chips:
        return space.chips
    return tuple(n for n in resolved.cost.cluster.chip_counts(asked) if used <= n <= asked)


def _wider(space: UniformSpace) -> Iterator[tuple[str, UniformSpace]]:
    """The space without each wish that it has, by the wish."""
    if space.options.runnable_in:
        yield RUNNABLE_IN, replace(space, options=replace(space.options, runnable_in=()))
    if space.limits.oom_risk is not None:
        yield MAX_OOM_RISK, replace(space, limits=replace(space.limits, oom_risk=None))


def _better(
    name: str, space: UniformSpace, objective: Objective, named: PlanTable, best: PlanResult
) -> Wider:
    """The best plan of a wider space, where it is better."""
    found, proved = better_plan(space, objective, named, objective.value_of(best.costs))
    if found is None:
        return Wider(lifted=name, plan=None, proved=proved)
    model = space.model.on(found.plan(0).chips)
    result = plan_results(model, found, evaluate_table(model, found))[0]
    plan = against_first(model, [best, result], objective)[1]
    return Wider(lifted=name, plan=plan, proved=proved)
