"""What is said of a front: what it ranges over, and what it shows about the best plan."""

from __future__ import annotations

from collections.abc import Sequence

from planner.results import PlanResult
from planner.search.engine import Found, Search
from planner.units import show_joules, show_seconds
from solvers.solution import Status


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


def front_note(found: Found, scope: str, search: Search) -> str:
    """What the front ranges over, and why a single point is all there is."""
    clocks = len(search.clocks)
    ranges = scope + (f" at {clocks} clock levels" if clocks > 1 else "")
    if found.status is not Status.OPTIMAL:
        return f"The front of {ranges} is incomplete: the time limit ended the search."
    if len(found.points) > 1:
        return f"The exact front of {ranges}: {len(found.points)} plans; proved complete."
    return (
        f"The exact front of {ranges} is a single plan, proved: every other plan is slower or "
        "equal and needs more or equal energy, because waiting chips, hosts and network draw "
        "power as long as a step lasts."
    )
