"""Lower bounds on the joules of every plan of a row within a limit on its step time.

A plan of a row with p stages, m micro-batches and interleave v has (`planner.cost.step`)

    T >= factor [ A max_i t_i + a sum_i t_i + C ],  A = m - a,  a = 1 / v
    E  = chips [ sum_i run_i extra_w(clock_i) factor / pp + T standing_w ]

t_i, run_i are sums over the layers and ends of stage i, each a product of what its recomputation,
sharding and clock make of one layer. GPipe waits for more, never for less. A zero-bubble schedule
fills at most w (1 + r) seconds of a stage, w its weight gradients, r = (min(pp, m) - 1) / (pp - 1);
they leave sum_i t_i and come back once, so that without them T is no smaller. Without bubbles a
is 0. The optimizer, whose slowest stage is no faster than the mean stage, counts per layer.

These are the problems of `solvers.stages.energy_bounds`: layers are items, shardings and clocks
settings, recomputations the ways of an item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.cost.context import CostModel
from planner.cost.energy import running_w, standing_w
from planner.cost.step import paced_sends, step_factor
from planner.plan import ZERO_BUBBLE, FloatArray, IntArray
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, RowTerms, contents, row_terms, stage_state
from solvers.stages.energy_bounds import MeanBound, Work, mean_bound

_NEVER = 1e30  # seconds and joules of a layer under a sharding that a row does not have
_ROWS_AT_A_TIME = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the step time of rows is made of, (n,) each; see the module.

    Attributes:
        slowest, each: A factor, a factor.
        constant: C factor, seconds.
        back: 1 + r under zero-bubble schedules, else 0.
        factor: Of `planner.cost.step`.
    """

    slowest: FloatArray
    each: FloatArray
    constant: FloatArray
    back: FloatArray
    factor: FloatArray


def step_weights(model: CostModel, rows: Rows, terms: RowTerms) -> Weights:
    """The weights of some rows."""
    a, plans = model.assumptions, rows.plans
    m, v, pp = rows.micro_batches(model), plans.interleave.astype(np.float64), plans.pp
    p2p = terms.p2p[terms.cell]
    factor = step_factor(a, plans.chips.astype(np.float64))
    each = float(a.bubbles) / v
    ramp = float(a.bubbles) * (pp - 1) * (p2p + a.micro_batch_s / v)
    constant = m * (a.micro_batch_s + paced_sends(a, v) * p2p) + ramp + a.step_s
    ramped = (np.minimum(pp, m) - 1) / np.maximum(pp - 1, 1)
    fills = (plans.schedule == ZERO_BUBBLE) & a.bubbles
    return Weights(
        slowest=(m - each) * factor,
        each=each * factor,
        constant=constant * factor,
        back=np.where(fills, 1 + ramped, 0.0),
        factor=factor,
    )


def mean_bounds(model: CostModel, rows: Rows, clocks: FloatArray) -> MeanBound:
    """The mean bound of every row, a few thousand at a time.

    Args:
        model: Job and machine.
        rows: n rows.
        clocks: (k,) relative clocks.
    """
    parts = []
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        some = rows.take(np.arange(start, min(start + _ROWS_AT_A_TIME, len(rows))))
        parts.append(mean_bound(work_of(model, some, row_terms(model, some, clocks))))
    return MeanBound(
        prices=np.concatenate([part.prices for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    )


def work_of(model: CostModel, rows: Rows, terms: RowTerms) -> Work:
    """The problems of some rows without their memory, of every layer under its best sharding.

    Time and joules of a layer are each the least over the shardings of the row.
    """
    weights = step_weights(model, rows, terms)
    kinds = [kind for kind in KINDS if kind in terms.layers]
    state_s, state_j = _states(model, rows, terms, weights, kinds)
    joules = _joules_per_s(model, rows, terms, weights)
    pace, ramp, cost = [], [], []
    for at, kind in enumerate(kinds):
        layer = terms.layers[kind]
        total = _of_rows(layer.total, rows, terms)
        filled = weights.back[:, None, None, None] * _of_rows(layer.weight_grad, rows, terms)
        m = rows.micro_batches(model)[:, None, None, None]
        kernels = m * _of_rows(layer.kernels, rows, terms)
        left = np.where(total >= _NEVER, total, total - np.where(filled < _NEVER, filled, 0.0))
        pace.append(total.min(axis=2))
        ramp.append((weights.each[:, None, None, None] * left).min(axis=2) + state_s[at])
        cost.append((kernels * joules[:, None, None, :]).min(axis=2) + state_j[at])
    return Work(
        items=np.array([model.job.model.layer_kinds.count(kind) for kind in kinds], dtype=float),
        pace=_by_setting(pace),
        ramp=_by_setting(ramp),
        cost=_by_setting(cost),
        **_ends(model, rows, terms, weights, joules),
        **_without_memory(len(rows), len(kinds), terms),
        slowest=weights.slowest,
        constant=weights.constant,
        fixed=np.zeros(len(rows)),
        per_time=_standing(model, rows),
    )


def _of_rows(table: FloatArray, rows: Rows, terms: RowTerms) -> FloatArray:
    """(n, r, z, k) a figure of layers, of every row; huge where the row has no such sharding."""
    shape = (*table.shape[:2], rows.shardings.shape[1], len(terms.clocks))
    wide = np.broadcast_to(table, shape)[terms.cell]
    return np.where(rows.shardings[:, None, :, None], wide, _NEVER)


def _by_setting(tables: list[FloatArray]) -> FloatArray:
    """(n, kinds, settings, ways) of one (n, r, k) per kind."""
    return np.stack(tables, axis=1).swapaxes(2, 3)


def _standing(model: CostModel, rows: Rows) -> FloatArray:
    """(n,) watts that flow whatever happens, of all chips."""
    counts, which = np.unique(rows.plans.chips, return_inverse=True)
    watts = np.array([standing_w(model, int(count)) * count for count in counts])
    return np.asarray(watts[which.ravel()])


def _joules_per_s(
    model: CostModel, rows: Rows, terms: RowTerms, weights: Weights
) -> FloatArray:
    """(n, k) joules that a second of kernels on one stage adds to waiting, on all its chips."""
    chips = rows.plans.chips / rows.plans.pp * weights.factor
    return np.asarray(chips[:, None] * running_w(model, terms.clocks[None, :]))


def _states(
    model: CostModel, rows: Rows, terms: RowTerms, weights: Weights, kinds: list[str]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Seconds (n, 1, 1) and joules (n, 1, k) of the optimizer per layer of each kind, at least."""
    dense = np.array([[float(kind == "dense") for kind in kinds]])
    state = stage_state(model, rows, contents(dense, 1 - dense))
    kernels = np.where(rows.shardings[:, None, :], state.optimizer_kernels, _NEVER).min(axis=2)
    seconds = kernels * (weights.factor / rows.plans.pp)[:, None]
    joules = kernels[:, :, None] * _joules_per_s(model, rows, terms, weights)[:, None, :]
    at = range(len(kinds))
    return [seconds[:, i, None, None] for i in at], [joules[:, i, None, :] for i in at]


def _ends(
    model: CostModel, rows: Rows, terms: RowTerms, weights: Weights, joules: FloatArray
) -> dict[str, FloatArray]:
    """The classes of stages: the first, the last, the others; their counts and ends."""
    pp = rows.plans.pp
    embedding, head = (getattr(terms.ends, name)[terms.cell] for name in ("embedding", "head"))
    grad = weights.back[:, None] * terms.ends.head_weight_grad[terms.cell]
    alone = (pp == 1)[:, None]
    none = np.zeros_like(head)
    pace = np.stack([embedding + np.where(alone, head, 0.0), head, none], axis=1)
    left = np.stack([np.where(alone, grad, 0.0), grad, none], axis=1)
    m = rows.micro_batches(model)[:, None, None]
    return {
        "count": np.stack([np.ones(len(pp)), pp > 1, np.maximum(pp - 2, 0)], axis=1).astype(float),
        "end_pace": pace,
        "end_ramp": weights.each[:, None, None] * (pace - left),
        "end_cost": m * pace * joules[:, None, :],
    }


def _without_memory(rows: int, kinds: int, terms: RowTerms) -> dict[str, FloatArray]:
    """Room for everything."""
    ways = next(iter(terms.layers.values())).total.shape[1]
    clocks = len(terms.clocks)
    return {
        "held": np.zeros((rows, 3, kinds, clocks, ways)),
        "room": np.ones((rows, 3, clocks)),
    }


def open_rows(bound: MeanBound, points: FloatArray) -> IntArray:
    """Rows that may have a plan below the staircase of known plans somewhere, ascending.

    Below a known time t_i the cheapest known plan is the next faster one, of e_(i-1) joules: a row
    matters there only if its bound at t_i is less. Faster than all known plans nothing is known.

    Args:
        bound: Of n rows.
        points: (f, 2) seconds and joules of known plans, non-dominated, ascending in time.
    """
    limits = [*points[1:, 0], np.inf]
    low = [bound.at(limit) < joules for limit, joules in zip(limits, points[:, 1], strict=True)]
    return np.flatnonzero(np.any(low, axis=0))
