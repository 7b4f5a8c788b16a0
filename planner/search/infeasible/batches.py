"""Which global batches the meshes and micro-batches of a question divide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import IntArray
from planner.cost.job import LARGEST_BATCH
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import Meshes, enumerate_meshes


def batches_nearby(space: UniformSpace, chips: int) -> IntArray:
    """Sequences next to the present batch that the data ranks of some mesh divide, nearest first.

    Beside that, micro-batches that were asked for must divide them, and pipelines of some
    frameworks need a multiple of their stages.
    """
    meshes = _of_any_batch(space, chips)
    ranks, present = _ranks(meshes), space.model.job.global_batch
    rows = np.concatenate([ranks, ranks * meshes.columns["pp"]])
    units = np.unique(rows[:, None] * _sizes(space))
    below = present // units * units
    batches = np.unique(np.concatenate([below, below + units]))
    allowed = (batches >= 1) & (batches <= LARGEST_BATCH) & (batches != present)
    batches = batches[allowed]
    nearest_first = np.argsort(np.abs(batches - present), kind="stable")
    return np.asarray(batches[nearest_first])


def undivided(space: UniformSpace, chips: int) -> list[int]:
    """Sequences of which the batch has to be a multiple and is not; empty: it is not the reason.

    Each is the data ranks of a mesh that was asked for times a micro-batch; those are left out that
    are multiples of others.
    """
    if space.model.assumptions.token_granularity:  # every batch is dealt out evenly
        return []
    units = np.unique(_ranks(_of_any_batch(space, chips))[:, None] * _sizes(space))
    if (space.model.job.global_batch % units == 0).any():
        return []
    least: list[int] = []
    for unit in units.tolist():
        if all(unit % one for one in least):
            least.append(unit)
    return least


def _of_any_batch(space: UniformSpace, chips: int) -> Meshes:
    """The meshes that were asked for, whatever the batch: whatever divides the chips divides it."""
    job = replace(space.model.job, global_batch=chips)
    return enumerate_meshes(replace(space.model, job=job), (chips,), space.options)


def _ranks(meshes: Meshes) -> IntArray:
    return np.asarray(meshes.columns["dp"] * meshes.columns["fsdp"])


def _sizes(space: UniformSpace) -> IntArray:
    """Micro-batches that were asked for; 1 where they are free."""
    return np.array(sorted(space.options.fixed.get("micro_batch", {1})))
