"""What is said of a front: what it ranges over, and what it shows about the best plan."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base.units import plural, show_joules, show_seconds
from planner.cost.context import CostModel
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult


def better_on_fewer(best: PlanResult, front: Sequence[PlanResult]) -> list[str]:
    """A plan of the front that on fewer chips needs neither more time nor energy, in a sentence."""
    for row, plan in enumerate(front, start=1):
        cheaper = plan.energy_per_step_j <= best.energy_per_step_j
        if plan.chips < best.chips and plan.step_time_s <= best.step_time_s and cheaper:
            return [
                f"Fewer chips do better: row {row} takes {show_seconds(plan.step_time_s)} and "
                f"{show_joules(plan.energy_per_step_j)} a step on {plan.chips:,} chips."
            ]
    return []


def keeps_to_chips(request: Request, model: CostModel) -> bool:
    """Whether a front is of plans on exactly the chips asked for."""
    return request.chips_exact or model.assumptions.token_granularity  # shares are of these chips


def counts_of_best(resolved: Resolved) -> tuple[int, ...]:
    """The chip counts that the best plan may have: all that were asked for, or also fewer."""
    request, model, chips = resolved.request, resolved.cost, resolved.chips
    if keeps_to_chips(request, model) or not request.minimized.over_chips:
        return (chips,)
    return (*(n for n in model.cluster.chip_counts(chips) if n < chips), chips)


def fewer_chips(resolved: Resolved, best: PlanResult) -> list[str]:
    """That a best plan leaves chips out, in a sentence."""
    if best.chips >= resolved.chips:
        return []
    return [
        f"It uses {best.chips:,} of up to {resolved.chips:,} chips: more would not lower the "
        f"{resolved.request.minimized.noun} (chips exact keeps to all of them)."
    ]


def front_note(resolved: Resolved, plans: int, *, proved: bool) -> str:
    """What the front ranges over, and why a single point is all there is.

    Args:
        resolved: The job on its machine, with its chips.
        plans: How many there are.
        proved: Whether it is proved that they are all.
    """
    request, model = resolved.request, resolved.cost
    clocks = len(model.clocks(wanted=request.clocks))
    within = "exactly" if keeps_to_chips(request, model) else "up to"
    ranges = f"plans on {within} {plural(resolved.chips, 'chip')}"
    ranges += f" at {clocks} clock levels" if clocks > 1 else ""
    if not proved:
        return f"The front of {ranges} is incomplete: the time limit ended the search."
    if plans > 1:
        return f"The exact front of {ranges}: {plans} plans; proved complete."
    if "energy" not in request.front:
        noun = request.compared[-1].noun
        return (
            f"The exact front of {ranges} is a single plan, proved: every other plan is slower or "
            f"equal and has more or equal {noun}."
        )
    return (
        f"The exact front of {ranges} is a single plan, proved: every other plan is slower or "
        "equal and needs more or equal energy, because waiting chips, hosts and network draw "
        "power as long as a step lasts."
    )
