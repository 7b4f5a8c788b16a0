"""Lower bounds on time and energy of everything that can be done on a partial plan.

A partial plan is a mesh with micro-batch b, schedule and interleave v.

    T >= [ m (S(b) / pp + c_mb) + (pp - 1) / pp S(b) / v + d + step overhead ] factor,   m = B_r / b
    E >= chips [ m K(b) / pp * extra_w + T standing_w ], or the joules of all FLOP by components

B_r is the sequences of one data rank; S(b) the least seconds of all layers and both ends for a
micro-batch of b sequences, over sequence parallelism and context-parallel modes, with the least
recomputation that lets anything on the mesh fit, with networks of tp, cp, ep and etp of which each
cost is the least over the placements of the mesh; K(b) the same of kernel seconds; d the reduction
of the mean stage's gradients and weights in the least time that a group of that size can need
anywhere, as far as nothing can hide it, for the sharding that sends least: m times what goes with
every micro-batch. The slowest stage is at least the mean stage, messages between stages travel for
free, and the bubble, here that of 1F1B, is what the schedule calls the least
(`Schedule.least_bubble`). Where passes run side by side S is less what they hide. All of these are
relaxations, so no plan on the mesh is faster or cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray, distinct
from planner.cost.communication.data_parallel import WEIGHT_BYTES, Gathers, gathers_once
from planner.cost.context import CostModel
from planner.cost.energy.energy import least_component_j, running_w, standing_w
from planner.cost.memory.parameters import trained_share
from planner.cost.step import step_factor
from planner.cost.terms import LAYER_GROUPS
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import Fabric, FabricLevel
from planner.plan import ORDERS
from planner.schedules import ScheduleColumn
from planner.search.deadline import NEVER, Deadline
from planner.search.placements.groups import NO_LAYOUTS
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uniform.least_seconds import least_seconds
from planner.search.uniform.space import PartialPlans
from planner.search.uniform.tables import ideal_networks

_DATA_GROUPS = ("shard", "replica", "data")
_AT_A_TIME = 4096  # partial plans: what their bounds need stays in the cache


def partial_plan_corners(
    model: CostModel,
    partial_plans: PartialPlans,
    recompute: IntArray,
    clocks: FloatArray,
    orders: tuple[tuple[str, ...], ...] = ORDERS,
) -> FloatArray:
    """(n, k, 2) lower bounds of `PartialPlanBounds`, for a single recomputation per mesh."""
    return PartialPlanBounds.build(model, partial_plans, orders).corners(recompute, clocks)


@dataclass(frozen=True, slots=True)
class PartialPlanBounds:
    """What the bounds of some partial plans share, whatever is recomputed.

    Attributes:
        model, partial_plans: As given.
        networks: Group name to (meshes,) least costs over the placements.
        reductions: (3, meshes) exposed seconds of data parallelism; see `_least_reductions_s`.
        standing: (meshes,) standing power per chip.
    """

    model: CostModel
    partial_plans: PartialPlans
    networks: dict[str, GroupCosts]
    reductions: FloatArray
    standing: FloatArray

    @staticmethod
    def build(
        model: CostModel,
        partial_plans: PartialPlans,
        orders: tuple[tuple[str, ...], ...],
        deadline: Deadline = NEVER,
        layouts: str = NO_LAYOUTS,
        *,
        placed: bool = False,
    ) -> PartialPlanBounds:
        """The bounds of some partial plans.

        Args:
            model: Job, cluster, assumptions.
            partial_plans: n partial plans.
            orders: Orders of the axes that plans may have, innermost first.
            deadline: When to give up.
            layouts: Layouts over a torus that they may have beside; one of `LAYOUTS`.
            placed: Whether data parallelism takes no less than where its groups can be placed,
                which is closer, and dearer to say.

        Raises:
            OutOfTime: The deadline passed.
        """
        columns = partial_plans.meshes.columns
        names = (*LAYER_GROUPS, *_DATA_GROUPS) if placed else LAYER_GROUPS
        nets = ideal_networks(model, columns, orders, names, deadline, layouts)
        return PartialPlanBounds(
            model,
            partial_plans,
            {name: nets[name] for name in LAYER_GROUPS},
            _least_reductions_s(model, columns, nets if placed else None),
            _standing_w(model, columns["chips"]),
        )

    @staticmethod
    def arithmetic(model: CostModel, partial_plans: PartialPlans) -> PartialPlanBounds:
        """Those of networks that cost nothing, which need no placements: never above the others."""
        counts = partial_plans.meshes.columns["chips"]
        one = np.ones(1, dtype=np.int64)
        alone = group_costs(model.fabric(int(counts[0])), [(one, one)])
        free = alone.take(np.zeros(len(counts), dtype=np.intp))
        nothing = np.zeros((3, len(counts)))
        networks = dict.fromkeys(LAYER_GROUPS, free)
        standing = _standing_w(model, counts)
        return PartialPlanBounds(model, partial_plans, networks, nothing, standing)

    def corners(
        self, recompute: IntArray, clocks: FloatArray, deadline: Deadline = NEVER
    ) -> FloatArray:
        """(n, k, 2) lower bounds on step time and energy for every partial plan and clock.

        Args:
            recompute: (meshes, r) what plans on each mesh recompute at least, one of these;
                (meshes,) where there is one.
            clocks: (k,) relative clocks.
            deadline: When to give up.

        Raises:
            OutOfTime: The deadline passed.
        """
        corners = np.empty((len(self.partial_plans), len(clocks), 2))
        for rows, at, seconds, kernels in self.layers(recompute, clocks, deadline):
            corners[rows] = self.at(self.model, rows, (seconds[at], kernels[at]), clocks)
        return corners

    def at(
        self,
        model: CostModel,
        rows: IntArray,
        times: tuple[FloatArray, FloatArray],
        clocks: FloatArray,
    ) -> FloatArray:
        """(r, k, 2) the bounds of some partial plans, for a batch that they run on.

        `times`: (r, k) seconds and kernel seconds of their layers, from `layers`.
        """
        mesh, every = self.partial_plans.mesh_id[rows], self.partial_plans
        axes = {name: column[mesh, None] for name, column in every.meshes.columns.items()}
        columns = {name: column[rows, None] for name, column in every.columns.items()}
        reductions, standing = self.reductions[:, mesh, None], self.standing[mesh, None]
        return _corners(model, axes, columns, times, reductions, standing, clocks)

    def of_unlike_stages(self) -> PartialPlanBounds:
        """Those of stages that may shard differently, of which each pays what is least once."""
        whole, once, often = self.reductions
        least = np.minimum(whole, once + often)
        none = np.zeros_like(least)
        return replace(self, reductions=np.stack([least, least, none]))

    def layers(
        self, recompute: IntArray, clocks: FloatArray, deadline: Deadline = NEVER
    ) -> Iterator[tuple[IntArray, IntArray, FloatArray, FloatArray]]:
        """Some partial plans at a time with their layers for one micro-batch; args of `corners`.

        (r,) rows; (r,) which each is of the (c, k) seconds and kernel seconds.
        """
        partial_plans = self.partial_plans
        columns, ways = partial_plans.meshes.columns, recompute.reshape(len(recompute), -1)
        axes = [*(columns[name] for name in LAYER_GROUPS), *ways.T]
        _, which = distinct([*axes, *(net.columns for net in self.networks.values())])
        sizes = partial_plans.columns["micro_batch"]
        by_size = np.argsort(sizes, kind="stable")
        for start in range(0, len(by_size), _AT_A_TIME):
            deadline.check()
            rows = by_size[start : start + _AT_A_TIME]
            mesh = partial_plans.mesh_id[rows]
            pipelines = ScheduleColumn(partial_plans.columns["schedule"][rows])
            beside = pipelines.values("side_by_side")
            some, at = distinct([which[mesh], sizes[rows], beside.astype(np.int64)])
            alone, paired, kernels = least_seconds(
                self.model,
                {name: columns[name][mesh[some]] for name in LAYER_GROUPS},
                ways[mesh[some]],
                {name: net.take(mesh[some]) for name, net in self.networks.items()},
                sizes[rows[some]],
                clocks,
            )
            yield rows, at, np.where(beside[some, None], paired, alone), kernels


def _standing_w(model: CostModel, chips: IntArray) -> FloatArray:
    """(m,) standing power of a chip by how many there are."""
    counts, which = np.unique(chips, return_inverse=True)
    return np.array([standing_w(model, int(count)) for count in counts])[which.ravel()]


def _corners(
    model: CostModel,
    mesh: dict[str, IntArray],
    partial_plan: dict[str, IntArray],
    times: tuple[FloatArray, FloatArray],
    reductions: FloatArray,
    standing: FloatArray,
    clocks: FloatArray,
) -> FloatArray:
    """The formulas of the module, on columns of shape (n, 1) and times of shape (n, k)."""
    (seconds, kernels), a = times, model.assumptions
    chips, pp = mesh["chips"].astype(np.float64), mesh["pp"]
    m = model.job.global_batch / (mesh["dp"] * mesh["fsdp"] * partial_plan["micro_batch"])
    schedules = ScheduleColumn(partial_plan["schedule"])
    ramp = schedules.of_each("least_bubble", pp, partial_plan["interleave"]) * float(a.bubbles)
    factor = step_factor(a, chips)
    whole, once, often = reductions
    reduced = np.minimum(whole, once + m * often)
    time = m * (seconds / pp + a.micro_batch_s) + ramp * seconds + reduced + a.step_s
    time = time * factor
    busy = m * kernels / pp * factor
    energy = chips * (busy * running_w(model, clocks) + time * standing)
    if model.assumptions.component_energy:
        energy = energy + least_component_j(model)
    return np.stack([time, energy], axis=2) * ROUNDED_DOWN


def _least_reductions_s(
    model: CostModel, columns: dict[str, IntArray], nets: dict[str, GroupCosts] | None
) -> FloatArray:
    """(3, m) exposed seconds of data parallelism that the shardings of a mesh pay at least.

    Those that gather no weights; those that do, once per step, and with every micro-batch. Inf
    where a mesh has none of them. `nets`: the least costs of the groups over the placements, where
    they are known.
    """
    a, share = model.assumptions, trained_share(model.job)
    kinds = model.job.model.layer_kinds
    local = model.local_parameters(columns["tp"], columns["ep"] * columns["etp"])
    layers = kinds.count("dense") * local.dense_layer + kinds.count("moe") * local.moe_layer
    stage = layers / columns["pp"]
    weights = Gathers.of(model.job).weight_bytes * stage
    gradients = a.gradient_wire_bytes * share * stage
    updated = share * min(a.weight_wire_bytes, WEIGHT_BYTES) * stage  # of zero1, of zero2
    inner = columns["cp"] * columns["fsdp"]
    if nets is None:
        chips, ranks = columns["chips"], inner * columns["dp"]
        shard = _s_per_byte(model, least_gather_s_per_byte, chips, inner)
        gathered, scattered = shard * weights, shard * gradients
        across = _s_per_byte(model, least_reduce_s_per_byte, chips, columns["dp"])
        across = across * gradients / inner
        twice = _s_per_byte(model, least_gather_s_per_byte, chips, ranks) * (gradients + updated)
        reduced = _s_per_byte(model, least_reduce_s_per_byte, chips, ranks) * gradients
        whole = np.minimum(twice, reduced)
    else:
        gathered, scattered = nets["shard"].gather_s(weights), nets["shard"].gather_s(gradients)
        across = nets["replica"].reduce_s(gradients / inner)
        twice = nets["data"].gather_s(gradients) + nets["data"].gather_s(updated)
        whole = np.minimum(twice, nets["data"].reduce_s(gradients))
    visible = 1 - a.dp_overlap
    kept = gathers_once(model.framework, columns["pp"])
    once = visible * (across + np.where(kept, gathered + scattered, 0.0))
    shown = 0.0 if a.perfect_overlap else 1 - a.zero3_overlap  # passes may hide all of them
    often = np.where(kept, 0.0, shown * (2 * gathered + scattered))
    return np.stack([
        np.where(columns["fsdp"] > 1, np.inf, visible * whole),
        np.where(inner > 1, once, np.inf),
        np.where(inner > 1, often, 0.0),
    ])  # fmt: skip


def _s_per_byte(
    model: CostModel, least: Callable[[Fabric, int], float], chips: IntArray, size: IntArray
) -> FloatArray:
    """(m,) seconds per byte below which no collective of any group of that size can be."""
    result = np.zeros(len(size))
    first, which = distinct([chips, size])
    for row, (count, members) in enumerate(zip(chips[first], size[first], strict=True)):
        result[row] = least(model.fabric(int(count)), int(members))
    return result[: len(first)][which]


def least_gather_s_per_byte(fabric: Fabric, members: int) -> float:
    """Seconds per byte that no all-gather of g members beats, wherever they sit.

    With i_l members inside a domain of level l (i_l <= h_l = min(g, domain), i_-1 = 1), r_l the
    most that a chip can get from the level, and R_l the largest of r_l and those further out:

        one ring per level   sum (1/i_(l-1) - 1/i_l) / rate_l  >=  sum (1/h_(l-1) - 1/h_l) / R_l
        flat ring            (1 - 1/g) / min (rate_l i_(l-1))  >=  (1 - 1/g) max 1 / (R_l h_(l-1))

    The first because what leaves the domains inside l is at least 1/h_(l-1) - 1/g in sum, and
    goes over l or further out; the second, over the levels with h_(l-1) < g, because the group
    crosses the first of l and beyond with at most h_(l-1) members inside.
    """
    held = [1, *(min(members, level.domain) for level in fabric.levels)]
    rates = [_most_per_chip(level, members) for level in fabric.levels]
    rates[0] = max(rates[0], _most_of_table(fabric, members))
    staged, flat = 0.0, 0.0
    for row in range(len(rates)):
        if held[row] < members:
            fastest = max(rates[row:])
            staged += (1 / held[row] - 1 / held[row + 1]) / fastest
            flat = max(flat, (1 - 1 / members) / (fastest * held[row]))
    return min(staged, flat)


def least_reduce_s_per_byte(fabric: Fabric, members: int) -> float:
    """Seconds per byte that no all-reduce of g members beats, wherever they sit.

    It is two all-gathers, or one divided by the gain of the switches. A tree over domains passes
    each byte once over the uplinks of i <= h_0 members and, as soon as there are two of them, 1/i
    of (i - 1) bytes twice through the switches of a domain:

        max (2 (1 - 1/i) / (r_0 gain), 1 / (R_1 i))  >=  max (1 / (r_0 gain), 1 / (R_1 h_0))
    """
    inner, outer = fabric.levels[0], fabric.levels[1:]
    gain = max(1.0, inner.in_switch_gain)
    twice = 2 * least_gather_s_per_byte(fabric, members) / gain
    if "in-switch-tree" not in fabric.algorithms or not outer or members == 1:
        return twice
    inside = 1 / (_most_per_chip(inner, members) * gain)
    uplink = max(_most_per_chip(level, members) for level in outer) * min(members, inner.domain)
    return min(twice, max(inside, 1 / uplink))


def _most_of_table(fabric: Fabric, members: int) -> float:
    """Bytes per second into a chip in the synthesized gathers of groups of `members` or fewer.

    A schedule may use the links of chips that are in no group with it.
    """
    level = fabric.levels[0]
    if level.table is None:
        return 0.0
    found = [
        (1 - 1 / len(group.members)) * level.lane_bytes_per_s / float(point.load)
        for group in level.table.groups
        if len(group.members) <= members
        for point in group.gather
    ]
    return max(found, default=0.0)


def _most_per_chip(level: FabricLevel, members: int) -> float:
    """Bytes per second that a chip gets from a level in no group of `members` or fewer."""
    if level.torus is not None:
        return level.torus.ring_links * level.torus.link_bytes_per_s * len(level.torus.dims)
    if level.peer_bytes_per_s > 0:
        return level.peer_bytes_per_s * max(min(members, level.domain) - 1, 1)
    return max([level.bytes_per_s, *(rate for _, rate in level.by_group)])
