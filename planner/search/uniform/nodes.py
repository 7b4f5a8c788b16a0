"""The outer boxes of a search: every skeleton on some chip counts, with its lower bounds.

A skeleton has one corner for each clock; where memory is an objective, one for each clock and
recomputation, because recomputation trades time for memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.objectives import Costs
from planner.plan import FULL, NO_RECOMPUTE, SELECTIVE
from planner.question.options import SpaceOptions
from planner.search.columns import Columns, corners_of
from planner.search.deadline import Deadline
from planner.search.limits import Limits
from planner.search.placements.groups import EFFICIENT, NO_LAYOUTS
from planner.search.uniform.bounds import SkeletonBounds
from planner.search.uniform.mesh_memory import NOTHING_FITS, least_recompute, skeleton_bytes
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.space import SKELETON, Skeletons, cross_skeletons

_COUNTS_AT_A_TIME = 128  # chip counts whose meshes are in memory before the rules have passed them


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Skeletons on which something may fit in memory.

    Attributes:
        skeletons: n of them.
        corners: (n, q, d) lower bounds of the objectives asked for.
        columns: Those objectives.
        counts: "factorizations", "meshes" and "skeletons": considered, dropped by each rule, and
            what passed.
    """

    skeletons: Skeletons
    corners: FloatArray
    columns: Columns
    counts: dict[str, dict[str, int]]


def build_boxes(
    model: CostModel,
    chip_counts: Sequence[int],
    options: SpaceOptions,
    limits: Limits,
    clocks: FloatArray,
    columns: Columns,
    deadline: Deadline,
    *,
    bounded: bool = True,
) -> Boxes:
    """All boxes on some chip counts.

    Args:
        model: Job, cluster, assumptions.
        chip_counts: Chip counts that plans may use.
        options, limits: What is searched, and within what.
        clocks: (k,) relative clocks to try.
        columns: What the corners are of.
        deadline: When to give up.
        bounded: False leaves every corner at -inf.

    Raises:
        OutOfTime: The deadline passed.
    """
    parts = []
    for start in range(0, max(len(chip_counts), 1), _COUNTS_AT_A_TIME):
        deadline.check()
        here = tuple(chip_counts[start : start + _COUNTS_AT_A_TIME])
        meshes, least = fitting_meshes(model, here, options, limits)
        deadline.check()
        skeletons = cross_skeletons(model, meshes, options)
        if bounded:
            corners = _corners(model, skeletons, least, clocks, columns, options, limits, deadline)
        else:
            corners = np.full((len(skeletons), len(clocks), len(columns)), -np.inf)
        counts = {**meshes.counts, "skeletons": skeletons.counts}
        parts.append(Boxes(skeletons=skeletons, corners=corners, columns=columns, counts=counts))
    return parts[0] if len(parts) == 1 else _joined(parts)


def fitting_meshes(
    model: CostModel, chip_counts: tuple[int, ...], options: SpaceOptions, limits: Limits
) -> tuple[Meshes, IntArray]:
    """The meshes on which something fits in memory, with the recomputation that takes."""
    meshes = enumerate_meshes(model, chip_counts, options)
    least = least_recompute(model, meshes, limits, offload=options.offload)
    at = np.flatnonzero(least != NOTHING_FITS)
    counts = {name: dict(stage) for name, stage in meshes.counts.items()}
    counts["meshes"].pop("kept", None)
    tally = {"memory": len(meshes) - len(at), "searched": len(at)}
    counts["meshes"] |= {name: count for name, count in tally.items() if count}
    return replace(meshes.take(at), counts=counts), least[at]


def _corners(
    model: CostModel,
    skeletons: Skeletons,
    least: IntArray,
    clocks: FloatArray,
    columns: Columns,
    options: SpaceOptions,
    limits: Limits,
    deadline: Deadline,
) -> FloatArray:
    """(n, q, d) lower bounds; inf where a mesh has no plan with that recomputation."""
    if len(skeletons) == 0:
        return np.empty((0, len(clocks), len(columns)))
    orders = options.orders(model.framework)
    bounds = None
    if not all(column.of_memory for column in columns):
        layouts = EFFICIENT if options.torus else NO_LAYOUTS
        bounds = SkeletonBounds.build(model, skeletons, orders, deadline, layouts)
    chips = skeletons.chips
    if bounds is not None and not any(column.of_memory for column in columns):
        low = bounds.corners(least, clocks, deadline)
        return corners_of(columns, model, limits, chips, _low(low, chips))
    parts = []
    for recompute in (NO_RECOMPUTE, SELECTIVE, FULL):
        deadline.check()
        low = np.zeros((len(skeletons), len(clocks), 2))
        if bounds is not None:
            same = np.full(len(skeletons.meshes), recompute)
            low = bounds.corners(same, clocks, deadline)
        held = skeleton_bytes(model, skeletons, recompute, offload=options.offload)
        found = corners_of(columns, model, limits, chips, _low(low, chips, held))
        found[least[skeletons.mesh_id] > recompute] = np.inf
        parts.append(found)
    return np.concatenate(parts, axis=1)


def _low(low: FloatArray, chips: IntArray, held: FloatArray | None = None) -> Costs:
    """(n, k) lower bounds of every cost."""
    return Costs(
        step_time_s=low[:, :, 0],
        energy_j=low[:, :, 1],
        memory_bytes=np.nan if held is None else held[:, None],
        chips=chips.astype(np.float64)[:, None],
    )


def _joined(parts: list[Boxes]) -> Boxes:
    first = np.cumsum([0] + [len(part.skeletons.meshes) for part in parts])
    counts: dict[str, dict[str, int]] = {}
    for part in parts:
        for stage, numbers in part.counts.items():
            into = counts.setdefault(stage, {})
            for name, number in numbers.items():
                into[name] = into.get(name, 0) + number
    columns = [part.skeletons.meshes.columns for part in parts]
    meshes = Meshes(
        columns={name: np.concatenate([c[name] for c in columns]) for name in columns[0]},
        counts={name: counts[name] for name in ("factorizations", "meshes")},
    )
    skeletons = Skeletons(
        meshes=meshes,
        mesh_id=np.concatenate(
            [part.skeletons.mesh_id + at for part, at in zip(parts, first, strict=False)]
        ),
        columns={
            name: np.concatenate([part.skeletons.columns[name] for part in parts])
            for name in SKELETON
        },
        counts=counts["skeletons"],
    )
    corners = np.concatenate([part.corners for part in parts])
    return Boxes(skeletons=skeletons, corners=corners, columns=parts[0].columns, counts=counts)
