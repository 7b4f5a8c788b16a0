"""The sizes that a plan can run on with while failure domains are away, and why there are none.

A job shrinks by whole data ranks of its axis dp: they are copies of one another, so that the state
of those that are lost is on others. Ranks of fsdp hold parts of one state. The batch stays: it must
be whole micro-batches for each rank that is left. Experts lie in groups of ep ranks, which have to
stay whole. The rest of the plan stays as it is and must fit, since fewer ranks share the optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import HardwareError
from planner.base.arrays import BoolArray, IntArray, counted
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.goodput.domains import Domain
from planner.cost.goodput.shrinking import Sizes
from planner.frameworks.rules import applicable
from planner.plan import Plan, PlanTable

_Test = Callable[[CostModel, Plan, IntArray], BoolArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Smaller:
    """What a plan shrinks to.

    Attributes:
        ranks: (k,) data ranks while 0, 1, 2, ... failure domains are away.
        sizes: Chips and step times with them.
        lost: Data ranks that one failure domain takes, at most.
    """

    ranks: tuple[int, ...]
    sizes: Sizes
    lost: int


def smaller_sizes(model: CostModel, plan: Plan, domain: Domain) -> Smaller | str:
    """What a plan shrinks to; a string: why it does not."""
    if plan.dp == 1:
        parts = f"its {plan.fsdp:,} ranks of fsdp hold parts of one state" if plan.fsdp > 1 else ""
        return f"{parts or 'it has one data rank'}: no replica of what is lost remains (dp 1)"
    if plan.layout is not None:
        return "its layout over a torus is that of the whole slice"
    lost = ranks_of_domain(plan, domain.chips)
    if lost >= plan.dp:
        return f"one {domain.name} has chips of all {plan.dp:,} data ranks: no replica remains"
    found = _allowed(model, plan, np.arange(plan.dp - lost, 0, -1))
    if isinstance(found, str):
        return found
    ranks = [plan.dp]
    for away in range(1, plan.dp // lost + 1):
        left = found[found <= plan.dp - lost * away]
        if left.size:
            ranks.append(int(left[0]))
    times = evaluate_table(model, _plans(plan, np.array(ranks))).step_time_s
    chips = np.array(ranks, dtype=np.float64) * (plan.chips // plan.dp)
    return Smaller(
        ranks=tuple(ranks), sizes=Sizes(chips=chips, step_time_s=np.asarray(times)), lost=lost
    )


def step_time_of(model: CostModel, plan: Plan) -> float | None:
    """Step time of a plan with other data ranks than one that was found; None: it cannot be had."""
    if plan.layout is not None or isinstance(_allowed(model, plan, np.array([plan.dp])), str):
        return None
    return float(evaluate_table(model, PlanTable.from_plans([plan])).step_time_s[0])


def ranks_of_domain(plan: Plan, chips: int) -> int:
    """Data ranks of dp that have chips in one failure domain, at most.

    Args:
        plan: Its ranks fill domains one after the other.
        chips: Of a domain.
    """
    ranks = np.arange(plan.chips)
    index, inside, of_axis = np.zeros(plan.chips, dtype=np.int64), 1, 1
    for axis, size in plan.ranks:
        if axis == "dp":
            index += ranks // inside % size * of_axis
            of_axis *= size
        inside *= size
    pairs = np.unique(np.stack([ranks // chips, index]), axis=1)
    return int(counted(pairs[0]).max())


def _allowed(model: CostModel, plan: Plan, ranks: IntArray) -> IntArray | str:
    """The numbers of data ranks, descending, that a plan can have instead; a string: why none."""
    tests: tuple[tuple[_Test, str], ...] = (
        (
            _batch,
            f"no smaller number of data ranks divides the batch of {model.job.global_batch:,} "
            f"sequences into whole micro-batches of {plan.micro_batch:,}",
        ),
        (
            _experts,
            f"the experts of its groups of {_groups(plan)} would be lost: no other replica has "
            "them",
        ),
        (_rules, f"{model.framework.name} or {model.cluster.name} has no smaller number of ranks"),
        (_fits, "with fewer ranks the shards of the optimizer are larger, and do not fit"),
    )
    for test, why in tests:
        ranks = ranks[test(model, plan, ranks)]
        if not ranks.size:
            return why
    return ranks


def _batch(model: CostModel, plan: Plan, ranks: IntArray) -> BoolArray:
    return np.asarray(model.job.global_batch % (ranks * plan.fsdp * plan.micro_batch) == 0)


def _groups(plan: Plan) -> str:
    return f"ep {plan.ep:,}" if plan.etp == 1 else f"ep {plan.ep:,} x etp {plan.etp:,}"


def _experts(model: CostModel, plan: Plan, ranks: IntArray) -> BoolArray:
    del model
    return np.asarray(ranks * plan.tp * plan.cp * plan.fsdp % plan.expert_ranks == 0)


def _rules(model: CostModel, plan: Plan, ranks: IntArray) -> BoolArray:
    table = _plans(plan, ranks)
    rank_chips = plan.chips // plan.dp
    can = np.array([_given(model, int(one) * rank_chips) for one in ranks], dtype=np.bool_)
    for rule in applicable(model.framework):
        can &= rule.holds(model, table)
    return can


def _given(model: CostModel, chips: int) -> bool:
    """Whether the cluster gives so many chips."""
    try:
        model.cluster.scale(chips)
    except HardwareError:
        return False
    return True


def _fits(model: CostModel, plan: Plan, ranks: IntArray) -> BoolArray:
    held = evaluate_table(model, _plans(plan, ranks)).memory_per_chip_bytes
    return np.asarray(held <= model.allocatable_bytes)


def _plans(plan: Plan, ranks: IntArray) -> PlanTable:
    return PlanTable.from_plans([replace(plan, dp=int(one)) for one in ranks])
