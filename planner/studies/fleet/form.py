"""The form of a fleet file: its clusters, its jobs, and what they share.

days: 60
objective: cost
clusters:
  - {name: west, hardware: dgx-h100-ndr, chips: 2048, price_per_chip_hour: 2.5}
jobs:
  - {name: chat, model: llama3-8b, train_tokens: 1e12, deadline: 20d, priority: 3}
  - {name: code, model: llama3-70b, train_tokens: 5e11, clusters: [west]}
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from planner.base.errors import InputError
from planner.base.fields import choice, refusal, schema_of
from planner.base.units import DAY_S, parse_seconds
from planner.question.fields import Amount, Money, NameOrPath, Pue, Seconds, Watts, Whole

COST, ENERGY, LATENESS, WEIGHTED = "cost", "energy", "lateness", "weighted"
OBJECTIVES = (COST, ENERGY, LATENESS, WEIGHTED)
MOST_DAYS, MOST_JOBS, MOST_CLUSTERS, MOST_PRIORITY, MOST_SEGMENTS = 3650, 500, 50, 1000, 4
_STRICT = ConfigDict(extra="forbid", strict=True)
Name = Annotated[str, Field(min_length=1, max_length=60)]


def _days(value: Any) -> Any:
    """Plain numbers are days, and text has a unit: `20d`, `36h`."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value * DAY_S if plain else value


def _start(value: Any) -> Any:
    """The same, where day 0 is allowed."""
    if not isinstance(value, str):
        return _days(value)
    try:
        return parse_seconds(value, "start")
    except InputError as error:
        raise refusal(str(error).removeprefix("start: ")) from error


Days = Annotated[Seconds, BeforeValidator(_days)]
Start = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_start)]
Priority = Annotated[int, Field(ge=1, le=MOST_PRIORITY)]


class ClusterForm(BaseModel):
    """A cluster that jobs share."""

    model_config = _STRICT

    name: Name = Field(description="Label.")
    hardware: NameOrPath = Field(description="Cluster or chip, or YAML file.")
    chips: Whole = Field(description="Chips that there are.")
    whole: str | None = Field(
        default=None,
        description="Level of the network whose domains are given whole, e.g. nvlink or leaf "
        "(rails). Default: the scale-up domain, at least a node.",
    )
    price_per_chip_hour: Amount | None = Field(default=None, description="Money per chip and hour.")
    electricity_price: Amount | None = Field(
        default=None, description="Money per kWh, of the facility, beside the price of chips."
    )
    pue: Pue | None = Field(default=None, description="Power usage effectiveness of the site.")
    max_power: Watts | None = Field(
        default=None, description="Of all jobs on it at any time; nodes and fabric (PUE 1)."
    )


class JobForm(BaseModel):
    """A job; its other fields are those of a question, as in a job file."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: Name = Field(description="Label.")
    deadline: Days | None = Field(
        default=None, description="From day 0: 20d, 36h, or a number of days. Default: none."
    )
    start: Start = Field(default=0.0, description="Not before: 5d, or a number of days.")
    priority: Priority = Field(
        default=1, description="How often a day late counts in the lateness of the fleet."
    )
    clusters: list[str] | None = Field(
        default=None, min_length=1, description="Names of those that it may use. Default: all."
    )
    sizes: list[Whole] | None = Field(
        default=None,
        min_length=1,
        description="Numbers of chips that it may use. Default: whole domains, by doubling.",
    )
    resizable: bool | int = Field(
        default=False,
        description="Whether it may change its size on its cluster at a point of the grid: true "
        "is once, 3 is in three segments.",
    )


class WeightsForm(BaseModel):
    """What the objective `weighted` adds up; a weight of 0 leaves a part out."""

    model_config = _STRICT

    cost: Amount = Field(default=1.0, description="Of a unit of money.")
    energy: Amount = Field(default=0.0, description="Of a kWh.")
    lateness: Amount = Field(default=0.0, description="Of a day late, times priority.")


class FleetForm(BaseModel):
    """A fleet file."""

    model_config = _STRICT

    days: Annotated[float, Field(gt=0, le=MOST_DAYS, allow_inf_nan=False)] = Field(
        description="Days that there are: every job has to end within."
    )
    grid: Seconds | None = Field(
        default=None,
        description="Step of time, e.g. 6h: starts and ends lie on it, run times are rounded up. "
        "Default: the shortest round one of which the days hold at most 240.",
    )
    objective: Annotated[str, choice(OBJECTIVES)] = Field(
        default=COST,
        description="What there is to be the least of. Deadlines have to be held, but of lateness "
        "and weighted, which count what is late.",
    )
    weights: WeightsForm | None = Field(default=None, description="Of the objective weighted.")
    budget: Money | None = Field(default=None, description="Money of all jobs together.")
    max_power: Watts | None = Field(
        default=None, description="Of all clusters together at any time; nodes and fabric."
    )
    clusters: list[ClusterForm] = Field(min_length=1, max_length=MOST_CLUSTERS)
    defaults: dict[str, Any] = Field(
        default={}, description="Fields of a question that every job has unless it has its own."
    )
    jobs: list[JobForm] = Field(min_length=1, max_length=MOST_JOBS)


def fleet_schema() -> dict[str, Any]:
    """The JSON Schema of a fleet file."""
    return schema_of(FleetForm)
