"""How long the operations of one plan take, from the same cost model that gives its step time.

    F_c = dense_c f_dense + moe_c f_moe + embedding or head forward + (c_mb / v + s p2p) / 2
    B_c = the rest of both passes, likewise                          (c a chunk, v chunks per stage)

f is `planner.cost.step.forward_pass_s`; where weight gradients are apart, F is both passes less
the whole backward pass and W the weight gradients, as the fill of `planner.cost.step` has it. c_mb
is the host's time per micro-batch. As in the cost model, a stage is busy with a message while it
sends, first and last chunk alike. An interleaved schedule hides the share 1 - s of a message
behind other chunks (s = `interleaved_p2p`): there the stage goes on, and the receiver waits.
A pass beside another is shorter by what it hides of all-to-alls and messages, the two passes of a
chunk in proportion to what they take alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray
from planner.cost.breakdown import Evaluated
from planner.cost.context import CostModel
from planner.cost.layer_costs import EndCost, LayerCost
from planner.cost.pieces import layer_at
from planner.cost.stages.layout import chunk_places, plan_chunks, stage_classes
from planner.cost.stages.recomputation import recompute_groups
from planner.cost.step import exposed_reduction_s, forward_pass_s
from planner.plan import RECOMPUTATIONS, Plan, PlanTable, Stage
from planner.schedules import schedule_of
from planner.schedules.durations import Durations
from planner.schedules.passes import paced_sends


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passes:
    """Seconds of a chunk's layers or ends: forward, backward without and the weight gradients."""

    forward: float
    backward: float
    weight_grad: float

    def times(self, count: float) -> _Passes:
        """Of several of them."""
        return _Passes(
            forward=count * self.forward,
            backward=count * self.backward,
            weight_grad=count * self.weight_grad,
        )


def durations_of(
    model: CostModel, plan: Plan, x: Evaluated, layers: FloatArray | None = None
) -> Durations:
    """The durations of a plan.

    Args:
        model: Its cost model.
        plan: The plan.
        x: The same plan evaluated alone, by `planner.cost.stages.layout.every_stage`.
        layers: Its `chunk_layers`, where they are known.
    """
    layers = chunk_layers(model, plan) if layers is None else layers
    a, v, stages = model.assumptions, plan.interleave, x.stages
    schedule = schedule_of(plan.schedule)
    split = schedule.splits_backward
    passes = np.array([
        [_chunk(a, x, stage, own, split=split) for own in row]
        for stage, row in enumerate(layers)
    ])  # fmt: skip
    places = chunk_places(plan)
    passes[places == 0] += _both(_embedding(x.inputs.ends), split=split)
    passes[places == places.max()] += _both(_head(x.inputs.ends), split=split)
    sent = float(x.inputs.p2p[0, 0]) / 2
    paced = sent * float(paced_sends(a, np.array(v))) / v
    factor = float(x.step.factor[0, 0])
    busy = paced + a.micro_batch_s / v / 2
    return Durations(
        forward_s=factor * (passes[:, :, 0] + busy),
        backward_s=factor * (passes[:, :, 1] + busy),
        weight_grad_s=factor * passes[:, :, 2],
        send_s=factor * paced,
        lag_s=factor * (sent - paced),
        reduction_s=factor
        * np.array([_first(exposed_reduction_s(a, s, x.inputs)) for s in stages]),
        optimizer_s=factor * np.array([_first(stage.optimizer) for stage in stages]),
        overhead_s=factor * a.step_s,
        hidden_s=factor * _hidden(model, layers, x, passes, busy)
        if schedule.side_by_side
        else None,
    )


def _hidden(
    model: CostModel, layers: FloatArray, x: Evaluated, passes: FloatArray, busy: float
) -> FloatArray:
    """(2, pp, v) seconds that forward and backward passes hide of their communication."""
    hidden = np.full(layers.shape[:2], model.assumptions.beside_overlap * _first(x.inputs.p2p))
    for group, pair in zip(x.columns.groups, x.costs, strict=True):
        counts = layers[..., int(group.recompute[0, 0])]
        for kind, cost in enumerate(pair):
            if cost is not None:
                saved = np.broadcast_to(cost.paired[0], len(hidden))
                hidden += counts[:, :, kind] * saved[:, None]
    alone = passes[:, :, 0] + busy, passes[:, :, 1] + passes[:, :, 2] + busy
    return np.stack([hidden * one / (alone[0] + alone[1]) for one in alone])


def chunk_layers(model: CostModel, plan: Plan) -> FloatArray:
    """(pp, v, 2, r) dense and expert layers of every chunk of every stage, by recomputation."""
    sizes = plan_chunks(plan, model.job.model)
    listed = plan.stages or tuple(Stage(layers=size) for size in sizes)
    table = PlanTable.from_plans([replace(plan, stages=listed)])
    stages = stage_classes(table, model.job.model)
    layers = np.zeros((*chunk_places(plan).shape, 2, len(RECOMPUTATIONS)))
    for group in recompute_groups(table, stages):
        assert group.chunks is not None
        layers[..., int(group.recompute[0, 0])] = group.chunks[0]
    return layers


def _chunk(
    a: Assumptions, x: Evaluated, stage: int, layers: FloatArray, *, split: bool
) -> FloatArray:
    """(3,) seconds of a chunk's layers in its passes; `layers` is (2, r)."""
    total = np.zeros(3)
    for group, pair in zip(x.columns.groups, x.costs, strict=True):
        counts = layers[:, int(group.recompute[0, 0])]
        for count, cost in zip(counts, pair, strict=True):
            if count and cost is not None:
                one = _layer(a, layer_at(cost, stage), split=split)
                total += _both(one.times(float(count)), split=split)
    return total


def _layer(a: Assumptions, cost: LayerCost, *, split: bool) -> _Passes:
    total, backward = _first(cost.total), _first(cost.backward)
    grad = _first(cost.weight_grad)
    forward = total - backward if split else min(_first(forward_pass_s(a, cost)), total)
    return _Passes(forward=forward, backward=max(total - forward - grad, 0.0), weight_grad=grad)


def _embedding(ends: EndCost) -> _Passes:
    total, back = _first(ends.embedding), _first(ends.tower_backward)
    return _Passes(forward=total - back, backward=back, weight_grad=0.0)


def _head(ends: EndCost) -> _Passes:
    total, back = _first(ends.head), _first(ends.head_backward)
    grad = _first(ends.head_weight_grad)
    return _Passes(forward=total - back, backward=back - grad, weight_grad=grad)


def _both(one: _Passes, *, split: bool) -> FloatArray:
    """(3,) passes; weight gradients within the backward pass unless they are apart."""
    if split:
        return np.array([one.forward, one.backward, one.weight_grad])
    return np.array([one.forward, one.backward + one.weight_grad, 0.0])


def _first(table: FloatArray) -> float:
    return float(np.ravel(table)[0])
