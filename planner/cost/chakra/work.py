"""What the layers of a stage compute, move and send in each pass, on one of its chips.

The counts are those of the cost model (`planner.cost.communication.traffic`), layer by layer:
FLOP and element-wise bytes are exact per layer, the operands of multiplications per stage (of a
stage's multiplications each has its share by FLOP). Seconds are those of computing and of the host
alone: what collectives take is left to whoever runs the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.breakdown import Evaluated
from planner.cost.communication.exchanges import ACTIVATION_BYTES, context_bytes, tensor_bytes
from planner.cost.context import CostModel
from planner.cost.kernels.executed import Repeats, elementwise_bytes, product_bytes, repeats
from planner.cost.kernels.flop import attention_flop_per_token, dropped_flop_per_token
from planner.cost.memory.state import shards_on_host
from planner.cost.pieces import layer_at, layer_columns
from planner.cost.stages.recomputation import RecomputeGroup
from planner.plan import ALL_TO_ALL
from planner.plan.plan import OFFLOAD_ACTIVATIONS, OFFLOAD_WEIGHTS

Key = tuple[bool, int]
"""A mixture of experts or not, and the code of its recomputation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A collective.

    Attributes:
        collective: all-gather, reduce-scatter, all-reduce or all-to-all.
        group: Of `planner.network.placement.GROUPS`.
        size_bytes: Of the whole buffer; of an all-to-all, what one member sends.
    """

    collective: str
    group: str
    size_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass of one micro-batch over one layer, or over embedding or head.

    Attributes:
        flop: On the chip.
        linear: The part of it in matrix multiplications.
        memory_bytes: Between the chip and its memory.
        seconds: Of computing.
        messages: Collectives, in order; all but the first half follow the computing.
        loaded_bytes, stored_bytes: From and to the host.
    """

    flop: float = 0.0
    linear: float = 0.0
    memory_bytes: float = 0.0
    seconds: float = 0.0
    messages: tuple[Message, ...] = ()
    loaded_bytes: float = 0.0
    stored_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The passes of one micro-batch; `weight_grad` is empty where backward has it."""

    forward: Pass
    backward: Pass
    weight_grad: Pass = Pass()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWork:
    """What a stage does for one micro-batch.

    Attributes:
        layers: Each kind of layer that there is.
        embedding, head: The ends; of stages that have them.
    """

    layers: Mapping[Key, Work]
    embedding: Work
    head: Work


def stage_works(model: CostModel, x: Evaluated, *, split: bool) -> tuple[StageWork, ...]:
    """The work of every stage.

    Args:
        model: Its cost model.
        x: One plan, evaluated by `planner.cost.stages.layout.every_stage`.
        split: Whether weight gradients are passes of their own.
    """
    return tuple(
        _stage(model, x, stage, split=split) for stage in range(x.columns.stages.count.shape[1])
    )


def _stage(model: CostModel, x: Evaluated, stage: int, *, split: bool) -> StageWork:
    layers, ends = dict(_layers(model, x, stage)), _ends(model, x)
    parts = _counted(x, stage, layers, ends)
    linear = sum(count * _linear(work) for count, work in parts)
    moved = float(product_bytes(model, x.columns)[0, stage])
    per_flop = moved / linear if linear else 0.0

    def done(work: Work) -> Work:
        return _finished(work, per_flop, split=split)

    return StageWork(
        layers={key: done(work) for key, work in layers.items()},
        embedding=done(ends[0]),
        head=done(ends[1]),
    )


def _counted(
    x: Evaluated, stage: int, layers: Mapping[Key, Work], ends: tuple[Work, Work]
) -> list[tuple[float, Work]]:
    """Works of a stage with how often it does them."""
    found = [(at_stage(x.columns.stages.last, stage), ends[1])]
    for group in x.columns.groups:
        code = int(group.recompute[0, 0])
        for moe, table in ((False, group.dense), (True, group.moe)):
            if (moe, code) in layers:
                found.append((at_stage(table, stage), layers[moe, code]))
    return found


def _linear(work: Work) -> float:
    return work.forward.linear + work.backward.linear + work.weight_grad.linear


def _finished(work: Work, per_flop: float, *, split: bool) -> Work:
    """With the bytes of operands, and weight gradients in the backward pass unless apart."""
    passes = [
        _with(one, memory_bytes=one.memory_bytes + per_flop * one.linear)
        for one in (work.forward, work.backward, work.weight_grad)
    ]
    forward, backward, grad = passes
    if split:
        return Work(forward=forward, backward=backward, weight_grad=grad)
    names = ("flop", "linear", "memory_bytes", "seconds")
    both = {name: getattr(backward, name) + getattr(grad, name) for name in names}
    return Work(forward=forward, backward=_with(backward, **both))


def _with(one: Pass, **changes: Any) -> Pass:
    return replace(one, **changes)


def _layers(model: CostModel, x: Evaluated, stage: int) -> Iterator[tuple[Key, Work]]:
    """Every kind of layer, with multiplications' operands left out."""
    factor = float(x.step.factor[0, 0])
    for group, times, pair in zip(x.columns.groups, x.layers, x.costs, strict=True):
        kinds = zip((False, True), (times.dense, times.moe), pair, strict=True)
        for moe, time, cost in kinds:
            if time is None or cost is None:
                continue
            own = layer_at(cost, stage)
            accumulate = max(at_stage(cost.kernels, stage) - at_stage(time.kernels, stage), 0.0)
            parts = sum(at_stage(time.parts[name], stage) for name in ("compute", "memory", "host"))
            whole = factor * (parts + accumulate)
            total = at_stage(time.total, stage)
            forward = whole * at_stage(time.forward, stage) / total if total else 0.0
            grad = min(factor * float(own.weight_grad[0, 0]), whole - forward)
            seconds = (forward, whole - forward - grad, grad)
            key = (moe, int(group.recompute[0, 0]))
            yield key, _layer(model, x, group, seconds, moe=moe)


def _layer(
    model: CostModel,
    x: Evaluated,
    group: RecomputeGroup,
    seconds: tuple[float, float, float],
    *,
    moe: bool,
) -> Work:
    a, shapes, job = model.assumptions, model.shapes, model.job
    again, tokens = repeats(model, x.columns.plans, group, moe=moe), _tokens(model, x)
    linear = 2.0 * tokens * (shapes.moe_parameters if moe else shapes.dense_parameters)
    linear += tokens * dropped_flop_per_token(job)[int(moe)]
    share = a.causal_share if a.fused_attention else 1.0
    scores = tokens * share * attention_flop_per_token(job.model, shapes) / job.model.layers
    back = 2.5 if a.fused_attention else 2.0
    rows = tokens * float(elementwise_bytes(model, x.columns.plans)[int(moe)][0])
    lin, att, row = (_first(part) for part in (again.linear, again.attention, again.elementwise))
    forward, backward = _exchanges(model, x, again, moe=moe)
    loaded, stored = _offloaded(model, x, group, moe=moe)
    return Work(
        forward=Pass(
            flop=linear + scores,
            linear=linear,
            memory_bytes=rows,
            seconds=seconds[0],
            messages=forward,
            loaded_bytes=loaded[0],
            stored_bytes=stored,
        ),
        backward=Pass(
            flop=linear * (1 + lin) + scores * (back + att),
            linear=linear * (1 + lin),
            memory_bytes=rows * (a.elementwise_backward + row),
            seconds=seconds[1],
            messages=backward,
            loaded_bytes=loaded[1],
        ),
        weight_grad=Pass(
            flop=linear if job.trains_all else 0.0,
            linear=linear if job.trains_all else 0.0,
            seconds=seconds[2],
        ),
    )


def _exchanges(
    model: CostModel, x: Evaluated, again: Repeats, *, moe: bool
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The collectives of the forward and of the backward pass over a layer."""
    plans, shapes = x.columns.plans, model.shapes
    local = plans.micro_batch * model.job.seq_len / plans.cp
    size = float(tensor_bytes(shapes, local)[0])
    count = round(shapes.moe_tp_exchanges if moe else shapes.tp_exchanges)
    names = ["all-gather", "reduce-scatter"] * (count // 2)
    if not plans.sequence_parallel[0]:
        names = ["all-reduce"] * (count // 2)
    once = [Message(collective=name, group="tp", size_bytes=size) for name in names]
    gathered, swapped = (
        float(part[0]) for part in context_bytes(shapes, local, plans.tp, plans.cp)
    )
    swaps = plans.cp_mode[0] == ALL_TO_ALL
    context = Message(
        collective="all-to-all" if swaps else "all-gather",
        group="cp",
        size_bytes=swapped if swaps else gathered,
    )
    experts = _of_experts(model, x) if moe else []
    forward = [context, *once, *experts]
    backward = [*([] if swaps else [context]), context, *once, *experts]
    repeated = once[: round(len(once) * _first(again.exchanges))]
    if _first(again.last) and once and not experts:
        repeated = repeated[:-1]
    first = [context] if _first(again.context) else []
    last = experts if _first(again.experts) else []
    return tuple(forward), (*first, *repeated, *last, *backward)


def _of_experts(model: CostModel, x: Evaluated) -> list[Message]:
    """Tokens to their experts, and back; ranks that share experts gather, and scatter the sums."""
    plans, shapes = x.columns.plans, model.shapes
    rows = float((plans.micro_batch * model.job.seq_len / plans.cp / plans.tp)[0])
    width = rows * shapes.experts_per_token * shapes.hidden
    sizes = (model.assumptions.dispatch_bytes * width, ACTIVATION_BYTES * width)
    there, back = (Message(collective="all-to-all", group="ep", size_bytes=one) for one in sizes)
    if (etp := int(plans.etp[0])) == 1:
        return [there, back]
    gathered, scattered = (
        Message(collective=name, group="etp", size_bytes=etp * size)
        for name, size in zip(("all-gather", "reduce-scatter"), sizes, strict=True)
    )
    return [there, gathered, scattered, back]


def _offloaded(
    model: CostModel, x: Evaluated, group: RecomputeGroup, *, moe: bool
) -> tuple[tuple[float, float], float]:
    """Bytes from the host in both passes, and to it in the forward pass, of a layer."""
    plans, local = x.columns.plans, x.columns.local
    mask = int(plans.offload[0])
    dense, experts = shards_on_host(plans, x.columns.sharding)
    shared = (local.moe_layer if moe else local.dense_layer) / dense
    weights = shared + local.experts / experts if moe else shared
    streamed = 2.0 * _first(weights) if mask & OFFLOAD_WEIGHTS else 0.0
    if not mask & OFFLOAD_ACTIVATIONS:
        return (streamed, streamed), 0.0
    names = ("tp", "cp", "ep", "etp", "micro_batch", "sequence_parallel", "cp_mode", "offload")
    columns = {name: getattr(plans, name)[:, None] for name in names}
    found = layer_columns(model, recompute=group.recompute, clock=x.columns.clock, **columns)
    kept = _first(found.saved_bytes[int(moe)]) * float(
        (plans.micro_batch * model.job.seq_len / plans.cp)[0]
    )
    return (streamed, streamed + kept), kept


def _ends(model: CostModel, x: Evaluated) -> tuple[Work, Work]:
    """Embedding and head; what the layers leave of the parameters is multiplied in the head."""
    factor, ends, shapes = float(x.step.factor[0, 0]), x.inputs.ends, model.shapes
    kinds = model.job.model.layer_kinds
    of_layers = sum(
        shapes.moe_parameters if kind == "moe" else shapes.dense_parameters for kind in kinds
    )
    linear = 2.0 * _tokens(model, x) * (shapes.matmul_parameters - of_layers)
    total, back = _first(ends.head), _first(ends.head_backward)
    grad = _first(ends.head_weight_grad)
    trained = linear if model.job.trains_all else 0.0
    head = Work(
        forward=Pass(flop=linear, linear=linear, seconds=factor * (total - back)),
        backward=Pass(flop=linear, linear=linear, seconds=factor * (back - grad)),
        weight_grad=Pass(flop=trained, linear=trained, seconds=factor * grad),
    )
    embedding = Work(forward=Pass(seconds=factor * _first(ends.embedding)), backward=Pass())
    return embedding, head


def _tokens(model: CostModel, x: Evaluated) -> float:
    """Tokens of a micro-batch whose layers a chip would compute alone."""
    plans = x.columns.plans
    return float((plans.micro_batch * model.job.seq_len / plans.cp / plans.tp)[0])


def _first(table: FloatArray) -> float:
    return float(np.ravel(table)[0])


def at_stage(table: FloatArray | IntArray, stage: int) -> float:
    """Of a table with a column per stage, or one for all."""
    return float(table[0, stage if table.shape[1] > 1 else 0])
