"""Interleaved rows of which every plan, however slow, draws more than a limit on the mean power.

With Q watts of the limit beside what waiting chips draw, a plan within it has sum J <= Q T: J are
the joules of layers and ends. An interleaved row has an upper bound on T too, as no device holds
more than n layers and no chunk more than c = ceil(n / v) (`planner.search.uneven.aligned`):

    T / factor <= m max t + sum (C_i + s g_i) + C,  g_i <= C_i,  s of `planner.cost.stages.rounds`

Each layer adds its seconds tau at most m times where its device is the slowest, and 1 + s times
more where it is in the longest chunk of its device. So sum J - Q T is at least the sum over layers
of h(w) = min (J - Q factor w tau) over recomputations, shardings and clocks. h falls with w, so
that it is least where as many layers as can be have the larger weights: c of them m + 1 + s, n - c
m, (pp - 1) c 1 + s, all others 0. One of the ends may be on the slowest device. If the sum is above
0, no plan of the row is within the limit.

Without it such rows were asked for slower and slower plans, every time anew.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.cost.stages.rounds import lost_share
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds.energy import full_work
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, contents, stage_state
from solvers.stages.energy_bounds import Work

_AT_A_TIME = 512
_ABSENT = 1e17  # seconds and joules of a layer that a row does not have
_ROUNDING = 1e-9


def always_above(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    forms: RowForms,
    clocks: FloatArray,
    deadline: Deadline = NEVER,
) -> BoolArray:
    """(n,) rows of which no plan is within the limit on power, whatever time it takes.

    Args:
        model: Job and machine.
        limits: Power of all chips, in the mean over a step.
        rows: n rows of as many chips, by the layers of their fullest device.
        forms: Theirs.
        clocks: (k,) relative clocks.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    found = np.zeros(len(rows), dtype=np.bool_)
    if limits.power_w is None:
        return found
    bounded = (rows.plans.interleave > 1) & (rows.fullest > 0) & ~rows.both_ways
    for _, own in rows.plans.schedules.overriding("bubble_s"):  # of which T may be larger
        bounded &= ~own.ravel()
    known = np.flatnonzero(bounded)
    for some in deadline.parts(len(known), _AT_A_TIME):
        at = known[some]
        found[at] = least_excess_j(model, limits, rows.take(at), forms.take(at), clocks) > 0
    return found


def least_excess_j(
    model: CostModel, limits: Limits, rows: Rows, forms: RowForms, clocks: FloatArray
) -> FloatArray:
    """(n,) what the joules of every plan are at least above those that the limit lets through.

    Arguments as of `always_above`; there is a limit, and the rows are interleaved.
    """
    work = full_work(model, limits, rows, forms, clocks)
    chips = int(rows.plans.chips[0]) if len(rows) else 1
    assert limits.power_w is not None
    left = max(limits.power_w - chips * standing_w(model, chips), 0.0) * forms.factor
    counts, weights = _weighed(model, rows)
    parts = [count * _least(work, left * w) for count, w in zip(counts, weights, strict=True)]
    ends, m = _ends(work, left, rows, weights[1]), (forms.constant + _once(model, rows))
    sizes = sum(np.abs(part) for part in parts) + np.abs(ends) + left * m
    return np.asarray(sum(parts) + ends - left * m - _ROUNDING * sizes)


def _weighed(model: CostModel, rows: Rows) -> tuple[list[IntArray], list[FloatArray]]:
    """How many layers have which weight, (n,) each, the largest weight first."""
    plans, layers = rows.plans, model.job.model.layers
    m, pp, v = rows.micro_batches(model), plans.pp, plans.interleave
    full = np.minimum(rows.fullest, layers)
    longest = -(-full // v)
    chunks = np.minimum((pp - 1) * longest, layers - full)
    chunk = 1 + lost_share(m, pp)
    counts = [longest, full - longest, chunks, layers - full - chunks]
    return counts, [m + chunk, m, chunk, np.zeros(len(rows))]


def _least(work: Work, weight: FloatArray) -> FloatArray:
    """(n,) h of a weight in watts."""
    value = work.cost - weight[:, None, None, None] * work.pace
    value = np.where(work.cost < _ABSENT, value, np.inf)
    return np.asarray(value.min(axis=(1, 2, 3)))


def _ends(work: Work, left: FloatArray, rows: Rows, m: FloatArray) -> FloatArray:
    """(n,) least that both ends add; one of them at most is on the slowest device."""
    alone = left / rows.plans.interleave
    slow, other = (
        (work.end_cost - weight[:, None, None] * work.end_pace).min(axis=2)[:, :2]
        for weight in (alone + left * m, alone)
    )
    return np.asarray(np.minimum(slow[:, 0] + other[:, 1], other[:, 0] + slow[:, 1]))


def _once(model: CostModel, rows: Rows) -> FloatArray:
    """(n,) seconds that reductions and optimizer of any device take at most."""
    kinds = model.job.model.layer_kinds
    dense, moe = (np.minimum(rows.fullest, kinds.count(kind))[:, None] for kind in KINDS)
    state = stage_state(model, rows, contents(dense, moe, first=True, last=True))
    return np.asarray((state.collective + state.optimizer).max(axis=(1, 2)))
