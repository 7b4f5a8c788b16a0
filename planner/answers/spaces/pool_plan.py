"""A plan on pools of different chips with what it costs, as the records of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.answers.notes.likely import spread_of
from planner.base.arrays import FloatArray
from planner.cost.breakdown import Breakdown
from planner.cost.context import mesh_of
from planner.cost.energy.boundaries import boundaries_of_plans, printed
from planner.cost.facts import LevelFacts, PlanFacts, levels_of, stages_of
from planner.cost.intervals import ends_of
from planner.cost.memory.risk import memory_risks
from planner.cost.pools.evaluate import PooledCost, evaluate_pooled, own_columns
from planner.cost.pools.pools import Pool, meeting_level, total_chips, without_pools
from planner.network.where import crossed_levels
from planner.plan import Plan, PlanTable
from planner.results.parts import Spread
from planner.results.plan import PlanResult
from planner.results.pool_use import PoolUse
from planner.search.limits import Limits

_AXES = ("tp", "cp", "etp", "ep", "fsdp", "dp", "pp")


@dataclass(frozen=True, kw_only=True)
class PooledPlan:
    """A plan on pools with what it costs.

    Attributes:
        pools: The pools.
        plan: Its stages name them.
        limits: What a search lets a chip fill, which answers show.
        allowed: What this plan may fill; one that is given may have any risk.
    """

    pools: tuple[Pool, ...]
    plan: Plan
    limits: Limits
    allowed: Limits

    @cached_property
    def found(self) -> PooledCost:
        """Its costs."""
        return evaluate_pooled(self.pools, self.plan)

    @property
    def held_bytes(self) -> FloatArray:
        """(pp,) bytes of a chip of every stage."""
        return np.asarray(self.found.costs.memory.total[0])

    @cached_property
    def uses(self) -> tuple[PoolUse, ...]:
        """What it does on each pool."""
        alike = without_pools(self.plan)
        layers, held = self.found.each[0].columns.stages.layers[0], self.held_bytes
        uses = []
        for at, pool in enumerate(self.pools):
            mine = np.flatnonzero(self.found.owner == at)
            limit = self.limits.bytes_of_plan(pool.model, alike)
            allowed = self.allowed.bytes_of_plan(pool.model, alike)
            uses.append(
                PoolUse(
                    name=pool.name,
                    hardware=pool.model.cluster.name,
                    chip=pool.model.chip.name,
                    chips=pool.chips,
                    stages=tuple(mine.tolist()),
                    layers=int(layers[mine].sum()),
                    memory_bytes=float(held[mine].max()),
                    memory_limit_bytes=limit,
                    fits=bool((held[mine] <= allowed).all()),
                )
            )
        return tuple(uses)

    @property
    def _limits_bytes(self) -> FloatArray:
        """(pp,) bytes that a search lets every stage fill."""
        return np.array([self.uses[at].memory_limit_bytes for at in self.found.owner])

    @property
    def fullest(self) -> int:
        """The stage that fills most of what it may."""
        return int(np.argmax(self.held_bytes / np.maximum(self._limits_bytes, 1.0)))

    @property
    def limit_bytes(self) -> float:
        """What that stage may fill."""
        return float(self._limits_bytes[self.fullest])

    @cached_property
    def result(self) -> PlanResult:
        """Its record; memory is that of the fullest stage."""
        pools, found, stage = self.pools, self.found, self.fullest
        table = PlanTable.from_plans([without_pools(self.plan)])
        held = found.costs.memory.total[:, stage]
        costs = replace(found.costs, memory_per_chip_bytes=held)
        ends = _ends(pools, table, costs)
        inside = boundaries_of_plans(table, costs, ends)[0]
        headline = printed(inside)
        reserve = pools[found.owner[stage]].model.framework.reserve_bytes
        risks = [
            memory_risks(each.model, table, costs.memory.total[:, found.owner == at].max(axis=1))
            for at, each in enumerate(pools)
        ]
        parts = {name: float(values[0, stage]) for name, values in costs.memory.parts.items()}
        return PlanResult(
            plan=self.plan,
            levels=_levels(pools, table, found),
            step_time_s=float(costs.step_time_s[0]),
            energy_per_step_j=float(costs.energy.total[0]),
            energy_low_j=headline.energy_low_j,
            energy_high_j=headline.energy_high_j,
            power_per_chip_w=float(costs.power_per_chip_w[0]),
            memory_per_chip_bytes=float(held[0]),
            reserve_bytes=reserve,
            host_memory_bytes=float(costs.host_memory_bytes[0]),
            mfu=float(costs.mfu[0]),
            hfu=float(costs.hfu[0]),
            tokens_per_s=float(costs.tokens_per_s[0]),
            micro_batches=int(costs.micro_batches[0]),
            time_s=_first(costs.time_parts),
            energy_j=_first(costs.energy.parts),
            out_of_memory_probability=max(float(chance[0]) for chance, _ in risks),
            lacks_headroom=any(bool(full[0]) for _, full in risks),
            memory_bytes={**parts, "reserve": reserve},
            communication_s=_first(costs.communication_s),
            boundaries=inside,
            **_first(ends),
        )

    @property
    def facts(self) -> PlanFacts:
        """Its stages, each as its pool has it, and the levels of every pool."""
        pools, found, levels = self.pools, self.found, list[LevelFacts]()
        each = [stages_of(pool.model, x) for pool, x in zip(pools, found.each, strict=True)]
        rooms = zip(found.owner.tolist(), self._limits_bytes.tolist(), strict=True)
        stages = tuple(
            replace(each[at][stage], pool=pools[at].name, memory_limit_bytes=room)
            for stage, (at, room) in enumerate(rooms)
        )
        for at, pool in enumerate(pools):
            x = replace(found.each[at], columns=own_columns(found.each[at], found.owner, at))
            built = [level.name for level in pool.model.cluster.levels]
            crossing = dict(zip(built, found.moved[at].wire_bytes, strict=True))
            levels += [
                replace(level, name=f"{pool.name}: {level.name}")
                for level in levels_of(pool.model, x, crossing)
            ]
        return PlanFacts(
            stages=stages,
            levels=tuple(levels),
            memory_limit_bytes=self.limit_bytes,
            chip_memory_bytes=max(pool.model.chip.memory_bytes for pool in pools),
        )


def _first(parts: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {name: float(values[0]) for name, values in parts.items()}


def _ends(pools: Sequence[Pool], table: PlanTable, costs: Breakdown) -> dict[str, Any]:
    """Ends of the intervals, the widest of all pools."""
    each = [ends_of(pool.model, table, costs) for pool in pools]
    return {
        name: (np.minimum if "low" in name else np.maximum).reduce([ends[name] for ends in each])
        for name in each[0]
    }


def widest_spread(pools: Sequence[Pool]) -> Spread | None:
    """What the intervals rest on: of the pool whose plans are the least sure."""
    found = [spread for pool in pools if (spread := spread_of(pool.model)) is not None]
    return max(found, key=lambda spread: spread.high / spread.low, default=None)


def _levels(
    pools: Sequence[Pool], table: PlanTable, found: PooledCost
) -> dict[str, tuple[str, ...]]:
    """Levels that each axis crosses, of all pools; stages also meet between pools."""
    names: dict[str, dict[str, None]] = {}
    for at, pool in enumerate(pools):
        mesh = replace(mesh_of(table), pp=np.array([int((found.owner == at).sum())]))
        for axis, levels in crossed_levels(pool.model.fabric(pool.chips), mesh).items():
            names.setdefault(axis, {}).update(dict.fromkeys(levels))
        met = pool.model.cluster.levels[meeting_level(pool, total_chips(pools))].name
        names.setdefault("pp", {})[met] = None
    return {axis: tuple(names[axis]) for axis in _AXES if axis in names}
