"""One step of one plan on the clock: what each stage does from when to when.

The schedule is simulated operation by operation with durations of the cost model. Then each stage
reduces its gradients, as far as that is not hidden; when all have (clipping needs the norm of all
gradients), each runs its optimizer; the overhead of the step ends it. The cost model's own step
time is a closed form (`planner.cost.step`); `Timeline.modelled_s` has it, and
docs/model/pipeline.md says how far the two are apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.errors import InputError
from planner.cost.breakdown import Evaluated
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluated, memory_table
from planner.cost.stages.layout import chunk_places, every_stage, plan_chunks
from planner.cost.timeline.durations import durations_of
from planner.plan import Plan, PlanTable
from planner.schedules import schedule_of
from planner.schedules.durations import Durations
from planner.schedules.orders import OPTIMIZER, OVERHEAD, REDUCTION, Orders
from planner.schedules.simulate import Run, simulate

MOST_OPERATIONS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One step of a plan; arrays of operations have shape (n,), by stage, then by time.

    Attributes:
        schedule: Of `planner.schedules.SCHEDULES`.
        stages, interleave, micro_batches: pp, chunks per stage, m.
        layers: (pp, v) transformer layers per chunk.
        stage, kind, micro_batch, chunk: What, `kind` of `planner.schedules.orders.KINDS`; -1 where
            an operation belongs to no micro-batch.
        start_s, end_s: When.
        needs: Index of the operation on another chunk whose message this one waits for; -1: none.
        held: Micro-batches times chunks whose activations the stage holds meanwhile.
        held_bytes: Bytes per chip of these activations.
        send_s: Of each forward and backward pass, at its end, while a message is sent.
        splits_backward: Whether weight gradients are operations of their own.
        busy_s, idle_s: (pp,) seconds; they add up to the makespan.
        pipeline_s: End of the last pass of any stage.
        makespan_s: The whole step, as simulated.
        modelled_s: The step time of the cost model.
        bubbles: Whether the cost model counts bubbles (a preset may leave them out).
        fixed_bytes: (pp,) bytes per chip beside saved activations.
        activation_bytes: (pp, v) bytes per chip of the activations of a micro-batch on each chunk
            of the stage.
        clock: (n,) relative, NaN where none matters; None: those of the plan.
    """

    schedule: str
    stages: int
    interleave: int
    micro_batches: int
    layers: IntArray
    stage: IntArray
    kind: IntArray
    micro_batch: IntArray
    chunk: IntArray
    start_s: FloatArray
    end_s: FloatArray
    needs: IntArray
    held: IntArray
    held_bytes: FloatArray
    send_s: float
    splits_backward: bool
    busy_s: FloatArray
    pipeline_s: float
    makespan_s: float
    modelled_s: float
    bubbles: bool
    fixed_bytes: FloatArray
    activation_bytes: FloatArray
    clock: FloatArray | None = None

    @property
    def idle_s(self) -> FloatArray:
        """(pp,) seconds in which a stage has nothing to do."""
        return np.asarray(np.maximum(self.makespan_s - self.busy_s, 0.0))

    @property
    def difference(self) -> float:
        """The cost model's step time over the simulated one, minus one."""
        return self.modelled_s / self.makespan_s - 1.0

    @property
    def in_flight(self) -> FloatArray:
        """(pp,) most micro-batches, in whole stages, whose activations a stage holds at once."""
        most = np.zeros(self.stages)
        np.maximum.at(most, self.stage, self.held)
        return most / self.interleave

    def of_stage(self, stage: int) -> BoolArray:
        """(n,) which operations run on a stage."""
        return np.asarray(self.stage == stage)


def why_not_simulated(model: CostModel, plan: Plan) -> str:
    """Why a plan has no timeline, in words; empty where it has one."""
    m = model.job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)
    if m < 1 or m != round(m):
        return (
            f"{m:g} micro-batches per step and data rank cannot be drawn one by one; "
            "a whole number is needed"
        )
    operations = operations_of(model, plan)
    if operations > MOST_OPERATIONS:
        return (
            f"{operations} operations are too many to simulate; at most {MOST_OPERATIONS} "
            f"(pp {plan.pp}, interleave {plan.interleave}, {round(m)} micro-batches)"
        )
    return ""


def operations_of(model: CostModel, plan: Plan) -> int:
    """Passes of all stages in a step of a plan, of whole micro-batches."""
    m = model.job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)
    passes = 3 if schedule_of(plan.schedule).splits_backward else 2
    return plan.pp * plan.interleave * round(m) * passes


def timeline_of(model: CostModel, plan: Plan) -> Timeline:
    """Simulates one step of a plan.

    Args:
        model: Its cost model.
        plan: A plan that breaks no rule of arithmetic (`planner.frameworks.rules`).

    Raises:
        InputError: It cannot be simulated: `why_not_simulated`.
    """
    if problem := why_not_simulated(model, plan):
        raise InputError(f"timeline: {problem}")
    table = PlanTable.from_plans([plan])
    x = evaluated(model, table, classes=every_stage(table, model.job.model))
    m = round(float(x.inputs.m[0, 0]))
    orders = schedule_of(plan.schedule).orders(plan.pp, m, plan.interleave)
    durations = durations_of(model, plan, x)
    run = simulate(orders, durations)
    fixed, activations = _bytes(model, plan, x, orders)
    layers = np.array(plan_chunks(plan, model.job.model))[chunk_places(plan)]
    once, makespan_s = _once(durations, run)
    columns = _with_once(orders, run, once, activations)
    seconds = columns["end_s"] - columns["start_s"]
    found = Timeline(
        schedule=plan.schedule,
        stages=plan.pp,
        interleave=orders.chunks,
        micro_batches=m,
        layers=layers,
        **columns,
        send_s=durations.send_s,
        splits_backward=orders.splits_backward,
        busy_s=_summed(columns["stage"], seconds, plan.pp),
        pipeline_s=float(run.end_s.max()),
        makespan_s=makespan_s,
        modelled_s=float(x.step.time[0, 0]),
        bubbles=model.assumptions.bubbles,
        fixed_bytes=fixed,
        activation_bytes=activations,
    )
    for name in Timeline.__slots__:
        if isinstance(value := getattr(found, name), np.ndarray):
            value.flags.writeable = False
    return found


def _summed(stage: IntArray, seconds: FloatArray, stages: int) -> FloatArray:
    total = np.zeros(stages)
    np.add.at(total, stage, seconds)
    return total


def _once(durations: Durations, run: Run) -> tuple[FloatArray, float]:
    """(pp, 3, 2) start and end of reduction, optimizer and overhead; the end of the step."""
    begins = run.end_s[:, -1]
    reduced = begins + durations.reduction_s
    agreed = np.full(len(begins), reduced.max())
    updated = agreed + durations.optimizer_s
    last = np.full(len(begins), updated.max())
    ends = last + durations.overhead_s
    pairs = ((begins, reduced), (agreed, updated), (last, ends))
    once = np.stack([np.stack(pair, axis=1) for pair in pairs], axis=1)
    return once, float(ends.max())


def _with_once(
    orders: Orders, run: Run, once: FloatArray, activations: FloatArray
) -> dict[str, Any]:
    """The columns of a timeline: operations of micro-batches, and what lasts of those per step."""
    pp, k = orders.kind.shape
    none = np.full((pp, 3), -1)
    kinds = np.broadcast_to([REDUCTION, OPTIMIZER, OVERHEAD], (pp, 3))
    index = np.arange(pp * k).reshape(pp, k)
    # Three more operations at the end of each stage move the ones of later stages.
    needs = np.where(run.needs >= 0, run.needs + 3 * (run.needs // k), -1)
    lasts = np.concatenate([np.ones_like(index, dtype=bool), once[:, :, 1] > once[:, :, 0]], axis=1)
    place = np.cumsum(lasts.ravel()) - 1
    whole = {
        "stage": (np.broadcast_to(np.arange(pp)[:, None], (pp, k + 3)), None),
        "kind": (orders.kind, kinds),
        "micro_batch": (orders.micro_batch, none),
        "chunk": (orders.chunk, none),
        "start_s": (run.start_s, once[:, :, 0]),
        "end_s": (run.end_s, once[:, :, 1]),
        "needs": (np.where(needs >= 0, place[needs], -1), none),
        "held": (orders.held(), np.zeros((pp, 3), dtype=np.int64)),
        "held_bytes": (_weighed(orders, activations), np.zeros((pp, 3))),
    }
    return {
        name: (head if tail is None else np.concatenate([head, tail], axis=1))[lasts]
        for name, (head, tail) in whole.items()
    }


def _bytes(
    model: CostModel, plan: Plan, x: Evaluated, orders: Orders
) -> tuple[FloatArray, FloatArray]:
    """(pp,) bytes per chip beside saved activations, and (pp, v) of those of one micro-batch.

    The memory model's activations grow with the micro-batches in flight; without any they are
    what one layer needs while it is worked on.
    """
    stages = x.columns.stages
    work = memory_table(model, x.columns.plans, stages, np.zeros(1)).parts["activations"]
    saved = (x.memory.parts["activations"] - work)[0]
    chunks = _chunk_bytes(model, plan)
    most = _weighed(orders, chunks).max(axis=1)
    each = chunks * (saved / np.where(most > 0, most, 1.0))[:, None]
    return x.memory.total[0] - saved, each


def _weighed(orders: Orders, chunks: FloatArray) -> FloatArray:
    """(pp, k) what is held during each operation, from (pp, v) per micro-batch and chunk."""
    return np.asarray(np.einsum("skv,sv->sk", orders.held_by_chunk(), chunks))


def _chunk_bytes(model: CostModel, plan: Plan) -> FloatArray:
    """(pp, v) what a micro-batch leaves on each chunk: alike, or bytes where chunks may differ.

    Listed chunks and those of bidirectional schedules leave what they would as stages.
    """
    places = chunk_places(plan)
    if places.shape[1] == 1 or (plan.stages is None and plan.interleave > 1):
        return np.ones(places.shape)
    longer = replace(plan, pp=plan.pp * plan.interleave, interleave=1, schedule="gpipe")
    table = PlanTable.from_plans([longer])
    stages = every_stage(table, model.job.model)
    none, one = (
        memory_table(model, table, stages, np.array([m])).parts["activations"][0]
        for m in (0.0, 1.0)
    )
    return np.asarray((one - none)[places])
