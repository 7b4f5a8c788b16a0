"""Puts an explanation together from real evaluations of the cost model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.base.progress import Progress
from planner.base.units import is_change, show_change, show_seconds
from planner.explanation.answer import Explained, Step
from planner.explanation.causes import why_of
from planner.explanation.contenders import better_of, rivals_of
from planner.explanation.judging import is_tie, verdict_of
from planner.explanation.sensitivity.elasticities import elasticities, leanings, overtakings
from planner.explanation.sensitivity.numbers import levers
from planner.explanation.sensitivity.profile import of_framework
from planner.explanation.sensitivity.rebuilding import rebuilding
from planner.explanation.steps.machine import machine_steps, scale_steps, slower_steps
from planner.explanation.steps.neighbors import Judged, judged_steps
from planner.objectives import TIME, Objective
from planner.plan import Plan
from planner.plan.words import clock_words, recompute_words, sharding_words
from planner.question.options import SpaceOptions
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult
from planner.search.limits import Limits


def explained(
    resolved: Resolved,
    result: PlanResult,
    limits: Limits,
    options: SpaceOptions,
    objective: Objective = TIME,
    *,
    rivals: Sequence[Plan] = (),
    on_progress: Progress | None = None,
) -> Explained:
    """Why a plan costs what it costs.

    Args:
        resolved: The question.
        result: The plan and its costs.
        limits, options: What a plan has to obey.
        objective: What plans are compared by.
        rivals: Other plans that might overtake it, beside those one step away.
        on_progress: Called with (what, done, of).
    """
    model, made = resolved.cost, rebuilding(resolved)
    near = judged_steps(model, result.plan, limits, options)
    machines = machine_steps(made, result.plan, limits, near)
    slower = slower_steps(made, result.plan, limits)
    scales = scale_steps(model, result.plan, limits, options)
    found, left_out = levers(made, result.chips)
    found += of_framework(made)
    allowed = [
        (one.change, one.result.plan)
        for one in near
        if one.result is not None and one.refusal is None
    ]
    taken = {result.plan, *(plan for _, plan in allowed)}
    others = [(said(plan), plan) for plan in dict.fromkeys(rivals) if plan not in taken]
    beside = rivals_of(model, result.plan, [*allowed, *others], objective)
    plans = [result.plan, *(one.plan for one in beside)]
    leaning = leanings(model, found, plans, on_progress)
    steps = [
        *(_step(resolved, result, one, "plan", objective) for one in near),
        *(_step(resolved, result, one, "machine", objective) for one in machines),
        *(_step(resolved, result, one, "slower", objective) for one in slower),
        *(_step(resolved, result, one, "scale", objective) for one in scales),
    ]
    binding, why = why_of(made, result, limits, near)
    return Explained(
        objective=objective,
        binding=binding,
        why=why,
        steps=tuple(sorted(steps, key=lambda step: _order(step, objective))),
        refused=dict(Counter(one.refusal.reason for one in near if one.refusal).most_common()),
        elasticities=tuple(elasticities(leaning)),
        better=better_of(beside),
        overtakings=tuple(overtakings(model, leaning, result.plan, beside, objective)),
        numbers=len(found),
        left_out=left_out,
    )


def said(plan: Plan) -> str:
    """A plan by its mesh and the choices that matter most."""
    mesh = " x ".join(f"{axis} {size}" for axis, size in plan.mesh.items() if size > 1)
    slowed = "" if (clock := clock_words(plan)) == "1" else f", clock {clock}"
    return (
        f"{mesh or 'one chip'}, {sharding_words(plan)}, micro-batch {plan.micro_batch}, "
        f"recompute {recompute_words(plan)}{slowed}"
    )


def _order(step: Step, objective: Objective) -> tuple[int, float]:
    """What may be had first, then what does not fit, then what breaks a rule."""
    if step.result is None:
        return (2, 0.0)
    per_token = objective.value_of(step.result.costs)
    if objective.degree:
        tokens = step.result.tokens_per_s * step.result.step_time_s
        per_token /= tokens**objective.degree
    return (int(step.refusal is not None), per_token)


def _step(
    resolved: Resolved, best: PlanResult, one: Judged, direction: str, objective: Objective
) -> Step:
    """A judged plan with how it compares; times and energies of a token, as batches may differ."""
    if one.result is None:
        assert one.refusal is not None
        return Step(
            change=one.change, direction=direction, result=None, refusal=one.refusal,
            verdict=one.refusal.words, time=None, energy=None, memory=None, tie=None,
        )  # fmt: skip
    other = one.result
    time = best.tokens_per_s / other.tokens_per_s - 1
    tokens = best.tokens_per_s * best.step_time_s, other.tokens_per_s * other.step_time_s
    energy = (other.energy_per_step_j / tokens[1]) / (best.energy_per_step_j / tokens[0]) - 1
    tie = None
    if direction == "plan" and one.refusal is None:
        tie = is_tie(resolved.cost, best, other, objective)
    if one.refusal is not None:
        verdict = one.refusal.words
    elif direction == "plan":
        verdict = verdict_of(best, other, objective)
    else:
        verdict = _against(time, other, per_token=tokens[0] != tokens[1])
    return Step(
        change=one.change,
        direction=direction,
        result=other,
        refusal=one.refusal,
        verdict=verdict,
        time=time,
        energy=energy,
        memory=other.memory_per_chip_bytes / best.memory_per_chip_bytes - 1,
        tie=tie,
    )


def _against(change: float, other: PlanResult, *, per_token: bool) -> str:
    """`faster by 12 % (1.2 s)`; of a token where the batch differs."""
    what = " per token" if per_token else ""
    if not is_change(change):
        return f"same time{what} ({show_seconds(other.step_time_s)})"
    word = "slower" if change > 0 else "faster"
    return f"{word} by {show_change(change)}{what} ({show_seconds(other.step_time_s)})"
