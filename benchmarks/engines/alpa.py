"""Alpa's inter-operator problem: layers to stages, stages to submeshes, all devices used.

    T = sum_i t_i + (B - 1) max_j t_j

over stages of consecutive layers, t from a table by (first layer, last layer, submesh, sharding),
where a stage may have at most so many stages after it. A state is the first layer of a stage, the
devices of it and all later stages, and how many these are.

Source: Zheng et al., Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep
Learning, OSDI 2022, section 5.2, equations 2 and 3; `stage_construction.py` of its repository.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.solution import Solution
from solvers.stages import free
from solvers.stages.free import Steps, least_total

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_FILE = "alpa/pipeline_parallel/stage_construction.py"
_WANTED = ("get_optimal_submeshes", "training_dp_impl_2", "training_dp_2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Stage costs.

    Attributes:
        cost: (L, L, m, c) seconds by first and last layer, submesh and sharding; inf: none.
        after: (L, L, m, c) at most so many later stages; below 0: it never fits.
        sizes: (m,) devices of a submesh.
        devices: All of them are used.
        micro_batches: B.
    """

    cost: Floats
    after: Ints
    sizes: Ints
    devices: int
    micro_batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Layers begin <= layer < end on a submesh with a sharding."""

    begin: int
    end: int
    submesh: int
    sharding: int


def seconds_per_step(tables: Tables, stages: Sequence[Stage]) -> float:
    """T of a plan by Alpa's formula.

    Raises:
        ValueError: The plan breaks a limit.
    """
    ends = [0, *(stage.end for stage in stages)]
    if [stage.begin for stage in stages] != ends[:-1] or ends[-1] != len(tables.cost):
        raise ValueError("stages must hold all layers in order")
    if sum(int(tables.sizes[stage.submesh]) for stage in stages) != tables.devices:
        raise ValueError("all devices must be used")
    costs = []
    for i, stage in enumerate(stages):
        at = (stage.begin, stage.end - 1, stage.submesh, stage.sharding)
        if tables.after[at] < len(stages) - 1 - i:
            raise ValueError(f"stage {i} has too many stages after it")
        if not np.isfinite(tables.cost[at]):
            raise ValueError(f"stage {i} has no cost")
        costs.append(float(tables.cost[at]))
    return sum(costs) + (tables.micro_batches - 1) * max(costs)


def solve(tables: Tables) -> tuple[list[Stage], Solution[free.Path]]:
    """A best plan with its solution.

    Raises:
        ValueError: No plan fits.
    """
    steps, rows = _steps(tables)
    found = least_total(steps, [tables.micro_batches - 1])
    if found.decision is None:
        raise ValueError("no plan fits")
    stages = []
    for row in rows[found.decision.columns[:-1]][::-1].tolist():
        begin, end, submesh, sharding = row
        stages.append(Stage(begin=begin, end=end + 1, submesh=submesh, sharding=sharding))
    return stages, found


def _steps(tables: Tables) -> tuple[Steps, Ints]:
    """Columns that lead from the end of the pipeline to its begin."""
    layers = len(tables.cost)
    forward = np.triu(np.ones((layers, layers), dtype=bool))[:, :, None, None]
    bound = np.isfinite(tables.cost) & (tables.after >= 0) & forward
    binding = bool(np.any(bound & (tables.after < layers - 1)))
    rows = _undominated(tables, bound, layers - 1 if binding else 0)
    stages = layers if binding else 1
    wide = tables.devices + 1
    size = tables.sizes[rows[:, 2]]
    most = np.minimum(tables.after[tuple(rows.T)], stages - 1)
    grid = np.arange(stages * wide)
    count, used = grid // wide, grid % wide
    fits = (count[None, :] <= most[:, None]) & (used[None, :] + size[:, None] <= tables.devices)
    row, at = np.nonzero(fits)
    begin, end = rows[row, 0], rows[row, 1]
    state = (layers - 1 - end) * stages * wide + at
    grown = np.minimum(count[at] + 1, stages - 1) * wide + used[at] + size[row]
    goal = (layers - begin) * stages * wide + grown
    final = (layers + 1) * stages * wide
    whole = layers * stages * wide + np.arange(stages) * wide + tables.devices
    cost = tables.cost[tuple(rows.T)][row]
    kept = _passed(state, goal, layers, stages * wide, whole)
    steps = Steps(
        level=np.r_[np.repeat(np.arange(layers + 1), stages * wide), layers + 1],
        starts=np.r_[state[kept], whole],
        ends=np.r_[goal[kept], np.full(len(whole), final)],
        lengths=np.r_[cost[kept], np.zeros(len(whole))],
        peaks=np.r_[cost[kept], np.zeros(len(whole))][:, None],
    )
    return steps, rows[row[kept]]


def _undominated(tables: Tables, bound: npt.NDArray[np.bool_], most: int) -> Ints:
    """Shardings of which none of the same stage is as cheap with as many stages after it."""
    rows = np.argwhere(bound)
    cost, after = tables.cost[bound], np.minimum(tables.after[bound], most)
    key = (rows[:, 0] * len(tables.cost) + rows[:, 1]) * len(tables.sizes) + rows[:, 2]
    order = np.lexsort((-after, cost, key))
    reach = np.maximum.accumulate(key[order] * (most + 2) + after[order])
    kept: Ints = rows[order[np.r_[True, reach[1:] > reach[:-1]][: len(order)]]]
    return kept


def _passed(state: Ints, goal: Ints, layers: int, wide: int, whole: Ints) -> Ints:
    """Columns that a path from the first state to the last can hold."""
    forth = np.zeros((layers + 1) * wide, dtype=bool)
    back = np.zeros_like(forth)
    forth[0] = back[whole] = True
    level = state // wide
    order = np.argsort(level, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(level[order])) + 1)
    for group in groups:
        forth[goal[group[forth[state[group]]]]] = True
    for group in reversed(groups):
        back[state[group[back[goal[group]]]]] = True
    kept: Ints = np.flatnonzero(forth[state] & back[goal])
    return kept


def engine(checkout: Path) -> Callable[[Tables], list[Stage]]:
    """Alpa's dynamic program from a checkout; it runs as published, compiled by Numba.

    Returns:
        A function from tables to a plan; its first call compiles.

    Raises:
        ImportError: Numba is not installed.
    """
    numba = import_module("numba")

    tree = ast.parse((checkout / _FILE).read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in _WANTED
    ]
    names: dict[str, Any] = {"np": np, "maybe_numba_jit": numba.jit(nopython=True)}
    names["timers"] = lambda _name: _Timer()
    exec(compile(tree, _FILE, "exec"), names)  # noqa: S102  (what is measured)
    run = names["training_dp_2"]

    def solved(tables: Tables) -> list[Stage]:
        sizes = [(1, int(size)) for size in tables.sizes]
        _, found = run(tables.devices, tables.micro_batches, sizes, tables.cost, tables.after)
        return [
            Stage(begin=int(b), end=int(e), submesh=int(m), sharding=int(c))
            for (b, e), m, c in found
        ]

    return solved


class _Timer:
    """Stands in for Alpa's timers."""

    def start(self) -> None:
        """Does nothing."""

    def stop(self) -> None:
        """Does nothing."""
