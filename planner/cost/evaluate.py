"""One plan table in, its time, memory and energy out: the cost model as users call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.breakdown import Breakdown, Evaluated, Figures, Timed, breakdown, figures
from planner.cost.columns import (
    Columns,
    Nets,
    columns_of,
    micro_batches,
    parameters_on_chip,
    stage_choices,
)
from planner.cost.context import CostModel
from planner.cost.memory.memory import (
    Memory,
    memory,
    stage_parameters,
)
from planner.cost.memory.parameters import LocalParameters
from planner.cost.memory.state import host_keys, trained_bytes
from planner.cost.pieces import (
    costs_of_layers,
    costs_of_stages,
    inputs_of_step,
    terms_of_layers,
    terms_of_state,
)
from planner.cost.stages.layout import StageClasses, stage_classes
from planner.cost.stages.recomputation import RecomputeGroup, recompute_groups
from planner.cost.step import step_cost
from planner.cost.terms import LayerTerms, StateTerms, layer_groups
from planner.cost.vision.activations import tower_bytes
from planner.objectives import RunCosts
from planner.plan import AXES, COLUMNS, PlanTable

_PER_LAYER = ("tp", "cp", "ep", "etp", "sequence_parallel", "cp_mode", "recompute", "offload")
_PER_STATE = (*AXES, "ep", "etp", "order", "sharding", "offload", "interleave", "split")
_HELD = tuple(name for name in COLUMNS if name not in {"order", "clock"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Seconds per step, joules per step of all chips, bytes of the fullest chip, chips; (n,).

    `runs` gives what the whole runs take, where an objective asks; None where the job has none.
    """

    step_time_s: FloatArray
    energy_j: FloatArray
    memory_bytes: FloatArray
    chips: IntArray
    runs: Callable[[], RunCosts | None] = field(repr=False, compare=False)


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


def evaluate_figures(
    model: CostModel, plans: PlanTable, batches: IntArray | None = None, nets: Nets | None = None
) -> Figures:
    """What `evaluate_table` gives, without any parts.

    Args:
        model, plans, batches: As there.
        nets: The networks of the plans, where `networks_of` has found them.
    """
    return figures(model, evaluated_columns(model, columns_of(model, plans, batches, nets=nets)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Plans, and which of them share layers and state; `alike_of` makes it.

    It holds for models of the same job whose networks are the same.

    Attributes:
        columns: n plans.
        groups: Groups on whose networks their layers depend; of other ones it is made anew.
        layers, state: One row of each kind, and (n,) which of them a plan has.
    """

    columns: Columns
    groups: tuple[str, ...]
    layers: tuple[Columns, IntArray]
    state: tuple[Columns, IntArray]


def alike_of(model: CostModel, x: Columns) -> Alike:
    """Which plans are costed together."""
    alone, which = distinct([*_layer_keys(model, x), x.plans.micro_batch.astype(np.int64)])
    first, state = distinct(_state_keys(x))
    return Alike(
        columns=x,
        groups=layer_groups(model.assumptions),
        layers=(x.take(alone), which),
        state=(x.take(first), state),
    )


def evaluate_totals(
    model: CostModel,
    plans: PlanTable,
    columns: Alike | None = None,
    held: tuple[FloatArray, FloatArray] | None = None,
) -> Totals:
    """Time, energy and memory of every plan without their parts; otherwise `evaluate_table`.

    Layers and memory, which depend on few columns, are computed once per combination of them.

    Args:
        model: Job and machine.
        plans: n plans.
        columns: What `alike_of` says of them, where it was asked before.
        held: What `held_once` says of them, where it was asked before.
    """
    if plans.stages is not None:
        x = evaluated(model, plans)
        step, peak, copied = x.step, x.memory.peak, trained_bytes(model.job, x.memory.fullest)
    else:
        step = _timed_once(model, columns or alike_of(model, columns_of(model, plans))).step
        peak, copied = held or held_once(model, plans)
    time_s, energy_j = step.time[:, 0], step.energy[:, 0]
    return Totals(
        step_time_s=time_s,
        energy_j=energy_j,
        memory_bytes=peak,
        chips=plans.chips,
        runs=lambda: runs_of(model, plans, time_s, energy_j, (copied, peak)),
    )


def runs_of(
    model: CostModel,
    plans: PlanTable,
    step_time_s: FloatArray,
    energy_j: FloatArray,
    held: tuple[FloatArray, FloatArray],
) -> RunCosts | None:
    """What the whole runs of plans take, (n,) each; None where the job has none.

    Args:
        model: Job, machine and run.
        plans: n plans.
        step_time_s, energy_j: (n,) of a step.
        held: (n,) bytes of the fullest chip that a checkpoint takes, and all of them.
    """
    if model.run is None:
        return None
    from planner.cost.goodput.runs import kept_of, run_costs  # noqa: PLC0415  (few ask)

    return run_costs(model, kept_of(model, plans, *held), step_time_s, energy_j)


def step_times(model: CostModel, columns: Alike) -> FloatArray:
    """(n,) step times alone, in seconds, of plans whose columns were made before.

    The columns of `planner.cost.columns.columns_of` do not depend on constants other than those
    of the network, so a fit of constants can keep them.
    """
    time: FloatArray = _timed_once(model, columns).step.time[:, 0]
    return time


def held_once(model: CostModel, plans: PlanTable) -> tuple[FloatArray, FloatArray]:
    """(n,) bytes of the fullest chip, and of its checkpoint; placement and clock change nothing.

    They are those of the job, whatever its chips and network; of the assumptions those that are
    not numbers decide them (`mlp_blocks`, `fused_attention`).
    """
    first, which = distinct([getattr(plans, name).astype(np.int64) for name in _HELD])
    held = memory_table(model, plans.take(first))
    return held.peak[which], trained_bytes(model.job, held.fullest)[which]


class TimedPlans:
    """Times alone of plans without explicit stages, each with several batches and micro-batches.

    What depends on neither is costed once per plan.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        plans: The plans; their micro-batches are not read.
    """

    def __init__(self, model: CostModel, plans: PlanTable) -> None:
        self.model, self.columns = model, columns_of(model, plans)
        first, which = distinct(_state_keys(self.columns))
        self._state = _state_at(model, self.columns.take(first), which)
        self._alike = distinct(_layer_keys(model, self.columns))[1]

    def at(self, which: IntArray, micro_batch: IntArray, batches: IntArray) -> Timed:
        """The times of some rows.

        Args:
            which: (n,) row of the plans.
            micro_batch: (n,) sequences per micro-batch.
            batches: (n,) sequences per step.
        """
        x = self.columns.take(which)
        x = replace(x, plans=replace(x.plans, micro_batch=micro_batch)).with_batches(batches)
        first, at = distinct([self._alike[which], micro_batch])
        layers = _layers_at(self.model, x.take(first), at, apart=True)
        return _timed(self.model, x, layers, self._state.rows(which))


def _timed_once(model: CostModel, x: Alike) -> Timed:
    if x.groups != layer_groups(model.assumptions):
        x = alike_of(model, x.columns)
    return _timed(model, x.columns, _layers_at(model, *x.layers), _state_at(model, *x.state))


def _timed(
    model: CostModel, x: Columns, layers: tuple[LayerTerms, ...], state: StateTerms
) -> Timed:
    costs = costs_of_layers(model, x, layers)
    stages = costs_of_stages(model, x, costs, state)
    inputs = inputs_of_step(model, x)
    step = step_cost(model.assumptions, stages, inputs)
    return Timed(columns=x, layers=layers, costs=costs, stages=stages, inputs=inputs, step=step)


def _layer_keys(model: CostModel, x: Columns) -> list[IntArray]:
    """The columns that the layers depend on, beside that of micro-batches."""
    clocks = np.unique(x.plans.clock, return_inverse=True)[1].astype(np.int64)
    nets = [x.nets[name].columns[:, 0] for name in layer_groups(model.assumptions)]
    keys = [getattr(x.plans, name).astype(np.int64) for name in _PER_LAYER]
    return [*keys, *host_keys(x.plans), clocks, *nets]


def _layers_at(
    model: CostModel, few: Columns, at: IntArray, *, apart: bool = False
) -> tuple[LayerTerms, ...]:
    """The layers of rows that have those of rows `at` of few; see `LayerTimes.rows`."""
    return tuple(
        LayerTerms(
            dense=terms.dense and terms.dense.rows(at, apart=apart),
            moe=terms.moe and terms.moe.rows(at, apart=apart),
        )
        for terms in terms_of_layers(model, few)
    )


def _state_keys(x: Columns) -> list[IntArray]:
    """The columns that reductions and optimizer depend on."""
    schedules = x.plans.schedules
    keys = [getattr(x.plans, name).astype(np.int64) for name in _PER_STATE]
    return [*keys, schedules.values("replicas"), schedules.dealt_as]


def _state_at(model: CostModel, few: Columns, at: IntArray) -> StateTerms:
    """Reductions and optimizer of rows that have those of rows `at` of few."""
    return terms_of_state(model, few).rows(at)


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
    layers = terms_of_layers(model, x)
    costs = costs_of_layers(model, x, layers)
    stages = costs_of_stages(model, x, costs, terms_of_state(model, x))
    inputs = inputs_of_step(model, x, standing)
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
        tower=tower_bytes(model, plans, stages, m),
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


__all__ = [
    "Alike",
    "Breakdown",
    "TimedPlans",
    "Totals",
    "alike_of",
    "evaluate_table",
    "evaluate_totals",
    "evaluated",
    "held_once",
    "memory_table",
    "step_times",
]
