"""The stage problem of a row on pools: every choice for every stage on every pool as a column.

The integers are those of `planner.search.uneven.columns.columns`. Beside them a sum per pool but
the last counts its stages, and a limit on each side fixes it to the stages that the pool's chips
make.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.pools.pools import Pool, standing_w, total_chips
from planner.plan import FULL, SELECTIVE, SHARDINGS, Plan, Stage
from planner.search.deadline import Deadline
from planner.search.limits import Limits
from planner.search.pools.rows import PooledRows
from planner.search.uneven.columns.integers import (
    FINEST,
    Units,
    joined_offers,
    powered,
    stage_problem,
)
from planner.search.uneven.columns.selection import Offer, Packing, alike, place_of
from planner.search.uneven.columns.stage_choices import OneRow
from solvers.stages.problem import Choice, Form, Ints, Limit, StageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledColumns:
    """The stage problem of a row with what its columns stand for.

    Attributes:
        problem, inside: The columns as whole numbers; as of `RowColumns`.
        units: What they count.
        rounding: A choice takes less than this many units of time more than its integers say.
        ones: The row as each pool sees it.
        offer: (c,) choices of the columns.
        pool: (c,) which pool each is on.
    """

    problem: StageProblem
    inside: StageProblem | None
    units: Units
    rounding: int
    ones: tuple[OneRow, ...]
    pools: tuple[Pool, ...]
    offer: Offer
    pool: IntArray

    def plan(self, choice: Choice) -> Plan:
        """The plan of a choice, with its stages listed."""
        stages = tuple(self._stage(column) for column in choice.columns.tolist())
        shared = self.ones[0].rows.plans.plan(0)
        clock = max(stage.clock or 0.0 for stage in stages)
        return replace(shared, sharding=stages[0].sharding or "ddp", clock=clock, stages=stages)

    def _stage(self, column: int) -> Stage:
        pool, choices = int(self.pool[column]), self.offer.choices
        counts = dict(zip(self.ones[pool].rows.recomputes, choices.counts[column].T, strict=True))
        none = np.zeros(2, dtype=np.int64)
        return Stage(
            layers=int(choices.counts[column].sum()),
            recompute="none",
            selective=_pair(counts.get(SELECTIVE, none)),
            full=_pair(counts.get(FULL, none)),
            sharding=SHARDINGS[int(choices.sharding[column])],
            clock=float(self.ones[pool].terms.clocks[choices.clock[column]]),
            pool=self.pools[pool].name,
        )


def _pair(counts: IntArray) -> tuple[int, int]:
    return int(counts[0]), int(counts[1])


def pooled_units(pools: tuple[Pool, ...], upper_s: float) -> Units:
    """Units for step times up to `upper_s`, in which all chips draw one unit when they wait."""
    time_s = upper_s / FINEST
    total = total_chips(pools)
    power_w = sum(pool.chips * standing_w(pool, total) for pool in pools)
    return Units(time_s=time_s, joules=time_s * (power_w or 1.0))


def pooled_columns(
    limits: Limits,
    rows: PooledRows,
    row: int,
    clocks: tuple[FloatArray, ...],
    upper_s: float,
    deadline: Deadline,
) -> PooledColumns | None:
    """The columns of a row; None where no plan within `upper_s` exists.

    Args:
        limits: Memory per chip, and mean power of all pools.
        rows: Rows; of which `row` is meant.
        row: Its number.
        clocks: Of each pool, (k,) relative clocks that its stages may choose from.
        upper_s: Plans that take longer are not wanted.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    alone = rows.take(np.array([row]))
    units = pooled_units(rows.pools, upper_s)
    packings = _packings(limits, alone, clocks, upper_s, deadline)
    offers = _offers(packings)
    if offers is None:
        return None
    laid = packings[0].laid([offer for offer, _ in offers])
    if any(len(at) == 0 for at, _ in laid):
        return None
    whole = [offer.take(at) for (offer, _), (at, _) in zip(offers, laid, strict=True)]
    pool = np.concatenate([own[at] for (_, own), (at, _) in zip(offers, laid, strict=True)])
    starts = np.concatenate([start for _, start in laid])
    devices = np.repeat(np.arange(packings[0].devices), [len(offer.vector) for offer in whole])
    joined = joined_offers(whole)
    problem = stage_problem(
        packings[0],
        joined,
        devices,
        starts,
        units,
        energy=False,
    )
    rounding = int(packings[0].form.paced) * 2 + 3 * packings[0].devices + 8
    counted, inside = _counted(problem, pool, alone.stages[0]), None
    if limits.power_w is not None:
        watts = limits.power_w - pooled_standing_w(rows.pools)
        joules = problem.columns.sums.shape[1] - 1
        counted, inside = powered(counted, joules, units, watts, rounding)
    return PooledColumns(
        problem=counted,
        inside=inside,
        units=units,
        rounding=rounding,
        ones=tuple(packing.one for packing in packings),
        pools=rows.pools,
        offer=joined,
        pool=pool,
    )


def pooled_standing_w(pools: tuple[Pool, ...]) -> float:
    """Watts of all waiting chips."""
    total = total_chips(pools)
    return float(sum(pool.chips * standing_w(pool, total) for pool in pools))


def _packings(
    limits: Limits,
    alone: PooledRows,
    clocks: tuple[FloatArray, ...],
    upper_s: float,
    deadline: Deadline,
) -> list[Packing]:
    """What offers of each pool share; what other stages take at least is the least of all pools."""
    limited = limits.power_w is not None
    own = [
        Packing.build(
            OneRow(model=pool.model, rows=rows, terms=terms),
            float(limits.bytes_of(pool.model, rows.plans)[0]),
            upper_s,
            energy=limited,
            every=limited,
            deadline=deadline,
        )
        for pool, rows, terms in zip(alone.pools, alone.own, alone.terms(clocks), strict=True)
    ]
    layer = np.min([packing.least_layer for packing in own], axis=0)
    counts = own[0].kinds.vectors[own[0].kinds.of[0, -1]]
    ends = [packing.one.terms.ends for packing in own]
    both = min(float(end.embedding.min()) for end in ends)
    both += min(float(end.head.min()) for end in ends)
    whole = float(counts @ layer) + both
    return [replace(packing, least_layer=layer, least_all=whole) for packing in own]


def _offers(packings: list[Packing]) -> list[tuple[Offer, IntArray]] | None:
    """What every device is offered, and on which pool; None where one is offered nothing."""
    first = alike(packings[0].one)
    found: dict[int, tuple[Offer, IntArray]] = {}
    lengths = [packing.lengths for packing in packings]
    beside = np.any(lengths, axis=0)
    runs = [packing.runs(own, beside) for packing, own in zip(packings, lengths, strict=True)]
    for d in sorted(set(first.values())):
        parts: list[Offer | None] = []
        for packing, own in zip(packings, runs, strict=True):
            wanted = np.unique(np.concatenate([own[e] for e in first if first[e] == d]))
            if len(wanted):
                parts.append(packing.offer(place_of(packing.one, d), wanted))
            else:
                parts.append(None)
        offered = [(at, part) for at, part in enumerate(parts) if part is not None]
        if not sum(len(part.vector) for _, part in offered):
            return None
        pool = np.concatenate([np.full(len(part.vector), at) for at, part in offered])
        found[d] = joined_offers([part for _, part in offered]), pool
    return [found[first[d]] for d in range(packings[0].devices)]


def _counted(problem: StageProblem, pool: Ints, stages: IntArray) -> StageProblem:
    """The problem with the stages of every pool as limits on sums of their own."""
    width = problem.columns.sums.shape[1]
    own = np.stack([(pool == at).astype(np.int64) for at in range(len(stages) - 1)], axis=1)
    columns = replace(problem.columns, sums=np.concatenate([problem.columns.sums, own], axis=1))
    limits = []
    for at, count in enumerate(stages[:-1].tolist()):
        for sign in (1, -1):
            form = Form(sums=(0,) * (width + at) + (sign,))
            limits.append(Limit(name="stages of a pool", form=form, upper=sign * count))
    return replace(problem, columns=columns, limits=(*problem.limits, *limits))
