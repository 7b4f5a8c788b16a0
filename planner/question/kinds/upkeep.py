"""What a question may say of how a whole run is kept going, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hardware_db import Cluster
from planner.base.units import plural
from planner.cost.context import CostModel
from planner.question.asked import BY_NAME, UPKEEP
from planner.question.request import Request

if TYPE_CHECKING:
    from planner.cost.goodput.runs import Running

RUN_LIMITS = ("deadline", "budget", "max_run_energy")
"""Limits on the whole run."""
_RATES = ("mtbf", "chip_hours_per_failure", "failure_site")


def upkeep_problems(request: Request) -> Iterator[str]:
    """One line per field that has no effect, or says again what another one says."""
    every = (*RUN_LIMITS, *UPKEEP)
    given = [name for name in every if getattr(request, name) is not None]
    if request.budget is not None and request.price_per_chip_hour is None:
        yield (
            "budget: needs price-per-chip-hour, the money per chip and hour that the run costs; "
            "give it, e.g. 2.5"
        )
    if request.train_tokens is None:
        for name in given:
            yield (
                f"{_flag(name)}: has no effect without train-tokens, the tokens of the whole "
                "training run; give them or leave it out"
            )
        return
    rates = [_flag(name) for name in _RATES if name in given]
    if len(rates) > 1:
        yield f"{rates[1]}: {rates[0]} says how often the job fails; leave one of the two out"


def whole_run(request: Request, model: CostModel) -> Running | None:
    """The whole run of a question, where its tokens are given."""
    if request.train_tokens is None:
        return None
    from planner.question.kinds.running import running_of  # noqa: PLC0415  (few ask)

    return running_of(request, model)


def spares_problems(request: Request, cluster: Cluster, chips: int) -> Iterator[str]:
    """That there are more spares than nodes of the job."""
    nodes = -(-chips // cluster.node_chips)
    if request.spares is not None and request.spares > nodes:
        yield f"spares: {request.spares:,} is more than the {plural(nodes, 'node')} of the job"


def _flag(name: str) -> str:
    return BY_NAME[name].flag.removeprefix("--")
