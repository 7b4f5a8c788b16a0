"""How a whole run is kept going: as a question says, else as usual.

Figures and sources of what is usual: `hardware_db/data/reference/failures.yaml`.
"""

from __future__ import annotations

from planner.base.vocabulary import CHECKPOINT_WRITES
from planner.cost.context import CostModel
from planner.cost.goodput.checkpoints import checkpointing
from planner.cost.goodput.goodput import Pace, Upkeep
from planner.cost.goodput.rates import HOUR_S, Rate, known, rate_of_chip, rate_of_site
from planner.question.request import Request


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


def pace_of(
    request: Request, model: CostModel, chips: int, step_time_s: float, held_bytes: float
) -> Pace:
    """The work of one plan.

    Args:
        request: The question, with the tokens of the run.
        model: Job and chip.
        chips: Of the plan.
        step_time_s: Of the plan.
        held_bytes: Weights and optimizer on its fullest chip.
    """
    usual = known().quantities["usual.store_per_chip"].number * chips
    return Pace(
        chips=chips,
        step_time_s=step_time_s,
        steps=(request.train_tokens or 0.0) / model.job.batch_tokens,
        saved=checkpointing(
            model,
            held_bytes,
            request.checkpoint_store or usual,
            beside=request.checkpoint_writes in (None, CHECKPOINT_WRITES[0]),
        ),
    )
