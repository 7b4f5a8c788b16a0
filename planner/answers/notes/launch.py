"""Whether the framework of a job can launch the best plan, which is predicted for it alone."""

from __future__ import annotations

from planner.cost.context import CostModel
from planner.frameworks.registry import target_of
from planner.frameworks.rules import broken
from planner.plan import Plan, PlanTable
from planner.question.request import Request


def not_launched(request: Request, model: CostModel, plan: Plan) -> list[str]:
    """That the target named like the framework cannot run a plan as it is, in a sentence.

    `framework` says whose memory and speed are predicted, `runnable_in` what has to launch a plan.
    """
    target = target_of(model.job.framework.name)
    if target is None or request.runnable_in or model.assumptions.token_granularity:
        return []
    orders = request.placement != "framework"
    found = broken(model, PlanTable.from_plans([plan]), target=target, all_orders=orders)
    if not found:
        return []
    fields = ", ".join(dict.fromkeys(rule.field for rule, _ in found))
    return [
        f"{target.title} cannot run this plan as it is ({fields}): --runnable-in {target.name} "
        "keeps to plans that it runs."
    ]
