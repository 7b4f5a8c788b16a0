"""One plan table in, its time, memory and energy out: the cost model as users call it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.cost.breakdown import Breakdown, Evaluated, breakdown
from planner.cost.columns import (
    Columns,
    columns_of,
    micro_batches,
    parameters_on_chip,
    stage_choices,
)
from planner.cost.communication.replicas import with_replicas
from planner.cost.communication.traffic import traffic
from planner.cost.context import CostModel
from planner.cost.energy.energy import component_j, running_w, standing_w
from planner.cost.kernels.layer import LayerTimes
from planner.cost.layer_costs import LayerCost
from planner.cost.memory.memory import (
    Memory,
    activation_bytes,
    kept_bytes,
    memory,
    saved_bytes,
    stage_parameters,
)
from planner.cost.memory.parameters import LocalParameters, trained_share
from planner.cost.stages.explicit import explicit_plans
from planner.cost.stages.layout import StageClasses, stage_classes
from planner.cost.stages.recomputation import RecomputeGroup, recompute_groups
from planner.cost.stages.rounds import wait_s
from planner.cost.step import StageCost, StepCost, StepInputs, step_cost
from planner.cost.terms import (
    LayerColumns,
    LayerTerms,
    StateTerms,
    data_nets,
    end_terms,
    layer_cost,
    layer_terms,
    send_term,
    shard_terms,
    state_terms,
)
from planner.plan import AXES, COLUMNS, PlanTable
from planner.schedules import ScheduleColumn

LayerPair = tuple[LayerCost | None, LayerCost | None]
"""A dense and a mixture-of-experts layer; None where the model has none."""
_PER_LAYER: tuple[str, ...] = ("tp", "cp", "ep", "micro_batch", "sequence_parallel", "cp_mode")
_PER_LAYER += ("recompute", "offload")
_PER_STATE = (*AXES, "ep", "order", "sharding", "offload", "interleave", "split")
_HELD = tuple(name for name in COLUMNS if name not in {"order", "clock"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Seconds per step, joules per step of all chips, bytes of the fullest chip, chips; (n,)."""

    step_time_s: FloatArray
    energy_j: FloatArray
    memory_bytes: FloatArray
    chips: IntArray


def evaluate_table(
    model: CostModel, plans: PlanTable, batches: IntArray | None = None
) -> Breakdown:
    """Time, memory and energy of every plan.

    The plans must satisfy `planner.frameworks.rules`; chip counts may differ.

    Args:
        model: Job, cluster, assumptions.
        plans: n plans.
        batches: (n,) sequences per step of each plan; default the job's `global_batch`.

    Raises:
        InputError: The cluster cannot give a plan's chips, or its layers do not divide.
    """
    return breakdown(model, evaluated(model, plans, batches))


def evaluate_totals(model: CostModel, plans: PlanTable, columns: Columns | None = None) -> Totals:
    """Time, energy and memory of every plan without their parts; otherwise `evaluate_table`.

    Layers and memory, which depend on few columns, are computed once per combination of them.

    Args:
        model: Job and machine.
        plans: n plans.
        columns: Their columns, where they were made before.
    """
    if plans.stages is not None:
        x = evaluated(model, plans)
        step, peak = x.step, x.memory.peak
    else:
        step = _step_once(model, columns or columns_of(model, plans))
        peak = _peak_once(model, plans)
    return Totals(
        step_time_s=step.time[:, 0],
        energy_j=step.energy[:, 0],
        memory_bytes=peak,
        chips=plans.chips,
    )


def step_times(model: CostModel, columns: Columns) -> FloatArray:
    """(n,) step times alone, in seconds, of plans whose columns were made before.

    The columns of `planner.cost.columns.columns_of` do not depend on constants other than those
    of the network, so a fit of constants can keep them.
    """
    time: FloatArray = _step_once(model, columns).time[:, 0]
    return time


def _peak_once(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) bytes of the fullest chip; placement and clock change nothing."""
    first, which = distinct([getattr(plans, name).astype(np.int64) for name in _HELD])
    return memory_table(model, plans.take(first)).peak[which]


def _step_once(model: CostModel, x: Columns) -> StepCost:
    """The step of every plan, with its layers once per combination of their columns."""
    clocks = np.unique(x.plans.clock, return_inverse=True)[1].astype(np.int64)
    nets = [x.nets[name].columns[:, 0] for name in ("tp", "cp", "ep")]
    keys = [getattr(x.plans, name).astype(np.int64) for name in _PER_LAYER]
    first, which = distinct([*keys, clocks, *nets])
    layers = tuple(
        LayerTerms(dense=few.dense and few.dense.rows(which), moe=few.moe and few.moe.rows(which))
        for few in _layer_terms(model, x.take(first))
    )
    stages = _stage_costs(model, x, _layer_costs(model, x, layers), _state_once(model, x))
    return step_cost(model.assumptions, stages, _step_inputs(model, x))


def _state_once(model: CostModel, x: Columns) -> StateTerms:
    """Reductions and optimizer of every plan, once per combination of their columns."""
    keys = [getattr(x.plans, name).astype(np.int64) for name in _PER_STATE]
    schedules = x.plans.schedules
    first, which = distinct([*keys, schedules.values("replicas"), schedules.dealt_as])
    few = _state(model, x.take(first))
    return StateTerms(**{f.name: getattr(few, f.name)[which] for f in fields(few)})


def evaluated(
    model: CostModel,
    plans: PlanTable,
    batches: IntArray | None = None,
    classes: StageClasses | None = None,
) -> Evaluated:
    """What a breakdown is made from; the arguments are those of `columns_of`."""
    return evaluated_columns(model, columns_of(model, plans, batches, classes))


def evaluated_columns(
    model: CostModel, x: Columns, standing: FloatArray | None = None
) -> Evaluated:
    """`evaluated` of columns; `standing`: (n, 1) watts per chip, default those of a job alone."""
    layers = _layer_terms(model, x)
    costs = _layer_costs(model, x, layers)
    stages = _stage_costs(model, x, costs, _state(model, x))
    inputs = _step_inputs(model, x, standing)
    return Evaluated(
        columns=x,
        memory=_memory(model, x.plans, x.stages, x.local, x.parameters, x.groups, x.m),
        layers=layers,
        costs=costs,
        stages=stages,
        inputs=inputs,
        step=step_cost(model.assumptions, stages, inputs),
    )


def _memory(
    model: CostModel,
    plans: PlanTable,
    stages: StageClasses,
    local: LocalParameters,
    parameters: tuple[FloatArray, FloatArray],
    groups: tuple[RecomputeGroup, ...],
    m: FloatArray,
) -> Memory:
    sharding, _ = stage_choices(plans, stages)
    return memory(
        model.job,
        model.shapes,
        plans,
        stages,
        local,
        parameters,
        m=m,
        groups=groups,
        sharding=sharding,
        fused=model.assumptions.fused_attention,
    )


def memory_table(
    model: CostModel,
    plans: PlanTable,
    stages: StageClasses | None = None,
    m: FloatArray | None = None,
) -> Memory:
    """Bytes per chip of every stage class of every plan; needs no network.

    Args:
        model: Job and framework.
        plans: n plans.
        stages: Other stage classes than the plans' own.
        m: (n,) other micro-batches per step than the plans' own; 0: before the first of them.
    """
    stages = stages or stage_classes(plans, model.job.model)
    local = parameters_on_chip(model, plans)
    parameters = stage_parameters(plans, stages, local)
    m = micro_batches(model, plans) if m is None else m
    groups = recompute_groups(plans, stages)
    return _memory(model, plans, stages, local, parameters, groups, m[:, None])


def _layer_terms(model: CostModel, x: Columns) -> tuple[LayerTerms, ...]:
    """The layers of each group."""
    columns = [
        layer_columns(
            model,
            tp=x.plans.tp[:, None],
            cp=x.plans.cp[:, None],
            ep=x.plans.ep[:, None],
            micro_batch=x.plans.micro_batch[:, None],
            sequence_parallel=x.plans.sequence_parallel[:, None],
            cp_mode=x.plans.cp_mode[:, None],
            recompute=group.recompute,
            offload=x.plans.offload[:, None],
            clock=x.clock,
        )
        for group in x.groups
    ]
    return tuple(layer_terms(model, each, x.nets, x.local) for each in columns)


def layer_columns(model: CostModel, **columns: FloatArray | IntArray | BoolArray) -> LayerColumns:
    """The columns of `layer_terms`, with the bytes that offloaded activations would move."""
    saved = []
    for moe in (False, True):
        kinds = activation_bytes(
            model.shapes,
            model.framework,
            columns["tp"],  # type: ignore[arg-type]
            columns["sequence_parallel"],  # type: ignore[arg-type]
            moe=moe,
            fused=model.assumptions.fused_attention,
            seq_len=model.job.seq_len,
            operand=kept_bytes(model.job),
        )
        saved.append(saved_bytes(kinds, columns["recompute"]))  # type: ignore[arg-type]
    return LayerColumns(**columns, saved_bytes=(saved[0], saved[1]))  # type: ignore[arg-type]


def _layer_costs(
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
        )

    return tuple((cost(0, group.dense), cost(1, group.moe)) for group in layers)


def _step_inputs(model: CostModel, x: Columns, standing: FloatArray | None = None) -> StepInputs:
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
        ends=end_terms(model, tp, tokens, last[:, None]),
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


def _stage_costs(
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


def _state(model: CostModel, x: Columns) -> StateTerms:
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


__all__ = [
    "Breakdown",
    "Totals",
    "evaluate_table",
    "evaluate_totals",
    "evaluated",
    "layer_at",
    "memory_table",
    "step_times",
]
