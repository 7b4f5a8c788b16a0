"""How a whole run is kept going: as a question says, else as usual.

Figures and sources of what is usual: `hardware_db/data/reference/failures.yaml`.
"""

from __future__ import annotations

from planner.base.vocabulary import CHECKPOINT_WRITES
from planner.cost.context import CostModel
from planner.cost.goodput.goodput import Upkeep
from planner.cost.goodput.rates import HOUR_S, Rate, known, rate_of_chip, rate_of_site
from planner.cost.goodput.runs import Running
from planner.question.request import Request

_KWH_J = 3.6e6


def rate_of(request: Request, model: CostModel, chips: int) -> Rate | None:
    """How often chips of a question fail; None where nobody published that."""
    if request.mtbf is not None:
        return Rate.exact(request.mtbf * chips, "as given")
    if request.chip_hours_per_failure is not None:
        return Rate.exact(request.chip_hours_per_failure * HOUR_S, "as given")
    if request.failure_site is not None:
        return rate_of_site(request.failure_site)
    return rate_of_chip(model.chip.name)


def upkeep_of(request: Request) -> Upkeep:
    """What failures cost, and what is kept ready for them."""
    usual = known().quantities

    def taken(name: str) -> float:
        given = getattr(request, name)
        return usual[f"usual.{name}"].number if given is None else float(given)

    return Upkeep(
        detection_s=taken("detection"),
        restart_s=taken("restart"),
        spares=request.spares,
        straggler_loss=request.straggler_loss or 0.0,
        node_share=usual["usual.node_share"].number,
        repair_s=taken("repair"),
    )


def running_of(request: Request, model: CostModel) -> Running:
    """The whole run of a question that has its tokens, whatever its plan."""
    price, per_kwh = request.price_per_chip_hour, request.electricity_price
    return Running(
        tokens=request.train_tokens or 0.0,
        rate=None if request.mtbf is not None else rate_of(request, model, 1),
        mtbf_s=request.mtbf,
        upkeep=upkeep_of(request),
        store_bytes_per_s=request.checkpoint_store,
        store_per_chip=known().quantities["usual.store_per_chip"].number,
        beside=request.checkpoint_writes in (None, CHECKPOINT_WRITES[0]),
        price_per_chip_s=None if price is None else price / HOUR_S,
        price_per_j=None if per_kwh is None else per_kwh / _KWH_J,
        chance=request.within[1],
    )
