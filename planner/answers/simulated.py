"""The step time of a plan with explicit stages, simulated operation by operation, beside the model.

The step time of the cost model is a closed form; for stages that differ it is an estimate
(`planner.cost.step`). The simulation (`planner.cost.timeline.timeline`) runs every pass in the
order of the schedule with the same durations. It is made where it takes a fraction of a second.
"""

from __future__ import annotations

from dataclasses import replace

from planner.cost.context import CostModel
from planner.cost.facts import PlanFacts, plan_facts
from planner.plan import Plan

MOST_OPERATIONS = 100_000
"""About a quarter of a second."""


def simulated_facts(model: CostModel, plan: Plan, memory_limit_bytes: float) -> PlanFacts:
    """The facts of a plan, with its simulated step time where it has explicit stages.

    Args:
        model, plan, memory_limit_bytes: As of `planner.cost.facts.plan_facts`.

    Raises:
        InputError: See `planner.cost.evaluate.evaluate_table`.
    """
    facts = plan_facts(model, plan, memory_limit_bytes)
    if plan.stages is None or plan.pp == 1:
        return facts
    why_not = _why_not(model, plan)
    if why_not:
        return replace(facts, not_simulated=why_not)
    return replace(facts, simulated_step_time_s=_makespan_s(model, plan))


def simulated_step_s(model: CostModel, plan: Plan) -> float | None:
    """The simulated step time of any plan; None where it is not simulated.

    Raises:
        InputError: See `planner.cost.evaluate.evaluate_table`.
    """
    return None if _why_not(model, plan) else _makespan_s(model, plan)


def _why_not(model: CostModel, plan: Plan) -> str:
    """Why a plan is not simulated; empty where it is."""
    if not model.assumptions.bubbles:
        return "the preset leaves bubbles out"
    from planner.cost.timeline.timeline import (  # noqa: PLC0415  (few plans are simulated)
        operations_of,
        why_not_simulated,
    )

    if problem := why_not_simulated(model, plan):
        return problem
    operations = operations_of(model, plan)
    if operations > MOST_OPERATIONS:
        return f"{operations:,} operations would take long (`planner evaluate --trace` runs them)"
    return ""


def _makespan_s(model: CostModel, plan: Plan) -> float:
    """The simulated step time of a plan that can be simulated."""
    from planner.cost.timeline.timeline import timeline_of  # noqa: PLC0415  (few plans are simulated)

    return timeline_of(model, plan).makespan_s
