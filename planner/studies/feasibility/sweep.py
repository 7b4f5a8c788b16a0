"""Every plan of a strategy at every batch that it can be given, by the ordinary cost model.

The plans of a mesh are those of `planner.search` (schedules, interleaves, layer splits,
recomputation, orders of the framework). A batch of b sequences runs on R data ranks where R
divides b, with every micro-batch that divides b / R and fits. At each batch the fastest plan that
fits decides; exposed communication is what tensor, context, expert and data parallelism and the
transfers between stages add to its step. Batches are looked at only as far as the answer needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.base.progress import Progress
from planner.cost.breakdown import Timed, time_parts
from planner.cost.context import CostModel
from planner.cost.evaluate import TimedPlans, memory_table
from planner.cost.memory.memory import Memory
from planner.frameworks.rules import applicable, demands_of
from planner.frameworks.targets import Target
from planner.plan import Plan, PlanTable
from planner.search.limits import Limits
from planner.studies.feasibility.pairs import (
    ROWS_AT_A_TIME,
    Pairs,
    Rows,
    pairs_of,
    plans_of,
    rows_of,
)
from planner.studies.feasibility.strategies import Strategy

EXPOSED = (
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "pipeline_transfer",
    "data_parallel",
)
SHARE = 0.01
"""Share of the step that exposed communication may have in a step that is compute-bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """Plans at batches and what they cost, (b,) each.

    Attributes:
        sequences: Sequences per step.
        time_s: Seconds of the step.
        share: Exposed communication over the step.
        part: Index of `EXPOSED` of its largest part.
        plan, micro_batch: Row of the plans, and sequences per micro-batch.
    """

    sequences: IntArray
    time_s: FloatArray
    share: FloatArray
    part: IntArray
    plan: IntArray
    micro_batch: IntArray

    def __len__(self) -> int:
        return len(self.sequences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The fastest plan at a batch; the rest as in `Costed`."""

    sequences: int
    time_s: float
    share: float
    part: int
    plan: Plan

    @property
    def compute_bound(self) -> bool:
        """Whether its exposed communication is little enough."""
        return self.share <= SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Where the batches begin from which on every batch is compute-bound.

    Attributes:
        least: The smallest of them; None: the largest batch is not compute-bound.
        below: The largest batch that is not; None: all are.
    """

    least: Best | None
    below: Best | None


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The plans of a strategy and the batches that they can be given.

    Attributes:
        model: Job (its batch is not read), cluster, assumptions.
        limits: Bytes per chip.
        targets: What has to run the plans.
        plans: All plans of the strategy, with micro-batches of one sequence.
        pairs: Those that fit, with their micro-batches; of plans that are as fast the first counts.
        most_sequences: Largest batch.
        least_bytes: Bytes of the fullest chip of the leanest plan, and of its state alone.
    """

    model: CostModel
    limits: Limits
    targets: tuple[Target, ...]
    plans: PlanTable
    pairs: Pairs
    most_sequences: int
    least_bytes: tuple[float, float]

    @cached_property
    def _times(self) -> TimedPlans:
        return TimedPlans(self.model, self.plans)

    @cached_property
    def _per_batch(self) -> float:
        """Mean ways to run a batch."""
        return float((self.most_sequences // self.pairs.each).sum()) / max(self.most_sequences, 1)

    def smallest(self) -> int | None:
        """The smallest batch that some plan can be given; None: none up to the largest."""
        for low, high in self._blocks():
            found = [
                int((self.pairs.each[pair] * times).min())
                for pair, times in self._possible(self.pairs, low, high)
                if len(pair)
            ]
            if found:
                return min(found)
        return None

    def threshold(self, on_progress: Progress | None = None, what: str = "") -> Threshold:
        """Where the compute-bound batches begin, looked for from the largest batch down.

        Args:
            on_progress: Called with (what, done, of).
            what: What is looked at.
        """
        above: tuple[Costed, int] | None = None
        most = self.most_sequences
        for under, over in self._blocks():
            low, high = most + 1 - over, most + 1 - under
            if on_progress is not None:
                on_progress(what, most - high, most)
            found = self.fastest(low, high)
            bad = np.flatnonzero(found.share > SHARE)
            after = int(bad[-1]) + 1 if len(bad) else 0
            if after < len(found):
                above = found, after
            if len(bad):
                return Threshold(
                    least=above and self._best(*above), below=self._best(found, after - 1)
                )
        return Threshold(least=above and self._best(*above), below=None)

    def at(self, sequences: int) -> Best | None:
        """The fastest plan at a batch; None where no plan that fits divides it."""
        found = self.fastest(sequences, sequences)
        return self._best(found, 0) if len(found) else None

    def fastest(self, low: int, high: int) -> Costed:
        """The fastest plan at each batch of `low` to `high` sequences that has one, ascending."""
        running = _Running(low, high)
        for pair, times in self._possible(self.pairs, low, high):
            running.note(self.costed(self.pairs, (pair, times)))
        return running.result()

    def costed(self, pairs: Pairs, rows: Rows) -> Costed:
        """What rows cost."""
        pair, times = rows
        plan, micro = pairs.plan[pair], pairs.micro_batch[pair]
        sequences = pairs.each[pair] * times
        time_s, share, part = exposed(self.model, self._times.at(plan, micro, sequences))
        return Costed(
            sequences=sequences, time_s=time_s, share=share, part=part, plan=plan, micro_batch=micro
        )

    def possible(self, pairs: Pairs, rows: Rows) -> BoolArray:
        """(n,) rows that obey the rules and fit."""
        pair, times = rows
        first, which = distinct([pair])
        of = pairs.take(pair[first])
        few = replace(self.plans.take(of.plan), micro_batch=of.micro_batch)
        found = runs(self.model, few.take(which), times, self.targets)
        allowed = np.flatnonzero(found)
        found[allowed] = _fits(self.model, self.limits, few, which[allowed], times[allowed])
        return found

    def _possible(self, pairs: Pairs, low: int, high: int) -> Iterator[Rows]:
        """Chunks of the rows of some batches that obey the rules and fit."""
        for pair, times in rows_of(pairs, low, high):
            some = np.flatnonzero(self.possible(pairs, (pair, times)))
            yield pair[some], times[some]

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Batches from the smallest on in blocks, each twice as wide as the one before."""
        low, width = 1, ROWS_AT_A_TIME / max(self._per_batch, 1.0)
        while low <= self.most_sequences:
            high = min(low + max(int(width), 1) - 1, self.most_sequences)
            yield low, high
            low, width = high + 1, 2 * width

    def _best(self, found: Costed, index: int) -> Best:
        plan = self.plans.plan(int(found.plan[index]))
        return Best(
            sequences=int(found.sequences[index]),
            time_s=float(found.time_s[index]),
            share=float(found.share[index]),
            part=int(found.part[index]),
            plan=replace(plan, micro_batch=int(found.micro_batch[index])),
        )


def sweep(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    limits: Limits,
    most_sequences: int,
    targets: tuple[Target, ...] = (),
) -> Sweep:
    """The plans of a strategy, and every batch up to `most_sequences` that they can be given.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        strategy: The strategy.
        chips: N.
        limits: Bytes per chip.
        most_sequences: Largest batch.
        targets: What has to run the plans.
    """
    plans = plans_of(model, strategy, chips, targets)
    least, kept = (np.inf, np.inf), np.empty(0, dtype=np.int64)
    if len(plans):
        alone = memory_table(model, plans, m=np.ones(len(plans)))
        least = least_bytes(alone)
        fits, _ = limits.memory(model, plans, alone)
        kept = np.flatnonzero(fits & (plans.data_ranks <= most_sequences))
    return Sweep(
        model=model,
        limits=limits,
        targets=targets,
        plans=plans,
        pairs=pairs_of(model, plans, kept, limits, most_sequences),
        most_sequences=most_sequences,
        least_bytes=least,
    )


def least_bytes(held: Memory) -> tuple[float, float]:
    """Bytes of the leanest plan, and of its state."""
    row = int(np.argmin(held.peak))
    stage = held.binding_stage[row]
    moving = sum(float(held.parts[name][row, stage]) for name in ("activations", "logits"))
    whole = float(held.peak[row])
    return whole, whole - moving


def runs(
    model: CostModel,
    plans: PlanTable,
    micro_batches: IntArray,
    targets: Iterable[Target] = (),
) -> BoolArray:
    """(n,) whether the rules about the number of micro-batches allow it."""
    whole = micro_batches % plans.pp == 0
    ok = (plans.interleave == 1) | whole | ~plans.schedules.values("whole_groups")
    ok &= plans.schedules.of_each("runs", plans.pp, micro_batches)
    for rule in applicable(model.framework):
        if rule.counted is not None:
            ok &= rule.counted(model, plans, micro_batches)
    for demand in demands_of(model, targets):
        if demand.rule.counted is not None:
            ok &= demand.rule.counted(demand.model, plans, micro_batches)
    return np.asarray(ok)


def _fits(
    model: CostModel, limits: Limits, plans: PlanTable, which: IntArray, times: IntArray
) -> BoolArray:
    """(n,) whether plans, rows of a table, fit with so many micro-batches per step.

    More of them never hold less: what fits with the most fits with all.
    """
    most = np.ones(len(plans))
    np.maximum.at(most, which, times)
    fits = limits.memory(model, plans, memory_table(model, plans, m=most))[0][which]
    rest = np.flatnonzero(~fits)
    others = plans.take(which[rest])
    held = memory_table(model, others, m=times[rest].astype(np.float64))
    fits[rest] = limits.memory(model, others, held)[0]
    return fits


def exposed(model: CostModel, x: Timed) -> tuple[FloatArray, FloatArray, IntArray]:
    """(n,) step times, exposed communication over them, and the index of its largest part."""
    parts = time_parts(model, x)
    time_s = x.step.time[:, 0]
    sent = np.stack([parts[name] for name in EXPOSED])
    return time_s, sent.sum(axis=0) / time_s, np.argmax(sent, axis=0)


class _Running:
    """The fastest plan so far at each of some batches.

    Args:
        low, high: The smallest and the largest, in sequences.
    """

    def __init__(self, low: int, high: int) -> None:
        count = high - low + 1
        self.low = low
        self.time = np.full(count, np.inf)
        self.share = np.zeros(count)
        self.whole = np.zeros((3, count), dtype=np.int64)

    def note(self, rows: Costed) -> None:
        """Keeps the rows that are faster than what is there; of equals the first."""
        batch = rows.sequences - self.low
        order = np.lexsort((rows.time_s, batch))
        first = order[np.unique(batch[order], return_index=True)[1]]
        better = first[rows.time_s[first] < self.time[batch[first]]]
        at = batch[better]
        self.time[at], self.share[at] = rows.time_s[better], rows.share[better]
        self.whole[:, at] = rows.part[better], rows.plan[better], rows.micro_batch[better]

    def result(self) -> Costed:
        """What was found."""
        at = np.flatnonzero(np.isfinite(self.time))
        part, plan, micro = self.whole[:, at]
        return Costed(
            sequences=at + self.low,
            time_s=self.time[at],
            share=self.share[at],
            part=part,
            plan=plan,
            micro_batch=micro,
        )
