"""The pictures of one plan, and of the answer of `planner solve`."""

from __future__ import annotations

from planner.report.breakdown_chart import breakdown_charts
from planner.report.chart import Chart, Picture
from planner.report.front_chart import front_chart
from planner.report.memory_chart import memory_chart
from planner.report.mesh_chart import mesh_chart
from planner.report.words import front_job_words, job_words, mesh_words
from planner.results import EvaluateResult, PlanResult, SolveResult
from planner.stage_facts import PlanFacts


def plan_charts(result: PlanResult, facts: PlanFacts | None) -> tuple[Chart, ...]:
    """Breakdown, memory per stage, and the mesh where there is more than one chip."""
    charts = breakdown_charts([(mesh_words(result.plan), result)])
    if facts is None:
        return charts
    charts += (memory_chart(facts, result.reserve_bytes),)
    return (*charts, mesh_chart(result, facts)) if facts.levels else charts


def evaluate_picture(answer: EvaluateResult) -> Picture:
    """What a plan costs, its memory per stage and its mesh."""
    title = f"{job_words(answer)}: {mesh_words(answer.result.plan)}"
    return Picture(title=title, charts=plan_charts(answer.result, answer.facts), columns=2)


def solve_picture(answer: SolveResult) -> Picture:
    """The front, and of the best plan what `evaluate_picture` has.

    Args:
        answer: One with a plan.
    """
    best = answer.require()
    charts = (front_chart(answer), *plan_charts(best, answer.facts))
    return Picture(title=front_job_words(answer), charts=charts, columns=2)
