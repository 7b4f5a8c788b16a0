"""Lower bounds on the joules of every plan of a row within a limit on its step time.

A plan of a row with p stages, m micro-batches and interleave v has (`planner.cost.step`)

    T >= factor [ A max_i t_i + a sum_i t_i + C ],  A = m - a,  a = 1 / v
    E  = chips [ sum_i run_i extra_w(clock_i) factor / pp + T standing_w ]

t_i, run_i are sums over the layers and ends of stage i, each a product of what its recomputation,
sharding and clock make of one layer; C is that of `planner.search.uneven.bounds.time`, exposed
reductions and optimizer included. GPipe waits for more, never for less. A schedule that fills
bubbles fills at most w (1 + r) seconds of a stage, w its weight gradients,
r = (min(pp, m) - 1) / (pp - 1); they leave sum_i t_i and come back once, so that without them T is
no smaller. Without bubbles a is 0. Under bidirectional schedules the devices are pairs of ranks
that run m / 2 rounds each, A = m / 2 - 1, and a part of
`planner.search.uneven.bounds.bidirectional` is what adds up.

These are the problems of `solvers.stages.energy_bounds`: layers are items, shardings and clocks
settings, recomputations the ways of an item. A layer needs the memory that
`planner.search.uneven.bounds.memory` says.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import running_w, standing_w
from planner.plan import DDP, ZERO1
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits, by_count
from planner.search.uneven.bounds.bidirectional import PARTS, Round
from planner.search.uneven.bounds.memory import least_in_flight, stage_memory_of
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, RowTerms, contents, row_terms, stage_state
from solvers.stages.energy_bounds import MeanBound, Work, filled_mean_bound, mean_bound

_NEVER = 1e18  # seconds and joules of a layer under a sharding that a row does not have
_ROWS_AT_A_TIME, _FULL_AT_A_TIME = 8192, 512
_GROUPS = 4  # of stages between the first and the last
_RANGES = 16  # of the slowest stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the step time of rows is made of, (n,) each; see the module.

    Attributes:
        slowest, each: A factor, a factor.
        back: 1 + r under schedules that fill bubbles, else 0.
        part: Which of the parts of a bidirectional schedule is summed; 0 for others.
        factor: Of `planner.cost.step`.
    """

    slowest: FloatArray
    each: FloatArray
    back: FloatArray
    part: IntArray
    factor: FloatArray

    @staticmethod
    def of(model: CostModel, rows: Rows, forms: RowForms) -> Weights:
        """The weights of some rows."""
        plans, shown = rows.plans, float(model.assumptions.bubbles)
        m, pp = rows.micro_batches(model), plans.pp
        each = shown / plans.interleave  # of pairs of ranks, whose parts stand in for a sum of t: a
        part = np.zeros(len(rows), dtype=np.int64)
        if rows.both_ways.any():
            part = np.where(rows.both_ways, forms.summed[:, -PARTS:].argmax(axis=1), part)
        ramped = (np.minimum(pp, m) - 1) / np.maximum(pp - 1, 1)
        fills = plans.schedules.values("fills_bubbles") & bool(shown)
        return Weights(
            slowest=(plans.schedules.rounds(m) - each) * forms.factor,
            each=each * forms.factor,
            part=part,
            back=np.where(fills, 1 + ramped, 0.0),
            factor=forms.factor,
        )


def mean_bounds(
    model: CostModel,
    rows: Rows,
    forms: RowForms,
    clocks: FloatArray,
    deadline: Deadline = NEVER,
) -> MeanBound:
    """The mean bound of every row, a few thousand at a time.

    Args:
        model: Job and machine.
        rows: n rows.
        forms: Theirs.
        clocks: (k,) relative clocks.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    parts = []
    for start in range(0, max(len(rows), 1), _ROWS_AT_A_TIME):
        deadline.check()
        at = np.arange(start, min(start + _ROWS_AT_A_TIME, len(rows)))
        parts.append(mean_bound(mean_work(model, rows.take(at), forms.take(at), clocks)))
    return MeanBound(
        prices=np.concatenate([part.prices for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        still=np.concatenate([part.still for part in parts]),
    )


def memory_bounds(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    forms: RowForms,
    mean: MeanBound,
    clocks: FloatArray,
    limit_s: float | FloatArray,
    deadline: Deadline = NEVER,
) -> MeanBound:
    """The mean bound with the memory of stages, a few hundred rows at a time.

    Args:
        model, limits: Job and machine, memory per chip.
        rows: n rows.
        forms, mean: Theirs.
        clocks: (k,) relative clocks.
        limit_s: A limit on the time that prices suit, one or (n,); the bound holds for all.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    price = mean.price(limit_s)
    prices = np.stack([np.zeros(len(rows)), price / 2, price], axis=1)
    parts = []
    for at in deadline.parts(len(rows), _FULL_AT_A_TIME):
        work = full_work(model, limits, rows.take(at), forms.take(at), clocks)
        parts.append(filled_mean_bound(work, prices[at], len(clocks)))
    return MeanBound(
        prices=prices,
        values=np.concatenate([np.empty((0, 3)), *(part.values for part in parts)]),
        still=np.concatenate([np.empty(0), *(part.still for part in parts)]),
    )


def slowest_ranges(forms: RowForms, upper_s: FloatArray) -> FloatArray:
    """(n, g + 1) ascending seconds: the slowest stage of plans within (n,) `upper_s` is between."""
    most = np.minimum(forms.slowest_within(upper_s) * (1 + 1e-9), upper_s)
    steps = np.linspace(0.0, 1.0, _RANGES + 1)
    least = forms.slowest[:, None]
    return np.asarray(least + steps * np.maximum(most - forms.slowest, 0.0)[:, None])


def mean_work(model: CostModel, rows: Rows, forms: RowForms, clocks: FloatArray) -> Work:
    """The problems of some rows without their memory, of every layer under its best sharding.

    Time and joules of a layer are each the least over the shardings of the row.
    """
    devices = rows.devices
    more = [devices > 1, np.maximum(devices - 2, 0)]
    count = np.stack([np.ones(len(devices)), *more], axis=1).astype(float)
    parts = _beside_memory(model, rows, forms, clocks, rows.shardings, None, count.shape[1])
    _, kinds, _, ways = parts["pace"].shape
    return Work(
        **parts,
        count=count,
        held=np.zeros((*count.shape, kinds, len(clocks), ways)),
        room=np.ones((*count.shape, len(clocks))),
    )


def full_work(
    model: CostModel, limits: Limits, rows: Rows, forms: RowForms, clocks: FloatArray
) -> Work:
    """The problems of some rows with their memory; stages in groups that hold equally much.

    Without ZeRO where ZeRO-1 is allowed is left out: a layer takes as long, and holds more.
    """
    allowed = rows.shardings.copy()
    allowed[:, DDP] &= ~allowed[:, ZERO1]
    used = np.flatnonzero(allowed.any(axis=0))
    count, held, room = _memory(model, limits, rows, allowed, used, len(clocks))
    parts = _beside_memory(model, rows, forms, clocks, allowed, used, count.shape[1])
    for name in ("end_pace", "end_ramp", "end_cost"):
        parts[name] = np.tile(parts[name], (1, 1, len(used)))
    return Work(**parts, count=count, held=held, room=room)


def _beside_memory(
    model: CostModel,
    rows: Rows,
    forms: RowForms,
    clocks: FloatArray,
    allowed: BoolArray,
    used: IntArray | None,
    classes: int,
) -> dict[str, FloatArray]:
    """What problems of rows are made of, but for the memory and the numbers of stages.

    Args:
        model: Job and machine.
        rows: n rows.
        forms: Theirs.
        clocks: (k,) relative clocks.
        allowed: (n, z) shardings that count.
        used: Those of any row, each of which is a setting with each clock; None: the best of all.
        classes: Of stages.
    """
    terms, weights = row_terms(model, rows, clocks), Weights.of(model, rows, forms)
    layers = _layers(model, rows, terms, weights, allowed)
    return {
        **{name: _by_setting(own, used) for name, own in layers.items()},
        **_ends(model, rows, terms, weights, classes),
        **_rest(model, rows, forms, terms, weights),
    }


def _layers(
    model: CostModel, rows: Rows, terms: RowTerms, weights: Weights, allowed: BoolArray
) -> dict[str, list[FloatArray]]:
    """The layers of n rows, a (n, r, z, k) array per kind; huge where a row has no such sharding.

    Seconds that a layer adds to its stage ("pace"), and to the step beside the slowest stage
    ("ramp"); joules of all chips of the stage, optimizer included ("cost").
    """
    each, back = (w[:, None, None, None] for w in (weights.each, weights.back))
    both = rows.both_ways
    copies = np.where(both, 2, 1)[:, None, None, None]
    m = rows.micro_batches(model)[:, None, None, None]
    joules = _joules_per_s(model, rows, weights, terms)[:, None, None, :]
    kinds = [kind for kind in KINDS if kind in terms.layers]
    dense = np.array([[float(kind == "dense") for kind in kinds]])
    state = stage_state(model, rows, contents(dense, 1 - dense)).optimizer_kernels
    found: dict[str, list[FloatArray]] = {"pace": [], "ramp": [], "cost": []}
    mask, modes = allowed[:, None, :, None], rows.modes[:, :, None, None]
    for at, kind in enumerate(kinds):
        layer = terms.layers[kind]
        shape = (*layer.total.shape[:2], allowed.shape[1], len(terms.clocks))
        total, grad, kernels = (
            np.broadcast_to(table, shape)[terms.cell]
            for table in (layer.total, layer.weight_grad, layer.kernels)
        )
        run = (m * kernels + copies * state[:, at, None, :, None]) * joules
        pace, ramp = total, total - back * grad
        if both.any():
            one = Round.of_layer(layer).take(terms.cell[both])
            pace, ramp = pace.copy(), ramp.copy()
            pace[both], ramp[both] = one.time, _summed(rows, weights, one)
        for name, table in (("pace", pace), ("ramp", each * ramp), ("cost", run)):
            own = np.take_along_axis(table, modes, axis=1)
            found[name].append(np.where(mask, own, _NEVER))
    return found


def _summed(rows: Rows, weights: Weights, one: Round) -> FloatArray:
    """Seconds of what adds up of the rows of pairs of ranks, of which `one` is, row by row."""
    some = np.flatnonzero(rows.both_ways)
    shape = (len(some), *(1,) * (one.forward.ndim - 1))
    parts = np.stack(one.parts(rows.devices[some].reshape(shape).astype(np.float64)))
    of_row = weights.part[some].reshape((1, *shape))
    return np.asarray(np.take_along_axis(parts, of_row, axis=0)[0])


def _by_setting(tables: list[FloatArray], used: IntArray | None) -> FloatArray:
    """(n, kinds, settings, ways) of one (n, ways, z, k) per kind; `used` as of `_beside_memory`."""
    few = [
        one.min(axis=2) if used is None else one[:, :, used].reshape(*one.shape[:2], -1)
        for one in tables
    ]
    return np.stack(few, axis=1).swapaxes(2, 3)


def _rest(
    model: CostModel, rows: Rows, forms: RowForms, terms: RowTerms, weights: Weights
) -> dict[str, FloatArray]:
    """What rows have beside layers, ends and memory."""
    both = np.flatnonzero(rows.both_ways)
    constant = forms.constant * forms.factor
    if len(both):
        sends = Round.of_sends(model, terms.p2p[terms.cell[both]])
        each = rows.devices[both] * _summed(rows, weights, sends) - sends.waits()
        constant[both] += weights.each[both] * each
    kinds = model.job.model.layer_kinds
    items = [float(kinds.count(kind)) for kind in KINDS if kind in kinds]
    return {
        "items": np.array(items),
        "slowest": weights.slowest,
        "constant": constant,
        "fixed": np.zeros(len(rows)),
        "per_time": by_count(rows.plans.chips, lambda count: standing_w(model, count) * count),
    }


def _joules_per_s(model: CostModel, rows: Rows, weights: Weights, terms: RowTerms) -> FloatArray:
    """(n, k) joules that a second of kernels on one stage adds to waiting, on all its chips."""
    chips = rows.plans.chips / rows.plans.pp * weights.factor
    return np.asarray(chips[:, None] * running_w(model, terms.clocks[None, :]))


def _ends(
    model: CostModel, rows: Rows, terms: RowTerms, weights: Weights, classes: int
) -> dict[str, FloatArray]:
    """(n, c, k) what embedding and head add; the first and the last stage are classes 0 and 1."""
    embedding, head = (getattr(terms.ends, name)[terms.cell] for name in ("embedding", "head"))
    grad = weights.back[:, None] * terms.ends.head_weight_grad[terms.cell]
    both = rows.both_ways
    alone = (both | (rows.devices == 1))[:, None]
    none = [np.zeros_like(head)] * (classes - 2)
    first, last = np.where(alone, head, 0.0), np.where(alone, 0.0, head)
    pace = np.stack([embedding + first, last, *none], axis=1)
    left = np.stack([np.where(alone, grad, 0.0), np.where(alone, 0.0, grad), *none], axis=1)
    ramp = pace - left
    if both.any():
        ends = Round.of_ends(terms.ends).take(terms.cell[both])
        ramp[both, 0] = _summed(rows, weights, ends)
    m = rows.micro_batches(model)[:, None, None]
    joules = _joules_per_s(model, rows, weights, terms)[:, None, :]
    return {
        "end_pace": pace,
        "end_ramp": weights.each[:, None, None] * ramp,
        "end_cost": m * pace * joules,
    }


def _memory(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    allowed: BoolArray,
    used: IntArray,
    clocks: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Stages per class, bytes of a layer, and room for layers under `used` shardings; see `Work`.

    Classes are the first stage, the last, and groups of the others with what the emptiest holds.
    The first and the last of several have room for no layers where they have none for some.
    """
    kinds = [at for at, name in enumerate(KINDS) if name in model.job.model.layer_kinds]
    rooms = [stage_memory_of(model, rows, kind) for kind in kinds]
    count, flying = _groups(model, rows)
    size = [
        room.state[:, None] + flying[:, :, None, None] * room.kept[:, None, :, None]
        for room in rooms
    ]
    base = np.min([room.base for room in rooms], axis=0)
    ends = np.min([room.ends for room in rooms], axis=0)
    free = np.repeat((limits.chip_bytes(model) - base)[:, None], count.shape[1], axis=1)
    alone = (rows.both_ways | (rows.devices == 1))[:, None]
    free[:, 0] -= np.where(alone, ends[:, 2], ends[:, 0])
    free[:, 1] -= np.where(alone, 0.0, ends[:, 1])
    single = (rows.devices == 1)[:, None, None]
    free[:, :2] = np.where(single, free[:, :2], np.maximum(free[:, :2], 0.0))
    free = np.where(allowed[:, None, :], free * (1 + 1e-12), -1.0)
    held = np.stack(size, axis=2).swapaxes(3, 4)[:, :, :, used]
    return count, np.repeat(held, clocks, axis=3), np.repeat(free[:, :, used], clocks, axis=2)


def _groups(model: CostModel, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """(n, c) stages of each class, and the micro-batches in flight of its emptiest stage."""
    devices, m = rows.devices, rows.micro_batches(model)
    count = np.zeros((len(rows), 2 + _GROUPS))
    flying = np.zeros_like(count)
    for stages in np.unique(devices).tolist():
        at = np.flatnonzero(devices == stages)
        held = least_in_flight(rows.take(at), m[at], stages)
        parts = [np.arange(1), np.arange(stages - 1, stages)[: stages - 1]]
        parts += np.array_split(np.arange(1, max(stages - 1, 1)), _GROUPS)
        for column, part in enumerate(parts):
            count[at, column] = len(part)
            if len(part):
                flying[at, column] = held[:, part].min(axis=1)
    return count, flying


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
