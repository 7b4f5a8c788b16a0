"""Rows under the fitted model: thresholds and verdicts from every plan at every batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.evaluate import TimedPlans, memory_table
from planner.frameworks.rules import demands_of
from planner.frameworks.targets import Target
from planner.plan import AXES, Plan
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uniform.space import cross_choices, cross_partial_plans
from planner.studies.feasibility import answer, words
from planner.studies.feasibility.answer import Row
from planner.studies.feasibility.largest_tp import largest_tp
from planner.studies.feasibility.pairs import plans_of
from planner.studies.feasibility.strategies import (
    Strategy,
    meshes_in,
    offloading,
    with_batch,
    with_orders,
)
from planner.studies.feasibility.sweep import (
    EXPOSED,
    SHARE,
    Best,
    Sweep,
    Threshold,
    exposed,
    least_bytes,
    sweep,
)

_PARTS = {
    "tensor_parallel": answer.TP,
    "context_parallel": answer.CP,
    "expert_parallel": answer.EP,
    "pipeline_transfer": answer.PP,
}
_MOST_TOKENS = 64 * 2**20
_LEAST_TOKENS = 4 * 2**20
_TOKENS_PER_CHIP = 16 * 2**10
_FIRST_COUNTS, _MOST_COUNTS = 16, 256  # looked at together
_ROWS_AT_A_TIME = 16384


LARGEST_TOKENS = 256 * 2**20
"""Largest batch that may be asked about."""


def most_tokens(chips: int) -> int:
    """Largest batch that is looked at: 16 Ki tokens per chip, from 4 Mi up to 64 Mi."""
    return min(max(_TOKENS_PER_CHIP * chips, _LEAST_TOKENS), _MOST_TOKENS)


def default_rows(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    limits: Limits,
    batches: Sequence[float] = (),
    on_progress: Progress | None = None,
    targets: tuple[Target, ...] = (),
) -> list[Row]:
    """The limits of a strategy on `chips` chips, with the verdict at each batch if there are any.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        strategy: The strategy.
        chips: N.
        limits: Bytes per chip.
        batches: Tokens per step, whole sequences.
        on_progress: Called with (what, done, of).
        targets: What has to run the plans.
    """
    seq_len = model.job.seq_len
    most = max(most_tokens(chips), *batches, 0.0)
    found = sweep(model, strategy, chips, limits, int(most // seq_len), targets)
    row: dict[str, Any] = {
        "strategy": strategy.name,
        "model": model.job.model.name,
        "hardware": model.cluster.name,
        "chips": chips,
    }
    no = {"compute_bound": False, "fits": False, "feasible": False}
    asked: list[dict[str, Any]] = [{"batch_tokens": batch, **no} for batch in batches] or [{}]
    smallest = found.smallest()
    if smallest is None:
        said = (
            words.without_fit(found.least_bytes, limits.chip_bytes(model), most)
            if len(found.plans)
            else _absent(model, strategy, chips, targets)
        )
        return [Row(**row, **one, **said) for one in asked]
    row["min_batch_tokens_fit"] = float(smallest * seq_len)
    limit = found.threshold(on_progress, strategy.title)
    row |= _limits_of(found, limit, seq_len, strategy)
    if not batches:
        return [Row(**row, **_what_binds(limit, strategy, seq_len, smallest, most))]
    return [
        Row(**(row | one | _verdict(found, strategy, seq_len, one["batch_tokens"], row)))
        for one in asked
    ]


def _absent(
    model: CostModel, strategy: Strategy, chips: int, targets: tuple[Target, ...]
) -> dict[str, Any]:
    """Why a strategy has no plan on so many chips: what binds, and the sentence."""
    every = plans_of(model, strategy, chips)
    if len(every) == 0:
        return words.absent(model, strategy, chips)
    return words.not_launched(with_batch(model, chips), every, targets)


def _limits_of(
    found: Sweep, limit: Threshold, seq_len: float, strategy: Strategy
) -> dict[str, Any]:
    """Thresholds, and the fastest plan there."""
    least, most_tp = None, None
    if limit.least is not None:
        least = float(limit.least.sequences * seq_len)
    if "tp" in strategy.axes and (degree := largest_tp(found)) is not None:
        most_tp = float(degree)
    return {
        "min_batch_tokens_compute_bound": least,
        "min_batch_tokens_whole_mesh": least,
        "max_batch_tokens_fit": None,
        "max_tp": most_tp,
        **_mesh_of(_shown(limit).plan, strategy),
    }


def _shown(limit: Threshold) -> Best:
    """The fastest plan at the threshold, else at the largest batch."""
    found = limit.below if limit.least is None else limit.least
    if found is None:
        raise ValueError("a threshold without a batch")
    return found


def _mesh_of(plan: Plan, strategy: Strategy) -> dict[str, Any]:
    """The mesh of a plan, and its split where there is one."""
    return {
        "mesh": {axis: getattr(plan, axis) for axis in AXES if getattr(plan, axis) > 1},
        "x_opt": float(plan.fsdp) if strategy.mixed else None,
        "x_opt_mesh": {"fsdp": plan.fsdp, "tp": plan.tp} if strategy.mixed else None,
    }


def _what_binds(
    limit: Threshold, strategy: Strategy, seq_len: float, smallest: int, most: float
) -> dict[str, Any]:
    """What keeps smaller batches, or all of them, from being compute-bound."""
    below = limit.below
    if below is None:
        return {
            "binds": answer.GRANULARITY,
            "words": f"compute-bound from the smallest batch that divides and fits on: "
            f"{words.tokens(float(smallest * seq_len))}",
        }
    batch = float(below.sequences * seq_len)
    where = f"{100 * below.share:.3g} % of the step at {words.tokens(batch)}"
    if limit.least is None:
        where += f", the largest batch looked at (up to {words.tokens(most)})"
    binds = _communication(EXPOSED[below.part], strategy)
    return {"binds": binds, "words": f"exposed communication is {where}"}


def _communication(part: str, strategy: Strategy) -> str:
    """What binds where that part of exposed communication is the largest."""
    if part in _PARTS:
        return _PARTS[part]
    if strategy.pods:
        return answer.DCN
    return answer.FSDP if strategy.sharding == "zero3" else answer.DP


def _verdict(
    found: Sweep, strategy: Strategy, seq_len: float, batch_tokens: float, row: dict[str, Any]
) -> dict[str, Any]:
    """Whether a batch is compute-bound and fits, and by how much."""
    best = found.at(round(batch_tokens / seq_len))
    least = row["min_batch_tokens_compute_bound"]
    margin = None if least is None else batch_tokens / least
    if best is None:
        return {
            "margin": margin,
            "binds": answer.GRANULARITY,
            "words": f"{words.tokens(batch_tokens)} do not divide among the data ranks of any mesh "
            f"whose plans fit; the smallest batch that does is "
            f"{words.tokens(row['min_batch_tokens_fit'])}",
        }
    good = best.compute_bound
    return {
        "margin": margin,
        "compute_bound": good,
        "fits": True,
        "feasible": good,
        **_mesh_of(best.plan, strategy),
        "step_time_s": best.time_s,
        "binds": answer.NOTHING if good else _communication(EXPOSED[best.part], strategy),
        "words": f"exposed communication is {100 * best.share:.3g} % of the step",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Best:
    """The fastest plan of a count."""

    plan: Plan
    step_time_s: float
    share: float
    binds: str

    @property
    def words(self) -> str:
        return f"exposed communication is {100 * self.share:.3g} % of the step"

    def fields(self) -> dict[str, Any]:
        """Those of a row that is feasible."""
        plan = self.plan
        return {
            "chips": plan.chips,
            "max_chips": plan.chips,
            "compute_bound": True,
            "fits": True,
            "feasible": True,
            "mesh": {axis: getattr(plan, axis) for axis in AXES if getattr(plan, axis) > 1},
            "step_time_s": self.step_time_s,
            "binds": answer.NOTHING,
            "words": self.words,
        }


def largest_chips(
    model: CostModel,
    strategy: Strategy,
    counts: tuple[int, ...],
    limits: Limits,
    batch_tokens: float,
    on_progress: Progress | None = None,
    targets: tuple[Target, ...] = (),
) -> Row:
    """The largest of some counts whose fastest plan that fits is compute-bound at a batch.

    Args:
        model: Job (its batch is not read), cluster, assumptions.
        strategy: The strategy.
        counts: Chip counts that the cluster gives.
        limits: Bytes per chip.
        batch_tokens: Tokens per step, whole sequences.
        on_progress: Called with (what, done, of).
        targets: What has to run the plans.
    """
    sized = with_batch(model, round(batch_tokens / model.job.seq_len))
    possible = sorted(counts, reverse=True)
    common: dict[str, Any] = {
        "strategy": strategy.name,
        "model": model.job.model.name,
        "hardware": model.cluster.name,
        "batch_tokens": batch_tokens,
    }
    nearest: _Best | None = None
    start, width = 0, _FIRST_COUNTS
    while start < len(possible):
        if on_progress is not None:
            on_progress(strategy.title, start, len(possible))
        some = tuple(possible[start : start + width])
        start, width = start + width, min(2 * width, _MOST_COUNTS)
        best = _best_of(sized, strategy, some, limits, targets)
        if best is None:
            continue
        if best.share <= SHARE:
            return Row(**common, **best.fields())
        if nearest is None or best.share < nearest.share:
            nearest = best
    failed: dict[str, Any] = {"compute_bound": False, "fits": False, "feasible": False}
    said = words.no_count(model, strategy, counts, limits.chip_bytes(model), batch_tokens)
    if nearest is None:
        said |= _without_room(model, strategy, possible, limits, targets, said["words"])
    else:
        failed["fits"] = True
        said["binds"] = nearest.binds
        said["words"] += f"; the nearest is {nearest.plan.chips:,}, where {nearest.words}"
    return Row(**common, chips=None, **failed, **said)


def _without_room(
    model: CostModel,
    strategy: Strategy,
    counts: Sequence[int],
    limits: Limits,
    targets: tuple[Target, ...],
    said: str,
) -> dict[str, Any]:
    """What is in the way on the largest count that has plans; nothing where none has."""
    for chips in counts:
        plans = plans_of(model, strategy, chips, targets)
        if len(plans) == 0:
            if targets and len(plans_of(model, strategy, chips)):
                why = _absent(model, strategy, chips, targets)
                return {"binds": why["binds"], "words": f"{said}; on {chips:,}: {why['words']}"}
            continue
        least = least_bytes(memory_table(model, plans, m=np.ones(len(plans))))
        why = words.without_fit(least, limits.chip_bytes(model), model.job.batch_tokens)
        return {"binds": why["binds"], "words": f"{said}; on {chips:,}: {why['words']}"}
    return {}


def _best_of(
    model: CostModel,
    strategy: Strategy,
    counts: tuple[int, ...],
    limits: Limits,
    targets: tuple[Target, ...],
) -> _Best | None:
    """Of a few counts the largest whose fastest plan is compute-bound, else the nearest to it."""
    options = SpaceOptions(
        axes=frozenset(strategy.axes), fixed={"sharding": frozenset({strategy.code})}
    )
    meshes = meshes_in(model, strategy, counts, options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    moved = offloading(model, strategy, space.plans)
    plans = with_orders(model, strategy, moved, demands_of(model, targets))
    kept = []
    for start in range(0, len(plans), _ROWS_AT_A_TIME):
        chunk = plans.take(np.arange(start, min(start + _ROWS_AT_A_TIME, len(plans))))
        rows = np.flatnonzero(limits.memory(model, chunk, memory_table(model, chunk))[0])
        batches = np.full(len(rows), model.job.global_batch)
        times = TimedPlans(model, chunk).at(rows, chunk.micro_batch[rows], batches)
        time_s, share, part = exposed(model, times)
        kept.append(np.stack([start + rows, time_s, share, part]))
    if not kept or not (table := np.concatenate(kept, axis=1)).size:
        return None
    rows, times, shares, parts = table
    chips = plans.chips[rows.astype(np.int64)]
    order = np.lexsort((times, chips))
    first = order[np.unique(chips[order], return_index=True)[1]]
    good = first[shares[first] <= SHARE]
    at = int(good[-1]) if len(good) else int(first[np.argmin(shares[first])])
    plan = plans.plan(int(rows[at]))
    return _Best(
        plan=plan,
        step_time_s=float(times[at]),
        share=float(shares[at]),
        binds=_communication(EXPOSED[int(parts[at])], strategy),
    )
