"""All plans on a group of skeletons: crossed, checked for memory, and costed on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.plan import (
    NO_RECOMPUTE,
    OFFLOAD_ACTIVATIONS,
    ORDERS,
    FloatArray,
    IntArray,
    Plan,
    PlanTable,
)
from planner.search.candidates import Candidates
from planner.search.limits import Limits
from planner.search.meshes import Meshes
from planner.search.options import SpaceOptions
from planner.search.space import Skeletons, Space, cross_choices, cross_skeletons
from planner.search.tables import Placements, build_placements
from solvers.mesh import Opened

_CHUNK = 16384
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
    """The plans on a group of skeletons that fit in memory.

    Attributes:
        model, limits: As given.
        space: Logical plans that fit.
        peak: (n,) their bytes per chip.
        placements: Distinct placements of the meshes.
        candidates: Their costs.
        with_memory: Memory is an objective.
    """

    model: CostModel
    limits: Limits
    space: Space
    peak: FloatArray
    placements: Placements
    candidates: Candidates
    with_memory: bool

    @property
    def size(self) -> int:
        """Candidates: plans times their placements times clocks."""
        counts = self.placements.count[self.space.mesh_id]
        return int(counts.sum()) * len(self.candidates.clocks)

    def corners(self, *, bounded: bool) -> FloatArray:
        """(n, k, d) lower bounds of every plan at every clock; -inf unless `bounded`."""
        shape = (len(self.peak), len(self.candidates.clocks))
        times, energies = np.full(shape, -np.inf), np.full(shape, -np.inf)
        for start in range(0, len(self.peak) if bounded else 0, _CHUNK):
            at = np.arange(start, min(start + _CHUNK, len(self.peak)))
            times[at], energies[at] = self.candidates.bounds(at)
        corners = [times, energies]
        if self.with_memory:
            corners.append(np.broadcast_to(self.peak[:, None], shape))
        return np.stack(corners, axis=2)

    def open(self, boxes: IntArray, number: int) -> Opened:
        """Objectives of every placement and clock of some plans.

        Labels are (number, plan, placement, clock).
        """
        rows = self.candidates.expand(boxes)
        cost = self.candidates.costs(rows)
        clocks = len(self.candidates.clocks)
        shape = (len(rows), clocks)
        times = np.broadcast_to(cost.time, shape).ravel()
        energies = np.broadcast_to(cost.energy, shape).ravel()
        plan = np.repeat(rows.plan, clocks)
        labels = np.empty((len(plan), 4), dtype=np.int64)
        labels[:, 0] = number
        labels[:, 1] = plan
        labels[:, 2] = np.repeat(rows.placement, clocks)
        labels[:, 3] = np.tile(np.arange(clocks), len(rows))
        objectives = [times, energies] + ([self.peak[plan]] if self.with_memory else [])
        allowed, dropped = self.limits.costs(
            self.model, times, energies, self.candidates.chips[plan]
        )
        return Opened(
            points=np.stack(objectives, axis=1), labels=labels, allowed=allowed, dropped=dropped
        )

    def plan_at(self, plan: int, placement: int, clock: int) -> PlanTable:
        """The one-row table behind a label."""
        table = self.space.plans.take(np.array([plan]))
        return replace(
            table,
            order=self.placements.order[[placement]],
            clock=self.candidates.clocks[[clock]],
        )


def build_batch(
    model: CostModel,
    skeletons: Skeletons,
    options: SpaceOptions,
    limits: Limits,
    clocks: FloatArray,
    tally: Tally,
    *,
    with_memory: bool,
) -> Batch | None:
    """Crosses skeletons with every choice and keeps what fits; None when nothing does.

    Args:
        model: Job, cluster, assumptions.
        skeletons: The skeletons of the batch.
        options, limits: What is searched, and within what.
        clocks: (k,) relative clocks to try.
        tally: Grows by what is considered and dropped.
        with_memory: Memory is an objective (then an offload that is not needed may still pay).
    """
    here = cross_choices(model, skeletons, options)
    add_counts(tally.plans, here.counts)
    fits, peak, dropped = _fitting(model, here, limits)
    parts = [(here.take(np.flatnonzero(fits)), peak[fits])]
    if options.offload:
        parts += _offloaded(model, here, fits, limits, tally, all_masks=with_memory)
    else:
        add_counts(tally.plans, dropped)
    space = _joined([part for part, _ in parts])
    if len(space) == 0:
        return None
    orders = ORDERS if options.all_orders else model.framework.orders or ORDERS
    placements = build_placements(model, skeletons.meshes.columns, orders)
    return Batch(
        model=model,
        limits=limits,
        space=space,
        peak=np.concatenate([bytes_held for _, bytes_held in parts]),
        placements=placements,
        candidates=Candidates.build(model, space, placements, clocks),
        with_memory=with_memory,
    )


def leanest_plan(model: CostModel, meshes: Meshes, options: SpaceOptions) -> tuple[float, Plan]:
    """The least bytes per chip of any plan on some meshes (at least one), and that plan."""
    skeletons = cross_skeletons(model, meshes, options)
    best, plan = np.inf, None
    masks = range(8) if options.offload else (0,)
    for start in range(0, len(skeletons), _CHUNK):
        at = np.arange(start, min(start + _CHUNK, len(skeletons)))
        plans = cross_choices(model, skeletons.take(at), options).plans
        for mask in masks:
            moved = replace(plans, offload=np.full(len(plans), mask))
            if mask & OFFLOAD_ACTIVATIONS:
                moved = moved.take(np.flatnonzero(plans.recompute == NO_RECOMPUTE))
            peak = memory_table(model, moved).peak
            if len(peak) and peak.min() < best:
                row = int(np.argmin(peak))
                best, plan = float(peak[row]), moved.plan(row)
    assert plan is not None
    return best, plan


def _fitting(
    model: CostModel, space: Space, limits: Limits
) -> tuple[np.ndarray, FloatArray, dict[str, int]]:
    """(n,) plans that fit, (n,) bytes per chip, and what was dropped why."""
    fits = np.zeros(len(space), dtype=np.bool_)
    peak = np.zeros(len(space))
    dropped: dict[str, int] = {}
    for start in range(0, len(space), _CHUNK):
        at = np.arange(start, min(start + _CHUNK, len(space)))
        held = memory_table(model, space.plans.take(at))
        fits[at], lost = limits.memory(model, held)
        peak[at] = held.peak
        add_counts(dropped, lost)
    return fits, peak, dropped


def _offloaded(
    model: CostModel,
    space: Space,
    fits: np.ndarray,
    limits: Limits,
    tally: Tally,
    *,
    all_masks: bool,
) -> list[tuple[Space, FloatArray]]:
    """Plans with state or activations on the host.

    Moving what fits anyway only adds time and energy, so unless memory is an objective a plan
    gets only those sets of offloads no part of which is enough.
    """
    enough = {0: fits.copy()}
    parts: list[tuple[Space, FloatArray]] = []
    for mask in _MASKS_BY_SIZE:
        wanted = np.ones(len(space), dtype=np.bool_)
        if mask & OFFLOAD_ACTIVATIONS:
            wanted &= space.plans.recompute == NO_RECOMPUTE
        covered = np.zeros(len(space), dtype=np.bool_)
        for smaller, ok in enough.items():
            if smaller & mask == smaller:
                covered |= ok
        add_counts(tally.plans, {"considered": int(wanted.sum())})
        if not all_masks:
            add_counts(tally.plans, {"needless_offload": int((wanted & covered).sum())})
            wanted &= ~covered
        at = np.flatnonzero(wanted)
        moved = space.take(at)
        moved = replace(moved, plans=replace(moved.plans, offload=np.full(len(at), mask)))
        ok, peak, dropped = _fitting(model, moved, limits)
        add_counts(tally.plans, dropped)
        enough[mask] = np.zeros(len(space), dtype=np.bool_)
        enough[mask][at[ok]] = True
        parts.append((moved.take(np.flatnonzero(ok)), peak[ok]))
    return parts


def _joined(parts: list[Space]) -> Space:
    first = parts[0]
    if len(parts) == 1:
        return first
    names = [name for name in PlanTable.__slots__ if name != "stages"]
    plans = PlanTable(
        **{n: np.concatenate([getattr(p.plans, n) for p in parts]) for n in names}  # type: ignore[arg-type]
    )
    return replace(first, plans=plans, mesh_id=np.concatenate([part.mesh_id for part in parts]))
