"""The outer nodes of a search: every partial plan on some chip counts, with its lower bounds.

A partial plan has one corner for each clock; where memory is an objective, one for each clock and
recomputation, because recomputation trades time for memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.cost.context import CostModel
from planner.objectives import Costs
from planner.plan import RECOMPUTATIONS
from planner.plan.recomputations import contains
from planner.question.options import SpaceOptions
from planner.search.columns import BOTH, Columns, asks_run, corners_of, least_runs
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits
from planner.search.placements.groups import EFFICIENT, NO_LAYOUTS
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.mesh_memory import (
    NOTHING_FITS,
    as_wide,
    least_recompute,
    partial_plan_bytes,
    searched_recomputes,
)
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.space import (
    PARTIAL_PLAN,
    PartialPlans,
    cross_partial_plans,
)

_COUNTS_AT_A_TIME = 128  # chip counts whose meshes are in memory before the rules have passed them


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What nodes stand on, for a search of the same job with other limits or other targets.

    Attributes:
        model, chips, options, clocks: Of the nodes.
        meshes: What the rules allow, whatever fits in memory.
        chip_bytes: The limit on memory, of all plans the loosest.
        fitting: (meshes, r) the recomputations that each takes within it, or `NOTHING_FITS`.
        partial_plans: The nodes.
        least: (meshes of the nodes, r) the recomputations that each takes.
        low: (n, k, 2) lower bounds of time and energy.
    """

    model: CostModel
    chips: tuple[int, ...]
    options: SpaceOptions
    clocks: FloatArray
    meshes: Meshes
    chip_bytes: float
    fitting: IntArray
    partial_plans: PartialPlans
    least: IntArray
    low: FloatArray

    def holds_for(
        self, model: CostModel, chips: tuple[int, ...], options: SpaceOptions, clocks: FloatArray
    ) -> bool:
        """Whether a search differs in nothing but its limits, its targets and its whole run."""
        same = self.chips == chips
        same = same and (
            self.model is model or replace(self.model, run=None) == replace(model, run=None)
        )
        same = same and replace(self.options, runnable_in=options.runnable_in) == options
        return same and np.array_equal(self.clocks, clocks)

    def rows(self, partial_plans: PartialPlans, least: IntArray) -> IntArray:
        """(n,) the node that each of some partial plans is; -1: none, with those recomputations."""
        mine, theirs = self.partial_plans, partial_plans
        names = theirs.meshes.columns
        pairs = [(mine.meshes.columns[name], theirs.meshes.columns[name]) for name in names]
        own, others = as_wide(self.least, least), as_wide(least, self.least)
        pairs += zip(own.T, others.T, strict=True)
        each = distinct([np.concatenate(pair) for pair in pairs])[1]
        place = np.full(len(each), -1)
        place[each[: len(self.least)]] = np.arange(len(self.least))
        mesh = place[each[len(self.least) :]][theirs.mesh_id]
        start, begins = (
            np.searchsorted(one.mesh_id, np.arange(len(one.meshes) + 1)) for one in (mine, theirs)
        )
        within = np.arange(len(theirs)) - begins[theirs.mesh_id]
        return np.where(mesh >= 0, start[mesh] + within, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Partial plans on which something may fit in memory.

    Attributes:
        partial_plans: n of them.
        corners: (n, q, d) lower bounds of the objectives asked for.
        columns: Those objectives.
        counts: "factorizations", "meshes" and "partial_plans": considered, dropped by each rule,
            and what passed.
        ground: Of few chip counts, what the nodes stand on where no memory is an objective.
    """

    partial_plans: PartialPlans
    corners: FloatArray
    columns: Columns
    counts: dict[str, dict[str, int]]
    ground: Ground | None = None

    def take(self, index: IntArray) -> Nodes:
        """Some of them, with the same counts."""
        few = self.partial_plans.take(index)
        return replace(self, partial_plans=few, corners=self.corners[index], ground=None)


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
    ground: Ground | None = None,
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
        ground: Of nodes that were made before.

    Raises:
        OutOfTime: The deadline passed.
    """
    parts = [
        _nodes_on(
            model, tuple(chip_counts[start : start + _COUNTS_AT_A_TIME]), options, limits, clocks,
            columns, deadline, bounded=bounded, ground=ground,
        )
        for start in range(0, max(len(chip_counts), 1), _COUNTS_AT_A_TIME)
    ]  # fmt: skip
    return parts[0] if len(parts) == 1 else _joined(parts)


def _nodes_on(
    model: CostModel,
    chips: tuple[int, ...],
    options: SpaceOptions,
    limits: Limits,
    clocks: FloatArray,
    columns: Columns,
    deadline: Deadline,
    *,
    bounded: bool,
    ground: Ground | None,
) -> Nodes:
    """The nodes on few chip counts; see `build_nodes`."""
    deadline.check()
    if ground is not None and not ground.holds_for(model, chips, options, clocks):
        ground = None
    alike = ground if ground is not None and ground.options == options else None
    meshes = alike.meshes if alike else enumerate_meshes(model, chips, options)
    every = _recomputed(model, meshes, options, limits, alike)
    fitting, least = fitting_meshes(meshes, every)
    deadline.check()
    same = alike is not None and np.array_equal(alike.fitting, every)
    partial_plans = (
        alike.partial_plans if alike and same else cross_partial_plans(model, fitting, options)
    )
    made = None
    if not bounded:
        corners = np.full((len(partial_plans), len(clocks), len(columns)), -np.inf)
    elif any(column.of_memory for column in columns):
        corners = _corners_with_memory(
            model, partial_plans, least, clocks, columns, options, limits, deadline
        )
    else:
        low = (
            alike.low
            if alike and same
            else _least_costs(model, partial_plans, least, clocks, options, deadline, ground)
        )
        corners = _corners(model, partial_plans, columns, limits, low)
        made = Ground(
            model=model, chips=chips, options=options, clocks=clocks, meshes=meshes,
            chip_bytes=limits.chip_bytes(model), fitting=every,
            partial_plans=partial_plans, least=least, low=low,
        )  # fmt: skip
    return Nodes(
        partial_plans=partial_plans,
        corners=corners,
        columns=columns,
        counts={**fitting.counts, "partial_plans": partial_plans.counts},
        ground=made,
    )


def _recomputed(
    model: CostModel, meshes: Meshes, options: SpaceOptions, limits: Limits, alike: Ground | None
) -> IntArray:
    """(m, r) `least_recompute`, which those of equal meshes under an equal limit have."""
    if alike is not None and alike.chip_bytes == limits.chip_bytes(model):
        return alike.fitting
    codes = searched_recomputes(model, options)
    return least_recompute(model, meshes, limits, offload=options.offload, codes=codes)


def fitting_meshes(meshes: Meshes, least: IntArray) -> tuple[Meshes, IntArray]:
    """The meshes on which something fits in memory, with the recomputation that takes.

    Args:
        meshes: m meshes.
        least: (m, r) what `least_recompute` says of them.
    """
    at = np.flatnonzero(least[:, 0] != NOTHING_FITS)
    counts = {name: dict(stage) for name, stage in meshes.counts.items()}
    counts["meshes"].pop("kept", None)
    tally = {"memory": len(meshes) - len(at), "searched": len(at)}
    counts["meshes"] |= {name: count for name, count in tally.items() if count}
    return replace(meshes.take(at), counts=counts), least[at]


def _least_costs(
    model: CostModel,
    partial_plans: PartialPlans,
    least: IntArray,
    clocks: FloatArray,
    options: SpaceOptions,
    deadline: Deadline,
    ground: Ground | None,
) -> FloatArray:
    """(n, k, 2) lower bounds of time and energy with the least recomputation of each mesh."""
    if not len(partial_plans):
        return np.empty((0, len(clocks), 2))
    if ground is None:
        bounds = partial_plan_bounds(model, partial_plans, options, deadline)
        return bounds.corners(least, clocks, deadline)
    known = ground.rows(partial_plans, least)
    low = np.empty((len(partial_plans), len(clocks), 2))
    low[known >= 0] = ground.low[known[known >= 0]]
    if len(new := np.flatnonzero(known < 0)):
        others, takes = partial_plans, least
        if len(new) < len(known):
            others = partial_plans.take(new)
            takes = least[np.unique(partial_plans.mesh_id[new])]
        bounds = partial_plan_bounds(model, others, options, deadline)
        low[new] = bounds.corners(takes, clocks, deadline)
    return low


def partial_plan_bounds(
    model: CostModel,
    partial_plans: PartialPlans,
    options: SpaceOptions,
    deadline: Deadline = NEVER,
    *,
    placed: bool = False,
) -> PartialPlanBounds:
    """The bounds of some partial plans, one at least."""
    orders = options.orders(model.framework)
    layouts = EFFICIENT if options.torus else NO_LAYOUTS
    return PartialPlanBounds.build(model, partial_plans, orders, deadline, layouts, placed=placed)


def _corners_with_memory(
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
    bounds = None
    if not all(column.of_memory for column in columns):
        bounds = partial_plan_bounds(model, partial_plans, options, deadline)
    chips, runs = partial_plans.chips, asks_run(columns, limits)
    parts = []
    for recompute in searched_recomputes(model, options):
        deadline.check()
        low = np.zeros((len(partial_plans), len(clocks), 2))
        if bounds is not None:
            same = np.full(len(partial_plans.meshes), recompute)
            low = bounds.corners(same, clocks, deadline)
        held = partial_plan_bytes(model, partial_plans, recompute, offload=options.offload)
        found = corners_of(columns, model, limits, chips, _low(model, low, chips, held, runs=runs))
        does = np.array([contains(recompute, code) for code in range(len(RECOMPUTATIONS))])
        there: BoolArray = np.asarray(does[least].any(axis=1))
        found[~there[partial_plans.mesh_id]] = np.inf
        parts.append(found)
    return np.concatenate(parts, axis=1)


def _corners(
    model: CostModel,
    partial_plans: PartialPlans,
    columns: Columns,
    limits: Limits,
    low: FloatArray,
) -> FloatArray:
    """(n, k, d) lower bounds of the objectives; time and energy are no copy: they are large."""
    if columns == BOTH and not limits.on_run:
        return low
    chips, runs = partial_plans.chips, asks_run(columns, limits)
    return corners_of(columns, model, limits, chips, _low(model, low, chips, runs=runs))


def _low(
    model: CostModel,
    low: FloatArray,
    chips: IntArray,
    held: FloatArray | None = None,
    *,
    runs: bool,
) -> Costs:
    """(n, k) lower bounds of every cost; those of whole runs only where they are asked for."""
    time_s, energy_j = low[:, :, 0], low[:, :, 1]
    return Costs(
        step_time_s=time_s,
        energy_j=energy_j,
        memory_bytes=np.nan if held is None else held[:, None],
        chips=chips.astype(np.float64)[:, None],
        run=least_runs(model, chips if runs else None, time_s, energy_j),
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
