"""A plan shrunk to one or two nodes, so that a few minutes of them tell what its step is made of.

What the kernels see stays: hidden width, sequence, micro-batch, tensor, context and expert
parallelism where they fit in a node, sharding, recomputation. What repeats shrinks: layers, data
ranks, stages, micro-batches. Launches differ by one thing from the first, so that seconds per
layer, per micro-batch, per step and per node can be told apart.
"""

from __future__ import annotations

import math
from dataclasses import replace

from frozen_records import dataclass
from models_db import Model
from planner.base.errors import InputError
from planner.base.units import plural
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.plan import Plan, PlanTable

_FEWEST_LAYERS = 2
_MICRO_BATCHES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """One short launch.

    Attributes:
        name: Of its folder.
        tells: What it tells apart, in words; empty: the others are compared with it.
        nodes: How many it runs on.
        cost: Its job, with few layers and a small batch, on the cluster.
        plan: Its plan.
    """

    name: str
    tells: str
    nodes: int
    cost: CostModel
    plan: Plan

    @property
    def layers(self) -> int:
        """Layers of its model."""
        return self.cost.job.model.layers

    @property
    def predicted_s(self) -> float:
        """Its step time, in seconds, as predicted."""
        table = PlanTable.from_plans([self.plan])
        return float(evaluate_totals(self.cost, table).step_time_s[0])


def short_launches(cost: CostModel, plan: Plan) -> tuple[Short, ...]:
    """The launches that tell most of a plan; those that do not fit in memory are left out.

    Args:
        cost: Job and cluster of the plan.
        plan: The plan.

    Raises:
        InputError: Not even the smallest fits.
    """
    node = min(cost.cluster.node_chips, plan.chips)
    few, more = layer_counts(cost.job.model)
    base = _mesh(plan, node, node, 1)
    m = _MICRO_BATCHES
    wanted = [
        ("", 1, few, m, base),
        ("the time of a layer", 1, more, m, base),
        ("the time of a micro-batch", 1, few, 2 * m, base),
    ]
    if plan.chips >= 2 * node:
        pp = 2 if plan.pp > 1 else 1
        wanted.append(("the network", 2, few * pp, m, _mesh(plan, node, 2 * node, pp)))
    found = {one.name: one for one in (_short(cost, *some) for some in reversed(wanted))}
    fitting = tuple(one for one in reversed(found.values()) if _fits(one))
    if not fitting:
        raise InputError(
            f"plan: {plural(few, 'layer')} of {cost.job.model.name} do not fit on "
            f"{plural(node, 'chip')}; no short launch can be measured"
        )
    return fitting


def layer_counts(model: Model) -> tuple[int, int]:
    """Two numbers of layers with the same mixture of kinds behind the leading dense ones."""
    moe, window = model.moe, model.window
    period = moe.layer_period if moe else 1
    if window is not None:
        period = math.lcm(period, window.local_layers + window.global_layers)
    first = moe.first_dense_layers if moe else 0
    unit = period * -(-_FEWEST_LAYERS // period)
    few = min(first + unit, model.layers)
    return few, min(first + 2 * unit, model.layers)


def with_layers(model: Model, layers: int) -> Model:
    """The model with fewer layers; its predicted tokens and published counts are not of it."""
    return replace(model, name=f"{model.name}-{layers}-layers", layers=layers, mtp_modules=0)


def of_launch(cost: CostModel, layers: int, sequences: int) -> CostModel:
    """The cost model of a job with fewer layers and a smaller batch."""
    model = with_layers(cost.job.model, layers)
    job = replace(cost.job, model=model, global_batch=sequences)
    built = CostModel.build(job, cost.cluster, cost.assumptions, cost.torus_axes)
    return replace(built, facility=cost.facility, clock_limit=cost.clock_limit, tables=cost.tables)


def _short(
    cost: CostModel, tells: str, nodes: int, layers: int, micro_batches: int, plan: Plan
) -> Short:
    sequences = plan.micro_batch * micro_batches * plan.dp * plan.fsdp
    words = [plural(layers, "layer").replace(" ", "-")]
    words += [f"{micro_batches}-micro-batches"] if micro_batches != _MICRO_BATCHES else []
    words += [f"{nodes}-nodes"] if nodes > 1 else []
    return Short(
        name="-".join(words),
        tells=tells,
        nodes=nodes,
        cost=of_launch(cost, layers, sequences),
        plan=plan,
    )


def _mesh(plan: Plan, node: int, chips: int, pp: int) -> Plan:
    """The plan on so many chips: tp, cp, ep and etp as they are where a node holds them."""
    tp = _divisor(plan.tp, node)
    cp = _divisor(plan.cp, node // tp)
    data = chips // (tp * cp * pp)
    etp = _divisor(plan.etp, min(node, tp * cp * data))
    fsdp = _divisor(plan.fsdp, data) if plan.dp > 1 and plan.fsdp > 1 else data
    shards = plan.sharding == "zero3"
    return replace(
        plan,
        tp=tp,
        cp=cp,
        ep=_divisor(plan.ep, min(node, tp * cp * data) // etp),
        etp=etp,
        pp=pp,
        dp=data // fsdp if shards else data,
        fsdp=fsdp if shards else 1,
        sharding="ddp" if data * cp == 1 else plan.sharding,
        sequence_parallel=plan.sequence_parallel and tp > 1,
        schedule="1f1b",
        interleave=1,
        split="even",
        stages=None,
        layout=None,
    )


def _divisor(size: int, room: int) -> int:
    """The largest divisor of a size that also divides the room for it."""
    return math.gcd(size, room)


def _fits(one: Short) -> bool:
    """Whether the launch fits in the memory of its chips."""
    return peak_bytes(one.cost, one.plan) <= one.cost.allocatable_bytes


def peak_bytes(cost: CostModel, plan: Plan) -> float:
    """Bytes of the fullest chip of a plan."""
    return float(memory_table(cost, PlanTable.from_plans([plan])).peak[0])
