"""The declared space in plain loops: partial plans and plans, and what each rule excludes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from planner.frameworks.rules import (
    Demand,
    applicable,
    fits_layers,
    heads_exchange,
    offloads_allowed,
)
from planner.plan import (
    ALL_TO_ALL,
    BY_COST,
    EVEN,
    EVEN_COUNTED,
    FRONT,
    FRONT_COUNTED,
    FULL,
    NO_RECOMPUTE,
    RING,
    ZERO3,
    PlanTable,
)
from planner.plan.choices import fixed_values
from planner.plan.recomputations import RECOMPUTATIONS
from planner.schedules import SCHEDULES, code_of_schedule, schedule_of
from planner.verification.asked import Asked
from planner.verification.meshes import Meshes, fits
from planner.verification.rows import (
    CHOICE,
    NODE,
    Choice,
    Counts,
    Mesh,
    Node,
    Row,
    Seen,
    kept,
    mesh_of,
    table,
    thin,
)

Judge = tuple[str, Callable[[PlanTable], Any]]
"""A rule by name, and which plans obey it."""


class Space(Meshes):
    """The declared space of a question; see `Meshes`.

    Args:
        asked: The question.
    """

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        fields = {d.rule.field for d in asked.demands if d.rule.placed}
        self._fields = sorted((*NODE, *CHOICE).index(name) for name in fields)
        self._pipelines: dict[int, list[tuple[int, int, int]]] = {}
        self._chunkings: dict[int, list[tuple[int, int]]] = {}
        self._known: dict[tuple[int, int, int], bool] = {}

    # Partial plans.

    def nodes(self, meshes: Iterable[Mesh]) -> tuple[list[Node], Counts]:
        """Every partial plan on some meshes that the rules allow."""
        counts, found = Counts(), []
        for mesh in meshes:
            _, _, pp, dp, fsdp, _, _ = mesh
            local = self.model.job.global_batch // (dp * fsdp)
            for micro_batch in self.of(local):
                m = local // micro_batch
                for schedule, v, split in self.pipelines(pp):
                    counts["considered"] += 1
                    if not self._runs(schedule, pp, m, v):
                        counts["micro_batches"] += 1
                    elif not self.asked_for(pp, micro_batch, schedule, v, split):
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

    def asked_for(self, pp: int, micro_batch: int, schedule: int, v: int, split: int) -> bool:
        """Whether the user allows the choices of a partial plan."""
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
                if fits(schedule, v)
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

    # Plans.

    def plans(self, nodes: Iterable[Node]) -> tuple[list[Row], Counts]:
        """Every plan on some partial plans that the rules allow, all of it on the chip."""
        counts, rows = Counts(), []
        for node in nodes:
            for choice in self.choices(node):
                counts["considered"] += 1
                if self._chosen(node, choice):
                    rows.append((node, choice))
                else:
                    counts["fixed"] += 1
        rules: list[Judge] = [
            (rule.name, partial(rule.holds, self.model))
            for rule in applicable(self.model.framework)
        ]
        return self._judged(rows, [*rules, *self._of_targets()], counts), counts

    def moved(self, rows: Iterable[Row], mask: int, counts: Counts) -> list[Row]:
        """Plans with parts on the host, where the rules about that allow it; `counts` grows."""
        there = [(node, (*choice[:4], mask)) for node, choice in rows]
        allowed = offloads_allowed(self.model, table(there))
        found = [row for row, good in zip(there, allowed.tolist(), strict=True) if good]
        counts["considered"] += len(found)
        return self._judged(found, self._of_targets(), counts)

    def _of_targets(self) -> list[Judge]:
        """What targets demand of plans, whatever their order."""
        return [
            (demand.name, demand.holds)
            for demand in self.asked.demands
            if not demand.rule.of_order and not demand.rule.of_job
        ]

    def _judged(self, rows: list[Row], judges: Sequence[Judge], counts: Counts) -> list[Row]:
        """The plans that obey some rules, and run in some order; `counts` grows by the others."""
        left, plans = np.arange(len(rows)), table(rows)
        for name, holds in judges:
            good = np.flatnonzero(holds(plans))
            if len(good) < len(left):
                counts[name] += len(left) - len(good)
                left, plans = left[good], plans.take(good)
        return self._ordered([rows[at] for at in left.tolist()], counts)

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
        for chosen in product(shardings, spread, modes, self.recomputes()):
            yield *chosen, 0

    def recomputes(self) -> tuple[int, ...]:
        """Recomputations that differ: selective where it drops anything, or alone is asked for."""
        model = self.model
        nothing = (
            model.assumptions.fused_attention and model.framework.selective == "core-attention"
        )
        alone = nothing and self.asked.allows("recompute", NO_RECOMPUTE)
        words = ("none", "full") if alone else ("none", "selective", "full")
        return tuple(map(RECOMPUTATIONS.index, (*words, *self._modules())))

    def _modules(self) -> list[str]:
        """Sets of modules, where any is asked for: core attention where it stores scores.

        Experts as a whole without what is inside of them.
        """
        model = self.model
        asked = fixed_values("recompute", self.asked.request.fix.get("recompute", ()))
        if not any(code > FULL for code in asked):
            return []
        fused = {"core_attn"} if model.assumptions.fused_attention else set()
        names = [name for name in model.modules if name not in fused and model.job.trains_all]
        every = chain(*(combinations(names, size) for size in range(1, len(names) + 1)))
        twice = {"moe_act", "shared_experts"}
        return [
            "+".join(some)
            for some in every
            if some != ("core_attn",) and not ("moe" in some and twice & {*some})
        ]

    def _chosen(self, node: Node, choice: Choice) -> bool:
        """Whether a choice is one that the user allows, where it means anything."""
        allows, (sharding, spread, mode, recompute, _) = self.asked.allows, choice
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
            thin(alive, groups, demand)
            rows = kept(rows, [bool(alive[self._seen(row)]) for row in rows], demand.name, counts)
        return rows

    def orders(self, rows: Sequence[Row]) -> list[list[int]]:
        """The orders in which each of some plans runs."""
        groups, alive = self._groups(rows)
        for demand in self._of_orders():
            thin(alive, groups, demand)
        return [alive[self._seen(row)] for row in rows]

    def _groups(self, rows: Sequence[Row]) -> tuple[dict[Seen, Row], dict[Seen, list[int]]]:
        """A plan of each that rules about orders tell apart, and every order of its axes."""
        groups: dict[Seen, Row] = {}
        for row in rows:
            groups.setdefault(self._seen(row), row)
        return groups, {key: self.every_order(mesh_of(row[0])) for key, row in groups.items()}

    def _seen(self, row: Row) -> Seen:
        """What rules about orders see of a plan."""
        node, choice = row
        return *mesh_of(node), *((node + choice)[at] for at in self._fields)

    def _of_orders(self) -> list[Demand]:
        """The rules about orders: those of meshes alone first."""
        placed = [demand for demand in self.asked.demands if demand.rule.of_order]
        return sorted(placed, key=lambda demand: demand.rule.placed)
