"""The pieces of a step from its columns: layers, stages, reductions, and what a step needs."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.columns import Columns
from planner.cost.communication.replicas import with_replicas
from planner.cost.communication.traffic import traffic
from planner.cost.context import CostModel
from planner.cost.energy.energy import component_j, running_w, standing_w
from planner.cost.kernels.layer import LayerTimes
from planner.cost.layer_costs import LayerCost, layer_cost
from planner.cost.memory.adapters import kept_beside, kept_widened
from planner.cost.memory.memory import (
    activation_bytes,
    kept_bytes,
    saved_bytes,
)
from planner.cost.memory.parameters import trained_share
from planner.cost.memory.state import shards_on_host
from planner.cost.stages.explicit import explicit_plans
from planner.cost.stages.layout import stage_tensors
from planner.cost.stages.rounds import wait_s
from planner.cost.step import StageCost, StepInputs
from planner.cost.terms import (
    LayerColumns,
    LayerTerms,
    StateTerms,
    data_nets,
    layer_terms,
    send_term,
    shard_terms,
    state_terms,
)
from planner.cost.vision.seconds import end_costs
from planner.plan.recomputations import has_modules
from planner.schedules import ScheduleColumn

LayerPair = tuple[LayerCost | None, LayerCost | None]
"""A dense and a mixture-of-experts layer; None where the model has none."""


def terms_of_layers(model: CostModel, x: Columns) -> tuple[LayerTerms, ...]:
    """The layers of each group."""
    held = shards_on_host(x.plans, x.sharding)
    columns = [
        layer_columns(
            model,
            tp=x.plans.tp[:, None],
            cp=x.plans.cp[:, None],
            ep=x.plans.ep[:, None],
            etp=x.plans.etp[:, None],
            micro_batch=x.plans.micro_batch[:, None],
            sequence_parallel=x.plans.sequence_parallel[:, None],
            cp_mode=x.plans.cp_mode[:, None],
            recompute=group.recompute,
            offload=x.plans.offload[:, None],
            clock=x.clock,
            held=held,
        )
        for group in x.groups
    ]
    return tuple(layer_terms(model, each, x.nets, x.local) for each in columns)


def layer_columns(
    model: CostModel,
    *,
    held: tuple[FloatArray | float, FloatArray | float] = (1.0, 1.0),
    **columns: FloatArray | IntArray | BoolArray,
) -> LayerColumns:
    """The columns of `layer_terms`, with the bytes that offloaded activations would move."""
    saved, job = [], model.job
    tokens = columns["micro_batch"] * job.seq_len / columns["cp"]
    holders = columns["ep"] * columns["etp"]
    for moe in (False, True):
        kinds = activation_bytes(
            model.shapes,
            model.framework,
            columns["tp"],  # type: ignore[arg-type]
            columns["sequence_parallel"],  # type: ignore[arg-type]
            moe=moe,
            fused=model.assumptions.fused_attention,
            seq_len=job.seq_len,
            operand=kept_bytes(job),
            adapters=kept_beside(job, moe=moe) + kept_widened(job, holders, moe=moe) / tokens,  # type: ignore[arg-type]
            etp=columns["etp"],  # type: ignore[arg-type]
            named=bool(has_modules(columns["recompute"]).any()),  # type: ignore[arg-type]
        )
        saved.append(saved_bytes(kinds, columns["recompute"], moe=moe))  # type: ignore[arg-type]
    return LayerColumns(
        **columns,  # type: ignore[arg-type]
        saved_bytes=(saved[0], saved[1]),
        held=held,
    )


def costs_of_layers(
    model: CostModel, x: Columns, layers: tuple[LayerTerms, ...]
) -> tuple[LayerPair, ...]:
    """Costs of a layer of each kind and group after data-parallel overlap."""
    pp, share = x.plans.pp[:, None], trained_share(model.job)
    terms = shard_terms(model, data_nets(x.nets), x.local, x.sharding, pp, x.rounds, share)

    def cost(kind: int, times: LayerTimes | None) -> LayerCost | None:
        if times is None:
            return None
        return layer_cost(
            model,
            total=times.total,
            backward=times.backward,
            weight_grad=times.weight_grad,
            kernels=times.kernels,
            paired=times.paired,
            collective=terms.collective[kind],
            ahead=terms.ahead[kind],
            accumulate=terms.accumulate[kind],
            hooks=terms.hooks[kind],
        )

    return tuple((cost(0, group.dense), cost(1, group.moe)) for group in layers)


def inputs_of_step(model: CostModel, x: Columns, standing: FloatArray | None = None) -> StepInputs:
    """What a step needs beside its stages; `standing`: as of `evaluated_columns`."""
    plans = x.plans
    tokens = (plans.micro_batch * model.job.seq_len / plans.cp)[:, None]
    tp, sp = plans.tp[:, None], plans.sequence_parallel[:, None]
    if standing is None:
        counts, where = np.unique(plans.chips, return_inverse=True)
        standing = np.array([standing_w(model, int(count)) for count in counts])[where][:, None]
    last = x.clock[np.arange(len(plans)), np.minimum(plans.pp, x.clock.shape[1]) - 1]
    return StepInputs(
        m=x.m,
        pp=plans.pp[:, None],
        v=plans.interleave[:, None],
        schedules=ScheduleColumn(plans.schedule[:, None]),
        chips=plans.chips[:, None].astype(np.float64),
        ends=end_costs(model, tp, tokens, last[:, None], x.nets["tp"]),
        p2p=send_term(model, tp, tokens, sp, x.nets["pp"]),
        standing_w=standing,
        moved_j=moved_j(model, x),
    )


def moved_j(model: CostModel, x: Columns, *, wires: bool = True) -> FloatArray:
    """(n, 1) joules of the component model, where energy is that alone; else (1, 1) zero.

    Without `wires` a lower bound for every placement.
    """
    if not model.assumptions.component_energy:
        return np.zeros((1, 1))
    parts = component_j(model, traffic(model, x, wires=wires))
    return np.asarray(sum(parts.values(), np.zeros(len(x.plans)))[:, None])


def costs_of_stages(
    model: CostModel, x: Columns, costs: tuple[LayerPair, ...], state: StateTerms
) -> list[StageCost]:
    """One `StageCost` per class, in order."""
    power = running_w(model, x.clock)
    return [
        StageCost(
            count=_at(x.stages.count, index),
            first=_at(x.stages.first, index),
            last=_at(x.stages.last, index),
            layers=tuple(
                (_at(count, index), layer_at(cost, index))
                for group, pair in zip(x.groups, costs, strict=True)
                for count, cost in zip((group.dense, group.moe), pair, strict=True)
                if cost is not None
            ),
            collective=_at(state.collective, index),
            optimizer=_at(state.optimizer, index),
            optimizer_kernels=_at(state.optimizer_kernels, index),
            extra_w=_at(power, index),
            longest=_longest_s(x, costs, index),
        )
        for index in range(x.stages.count.shape[1])
    ]


def _longest_s(x: Columns, costs: tuple[LayerPair, ...], index: int) -> FloatArray | None:
    """(n, 1) seconds that the chunks of a class make wait; see `StageCost.longest`."""
    if x.stages.chunks is None or (v := x.stages.chunks.shape[2]) == 1:
        return None
    chunks = np.zeros((len(x.plans), v))
    for group, pair in zip(x.groups, costs, strict=True):
        for kind, cost in enumerate(pair):
            if cost is not None and group.chunks is not None:
                chunks = chunks + group.chunks[:, index, :, kind] * _at(cost.total, index)
    first, last = _at(x.stages.first, index), _at(x.stages.last, index)
    waited = wait_s(chunks, first, last, x.m, x.plans.pp[:, None], x.plans.interleave[:, None])
    return np.where(explicit_plans(x.plans)[:, None], waited, np.nan)


def terms_of_state(model: CostModel, x: Columns) -> StateTerms:
    """Reductions and optimizer of every plan."""
    dense, experts = x.parameters
    terms = state_terms(
        model,
        data_nets(x.nets),
        x.sharding,
        x.plans.offload[:, None],
        x.plans.pp[:, None],
        dense,
        experts,
        stage_tensors(x.stages),
        trained_share(model.job),
    )
    return with_replicas(model, terms, x.plans, x.nets, x.sharding, x.parameters)


def _at(table: FloatArray, index: int) -> FloatArray:
    """(n, 1) of a stage class; tables of one column hold for all classes."""
    return table[:, index : index + 1] if table.shape[1] > 1 else table


def layer_at(cost: LayerCost, index: int) -> LayerCost:
    """The cost of a layer on a stage class; one that holds for all classes is shared by them."""
    tables = {f.name: getattr(cost, f.name) for f in fields(LayerCost)}
    same = all(table.shape[1] == 1 for table in tables.values())
    return cost if same else LayerCost(**{n: _at(table, index) for n, table in tables.items()})
