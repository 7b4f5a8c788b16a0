"""Which meshes cannot hold the job, whatever is chosen on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.vocabulary import MESH_AXES
from planner.cost.columns import micro_batches
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.stages.layout import StageClasses
from planner.plan import (
    DDP,
    DEFAULT_ORDER,
    FULL,
    NO_RECOMPUTE,
    OFFLOAD_OPTIMIZER,
    OFFLOAD_WEIGHTS,
    RING,
    SELECTIVE,
    SPLITS,
    ZERO2,
    ZERO3,
    PlanTable,
)
from planner.plan.recomputations import contains, inner_first
from planner.question.options import SpaceOptions
from planner.schedules import ScheduleColumn, code_of_schedule, schedule_of
from planner.schedules.schedule import Schedule
from planner.search.limits import Limits
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uniform.meshes import Meshes, divides_layers
from planner.search.uniform.space import PartialPlans, asks_modules, chunkings, recomputes

NOTHING_FITS = -1
Pipeline = tuple[int, int, int]
"""Code of a schedule, interleave, code of a layer split."""
_EVERYTHING = 7
_AT_A_TIME = 8192  # plans: what their memory needs stays in the cache


def least_recompute(
    model: CostModel,
    meshes: Meshes,
    limits: Limits,
    *,
    offload: bool,
    codes: Sequence[int] = (NO_RECOMPUTE, SELECTIVE, FULL),
) -> IntArray:
    """(m, r) the least recomputations with which anything on a mesh fits on the chip.

    Of those of `codes` with which something fits, each that does not do all of another one: any
    other does all of one of them, and takes no less time. Rows with fewer than r repeat the first;
    `NOTHING_FITS` where there is none.
    """
    limit = limits.chip_bytes(model)
    pipelines, order = lean_pipelines(model, meshes), inner_first(codes)
    least = np.zeros((len(meshes), len(order)), dtype=np.bool_)
    for at, recompute in enumerate(order):
        inside = [j for j, other in enumerate(order[:at]) if contains(recompute, other)]
        todo = np.flatnonzero(~least[:, inside].any(axis=1))
        if not len(todo):
            continue
        here = {pipeline: np.flatnonzero(runs[todo]) for pipeline, runs in pipelines.items()}
        held = mesh_bytes(model, meshes.take(todo), here, recompute, offload=offload)
        least[todo[held <= limit], at] = True
    return _in_rows(least, np.array(order))


def searched_recomputes(model: CostModel, options: SpaceOptions) -> list[int]:
    """The recomputations that bounds look at: those of the plans, or all that name no modules."""
    if not asks_modules(options):
        return [NO_RECOMPUTE, SELECTIVE, FULL]
    codes = np.array(recomputes(model, options))
    return [int(code) for code in codes[options.allows("recompute", codes)]]


def _in_rows(chosen: BoolArray, codes: IntArray) -> IntArray:
    """(m, r) the codes chosen in each row, the first one again where there are fewer than r."""
    first = np.argsort(~chosen, axis=1, kind="stable")[
        :, : max(chosen.sum(axis=1).max(initial=1), 1)
    ]
    found = np.where(np.take_along_axis(chosen, first, axis=1), codes[first], NOTHING_FITS)
    return np.where(found == NOTHING_FITS, found[:, :1], found)


def as_wide(least: IntArray, other: IntArray) -> IntArray:
    """Rows of `least_recompute`, as long as another's where those are longer."""
    more = max(other.shape[1] - least.shape[1], 0)
    return np.concatenate([least, np.repeat(least[:, :1], more, axis=1)], axis=1)


def partial_plan_bytes(
    model: CostModel, partial_plans: PartialPlans, recompute: int, *, offload: bool
) -> FloatArray:
    """(n,) bytes per chip that nothing on a partial plan with a recomputation goes below."""
    meshes = partial_plans.meshes.take(partial_plans.mesh_id)
    least = np.full(len(partial_plans), np.inf)
    for sharding, mask in product(_lean_shardings(meshes), _lean_offloads(offload=offload)):
        plans = _lean_plans(meshes, sharding, recompute, mask)
        plans = replace(plans, **partial_plans.columns)  # type: ignore[arg-type]
        least = np.minimum(least, memory_table(model, plans).peak)
    return least * ROUNDED_DOWN


def mesh_bytes(
    model: CostModel,
    meshes: Meshes,
    pipelines: dict[Pipeline, IntArray],
    recompute: int,
    *,
    offload: bool,
) -> FloatArray:
    """(m,) bytes per chip that nothing on a mesh with a recomputation goes below.

    The leanest plans have one sequence per micro-batch, one of some pipelines on the meshes
    (see `lean_pipelines`), sequence parallelism, zero2 or zero3 and, where allowed, all offloads.
    Every other plan on the mesh needs at least as many bytes as one of them. Where layers are of
    two kinds, an interleave of 1F1B may mix them differently; then the mean stage is taken, without
    buffers: no fullest stage is below it.
    """
    least = np.full(len(meshes), np.inf)
    for plain in (True, False):
        bytes_of = _lower_bytes if plain else _own_bytes
        some = {p: at for p, at in pipelines.items() if plain == (p[0] == code_of_schedule("1f1b"))}
        rows, plans = _leanest(meshes, some, recompute, offload=offload)
        for start in range(0, len(rows), _AT_A_TIME):
            here = np.arange(start, min(start + _AT_A_TIME, len(rows)))
            np.minimum.at(least, rows[here], bytes_of(model, plans.take(here)))
    return least * ROUNDED_DOWN


def _leanest(
    meshes: Meshes, pipelines: dict[Pipeline, IntArray], recompute: int, *, offload: bool
) -> tuple[IntArray, PlanTable]:
    """(r,) meshes, and a plan on each, of which one is the leanest of a mesh and its pipelines."""
    first, second = _lean_shardings(meshes)
    rows, tables = [], []
    for (pipeline, at), mask in product(pipelines.items(), _lean_offloads(offload=offload)):
        for sharding, here in ((first, at), (second, at[second[at] != first[at]])):
            rows.append(here)
            tables.append(_lean_plans(meshes.take(here), sharding[here], recompute, mask, pipeline))
    if not rows:
        return np.empty(0, dtype=np.int64), PlanTable.from_plans([])
    return np.concatenate(rows), PlanTable.joined(tables)


def lean_pipelines(model: CostModel, meshes: Meshes) -> dict[Pipeline, BoolArray]:
    """Pipelines of which one is the leanest on each mesh, and (m,) which meshes they run on.

    1F1B without interleave, with every split of the framework, holds the fewest micro-batches of
    those that deal layers as it does, and no more layers where others keep copies of them. What
    deals layers in another way, or holds less of some micro-batches, stands for itself.
    """
    columns = meshes.columns
    plain = code_of_schedule("1f1b")
    found = {
        (plain, 1, split): divides_layers(model, columns["pp"], split)
        for split in (SPLITS.index(name) for name in model.framework.splits)
    }
    sequences = model.job.global_batch // (columns["dp"] * columns["fsdp"])
    offered = [schedule_of(name) for name in model.framework.schedules]
    for pp in np.unique(columns["pp"][columns["pp"] > 1]).tolist():
        here = columns["pp"] == pp
        m, pairs = np.unique(sequences[here]), chunkings(model, pp, SpaceOptions())
        for schedule, v in product(offered, {v for v, _ in pairs}):
            if schedule.fits_interleave(np.array(v)) and _leaner(schedule, pp, v, m):
                for split in (split for w, split in pairs if w == v):
                    key = code_of_schedule(schedule.name), v, split
                    found[key] = found.get(key, False) | here
    return found


def _leaner(schedule: Schedule, pp: int, v: int, m: IntArray) -> bool:
    """Whether a stage may hold less than under 1F1B without interleave, for some micro-batches."""
    plain = schedule_of("1f1b")
    if schedule.bidirectional or schedule is plain:
        return False
    codes = np.array([code_of_schedule(one.name) for one in (schedule, plain)])
    own, others = ScheduleColumn(codes).dealt_as
    if schedule.lists_chunks or own != others:
        return True
    at = (np.array(pp), np.array(v), m[:, None].astype(np.float64), np.arange(float(pp)))
    return bool((schedule.in_flight(*at) < plain.in_flight(*at)).any())


def _own_bytes(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) bytes per chip that lean plans hold under their own schedule, or more.

    Activations are left out where a simulated order counts them: it may need other micro-batches.
    """
    simulated = plans.schedules.values("lists_chunks")
    m = np.where(simulated, 0, micro_batches(model, plans))
    return memory_table(model, plans, m=m).peak


def _lean_shardings(meshes: Meshes) -> tuple[IntArray, IntArray]:
    """(m,) shardings of which one is the leanest on each mesh: with and without gathers."""
    columns = meshes.columns
    gathers = columns["cp"] * columns["fsdp"] > 1
    shares = gathers | (columns["dp"] > 1)
    plain = np.where(shares, ZERO2, DDP)
    return np.where(gathers, ZERO3, plain), np.where(columns["fsdp"] > 1, ZERO3, plain)


def _lean_offloads(*, offload: bool) -> tuple[int, ...]:
    """Sets of offloads of which one is the leanest."""
    return (0, OFFLOAD_OPTIMIZER | OFFLOAD_WEIGHTS, _EVERYTHING) if offload else (0,)


def _lower_bytes(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) bytes per chip that no interleave of a lean plan goes below."""
    kinds = model.job.model.layer_kinds
    plain = memory_table(model, plans).peak
    if len(set(kinds)) == 1:
        return plain
    pp = plans.pp[:, None].astype(np.float64)
    zero = np.zeros_like(pp)
    mean = StageClasses(
        dense=kinds.count("dense") / pp,
        moe=kinds.count("moe") / pp,
        count=pp,
        first=zero,
        last=zero,
        position=pp - 1,
    )
    held = memory_table(model, plans, mean)
    lower = (held.total - held.parts["buffers"]).max(axis=1)
    return np.where(plans.pp == 1, plain, lower)


def _lean_plans(
    meshes: Meshes,
    sharding: IntArray,
    recompute: int,
    mask: int,
    pipeline: Pipeline = (0, 1, 0),
) -> PlanTable:
    schedule, interleave, split = pipeline
    size = len(meshes)

    def same(value: int) -> IntArray:
        return np.full(size, value, dtype=np.int64)

    return PlanTable(
        **{name: meshes.columns[name] for name in MESH_AXES},  # type: ignore[arg-type]
        micro_batch=same(1),
        interleave=same(interleave),
        schedule=same(schedule),
        sharding=sharding,
        sequence_parallel=meshes.columns["tp"] > 1,
        cp_mode=same(RING),
        recompute=same(recompute),
        offload=same(mask),
        order=same(DEFAULT_ORDER),
        split=same(split),
        clock=np.ones(size),
    )
