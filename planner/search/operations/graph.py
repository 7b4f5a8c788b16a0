"""The operations of one step of a plan, with their seconds and joules at every clock of the chip.

The order of each stage is its schedule's own (`planner.schedules`), and an operation waits as in
the simulation of it: for the one before on its stage, and for the message of another chunk. Passes
that run side by side are one operation. After its last pass a stage reduces its gradients; when all
have, each runs its optimizer, and the overhead of the step ends it; then the next step begins, each
stage with its first pass, which needs another clock than its optimizer maybe. Seconds are those of
`planner.cost.timeline.durations` at each clock; of reductions, which a slow last pass hides better,
those at the highest.

The joules of an operation are what its kernels add to waiting: of the seconds in which kernels of a
chunk run (`planner.cost.step.run_s`) each pass has the share of its own seconds at the highest
clock. All chips wait, with their hosts and the network, until the step ends: that is the price of a
second. At one clock the joules of all operations are those of the cost model for the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.vocabulary import PER_OPERATION
from planner.cost.breakdown import Evaluated
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluated
from planner.cost.stages.layout import chunk_places, every_stage
from planner.cost.timeline.durations import chunk_layers, durations_of
from planner.cost.timeline.timeline import operations_of, why_not_simulated
from planner.plan import Plan, PlanTable
from planner.schedules import schedule_of
from planner.schedules.durations import Durations
from planner.schedules.orders import BACKWARD, OPTIMIZER, OVERHEAD, REDUCTION, Orders
from planner.schedules.simulate import message_needs
from planner.search.deadline import NEVER, Deadline
from solvers.operations.graph import Operations, Turn, in_order

MOST_OPERATIONS = 20_000
"""Beyond which no clocks are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOperations:
    """The operations of a step, o of them, each after those that it waits for.

    Attributes:
        clocks: (k,) relative, the highest first.
        orders: What each stage runs.
        graph: Seconds, joules of all chips and waits; each operation is a group of its own.
        stage: (o,) of an operation; -1 of the moment when all stages have reduced.
        kind: (o,) of `planner.schedules.orders.KINDS`; of passes side by side the first.
        of_pass: (pp, k) the operation of each pass of the orders.
        next_on_stage: (e,) which waits of the graph are for the operation before on the stage.
    """

    clocks: FloatArray
    orders: Orders
    graph: Operations
    stage: IntArray
    kind: IntArray
    of_pass: IntArray
    next_on_stage: BoolArray

    @property
    def optimizers(self) -> IntArray:
        """(pp,) the operation of each stage that is its optimizer."""
        at = np.flatnonzero(self.kind == OPTIMIZER)
        return np.asarray(at[np.argsort(self.stage[at])])

    def with_switches(self, seconds: float) -> Operations:
        """The graph where a change of a stage's clock takes so long, in which nothing runs.

        Also from what the stage runs last to what it runs first in the next step.
        """
        assert self.graph.turn is not None
        turn = replace(self.graph.turn, switches=np.full(len(self.of_pass), seconds))
        switches = np.where(self.next_on_stage, seconds, 0.0)
        return replace(self.graph, switches=switches, turn=turn)

    def changes(self, level: IntArray) -> int:
        """How often stages change their clock in a step, that before the next step included."""
        own, turn = self.next_on_stage, self.graph.turn
        assert turn is not None
        before = np.append(self.graph.before[own], turn.last)
        after = np.append(self.graph.after[own], turn.first)
        return int((level[before] != level[after]).sum())


def step_operations(
    model: CostModel, plan: Plan, most: int = MOST_OPERATIONS, deadline: Deadline = NEVER
) -> StepOperations:
    """The operations of a plan.

    Args:
        model: Its cost model.
        plan: A plan that breaks no rule of arithmetic.
        most: Operations beyond which it is refused.
        deadline: Looked at between parts that take a few hundredths of a second.

    Raises:
        InputError: The chip has one clock, or the plan is not simulated.
        OutOfTime: The deadline passed.
    """
    clocks = model.clocks(wanted=True)
    if problem := _why_not(model, plan, most):
        raise InputError(f"clocks: {problem}")
    at_clocks = _at_clocks(model, plan, clocks)
    x = at_clocks[0][1]
    orders = schedule_of(plan.schedule).orders(
        plan.pp, round(float(x.inputs.m[0, 0])), plan.interleave
    )
    deadline.check()
    layers = chunk_layers(model, plan)
    durations = [durations_of(model, one, own, layers) for one, own in at_clocks]
    busy = [_busy_j(one, own, layers) for one, own in at_clocks]
    deadline.check()
    passes = np.stack([_pass_s(orders, one) for one in durations], axis=-1)
    joules = np.stack([_pass_j(orders, durations[0], j) for j in busy], axis=-1)
    ends = _Ends.of(model, at_clocks, durations)
    lag = max(one.lag_s for one in durations)
    standing = plan.chips * float(x.inputs.standing_w[0, 0])
    deadline.check()
    return _joined(clocks, orders, passes, joules, ends, lag, standing, deadline)


def why_no_clocks(model: CostModel) -> str:
    """Why operations of no plan have clocks of their own, in words; empty where they may."""
    if model.assumptions.component_energy:
        return (
            f"{PER_OPERATION} needs the energy of phases, which the preset of assumptions has not"
        )
    if len(model.clocks(wanted=True)) == 1:
        capped = " under the power cap" if model.chip.clock_settable else ""
        return f"{PER_OPERATION} needs a chip with clock levels; {model.chip.name} has one{capped}"
    return ""


def _why_not(model: CostModel, plan: Plan, most: int) -> str:
    if problem := why_no_clocks(model):
        return problem
    if problem := why_not_simulated(model, plan):
        return problem
    if (count := operations_of(model, plan)) > most:
        return f"{PER_OPERATION}: {count} operations are too many; at most {most}"
    return ""


def _at_clocks(model: CostModel, plan: Plan, clocks: FloatArray) -> list[tuple[Plan, Evaluated]]:
    """The plan with each clock everywhere, evaluated stage by stage."""
    plans = [_with_clock(plan, clock) for clock in clocks.tolist()]
    alone = every_stage(PlanTable.from_plans([plan]), model.job.model)
    classes = alone.take(np.zeros(len(plans), dtype=np.intp))
    x = evaluated(model, PlanTable.from_plans(plans), classes=classes)
    return [(one, _row(x, at, len(plans))) for at, one in enumerate(plans)]


def _with_clock(plan: Plan, clock: float) -> Plan:
    stages = plan.stages
    if stages is not None:
        stages = tuple(replace(stage, clock=clock) for stage in stages)
    return replace(plan, clock=clock, stages=stages)


def _row(x: Evaluated, at: int, count: int) -> Evaluated:
    """What durations and joules are made of, of one of so many plans that differ in the clock."""
    names = ("costs", "stages", "inputs", "step")
    return replace(x, **{name: _picked(getattr(x, name), at, count) for name in names})


def _picked(value: Any, at: int, count: int) -> Any:
    """The row of an array, or of those in a record or sequence; one row stands for all."""
    if isinstance(value, np.ndarray):
        return value[at : at + 1] if value.ndim and len(value) == count else value
    if isinstance(value, (list, tuple)):
        return type(value)(_picked(one, at, count) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if one.init]
        return replace(value, **{one: _picked(getattr(value, one), at, count) for one in names})
    return value


def _busy_j(plan: Plan, x: Evaluated, layers: FloatArray) -> FloatArray:
    """(pp, v) joules that kernels add per micro-batch on a chunk, on all chips of a stage."""
    places = chunk_places(plan)
    seconds = np.zeros(places.shape)
    for group, pair in zip(x.columns.groups, x.costs, strict=True):
        counts = layers[..., int(group.recompute[0, 0])]
        for kind, cost in enumerate(pair):
            if cost is not None:
                kernels = np.broadcast_to(cost.kernels[0], (len(seconds),))
                seconds += counts[:, :, kind] * kernels[:, None]
    seconds[places == 0] += float(x.inputs.ends.embedding[0, 0])
    seconds[places == places.max()] += float(x.inputs.ends.head[0, 0])
    return np.asarray(seconds * _watts(plan, x)[:, None])


def _watts(plan: Plan, x: Evaluated) -> FloatArray:
    """(pp,) watts that kernels add on all chips of a stage, times the factor of the step."""
    extra = np.array([float(stage.extra_w.ravel()[0]) for stage in x.stages])
    return np.asarray(extra * plan.chips / plan.pp * float(x.step.factor[0, 0]))


def _pass_s(orders: Orders, durations: Durations) -> FloatArray:
    """(pp, k) seconds of each pass."""
    stage = np.arange(orders.stages)[:, None]
    tables = np.stack([durations.forward_s, durations.backward_s, durations.weight_grad_s])
    seconds = tables[orders.kind, stage, orders.chunk]
    if durations.hidden_s is not None:
        hidden = durations.hidden_s[np.minimum(orders.kind, BACKWARD), stage, orders.chunk]
        seconds = np.where(orders.beside, seconds - hidden, seconds)
    return np.asarray(seconds)


def _pass_j(orders: Orders, durations: Durations, busy_j: FloatArray) -> FloatArray:
    """(pp, k) joules of each pass: of `busy_j`, those of its chunk, by the seconds of passes."""
    sent = durations.send_s
    tables = np.stack([
        durations.forward_s - sent, durations.backward_s - sent, durations.weight_grad_s
    ])  # fmt: skip
    whole = tables.sum(axis=0)
    shares = tables / np.where(whole > 0, whole, 1.0)
    stage = np.arange(orders.stages)[:, None]
    return np.asarray((shares * busy_j)[orders.kind, stage, orders.chunk])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """What ends a step, at every clock.

    Attributes:
        reduction_s: (pp,) at the highest clock.
        optimizer_s, optimizer_j: (pp, k).
        overhead_s: Once.
    """

    reduction_s: FloatArray
    optimizer_s: FloatArray
    optimizer_j: FloatArray
    overhead_s: float

    @staticmethod
    def of(
        model: CostModel, at_clocks: list[tuple[Plan, Evaluated]], durations: list[Durations]
    ) -> _Ends:
        kernels = [
            np.array([float(np.ravel(s.optimizer_kernels)[0]) for s in x.stages]) * _watts(plan, x)
            for plan, x in at_clocks
        ]
        return _Ends(
            reduction_s=np.max([one.reduction_s for one in durations], axis=0),
            optimizer_s=np.stack([one.optimizer_s for one in durations], axis=-1),
            optimizer_j=np.stack(kernels, axis=-1),
            overhead_s=durations[0].overhead_s,
        )


def _joined(
    clocks: FloatArray,
    orders: Orders,
    passes: FloatArray,
    joules: FloatArray,
    ends: _Ends,
    lag: float,
    standing_w: float,
    deadline: Deadline,
) -> StepOperations:
    """The graph: passes, then per stage the reduction and the optimizer, and the overhead."""
    pp, each = orders.kind.shape
    joined = np.zeros((pp, each), dtype=np.bool_) if orders.joined is None else orders.joined
    of_pass = (np.cumsum(~joined.ravel()) - 1).reshape(pp, each)
    count = int(of_pass.max()) + 1
    reduction, agreed = count + np.arange(pp), count + pp
    optimizer, overhead = agreed + 1 + np.arange(pp), agreed + pp + 1
    seconds = np.zeros((overhead + 1, len(clocks)))
    cost = np.zeros_like(seconds)
    np.add.at(seconds, of_pass, passes)
    np.add.at(cost, of_pass, joules)
    seconds[reduction] = ends.reduction_s[:, None]
    seconds[optimizer], cost[optimizer] = ends.optimizer_s, ends.optimizer_j
    seconds[overhead] = ends.overhead_s
    stage, kind = np.full(len(seconds), -1), np.full(len(seconds), OVERHEAD)
    stage[of_pass] = np.arange(pp)[:, None]
    kind[of_pass[~joined]] = orders.kind[~joined]
    for part, name in ((reduction, REDUCTION), (optimizer, OPTIMIZER)):
        stage[part], kind[part] = np.arange(pp), name
    follow = np.array(list(_on_stages(of_pass, optimizer)))
    deadline.check()
    edges = np.concatenate([
        follow,
        _messages(orders, of_pass, lag),
        np.array([
            *((of_pass[at, -1], reduction[at], 0.0, 0) for at in range(pp)),
            *((reduction[at], agreed, 0.0, 0) for at in range(pp)),
            *((agreed, optimizer[at], 0.0, 0) for at in range(pp)),
            *((optimizer[at], overhead, 0.0, 0) for at in range(pp)),
        ]),
    ])  # fmt: skip
    deadline.check()
    order = in_order(len(seconds), edges[:, 0].astype(np.intp), edges[:, 1].astype(np.intp))
    deadline.check()
    return _sorted(clocks, orders, seconds, cost, edges, stage, kind, of_pass, standing_w, order)


def _on_stages(of_pass: IntArray, optimizer: IntArray) -> Iterator[tuple[int, int, float, int]]:
    """What follows on a stage: before, after, lag, whether the clock may change between them."""
    for row, last in zip(of_pass.tolist(), optimizer.tolist(), strict=True):
        distinct = [*dict.fromkeys(row), last]
        yield from ((one, other, 0.0, 1) for one, other in pairwise(distinct))


def _messages(orders: Orders, of_pass: IntArray, lag: float) -> FloatArray:
    """(e, 4) waits for messages."""
    needs = message_needs(orders)
    waits = np.flatnonzero(needs.ravel() >= 0)
    flat = of_pass.ravel()
    pairs = np.stack([flat[needs.ravel()[waits]], flat[waits]], axis=1)
    pairs = np.unique(pairs, axis=0)
    return np.hstack([pairs, np.full((len(pairs), 1), lag), np.zeros((len(pairs), 1))])


def _sorted(
    clocks: FloatArray,
    orders: Orders,
    seconds: FloatArray,
    cost: FloatArray,
    edges: FloatArray,
    stage: IntArray,
    kind: IntArray,
    of_pass: IntArray,
    standing_w: float,
    order: IntArray,
) -> StepOperations:
    """The operations in an order in which each comes after those that it waits for."""
    before, after = edges[:, 0].astype(np.intp), edges[:, 1].astype(np.intp)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return StepOperations(
        clocks=clocks,
        orders=orders,
        graph=Operations(
            seconds=seconds[order],
            cost=cost[order],
            group=np.arange(len(order)),
            before=place[before],
            after=place[after],
            lag=edges[:, 2],
            per_second=standing_w,
            turn=Turn(
                last=place[np.flatnonzero(kind == OPTIMIZER)],
                first=place[of_pass[:, 0]],
                switches=np.zeros(len(of_pass)),
            ),
        ),
        stage=stage[order],
        kind=kind[order],
        of_pass=place[of_pass],
        next_on_stage=edges[:, 3] > 0,
    )
