"""The outer nodes of a search: every partial plan on some chip counts, with its lower bounds.

A partial plan has one corner for each clock; where memory is an objective, one for each clock and
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
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.mesh_memory import NOTHING_FITS, least_recompute, partial_plan_bytes
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.space import PARTIAL_PLAN, PartialPlans, cross_partial_plans

_COUNTS_AT_A_TIME = 128  # chip counts whose meshes are in memory before the rules have passed them


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Partial plans on which something may fit in memory.

    Attributes:
        partial_plans: n of them.
        corners: (n, q, d) lower bounds of the objectives asked for.
        columns: Those objectives.
        counts: "factorizations", "meshes" and "partial_plans": considered, dropped by each rule,
            and what passed.
    """

    partial_plans: PartialPlans
    corners: FloatArray
    columns: Columns
    counts: dict[str, dict[str, int]]


def build_nodes(
    model: CostModel,
    chip_counts: Sequence[int],
    options: SpaceOptions,
    limits: Limits,
    clocks: FloatArray,
    columns: Columns,
    deadline: Deadline,
    *,
    bounded: bool = True,
) -> Nodes:
    """All nodes on some chip counts.

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
        partial_plans = cross_partial_plans(model, meshes, options)
        if bounded:
            corners = _corners(
                model, partial_plans, least, clocks, columns, options, limits, deadline
            )
        else:
            corners = np.full((len(partial_plans), len(clocks), len(columns)), -np.inf)
        counts = {**meshes.counts, "partial_plans": partial_plans.counts}
        parts.append(
            Nodes(partial_plans=partial_plans, corners=corners, columns=columns, counts=counts)
        )
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
    partial_plans: PartialPlans,
    least: IntArray,
    clocks: FloatArray,
    columns: Columns,
    options: SpaceOptions,
    limits: Limits,
    deadline: Deadline,
) -> FloatArray:
    """(n, q, d) lower bounds; inf where a mesh has no plan with that recomputation."""
    if len(partial_plans) == 0:
        return np.empty((0, len(clocks), len(columns)))
    orders = options.orders(model.framework)
    bounds = None
    if not all(column.of_memory for column in columns):
        layouts = EFFICIENT if options.torus else NO_LAYOUTS
        bounds = PartialPlanBounds.build(model, partial_plans, orders, deadline, layouts)
    chips = partial_plans.chips
    if bounds is not None and not any(column.of_memory for column in columns):
        low = bounds.corners(least, clocks, deadline)
        return corners_of(columns, model, limits, chips, _low(low, chips))
    parts = []
    for recompute in (NO_RECOMPUTE, SELECTIVE, FULL):
        deadline.check()
        low = np.zeros((len(partial_plans), len(clocks), 2))
        if bounds is not None:
            same = np.full(len(partial_plans.meshes), recompute)
            low = bounds.corners(same, clocks, deadline)
        held = partial_plan_bytes(model, partial_plans, recompute, offload=options.offload)
        found = corners_of(columns, model, limits, chips, _low(low, chips, held))
        found[least[partial_plans.mesh_id] > recompute] = np.inf
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


def _joined(parts: list[Nodes]) -> Nodes:
    first = np.cumsum([0] + [len(part.partial_plans.meshes) for part in parts])
    counts: dict[str, dict[str, int]] = {}
    for part in parts:
        for stage, numbers in part.counts.items():
            into = counts.setdefault(stage, {})
            for name, number in numbers.items():
                into[name] = into.get(name, 0) + number
    columns = [part.partial_plans.meshes.columns for part in parts]
    meshes = Meshes(
        columns={name: np.concatenate([c[name] for c in columns]) for name in columns[0]},
        counts={name: counts[name] for name in ("factorizations", "meshes")},
    )
    partial_plans = PartialPlans(
        meshes=meshes,
        mesh_id=np.concatenate(
            [part.partial_plans.mesh_id + at for part, at in zip(parts, first, strict=False)]
        ),
        columns={
            name: np.concatenate([part.partial_plans.columns[name] for part in parts])
            for name in PARTIAL_PLAN
        },
        counts=counts["partial_plans"],
    )
    corners = np.concatenate([part.corners for part in parts])
    return Nodes(
        partial_plans=partial_plans, corners=corners, columns=parts[0].columns, counts=counts
    )
