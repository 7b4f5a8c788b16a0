"""The meshes of the declared space in plain loops, and what each rule excludes.

Rows that the rules allow are returned, the others counted by the first rule that they break, in the
order in which the rules are declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from planner.frameworks.rules import PLACEMENT, Demand, fits_layers
from planner.plan import ORDERS, SHARDINGS, SPLITS, ZERO3
from planner.plan.choices import fixed_values
from planner.schedules import schedule_of
from planner.schedules.schedule import Schedule
from planner.verification.asked import Asked
from planner.verification.rows import Counts, Mesh, kept, plainest, table, thin


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    return [n for n in range(1, number + 1) if number % n == 0]


class Meshes:
    """The meshes of a question.

    Args:
        asked: The question.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked, self.model = asked, asked.model
        framework = self.model.framework
        self.splits = [SPLITS.index(name) for name in framework.splits]
        self.schedules = [schedule_of(name) for name in framework.schedules]
        self.shardings = [SHARDINGS.index(name) for name in framework.shardings]
        self._orders: dict[frozenset[str], list[int]] = {}
        self._divisors: dict[int, list[int]] = {}

    def meshes(self) -> tuple[list[Mesh], dict[str, Counts]]:
        """Every mesh that the rules allow, and counts of "factorizations" and "meshes"."""
        first, second = Counts(), Counts()
        allowed = []
        for sizes in self._factorizations(first):
            allowed += list(self._data_ranks(sizes, second))
        runnable = self._runnable_meshes(allowed, second)
        return runnable, {"factorizations": first, "meshes": second}

    def _factorizations(self, counts: Counts) -> Iterator[tuple[int, int, int, int]]:
        """tp, cp, pp and data ranks that multiply to the chips."""
        for chips in self.asked.chips:
            for tp in self.of(chips):
                for cp in self.of(chips // tp):
                    for pp in self.of(chips // tp // cp):
                        data = chips // tp // cp // pp
                        counts["considered"] += 1
                        if broken := self._breaks(tp, cp, pp, data):
                            counts[broken] += 1
                        else:
                            yield tp, cp, pp, data

    def _breaks(self, tp: int, cp: int, pp: int, data: int) -> str:
        """The first rule that a factorization breaks."""
        model, allows = self.model, self.asked.allows
        if not (allows("tp", tp) and allows("cp", cp) and allows("pp", pp)):
            return "axes"
        if pp > 1 and "pp" in model.framework.lacks:
            return "framework"
        if not self._heads_divide(tp):
            return "heads"
        if not self._sequence_divides(cp):
            return "sequence"
        if not self.deals(pp):
            return "layers"
        return "batch" if model.job.global_batch % data else ""

    def deals(self, pp: int) -> bool:
        """Whether the layers go on so many stages."""
        pairs = product(self.interleaves(pp), self.splits)
        return any(fits_layers(self.model, pp, v, split) for v, split in pairs)

    def breaks(self, mesh: Mesh) -> bool:
        """Whether a mesh breaks a rule, whatever it is a mesh of."""
        tp, cp, pp, dp, fsdp, _, _ = mesh
        counts, sizes = Counts(), (tp, cp, pp, dp * fsdp)
        if self._breaks(*sizes) or mesh not in self._data_ranks(sizes, counts):
            return True
        return not self._runnable_meshes([mesh], counts)

    def _heads_divide(self, tp: int) -> bool:
        shapes = self.model.shapes
        if shapes.heads % tp or shapes.dense_width % tp or shapes.shared_width % tp:
            return False
        if shapes.scan and (shapes.scan.heads % tp or shapes.scan.key_heads % tp):
            return False
        if shapes.heads and not shapes.latent:
            return shapes.kv_heads % tp == 0 or tp % shapes.kv_heads == 0
        return True

    def _sequence_divides(self, cp: int) -> bool:
        if self.model.assumptions.token_granularity or cp == 1:
            return True
        return not self.model.shapes.scan and self.model.job.seq_len % (2 * cp) == 0

    def _data_ranks(self, sizes: tuple[int, int, int, int], counts: Counts) -> Iterator[Mesh]:
        """The data ranks as dp x fsdp, crossed with expert parallelism and that inside experts."""
        tp, cp, pp, data = sizes
        model, allows = self.model, self.asked.allows
        folds = model.shapes.experts > 0 and "ep" not in model.framework.lacks
        groups = product(self.of(model.shapes.experts), self.splits_of_experts())
        pairs = list(groups) if folds else [(1, 1)]
        for fsdp in self.of(data) if ZERO3 in self.shardings else [1]:
            for ep, etp in pairs:
                dp = data // fsdp
                counts["considered"] += 1
                sizes_of = {"dp": dp, "fsdp": fsdp, "ep": ep, "etp": etp}
                if tp * cp * data % (ep * etp):
                    counts["experts"] += 1
                elif not all(allows(name, size) for name, size in sizes_of.items()):
                    counts["axes"] += 1
                else:
                    yield tp, cp, pp, dp, fsdp, ep, etp

    def splits_of_experts(self) -> list[int]:
        """Ranks that may share each expert: one, but where others are asked for and can be had."""
        asked = self.asked.request.fix.get("etp", ()) if self.model.framework.splits_experts else ()
        width = self.model.shapes.expert_width
        return sorted(n for n in fixed_values("etp", asked) if width % n == 0) or [1]

    def _runnable_meshes(self, meshes: list[Mesh], counts: Counts) -> list[Mesh]:
        """The meshes that targets can run in some order."""
        of_mesh = [d for d in self.asked.demands if d.rule.field == "mesh" or d.rule.of_job]
        for demand in of_mesh:
            holds = demand.holds(table([plainest(mesh) for mesh in meshes]))
            meshes = kept(meshes, holds, demand.name, counts)
        for demand in self.of_shardings():
            gathered = table([plainest(mesh, ZERO3) for mesh in meshes])
            holds = demand.holds(gathered) | (gathered.fsdp == 1)
            meshes = kept(meshes, holds, demand.name, counts)
        placed = [d for d in self.asked.demands if d.rule.field == PLACEMENT]
        rows = {mesh: plainest(mesh) for mesh in meshes}
        alive = {mesh: self.every_order(mesh) for mesh in meshes}
        for demand in placed:
            thin(alive, rows, demand)
            meshes = kept(meshes, [bool(alive[mesh]) for mesh in meshes], demand.name, counts)
        return meshes

    def of_shardings(self) -> list[Demand]:
        """What targets demand of meshes that have a single sharding."""
        return [demand for demand in self.asked.demands if demand.rule.of_sharding]

    def every_order(self, mesh: Mesh) -> list[int]:
        """One order for each way to nest the axes above 1, whatever runs it."""
        axes = ("tp", "cp", "pp", "dp", "fsdp")
        active = frozenset(axis for axis, size in zip(axes, mesh, strict=False) if size > 1)
        if active not in self._orders:
            found: dict[tuple[str, ...], int] = {}
            for order in self.asked.orders:
                nested = tuple(axis for axis in order if axis in active)
                found.setdefault(nested, ORDERS.index(order))
            self._orders[active] = list(found.values())
        return self._orders[active]

    def interleaves(self, pp: int) -> list[int]:
        """Chunks per stage that some schedule runs."""
        chunked = [schedule for schedule in self.schedules if schedule.interleaves]
        if pp == 1 or not chunked:
            return [1]
        most = (self.model.job.model.layers + 2) // pp
        most = min(most, self.model.framework.most_chunks or most)
        every = range(1, most + 1)
        return [v for v in every if v == 1 or any(fits(one, v) for one in chunked)]

    def of(self, number: int) -> list[int]:
        """Its divisors."""
        if number not in self._divisors:
            self._divisors[number] = divisors(number)
        return self._divisors[number]


def fits(schedule: Schedule, v: int) -> bool:
    """Whether a schedule runs with so many chunks per stage."""
    return bool(np.all(schedule.fits_interleave(np.array(v))))
