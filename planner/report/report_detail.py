"""Pictures of one plan, for its report."""

from __future__ import annotations

from dataclasses import dataclass

from planner.report.breakdown_chart import breakdown_picture
from planner.report.chart import Picture
from planner.report.memory_chart import memory_picture
from planner.resolved import Resolved
from planner.results import EvaluateResult, PlanResult, SolveResult
from planner.stage_facts import PlanFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailPicture:
    """One picture with its place in a report; `lead` says what is seen."""

    ident: str
    title: str
    lead: str
    picture: Picture
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
    """

    pictures: tuple[DetailPicture, ...] = ()
    assumed: tuple[AssumedNumber, ...] = ()


def assumed_numbers(resolved: Resolved) -> tuple[AssumedNumber, ...]:
    """The numbers of model, cluster and chip that are marked as assumed."""
    cost = resolved.cost
    records = {
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
    answer: SolveResult | EvaluateResult, plan: PlanResult, resolved: Resolved
) -> PlanDetail:
    """Everything that a report shows of a plan beside its costs.

    Args:
        answer: Where it is from.
        plan: The plan.
        resolved: Its job.
    """
    pictures = [_breakdown(plan)]
    if answer.facts is not None:
        pictures.append(_memory(answer.facts, plan))
    return PlanDetail(pictures=tuple(pictures), assumed=assumed_numbers(resolved))


def _breakdown(plan: PlanResult) -> DetailPicture:
    return DetailPicture(
        ident="breakdown",
        title="Where time, energy and memory go",
        lead="The parts of a step on the slowest stage, of its energy, and of the fullest chip.",
        picture=breakdown_picture([("plan", plan)]),
    )


def _memory(facts: PlanFacts, plan: PlanResult) -> DetailPicture:
    return DetailPicture(
        ident="memory",
        title="Memory per stage",
        lead="What a chip of each pipeline stage holds, against what it may hold.",
        picture=memory_picture(facts, plan.reserve_bytes),
    )
