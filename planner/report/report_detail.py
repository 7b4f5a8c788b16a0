"""Pictures of one plan, for its report."""

from __future__ import annotations

from dataclasses import dataclass

from planner.report.chart import Picture
from planner.resolved import Resolved


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
