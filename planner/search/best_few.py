"""The best few plans of a search that really differ: in mesh or micro-batch.

Plans of one mesh and micro-batch that differ in schedule, sharding, placement or clock are
variants; the best of them stands for all. `dp` and `fsdp` together count as data ranks. The search
is exact: partial plans, and the plans on them, are opened in the order of their proved lower bounds
until the next bound is above the last value kept, so nothing left out is better than what is
listed. Of variants as good the one with fewer bytes is named, then the first by its choices: what
is opened first changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field, replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, among, distinct
from planner.objectives import Objective
from planner.plan import Plan, PlanTable
from planner.search.columns import proving
from planner.search.objective import values
from planner.search.rounding import SAME
from planner.search.uniform.batch import Batch
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.nodes import Nodes
from planner.search.uniform.space import PartialPlans

_PARTIAL_PLANS_AT_A_TIME = (256, 4096)  # first, later
_PLANS_AT_A_TIME = 256
_NODES_HELD = 1024  # for a later look
_MOST = 8  # plans that are returned, those asked for among them
_DIGITS = 9  # of the logarithm of a value: what rounds alike counts as equal

Key = tuple[int, ...]
Rank = tuple[float, ...]
_CHOICES = (
    "fsdp", "schedule", "interleave", "split", "sharding", "sequence_parallel", "cp_mode",
    "recompute", "offload",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFew:
    """The best few plans, best first.

    Attributes:
        plans: One row each.
        proved: Whether it is proved that no other mesh and micro-batch has a better plan than the
            last of them; False when time ran out.
        near: Plans of other meshes and micro-batches that are as good as the last of them.
        values: Objective of the plans and those near.
        last: What has a lower bound above it is worse than all of them; inf where there are fewer
            than were asked for.
    """

    plans: PlanTable
    proved: bool
    near: PlanTable
    values: FloatArray
    last: float = np.inf


@dataclass(slots=True, kw_only=True)
class _Kept:
    """The best plan of each mesh and micro-batch found so far.

    Attributes:
        count: How many are wanted.
        best: By mesh and micro-batch: (rounded value, bytes per chip, choices), value, plan.
    """

    count: int
    best: dict[Key, tuple[Rank, float, Plan]] = field(default_factory=dict)

    @property
    def ordered(self) -> list[tuple[Rank, Key]]:
        """Ranks and keys, best first."""
        return sorted((rank, key) for key, (rank, _, _) in self.best.items())

    @property
    def last(self) -> float:
        """What a plan must not exceed to be of interest."""
        ranked = self.ordered
        if len(ranked) < self.count:
            return float("inf")
        return self.best[ranked[self.count - 1][1]][1] * (1 + SAME)

    def offer(self, key: Key, rank: Rank, value: float, plan: Plan) -> None:
        """Keeps the plan if it is the best of its mesh and micro-batch."""
        if key not in self.best or rank < self.best[key][0]:
            self.best[key] = (rank, value, plan)


def best_few(
    space: UniformSpace,
    nodes: Nodes,
    objective: Objective,
    first: PlanTable,
    value: float,
    count: int = 3,
) -> BestFew:
    """The best plans of a space that differ in mesh or micro-batch.

    Args:
        space: What was searched; its limits hold for every plan.
        nodes: Its partial plans after the search, which found plans.
        objective: Of step time and energy.
        first: One row, the optimum of that objective; it stays the first.
        value: Its objective.
        count: How many are wanted; fewer where the space has fewer.
    """
    kept = _Kept(count=count)
    kept.offer(_keys(first)[0], (-np.inf,), value, first.plan(0))
    least = _least(nodes, objective)
    order = np.argsort(least, kind="stable")
    if (opened := space.first) is not None and not _late(space):
        known = among(order, opened.nodes)
        _offer_all(opened.batch, opened.corners, opened.on(order[known]), objective, kept)
        order = order[~known]
    at, step, proved = 0, _PARTIAL_PLANS_AT_A_TIME[0], True
    while at < len(order) and least[order[at]] <= kept.last:
        if _late(space):
            proved = False
            break
        chosen = order[at : at + step]
        at, step = at + step, _PARTIAL_PLANS_AT_A_TIME[1]
        taken = nodes.partial_plans.take(chosen[least[chosen] <= kept.last])
        _open(space, objective, taken, kept)
    every, last = [kept.best[key] for _, key in kept.ordered], kept.last
    ties = (one for one in every[count:] if one[1] <= last)  # what is worse was met by chance
    found = [*every[:count], *ties][:_MOST]
    plans = PlanTable.from_plans([plan for _, _, plan in found])
    wanted = min(count, len(plans))
    return BestFew(
        plans=plans.take(np.arange(wanted)),
        proved=proved,
        near=plans.take(np.arange(wanted, len(plans))),
        values=np.array([one for _, one, _ in found]),
        last=last,
    )


def best_few_later(
    space: UniformSpace, nodes: Nodes, objective: Objective, first: PlanTable, value: float
) -> Callable[[], BestFew]:
    """`best_few` of a search without a deadline, when it is asked for; arguments as of that.

    Of the search it holds the nodes of the best bounds alone. Where those do not do, all are made
    again.
    """
    least = _least(nodes, objective)
    order = np.argsort(least, kind="stable")
    near = nodes.take(np.sort(order[:_NODES_HELD]))
    others = float(least[order[_NODES_HELD:]].min(initial=np.inf))
    plain = replace(space, beside=None, session=None)

    def found() -> BestFew:
        few = best_few(plain, near, objective, first, value)
        if others <= few.last:
            return best_few(plain, plain.nodes(), objective, first, value)
        return few

    return found


def _least(nodes: Nodes, objective: Objective) -> FloatArray:
    """(n,) lower bound of an objective on every node."""
    corners = nodes.corners
    least = values(_flat(corners), objective, nodes.columns).reshape(corners.shape[:2])
    return np.asarray(least.min(axis=1))


def _late(space: UniformSpace) -> bool:
    return space.deadline is not None and time.perf_counter() >= space.deadline


def _flat(corners: FloatArray) -> FloatArray:
    return corners.reshape(-1, corners.shape[2])


def _open(
    space: UniformSpace, objective: Objective, partial_plans: PartialPlans, kept: _Kept
) -> None:
    """Offers the plans on some partial plans that may be of interest."""
    batch = replace(space, columns=proving(objective), deadline=None).batch(partial_plans)
    if batch is not None:
        corners = batch.corners(bounded=True)
        _offer_all(batch, corners, np.arange(len(corners)), objective, kept)


def _offer_all(
    batch: Batch, corners: FloatArray, plans: IntArray, objective: Objective, kept: _Kept
) -> None:
    """Offers those of some plans of a batch that may be of interest, the best bounds first."""
    low = corners[plans]
    least = values(_flat(low), objective, batch.columns).reshape(low.shape[:2]).min(axis=1)
    order = np.argsort(least, kind="stable")
    for start in range(0, len(order), _PLANS_AT_A_TIME):
        some = order[start : start + _PLANS_AT_A_TIME]
        some = some[least[some] <= kept.last]
        if len(some) == 0:
            return
        _offer(batch, objective, plans[some], kept)


def _offer(batch: Batch, objective: Objective, plans: IntArray, kept: _Kept) -> None:
    """Offers the best candidate of each mesh and micro-batch among some plans."""
    opened = batch.open(plans, 0)
    found = values(opened.points, objective, batch.columns)
    wanted = found <= kept.last
    if opened.allowed is not None:
        wanted &= opened.allowed
    at = np.flatnonzero(wanted)
    if len(at) == 0:
        return
    held = batch.peak[opened.labels[at, 1]]
    rounded = np.round(np.log(found[at]), _DIGITS)
    order = np.lexsort((held, rounded))
    at, held, rounded = at[order], held[order], rounded[order]
    plans = opened.labels[at, 1]
    firsts, which = distinct([column[plans] for column in _columns(batch.space.plans)])
    best = firsts[which]
    alike = np.flatnonzero((rounded == rounded[best]) & (held == held[best]))
    chosen = _named(batch, opened.labels[at[alike]], which[alike])
    rows = alike[chosen]
    rows.sort()  # the best first
    keys = _keys(batch.space.plans.take(plans[rows]))
    for row, key in zip(rows.tolist(), keys, strict=True):
        value = float(found[at[row]])
        if value <= kept.last:
            label = opened.labels[at[row]]
            rank = (float(rounded[row]), float(held[row]), *_choices(batch, label[None])[0])
            kept.offer(key, rank, value, batch.plan_at(*label[1:].tolist()).plan(0))


def _named(batch: Batch, labels: IntArray, which: IntArray) -> IntArray:
    """Of candidates that are as good in each group, the row of the first by its choices."""
    order = np.lexsort((*_choices(batch, labels).T[::-1], which))
    return order[np.unique(which[order], return_index=True)[1]]


def _choices(batch: Batch, labels: IntArray) -> IntArray:
    """(n, k) what says which of some candidates of a mesh and a micro-batch is named."""
    _, plan, placement, clock = labels.T
    choices = [getattr(batch.space.plans, name)[plan] for name in _CHOICES]
    placed = placement - batch.placements.start[batch.space.mesh_id[plan]]
    return np.stack([*choices, placed, clock], axis=1).astype(np.int64)


def _keys(plans: PlanTable) -> list[Key]:
    """Data ranks, tp, cp, ep, etp, pp and micro-batch of every plan."""
    return [tuple(row) for row in np.stack(_columns(plans), axis=1).tolist()]


def _columns(plans: PlanTable) -> tuple[IntArray, ...]:
    return plans.data_ranks, plans.tp, plans.cp, plans.ep, plans.etp, plans.pp, plans.micro_batch
