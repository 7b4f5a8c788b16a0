"""Bytes per chip of stages from below, linear in counts of layers, and the bound LB2 from them.

A stage with n_r layers of one kind in recomputation r holds at least

    base_z + end bytes + max over used r of working_r + sum_r n_r (state_z + held_i kept_r)

bytes under sharding z. All come from `planner.cost.memory.memory` at none, one and two layers.
What an optimizer phase adds where nothing else is as large is left out, and so is what layers of
another kind hold. held_i counts micro-batches in flight; of interleaved stages, whose chunks are
held unequally often, the least that any division among chunks holds.

At the moment when interleaved chunks of one layer each hold most, h_c micro-batches of chunk c, a
stage of n_0 layers in the first recomputation and n_r in the others holds at least

    kept_0 sum_c (h_c - h_min) + n_0 h_min kept_0
        + sum_r n_r (h_min kept_r - (h_max - h_min) (kept_0 - kept_r)):

every chunk but the first and the last of all has a layer, which n_r layers make smaller. So do
layers of another kind: then kept_0 is the least that one of them keeps, if that is less. Pairs of
ranks with both directions have two chunks, and one moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, BoolArray, FloatArray, IntArray, distinct
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.memory.in_flight import in_flight
from planner.cost.memory.memory import Memory
from planner.cost.stages.layout import StageClasses
from planner.cost.stages.rounds import lost_share
from planner.plan import AXES, SHARDINGS, PlanTable
from planner.schedules.orders import chunks_in_flight
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uneven.aligned import longest_chunks
from planner.search.uneven.bounds.time import RowForms, end_times
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, contents
from solvers.stages.filling import Stages, least_bottleneck

_HELD: tuple[str, ...] = (*AXES, "ep", "etp", "micro_batch", "schedule", "interleave")
_HELD += ("sequence_parallel", "cp_mode")
_AT_A_TIME = 400_000  # stages whose capacities are in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory(ArrayRecord):
    """Bytes of n rows, of layers of one kind; see the module.

    Attributes:
        kept: (n, r) bytes of a layer per micro-batch in flight.
        state: (n, r, z) bytes of a layer beside those.
        once: (n, r, z) bytes that recomputing needs once.
        base: (n, z) bytes of a stage with layers, beside those.
        ends: (n, 3, z) bytes that embedding, head, both add.
        first: (n,) of a layer, of this kind in the first recomputation or of another in any: bytes
            per micro-batch in flight at least.
    """

    kept: FloatArray
    state: FloatArray
    once: FloatArray
    base: FloatArray
    ends: FloatArray
    first: FloatArray


def stage_memory_of(model: CostModel, rows: Rows, kind: int) -> StageMemory:
    """The bytes of every row, of layers of one of `KINDS`."""
    first, which = distinct([getattr(rows.plans, name).astype(np.int64) for name in _HELD])
    plans = replace(rows.plans.take(first), layouts=())
    plans = replace(plans, order=np.zeros(len(first), dtype=np.int64))
    framework = replace(model.framework, optimizer_phase=0.0, widened_gradients=0.0)
    plain = replace(model, job=replace(model.job, framework=framework))
    stages = _up_to_two(kind)
    shape = (len(first), len(rows.recomputes), len(SHARDINGS))
    total, kept = np.empty((*shape, 6)), np.empty(shape)
    for r, recompute in enumerate(rows.recomputes):
        for z in range(len(SHARDINGS)):
            held = _held(plain, plans, stages, recompute, z)
            total[:, r, z] = held.total
            kept[:, r, z] = np.diff(held.parts["activations"][:, 4:], axis=1)[:, 0]
    pp, v = plans.pp[:, None], plans.interleave[:, None]
    m = rows.micro_batches(model)[first, None]
    flying = in_flight(plans.schedule[:, None], pp, v, m, np.zeros((len(first), 1)))
    slope = total[..., 5] - total[..., 4]
    level = total[..., 4] - slope
    base = level.min(axis=1)
    least = kept[:, 0, 0]
    for other in (at for at, name in enumerate(KINDS) if name in model.job.model.layer_kinds):
        if other != kind:
            for recompute in rows.recomputes:
                held = _held(plain, plans, _up_to_two(other), recompute, 0)
                saved = held.parts["activations"]
                least = np.minimum(least, saved[:, 5] - saved[:, 4])
    found = StageMemory(
        kept=kept[:, :, 0] / flying,
        first=least / flying[:, 0],
        state=slope - kept,
        once=level - base[:, None, :],
        base=base,
        ends=np.moveaxis(total[:, 0, :, 1:4] - total[:, 0, :, :1], 2, 1),
    )
    return _of_modes(found.take(which), rows.modes)


def _of_modes(room: StageMemory, modes: IntArray) -> StageMemory:
    """The same with the recomputation that stands in the place of each; see `Rows.modes`."""
    return replace(
        room,
        kept=np.take_along_axis(room.kept, modes, axis=1),
        state=np.take_along_axis(room.state, modes[..., None], axis=1),
        once=np.take_along_axis(room.once, modes[..., None], axis=1),
    )


def _up_to_two(kind: int) -> StageClasses:
    """Stages without layers with each combination of ends, then of one and of two layers."""
    count = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 2.0]])
    return contents(
        count * (kind == 0),
        count * (kind == 1),
        first=np.array([[0, 1, 0, 1, 0, 0]]),
        last=np.array([[0, 0, 1, 1, 0, 0]]),
    )


def _held(
    model: CostModel, plans: PlanTable, stages: StageClasses, recompute: int, sharding: int
) -> Memory:
    same = np.ones(len(plans), dtype=np.int64)
    table = replace(plans, recompute=recompute * same, sharding=sharding * same)
    return memory_table(model, table, stages)


def least_in_flight(rows: Rows, m: FloatArray, devices: int) -> FloatArray:
    """(n, d) micro-batches in flight of every device, at least, of rows with as many.

    Pair d of ranks with both directions holds d + 1 of its far chunk. Of an interleaved stage with
    x_c layers on chunk c, the most over moments of sum_c h_c x_c is at least its mean over moments,
    and at least every moment's; both with the least h of all chunks.
    """
    plans, place = rows.plans, np.arange(devices)[None, :].astype(np.float64)
    held = in_flight(
        plans.schedule[:, None],
        plans.pp[:, None],
        plans.interleave[:, None],
        m[:, None],
        place,
    )
    held = np.where(rows.both_ways[:, None], place + 1, held)
    for v, rounds, at in _interleaved(rows, m, devices):
        chunks = chunks_in_flight(devices, v, devices * rounds).astype(np.float64)
        mean = chunks.mean(axis=1).min(axis=1)
        held[at] = np.maximum(mean, chunks.min(axis=2).max(axis=1))[None, :]
    return np.minimum(held, m[:, None])


def fullest_moment(
    rows: Rows, m: FloatArray, devices: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n, d) micro-batches in flight when a device of one layer per chunk holds most.

    The least of all chunks, the most, and what all chunks with a layer at least hold beyond the
    least: of interleaved stages and of pairs of ranks. Of others: what the stage holds, the same,
    0.
    """
    low = least_in_flight(rows, m, devices)
    place = np.arange(devices)[None, :]
    pairs = rows.both_ways[:, None] & (place > 0)
    high = np.where(pairs, rows.plans.pp[:, None] - place, low)
    beyond = high - low
    for v, rounds, at in _interleaved(rows, m, devices):
        chunks = chunks_in_flight(devices, v, devices * rounds).astype(np.float64)
        chunks = np.minimum(chunks, devices * rounds)
        layers = np.ones((devices, v))
        layers[0, 0] = layers[-1, -1] = 0.0
        moment = (chunks * layers[:, None, :]).sum(axis=2).argmax(axis=1)
        held = chunks[np.arange(devices), moment]
        low[at] = held.min(axis=1)
        high[at] = held.max(axis=1)
        beyond[at] = ((held - held.min(axis=1, keepdims=True)) * layers).sum(axis=1)
    return low, high, beyond


def _interleaved(rows: Rows, m: FloatArray, devices: int) -> Iterator[tuple[int, int, IntArray]]:
    """Interleaves above 1 with the rounds of micro-batches that matter, and their rows."""
    whole = np.minimum(np.maximum(np.ceil(m / devices), 1), 3)
    for v in np.unique(rows.plans.interleave).tolist():
        for rounds in (1, 2, 3):
            at = np.flatnonzero((rows.plans.interleave == v) & (whole == rounds))
            if v > 1 and len(at):
                yield v, rounds, at


def second_bound(
    model: CostModel, limits: Limits, rows: Rows, forms: RowForms, upper_s: float
) -> FloatArray:
    """(n,) LB2 in seconds; inf where the stages have no room for all layers within `upper_s`.

    Where a model has two kinds of layers, each kind alone must find room.

    Args:
        model, limits: Job and machine, memory per chip.
        rows: n rows.
        forms: Theirs.
        upper_s: Plans that take longer are not wanted; inf: all are.
    """
    wanted = second_step_s(model, rows, forms, forms.slowest) < upper_s
    alive = np.flatnonzero(wanted)
    limit = limits.chip_bytes(model)
    for search in (False, True):
        slowest = forms.slowest.copy()
        for kind, layers in _by_count(model):
            room = stage_memory_of(model, rows.take(alive), kind)
            kept = np.zeros(len(rows), dtype=np.bool_)
            tau, ends = forms.layer[:, kind], forms.ends
            for at, stages in _groups(model, rows, alive, tau, ends, room, layers, limit):
                highest = _highest(stages, forms.take(at), upper_s)
                if search:
                    slowest[at] = least_bottleneck(stages, slowest[at], highest)
                    kept[at] = np.isfinite(slowest[at])
                else:
                    kept[at] = stages.fits(highest)
            alive = np.flatnonzero(kept)
    found = np.full(len(rows), np.inf)
    found[alive] = second_step_s(model, rows.take(alive), forms.take(alive), slowest[alive])
    return found


def _by_count(model: CostModel) -> list[tuple[int, int]]:
    """Index in `KINDS` and number of the layers of each kind, the most first."""
    kinds = model.job.model.layer_kinds
    counts = [(at, kinds.count(name)) for at, name in enumerate(KINDS) if name in kinds]
    return sorted(counts, key=lambda one: -one[1])


def _groups(
    model: CostModel,
    rows: Rows,
    alive: IntArray,
    tau: FloatArray,
    ends: FloatArray,
    room: StageMemory,
    layers: int,
    limit: float,
) -> Iterator[tuple[IntArray, Stages]]:
    """Some rows with as many devices, and these; `room` is of those `alive`."""
    for part in parts_of(rows.devices[alive]):
        at = alive[part]
        here = (rows.take(at), tau[at], ends[at], room.take(part))
        yield at, stages_in_memory(model, *here, layers, limit)


def _highest(stages: Stages, forms: RowForms, upper_s: float) -> FloatArray:
    """(n,) the largest bottleneck that is wanted; all layers on one stage where every one is."""
    if np.isfinite(upper_s):
        return forms.slowest_within(upper_s)
    slow = stages.tau.max(axis=(1, 2), where=np.isfinite(stages.tau), initial=0.0)
    return np.asarray(slow * stages.layers + stages.ends.max(axis=1))


def fits_in_memory(
    model: CostModel, limits: Limits, rows: Rows, deadline: Deadline = NEVER
) -> BoolArray:
    """(n,) rows whose stages have room for all layers of each kind, whatever that takes.

    Raises:
        OutOfTime: The deadline passed.
    """
    codes = rows.shardings @ (1 << np.arange(rows.shardings.shape[1]))
    keys = [getattr(rows.plans, name).astype(np.int64) for name in _HELD]
    first, which = distinct([*keys, codes, *rows.modes.T])
    few, limit = rows.take(first), limits.chip_bytes(model)
    ok = np.ones(len(few), dtype=np.bool_)
    free = np.where(few.shardings[:, None, :], 0.0, np.inf)
    tau = np.repeat(free, len(few.recomputes), axis=1)
    for kind, layers in _by_count(model):
        alive, ends = np.flatnonzero(ok), np.zeros((len(few), 2))
        room = stage_memory_of(model, few.take(alive), kind)
        for at, stages in _groups(model, few, alive, tau, ends, room, layers, limit):
            deadline.check()
            ok[at] = stages.fits(np.ones(len(at)))
    return ok[which]


def second_step_s(model: CostModel, rows: Rows, forms: RowForms, slowest: FloatArray) -> FloatArray:
    """(n,) step times, with the fullest device and the longest chunks of interleaved rows.

    `planner.search.uneven.aligned` says how many layers these have. Chunks of identical layers
    that differ, the longer ones first, do so by a layer at least, of which the first recompute no
    fewer; no more devices have layers of a second kind than there are such layers.
    """
    step = forms.step_s(slowest)
    at = np.flatnonzero(rows.plans.interleave > 1)
    if not model.assumptions.bubbles or not len(at):
        return step
    here, layers, plans = forms.take(at), model.job.model.layers, rows.plans.take(at)
    keys = [plans.pp.astype(np.int64), plans.interleave.astype(np.int64), rows.fullest[at]]
    first, which = distinct(keys)
    shapes = np.stack(keys, axis=1)[first].tolist()
    known = np.array([longest_chunks(layers, pp, v, n, rows.layers) for pp, v, n in shapes])[which]
    layer = here.layer.min(axis=(2, 3))
    tau = layer[:, [kind in model.job.model.layer_kinds for kind in KINDS]].min(axis=1)
    paced = here.paced[:, 0] * np.maximum(slowest[at], known[:, 0] * tau)
    filled = known[:, 1] * tau + here.ends.sum(axis=1) / plans.interleave
    counts = [layers for _, layers in _by_count(model)]
    differ = np.maximum(known[:, 2] - sum(counts[1:]), 0)
    filled += differ * tau * lost_share(rows.take(at).micro_batches(model), plans.pp)
    whole = (paced + filled + here.constant) * here.factor * ROUNDED_DOWN
    step[at] = np.maximum(step[at], whole)
    return step


def by_fullest(
    model: CostModel, rows: Rows, forms: RowForms, bounds: FloatArray
) -> tuple[Rows, IntArray, FloatArray]:
    """Rows of each number of layers that the fullest device may have, whose they are, and bounds.

    Of n rows and their forms, with (n,) `bounds` in seconds that no plan of a row goes below.
    """
    split, of = rows.by_fullest(model.job.model.layers)
    steps = second_step_s(model, split, forms.take(of), forms.slowest[of])
    return split, of, np.maximum(bounds[of], steps)


def parts_of(devices: IntArray, copies: int = 1, most: int = _AT_A_TIME) -> Iterator[IntArray]:
    """Rows with as many devices, in parts that fit in memory.

    Args:
        devices: (n,) of every row.
        copies: How often a table has each of their stages.
        most: Stages in memory at once.
    """
    for count in np.unique(devices).tolist():
        rows = np.flatnonzero(devices == count)
        yield from np.array_split(rows, len(rows) * count * copies // most + 1)


def stages_in_memory(
    model: CostModel,
    rows: Rows,
    tau: FloatArray,
    both: FloatArray,
    room: StageMemory,
    layers: int,
    limit: float,
) -> Stages:
    """The stages of rows with as many of them, as `solvers.stages.filling` takes them.

    Args:
        model: Job and machine.
        rows: n rows.
        tau: (n, r, z) seconds of a layer.
        both: (n, 2) seconds of embedding and head.
        room: Of these rows.
        layers: That must find room.
        limit: Bytes per chip.
    """
    devices = int(rows.devices[0]) if len(rows) else 1
    m, kept = rows.micro_batches(model), room.kept
    held = least_in_flight(rows, m, devices)
    state = room.state[:, None]
    size = state + held[:, :, None, None] * kept[:, None, :, None]
    ends = np.zeros((len(rows), devices))
    free = np.repeat(limit - room.base[:, None, :], devices, axis=1)
    first, last = np.moveaxis(end_times(rows, both), 1, 0)
    ends[:, 0] += first
    ends[:, -1] += last
    both_on_one = (rows.both_ways | (devices == 1))[:, None]
    free[:, 0] -= np.where(both_on_one, room.ends[:, 2], room.ends[:, 0])
    free[:, -1] -= np.where(both_on_one, 0.0, room.ends[:, 1])
    stages = Stages(
        tau=tau,
        ends=ends,
        size=size,
        once=room.once,
        room=free * (1 + 1e-12),
        layers=layers,
    )
    if not ((rows.plans.interleave > 1) | rows.both_ways).any():
        return stages
    low, high, beyond = fullest_moment(rows, m, devices)
    saved = np.maximum(room.first[:, None] - kept, 0.0)[:, None, :]
    later = low[:, :, None] * kept[:, None, :] - (high - low)[:, :, None] * saved
    free_later = free - (beyond * room.first[:, None])[:, :, None]
    return replace(
        stages,
        size_later=state + later[..., None],
        room_later=free_later * (1 + 1e-12),
    )
