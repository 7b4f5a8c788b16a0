"""The largest useful degree of tensor parallelism of a strategy, under the fitted model.

A degree is useful where some plan that fits is compute-bound at some batch, the fastest there or
not. Of most plans this takes three numbers of micro-batches m instead of all. From m = 2 on the
layers of a plan cost the same whatever m is, so that its step and what communication adds to it
both are a m + b, and one over the other never has a least value between the ends. Without pipeline
stages a plan counts with no more recomputation than it needs (`pairs`): more of it only hides
communication behind work that is done twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.cost.communication.data_parallel import counts_micro_batches
from planner.studies.feasibility.pairs import Pairs, Rows, rows_of
from planner.studies.feasibility.sweep import SHARE, Sweep

_PAIRS_AT_A_TIME = 4096
_SURE = 1 + 1e-9


def largest_tp(sweep: Sweep, share: float = SHARE) -> int | None:
    """The largest degree of any plan that fits and is compute-bound at a batch; None: none is.

    Args:
        sweep: The plans and their batches.
        share: Of the step, that exposed communication may have where it is compute-bound.
    """
    degrees = sweep.plans.tp[sweep.pairs.plan]
    for degree in np.unique(degrees)[::-1].tolist():
        pairs = sweep.pairs.take(np.flatnonzero(degrees == degree))
        if any(_useful(sweep, some, share) for some in _parts(pairs)):
            return int(degree)
    return None


def _parts(pairs: Pairs) -> Iterator[Pairs]:
    for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
        yield pairs.take(np.arange(start, min(start + _PAIRS_AT_A_TIME, len(pairs))))


def _useful(sweep: Sweep, pairs: Pairs, share: float) -> bool:
    """Whether some plan that fits is compute-bound at some batch."""
    most = sweep.most_sequences // pairs.each
    which, times = _ends(most)
    shares = sweep.costed(pairs, (which, times)).share
    good = np.flatnonzero(shares <= share)
    if len(good) and sweep.possible(pairs, (which[good], times[good])).any():
        return True
    left = ~_even(sweep, pairs)
    left[which[shares <= share * _SURE]] = True
    others = pairs.take(np.flatnonzero(left & (most > 1)))
    return any(
        _least_share(sweep, others, rows) <= share
        for rows in rows_of(others, 1, sweep.most_sequences)
    )


def _least_share(sweep: Sweep, pairs: Pairs, rows: Rows) -> float:
    """The least share of the rows that are possible; inf: none is."""
    pair, times = rows
    some = np.flatnonzero(sweep.possible(pairs, rows))
    shares = sweep.costed(pairs, (pair[some], times[some])).share
    return float(shares.min(initial=np.inf))


def _ends(most: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of one, of two, and of the most micro-batches of each pair, each once."""
    which = np.arange(len(most))
    two, more = np.flatnonzero(most > 1), np.flatnonzero(most > 2)
    times = [np.ones(len(most), dtype=np.int64), np.full(len(two), 2), most[more]]
    return np.concatenate([which, two, more]), np.concatenate(times)


def _even(sweep: Sweep, pairs: Pairs) -> BoolArray:
    """(p,) pairs whose layers and bubble are the same from two micro-batches on."""
    plans = sweep.plans.take(pairs.plan)
    even = ~counts_micro_batches(sweep.model.framework, plans.sharding, plans.pp)
    even &= ~plans.schedules.values("bidirectional")
    for _, own in plans.schedules.overriding("bubble_s"):
        even &= ~own
    return even
