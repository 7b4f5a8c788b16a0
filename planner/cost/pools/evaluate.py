"""What a plan costs whose stages are on pools of different chips.

Each stage costs what the model of its own pool says; one step is made of all of them
(`planner.cost.step`). What all stages share: the slowest send, the jitter of all chips, and

    E = sum_i d run_i extra_w_i factor + T sum_h N_h standing_h

with d chips per stage, run_i and extra_w_i of the pool of stage i, N_h chips of pool h. The parts
of the step time are those that the slowest stage sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.breakdown import Breakdown, Evaluated, breakdown, peak_flop_per_s
from planner.cost.columns import Columns, columns_of
from planner.cost.communication.traffic import Traffic, group_bytes, model_flop_per_token, traffic
from planner.cost.context import mesh_of
from planner.cost.energy.energy import Energy, Phases, split_energy
from planner.cost.evaluate import evaluated_columns
from planner.cost.kernels.executed import (
    flop_without_repeats,
    repeated_flop_per_token,
    scores_flop_per_token,
)
from planner.cost.layer_costs import OF_FIRST
from planner.cost.memory.memory import Memory
from planner.cost.pools.pools import (
    Pool,
    meeting_costs,
    meeting_level,
    network_w,
    owners,
    standing_w,
    total_chips,
    without_pools,
)
from planner.cost.step import busy_s, slowest_class, step_cost
from planner.cost.terms import send_bytes, send_term
from planner.plan import Plan, PlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledCost:
    """One plan on pools, evaluated.

    Attributes:
        owner: (pp,) pool of every stage.
        whole: Its stages, inputs and step; columns, layers and their costs are those of the pool
            of the slowest stage.
        each: The same plan as every pool's model sees it, all stages on that pool.
        costs: Time, memory and energy with their parts.
        moved: What each pool executes and moves.
    """

    owner: IntArray
    whole: Evaluated
    each: tuple[Evaluated, ...]
    costs: Breakdown
    moved: tuple[Traffic, ...]


def evaluate_pooled(pools: Sequence[Pool], plan: Plan) -> PooledCost:
    """What a plan with pools costs.

    Raises:
        InputError: Its stages are not on these pools (`planner.cost.pools.pools.owners`), or are no
            pipeline of the model.
    """
    owner = owners(pools, plan)
    each, whole = evaluate_stages(pools, owner, PlanTable.from_plans([without_pools(plan)]))
    moved = tuple(_traffic(pool, pools, owner, at, each[at]) for at, pool in enumerate(pools))
    return PooledCost(
        owner=owner,
        whole=whole,
        each=each,
        costs=_breakdown(pools, owner, whole, moved),
        moved=moved,
    )


def evaluate_stages(
    pools: Sequence[Pool], owner: IntArray, plans: PlanTable
) -> tuple[tuple[Evaluated, ...], Evaluated]:
    """Plans whose stages are on the same pools: as each pool sees them, and as one pipeline.

    Args:
        pools: The pools.
        owner: (pp,) which of them every stage is on.
        plans: n plans with listed stages.

    Returns:
        `PooledCost.each` and `PooledCost.whole`; columns, layers and costs of the latter mean
        something for a single plan only.
    """
    each = tuple(
        evaluated_on(pool, plans, int((owner == at).sum())) for at, pool in enumerate(pools)
    )
    return each, joined_stages(pools, owner, each)


def pooled_table(pool: Pool, table: PlanTable, stages: int) -> Columns:
    """The columns of plans on a pool that has some of their stages."""
    mesh = replace(mesh_of(table), pp=np.full(len(table), stages, dtype=np.int64))
    return columns_of(pool.model, table, mesh=mesh)


def evaluated_on(pool: Pool, table: PlanTable, stages: int) -> Evaluated:
    """Plans as a pool sees them that has some of their stages."""
    columns = pooled_table(pool, table, stages)
    return evaluated_columns(pool.model, columns, np.zeros((1, 1)))


def slowest_send_s(
    pools: Sequence[Pool], plans: PlanTable, own: Sequence[FloatArray]
) -> FloatArray:
    """(n, 1) exposed seconds of the two sends of a micro-batch between stages, the slowest.

    Args:
        pools: The pools.
        plans: n plans.
        own: (n, 1) of the sends within each pool.
    """
    sends = [*own]
    for pool in pools:
        net = meeting_costs(pool, total_chips(pools)).take(
            np.zeros((len(plans), 1), dtype=np.int64)
        )
        tokens = (plans.micro_batch * pool.model.job.seq_len / plans.cp)[:, None]
        tp, sp = plans.tp[:, None], plans.sequence_parallel[:, None]
        sends.append(send_term(pool.model, tp, tokens, sp, net))
    return reduce(np.maximum, sends)


def joined_stages(pools: Sequence[Pool], owner: IntArray, each: Sequence[Evaluated]) -> Evaluated:
    """Plans as one pipeline, of what each pool sees of them."""
    total = total_chips(pools)
    first, last = (each[owner[at]].inputs.ends for at in (0, -1))
    standing = sum(pool.chips * standing_w(pool, total) for pool in pools) / total
    inputs = replace(
        each[0].inputs,
        ends=replace(last, **{name: getattr(first, name) for name in OF_FIRST}),
        p2p=slowest_send_s(pools, each[0].columns.plans, [x.inputs.p2p for x in each]),
        standing_w=np.array([[standing]]),
    )
    stages = [each[at].stages[stage] for stage, at in enumerate(owner.tolist())]
    slowest = int(slowest_class(stages, inputs)[0, 0])
    seen: Evaluated = each[owner[slowest]]
    return replace(
        seen,
        memory=_memory(owner, [x.memory for x in each]),
        stages=stages,
        inputs=inputs,
        step=step_cost(pools[0].model.assumptions, stages, inputs),
    )


def _memory(owner: IntArray, each: Sequence[Memory]) -> Memory:
    """Bytes of every stage by the model of its pool."""
    stages = np.arange(len(owner))

    def own(tables: Sequence[FloatArray]) -> FloatArray:
        return np.stack(tables)[owner, :, stages].T

    return Memory(
        parts={name: own([memory.parts[name] for memory in each]) for name in each[0].parts},
        total=own([memory.total for memory in each]),
        host=own([memory.host for memory in each]),
    )


def own_columns(x: Evaluated, owner: IntArray, at: int) -> Columns:
    """The columns of a plan with only the stages of one pool, on its chips."""
    mine = (owner == at).astype(np.float64)
    columns = x.columns
    stages = replace(columns.stages, count=columns.stages.count * mine)
    plans = replace(columns.plans, pp=np.array([int(mine.sum())]))
    return replace(columns, stages=stages, plans=plans)


def _traffic(pool: Pool, pools: Sequence[Pool], owner: IntArray, at: int, x: Evaluated) -> Traffic:
    """What the chips of a pool execute and move in a step.

    A stage receives one message per micro-batch from each of its neighbours; those from another
    pool come over the level on which they meet.
    """
    model, columns = pool.model, own_columns(x, owner, at)
    found = traffic(model, columns, wires=False)
    groups = group_bytes(model, columns)
    pairs = np.stack([owner[:-1], owner[1:]])
    inside = int((pairs == at).all(axis=0).sum())
    borders = int((pairs == at).any(axis=0).sum()) - inside
    within = max(int((owner == at).sum()) - 1, 1)
    groups["pp"] = [sent * inside / within for sent in groups["pp"]]
    wires = [
        reduce(np.add, [crossing[level] for crossing in groups.values()])
        for level in range(len(found.wire_bytes))
    ]
    plans = columns.plans
    tokens = (plans.micro_batch * model.job.seq_len / plans.cp)[:, None]
    size = send_bytes(model, plans.tp[:, None], tokens, plans.sequence_parallel[:, None])
    chips = plans.chips / plans.pp
    met = meeting_level(pool, total_chips(pools))
    wires[met] = wires[met] + borders * columns.m[:, 0] * chips * size[:, 0]
    return replace(found, flop=_flop(pool, columns), wire_bytes=tuple(wires))


def _flop(pool: Pool, x: Columns) -> FloatArray:
    """(1,) executed FLOP of the stages of a pool."""
    model = pool.model
    shapes, kinds = model.shapes, model.job.model.layer_kinds
    per_layer = {"dense": shapes.dense_parameters, "moe": shapes.moe_parameters}
    head = shapes.matmul_parameters - sum(per_layer[kind] for kind in kinds)
    layers = x.over_stages(x.stages.dense), x.over_stages(x.stages.moe)
    parameters = layers[0] * per_layer["dense"] + layers[1] * per_layer["moe"]
    parameters = parameters + x.over_stages(x.stages.last) * head
    scores = scores_flop_per_token(model)
    linear = (flop_without_repeats(model) - scores) * parameters / shapes.matmul_parameters
    a = model.assumptions
    share = a.causal_share if a.fused_attention else 1.0
    again = repeated_flop_per_token(model, x, causal_share=share)
    attention = scores * (layers[0] + layers[1]) / len(kinds)
    return np.asarray(x.batch * model.job.seq_len * (linear + attention + again))


def _breakdown(
    pools: Sequence[Pool], owner: IntArray, whole: Evaluated, moved: Sequence[Traffic]
) -> Breakdown:
    """The parts of the plan: of time as its slowest stage sees them, of the rest by pool."""
    slowest = int(slowest_class(whole.stages, whole.inputs)[0, 0])
    model = pools[owner[slowest]].model
    seen = moved[owner[slowest]]
    costs = breakdown(model, whole, seen)
    time, flop = whole.step.time[:, 0], reduce(np.add, [each.flop for each in moved])
    tokens = costs.tokens_per_s
    peak = sum(pool.chips * peak_flop_per_s(pool.model) for pool in pools)
    again = tokens * repeated_flop_per_token(model, whole.columns)
    needed = tokens * model_flop_per_token(model.job, model.shapes)
    return replace(
        costs,
        energy=_energy(pools, owner, whole, moved),
        power_per_chip_w=whole.step.energy[:, 0] / time / total_chips(pools),
        mfu=needed / peak,
        hfu=(needed + again) / peak,
        flop=flop,
        memory_traffic_bytes=reduce(np.add, [each.memory_bytes for each in moved]),
        wire_bytes=_wires(pools, moved),
    )


def _wires(pools: Sequence[Pool], moved: Sequence[Traffic]) -> dict[str, FloatArray]:
    """Bytes by name of level."""
    found: dict[str, FloatArray] = {}
    for pool, each in zip(pools, moved, strict=True):
        for level, crossed in zip(pool.model.cluster.levels, each.wire_bytes, strict=True):
            found[level.name] = found.get(level.name, 0.0) + crossed
    return found


def _energy(
    pools: Sequence[Pool], owner: IntArray, whole: Evaluated, moved: Sequence[Traffic]
) -> Energy:
    """The joules of all pools, each with its own powers; errors of one kind of chip add up."""
    total, time, factor = total_chips(pools), whole.step.time, whole.step.factor
    found = []
    for at, pool in enumerate(pools):
        mine = [whole.stages[stage] for stage in np.flatnonzero(owner == at)]
        own = replace(whole.inputs, pp=np.array([[len(mine)]]))
        busy = busy_s(mine, own, factor)
        extra = [busy_s([stage], own, factor) * stage.extra_w for stage in mine]
        standing = time * standing_w(pool, total)
        joules = pool.chips * (reduce(np.add, extra) + standing)
        phases = Phases(
            chips=np.array([float(pool.chips)]),
            network_w=np.array([network_w(pool, total)]),
            time=time[:, 0],
            busy=busy[:, 0],
            total=joules[:, 0],
        )
        found.append(split_energy(pool.model, phases, moved[at]))
    return _summed(found, [pool.model.chip.name for pool in pools])


def _summed(found: Sequence[Energy], chips: Sequence[str]) -> Energy:
    """The sum; standard deviations add up where chips are alike, else their squares do."""
    parts: dict[str, FloatArray] = {}
    for energy in found:
        for name, joules in energy.parts.items():
            parts[name] = parts.get(name, 0.0) + joules
    sigma = {}
    for name in found[0].sigma:
        alike: dict[str, FloatArray] = {}
        for energy, chip in zip(found, chips, strict=True):
            alike[chip] = alike.get(chip, 0.0) + energy.sigma[name]
        sigma[name] = reduce(np.hypot, alike.values())
    return Energy(
        total=reduce(np.add, [energy.total for energy in found]),
        boundaries={
            name: reduce(np.add, [energy.boundaries[name] for energy in found])
            for name in found[0].boundaries
        },
        sigma=sigma,
        parts=parts,
    )
