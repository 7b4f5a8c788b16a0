"""Pictures of one plan, for its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from frozen_records import dataclass
from planner.cost.facts import PlanFacts
from planner.cost.timeline.timeline import timeline_of, why_not_simulated
from planner.explanation.answer import Explained, ExplainResult
from planner.plan import Plan
from planner.question.resolved import Resolved
from planner.report.charts.breakdown import breakdown_picture
from planner.report.charts.explain import drawn, leaning_chart, steps_chart
from planner.report.charts.goodput import goodput_picture
from planner.report.charts.layout import layout_chart
from planner.report.charts.memory import memory_picture
from planner.report.charts.mesh import mesh_picture
from planner.report.charts.ridgeline import ridgeline_picture
from planner.report.charts.timeline import timeline_picture
from planner.report.drawing.chart import Chart, Picture
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.studies.ridgeline.of_plan import plan_ridgeline
from planner.studies.run.kept import kept_of_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailPicture:
    """One picture with its place in a report; `lead` says what is seen, or why there is none."""

    ident: str
    title: str
    lead: str
    picture: Picture | None
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedNumber:
    """A number of the databases that is a guess: which record, its path, value, unit and why."""

    record: str
    path: str
    value: str
    unit: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDetail:
    """What a report shows of one plan beside its costs.

    Attributes:
        pictures: In reading order.
        assumed: Guesses in the records that the plan is evaluated with.
        why: What binds the plan, in sentences; empty where that was not asked.
        refused: (step, what forbids it) of the steps from the plan that cannot be had.
    """

    pictures: tuple[DetailPicture, ...] = ()
    assumed: tuple[AssumedNumber, ...] = ()
    why: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


def assumed_numbers(resolved: Resolved) -> tuple[AssumedNumber, ...]:
    """The numbers of model, cluster and chip that are marked as assumed."""
    cost = resolved.cost
    records: dict[str, Mapping[str, Any]] = {
        f"model {cost.job.model.name}": cost.job.model.quantities,
        f"chip {cost.chip.name}": cost.chip.quantities,
        f"cluster {cost.cluster.name}": cost.cluster.quantities,
    }
    return tuple(
        AssumedNumber(
            record=record,
            path=path,
            value=_value(quantity.value),
            unit=quantity.unit,
            note=quantity.note or "",
        )
        for record, quantities in records.items()
        for path, quantity in quantities.items()
        if quantity.kind == "assumed"
    )


def _value(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_value, value))
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def detail_of(
    answer: SolveResult | EvaluateResult,
    plan: PlanResult,
    resolved: Resolved,
    explained: ExplainResult | None = None,
) -> PlanDetail:
    """Everything that a report shows of a plan beside its costs.

    Args:
        answer: Where it is from.
        plan: The plan.
        resolved: Its job.
        explained: Why it costs that; without it nothing is said of steps and elasticities.
    """
    pictures = [_breakdown(plan)]
    if explained is not None:
        pictures += _explained(explained)
    if plan.plan.stages and len(plan.plan.stages) > 1:
        pictures.append(_layout(plan.plan))
    if answer.facts is not None:
        pictures.append(_memory(answer.facts, plan))
    pictures += [_timeline(resolved, plan), _ridgeline(resolved, plan)]
    if answer.facts is not None and answer.facts.levels:
        pictures.append(_mesh(answer.facts, plan))
    if answer.run is not None and answer.run.goodput is not None:
        pictures += _goodput(resolved, plan)
    why = None if explained is None else explained.explained
    return PlanDetail(
        pictures=tuple(pictures),
        assumed=assumed_numbers(resolved),
        why=() if why is None else why.why,
        refused=() if why is None else _refused(why),
    )


def _explained(explained: ExplainResult) -> list[DetailPicture]:
    """One step in every direction, and the numbers that the answer leans on."""
    steps = DetailPicture(
        ident="steps",
        title="One step in every direction",
        lead="What one change does to the time of a token; each was evaluated.",
        picture=one_chart(steps_chart(explained)),
    )
    found = explained.explained.elasticities
    if not drawn(found):
        return [steps]
    leaning = DetailPicture(
        ident="leaning",
        title="What the answer leans on",
        lead="What 1 % more of a number does to time and energy; the largest effects.",
        picture=one_chart(leaning_chart(found)),
    )
    return [steps, leaning]


def one_chart(chart: Chart) -> Picture:
    """A picture of one chart."""
    return Picture(title=chart.title, charts=(chart,))


def _refused(why: Explained) -> tuple[tuple[str, str], ...]:
    return tuple(
        (step.change, step.refusal.words) for step in why.steps if step.refusal is not None
    )


def _breakdown(plan: PlanResult) -> DetailPicture:
    return DetailPicture(
        ident="breakdown",
        title="Where time, energy and memory go",
        lead="The parts of a step on the slowest stage, of its energy, and of the fullest chip.",
        picture=replace(breakdown_picture([("plan", plan)]), columns=3),
    )


def _layout(plan: Plan) -> DetailPicture:
    return DetailPicture(
        ident="layout",
        title="Layers per stage",
        lead="How many layers each pipeline stage has, which of them it computes again in the "
        "backward pass, and its clock.",
        picture=one_chart(layout_chart(plan)),
    )


def _memory(facts: PlanFacts, plan: PlanResult) -> DetailPicture:
    return DetailPicture(
        ident="memory",
        title="Memory per stage",
        lead="What a chip of each pipeline stage holds, against what it may hold.",
        picture=memory_picture(facts, plan.reserve_bytes),
    )


def _timeline(resolved: Resolved, plan: PlanResult) -> DetailPicture:
    """The schedule, simulated operation by operation."""
    reason = why_not_simulated(resolved.cost, plan.plan)
    picture = None
    lead = f"No timeline: {reason}."
    if not reason:
        picture = timeline_picture(timeline_of(resolved.cost, plan.plan), "One step of the plan")
        lead = (
            "Every pass of every micro-batch of one step, simulated in the order of the schedule."
        )
    return DetailPicture(ident="timeline", title="Pipeline timeline", lead=lead, picture=picture)


def _ridgeline(resolved: Resolved, plan: PlanResult) -> DetailPicture:
    """Where a step lies between arithmetic, memory and network, per level."""
    picture = ridgeline_picture(plan_ridgeline(resolved.cost, plan.plan))
    return DetailPicture(
        ident="ridgeline",
        title="Ridgeline",
        lead="Whether a whole step asks most of arithmetic, memory or network, per network level: "
        "counted bytes and peak rates, as if everything overlapped. What binds above is from the "
        "rates that software achieves, so the two may differ.",
        picture=replace(picture, columns=min(2, len(picture.charts))),
    )


def _mesh(facts: PlanFacts, plan: PlanResult) -> DetailPicture:
    return DetailPicture(
        ident="mesh",
        title="The mesh on the levels of the network",
        lead="Which axis of the mesh crosses which level, and what each level carries in a step.",
        picture=mesh_picture(plan, facts),
    )


def _goodput(resolved: Resolved, plan: PlanResult) -> list[DetailPicture]:
    kept = kept_of_plan(resolved, plan)
    if kept is None:
        return []
    return [
        DetailPicture(
            ident="goodput",
            title="Goodput of the run",
            lead="Which share of the time is work that counts, over the number of chips, with the "
            "checkpoint and the step of this plan, beside runs that published it; and a simulated "
            "day of the run.",
            picture=goodput_picture(kept, (plan.chips,)),
        )
    ]
