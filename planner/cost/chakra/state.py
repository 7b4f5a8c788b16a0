"""What a stage exchanges for its weights and gradients, by when in the step.

The volumes are those of `planner.cost.communication.traffic`: what is gathered and reduced of all
parameters of the stage on a chip, shared evenly among its layers.
"""

from __future__ import annotations

from frozen_records import dataclass
from planner.cost.breakdown import Evaluated
from planner.cost.chakra.work import Message, at_stage
from planner.cost.communication.data_parallel import (
    Gathers,
    gathers_once,
    owned_parameters,
    reduces_again,
    updated_bytes,
)
from planner.cost.context import CostModel
from planner.cost.memory.parameters import trained_share
from planner.cost.terms import data_nets, host_rates
from planner.plan import DDP, ZERO2, ZERO3
from planner.plan.plan import OFFLOAD_OPTIMIZER


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWork:
    """Exchanges of one layer's share of a stage, and the optimizer of all of it.

    Attributes:
        layers: Layers of the stage that share; at least 1.
        gathered: Before each pass of each micro-batch (`once`: before the first alone).
        once: Whether what is gathered stays until the step ends.
        reduced: Behind the backward pass of each micro-batch.
        reduced_last: Behind that of the last one alone.
        updated: After the optimizer, of the whole stage.
        optimizer_s: Seconds of the optimizer's kernels, or of the host where that has it.
        optimizer_bytes: Between chip and memory.
        to_host, from_host: Bytes before and after an optimizer on the host.
    """

    layers: int
    gathered: tuple[Message, ...]
    once: bool
    reduced: tuple[Message, ...]
    reduced_last: tuple[Message, ...]
    updated: tuple[Message, ...]
    optimizer_s: float
    optimizer_bytes: float
    to_host: float = 0.0
    from_host: float = 0.0


def state_work(model: CostModel, x: Evaluated, stage: int, layers: int) -> StateWork:
    """What a stage of so many layers exchanges for its state."""
    columns, pp = x.columns, x.columns.plans.pp[:, None]
    sharding = int(at_stage(columns.sharding, stage))
    again = bool(reduces_again(model.framework, pp)[0, 0])
    once = bool(gathers_once(model.framework, pp)[0, 0])
    gathered: list[Message] = []
    each: list[Message] = []
    last: list[Message] = []
    updated: list[Message] = []
    shared = max(layers, 1)
    for prefix, table in zip(("", "expert_"), columns.parameters, strict=True):
        parameters = at_stage(table, stage)
        weights, gradients, new = _bytes(model, x, parameters, stage)
        whole = each if again else last
        if sharding == ZERO3:
            shards = float(columns.nets[f"{prefix}shard"].flat().size[0])
            gathered.append(_message("all-gather", f"{prefix}shard", weights / shared))
            found = _message("reduce-scatter", f"{prefix}shard", gradients / shared)
            (last if once else each).append(found)
            across = gradients / shards / shared
            whole.append(_message("all-reduce", f"{prefix}replica", across))
        elif sharding == DDP:
            whole.append(_message("all-reduce", f"{prefix}data", gradients / shared))
        else:
            found = _message("reduce-scatter", f"{prefix}data", gradients / shared)
            (each if sharding == ZERO2 else last).append(found)
            updated.append(_message("all-gather", f"{prefix}data", new))
    return StateWork(
        layers=shared,
        gathered=tuple(gathered),
        once=once,
        reduced=tuple(each),
        reduced_last=tuple(last),
        updated=tuple(updated),
        **_optimizer(model, x, stage),
    )


def _message(collective: str, group: str, size: float) -> Message:
    return Message(collective=collective, group=group, size_bytes=size)


def _bytes(
    model: CostModel, x: Evaluated, parameters: float, stage: int
) -> tuple[float, float, float]:
    """Bytes of weights, of gradients and of updated weights of so many parameters."""
    a, share = model.assumptions, trained_share(model.job)
    new = at_stage(updated_bytes(a, x.columns.sharding), stage)
    return (
        Gathers.of(model.job).weight_bytes * parameters,
        a.gradient_wire_bytes * share * parameters,
        share * new * parameters,
    )


def _optimizer(model: CostModel, x: Evaluated, stage: int) -> dict[str, float]:
    """Seconds and bytes of the optimizer of a stage."""
    a, columns, factor = model.assumptions, x.columns, float(x.step.factor[0, 0])
    nets = data_nets(columns.nets)
    owned = trained_share(model.job) * at_stage(
        owned_parameters(nets, columns.sharding, *columns.parameters), stage
    )
    moved = a.optimizer_traffic_bytes * owned
    if not int(columns.plans.offload[0]) & OFFLOAD_OPTIMIZER:
        seconds = factor * float(x.stages[stage].optimizer_kernels[0, 0])
        return {"optimizer_s": seconds, "optimizer_bytes": moved}
    return {
        "optimizer_s": factor * moved / host_rates(model)[1],
        "optimizer_bytes": 0.0,
        "to_host": a.gradient_wire_bytes * owned,
        "from_host": 2.0 * owned,
    }
