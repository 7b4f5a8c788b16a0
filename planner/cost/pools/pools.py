"""Pools of different chips that run one pipeline together: who has which stage, where they meet.

A plan of d chips per stage gives pool h of N_h chips N_h / d stages, anywhere in the pipeline.
Groups of tp, cp, ep, dp and fsdp lie within a stage, so within a pool: they find its own network,
as a job of N_h chips with N_h / d stages finds it. Pools meet on the innermost scale-out level that
holds all chips of the job in the record of each of them; all levels up to it are in use. Every send
between stages counts as the slowest one: within a pool, or from each pool over the level on which
they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.network.collectives import GroupCosts, group_costs
from planner.plan import Plan
from planner.schedules import schedule_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Chips of one kind.

    Attributes:
        name: As `planner.plan.Stage.pool` has it.
        chips: All of which a plan uses.
        model: The job on them.
    """

    name: str
    chips: int
    model: CostModel


def total_chips(pools: Sequence[Pool]) -> int:
    """Chips of all pools."""
    return sum(pool.chips for pool in pools)


def meeting_level(pool: Pool, total: int) -> int:
    """Which level of the pool's cluster joins it to the others, in a job of so many chips."""
    levels = pool.model.cluster.levels
    sizes = [level.domain_chips or total for level in levels]
    holding = next((at for at, size in enumerate(sizes) if size >= total), len(levels) - 1)
    outside = [at for at, level in enumerate(levels) if level.kind == "scale-out"]
    return max(holding, outside[0]) if outside else len(levels) - 1


def network_w(pool: Pool, total: int) -> float:
    """Static watts per chip of all network levels up to the one on which pools meet."""
    levels = pool.model.cluster.levels[: meeting_level(pool, total) + 1]
    return sum(level.switch_power_w_per_chip for level in levels)


def standing_w(pool: Pool, total: int) -> float:
    """Watts per chip of the pool that flow whatever happens: waiting chip, host, network."""
    chip = pool.model.chip
    return chip.wait_w + chip.host_w + network_w(pool, total)


def meeting_costs(pool: Pool, total: int) -> GroupCosts:
    """Costs of one group: a chip of the pool and its neighbour in another one."""
    fabric = pool.model.fabric(pool.chips)
    meets = meeting_level(pool, total)
    levels = tuple(
        replace(level, domain=min(level.domain, pool.chips) if at < meets else 2 * pool.chips)
        for at, level in enumerate(fabric.levels)
    )
    joined = replace(fabric, levels=levels)
    return group_costs(joined, [(np.array([2]), np.array([pool.chips]))])


def owners(pools: Sequence[Pool], plan: Plan) -> IntArray:
    """(pp,) which pool every stage of a plan is on.

    Raises:
        InputError: A stage names none or another one, or the stages of a pool are not those that
            its chips make.
    """
    stages = plan.stages or ()
    names = [pool.name for pool in pools]
    allowed = ", ".join(names)
    if len(stages) != plan.pp or plan.interleave > 1 or schedule_of(plan.schedule).bidirectional:
        raise InputError(
            "stages: on pools of chips a plan lists one stage for each of pp, without interleave; "
            f"it has pp {plan.pp}, interleave {plan.interleave} and {len(stages)} stages"
        )
    for at, stage in enumerate(stages):
        if stage.pool not in names:
            given = "names no pool" if stage.pool is None else f"is on pool {stage.pool!r}"
            raise InputError(f"stages: stage {at} {given}; the pools of the job are {allowed}")
    per_stage = plan.chips // plan.pp
    found = np.array([names.index(stage.pool or "") for stage in stages], dtype=np.int64)
    for at, pool in enumerate(pools):
        count = int((found == at).sum())
        if pool.chips % per_stage:
            nearest = max(round(pool.chips / per_stage), 1) * per_stage
            raise InputError(
                f"stages: each has {per_stage:,} chips ({plan.chips:,} chips in {plan.pp} stages), "
                f"and the {pool.chips:,} chips of {pool.name} make no whole number of them; "
                f"allowed: multiples of {per_stage:,} chips; nearest: {nearest:,}"
            )
        if count * per_stage != pool.chips:
            raise InputError(
                f"stages: {count} stages of {per_stage:,} chips are on {pool.name}, which has "
                f"{pool.chips:,} chips; allowed: {pool.chips // per_stage} stages"
            )
    return found


def without_pools(plan: Plan) -> Plan:
    """The plan as if all its chips were of one kind."""
    stages = tuple(replace(stage, pool=None) for stage in plan.stages or ())
    return replace(plan, stages=stages)
