"""Lower bounds on the step time of every plan of a row on pools of chips: LB1 <= LB2 <= time.

With h(i) the pool of stage i, p_h stages of pool h, and times tau_hk of item k on pool h (layers of
each kind, embedding, head; the least over shardings and recomputations that a stage may have), a
plan takes T / factor >= C + A max t + sum of l_hk over its items, in forms of which the largest
counts (`planner.search.uneven.bounds.time`): l = a tau for 1F1B and GPipe, and for zero-bubble
schedules 0, or what a stage leaves of its items. For multipliers mu_h >= 0 with
sum_h p_h mu_h <= A,

    A max t >= sum_i mu_h(i) t_i + (A - sum_h p_h mu_h) max t
    T / factor >= C + (A - sum_h p_h mu_h) t* + sum_k n_k min_h (mu_h tau_hk + l_hk)

with t* <= max t. Multipliers near those of a pipeline whose stages are all busy all the time,
a + mu_h inversely proportional to the time of all items on pool h, and shares of them are tried.

LB1 takes t* from the work alone: for any values v_k of items, what a stage of pool h holds within t
is worth at most t max_k v_k / tau_hk, so t* = sum_k n_k v_k / sum_h p_h max_k (v_k / tau_hk); v are
the times on each pool in turn. LB2 takes the least t with room for all layers of each kind in time
and memory: with cap_hi the most layers of stage i on pool h (`solvers.stages.filling`), for each
pool h against the best of the others,

    sum_i max_(g != h) cap_gi + the p_h largest of cap_hi - max_(g != h) cap_gi >= L,

exact for two pools in any order. C holds max exposed + max optimizer from below as there, each part
the least over pools. All are relaxations, so no plan is faster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.step import step_factor
from planner.search.limits import Limits
from planner.search.pools.rows import PooledRows
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uneven.bounds.memory import (
    StageMemory,
    parts_of,
    stage_memory_of,
    stages_in_memory,
)
from planner.search.uneven.bounds.time import (
    data_parallel_s,
    layer_times,
    left_of,
    left_of_layers,
)
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, RowTerms, unstaged_s
from solvers.stages.filling import Stages, least_bottleneck, most_layers

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_HALVINGS = 26
_NONE = -1e9  # layers on a stage that has not even room for none


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledForms:
    """The step time of n rows on h pools from below; see the module.

    Attributes:
        paced: (n, f) A of each form.
        tau: (n, h, 4) seconds of items: a layer of each of `KINDS`, embedding, head; 0 where the
            model has no such kind.
        left: (n, f, h, 4) l of each form.
        constant: (n, f) C.
        items: (4,) n_k.
        stages: (n, h) p_h.
        layer: h tables (n, 2, r, z) of seconds of a layer; inf where a row may not have it.
        factor: (n,) of the whole.
    """

    paced: FloatArray
    tau: FloatArray
    left: FloatArray
    constant: FloatArray
    items: FloatArray
    stages: FloatArray
    layer: tuple[FloatArray, ...]
    factor: FloatArray

    def take(self, index: IntArray) -> PooledForms:
        """The rows of `index`."""
        names = ("paced", "tau", "left", "constant", "stages", "factor")
        return PooledForms(
            **{name: getattr(self, name)[index] for name in names},
            items=self.items,
            layer=tuple(table[index] for table in self.layer),
        )

    def step_s(self, slowest: FloatArray) -> FloatArray:
        """(n,) lower bounds on the step time with a slowest stage that takes that at least."""
        most = self._multipliers()
        forms = []
        for share in _SHARES:
            mu = share * most
            work = (mu[:, :, :, None] * self.tau[:, None] + self.left).min(axis=2) @ self.items
            rest = self.paced - (mu * self.stages[:, None]).sum(axis=2)
            forms.append(self.constant + rest * slowest[:, None] + work)
        return np.asarray(np.max(forms, axis=0).max(axis=1) * self.factor * ROUNDED_DOWN)

    def _multipliers(self) -> FloatArray:
        """(n, f, h) mu of stages that are all busy: mu_h = max(c / tau_h - a, 0)."""
        whole = self.tau @ self.items
        weight = 1 / np.maximum(whole, 1e-300)
        each = np.where(
            (self.left >= 0).all(axis=(2, 3)),
            (self.left @ self.items / whole[:, None]).min(axis=2),
            0,
        )
        used = np.ones((*self.paced.shape, weight.shape[1]), dtype=np.bool_)
        for _ in range(weight.shape[1]):
            count = used * self.stages[:, None]
            scale = (self.paced + each * count.sum(axis=2)) / (count * weight[:, None]).sum(axis=2)
            mu = np.where(used, scale[:, :, None] * weight[:, None] - each[:, :, None], 0.0)
            used = used & ((mu > 0) | (mu == mu.max(axis=2, keepdims=True)))
        mu = np.maximum(mu, 0.0)
        total = (mu * self.stages[:, None]).sum(axis=2)
        return np.asarray(mu * np.minimum(1.0, self.paced / np.maximum(total, 1e-300))[:, :, None])

    @property
    def slowest(self) -> FloatArray:
        """(n,) t* of LB1."""
        known = self.items > 0
        tau = np.maximum(self.tau[:, :, known], 1e-300)
        least = tau[:, :, -2:].min(axis=1).max(axis=1)
        for value in np.moveaxis(tau, 1, 0):
            best = (value[:, None, :] / tau).max(axis=2)
            worth = value @ self.items[known]
            least = np.maximum(least, worth / (best * self.stages).sum(axis=1))
        return np.asarray(least * ROUNDED_DOWN)

    def slowest_within(self, upper_s: float) -> FloatArray:
        """(n,) the largest slowest stage with which the step time may be within `upper_s`."""
        work = self.left.min(axis=2) @ self.items
        room = (upper_s / ROUNDED_DOWN / self.factor)[:, None] - self.constant - work
        with np.errstate(over="ignore"):
            return np.asarray((room / np.maximum(self.paced, 1e-300)).min(axis=1))


def pooled_forms(rows: PooledRows, clocks: Sequence[FloatArray]) -> PooledForms:
    """The forms of every row, at the highest clock of every pool."""
    terms = rows.terms(clocks)
    model, plans = rows.pools[0].model, rows.plans
    a, m = model.assumptions, rows.own[0].micro_batches(model)
    shown = float(a.bubbles)
    layer = tuple(layer_times(own, found) for own, found in zip(rows.own, terms, strict=True))
    tau = np.stack(
        [_items(table, found) for table, found in zip(layer, terms, strict=True)], axis=1
    )
    constant = unstaged_s(a, plans, m, terms[0].p2p[terms[0].cell])
    constant += data_parallel_s([pool.model for pool in rows.pools], rows.own)
    kinds = model.job.model.layer_kinds
    items = np.array([*(kinds.count(kind) for kind in KINDS), 1, 1], dtype=np.float64)
    paced, left, extra = (m - shown)[:, None], shown * tau[:, None], 0.0 * m[:, None]
    if shown and plans.schedules.any("fills_bubbles"):
        paced, left, extra = _filled(rows, terms, m, tau, paced, left)
    return PooledForms(
        paced=paced,
        tau=tau,
        left=left,
        constant=constant[:, None] + extra,
        items=items,
        stages=rows.stages.astype(np.float64),
        layer=layer,
        factor=step_factor(a, plans.chips.astype(np.float64)),
    )


def _items(layer: FloatArray, terms: RowTerms) -> FloatArray:
    """(n, 4) least seconds of each item."""
    ends = [table[terms.cell, 0] for table in (terms.ends.embedding, terms.ends.head)]
    return np.concatenate([layer.min(axis=(2, 3)), np.stack(ends, axis=1)], axis=1)


def _filled(
    rows: PooledRows,
    terms: Sequence[RowTerms],
    m: FloatArray,
    tau: FloatArray,
    paced: FloatArray,
    left: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n, 4) A, (n, 4, h, 4) l and (n, 4) constants; rows of other schedules repeat their own.

    A stage leaves t - w >= t - W - r X for each X of F + send, B + send, W
    (`planner.cost.step.filled_s`).
    """
    plans = rows.plans
    pp = plans.pp.astype(np.float64)
    ramped = (np.minimum(pp, m) - 1) / np.maximum(pp - 1, 1)
    micro_batch_s = rows.pools[0].model.assumptions.micro_batch_s
    sent = ramped * pp * (terms[0].p2p[terms[0].cell] + micro_batch_s) / 2
    parts = [_left(own, found, ramped) for own, found in zip(rows.own, terms, strict=True)]
    own = np.concatenate([np.zeros((len(m), 1, *tau.shape[1:])), np.stack(parts, axis=2)], axis=1)
    zero = plans.schedules.values("fills_bubbles")
    weights = np.stack([m, m - 1, m - 1, m - 1], axis=1)
    sends = np.stack([0 * m, -sent, -sent, 0 * m], axis=1)
    return (
        np.where(zero[:, None], weights, paced),
        np.where(zero[:, None, None, None], own, left),
        np.where(zero[:, None], sends, 0.0),
    )


def _left(rows: Rows, terms: RowTerms, ramped: FloatArray) -> FloatArray:
    """(n, 3, 4) t - W - r X of every item, the least over shardings and recomputations."""
    found, cell, ends = np.zeros((len(rows), 3, 4)), terms.cell, terms.ends
    for at, kind in enumerate(KINDS):
        if kind in terms.layers:
            found[:, :, at] = left_of_layers(rows, cell, terms.layers[kind], ramped, 0).T
    embedding, head, back, grad, tower = (
        table[cell, 0]
        for table in (
            ends.embedding,
            ends.head,
            ends.head_backward,
            ends.head_weight_grad,
            ends.tower_backward,
        )
    )
    none = np.zeros_like(embedding)
    found[:, :, 2] = left_of(embedding, tower, none, ramped).T
    found[:, :, 3] = left_of(head, back, grad, ramped).T
    return found


def pooled_second(
    limits: Limits, rows: PooledRows, forms: PooledForms, upper_s: float
) -> FloatArray:
    """(n,) LB2 in seconds; inf where the stages have no room for all layers within `upper_s`.

    Args:
        limits: Memory per chip.
        rows: n rows.
        forms: Theirs.
        upper_s: Finite; plans that take longer are not wanted.
    """
    slowest = forms.slowest
    upper = forms.slowest_within(upper_s)
    slowest = np.where(upper >= slowest, slowest, np.inf)
    kinds = rows.pools[0].model.job.model.layer_kinds
    for kind, name in enumerate(KINDS):
        if name not in kinds:
            continue
        alive = np.flatnonzero(np.isfinite(slowest))
        few = rows.take(alive)
        rooms = [
            stage_memory_of(pool.model, own, kind)
            for pool, own in zip(few.pools, few.own, strict=True)
        ]
        for part in parts_of(few.plans.pp, len(rooms)):
            at, own = alive[part], [room.take(part) for room in rooms]
            stages = _stages(limits, few.take(part), forms.take(at), kind, own)
            slowest[at] = least_bottleneck(stages, slowest[at], upper[at], _HALVINGS)
    bounds = forms.step_s(np.where(np.isfinite(slowest), slowest, 0.0))
    return np.where(np.isfinite(slowest), bounds, np.inf)


def _stages(
    limits: Limits, rows: PooledRows, forms: PooledForms, kind: int, rooms: Sequence[StageMemory]
) -> PooledStages:
    """The stages of rows with as many of them."""
    layers = rows.pools[0].model.job.model.layer_kinds.count(KINDS[kind])
    each = zip(rows.pools, rows.own, forms.layer, rooms, strict=True)
    stages = tuple(
        stages_in_memory(
            pool.model,
            own,
            table[:, kind],
            forms.tau[:, at, 2:],
            room,
            layers,
            limits.chip_bytes(pool.model),
        )
        for at, (pool, own, table, room) in enumerate(each)
    )
    return PooledStages(each=stages, count=rows.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledStages:
    """Stages of n pipelines, as if all were on each of h pools.

    Attributes:
        each: Of every pool.
        count: (n, h) how many are on it.
    """

    each: tuple[Stages, ...]
    count: IntArray

    def take(self, index: IntArray) -> PooledStages:
        """The pipelines of `index`."""
        each = tuple(stages.take(index) for stages in self.each)
        return PooledStages(each=each, count=self.count[index])

    def fits(self, bottleneck: FloatArray) -> BoolArray:
        """(n,) whether there is room for all layers with (n,) bottlenecks; see the module."""
        caps = np.stack([np.maximum(most_layers(one, bottleneck), _NONE) for one in self.each])
        ok = np.ones(len(bottleneck), dtype=np.bool_)
        for at in range(len(caps)):
            others = np.delete(caps, at, axis=0).max(axis=0)
            gained = -np.sort(-(caps[at] - others), axis=1)
            first = np.arange(gained.shape[1]) < self.count[:, at, None]
            most = others.sum(axis=1) + np.where(first, gained, 0.0).sum(axis=1)
            ok &= most >= self.each[0].layers
        return ok
