"""The stage problem of a row on pools: every choice for every stage on every pool as a column.

The integers are those of `planner.search.uneven.columns.columns`. Beside them a sum per pool but
the last counts its stages, and a limit on each side fixes it to the stages that the pool's chips
make.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.pools.pools import Pool, standing_w, total_chips
from planner.search.deadline import Deadline
from planner.search.limits import Limits
from planner.search.pools.rows import PooledRows
from planner.search.uneven.columns.columns import RowColumns, plain_columns
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.columns.selection import Packing
from planner.search.uneven.columns.stage_choices import OneRow
from solvers.stages.problem import Form, Ints, Limit, StageProblem


def pooled_columns(
    limits: Limits,
    rows: PooledRows,
    row: int,
    clocks: tuple[FloatArray, ...],
    upper_s: float,
    deadline: Deadline,
) -> RowColumns | None:
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
    alone, waiting = rows.take(np.array([row])), pooled_standing_w(rows.pools)
    packings = _packings(limits, alone, clocks, upper_s, deadline)
    columns = plain_columns(packings, Units.of(waiting, upper_s), energy=False)
    if columns is None:
        return None
    names = tuple(pool.name for pool in rows.pools)
    counted = _counted(columns.problem, columns.pool, alone.stages[0])
    return replace(columns, names=names, problem=counted).powered(limits, waiting)


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
            pool=at,
        )
        for at, (pool, rows, terms) in enumerate(
            zip(alone.pools, alone.own, alone.terms(clocks), strict=True)
        )
    ]
    layer = np.min([packing.least_layer for packing in own], axis=0)
    counts = own[0].kinds.vectors[own[0].kinds.of[0, -1]]
    ends = [packing.one.terms.ends for packing in own]
    both = min(float(end.embedding.min()) for end in ends)
    both += min(float(end.head.min()) for end in ends)
    whole = float(counts @ layer) + both
    return [replace(packing, least_layer=layer, least_all=whole) for packing in own]


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
