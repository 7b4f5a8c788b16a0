"""Meshes, partial plans and plans as rows of numbers, and what rules keep of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from planner.base.vocabulary import SPLITS
from planner.frameworks.rules import Demand
from planner.plan import (
    DDP,
    DEFAULT_ORDER,
    FULL,
    NO_RECOMPUTE,
    RECOMPUTATIONS,
    RING,
    SELECTIVE,
    PlanTable,
)
from planner.plan.plan import NAMED
from planner.schedules import SCHEDULES, code_of_schedule
from planner.verification.faults import Fault

MESH = ("tp", "cp", "pp", "dp", "fsdp", "ep", "etp")
Mesh = tuple[int, int, int, int, int, int, int]
"""tp, cp, pp, dp, fsdp, ep, etp."""
Node = tuple[int, int, int, int, int, int, int, int, int, int, int]
"""A mesh, then micro-batch, codes of schedule, interleave and of the split: a partial plan."""
Choice = tuple[int, bool, int, int, int]
"""Code of the sharding, sequence parallelism, codes of context-parallel mode and recomputation,
mask of what is offloaded."""
Seen = tuple[int, ...]
Counts = Counter[str]
T = TypeVar("T")


Row = tuple[Node, Choice]
"""A plan without its order and its clock."""
NODE = (*MESH, "micro_batch", "schedule", "interleave", "split")
CHOICE = ("sharding", "sequence_parallel", "cp_mode", "recompute", "offload")


def table(rows: Sequence[Row], order: int | Sequence[int] = DEFAULT_ORDER) -> PlanTable:
    """Plans of nodes and choices as the cost model and the rules take them, at clock 1."""
    nodes = np.array([node for node, _ in rows], dtype=np.int64).reshape(-1, len(NODE)).T
    chosen = np.array([choice for _, choice in rows], dtype=np.int64).reshape(-1, len(CHOICE)).T
    tp, cp, pp, dp, fsdp, ep, etp, micro_batch, schedule, interleave, split = nodes
    count = len(rows)
    return PlanTable(
        tp=tp, cp=cp, pp=pp, dp=dp, fsdp=fsdp, ep=ep, etp=etp,
        micro_batch=micro_batch, schedule=schedule, interleave=interleave, split=split,
        sharding=chosen[0], sequence_parallel=chosen[1].astype(np.bool_), cp_mode=chosen[2],
        recompute=chosen[3], offload=chosen[4],
        order=np.broadcast_to(np.asarray(order, dtype=np.int64), (count,)).copy(),
        clock=np.ones(count),
    )  # fmt: skip


def plainest(mesh: Mesh, sharding: int = DDP) -> Row:
    """A plan on a mesh with the first of every choice, for rules that look at the mesh alone."""
    node = *mesh, 1, code_of_schedule("1f1b"), 1, 0
    return node, (sharding, mesh[0] > 1, RING, NO_RECOMPUTE, 0)


def kept(rows: list[T], holds: Iterable[bool], name: str, counts: Counts) -> list[T]:
    """Those for which a rule holds; the others are counted by its name."""
    found = [row for row, good in zip(rows, holds, strict=True) if good]
    if len(found) < len(rows):
        counts[name] += len(rows) - len(found)
    return found


def thin(alive: dict[Any, list[int]], rows: dict[Any, Row], demand: Demand) -> None:
    """Takes away the orders in which a rule does not hold."""
    every = [(key, order) for key, orders in alive.items() for order in orders]
    holds = demand.holds(table([rows[key] for key, _ in every], [order for _, order in every]))
    for key in alive:
        alive[key] = []
    for (key, order), good in zip(every, holds.tolist(), strict=True):
        if good:
            alive[key].append(order)


def words(row: Sequence[Any]) -> str:
    """A mesh or a partial plan in one phrase; axes of one rank are left out."""
    sizes = [f"{name} {size}" for name, size in zip(MESH, row, strict=False) if size > 1]
    mesh = " x ".join(sizes) or "one chip"
    if len(row) < len(NODE):
        return mesh
    micro_batch, schedule, interleave, split = row[len(MESH) : len(NODE)]
    named = f"{SCHEDULES[schedule]} {interleave}, {SPLITS[split]}"
    return f"{mesh}, micro-batch {micro_batch}, {named}"


def does_all_of(more: int, less: int) -> bool:
    """Whether a recomputation runs all again that another one does.

    None is in all, and all are in full. What is selected without modules is at most attention,
    which sets of modules name as core_attn.
    """
    if less in (more, NO_RECOMPUTE) or more == FULL:
        return True
    if less == FULL or more in (NO_RECOMPUTE, SELECTIVE):
        return False
    named = {"core_attn"} if less == SELECTIVE else {*RECOMPUTATIONS[less].split("+")}
    return named <= {*RECOMPUTATIONS[more].split("+")}


def code_of(name: str, value: str, where: str) -> int:
    """The code of a named choice.

    Raises:
        Fault: There is none of that name.
    """
    if value not in NAMED[name]:
        raise Fault(f"{where}: {value!r} is no {name}")
    return list(NAMED[name]).index(value)


def node_of(row: Sequence[Any]) -> Node:
    """A partial plan with codes in place of names; its mesh as in `mesh_row`."""
    at = next(place for place, value in enumerate(row) if isinstance(value, str))
    schedule, split = code_of("schedule", row[at], "nodes"), code_of("split", row[at + 2], "nodes")
    return (*mesh_row(row[: at - 1]), row[at - 1], schedule, row[at + 1], split)


def mesh_row(row: Sequence[int]) -> Mesh:
    """A mesh of a certificate, which leaves etp out where it is 1."""
    tp, cp, pp, dp, fsdp, ep, etp = (*row, 1)[: len(MESH)]
    return tp, cp, pp, dp, fsdp, ep, etp


def mesh_of(node: Node) -> Mesh:
    """The mesh of a partial plan."""
    return node[:7]


def row_of(plans: PlanTable, at: int = 0) -> Row:
    """A plan of a table."""
    columns = [int(getattr(plans, name)[at]) for name in (*NODE, *CHOICE)]
    tp, cp, pp, dp, fsdp, ep, etp, micro_batch, schedule, interleave, split = columns[: len(NODE)]
    sharding, spread, mode, recompute, offload = columns[len(NODE) :]
    node = tp, cp, pp, dp, fsdp, ep, etp, micro_batch, schedule, interleave, split
    return node, (sharding, bool(spread), mode, recompute, offload)
