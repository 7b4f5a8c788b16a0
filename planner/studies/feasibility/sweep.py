"""Every plan of a strategy at every batch that it can be given, by the ordinary cost model.

The plans of a mesh are those of `planner.search` (schedules, interleaves, layer splits,
recomputation, orders of the framework). A batch of b sequences runs on R data ranks where R
divides b, with every micro-batch that divides b / R and fits. At each batch the fastest plan that
fits decides; exposed communication is what tensor, context, expert and data parallelism and the
transfers between stages add to its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.base.progress import Progress
from planner.cost.breakdown import Timed, time_parts
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table, timed
from planner.cost.memory.memory import Memory
from planner.frameworks.rules import applicable
from planner.plan import COLUMNS, NO_RECOMPUTE, SELECTIVE, Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uniform.space import cross_choices, cross_partial_plans
from planner.studies.feasibility.strategies import Strategy, meshes_of, with_batch, with_orders

EXPOSED = (
    "tensor_parallel",
    "context_parallel",
    "expert_parallel",
    "pipeline_transfer",
    "data_parallel",
)
SHARE = 0.01
"""Share of the step that exposed communication may have in a step that is compute-bound."""
_ROWS_AT_A_TIME = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The fastest plan of a strategy at each batch that it can be given, ascending, (b,) each.

    Attributes:
        sequences: Sequences per step of each batch.
        time_s: Seconds of the step.
        share: Exposed communication over the step.
        part: Index of `EXPOSED` of its largest part.
        plan, micro_batch: Row of `plans`, and sequences per micro-batch.
        plans: All plans of the strategy, with micro-batches of one sequence.
        most_tp: Largest degree of tensor parallelism of any plan that fits and is compute-bound,
            whether it is the fastest or not; 0: none.
        least_bytes: Bytes of the fullest chip of the leanest plan, and of its state alone.
    """

    sequences: IntArray
    time_s: FloatArray
    share: FloatArray
    part: IntArray
    plan: IntArray
    micro_batch: IntArray
    plans: PlanTable
    most_tp: int
    least_bytes: tuple[float, float]

    def __len__(self) -> int:
        return len(self.sequences)

    def threshold(self) -> int | None:
        """Index of the batch from which on every batch is compute-bound; None: not the last."""
        bad = np.flatnonzero(self.share > SHARE)
        first = int(bad[-1]) + 1 if len(bad) else 0
        return first if first < len(self) else None

    def at(self, sequences: int) -> int | None:
        """Index of a batch; None where no plan that fits divides it."""
        index = int(np.searchsorted(self.sequences, sequences))
        there = index < len(self) and self.sequences[index] == sequences
        return index if there else None

    def plan_at(self, index: int) -> Plan:
        """The fastest plan at a batch."""
        plan = self.plans.plan(int(self.plan[index]))
        return replace(plan, micro_batch=int(self.micro_batch[index]))


def plans_of(model: CostModel, strategy: Strategy, chips: int) -> PlanTable:
    """All plans of a strategy with micro-batches of one sequence, each order once."""
    sized = with_batch(model, chips)
    options = SpaceOptions(
        axes=frozenset(strategy.axes),
        fixed={"sharding": frozenset({strategy.code}), "micro_batch": frozenset({1})},
    )
    meshes = meshes_of(model, strategy, chips)
    space = cross_choices(sized, cross_partial_plans(sized, meshes, options), options)
    return with_orders(sized, strategy, space.plans)


def sweep(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    limits: Limits,
    most_sequences: int,
    on_progress: Progress | None = None,
) -> Sweep:
    """The fastest plans of a strategy at every batch up to `most_sequences`.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        strategy: The strategy.
        chips: N.
        limits: Bytes per chip.
        most_sequences: Largest batch.
        on_progress: Called with (what, done, of).
    """
    plans = plans_of(model, strategy, chips)
    running = _Running(most_sequences)
    least = (np.inf, np.inf)
    if len(plans):
        alone = memory_table(model, plans, m=np.ones(len(plans)))
        least = least_bytes(alone)
        fits, _ = limits.memory(model, plans, alone)
        kept = np.flatnonzero(fits & (plans.data_ranks <= most_sequences))
        most = _largest_micro_batches(model, plans.take(kept), limits, most_sequences)
        least_micro = _least_micro_batches(model, plans.take(kept), most)
        done, of = 0, _size(plans.data_ranks[kept], most, most_sequences)
        for rows in _rows(plans, kept, (least_micro, most), most_sequences):
            if on_progress is not None:
                on_progress(strategy.title, done, of)
            _evaluate(model, limits, plans, rows, running)
            done += len(rows[0])
    return running.result(plans, least)


def least_bytes(held: Memory) -> tuple[float, float]:
    """Bytes of the leanest plan, and of its state."""
    row = int(np.argmin(held.peak))
    stage = held.binding_stage[row]
    moving = sum(float(held.parts[name][row, stage]) for name in ("activations", "logits"))
    whole = float(held.peak[row])
    return whole, whole - moving


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


def _size(ranks: IntArray, most: IntArray, most_sequences: int) -> int:
    """About how many rows there are."""
    each = most_sequences // ranks
    return int((each * (1.0 + np.log(most))).sum())


Rows = tuple[IntArray, IntArray, IntArray]


def _rows(
    plans: PlanTable, kept: IntArray, micro_batches: tuple[IntArray, IntArray], most_sequences: int
) -> Iterator[Rows]:
    """Chunks of (plan, micro-batch, micro-batches per step): every way to run every batch.

    Args:
        plans: All plans.
        kept: Those that are run.
        micro_batches: Smallest and largest micro-batch of each of them.
        most_sequences: Largest batch.
    """
    each = most_sequences // plans.data_ranks[kept]
    kinds, which = np.unique(np.stack([each, *micro_batches]), axis=1, return_inverse=True)
    for kind, (sequences, smallest, largest) in enumerate(kinds.T):
        micro = np.arange(smallest, largest + 1, dtype=np.int64)
        counts = sequences // micro
        pairs = np.repeat(micro, counts)
        times = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        members = kept[which.ravel() == kind]
        at_once = max(_ROWS_AT_A_TIME // max(len(members), 1), 1)
        for start in range(0, len(pairs), at_once):
            some = slice(start, start + at_once)
            size = len(pairs[some])
            yield (
                np.repeat(members, size),
                np.tile(pairs[some], len(members)),
                np.tile(times[some], len(members)),
            )


def runs(model: CostModel, plans: PlanTable, micro_batches: IntArray) -> BoolArray:
    """(n,) whether the rules about the number of micro-batches allow it."""
    whole = micro_batches % plans.pp == 0
    ok = (plans.interleave == 1) | whole | ~plans.schedules.values("whole_groups")
    ok &= plans.schedules.of_each("runs", plans.pp, micro_batches)
    for rule in applicable(model.framework):
        if rule.counted is not None:
            ok &= rule.counted(plans, micro_batches)
    return np.asarray(ok)


def _evaluate(
    model: CostModel, limits: Limits, plans: PlanTable, rows: Rows, running: _Running
) -> None:
    """Costs a chunk and notes the fastest plan at each batch."""
    at, micro, times = rows
    first, which = distinct([at, micro])
    few = replace(plans.take(at[first]), micro_batch=micro[first])
    allowed = np.flatnonzero(runs(model, few.take(which), times))
    if len(allowed) == 0:
        return
    at, micro, times, which = (column[allowed] for column in (at, micro, times, which))
    sequences = few.data_ranks[which] * micro * times
    fits = _fits(model, limits, few, which, times)
    time_s, share, part = exposed(model, timed(model, few, which, sequences))
    good = fits & (share <= SHARE)
    running.most_tp = max(running.most_tp, int(few.tp[which[good]].max(initial=0)))
    running.note(np.flatnonzero(fits), sequences, time_s, share, part, at, micro)


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
    """The fastest plan so far at each number of sequences."""

    def __init__(self, most: int) -> None:
        self.time = np.full(most + 1, np.inf)
        self.share = np.zeros(most + 1)
        self.whole = np.zeros((3, most + 1), dtype=np.int64)
        self.most_tp = 0

    def note(
        self,
        rows: IntArray,
        sequences: IntArray,
        time: FloatArray,
        share: FloatArray,
        part: IntArray,
        plan: IntArray,
        micro: IntArray,
    ) -> None:
        """Keeps the rows that are faster than what is there; of equals the first."""
        order = rows[np.lexsort((time[rows], sequences[rows]))]
        first = order[np.unique(sequences[order], return_index=True)[1]]
        better = first[time[first] < self.time[sequences[first]]]
        batch = sequences[better]
        self.time[batch], self.share[batch] = time[better], share[better]
        self.whole[:, batch] = part[better], plan[better], micro[better]

    def result(self, plans: PlanTable, least: tuple[float, float]) -> Sweep:
        """What was found."""
        sequences = np.flatnonzero(np.isfinite(self.time))
        part, plan, micro = self.whole[:, sequences]
        return Sweep(
            sequences=sequences,
            time_s=self.time[sequences],
            share=self.share[sequences],
            part=part,
            plan=plan,
            micro_batch=micro,
            plans=plans,
            most_tp=self.most_tp,
            least_bytes=least,
        )
