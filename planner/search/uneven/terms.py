"""The costs of single layers on every row: what stages of any contents are made of.

Rows that share mesh, placement, micro-batch and exchanges, and run in one direction or in both,
share their layers: they are one *cell*.
Layer costs have shape (u, r, z, k): u cells, recomputations, shardings (all four; those that a
row may not have are masked by `Rows.shardings`) and clocks. Every value comes from the functions
that evaluate single plans (`planner.cost.terms`).
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.communication.replicas import copied_bytes
from planner.cost.context import CostModel
from planner.cost.kernels.layer import LayerTimes
from planner.cost.layer_costs import EndCost, LayerCost, layer_cost
from planner.cost.memory.memory import stage_parameters
from planner.cost.memory.parameters import trained_share
from planner.cost.pieces import layer_columns
from planner.cost.stages.layout import StageClasses, stage_tensors
from planner.cost.terms import (
    StateTerms,
    data_nets,
    layer_groups,
    layer_terms,
    send_term,
    shard_terms,
    state_terms,
)
from planner.cost.vision.seconds import end_costs
from planner.network.collectives import GroupCosts
from planner.plan import SHARDINGS, PlanTable
from planner.search.uneven.rows import Rows

KINDS = ("dense", "moe")
EVERY_SHARDING = np.arange(len(SHARDINGS))
_CELL = ("micro_batch", "sequence_parallel", "cp_mode")
_LAYER = ("tp", "cp", "ep", "etp", *_CELL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTerms:
    """Layers, ends and sends of n rows.

    Attributes:
        cell: (n,) row of the arrays below, u in all.
        layers: Cost of one layer of each of `KINDS` that the model has, (u, r, z, k) arrays.
        ends: Embedding and head, (u, k) each.
        p2p: (u,) exposed seconds of the two sends of a micro-batch between chunks.
        clocks: (k,) relative clocks.
    """

    cell: IntArray
    layers: dict[str, LayerCost]
    ends: EndCost
    p2p: FloatArray
    clocks: FloatArray


def row_terms(model: CostModel, rows: Rows, clocks: FloatArray) -> RowTerms:
    """The terms of some rows.

    Args:
        model: Job and machine.
        rows: n rows.
        clocks: (k,) relative clocks, none above `model.clock_limit`.
    """
    keys = [rows.placement, *(_column(rows, name) for name in _CELL)]
    first, cell = distinct([*keys, rows.both_ways.astype(np.int64)])
    few = rows.take(first)
    nets = few.networks()
    times = _layer_times(model, few, nets, clocks)
    plans = few.plans
    tokens = (plans.micro_batch * model.job.seq_len / plans.cp)[:, None]
    tp, sp = plans.tp[:, None], plans.sequence_parallel[:, None]
    ends = end_costs(model, tp, tokens, clocks[None, :], nets["tp"])
    shape = (len(few), len(clocks))
    return RowTerms(
        cell=cell,
        layers=_sharded(model, few, nets, times),
        ends=EndCost(
            **{f.name: np.broadcast_to(getattr(ends, f.name), shape) for f in fields(EndCost)}
        ),
        p2p=send_term(model, tp, tokens, sp, nets["pp"])[:, 0],
        clocks=clocks,
    )


def _column(rows: Rows, name: str) -> IntArray:
    column: IntArray = getattr(rows.plans, name).astype(np.int64)
    return column


def _layer_times(
    model: CostModel, rows: Rows, nets: dict[str, GroupCosts], clocks: FloatArray
) -> dict[str, LayerTimes]:
    """Layers before data parallelism, (n, r, 1, k), once per combination of their columns."""
    keys = [_column(rows, name) for name in _LAYER]
    groups = layer_groups(model.assumptions)
    first, which = distinct([*keys, *(nets[name].columns[:, 0] for name in groups)])
    few = rows.take(first).plans
    recomputes = np.repeat(rows.recomputes, len(clocks))[None, :]
    columns = layer_columns(
        model,
        **{name: getattr(few, name)[:, None] for name in _LAYER},
        recompute=recomputes,
        offload=np.zeros((1, 1), dtype=np.int64),
        clock=np.tile(clocks, len(rows.recomputes))[None, :],
    )
    local = model.local_parameters(few.tp[:, None], few.expert_ranks[:, None])
    here = {name: nets[name].take(first) for name in groups}
    terms = layer_terms(model, columns, here, local)
    flat = (len(first), recomputes.shape[1])
    shape = (len(rows), len(rows.recomputes), 1, len(clocks))

    def spread(table: FloatArray) -> FloatArray:
        return np.broadcast_to(table, flat)[which].reshape(shape)

    return {
        kind: LayerTimes(
            forward=spread(times.forward),
            backward=spread(times.backward),
            weight_grad=spread(times.weight_grad),
            kernels=spread(times.kernels),
            paired=spread(times.paired),
            parts={},
            sent={},
        )
        for kind, times in zip(KINDS, (terms.dense, terms.moe), strict=True)
        if times is not None
    }


def _sharded(
    model: CostModel, rows: Rows, nets: dict[str, GroupCosts], times: dict[str, LayerTimes]
) -> dict[str, LayerCost]:
    """The same layers under every sharding, (n, r, z, k)."""
    m = rows.plans.schedules.rounds(rows.micro_batches(model))
    first, which = distinct([rows.placement, m.astype(np.int64)])
    few = rows.take(first).plans
    terms = shard_terms(
        model,
        data_nets({name: costs.take(first) for name, costs in nets.items()}),
        model.local_parameters(few.tp[:, None], few.expert_ranks[:, None]),
        EVERY_SHARDING[None, :],
        few.pp[:, None],
        m[first, None],
        trained_share(model.job),
    )
    flat = (len(first), len(EVERY_SHARDING))

    def spread(table: FloatArray) -> FloatArray:
        return np.broadcast_to(table, flat)[which][:, None, :, None]

    return {
        kind: layer_cost(
            model,
            total=layer.total,
            backward=layer.backward,
            weight_grad=layer.weight_grad,
            kernels=layer.kernels,
            paired=layer.paired,
            collective=spread(terms.collective[KINDS.index(kind)]),
            ahead=spread(terms.ahead[KINDS.index(kind)]),
            accumulate=spread(terms.accumulate[KINDS.index(kind)]),
            hooks=spread(terms.hooks[KINDS.index(kind)]),
        )
        for kind, layer in times.items()
    }


def unstaged_s(a: Assumptions, plans: PlanTable, m: FloatArray, p2p: FloatArray) -> FloatArray:
    """(n,) seconds of messages and of the host that no stage changes.

    Args:
        a: Constants.
        plans: n plans.
        m: (n,) micro-batches of a step.
        p2p: (n,) seconds of the two sends of a micro-batch between chunks.
    """
    sends = plans.schedules.of_each("exposed_sends", a, plans.interleave)
    shown = np.where(plans.schedules.values("bidirectional"), 0.0, float(a.bubbles))
    steady = m * (a.micro_batch_s + sends * p2p)
    ramp = shown * (plans.pp - 1.0) * (p2p + a.micro_batch_s / plans.interleave)
    return np.asarray(steady + ramp + a.step_s)


def contents(
    dense: FloatArray,
    moe: FloatArray,
    *,
    first: FloatArray | bool = False,
    last: FloatArray | bool = False,
    position: FloatArray | float = 0.0,
) -> StageClasses:
    """Contents of stages, each a class of its own, (1, c) or (n, c) like the arguments."""
    shape = np.broadcast_shapes(np.shape(dense), np.shape(moe), np.shape(first), np.shape(position))

    def wide(values: FloatArray | float) -> FloatArray:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), shape)

    return StageClasses(
        dense=wide(dense),
        moe=wide(moe),
        count=np.ones(shape),
        first=wide(first),
        last=wide(last),
        position=wide(position),
    )


def stage_state(model: CostModel, rows: Rows, stages: StageClasses) -> StateTerms:
    """(n, c, z) reductions and optimizer of stages of any contents under every sharding.

    Args:
        model: Job and machine.
        rows: n rows.
        stages: (1, c) or (n, c) contents.
    """
    plans = rows.plans
    local = model.local_parameters(plans.tp[:, None], plans.expert_ranks[:, None])
    dense, experts = stage_parameters(plans, stages, local)
    nets = {name: costs.take(np.arange(len(rows))[:, None, None]) for name, costs in _flat(rows)}
    terms = state_terms(
        model,
        data_nets(nets),
        EVERY_SHARDING[None, None, :],
        np.zeros((1, 1, 1), dtype=np.int64),
        plans.pp[:, None, None],
        dense[:, :, None],
        experts[:, :, None],
        stage_tensors(stages)[:, :, None],
        trained_share(model.job),
    )
    if rows.both_ways.any():
        parameters = (dense[:, :, None], experts[:, :, None])
        copied = copied_bytes(model, nets, EVERY_SHARDING[None, None, :], parameters)
        sent = np.where(rows.both_ways[:, None, None], nets["pp"].send_s(copied), 0.0)
        terms = replace(terms, collective=terms.collective + sent)
    shape = (*dense.shape, len(EVERY_SHARDING))
    return StateTerms(
        **{f.name: np.broadcast_to(getattr(terms, f.name), shape) for f in fields(StateTerms)}
    )


def _flat(rows: Rows) -> list[tuple[str, GroupCosts]]:
    return [(name, costs.flat()) for name, costs in rows.networks().items()]
