"""What is declared where stages may differ, in plain loops: partial plans, and rows on pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from planner.base.arrays import BoolArray, FloatArray
from planner.base.vocabulary import LAYOUTS, RECOMPUTES
from planner.cost.context import networks
from planner.cost.pools.pools import Pool
from planner.frameworks.rules import Demand, applicable, heads_exchange
from planner.network.placement import Mesh as Axes
from planner.plan import ALL_TO_ALL, DDP, EVEN, NO_RECOMPUTE, ORDERS, RING, SHARDINGS
from planner.plan.choices import fixed_values
from planner.plan.layout_text import parse_layout
from planner.schedules import SCHEDULES, schedule_of
from planner.verification.asked import Asked
from planner.verification.bounds import NodeBounds
from planner.verification.rows import Mesh, Node, Row, mesh_of, table
from planner.verification.space import Space
from planner.verification.stages.funnel import Listed

_OF_SPLITS = ("layers", "split-offered")
"""Rules about splits of the framework, which stages that differ need not follow."""
Logical = tuple[int, int, int]
"""tp, cp and pp."""


def logical(node: Node) -> Logical:
    """The logical mesh of a partial plan."""
    return node[0], node[1], node[2]


class StageSpace(Space):
    """The partial plans of a question whose stages may differ; their split says nothing."""

    @property
    def layers(self) -> tuple[int, ...] | None:
        """Layers of every chunk, where they are given."""
        layout = self.asked.request.layout
        return None if layout in LAYOUTS else parse_layout(layout)

    def partial_plans(self) -> list[Node]:
        """All of them."""
        nodes, _ = self.nodes(self.meshes()[0])
        return [node for node in nodes if self.deals_out(node)]

    def deals(self, pp: int) -> bool:
        """Whether so many stages have layers, but the first and the last."""
        return pp <= self.model.job.model.layers + 2

    def of_shardings(self) -> list[Demand]:
        """None: stages choose their shardings."""
        return []

    def chunkings(self, pp: int) -> list[tuple[int, int]]:
        """Every interleave."""
        return [(v, EVEN) for v in self.interleaves(pp)]

    def pipelines(self, pp: int) -> list[tuple[int, int, int]]:
        """Those whose schedules take stages that differ."""
        every = super().pipelines(pp)
        return [one for one in every if pp == 1 or schedule_of(SCHEDULES[one[0]]).uneven]

    def asked_for(self, pp: int, micro_batch: int, schedule: int, v: int, split: int) -> bool:
        """Whether the user allows the choices of a partial plan."""
        del pp, split
        named = (("micro_batch", micro_batch), ("schedule", schedule), ("interleave", v))
        return all(self.asked.allows(name, value) for name, value in named)

    def deals_out(self, node: Node) -> bool:
        """Whether its chunks are as many as are given, or of about as many layers each.

        Others are searched where interleaving is asked for.
        """
        pp, v, fix = node[2], node[-2], self.asked.request.fix
        if self.layers is not None:
            return pp * v == len(self.layers)
        named = [SCHEDULES[code] for code in fixed_values("schedule", fix.get("schedule", ()))]
        interleaved = bool(named) and all(schedule_of(name).interleaves for name in named)
        if interleaved or "interleave" in fix:
            return True
        share = -(-self.model.job.model.layers // pp)
        return share % v == 0 or (share + 1) % v == 0


class MachineSpace(StageSpace):
    """The same on one machine, whose partial plans are the rows of the first bound."""

    def first_step(self) -> Listed:
        """What its funnel begins with; on a torus without bounds, for layouts have others."""
        nodes, layers = self.partial_plans(), self.model.job.model.layers
        torus = self.asked.request.placement == "torus"
        return Listed(
            first="LB0",
            rows=len(nodes),
            meshes=len({logical(node) for node in nodes}),
            interleaves=self.layers is None and any(node[-2] > 1 for node in nodes),
            ways=len(SHARDINGS) * (len(RECOMPUTES) + layers) if self.asked.demands else 1,
            timed=self.asked.request.time_limit is not None,
            least_s=None if torus else self._least_s(nodes),
        )

    def _least_s(self, nodes: Sequence[Node]) -> FloatArray:
        """(n,) LB0 of partial plans."""
        if not nodes:
            return np.empty(0)
        allowed = [code for code in self.recomputes() if self.asked.allows("recompute", code)]
        meshes = list(dict.fromkeys(mesh_of(node) for node in nodes))
        bounds = NodeBounds(self.asked, self, meshes)
        return bounds.of_unlike_stages(nodes, min(allowed))


class PoolSpace(StageSpace):
    """The same on pools of chips, whose rows are counted once their networks are known.

    Args:
        asked: The question about the first pool, with the chips of all.
        pools: All of them.
    """

    def __init__(self, asked: Asked, pools: Sequence[Pool]) -> None:
        super().__init__(asked)
        self.pools = pools

    def deals_out(self, node: Node) -> bool:
        """Whether every pool has whole stages, of one chunk each, that a schedule of pools runs."""
        tp, cp, pp, dp, fsdp = node[:5]
        whole = all(pool.chips % (tp * cp * dp * fsdp) == 0 for pool in self.pools)
        if not whole or node[-2] > 1 or not schedule_of(SCHEDULES[node[-3]]).on_pools:
            return False
        return self.layers is None or pp == len(self.layers)

    def first_step(self) -> Listed:
        """What its funnel begins with."""
        rows = self.rows()
        return Listed(first="LB1", rows=rows.total(), meshes=len(rows))

    def rows(self) -> Counter[Logical]:
        """How many rows there are on each logical mesh."""
        found, places = Counter[Logical](), dict[Mesh, int]()
        for node, _ in self._allowed(self._exchanged(self.partial_plans())):
            mesh = mesh_of(node)
            if mesh not in places:
                places[mesh] = self._places(mesh)
            found[logical(node)] += places[mesh]
        return found

    def _exchanged(self, nodes: Sequence[Node]) -> list[Row]:
        """Sequence parallelism and context-parallel mode of partial plans."""
        model, allows, rows = self.model, self.asked.allows, list[Row]()
        for node in nodes:
            tp, cp = node[:2]
            spread = [False] if tp == 1 else [True] if model.shapes.experts else [False, True]
            spread = [one for one in spread if tp == 1 or allows("sequence_parallel", int(one))]
            swaps = cp > 1 and heads_exchange(model, np.array([tp]), np.array([cp]))[0]
            modes = [RING, ALL_TO_ALL] if swaps else [RING]
            modes = [mode for mode in modes if cp == 1 or allows("cp_mode", mode)]
            pairs = product(spread, modes)
            rows += [(node, (DDP, *pair, NO_RECOMPUTE, 0)) for pair in pairs]
        return rows

    def _allowed(self, rows: list[Row]) -> list[Row]:
        """Those that the rules allow, with some sharding."""
        rules = [rule for rule in applicable(self.model.framework) if rule.name not in _OF_SPLITS]
        plans, good = table(rows), np.ones(len(rows), dtype=np.bool_)
        sharded: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        for rule in rules:
            if not rule.per_stage:
                good &= rule.holds(self.model, plans)
        for code in range(len(SHARDINGS)):
            if self.asked.allows("sharding", code):
                same = replace(plans, sharding=np.full(len(rows), code, dtype=np.int64))
                holds = [rule.holds(self.model, same) for rule in rules if rule.per_stage]
                sharded |= np.all([np.ones(len(rows), dtype=np.bool_), *holds], axis=0)
        return [rows[at] for at in np.flatnonzero(good & sharded).tolist()]

    def _places(self, mesh: Mesh) -> int:
        """Orders of the axes of a mesh that find other networks in some pool."""
        orders = np.array([ORDERS.index(order) for order in self.asked.orders], dtype=np.int64)
        tp, cp, _, dp, fsdp, ep, etp = mesh
        one = {"tp": tp, "cp": cp, "fsdp": fsdp, "dp": dp, "ep": ep, "etp": etp}
        same = {name: np.full(len(orders), size, dtype=np.int64) for name, size in one.items()}
        parts = [list[bytes]() for _ in range(len(orders))]
        for pool in self.pools:
            stages = np.full_like(orders, pool.chips // (tp * cp * dp * fsdp))
            axes = Axes(**same, pp=stages, order=orders)  # type: ignore[arg-type]
            for groups in networks(pool.model, axes).values():
                for part, cost in zip(parts, groups.features[:, groups.columns].T, strict=True):
                    part.append(np.ascontiguousarray(cost).tobytes())
        return len({tuple(part) for part in parts})
