"""All plans on a group of partial plans: crossed, checked for memory, and costed on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.memory.offload import offloads_only_cost
from planner.frameworks.rules import demands_of, offloads_allowed
from planner.objectives import Costs, RunCosts
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.columns import BOTH, Columns, asks_run, corners_of, least_runs, points_of
from planner.search.deadline import NEVER, Deadline
from planner.search.infeasible.near_misses import NearMisses
from planner.search.limits import Limits
from planner.search.placements.groups import EFFICIENT, EVERY, NO_LAYOUTS
from planner.search.runnable import fields_beside, runnable_placements, runnable_plans
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.space import PARTIAL_PLAN, PartialPlans, Space, cross_choices
from planner.search.uniform.tables import Placements, build_placements
from solvers.mesh import Opened

if TYPE_CHECKING:
    from planner.cost.goodput.runs import Kept

CHUNK = 4096  # plans at a time: what memory and bounds need of them stays in the cache
_MASKS_BY_SIZE = (1, 2, 4, 3, 5, 6, 7)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What happened to plans and candidates, by name, over all batches."""

    plans: dict[str, int]
    candidates: dict[str, int]


def add_counts(into: dict[str, int], counts: dict[str, int]) -> None:
    """Adds the numbers of `counts` to those of `into`."""
    for name, number in counts.items():
        if number:
            into[name] = into.get(name, 0) + number


@dataclass(slots=True, kw_only=True)
class Batch:
    """The plans on a group of partial plans that fit in memory.

    Attributes:
        model, limits: As given.
        logical: Logical plans that fit, on the meshes of the partial plans.
        space: The same plans, on meshes that differ in what rules about orders look at.
        peak: (n,) their bytes per chip.
        placements: Distinct placements of the meshes.
        clocks: (k,) relative clocks to try.
        candidates: Their costs; None where only memory matters.
        columns: What is minimized.
        kept: What the whole runs of the plans need; None where nothing asks for these.
        misses: Grows by what comes near to limits that nothing has met yet; None: not kept.
    """

    model: CostModel
    limits: Limits
    logical: Space
    space: Space
    peak: FloatArray
    placements: Placements
    clocks: FloatArray
    candidates: Candidates | None
    columns: Columns
    kept: Kept | None = None
    misses: NearMisses | None = None

    @property
    def size(self) -> int:
        """Candidates: plans times their placements times clocks."""
        return self.candidates_of(np.arange(len(self.space)))

    def candidates_of(self, plans: IntArray) -> int:
        """Candidates of some plans."""
        counts = self.placements.count[self.space.mesh_id[plans]]
        return int(counts.sum()) * len(self.clocks)

    def corners(self, *, bounded: bool) -> FloatArray:
        """(n, k, d) lower bounds of every plan at every clock; -inf unless `bounded`."""
        shape = (len(self.peak), len(self.clocks))
        of_memory = [column.of_memory for column in self.columns]
        if not bounded or self.candidates is None or all(of_memory):
            least = np.full((*shape, len(of_memory)), -np.inf)
            least[:, :, of_memory] = self.peak[:, None, None]
            return least
        times, energies = np.empty(shape), np.empty(shape)
        for start in range(0, len(self.peak), CHUNK):
            at = np.arange(start, min(start + CHUNK, len(self.peak)))
            times[at], energies[at] = self.candidates.bounds(at)
        chips = self.candidates.chips
        low = Costs(
            step_time_s=times,
            energy_j=energies,
            memory_bytes=self.peak[:, None],
            chips=chips[:, None],
            run=least_runs(self.model, self.kept, times, energies),
        )
        return corners_of(self.columns, self.model, self.limits, chips.astype(np.int64), low)

    def open(self, nodes: IntArray, number: int) -> Opened:
        """Objectives of every placement and clock of some plans.

        Labels are (number, plan, placement, clock). Where only memory matters, one placement and
        clock stand for all.
        """
        if self.candidates is None:
            first = self.placements.start[self.space.mesh_id[nodes]]
            labels = np.stack([np.full_like(nodes, number), nodes, first, np.zeros_like(nodes)], 1)
            return Opened(points=self.peak[nodes, None], labels=labels)
        rows = self.candidates.expand(nodes)
        cost = self.candidates.costs(rows)
        clocks = len(self.clocks)
        shape = (len(rows), clocks)
        plan = np.repeat(rows.plan, clocks)
        labels = np.empty((len(plan), 4), dtype=np.int64)
        labels[:, 0] = number
        labels[:, 1] = plan
        labels[:, 2] = np.repeat(rows.placement, clocks)
        labels[:, 3] = np.tile(np.arange(clocks), len(rows))
        times = np.broadcast_to(cost.time, shape).ravel()
        energies = np.broadcast_to(cost.energy, shape).ravel()
        chips = self.candidates.chips[plan]
        costs = Costs(
            step_time_s=times, energy_j=energies, memory_bytes=self.peak[plan], chips=chips,
            run=self.runs(plan, times, energies),
        )  # fmt: skip
        allowed, dropped = self.limits.costs(self.model, times, energies, chips, costs.run)
        if self.misses is not None and allowed is not None and not allowed.any():
            self.misses.note(
                self.model, self.limits, costs, lambda row: self.plan_at(*labels[row, 1:].tolist())
            )
        points = points_of(self.columns, costs)
        return Opened(points=points, labels=labels, allowed=allowed, dropped=dropped)

    def runs(self, plan: IntArray, times: FloatArray, energies: FloatArray) -> RunCosts | None:
        """(c,) what the whole runs of candidates take; None where nothing asks for these."""
        if self.kept is None:
            return None
        from planner.cost.goodput.runs import run_costs  # noqa: PLC0415  (few ask)

        return run_costs(self.model, self.kept.at(plan), times, energies)

    def plan_at(self, plan: int, placement: int, clock: int) -> PlanTable:
        """The one-row table behind a label."""
        table = self.space.plans.take(np.array([plan]))
        return replace(
            table,
            order=self.placements.order[[placement]],
            layouts=self.placements.layouts,
            clock=self.clocks[[clock]],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBatch:
    """The plans on some nodes of a search, with what it knows of them.

    Attributes:
        batch: The plans.
        corners: (n, k, d) their lower bounds.
        nodes: (s,) rows of the nodes.
        of: (n,) which of these nodes each plan is on.
    """

    batch: Batch
    corners: FloatArray
    nodes: IntArray
    of: IntArray

    def least(self) -> FloatArray:
        """(s, k, d) least corner over the plans on each node; inf where there is no plan."""
        least = np.full((len(self.nodes), *self.corners.shape[1:]), np.inf)
        by_node = np.argsort(self.of, kind="stable")
        rows, starts = np.unique(self.of[by_node], return_index=True)
        if len(rows):
            least[rows] = np.minimum.reduceat(self.corners[by_node], starts, axis=0)
        return least

    def on(self, nodes: IntArray) -> IntArray:
        """The plans on those of some nodes that were opened, in the order of a batch of these."""
        place = np.full(max(self.nodes.max(), nodes.max(initial=0)) + 1, -1)
        place[nodes] = np.arange(len(nodes))
        node = place[self.nodes[self.of]]
        part = np.argsort((0, *_MASKS_BY_SIZE))[self.batch.logical.plans.offload]
        plans = np.flatnonzero(node >= 0)
        return plans[np.lexsort((node[plans], part[plans]))]


def partial_plan_of(partial_plans: PartialPlans, space: Space) -> IntArray:
    """(n,) the partial plan that each plan on some is on."""
    of_plans = {name: getattr(space.plans, name) for name in PARTIAL_PLAN}
    whole = _codes(partial_plans.mesh_id, partial_plans.columns, partial_plans.columns)
    codes = _codes(space.mesh_id, of_plans, partial_plans.columns)
    order = np.argsort(whole)
    at: IntArray = order[np.searchsorted(whole, codes, sorter=order)]
    return at


def _codes(
    mesh_id: IntArray, columns: Mapping[str, IntArray], widest: Mapping[str, IntArray]
) -> IntArray:
    """(n,) one number for a mesh and a `PARTIAL_PLAN` with columns within those of `widest`."""
    codes = mesh_id
    for name in PARTIAL_PLAN:
        codes = codes * (int(widest[name].max(initial=0)) + 1) + columns[name]
    return codes


def layouts_within(
    options: SpaceOptions, limits: Limits, model: CostModel, columns: Columns = BOTH
) -> str:
    """Which layouts a search needs: a slower one may draw less power, or cross shorter links."""
    if not options.torus:
        return NO_LAYOUTS
    alone = limits.power_w is None and not model.assumptions.component_energy
    alone &= all(column.monotone for column in columns)
    return EFFICIENT if alone else EVERY


def build_batch(
    model: CostModel,
    partial_plans: PartialPlans,
    options: SpaceOptions,
    limits: Limits,
    clocks: FloatArray,
    tally: Tally,
    *,
    columns: Columns = BOTH,
    misses: NearMisses | None = None,
    deadline: Deadline = NEVER,
) -> Batch | None:
    """Crosses partial plans with every choice and keeps what fits; None when nothing does.

    Args:
        model: Job, cluster, assumptions.
        partial_plans: The partial plans of the batch.
        options, limits: What is searched, and within what.
        clocks: (k,) relative clocks to try.
        tally: Grows by what is considered and dropped.
        columns: What is minimized; where memory is, or less is not always better than more, an
            offload that is not needed may still pay.
        misses: See `Batch`.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed; `tally` is as it was.
    """
    here = cross_choices(model, partial_plans, options)
    counts = dict(here.counts)
    pays = limits.power_w is not None or asks_run(columns, limits)  # less is copied to save it
    pays |= any(column.of_memory or not column.monotone for column in columns)
    pays = pays or not offloads_only_cost(model)
    logical, peak = _all_fitting(model, here, options, limits, counts, deadline, all_masks=pays)
    batch = None
    if len(logical):
        space = logical.apart(fields_beside(demands_of(model, options.runnable_in)))
        orders = options.orders(model.framework)
        layouts = layouts_within(options, limits, model, columns)
        meshes = space.meshes.columns
        runs = runnable_placements(model, options, meshes)
        placements = build_placements(model, meshes, orders, layouts, deadline, runs)
        deadline.check()
        costed = limits.on_costs or not all(column.of_memory for column in columns)
        batch = Batch(
            model=model,
            limits=limits,
            logical=logical,
            space=space,
            peak=peak,
            placements=placements,
            clocks=clocks,
            candidates=Candidates.build(model, space, placements, clocks) if costed else None,
            columns=columns,
            kept=_kept(model, space.plans) if asks_run(columns, limits) else None,
            misses=misses,
        )
    add_counts(tally.plans, counts)
    add_counts(tally.plans, {"kept": len(logical)})
    return batch


def _kept(model: CostModel, plans: PlanTable) -> Kept:
    """What the whole runs of plans need."""
    from planner.cost.goodput.runs import kept_by  # noqa: PLC0415  (few ask)

    return kept_by(model, plans)


def _all_fitting(
    model: CostModel,
    here: Space,
    options: SpaceOptions,
    limits: Limits,
    counts: dict[str, int],
    deadline: Deadline,
    *,
    all_masks: bool,
) -> tuple[Space, FloatArray]:
    """The plans that fit, with every offload where that is allowed, and their bytes per chip."""
    deadline.check()
    fits, peak, dropped = _fitting(model, here, limits)
    add_counts(counts, dropped)
    parts = [(here.take(np.flatnonzero(fits)), peak[fits])]
    if options.offload:
        parts += _offloaded(
            model, here, fits, options, limits, counts, deadline, all_masks=all_masks
        )
    return _joined([part for part, _ in parts]), np.concatenate([held for _, held in parts])


def _fitting(
    model: CostModel, space: Space, limits: Limits
) -> tuple[np.ndarray, FloatArray, dict[str, int]]:
    """(n,) plans that fit, (n,) bytes per chip, and what was dropped why."""
    fits = np.zeros(len(space), dtype=np.bool_)
    peak = np.zeros(len(space))
    dropped: dict[str, int] = {}
    for start in range(0, len(space), CHUNK):
        at = np.arange(start, min(start + CHUNK, len(space)))
        plans = space.plans.take(at)
        held = memory_table(model, plans)
        fits[at], lost = limits.memory(model, plans, held)
        peak[at] = held.peak
        add_counts(dropped, lost)
    return fits, peak, dropped


def _offloaded(
    model: CostModel,
    space: Space,
    fits: np.ndarray,
    options: SpaceOptions,
    limits: Limits,
    counts: dict[str, int],
    deadline: Deadline,
    *,
    all_masks: bool,
) -> list[tuple[Space, FloatArray]]:
    """Plans with state or activations on the host.

    Moving what fits anyway only adds time and energy where `offloads_only_cost` says so; then,
    unless memory is an objective or power is limited, a plan gets only those sets of offloads no
    part of which is enough.
    """
    enough = {0: fits.copy()}
    parts: list[tuple[Space, FloatArray]] = []
    for mask in _MASKS_BY_SIZE:
        moved_plans = replace(space.plans, offload=np.full(len(space), mask))
        wanted = offloads_allowed(model, moved_plans)
        covered = np.zeros(len(space), dtype=np.bool_)
        for smaller, ok in enough.items():
            if smaller & mask == smaller:
                covered |= ok
        add_counts(counts, {"considered": int(wanted.sum())})
        wanted = runnable_plans(model, options, moved_plans, wanted, counts)
        if not all_masks:
            add_counts(counts, {"needless_offload": int((wanted & covered).sum())})
            wanted &= ~covered
        deadline.check()
        at = np.flatnonzero(wanted)
        moved = space.take(at)
        moved = replace(moved, plans=replace(moved.plans, offload=np.full(len(at), mask)))
        ok, peak, dropped = _fitting(model, moved, limits)
        add_counts(counts, dropped)
        enough[mask] = np.zeros(len(space), dtype=np.bool_)
        enough[mask][at[ok]] = True
        parts.append((moved.take(np.flatnonzero(ok)), peak[ok]))
    return parts


def _joined(parts: list[Space]) -> Space:
    first = parts[0]
    if len(parts) == 1:
        return first
    plans = PlanTable.joined([part.plans for part in parts])
    return replace(first, plans=plans, mesh_id=np.concatenate([part.mesh_id for part in parts]))
