"""Lower bounds of nodes, by the equations of the cost model at the least values of their terms.

A partial plan is a mesh of pp stages with micro-batches of b sequences, m of them, interleave v:

    T >= [ m (S / pp + c_mb) + w S + d(m) + c_step ] f
    E >= chips [ m K / pp (P_busy - P_wait) f + T P_standing ]    (+ joules of all operations)

S: seconds of all layers and both ends for one micro-batch, the least over sequence parallelism and
the context-parallel modes that heads allow, each group on the cheapest of the orders; K: of
kernels; w: the share of S that a schedule idles; d: the least of `reductions`; f: site factor and
jitter.

A plan is bounded by its own cost with each group on the cheapest of the orders that it runs in, and
a reduction that hides as much as it ever may. `docs/model/search.md` has the lemmas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.columns import Nets, columns_of
from planner.cost.communication.data_parallel import Gathers, gathers_once
from planner.cost.context import CostModel, mesh_of, networks
from planner.cost.energy.energy import least_component_j, running_w, standing_w
from planner.cost.memory.parameters import trained_share
from planner.cost.pieces import (
    costs_of_layers,
    costs_of_stages,
    inputs_of_step,
    layer_columns,
    moved_j,
    terms_of_layers,
    terms_of_state,
)
from planner.cost.step import step_cost, step_factor
from planner.cost.terms import LAYER_GROUPS, layer_terms
from planner.cost.vision.seconds import end_costs
from planner.frameworks.rules import heads_exchange
from planner.network.collectives import GroupCosts
from planner.network.fabric import Fabric, FabricLevel
from planner.plan import ALL_TO_ALL, RING, PlanTable
from planner.schedules import SCHEDULES, schedule_of
from planner.verification.asked import Asked
from planner.verification.rows import Mesh, Node, Row, table
from planner.verification.space import Space

_IDLES = ("1f1b", "gpipe", "interleaved")
"""Schedules in which a stage waits for one micro-batch, or a v-th, to pass all the others."""
_AT_A_TIME = 20_000


class NodeBounds:
    """Bounds of partial plans.

    Args:
        asked: The question.
        space: Its plans.
        meshes: On which the partial plans are.
    """

    def __init__(self, asked: Asked, space: Space, meshes: Sequence[Mesh]) -> None:
        self.asked, self.model = asked, asked.model
        self.at = {mesh: row for row, mesh in enumerate(meshes)}
        self.nets = cheapest(asked.model, meshes, [space.every_order(m) for m in meshes])
        self.reductions = [reductions(asked.model, mesh) for mesh in meshes]
        self.running_w = running_w(asked.model, asked.clocks)
        self.standing_w = {n: standing_w(asked.model, n) for n in asked.chips}
        self.factor = {n: _factor(asked.model, n) for n in asked.chips}

    def of(self, nodes: Sequence[Node], recompute: Sequence[Sequence[int]]) -> FloatArray:
        """(n, k, 2) least seconds and joules of partial plans that recompute so or so, or more."""
        keys = [
            [(node[:7], node[7], code) for code in codes]
            for node, codes in zip(nodes, recompute, strict=True)
        ]
        distinct = {key: row for row, key in enumerate(dict.fromkeys(chain(*keys)))}
        if not distinct:
            return np.empty((0, len(self.asked.clocks), 2))
        at = [distinct[key] for key in chain(*keys)]
        starts = np.cumsum([0, *map(len, keys[:-1])])
        every = self._least_seconds(list(distinct))
        least = [np.minimum.reduceat(part[at], starts) for part in every]
        return self._corners(nodes, *least, gathers=self._micro_batches(nodes))

    def of_unlike_stages(self, nodes: Sequence[Node], recompute: int) -> FloatArray:
        """(n,) least seconds of partial plans whose stages may shard and recompute differently.

        Every layer recomputes so or more. Each stage pays for its own sharding, the slowest of them
        no less than the cheapest does once.
        """
        every = self._least_seconds([(node[:7], node[7], recompute) for node in nodes])
        once = np.ones((len(nodes), 1))
        return np.asarray(self._corners(nodes, *every, gathers=once)[:, :, 0].min(axis=1))

    def _micro_batches(self, nodes: Sequence[Node]) -> FloatArray:
        """(n, 1) of a step."""
        ranks = np.array([node[3] * node[4] * node[7] for node in nodes], dtype=float)
        return self.model.job.global_batch / ranks[:, None]

    def _corners(
        self,
        nodes: Sequence[Node],
        alone: FloatArray,
        paired: FloatArray,
        kernels: FloatArray,
        *,
        gathers: FloatArray,
    ) -> FloatArray:
        """(n, k, 2) the formulas of the module; weights are gathered so often in a step."""
        a, schedules = self.model.assumptions, [schedule_of(SCHEDULES[node[8]]) for node in nodes]
        each = [self.reductions[self.at[node[:7]]] for node in nodes]
        sizes = np.array([node[:10] for node in nodes], dtype=float)
        tp, cp, pp, dp, fsdp, _, _, _, _, v = sizes.T[:, :, None]
        chips = tp * cp * pp * dp * fsdp
        m = self._micro_batches(nodes)
        least = [
            min(once + number * often for once, often in one)
            for one, number in zip(each, gathers[:, 0].tolist(), strict=True)
        ]
        numbers = chips[:, 0].astype(int).tolist()
        d, f, standing = (
            np.array(one)[:, None]
            for one in (
                least,
                [self.factor[n] for n in numbers],
                [self.standing_w[n] for n in numbers],
            )
        )
        idles = a.bubbles & np.array([[one.name in _IDLES] for one in schedules])
        w = np.where(idles, (pp - 1) / pp / v, 0.0)
        s = np.where(np.array([[one.side_by_side] for one in schedules]), paired, alone)
        time = (m * (s / pp + a.micro_batch_s) + w * s + d + a.step_s) * f
        busy = m * kernels / pp * f * self.running_w
        energy = chips * (busy + time * standing)
        if a.component_energy:
            energy = energy + least_component_j(self.model)
        return np.stack([time, energy], axis=2)

    def _least_seconds(
        self, keys: Sequence[tuple[Mesh, int, int]]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(n, k) S, S where passes run side by side, and K of meshes, micro-batches, recompute."""
        spread = (False, True) if any(mesh[0] > 1 for mesh, _, _ in keys) else (False,)
        modes = (RING, ALL_TO_ALL) if any(mesh[1] > 1 for mesh, _, _ in keys) else (RING,)
        every = [self._seconds(keys, sp, mode) for sp in spread for mode in modes]
        s, paired, k = (np.min(parts, axis=0) for parts in zip(*every, strict=True))
        return s, paired, k

    def _seconds(
        self, keys: Sequence[tuple[Mesh, int, int]], spread: bool, mode: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same with and without sequence parallelism, in one context-parallel mode."""
        model, clock = self.model, self.asked.clocks[None, :]
        column = np.array([(*mesh, b, r) for mesh, b, r in keys], dtype=np.int64).T[:, :, None]
        tp, cp, _, _, _, ep, etp, micro_batch, recompute = column
        rows = np.array([self.at[mesh] for mesh, _, _ in keys])[:, None]
        nets = {name: self.nets[name].take(rows) for name in LAYER_GROUPS}
        modes = np.where(heads_exchange(model, tp, cp), mode, RING)
        x = layer_columns(
            model, tp=tp, cp=cp, ep=ep, etp=etp, micro_batch=micro_batch, recompute=recompute,
            cp_mode=modes, sequence_parallel=(tp > 1) & spread, offload=np.zeros_like(tp),
            clock=clock,
        )  # fmt: skip
        terms = layer_terms(model, x, nets, model.local_parameters(tp, ep * etp))
        ends = end_costs(model, tp, micro_batch * model.job.seq_len / cp, clock, nets["tp"])
        total = busy = beside = ends.embedding + ends.head
        for kind, layer in (("dense", terms.dense), ("moe", terms.moe)):
            if layer is not None:
                count = model.job.model.layer_kinds.count(kind)
                total = total + count * layer.total
                beside = beside + count * (layer.total - layer.paired)
                busy = busy + count * layer.kernels
        shape = (len(keys), clock.shape[1])
        return (
            np.broadcast_to(total, shape),
            np.broadcast_to(beside, shape),
            np.broadcast_to(busy, shape),
        )


def _factor(model: CostModel, chips: int) -> float:
    """Site factor and jitter of so many chips."""
    return float(step_factor(model.assumptions, np.array([float(chips)]))[0])


def cheapest(model: CostModel, meshes: Sequence[Mesh], orders: Sequence[Sequence[int]]) -> Nets:
    """(m,) costs of the groups of meshes, each feature the least over some orders of the axes."""
    if not meshes:
        return {}
    rows = [(_on(mesh), order) for mesh, some in zip(meshes, orders, strict=True) for order in some]
    ends = np.cumsum([0, *map(len, orders[:-1])])
    placed = table([row for row, _ in rows], [order for _, order in rows])
    found: Nets = {}
    for name, costs in networks(model, mesh_of(placed)).items():
        own = costs.features[:, costs.columns]
        least = np.minimum.reduceat(own, ends, axis=1)
        least[0] = np.maximum.reduceat(own[0], ends)  # of members: more of them hold smaller shards
        found[name] = costs.with_features(least)
    return found


def _on(mesh: Mesh) -> Row:
    return (*mesh, 1, 0, 1, 0), (0, False, RING, 0, 0)


def plan_bounds(asked: Asked, rows: Sequence[Row], orders: Sequence[Sequence[int]]) -> FloatArray:
    """(n, k, 2) least seconds and joules of plans in any of some orders, at each clock."""
    keys = [(row[0][:7], tuple(some)) for row, some in zip(rows, orders, strict=True)]
    distinct = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    clocks, found = len(asked.clocks), [np.empty((0, 2))]
    if not rows:
        return np.empty((0, clocks, 2))
    nets = cheapest(asked.model, [mesh for mesh, _ in distinct], [some for _, some in distinct])
    at = np.repeat([distinct[key] for key in keys], clocks)
    plans = table(rows).take(np.repeat(np.arange(len(rows)), clocks))
    plans = replace(plans, clock=np.tile(asked.clocks, len(rows)))
    for start in range(0, len(plans), _AT_A_TIME):
        part = np.arange(start, min(start + _AT_A_TIME, len(plans)))
        own = {name: costs.take(at[part][:, None]) for name, costs in nets.items()}
        found.append(_plan_bounds(asked.model, plans.take(part), own))
    return np.concatenate(found).reshape(len(rows), clocks, 2)


def _plan_bounds(model: CostModel, plans: PlanTable, nets: dict[str, GroupCosts]) -> FloatArray:
    """(n, 2) seconds and joules of plans on given networks, with what hides at its most."""
    a = model.assumptions
    x = columns_of(model, plans, nets=nets)
    costs = costs_of_layers(model, x, terms_of_layers(model, x))
    stages = [
        replace(stage, collective=(1 - a.dp_overlap) * stage.collective)
        for stage in costs_of_stages(model, x, costs, terms_of_state(model, x))
    ]
    inputs = replace(inputs_of_step(model, x), bounds=True, moved_j=moved_j(model, x, wires=False))
    step = step_cost(replace(a, dp_overlap=0.0), stages, inputs)
    return np.stack([step.time[:, 0], step.energy[:, 0]], axis=1)


def reductions(model: CostModel, mesh: Mesh) -> list[tuple[float, float]]:
    """Seconds of data parallelism that each sharding of a mesh neither hides nor avoids.

    Those of a step, and those of each micro-batch.
    """
    tp, cp, pp, dp, fsdp, ep, etp = mesh
    a, job = model.assumptions, model.job
    fabric = model.fabric(tp * cp * pp * dp * fsdp)
    local = model.local_parameters(np.array([tp]), np.array([ep * etp]))
    kinds = job.model.layer_kinds
    layers = kinds.count("dense") * local.dense_layer + kinds.count("moe") * local.moe_layer
    stage, share = float(layers[0]) / pp, trained_share(job)
    inner, visible = cp * fsdp, 1 - a.dp_overlap
    gradients = a.gradient_wire_bytes * share * stage
    options = []
    if fsdp == 1:  # ddp reduces gradients; zero1 and zero2 scatter them and gather weights
        updated = share * min(a.weight_wire_bytes, 2) * stage
        scattered_s = gather_s(fabric, cp * dp) * (gradients + updated)
        reduced_s = reduce_s(fabric, cp * dp) * gradients
        options.append((visible * min(scattered_s, reduced_s), 0.0))
    if inner > 1:  # zero3 gathers weights; replicas reduce what is left
        weights = Gathers.of(job).weight_bytes * stage
        replicas = visible * reduce_s(fabric, dp) * gradients / inner
        rate = gather_s(fabric, inner)
        if gathers_once(model.framework, np.array([pp]))[0]:
            options.append((visible * rate * (weights + gradients) + replicas, 0.0))
        else:
            shown = 0.0 if a.perfect_overlap else 1 - a.zero3_overlap
            options.append((replicas, shown * rate * (2 * weights + gradients)))
    return options


def gather_s(fabric: Fabric, members: int) -> float:
    """Seconds per byte of an all-gather of so many members that no placement beats.

    One ring per level moves over level l at least what must leave the domains inside it; a flat
    ring passes all but one share over some link of the outermost level that it crosses.
    """
    inside, rates = 1, [_most_bytes_per_s(level, members) for level in fabric.levels]
    rates[0] = max(rates[0], _synthesized_bytes_per_s(fabric, members))
    staged = flat = 0.0
    for row, level in enumerate(fabric.levels):
        if inside >= members:
            break
        fastest, here = max(rates[row:]), min(members, level.domain)
        staged += (1 / inside - 1 / here) / fastest
        flat = max(flat, (1 - 1 / members) / (fastest * inside))
        inside = here
    return min(staged, flat)


def reduce_s(fabric: Fabric, members: int) -> float:
    """Seconds per byte of an all-reduce of so many members that no placement beats.

    Scattering and gathering, which switches do in one; or a tree over domains, which sends each
    byte once out of a domain, with the links of all members in it, and of two members or more half
    of it twice through its switches.
    """
    switches = max(1.0, fabric.levels[0].in_switch_gain)
    found = [2 * gather_s(fabric, members) / switches]
    if "in-switch-tree" in fabric.algorithms and len(fabric.levels) > 1 and members > 1:
        inner, *outer = (_most_bytes_per_s(level, members) for level in fabric.levels)
        together = max(outer) * min(members, fabric.levels[0].domain)
        found.append(max(1 / (switches * inner), 1 / together))
    return min(found)


def _most_bytes_per_s(level: FabricLevel, members: int) -> float:
    """What a chip gets from a level at most."""
    if level.torus is not None:
        torus = level.torus
        return torus.ring_links * torus.link_bytes_per_s * len(torus.dims)
    if level.peer_bytes_per_s > 0:
        return level.peer_bytes_per_s * max(min(members, level.domain) - 1, 1)
    return max([level.bytes_per_s, *(rate for _, rate in level.by_group)])


def _synthesized_bytes_per_s(fabric: Fabric, members: int) -> float:
    """What a chip gets at most in the synthesized gathers of so many members or fewer."""
    level = fabric.levels[0]
    if level.table is None:
        return 0.0
    rates = [
        (1 - 1 / len(group.members)) * level.lane_bytes_per_s / float(point.load)
        for group in level.table.groups
        if len(group.members) <= members
        for point in group.gather
    ]
    return max(rates, default=0.0)
