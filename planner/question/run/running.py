"""How a whole run is kept going: as a question says, else as usual.

Figures and sources of what is usual: `hardware_db/data/reference/failures.yaml`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.messages import distinguished
from planner.base.units import HOUR_S, show_bytes
from planner.base.vocabulary import CHECKPOINT_WRITES
from planner.cost.context import CostModel
from planner.cost.goodput.checkpoints import checkpoint_bytes, checkpointing
from planner.cost.goodput.domains import NODE, Domain, domain_of
from planner.cost.goodput.goodput import Pace, Upkeep, usual_upkeep
from planner.cost.goodput.peers import PeerCopies
from planner.cost.goodput.rates import Rate, known, rate_of_chip, rate_of_site
from planner.cost.goodput.runs import Running
from planner.question.request import Request
from planner.question.run.upkeep import PEER_MEMORY, SHRINK, WAIT, deadline_of

_KWH_J = 3.6e6
_COPIES = 4
"""In the memory of a host, of each rank: its own and a peer's, whole, and the next ones of both."""


def rate_of(request: Request, model: CostModel, chips: int) -> Rate | None:
    """How often chips of a question fail; None where nobody published that."""
    return rate_given(request, chips) or rate_of_chip(model.chip.name)


def rate_given(request: Request, chips: int) -> Rate | None:
    """How often chips fail as a question says; None: it does not."""
    if request.mtbf is not None:
        return Rate.exact(request.mtbf * chips, "as given")
    if request.chip_hours_per_failure is not None:
        return Rate.exact(request.chip_hours_per_failure * HOUR_S, "as given")
    if request.failure_site is not None:
        return rate_of_site(request.failure_site)
    return None


def running_of(request: Request, model: CostModel) -> Running:
    """The whole run of a question that has its tokens, whatever its plan."""
    price, per_kwh = request.price_per_chip_hour, request.electricity_price
    domain = NODE if request.failure_domain is None else request.failure_domain
    return Running(
        tokens=request.train_tokens or 0.0,
        rate=None if request.mtbf is not None else rate_of(request, model, 1),
        mtbf_s=request.mtbf,
        upkeep=upkeep_of(request),
        domain=domain,
        store_bytes_per_s=request.checkpoint_store,
        store_per_chip=known().quantities["usual.store_per_chip"].number,
        beside=request.checkpoint_writes != CHECKPOINT_WRITES[1],
        price_per_chip_s=None if price is None else price / HOUR_S,
        price_per_j=None if per_kwh is None else per_kwh / _KWH_J,
        chance=deadline_of(request)[1],
    )


def failure_domain_of(request: Request, model: CostModel, chips: int) -> Domain:
    """What one failure takes out of a job of so many chips."""
    return domain_of(
        model.cluster, NODE if request.failure_domain is None else request.failure_domain, chips
    )


def upkeep_of(request: Request, domain: Domain | None = None) -> Upkeep:
    """What failures cost, and what is kept ready for them.

    Args:
        request: The question.
        domain: What one failure takes out; None: a node.
    """
    spares = 0 if request.on_failure in (WAIT, SHRINK) else None
    return replace(
        usual_upkeep(),
        detection_s=_taken(request, "detection"),
        restart_s=_taken(request, "restart"),
        spares=spares if request.spares is None else request.spares,
        straggler_loss=request.straggler_loss or 0.0,
        repair_s=_taken(request, "repair"),
        domain_nodes=1 if domain is None else domain.nodes,
        maintenance=request.maintenance or 0.0,
        while_down=request.while_down is not False,
    )


def _taken(request: Request, name: str) -> float:
    """A field as given, else as usual."""
    given = getattr(request, name)
    return known().quantities[f"usual.{name}"].number if given is None else float(given)


def store_of(request: Request, chips: FloatArray | int) -> FloatArray:
    """(n,) what the store takes in from jobs of so many chips, bytes per second."""
    usual = known().quantities["usual.store_per_chip"].number
    return np.asarray(request.checkpoint_store or usual * np.asarray(chips, dtype=np.float64))


def pace_of(
    request: Request, model: CostModel, chips: int, step_time_s: float, copied_bytes: float
) -> Pace:
    """The work of one plan.

    Args:
        request: The question, with the tokens of the run.
        model: Job and chip.
        chips: Of the plan.
        step_time_s: Of the plan.
        copied_bytes: What a checkpoint takes of its fullest chip, from `trained_bytes`.
    """
    return Pace(
        chips=chips,
        step_time_s=step_time_s,
        steps=(request.train_tokens or 0.0) / model.job.batch_tokens,
        saved=checkpointing(
            model,
            copied_bytes,
            store_of(request, chips),
            beside=request.checkpoint_writes != CHECKPOINT_WRITES[1],
        ),
        peers=peers_of(request, model, chips, copied_bytes),
    )


def peers_of(
    request: Request, model: CostModel, chips: int, copied_bytes: float
) -> PeerCopies | None:
    """Copies in the memory of peers, where the question wants them and the plan can have them.

    What the usual restart has of loading from the store is loaded from a peer instead.
    """
    if request.checkpoint_writes != PEER_MEMORY or no_peers(request, model, chips, copied_bytes):
        return None
    network = scale_out(model)
    from_store = checkpoint_bytes(model.job) / float(store_of(request, chips))
    link = model.chip.host_link_bandwidth_bytes_per_s
    back = copied_bytes / min(network, link)
    usual = known().quantities["usual.one_domain"].number
    return PeerCopies(
        covered=usual if request.peer_covers is None else request.peer_covers,
        stall_s=copied_bytes / link,
        write_s=copied_bytes / network,
        restart_s=max(_taken(request, "restart") - from_store, 0.0) + back,
    )


def no_peers(request: Request, model: CostModel, chips: int, copied_bytes: float) -> str:
    """Why a plan cannot keep copies with peers; empty: it can."""
    domain = failure_domain_of(request, model, chips)
    if not domain.outside:
        return f"all {chips:,} chips are in one {domain.name}: no peer lies outside of what fails"
    if not model.chip.host_link_bandwidth_bytes_per_s or not scale_out(model):
        return f"the record of {model.cluster.name} does not say how fast a copy gets to a peer"
    needed = peer_bytes(copied_bytes)
    room = model.chip.host_memory_bytes
    if needed > room:
        needs, has = distinguished(needed, room, show_bytes)
        return (
            f"its copies need {needs} of the host's memory per chip (its own and a "
            f"peer's, twice each), of {has}"
        )
    return ""


def peer_bytes(copied_bytes: float) -> float:
    """Bytes of host memory per chip that copies of peers and of their own take."""
    return _COPIES * copied_bytes


def scale_out(model: CostModel) -> float:
    """What a chip sends over the network between failure domains, bytes per second."""
    outside = [one for one in model.cluster.levels if one.kind == "scale-out"]
    return float((outside or model.cluster.levels)[0].bandwidth_bytes_per_s)
