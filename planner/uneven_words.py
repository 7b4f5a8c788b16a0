"""What is said of a plan whose stages differ, and of the front that it is part of."""

from __future__ import annotations

from dataclasses import replace

from planner.resolved import Resolved
from planner.results import PlanResult, SolveResult
from planner.stage_facts import PlanFacts, plan_facts
from planner.units import plural, show_percent
from solvers.solution import Status


def with_uneven_words(
    resolved: Resolved, answer: SolveResult, uniform: PlanResult | None
) -> SolveResult:
    """An answer with the best uniform plan, and what there is to say beside it.

    Args:
        resolved: The job on its machine.
        answer: With a plan and a certificate, its best plan's stages and its `why` included.
        uniform: The best plan with uniform stages; None where none fits.
    """
    return replace(
        answer,
        uniform=uniform,
        why=(*answer.why, *_balance_words(resolved, answer, uniform)),
        front_note=front_note(resolved, answer),
    )


def _balance_words(
    resolved: Resolved, answer: SolveResult, uniform: PlanResult | None
) -> list[str]:
    """How even the times of the stages are, beside those of the best uniform plan."""
    facts = answer.facts
    if facts is None or len(facts.stages) == 1:
        return []
    words = f"The fastest stage takes {show_percent(_evenness(facts))} of the time of the slowest"
    if uniform is None or uniform.plan.pp == 1 or answer.best == uniform:
        return [f"{words}."]
    others = plan_facts(resolved.cost, uniform.plan, facts.memory_limit_bytes)
    return [f"{words}; in the best uniform plan {show_percent(_evenness(others))}."]


def _evenness(facts: PlanFacts) -> float:
    """Time of the fastest stage over that of the slowest."""
    times = [stage.forward_s + stage.backward_s for stage in facts.stages]
    return min(times) / max(times)


def front_note(resolved: Resolved, answer: SolveResult) -> str:
    """What the front of uneven plans ranges over, and whether it is all of it."""
    request, model = resolved.request, resolved.cost
    assert request.chips is not None
    clocks = len(model.clocks(wanted=request.clocks))
    ranges = f"plans on exactly {plural(request.chips, 'chip')} whose stages may differ"
    ranges += f", at {clocks} clock levels per stage" if clocks > 1 else ""
    count = plural(len(answer.front), "plan")
    if answer.front_complete:
        return f"The front of {ranges}: {count}; proved complete."
    if answer.status != Status.OPTIMAL.value:
        return f"The front of {ranges} is incomplete: the search ended before; {count}."
    return (
        f"The front of {ranges}: {count}, each proved for its time limit; between them there may "
        "be more (front points: all finds them)."
    )
