"""Plans of a strategy with their micro-batches, and the ways in which these run batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray, distinct
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.frameworks.rules import demands_of
from planner.frameworks.targets import Target
from planner.plan import COLUMNS, NO_RECOMPUTE, SELECTIVE, PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uniform.space import cross_choices, cross_partial_plans
from planner.studies.feasibility.strategies import (
    Strategy,
    meshes_of,
    offloading,
    with_batch,
    with_orders,
)

ROWS_AT_A_TIME = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Plans that fit with a micro-batch, each with every micro-batch that is worth trying, (p,).

    Attributes:
        plan: Row of the plans.
        micro_batch: Sequences per micro-batch.
        each: Sequences per step of one micro-batch on every data rank.
    """

    plan: IntArray
    micro_batch: IntArray
    each: IntArray

    def __len__(self) -> int:
        return len(self.plan)

    def take(self, index: IntArray) -> Pairs:
        """The pairs of `index`."""
        return Pairs(
            plan=self.plan[index], micro_batch=self.micro_batch[index], each=self.each[index]
        )


Rows = tuple[IntArray, IntArray]
"""(n,) pairs, and (n,) micro-batches per step."""


def plans_of(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    targets: Iterable[Target] = (),
) -> PlanTable:
    """All plans of a strategy with micro-batches of one sequence, each order once.

    Those that targets cannot run are left out, but for rules about the number of micro-batches.
    """
    sized = with_batch(model, chips)
    options = SpaceOptions(
        axes=frozenset(strategy.axes),
        fixed={"sharding": frozenset({strategy.code}), "micro_batch": frozenset({1})},
    )
    meshes = meshes_of(model, strategy, chips)
    space = cross_choices(sized, cross_partial_plans(sized, meshes, options), options)
    demands = [one for one in demands_of(sized, targets) if one.rule.counted is None]
    return with_orders(sized, strategy, offloading(sized, strategy, space.plans), demands)


def pairs_of(
    model: CostModel, plans: PlanTable, kept: IntArray, limits: Limits, most_sequences: int
) -> Pairs:
    """Plans with their micro-batches; those of more data ranks come first.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        plans: All plans of a strategy, with micro-batches of one sequence.
        kept: Those that fit, with one micro-batch.
        limits: Bytes per chip.
        most_sequences: Largest batch.
    """
    some = plans.take(kept)
    most = _largest_micro_batches(model, some, limits, most_sequences)
    least = _least_micro_batches(model, some, most)
    order = np.lexsort((kept, most, least, -some.data_ranks))
    kept, least, counts = kept[order], least[order], np.maximum(most - least + 1, 0)[order]
    which, after = expanded(counts, 0, int(counts.sum()))
    plan, micro = kept[which], least[which] + after
    return Pairs(plan=plan, micro_batch=micro, each=plans.data_ranks[plan] * micro)


def _largest_micro_batches(
    model: CostModel, plans: PlanTable, limits: Limits, most_sequences: int
) -> IntArray:
    """(n,) largest micro-batch of each plan that fits when it is alone, by bisection.

    More micro-batches never hold less.
    """
    low = np.ones(len(plans), dtype=np.int64)
    high = most_sequences // plans.data_ranks
    while np.any(low < high):
        middle = (low + high + 1) // 2
        tried = replace(plans, micro_batch=middle)
        fits, _ = limits.memory(model, tried, memory_table(model, tried, m=np.ones(len(tried))))
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low


def _least_micro_batches(model: CostModel, plans: PlanTable, most: IntArray) -> IntArray:
    """(n,) smallest micro-batch of each plan that is worth trying.

    Recomputation only adds time. Without stages in flight, what fits without it, or with less of
    it, needs no more of it.
    """
    least = np.ones(len(plans), dtype=np.int64)
    if model.framework.lingering_logits_bytes:
        return least
    names = [name for name in COLUMNS if name not in ("recompute", "clock")]
    _, which = distinct([getattr(plans, name).astype(np.int64) for name in names])
    for less in (NO_RECOMPUTE, SELECTIVE):
        without = np.zeros(which.max(initial=0) + 1, dtype=np.int64)
        lean = plans.recompute == less
        without[which[lean]] = most[lean]
        more = (plans.pp == 1) & (plans.recompute > less)
        least = np.where(more, np.maximum(least, without[which] + 1), least)
    return least


def rows_of(pairs: Pairs, low: int, high: int) -> Iterator[Rows]:
    """Chunks of the ways to run all batches of `low` to `high` sequences."""
    first = -(-low // pairs.each)
    counts = np.maximum(high // pairs.each - first + 1, 0)
    total = int(counts.sum())
    for start in range(0, total, ROWS_AT_A_TIME):
        pair, after = expanded(counts, start, min(start + ROWS_AT_A_TIME, total))
        yield pair, first[pair] + after


def expanded(counts: IntArray, start: int, stop: int) -> tuple[IntArray, IntArray]:
    """Which item each of some rows is of, and how many of its rows come before.

    Args:
        counts: (p,) rows of each item.
        start, stop: The first row, and that after the last.
    """
    ends = np.cumsum(counts)
    row = np.arange(start, stop)
    item = np.searchsorted(ends, row, side="right")
    return item, row - (ends - counts)[item]
