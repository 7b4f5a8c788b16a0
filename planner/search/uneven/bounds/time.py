"""Lower bounds on the step time of every plan of a row: LB0, LB1 and LB2.

With stage times t_i, all layers and ends in least time S, and weights of the step
(`planner.cost.step`; A the slowest stage's, a that of the sum, C what no stage changes):

    T / factor = A max t + a sum t + C + max exposed + max optimizer

LB0 is the bound of a mesh with micro-batch and schedule (`planner.search.uniform.bounds`), whose
networks are the best of all placements. LB1 takes the row's own networks, and for the slowest
stage the mean S / p or ceil(L / p) layers, whichever is more:

    LB1 = A max(S / p, ceil(L_k / p) tau_k, ends) + a S + C + D

tau is the least of a layer over shardings and recomputations that a stage may have. LB2 takes the
least bottleneck t* at which the stages have room for all layers, in time and in memory
(`solvers.stages.filling`): LB2 = A t* + a S + C + D. Schedules that fill bubbles take the larger of
m max t and (m - 1) max t + sum (t - w), w bounded by the three parts whose least it is made of.
Interleaved fills count the longest chunk, never less than the equal chunks that A and a stand for.
Under bidirectional schedules the devices are p / 2 pairs of ranks, t the time of a round; the forms
are those of `planner.search.uneven.bounds.bidirectional`.

D bounds max exposed + max optimizer: some stage has ceil(L / p) layers or more, the first has the
embedding, the last the head; of its reductions 1 - overlap is exposed whatever its backward pass.
Mean over kinds of layers: a stage with N layers has some d dense and N - d others; the least D of
all such d counts. All are relaxations, so no plan is faster. LB2 is never below LB1, which is below
LB0 only where the reduction of the mean stage, of which LB0 counts, is more than D.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, BoolArray, FloatArray, IntArray, distinct
from planner.cost.context import CostModel
from planner.cost.layer_costs import EndCost, LayerCost
from planner.cost.step import step_factor
from planner.plan import FULL, NO_RECOMPUTE, PlanTable
from planner.question.options import SpaceOptions
from planner.schedules import schedule_of
from planner.search.deadline import NEVER, Deadline, OutOfTime
from planner.search.placements.groups import EFFICIENT, NO_LAYOUTS
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uneven.bounds.bidirectional import PARTS, Round, longest_wait, sums_s
from planner.search.uneven.rows import Rows, allowed_recomputes
from planner.search.uneven.terms import (
    KINDS,
    RowTerms,
    contents,
    row_terms,
    stage_state,
    unstaged_s,
)
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.space import PartialPlans


def partial_plan_lower(
    model: CostModel,
    partial_plans: PartialPlans,
    options: SpaceOptions,
    deadline: Deadline = NEVER,
) -> FloatArray:
    """(n,) LB0 in seconds; once the deadline has passed with networks that cost nothing."""
    if not len(partial_plans):
        return np.empty(0)
    layouts = EFFICIENT if options.torus else NO_LAYOUTS
    orders = options.orders(model.framework)
    try:
        bounds = PartialPlanBounds.build(model, partial_plans, orders, deadline, layouts)
    except OutOfTime:
        bounds = PartialPlanBounds.arithmetic(model, partial_plans)
    least = np.full(len(partial_plans.meshes), min(allowed_recomputes(model, options)))
    corners = bounds.of_unlike_stages().corners(least, model.clocks(wanted=False))
    return np.asarray(corners[:, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowForms(ArrayRecord):
    """The step time of n rows as weights, one of which is the largest: T = max over forms.

    Attributes:
        paced: (n, f) weight of the slowest stage.
        summed: (n, f) least seconds of what adds up.
        constant: (n,) seconds that no stage changes, D included.
        slowest: (n,) what the slowest stage takes at least.
        layer: (n, 2, r, z) seconds of a layer by kind, recomputation and sharding; inf where the
            row may not have it, 0 where the model has no such kind.
        ends: (n, 2) seconds of embedding and head.
        factor: (n,) of the whole.
    """

    paced: FloatArray
    summed: FloatArray
    constant: FloatArray
    slowest: FloatArray
    layer: FloatArray
    ends: FloatArray
    factor: FloatArray

    def step_s(self, slowest: FloatArray) -> FloatArray:
        """(n,) lower bounds on the step time for a slowest stage that takes that at least."""
        forms = self.paced * slowest[:, None] + self.summed
        whole = (forms.max(axis=1) + self.constant) * self.factor
        return np.asarray(whole * ROUNDED_DOWN)

    def slowest_within(self, upper_s: float | FloatArray) -> FloatArray:
        """(n,) the largest slowest stage with which `step_s` is within `upper_s`, one or (n,)."""
        room = (upper_s / ROUNDED_DOWN / self.factor - self.constant)[:, None] - self.summed
        return np.asarray((room / np.maximum(self.paced, 1e-300)).min(axis=1))


def row_forms(model: CostModel, rows: Rows, terms: RowTerms) -> RowForms:
    """The weights and least seconds of every row.

    Args:
        model: Job and machine.
        rows: n rows.
        terms: Theirs, the highest clock first. What weight gradients fill of bubbles is the most
            at any of the clocks; all else is least at the highest.
    """
    a, plans, cell = model.assumptions, rows.plans, terms.cell
    v, m = plans.interleave, rows.micro_batches(model)
    layer = layer_times(rows, terms)
    totals = _totals(model)
    ends = np.stack([terms.ends.embedding[cell, 0], terms.ends.head[cell, 0]], axis=1)
    least = layer.min(axis=(2, 3))
    whole = least @ totals + ends.sum(axis=1)
    shown = np.where(rows.both_ways, 0.0, float(a.bubbles))
    paced = (plans.schedules.rounds(m) - shown / v)[:, None]
    summed = (shown / v * whole)[:, None]
    offered = [schedule_of(name) for name in (model.framework.schedules if a.bubbles else ())]
    if any(schedule.fills_bubbles for schedule in offered):
        paced, summed = _filled(model, rows, terms, m, paced, summed)
    if any(schedule.bidirectional for schedule in offered):
        paced, summed = _both_ways(model, rows, terms, paced, summed)
    most = np.ceil(totals / rows.devices[:, None]) * least
    slowest = np.maximum(whole / rows.devices, most.max(axis=1))
    slowest = np.maximum(slowest, end_times(rows, ends).max(axis=1))
    slowest = np.maximum(slowest, _fullest_s(model, rows, layer))
    return RowForms(
        paced=paced,
        summed=summed,
        constant=unstaged_s(a, plans, m, terms.p2p[cell]) + data_parallel_s([model], [rows]),
        slowest=slowest,
        layer=layer,
        ends=ends,
        factor=step_factor(a, plans.chips.astype(np.float64)),
    )


def gains_from_waiting(model: CostModel, plans: PlanTable) -> BoolArray:
    """(n,) where a lower clock on some stages may make a step faster.

    A lower clock lengthens weight gradients: where these fill bubbles beside passes that the clock
    does not lengthen, as those that wait for the host, the step gains. Where bubbles are left out,
    a stage that is not the slowest adds nothing to the step but what its passes do not hide of its
    collectives, and slower ones hide more.
    """
    filled = plans.schedules.values("splits_backward")
    if not model.assumptions.bubbles:
        filled = filled | (plans.pp > 1)
    return np.asarray(filled)


def _fullest_s(model: CostModel, rows: Rows, layer: FloatArray) -> FloatArray:
    """(n,) seconds of the fullest device, the first layers of whose chunks recompute; else 0."""
    found = np.zeros(len(rows))
    at = np.flatnonzero(rows.first > 0)
    if not len(at):
        return found
    plain, full = (rows.recomputes.index(code) for code in (NO_RECOMPUTE, FULL))
    here = [kind in model.job.model.layer_kinds for kind in KINDS]
    seconds = layer[at][:, here].min(axis=3)
    most = -(-model.job.model.layers // rows.devices[at])
    recomputed = np.minimum(rows.first[at], most)
    more = np.maximum((seconds[..., full] - seconds[..., plain]).min(axis=1), 0.0)
    found[at] = most * seconds[..., plain].min(axis=1) + recomputed * more
    return found


def clocked_forms(model: CostModel, rows: Rows, clocks: FloatArray) -> RowForms:
    """The forms of rows whose stages have any of (k,) relative clocks, the highest first.

    Only rows that `gains_from_waiting` names look at the lower ones.
    """
    filled = gains_from_waiting(model, rows.plans)
    at = [np.flatnonzero(~filled), np.flatnonzero(filled)]
    parts = []
    for here, levels in zip(at, (clocks[:1], clocks), strict=True):
        some = rows.take(here)
        if len(here):
            parts.append(row_forms(model, some, row_terms(model, some, levels)))
    if len(parts) == 1:
        return parts[0]
    return RowForms.joined(parts).take(np.argsort(np.concatenate(at), kind="stable"))


def end_times(rows: Rows, ends: FloatArray) -> FloatArray:
    """(n, 2) seconds of the ends on the first and on the last device.

    Args:
        rows: n rows.
        ends: (n, 2) seconds of embedding and head; one pair of ranks with both directions has both.
    """
    both = rows.both_ways | (rows.devices == 1)
    one = np.stack([ends.sum(axis=1), np.zeros(len(ends))], axis=1)
    return np.where(both[:, None], one, ends)


def _totals(model: CostModel) -> FloatArray:
    """(2,) layers of the model by kind."""
    kinds = model.job.model.layer_kinds
    return np.array([kinds.count(kind) for kind in KINDS], dtype=np.float64)


def layer_times(rows: Rows, terms: RowTerms, *, alone: bool = False) -> FloatArray:
    """(n, 2, r, z) `RowForms.layer`; `alone`: nothing runs beside it that would hide a part."""
    shape = (len(rows), len(KINDS), len(rows.recomputes), rows.shardings.shape[1])
    layer = np.zeros(shape)
    for at, kind in enumerate(KINDS):
        if kind in terms.layers:
            cost = terms.layers[kind]
            layer[:, at] = cost.total[terms.cell, :, :, 0]
            if rows.both_ways.any() and not alone:
                hidden = np.broadcast_to(cost.paired, cost.total.shape)[terms.cell, :, :, 0]
                layer[:, at] -= np.where(rows.both_ways[:, None, None], hidden, 0.0)
    layer = np.take_along_axis(layer, rows.modes[:, None, :, None], axis=2)
    return np.where(rows.shardings[:, None, None, :], layer, np.inf)


def _filled(
    model: CostModel,
    rows: Rows,
    terms: RowTerms,
    m: FloatArray,
    paced: FloatArray,
    summed: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(n, 4) weights and sums; rows of other schedules repeat their own.

    t - w >= t - W - r X for each X of F + send, B + send, W, of which w takes the least; see
    `planner.cost.step.filled_s`. Each is linear in layers.
    """
    plans, cell = rows.plans, terms.cell
    pp = plans.pp.astype(np.float64)
    ramped = (np.minimum(pp, m) - 1) / np.maximum(pp - 1, 1)
    send = (terms.p2p[cell] + model.assumptions.micro_batch_s) / 2
    sent = ramped * pp * send
    parts = np.stack([-sent, -sent, np.zeros_like(m)])
    clocks = range(len(terms.clocks))
    for kind, count in zip(KINDS, _totals(model), strict=True):
        if kind in terms.layers:
            layer = terms.layers[kind]
            left = [left_of_layers(rows, cell, layer, ramped, clock) for clock in clocks]
            parts += count * np.min(left, axis=0)
    parts += np.min([_left_of_ends(cell, terms.ends, ramped, clock) for clock in clocks], axis=0)
    zero = plans.schedules.values("fills_bubbles")[:, None]
    own = np.stack([np.zeros_like(m), *parts], axis=1)
    weights = np.stack([m, m - 1, m - 1, m - 1], axis=1)
    return np.where(zero, weights, paced), np.where(zero, own, summed)


def left_of_layers(
    rows: Rows, cell: IntArray, layer: LayerCost, ramped: FloatArray, clock: int
) -> FloatArray:
    """(3, n) least t - W - r X of a layer of a kind at a clock, for each X without messages."""
    shape = layer.total.shape
    total, back, grad = (
        np.broadcast_to(table, shape)[cell, :, :, clock]
        for table in (layer.total, layer.backward, layer.weight_grad)
    )
    left = left_of(total, back, grad, ramped[:, None, None])
    return np.asarray(np.where(rows.shardings[:, None, :], left, np.inf).min(axis=(2, 3)))


def _left_of_ends(cell: IntArray, ends: EndCost, ramped: FloatArray, clock: int) -> FloatArray:
    """(3, n) t - W - r X of embedding and head together at a clock."""
    whole, back = ends.embedding + ends.head, ends.head_backward + ends.tower_backward
    total, behind, grad = (table[cell, clock] for table in (whole, back, ends.head_weight_grad))
    return left_of(total, behind, grad, ramped)


def left_of(
    total: FloatArray, back: FloatArray, grad: FloatArray, ramped: FloatArray
) -> FloatArray:
    """(3, ...) t - W - r X for each X without messages: F, B, W."""
    return np.stack([total - grad - ramped * x for x in (total - back, back - grad, grad)])


def _both_ways(
    model: CostModel, rows: Rows, terms: RowTerms, paced: FloatArray, summed: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n, f + PARTS) weights and sums of pairs of ranks beside the others.

    See `planner.search.uneven.bounds.bidirectional`. Rows of other schedules repeat their first.
    """
    at = np.flatnonzero(rows.both_ways)
    some, cell = rows.take(at), terms.cell[at]
    layers = [
        (count, Round.of_layer(terms.layers[kind]).take(cell))
        for kind, count in zip(KINDS, _totals(model), strict=True)
        if kind in terms.layers
    ]
    ends = Round.of_ends(terms.ends).take(cell)
    sends = Round.of_sends(model, terms.p2p[cell])
    weights = np.repeat(paced[:, :1], PARTS, axis=1)
    sums = np.repeat(summed[:, :1], PARTS, axis=1)
    weights[at] -= longest_wait(some, [layer for _, layer in layers], ends)[:, None]
    sums[at] = sums_s(some, layers, ends, sends)
    return np.hstack([paced, weights]), np.hstack([summed, sums])


def data_parallel_s(models: Sequence[CostModel], each: Sequence[Rows]) -> FloatArray:
    """(n,) D of the module: once per placement and allowed shardings.

    Args:
        models: Job and machine of each kind of chips.
        each: The same n rows as each sees them; the least of all counts.
    """
    shared = each[0]
    codes = shared.shardings @ (1 << np.arange(shared.shardings.shape[1]))
    first, which = distinct([shared.placement, codes, shared.both_ways.astype(np.int64)])
    found, few = np.zeros(len(first)), [rows.take(first) for rows in each]
    kinds = np.stack([few[0].devices, few[0].both_ways], axis=1)
    for devices, both in np.unique(kinds, axis=0).tolist():
        at = np.flatnonzero((kinds == (devices, both)).all(axis=1))
        parts = [
            _stages_s(model, rows.take(at), devices, both_ends=bool(both))
            for model, rows in zip(models, few, strict=True)
        ]
        found[at] = np.min(parts, axis=0).max(axis=0)
    return found[which]


def _stages_s(model: CostModel, rows: Rows, devices: int, *, both_ends: bool) -> FloatArray:
    """(s, n) D of rows with as many devices, of stages of which the first may have both ends.

    The fullest stage, the first, the last; or one that is all of these.
    """
    dense, moe = _totals(model).astype(np.int64).tolist()
    if devices == 1:
        return _state_s(model, rows, np.array([dense]), np.array([moe]), first=True, last=True).T
    layers = -(-(dense + moe) // devices)
    some = np.arange(max(0, layers - moe), min(dense, layers) + 1)
    none = np.zeros(1, dtype=np.int64)
    fullest = _state_s(model, rows, some, layers - some).min(axis=1)
    first = _state_s(model, rows, none, none, first=True, last=both_ends)[:, 0]
    last = _state_s(model, rows, none, none, last=not both_ends)[:, 0]
    return np.stack([fullest, first, last])


def _state_s(
    model: CostModel,
    rows: Rows,
    dense: IntArray,
    moe: IntArray,
    *,
    first: bool = False,
    last: bool = False,
) -> FloatArray:
    """(n, c) least exposed reduction and optimizer of stages of some contents."""
    counts = (dense[None, :].astype(np.float64), moe[None, :].astype(np.float64))
    stages = contents(*counts, first=first, last=last)
    state = stage_state(model, rows, stages)
    seconds = (1 - model.assumptions.dp_overlap) * state.collective + state.optimizer
    allowed: BoolArray = rows.shardings[:, None, :]
    return np.asarray(np.where(allowed, seconds, np.inf).min(axis=2))


def first_bound(forms: RowForms) -> FloatArray:
    """(n,) LB1 in seconds."""
    return forms.step_s(forms.slowest)


def longest_step_s(model: CostModel, rows: Rows, terms: RowTerms) -> float:
    """Seconds that no plan of any row takes: all layers on every stage, the slowest of each.

    Where the layers of the fullest device are known, as many.
    """
    forms, m = row_forms(model, rows, terms), rows.micro_batches(model)
    layer = layer_times(rows, terms, alone=True)
    layer = np.where(np.isfinite(layer), layer, 0.0).max(axis=(2, 3))
    sends = model.assumptions.micro_batch_s + terms.p2p[terms.cell]
    layers = layer @ _totals(model)
    few = np.minimum(rows.fullest * layer.max(axis=1), layers)
    whole = np.where(rows.fullest > 0, few, layers) + forms.ends.sum(axis=1) + 2 * sends
    dense, moe = _totals(model)
    stages = contents(np.array([[dense]]), np.array([[moe]]), first=True, last=True)
    state = stage_state(model, rows, stages)
    once = (state.collective + state.optimizer).max(axis=(1, 2))
    step = (2 * m + rows.plans.pp) * whole + forms.constant + once
    return float((step * forms.factor).max())
