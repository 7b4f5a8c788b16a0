"""Galvatron's problem: a strategy for each layer, stages of equal layers, a micro-batch count.

With c_i the seconds of a micro-batch on stage i (its layers and its share of embedding and head)
and g_i the seconds that its layers take with their gradients reduced, a step of b takes

    max(sum_i c_i + (b - 1) c_last, f) + max(0, max_i (g_i - c_0 - ... - c_i))
    f = max(min(p - 1, b - 1) c_0, sum_(i > 0) c_i) + max(0, b + 1 - p) c_0

Layers are alike, so only counts of strategies matter, which memory of a stage limits. A task fixes
p, b, which strategies may be used, and buffers. Changes of strategies between layers are no part
of Galvatron's step; its own dynamic program adds them, stage by stage, to the g_i it minimises.

The search takes undominated counts of each stage in (c, g - c). Reductions of stages after the
second are left out of the step first, so that it never falls with c: what is then least is a
bound, and with them put back a plan.

Source: Miao et al., Galvatron, VLDB 2022; `cost_model_handler.py` and `dynamic_programming.py` of
its repository.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.frontier import nondominated
from solvers.stages.knapsack import mixes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_PER_SECOND = 1e12
"""Whole numbers of the knapsack: picoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task, with s strategies of layers and e of the embedding and the head.

    Attributes:
        batches: b.
        layers: (p,) layers of each stage.
        compute, synced: (s,) seconds of a layer without and with reducing its gradients.
        memory_mb: (p, s) whole megabytes of a layer.
        ends: (e, p) seconds of embedding and head.
        room_mb: (e, p) whole megabytes left for layers.
    """

    batches: int
    layers: tuple[int, ...]
    compute: Floats
    synced: Floats
    memory_mb: Ints
    ends: Floats
    room_mb: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A task, its strategy of embedding and head, and layers by stage and strategy, (p, s)."""

    task: int
    end: int
    counts: tuple[tuple[int, ...], ...]


def task_of(record: Mapping[str, Any]) -> Task:
    """A task from what the engine prints.

    Raises:
        ValueError: A reduction of gradients takes negative time.
    """
    compute, synced = (np.array(record[name], dtype=float) for name in ("compute", "synced"))
    if np.any(synced < compute):
        raise ValueError("reducing gradients must not save time")
    return Task(
        batches=record["batches"],
        layers=tuple(record["layers"]),
        compute=compute,
        synced=synced,
        memory_mb=np.array(record["memory_mb"], dtype=np.int64),
        ends=np.array(record["ends"], dtype=float),
        room_mb=np.array(record["room_mb"], dtype=np.int64),
    )


def seconds_per_step(tasks: Sequence[Task], plan: Plan) -> float:
    """The step of a plan by Galvatron's formula.

    Raises:
        ValueError: The plan breaks a limit.
    """
    task, counts = tasks[plan.task], np.array(plan.counts)
    if counts.sum(axis=1).tolist() != list(task.layers) or np.any(counts < 0):
        raise ValueError("every stage must hold its layers")
    for i, used in enumerate((counts * task.memory_mb).sum(axis=1).tolist()):
        if used > task.room_mb[plan.end, i]:
            raise ValueError(f"stage {i} does not fit")
    stages = counts @ task.compute + task.ends[plan.end]
    waits = counts @ task.synced - np.cumsum(stages)
    return float(_filled(task.batches, stages) + max(0.0, waits.max()))


def _filled(batches: int, stages: Floats) -> Floats:
    """The first term of the step by the last axis of (..., p) seconds."""
    p = stages.shape[-1]
    first, total = stages[..., 0], stages.sum(axis=-1)
    ramp = np.maximum(min(p - 1, batches - 1) * first, total - first)
    filled: Floats = np.maximum(
        total + (batches - 1) * stages[..., -1], ramp + max(0, batches + 1 - p) * first
    )
    return filled


def solve(tasks: Sequence[Task]) -> tuple[Plan, float, int]:
    """The best plan, a bound on all steps, and the number of tasks that were solved.

    Raises:
        ValueError: No plan fits.
    """
    fastest = [
        (float(_filled(task.batches, _least(task) + ends)), i, end)
        for i, task in enumerate(tasks)
        for end, ends in enumerate(task.ends)
    ]
    best: Plan | None = None
    least, bound, solved = math.inf, math.inf, set()
    fronts: dict[tuple[int, int], tuple[Ints, Ints]] = {}
    for above, i, end in sorted(fastest):
        if above >= least:
            bound = min(bound, above)
            break
        solved.add(i)
        for stage in range(len(tasks[i].layers)):
            if (i, stage) not in fronts:
                fronts[i, stage] = _mixes(tasks[i], stage)
        own = [fronts[i, stage] for stage in range(len(tasks[i].layers))]
        found = _best(tasks[i], end, own)
        if found is None:
            continue
        plan = Plan(task=i, end=end, counts=found[1])
        bound, value = min(bound, found[0]), seconds_per_step(tasks, plan)
        if value < least:
            best, least = plan, value
    if best is None:
        raise ValueError("no plan fits")
    return best, min(bound, least), len(solved)


def _least(task: Task) -> Floats:
    """(p,) seconds of the layers of each stage, each at its fastest."""
    return np.array(task.layers, dtype=np.float64) * float(task.compute.min())


def _mixes(task: Task, stage: int) -> tuple[Ints, Ints]:
    """(x, s) counts of the layers of a stage and their (x,) megabytes.

    No others are better in c, g - c and memory together.
    """
    table = np.stack(
        [
            np.rint(task.compute * _PER_SECOND),
            np.rint((task.synced - task.compute) * _PER_SECOND),
            task.memory_mb[stage],
        ],
        axis=-1,
    ).astype(np.int64)
    found = mixes(table[None, None], np.array([[task.layers[stage]]]))
    return found.counts[:, 0], found.values[:, 2]


def _best(
    task: Task, end: int, fronts: Sequence[tuple[Ints, Ints]]
) -> tuple[float, tuple[tuple[int, ...], ...]] | None:
    """The least step without reductions after the second stage, and the counts that reach it."""
    kept = []
    for stage, (counts, used) in enumerate(fronts):
        fits = counts[used <= task.room_mb[end, stage]]
        if len(fits) == 0:
            return None
        both = np.stack([fits @ task.compute, fits @ (task.synced - task.compute)], axis=1)
        kept.append(fits[nondominated(both)])
    # Of later stages only c counts, so that each takes its least.
    kept[2:] = [fits[[np.argmin(fits @ task.compute)]] for fits in kept[2:]]
    shape = tuple(len(fits) for fits in kept)
    place = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
    stages = np.stack(
        [(kept[i] @ task.compute)[place[:, i]] + task.ends[end, i] for i in range(len(shape))],
        axis=1,
    )
    synced = [(kept[i] @ task.synced)[place[:, i]] for i in range(min(2, len(shape)))]
    waits = np.stack(synced, axis=1) - np.cumsum(stages, axis=1)[:, : len(synced)]
    steps = _filled(task.batches, stages) + np.maximum(0.0, waits.max(axis=1))
    row = int(np.argmin(steps))
    chosen = [kept[i][at].tolist() for i, at in enumerate(place[row].tolist())]
    return float(steps[row]), tuple(tuple(counts) for counts in chosen)
