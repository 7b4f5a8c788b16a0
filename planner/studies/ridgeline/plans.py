"""Counts of whole plans, and the path of a plan as its batch, tp or number of chips grows.

FLOP and bytes are those of the cost model (`planner.cost.communication.traffic`), the mean over
the chips: recomputation, element-wise work and the optimizer included. The bound is that of the
ridgeline: peak rates, everything overlapped; the step of the cost model stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cost.breakdown import Breakdown
from planner.cost.communication.traffic import carried_bytes
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable
from planner.plan.clocks import clocks_of
from planner.studies.ridgeline.machine import level_columns
from planner.studies.ridgeline.plane import Counts, Ridge

SWEEPS = ("batch", "micro-batch", "tp", "chips")
_DOUBLINGS = range(-4, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Plans that differ in one thing, from less of it to more.

    Attributes:
        plans: At least one.
        batches: Sequences per step of each.
        steps: How much of it each has.
        at: Index of the plan that was given.
    """

    plans: tuple[Plan, ...]
    batches: tuple[int, ...]
    steps: tuple[float, ...]
    at: int


def plan_counts(
    model: CostModel, costs: Breakdown, chips: FloatArray, ridges: Sequence[Ridge]
) -> Counts:
    """What each chip executes and moves in one step, (n,).

    Args:
        model: The cluster.
        costs: Of n plans.
        chips: (n,) chips that each uses.
        ridges: Of levels of the cluster.
    """
    crossing = list(costs.wire_bytes.values())
    carried = carried_bytes(model.cluster, crossing)
    columns = level_columns(model.cluster, ridges)
    return Counts(
        names=("step",) * len(costs),
        flop=costs.flop / chips,
        memory_bytes=costs.memory_traffic_bytes / chips,
        network_bytes=np.stack([carried[column] / chips for column in columns], axis=1),
        crossed_bytes=np.stack([sent / chips for sent in crossing], axis=1),
    )


def mean_clock(model: CostModel, plan: Plan) -> float:
    """The clock of a plan relative to that of the peak rates, the mean of its chips.

    The slowest stage takes as long as all chips' FLOP on the mean clock, or longer, so a bound with
    the mean holds; all stages have as many chips.

    Args:
        model: Whose power cap may lower clocks.
        plan: The plan.
    """
    return float(np.mean(np.minimum(clocks_of(plan), model.clock_limit)))


def path_of(model: CostModel, plan: Plan, sweep: str | None) -> Path:
    """The plan alone, or with those next to it on a path; the ones that cannot run are left out.

    `batch`: more or fewer sequences per step. `micro-batch`: more sequences at once, with as many
    per step. `tp`: more tensor parallelism and fewer data ranks. `chips`: more data ranks for as
    many sequences per step. All by doubling.

    Raises:
        InputError: There is no such sweep, or the plan has explicit stages or ranks that fix it.
    """
    batch = model.job.global_batch
    if sweep is None:
        return Path(plans=(plan,), batches=(batch,), steps=(1.0,), at=0)
    if sweep not in SWEEPS:
        raise InputError(f"sweep: {not_one_of(sweep, SWEEPS)}")
    if plan.layout is not None and sweep in ("tp", "chips"):
        raise InputError(
            f"sweep: {sweep} would change a mesh whose layout of ranks the plan fixes; sweep batch "
            "or micro-batch, or take the layout out of the plan"
        )
    step = _STEPS[sweep]
    kept: list[tuple[Plan, int, float]] = []
    at = 0
    for doubling in _DOUBLINGS:
        found = (plan, batch) if doubling == 0 else _next(model, plan, batch, doubling, sweep)
        if found is None:
            continue
        if doubling == 0:
            at = len(kept)
        kept.append((*found, step(*found, model)))
    plans, batches, steps = zip(*kept, strict=True)
    return Path(plans=plans, batches=batches, steps=steps, at=at)


_STEPS: dict[str, Callable[[Plan, int, CostModel], float]] = {
    "batch": lambda _, batch, model: batch * model.job.seq_len,
    "micro-batch": lambda plan, *_: float(plan.micro_batch),
    "tp": lambda plan, *_: float(plan.tp),
    "chips": lambda plan, *_: float(plan.chips),
}


def _next(
    model: CostModel, plan: Plan, batch: int, doubling: int, sweep: str
) -> tuple[Plan, int] | None:
    """The plan so many doublings further, if there is one that the rules allow."""
    changed = _CHANGES[sweep](plan, doubling)
    sequences = _times(batch, doubling) if sweep == "batch" else batch
    if changed is None or sequences is None:
        return None
    try:
        other = replace(model, job=replace(model.job, global_batch=sequences))
        model.allocation(changed.chips)
        broken = violations(other, PlanTable.from_plans([changed]), arithmetic_only=True)
    except InputError:
        return None
    return None if broken else (changed, sequences)


def _times(value: int, doubling: int) -> int | None:
    """A whole number doubled or halved so often; None where it is not whole."""
    if doubling >= 0:
        return value << doubling
    return value >> -doubling if value % (1 << -doubling) == 0 else None


def _more_tp(plan: Plan, doubling: int) -> Plan | None:
    """More tensor parallelism, taken from the shards or the replicas."""
    tp = _times(plan.tp, doubling)
    fewer = _more_ranks(plan, -doubling, ("dp", "fsdp"))
    if tp is None or fewer is None:
        return None
    split = plan.sequence_parallel if plan.tp > 1 else True
    return replace(fewer, tp=tp, sequence_parallel=split and tp > 1)


def _more_chips(plan: Plan, doubling: int) -> Plan | None:
    """More or fewer data ranks."""
    return _more_ranks(plan, doubling, ("fsdp", "dp") if plan.sharding == "zero3" else ("dp",))


def _more_ranks(plan: Plan, doubling: int, axes: tuple[str, ...]) -> Plan | None:
    """More or fewer ranks of the first of some axes that has a whole number of them then."""
    for axis in axes:
        ranks = _times(getattr(plan, axis), doubling)
        if ranks:
            return replace(plan, dp=ranks) if axis == "dp" else replace(plan, fsdp=ranks)
    return None


def _more_micro_batch(plan: Plan, doubling: int) -> Plan | None:
    size = _times(plan.micro_batch, doubling)
    return replace(plan, micro_batch=size) if size else None


_CHANGES: dict[str, Callable[[Plan, int], Plan | None]] = {
    "batch": lambda plan, _: plan,
    "micro-batch": _more_micro_batch,
    "tp": _more_tp,
    "chips": _more_chips,
}


def path_costs(model: CostModel, path: Path) -> tuple[Breakdown, FloatArray]:
    """What the plans of a path cost, and the chips of each."""
    table = PlanTable.from_plans(path.plans)
    costs = evaluate_table(model, table, np.array(path.batches, dtype=np.int64))
    return costs, table.chips.astype(np.float64)
