"""Which meshes cannot hold the job, whatever is chosen on them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import MESH_AXES
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
from planner.schedules import code_of_schedule
from planner.search.limits import Limits
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uniform.meshes import Meshes, divides_layers
from planner.search.uniform.space import Skeletons

NOTHING_FITS = -1
_EVERYTHING = 7


def least_recompute(model: CostModel, meshes: Meshes, limits: Limits, *, offload: bool) -> IntArray:
    """(m,) the least recomputation with which anything on a mesh fits on the chip.

    A code of `planner.plan.RECOMPUTES`, or `NOTHING_FITS`.
    """
    limit = limits.chip_bytes(model)
    least = np.full(len(meshes), NOTHING_FITS, dtype=np.int64)
    for recompute in (NO_RECOMPUTE, SELECTIVE, FULL):
        todo = np.flatnonzero(least == NOTHING_FITS)
        held = _leanest(model, meshes.take(todo), recompute, offload=offload)
        least[todo[held * ROUNDED_DOWN <= limit]] = recompute
    return least


def skeleton_bytes(
    model: CostModel, skeletons: Skeletons, recompute: int, *, offload: bool
) -> FloatArray:
    """(n,) bytes per chip that nothing on a skeleton with a recomputation goes below."""
    meshes = skeletons.meshes.take(skeletons.mesh_id)
    least = np.full(len(skeletons), np.inf)
    for sharding, mask in product(_lean_shardings(meshes), _lean_offloads(offload=offload)):
        plans = _lean_plans(meshes, sharding, recompute, mask, 0)
        plans = replace(plans, **skeletons.columns)  # type: ignore[arg-type]
        least = np.minimum(least, memory_table(model, plans).peak)
    return least * ROUNDED_DOWN


def _leanest(model: CostModel, meshes: Meshes, recompute: int, *, offload: bool) -> FloatArray:
    """(m,) bytes per chip of the leanest plan with a recomputation.

    The leanest plans have one sequence per micro-batch, 1F1B without interleave (which hold the
    fewest micro-batches and the same layers per stage), sequence parallelism, zero2 or zero3, one
    of the framework's layer splits and, where allowed, all offloads. Every other plan on the mesh
    needs at least as many bytes as one of them. Where layers are of two kinds, an interleave may
    mix them differently; then the mean stage is taken, without buffers: no fullest stage is below
    it.
    """
    least = np.full(len(meshes), np.inf)
    shardings, masks = _lean_shardings(meshes), _lean_offloads(offload=offload)
    for split in (SPLITS.index(name) for name in model.framework.splits):
        at = np.flatnonzero(divides_layers(model, meshes.columns["pp"], split))
        for sharding, mask in product(shardings, masks):
            if len(at):
                plans = _lean_plans(meshes.take(at), sharding[at], recompute, mask, split)
                least[at] = np.minimum(least[at], _lower_bytes(model, plans))
    return least


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
    meshes: Meshes, sharding: IntArray, recompute: int, mask: int, split: int
) -> PlanTable:
    size = len(meshes)

    def same(value: int) -> IntArray:
        return np.full(size, value, dtype=np.int64)

    return PlanTable(
        **{name: meshes.columns[name] for name in MESH_AXES},  # type: ignore[arg-type]
        micro_batch=same(1),
        interleave=same(1),
        schedule=same(code_of_schedule("1f1b")),
        sharding=sharding,
        sequence_parallel=meshes.columns["tp"] > 1,
        cp_mode=same(RING),
        recompute=same(recompute),
        offload=same(mask),
        order=same(DEFAULT_ORDER),
        split=same(split),
        clock=np.ones(size),
    )
