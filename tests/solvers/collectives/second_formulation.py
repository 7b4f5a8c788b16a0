"""The same linear program written out again, row by row: no windows, symmetries or shared flows.

For every chunk kind k and destination d, f[k, d, e, s] >= 0 is what crosses link e in step s;
what a node has sent by the end of step s is at most what had arrived before it. The load of a
link is the sum over k of the greatest f over d.
"""

import math
from itertools import product

import numpy as np
from scipy.optimize import linprog

from solvers.collectives.commodities import commodities, copying
from solvers.collectives.problem import Goal, Network


def total_rounds(
    network: Network, goal: Goal, steps: int, rounds: tuple[int, ...] | None = None
) -> float | None:
    """The least sum of fractional rounds, or with given rounds 0.0; None if there is no way."""
    if rounds is not None and goal.combined:
        rounds = rounds[::-1]
    network, goal = copying(network, goal)
    parts = commodities(goal)
    number: dict[tuple[object, ...], int] = {}

    def column(*key: object) -> int:
        return number.setdefault(key, len(number))

    at_most: list[tuple[dict[int, float], float]] = []
    equal: list[tuple[dict[int, float], float]] = []
    for k, (source, ends, chunks) in enumerate(parts):
        for d in ends:
            arrives: dict[int, float] = {}
            for (e, (u, v)), s in product(enumerate(network.links), range(steps)):
                at_most.append(({column("f", k, d, e, s): 1, column("y", k, e, s): -1}, 0))
                if v == d:
                    arrives[column("f", k, d, e, s)] = 1
                if u == d:
                    arrives[column("f", k, d, e, s)] = -1
            equal.append((arrives, chunks))
            for node, s in product(range(network.nodes), range(steps)):
                if node != source:
                    row: dict[int, float] = {}
                    for (e, (u, v)), at in product(enumerate(network.links), range(s + 1)):
                        if u == node:
                            row[column("f", k, d, e, at)] = 1
                        elif v == node and at < s:
                            row[column("f", k, d, e, at)] = -1
                    at_most.append((row, 0))
    limits = [((e,), lanes) for e, lanes in enumerate(network.lanes)]
    limits += [(port.links, port.capacity) for port in network.shared]
    for (links, capacity), s in product(limits, range(steps)):
        load: dict[int, float] = {
            column("y", k, e, s): 1 for k, e in product(range(len(parts)), links)
        }
        at_most.append(({**load, column("r", s): -capacity}, 0))
    bounds = [(0.0, np.inf) for _ in number]
    cost = np.zeros(len(number))
    for s in range(steps):
        if rounds is None:
            cost[column("r", s)] = 1
        else:
            bounds[column("r", s)] = (rounds[s], rounds[s])
    upper, equals = (dense(rows, len(number)) for rows in (at_most, equal))
    found = linprog(
        cost, A_ub=upper, b_ub=[b for _, b in at_most],
        A_eq=equals, b_eq=[b for _, b in equal], bounds=bounds,
    )  # fmt: skip
    assert found.status in (0, 2)
    return float(found.fun) if found.status == 0 else None


def dense(rows: list[tuple[dict[int, float], float]], columns: int) -> np.ndarray:
    """The rows as a matrix."""
    matrix = np.zeros((len(rows), columns))
    for at, (row, _) in enumerate(rows):
        for column, value in row.items():
            matrix[at, column] += value
    return matrix


def compositions(total: int, steps: int) -> list[tuple[int, ...]]:
    """All ways to deal out rounds so that every step has at least one."""
    if steps == 1:
        return [(total,)]
    return [
        (first, *rest)
        for first in range(1, total - steps + 2)
        for rest in compositions(total - first, steps - 1)
    ]


def fewest_rounds(network: Network, goal: Goal, chunks: int, steps: int) -> int:
    """R by trying all rounds of every total, from `steps` upwards."""
    scaled = Goal(initial=goal.initial * chunks, final=goal.final * chunks, combined=goal.combined)
    total = max(steps, math.ceil((total_rounds(network, scaled, steps) or 0.0) - 1e-6))
    while True:
        for rounds in compositions(total, steps):
            if total_rounds(network, scaled, steps, rounds) is not None:
                return total
        total += 1
