"""What a question may say of how a whole run is kept going, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterator

from hardware_db import Cluster
from planner.base.units import plural
from planner.question.asked import BY_NAME, UPKEEP
from planner.question.request import Request

_RATES = ("mtbf", "chip_hours_per_failure", "failure_site")


def upkeep_problems(request: Request) -> Iterator[str]:
    """One line per field that has no effect, or says again what another one says."""
    given = [name for name in UPKEEP if getattr(request, name) is not None]
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


def spares_problems(request: Request, cluster: Cluster, chips: int) -> Iterator[str]:
    """That there are more spares than nodes of the job."""
    nodes = -(-chips // cluster.node_chips)
    if request.spares is not None and request.spares > nodes:
        yield f"spares: {request.spares:,} is more than the {plural(nodes, 'node')} of the job"


def _flag(name: str) -> str:
    return BY_NAME[name].flag.removeprefix("--")
