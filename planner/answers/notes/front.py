"""What is said of a front: what it ranges over, and what the best plan does with its chips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.answers.notes.batches import other_batch
from planner.base.units import plural, show_percent
from planner.cost.evaluate import evaluate_table
from planner.explanation.judging import not_asked, obeying, refusal_of
from planner.plan import Plan, PlanTable
from planner.question.kinds.kind import Kind, kind_of
from planner.question.options import SpaceOptions
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, plan_results
from planner.results.words import mesh_words
from planner.search.limits import Limits

_WORTH_SAYING = 0.01
"""Share of the energy of a step that fewer chips have to save to be named."""
_EXACT = (
    "--chips-exact is the default where a plan fits on all chips; without it the most are used on "
    "which one does."
)


def said_of_chips(
    resolved: Resolved, best: PlanResult, limits: Limits, options: SpaceOptions
) -> list[str]:
    """What a best plan does with its chips, and what fewer or another batch would.

    Args:
        resolved: The job on its machine.
        best: The best plan.
        limits, options: What a plan has to obey.
    """
    model, near = resolved.cost, plans_on_fewer(resolved, best.plan, options)
    known = plan_results(model, near, evaluate_table(model, near)) if len(near) else []
    return [
        *chips_left(resolved, best),
        *less_energy(resolved, best, known, limits, options),
        *other_batch(resolved, best, limits, options),
    ]


def chips_left(resolved: Resolved, best: PlanResult) -> list[str]:
    """That a best plan leaves chips out, in a sentence; or that none may, as is usual."""
    if best.chips >= resolved.chips:
        given = resolved.request.chips_exact and resolved.request.keeps_to_chips
        return [_EXACT] if given else []
    if resolved.request.keeps_to_chips:
        shared = resolved.cost.assumptions.token_granularity
        any_number = f"--chips-at-most {resolved.chips} finds the best on any number, "
        return [
            f"No plan fits on all {resolved.chips:,} chips: {best.chips:,} are the most below on "
            f"which one does ({'' if shared else any_number}--chips-exact says why none fits on "
            "all)."
        ]
    return [
        f"It uses {best.chips:,} of up to {resolved.chips:,} chips: more would not lower the "
        f"{resolved.request.minimized.noun} (--chips {resolved.chips} keeps to all of them)."
    ]


def plans_on_fewer(resolved: Resolved, best: Plan, options: SpaceOptions) -> PlanTable:
    """Plans with a smaller axis than a best plan on all chips, which break no rule.

    None where the question is about a range of chips, or stages may differ.
    """
    own = resolved.chips == best.chips and kind_of(resolved.request) is Kind.UNIFORM
    own = own and resolved.request.keeps_to_chips
    there: list[Plan] = []
    if own and not resolved.cost.assumptions.token_granularity:
        counts = resolved.cost.cluster.chip_counts(best.chips)
        there = [plan for plan in _on_fewer(best) if plan.chips in counts]
    table = PlanTable.from_plans(there)
    if not there:
        return table
    kept = obeying(resolved.cost, table, all_orders=options.all_orders, targets=options.runnable_in)
    return table.take(np.flatnonzero(kept))


def less_energy(
    resolved: Resolved,
    best: PlanResult,
    near: Sequence[PlanResult],
    limits: Limits,
    options: SpaceOptions,
) -> list[str]:
    """That the best plan with a smaller axis takes less energy on fewer chips, in a sentence.

    Such a plan exists; that it is the best on so many chips is not said.

    Args:
        resolved: The job on its machine.
        best: The best plan.
        near: Those of `plans_on_fewer`.
        limits, options: What a plan has to obey.
    """
    model = resolved.cost
    known = [
        one
        for one in near
        if not (refusal_of(model, one, limits) or not_asked(model, one.plan, options))
    ]
    least = min(known, key=lambda one: one.energy_per_step_j, default=best)
    saved = 1 - least.energy_per_step_j / best.energy_per_step_j
    if saved < _WORTH_SAYING:
        return []
    times = least.step_time_s / best.step_time_s
    return [
        f"Fewer chips take less energy: {mesh_words(least.plan)} on {least.chips:,} takes "
        f"{show_percent(saved)} less a step in {times:.3g}x the time (a plan near this one; "
        f"--chips-at-most {best.chips} finds the best)."
    ]


def _on_fewer(plan: Plan) -> list[Plan]:
    """A plan with one axis halved, quartered, or cut to a power of two; none of a fixed layout."""
    if plan.layout is not None or plan.stages:
        return []
    sizes: list[dict[str, Any]] = [
        {axis: size}
        for axis in ("dp", "fsdp", "cp", "tp", "pp")
        for size in _smaller(plan.mesh[axis])
    ]
    return [replace(plan, **size) for size in sizes]


def _smaller(size: int) -> set[int]:
    """Sizes below one: the halves and quarters that are whole, and the next power of two."""
    power = 1 << (size - 1).bit_length() >> 1
    return {size // part for part in (2, 4) if size % part == 0} | ({power} if size > 1 else set())


def range_words(fewest: int, most: int) -> str:
    """`exactly 8 chips`, `up to 8 chips` or `4 to 8 chips`."""
    if fewest == most:
        return f"exactly {plural(most, 'chip')}"
    return f"up to {plural(most, 'chip')}" if fewest == 1 else f"{fewest:,} to {most:,} chips"


def front_note(resolved: Resolved, best: PlanResult, plans: int, *, proved: bool) -> str:
    """What the front ranges over, and why a single point is all there is.

    Args:
        resolved: The job on its machine, with its chips.
        best: The best plan; where no plan uses all chips asked for, the front is on its.
        plans: How many there are.
        proved: Whether it is proved that they are all.
    """
    request, model = resolved.request, resolved.cost
    clocks = len(model.clocks(wanted=bool(request.clocks)))
    asked = (resolved.fewest_chips, resolved.chips)
    within = (best.chips, best.chips) if request.keeps_to_chips else asked
    ranges = f"plans on {range_words(*within)}"
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
