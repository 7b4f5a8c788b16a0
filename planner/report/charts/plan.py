"""The pictures of one plan, and of the answer of `planner solve`."""

from __future__ import annotations

from planner.cost.facts import PlanFacts
from planner.cost.timeline import Timeline, timeline_of, why_not_simulated
from planner.plan import Plan
from planner.question.resolved import Resolved
from planner.report.charts.breakdown import breakdown_charts
from planner.report.charts.front import front_chart
from planner.report.charts.layout import layout_chart
from planner.report.charts.memory import memory_chart
from planner.report.charts.mesh import mesh_chart
from planner.report.charts.timeline import timeline_chart
from planner.report.drawing.chart import Chart, Picture
from planner.report.drawing.svg import SIDE_BY_SIDE
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.results.words import front_job_words, job_words, mesh_words


def plan_charts(
    result: PlanResult, facts: PlanFacts | None, timeline: Timeline | None = None
) -> tuple[Chart, ...]:
    """Breakdown, layers and memory per stage, the timeline, and of several chips the mesh.

    Args:
        result: A plan.
        facts: Its stages and levels; without them the breakdown alone is drawn.
        timeline: Its schedule; without it no timeline is drawn.
    """
    charts = breakdown_charts([(mesh_words(result.plan), result)])
    if result.plan.stages and len(result.plan.stages) > 1:
        charts += (layout_chart(result.plan),)
    if facts is None:
        return charts
    charts += (memory_chart(facts, result.reserve_bytes),)
    if facts.levels:
        charts += (mesh_chart(result, facts),)
    if timeline is not None:
        charts += (timeline_chart(timeline, width=SIDE_BY_SIDE),)
    return charts


def piped_timeline(resolved: Resolved, plan: Plan) -> Timeline | None:
    """One step of a plan that has a pipeline; None where there is none, or it is too long."""
    if plan.pp == 1 or why_not_simulated(resolved.cost, plan):
        return None
    return timeline_of(resolved.cost, plan)


def evaluate_picture(answer: EvaluateResult, timeline: Timeline | None = None) -> Picture:
    """What a plan costs, its memory per stage, its mesh and its schedule, see `plan_charts`."""
    title = f"{job_words(answer)}: {mesh_words(answer.result.plan)}"
    charts = plan_charts(answer.result, answer.facts, timeline)
    return Picture(title=title, charts=charts, columns=2)


def solve_picture(answer: SolveResult, timeline: Timeline | None = None) -> Picture:
    """The front, and of the best plan what `evaluate_picture` has.

    Args:
        answer: One with a plan.
        timeline: Of the best plan; without it no timeline is drawn.
    """
    best = answer.require()
    charts = (front_chart(answer), *plan_charts(best, answer.facts, timeline))
    return Picture(title=front_job_words(answer), charts=charts, columns=2)
