"""What a question may say of how a whole run is kept going, and what contradicts it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.units import parse_within, plural
from planner.base.vocabulary import CHECKPOINT_WRITES, ON_FAILURE
from planner.cost.context import CostModel
from planner.question.asked import BY_NAME, UPKEEP
from planner.question.request import Request
from planner.question.run.prices import chip_problems, filled_prices

if TYPE_CHECKING:
    from planner.cost.goodput.runs import Running

OF_THE_WHOLE = (
    "train_tokens", "price_per_chip_hour", "electricity_price", "carbon_intensity", "prices",
)  # fmt: skip
"""Fields that are about the whole run, not about its next hours."""
RUN_LIMITS = ("deadline", "budget", "max_run_energy")
"""Limits on the whole run."""
PEER_MEMORY = CHECKPOINT_WRITES[2]
_, WAIT, SHRINK = ON_FAILURE
_RATES = ("mtbf", "chip_hours_per_failure", "failure_site")


def upkeep_problems(request: Request) -> Iterator[str]:
    """One line per field that has no effect, or says again what another one says."""
    if request.budget is not None and request.price_per_chip_hour is None:
        yield (
            "budget: needs price-per-chip-hour, the money per chip and hour that the run costs; "
            "give it, e.g. 2.5"
        )
    if request.train_tokens is None:
        every = (*RUN_LIMITS, *UPKEEP)
        given = [name for name in every if getattr(request, name) is not None]
        for name in (*given, *_unused_prices(request)):
            yield (
                f"{_flag(name)}: has no effect without train-tokens, the tokens of the whole "
                "training run; give them or leave it out"
            )
        return
    yield from rate_problems(request)


def _unused_prices(request: Request) -> list[str]:
    """Prices that were given without a run, and that no objective counts."""
    counted = any(one.has_price for one in (request.minimized, *request.compared))
    own = ("price_per_chip_hour", "prices") if counted else ()
    left_out = (*filled_prices(request.prices), *own)
    return [
        name
        for name in ("price_per_chip_hour", "electricity_price", "carbon_intensity", "prices")
        if getattr(request, name) is not None and name not in left_out
    ]


def rate_problems(request: Request) -> Iterator[str]:
    """Fields that contradict one another, or have no effect without another one."""
    given = [name for name in UPKEEP if getattr(request, name) is not None]
    rates = [_flag(name) for name in _RATES if name in given]
    if len(rates) > 1:
        yield f"{rates[1]}: {rates[0]} says how often the job fails; leave one of the two out"
    if request.failure_site is not None:
        from planner.cost.goodput.rates import rate_of_site  # noqa: PLC0415  (few ask)

        try:
            rate_of_site(request.failure_site)
        except InputError as error:
            yield str(error)
    if request.on_failure == WAIT and request.spares:
        yield f"spares: on-failure {WAIT} waits for repairs and has none; leave one of the two out"
    if request.peer_covers is not None and request.checkpoint_writes != PEER_MEMORY:
        yield (
            f"peer-covers: has no effect without checkpoint-writes {PEER_MEMORY}; give that or "
            "leave it out"
        )


def deadline_of(request: Request) -> tuple[float, float | None]:
    """Seconds of the deadline, and the chance at which it has to be kept, if there are any."""
    if isinstance(request.deadline, str):
        return parse_within(request.deadline)
    return (math.inf if request.deadline is None else request.deadline), None


def of_one_plan(request: Request) -> tuple[str, str] | None:
    """The field, and its value, that is worked out for one plan alone; no bound is known of it."""
    if request.checkpoint_writes == PEER_MEMORY:
        return "checkpoint_writes", PEER_MEMORY
    return ("on_failure", SHRINK) if request.on_failure == SHRINK else None


def whole_run(request: Request, model: CostModel) -> Running | None:
    """The whole run of a question, where its tokens are given and plans can be compared by it."""
    if request.train_tokens is None or of_one_plan(request):
        return None
    from planner.question.run.running import running_of  # noqa: PLC0415  (few ask)

    return running_of(request, model)


def spares_problems(request: Request, cluster: Cluster, chips: int) -> Iterator[str]:
    """Prices of other chips; spares that are more than the nodes, or no whole failure domains.

    And what cannot change the answer where nobody knows how often the chips fail.
    """
    yield from unknown_rate_problems(request, cluster.chip.name)
    yield from chip_problems(request.prices or (), cluster.chip.name)
    if request.spares is None and request.failure_domain is None:
        return
    from planner.cost.goodput.domains import NODE, domain_of  # noqa: PLC0415  (few ask)

    nodes, spares = -(-chips // cluster.node_chips), request.spares or 0
    if spares > nodes:
        yield f"spares: {spares:,} is more than the {plural(nodes, 'node')} of the job"
    try:
        domain = domain_of(
            cluster, NODE if request.failure_domain is None else request.failure_domain, chips
        )
    except InputError as error:
        yield str(error)
        return
    if odd := spares % domain.nodes:
        near = (spares - odd, spares - odd + domain.nodes)
        yield (
            f"spares: a failure takes out the {domain.nodes} nodes of one {domain.name}, so spares "
            f"come in such numbers; nearest to {spares:,}: {' or '.join(map(str, near))}"
        )


def unknown_rate_problems(request: Request, chip: str) -> Iterator[str]:
    """Fields that cannot change an answer about chips whose failure rate nobody knows.

    What remains of failures then are the rates at which another choice would be better: detection,
    restart, checkpoints and spares that are too few change these.
    """
    given = _given(request, ("repair", "failure_domain", "on_failure"))
    if request.train_tokens is None or not given or not rate_unknown(request, chip):
        return
    if request.on_failure == SHRINK:
        yield f"on-failure: {SHRINK} has no effect{_unpublished(chip)}"
    for name in given:
        if name == "on_failure" or _waits(request):
            continue
        if name == "failure_domain" and request.checkpoint_writes == PEER_MEMORY:
            continue
        yield f"{_flag(name)}: has no effect without spares{_unpublished(chip)}"


def unused_in_days(request: Request, chips: Sequence[str]) -> Iterator[str]:
    """Fields that cannot change days, where these are all that is shown of runs on some chips."""
    if request.train_tokens is None:
        return
    if all(rate_unknown(request, chip) for chip in chips):
        every = (name for name in UPKEEP if name not in ("straggler_loss", "maintenance"))
        for name in _given(request, every):
            yield f"{_flag(name)}: has no effect on days{_unpublished(chips[0])}"
        return
    peers = request.checkpoint_writes == PEER_MEMORY
    for name in _given(request, ("repair",) if peers else ("repair", "failure_domain")):
        if not _waits(request):
            yield (
                f"{_flag(name)}: has no effect on days where spares are enough; give spares or "
                f"on-failure {WAIT}, or leave it out"
            )


def rate_unknown(request: Request, chip: str) -> bool:
    """Whether neither a question nor a published site says how often chips of a record fail."""
    from planner.cost.goodput.rates import rate_of_chip  # noqa: PLC0415  (few ask)

    return not _given(request, _RATES) and rate_of_chip(chip) is None


def _waits(request: Request) -> bool:
    """Whether spares may be too few, so that a job waits for repairs."""
    return request.spares is not None or request.on_failure == WAIT


def _given(request: Request, names: Iterable[str]) -> list[str]:
    return [name for name in names if getattr(request, name) is not None]


def _unpublished(chip: str) -> str:
    return (
        f" where nobody published how often chips fail, as of {chip}; give that, e.g. "
        "chip-hours-per-failure 50000, or leave it out"
    )


def _flag(name: str) -> str:
    return BY_NAME[name].flag.partition("/")[0].removeprefix("--")
