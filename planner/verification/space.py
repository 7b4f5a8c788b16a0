"""The declared space in plain loops: meshes, partial plans, plans, and what each rule excludes.

Every function yields or returns rows that the rules allow and counts the others by the first rule
that they break, in the order in which the rules are declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np

from planner.frameworks.rules import (
    PLACEMENT,
    Demand,
    applicable,
    fits_layers,
    heads_exchange,
)
from planner.plan import (
    ALL_TO_ALL,
    BY_COST,
    DDP,
    DEFAULT_ORDER,
    EVEN,
    EVEN_COUNTED,
    FRONT,
    FRONT_COUNTED,
    FULL,
    NO_RECOMPUTE,
    ORDERS,
    RING,
    SELECTIVE,
    SHARDINGS,
    SPLITS,
    ZERO3,
    PlanTable,
)
from planner.schedules import SCHEDULES, code_of_schedule, schedule_of
from planner.verification.asked import Asked

_MESH = ("tp", "cp", "pp", "dp", "fsdp", "ep")
Mesh = tuple[int, int, int, int, int, int]
"""tp, cp, pp, dp, fsdp, ep."""
Node = tuple[int, int, int, int, int, int, int, int, int, int]
"""A mesh, then micro-batch, codes of schedule, interleave and of the split: a partial plan."""
Choice = tuple[int, bool, int, int]
"""Code of the sharding, sequence parallelism, codes of context-parallel mode, recomputation."""
Seen = tuple[int, ...]
Counts = Counter[str]
T = TypeVar("T")


Row = tuple[Node, Choice]
"""A plan without its order and its clock."""
_NODE = (*_MESH, "micro_batch", "schedule", "interleave", "split")
_CHOICE = ("sharding", "sequence_parallel", "cp_mode", "recompute")


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    return [n for n in range(1, number + 1) if number % n == 0]


def table(rows: Sequence[Row], order: int | Sequence[int] = DEFAULT_ORDER) -> PlanTable:
    """Plans of nodes and choices as the cost model and the rules take them, at clock 1."""
    nodes = np.array([node for node, _ in rows], dtype=np.int64).reshape(-1, 10).T
    chosen = np.array([choice for _, choice in rows], dtype=np.int64).reshape(-1, 4).T
    tp, cp, pp, dp, fsdp, ep, micro_batch, schedule, interleave, split = nodes
    count = len(rows)
    return PlanTable(
        tp=tp, cp=cp, pp=pp, dp=dp, fsdp=fsdp, ep=ep,
        micro_batch=micro_batch, schedule=schedule, interleave=interleave, split=split,
        sharding=chosen[0], sequence_parallel=chosen[1].astype(np.bool_), cp_mode=chosen[2],
        recompute=chosen[3], offload=np.zeros(count, dtype=np.int64),
        order=np.broadcast_to(np.asarray(order, dtype=np.int64), (count,)).copy(),
        clock=np.ones(count),
    )  # fmt: skip


class Space:
    """The declared space of a question.

    Args:
        asked: The question.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked, self.model = asked, asked.model
        framework = self.model.framework
        self.splits = [SPLITS.index(name) for name in framework.splits]
        self.schedules = [schedule_of(name) for name in framework.schedules]
        self.shardings = [SHARDINGS.index(name) for name in framework.shardings]
        fields = {d.rule.field for d in asked.demands if d.rule.placed}
        self._fields = sorted((*_NODE, *_CHOICE).index(name) for name in fields)
        self._orders: dict[frozenset[str], list[int]] = {}
        self._pipelines: dict[int, list[tuple[int, int, int]]] = {}
        self._known: dict[tuple[int, int, int], bool] = {}
        self._divisors: dict[int, list[int]] = {}
        self._chunkings: dict[int, list[tuple[int, int]]] = {}

    # Meshes.

    def meshes(self) -> tuple[list[Mesh], dict[str, Counts]]:
        """Every mesh that the rules allow, and counts of "factorizations" and "meshes"."""
        first, second = Counter[str](), Counter[str]()
        allowed = []
        for sizes in self._factorizations(first):
            allowed += list(self._data_ranks(sizes, second))
        kept = self._runnable_meshes(allowed, second)
        return kept, {"factorizations": first, "meshes": second}

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
        pairs = product(self.interleaves(pp), self.splits)
        if not any(fits_layers(model, pp, v, split) for v, split in pairs):
            return "layers"
        return "batch" if model.job.global_batch % data else ""

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
        """The data ranks as dp x fsdp, crossed with expert parallelism."""
        tp, cp, pp, data = sizes
        model, allows = self.model, self.asked.allows
        folds = model.shapes.experts > 0 and "ep" not in model.framework.lacks
        for fsdp in self.of(data) if ZERO3 in self.shardings else [1]:
            for ep in self.of(model.shapes.experts) if folds else [1]:
                dp = data // fsdp
                counts["considered"] += 1
                if tp * cp * data % ep:
                    counts["experts"] += 1
                elif not (allows("dp", dp) and allows("fsdp", fsdp) and allows("ep", ep)):
                    counts["axes"] += 1
                else:
                    yield tp, cp, pp, dp, fsdp, ep

    def _runnable_meshes(self, meshes: list[Mesh], counts: Counts) -> list[Mesh]:
        """The meshes that targets can run in some order."""
        of_mesh = [d for d in self.asked.demands if d.rule.field == "mesh" or d.rule.of_job]
        shards = [d for d in self.asked.demands if d.rule.of_sharding]
        for demand in of_mesh:
            holds = demand.holds(table([_plainest(mesh) for mesh in meshes]))
            meshes = _kept(meshes, holds, demand.name, counts)
        for demand in shards:
            gathered = table([_plainest(mesh, ZERO3) for mesh in meshes])
            holds = demand.holds(gathered) | (gathered.fsdp == 1)
            meshes = _kept(meshes, holds, demand.name, counts)
        placed = [d for d in self.asked.demands if d.rule.field == PLACEMENT]
        rows = {mesh: _plainest(mesh) for mesh in meshes}
        alive = {mesh: self.every_order(mesh) for mesh in meshes}
        for demand in placed:
            _thin(alive, rows, demand)
            meshes = _kept(meshes, [bool(alive[mesh]) for mesh in meshes], demand.name, counts)
        return meshes

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

    # Partial plans.

    def nodes(self, meshes: Iterable[Mesh]) -> tuple[list[Node], Counts]:
        """Every partial plan on some meshes that the rules allow."""
        counts, found = Counter[str](), []
        for mesh in meshes:
            _, _, pp, dp, fsdp, _ = mesh
            local = self.model.job.global_batch // (dp * fsdp)
            for micro_batch in self.of(local):
                m = local // micro_batch
                for schedule, v, split in self.pipelines(pp):
                    counts["considered"] += 1
                    if not self._runs(schedule, pp, m, v):
                        counts["micro_batches"] += 1
                    elif not self._asked_for(pp, micro_batch, schedule, v, split):
                        counts["fixed"] += 1
                    else:
                        found.append((*mesh, micro_batch, schedule, v, split))
        return found, counts

    def _runs(self, code: int, pp: int, m: int, v: int) -> bool:
        """Whether a schedule runs so many micro-batches."""
        schedule = schedule_of(SCHEDULES[code])
        if schedule.whole_groups and v > 1 and m % pp:
            return False
        if (code, pp, m) not in self._known:
            found = schedule.runs(np.array(pp), np.array(m))
            self._known[code, pp, m] = bool(np.all(found))
        return self._known[code, pp, m]

    def _asked_for(self, pp: int, micro_batch: int, schedule: int, v: int, split: int) -> bool:
        allows = self.asked.allows
        if pp > 1 and not allows("split", split):
            return False
        named = (("micro_batch", micro_batch), ("schedule", schedule), ("interleave", v))
        return all(allows(name, value) for name, value in named)

    def pipelines(self, pp: int) -> list[tuple[int, int, int]]:
        """Schedule, interleave and split of so many stages."""
        if pp not in self._pipelines:
            pairs = self.chunkings(pp)
            plain = [(code_of_schedule("1f1b"), *pairs[0])] if pp == 1 else []
            self._pipelines[pp] = plain or [
                (code_of_schedule(schedule.name), v, split)
                for v, split in pairs
                for schedule in self.schedules
                if bool(np.all(schedule.fits_interleave(np.array(v))))
            ]
        return self._pipelines[pp]

    def chunkings(self, pp: int) -> list[tuple[int, int]]:
        """Interleave and split of so many stages; interleaved only in equal chunks."""
        if pp == 1:
            return [(1, self.splits[0])]
        if pp not in self._chunkings:
            pairs = [
                (v, split)
                for v, split in product(self.interleaves(pp), self.splits)
                if fits_layers(self.model, pp, v, split) and (v == 1 or self._equal(pp * v, split))
            ]
            same = (1, EVEN) in pairs and self.asked.allows("split", EVEN)
            self._chunkings[pp] = [(v, s) for v, s in pairs if not (same and s == FRONT)]
        return self._chunkings[pp]

    def _equal(self, chunks: int, split: int) -> bool:
        """Whether every chunk gets as many layers, ends counted where the split does."""
        layers = self.model.job.model.layers + 2 * (split in (EVEN_COUNTED, FRONT_COUNTED))
        return split != BY_COST and layers % chunks == 0

    def interleaves(self, pp: int) -> list[int]:
        """Chunks per stage that some schedule runs."""
        chunked = [schedule for schedule in self.schedules if schedule.interleaves]
        if pp == 1 or not chunked:
            return [1]
        most = (self.model.job.model.layers + 2) // pp
        most = min(most, self.model.framework.most_chunks or most)
        every = range(1, most + 1)
        return [v for v in every if v == 1 or any(bool(np.all(one.fits_interleave(np.array(v)))) for one in chunked)]

    # Plans.

    def plans(self, nodes: Iterable[Node]) -> tuple[list[Row], Counts]:
        """Every plan on some partial plans that the rules allow, whatever its memory."""
        counts, rows = Counter[str](), []
        for node in nodes:
            for choice in self.choices(node):
                counts["considered"] += 1
                if self._chosen(node, choice):
                    rows.append((node, choice))
                else:
                    counts["fixed"] += 1
        left, plans = np.arange(len(rows)), table(rows)
        judges: list[tuple[str, Callable[[PlanTable], Any]]] = [
            (rule.name, partial(rule.holds, self.model))
            for rule in applicable(self.model.framework)
        ]
        judges += [
            (demand.name, demand.holds)
            for demand in self.asked.demands
            if not demand.rule.of_order and not demand.rule.of_job
        ]
        for name, holds in judges:
            good = np.flatnonzero(holds(plans))
            if len(good) < len(left):
                counts[name] += len(left) - len(good)
                left, plans = left[good], plans.take(good)
        return self._ordered([rows[at] for at in left.tolist()], counts), counts

    def choices(self, node: Node) -> Iterator[Choice]:
        """Every sharding, exchange and recomputation on a partial plan that are different plans."""
        tp, cp, _, dp, fsdp, *_ = node
        spread = (False, True) if tp > 1 else (False,)
        if tp > 1 and self.model.shapes.experts:
            spread = (True,)
        swaps = cp > 1 and heads_exchange(self.model, np.array([tp]), np.array([cp]))[0]
        modes = (RING, ALL_TO_ALL) if swaps else (RING,)
        shardings = [
            code
            for code in self.shardings
            if (code == ZERO3 and fsdp * cp > 1)
            or (code != ZERO3 and fsdp == 1 and (code == 0 or dp * cp > 1))
        ]
        return product(shardings, spread, modes, self.recomputes())  # type: ignore[return-value]

    def recomputes(self) -> tuple[int, ...]:
        """Recomputations that differ: selective where it drops anything, or alone is asked for."""
        model = self.model
        nothing = model.assumptions.fused_attention and model.framework.selective == "core-attention"
        if nothing and self.asked.allows("recompute", NO_RECOMPUTE):
            return NO_RECOMPUTE, FULL
        return NO_RECOMPUTE, SELECTIVE, FULL

    def _chosen(self, node: Node, choice: Choice) -> bool:
        """Whether a choice is one that the user allows, where it means anything."""
        allows, (sharding, spread, mode, recompute) = self.asked.allows, choice
        tp, cp = node[:2]
        if not (allows("sharding", sharding) and allows("recompute", recompute)):
            return False
        if tp > 1 and not allows("sequence_parallel", int(spread)):
            return False
        return cp == 1 or allows("cp_mode", mode)

    def _ordered(self, rows: list[Row], counts: Counts) -> list[Row]:
        """The plans that targets can run in some order, where that depends on their choices."""
        if not any(demand.rule.placed for demand in self.asked.demands):
            return rows
        groups, alive = self._groups(rows)
        for demand in self._of_orders():
            _thin(alive, groups, demand)
            rows = _kept(rows, [bool(alive[self._seen(row)]) for row in rows], demand.name, counts)
        return rows

    def orders(self, rows: Sequence[Row]) -> list[list[int]]:
        """The orders in which each of some plans runs."""
        groups, alive = self._groups(rows)
        for demand in self._of_orders():
            _thin(alive, groups, demand)
        return [alive[self._seen(row)] for row in rows]

    def _groups(self, rows: Sequence[Row]) -> tuple[dict[Seen, Row], dict[Seen, list[int]]]:
        """A plan of each that rules about orders tell apart, and every order of its axes."""
        groups: dict[Seen, Row] = {}
        for row in rows:
            groups.setdefault(self._seen(row), row)
        return groups, {key: self.every_order(row[0][:6]) for key, row in groups.items()}

    def _seen(self, row: Row) -> Seen:
        """What rules about orders see of a plan."""
        node, choice = row
        return *node[:6], *((node + choice)[at] for at in self._fields)

    def _of_orders(self) -> list[Demand]:
        """The rules about orders: those of meshes alone first."""
        placed = [demand for demand in self.asked.demands if demand.rule.of_order]
        return sorted(placed, key=lambda demand: demand.rule.placed)

    def of(self, number: int) -> list[int]:
        """Its divisors."""
        if number not in self._divisors:
            self._divisors[number] = divisors(number)
        return self._divisors[number]


def _plainest(mesh: Mesh, sharding: int = DDP) -> Row:
    """A plan on a mesh with the first of every choice, for rules that look at the mesh alone."""
    return (*mesh, 1, code_of_schedule("1f1b"), 1, 0), (sharding, mesh[0] > 1, RING, NO_RECOMPUTE)


def _kept(rows: list[T], holds: Iterable[bool], name: str, counts: Counts) -> list[T]:
    """Those for which a rule holds; the others are counted by its name."""
    kept = [row for row, good in zip(rows, holds, strict=True) if good]
    if len(kept) < len(rows):
        counts[name] += len(rows) - len(kept)
    return kept


def _thin(alive: dict[Any, list[int]], rows: dict[Any, Row], demand: Demand) -> None:
    """Takes away the orders in which a rule does not hold."""
    every = [(key, order) for key, orders in alive.items() for order in orders]
    holds = demand.holds(table([rows[key] for key, _ in every], [order for _, order in every]))
    for key in alive:
        alive[key] = []
    for (key, order), good in zip(every, holds.tolist(), strict=True):
        if good:
            alive[key].append(order)
