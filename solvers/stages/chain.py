"""Chains of columns, one per device, as shortest paths over positions and groups.

With one chunk per device a choice is a path through states (layer at which device d begins, group
of device d - 1), and what adds up is its length:

    arrive_d+1[b, g] = min over columns (a, b] of d in group g of depart_d[a, g] + length
    depart_d[a, g']  = min over g of arrive_d[a, g] + crossing[g, g']

Lengths are doubles: sums of whole numbers below 2**53 are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.problem import Ints, StageProblem

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Columns of one device by one of their two states.

    Attributes:
        columns: (n,) sorted by the state.
        begins: (q,) where each distinct state begins.
        states: (q,) position * groups + group.
        others: (n,) the other state of each column.
    """

    columns: Index
    begins: Index
    states: Index
    others: Index

    def between(self, low: Ints, high: Ints) -> tuple[Index, Index]:
        """(n,) where columns of states from `low` to before `high` begin, and how many."""
        bounds = np.append(self.begins, len(self.columns))
        first = bounds[np.searchsorted(self.states, low)]
        return first, bounds[np.searchsorted(self.states, high)] - first


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Columns of a problem in the order of the recurrence.

    Attributes:
        positions, groups: L + 1, and the number of groups.
        arriving, leaving: Per device, columns by where they end and by where they start.
    """

    positions: int
    groups: int
    arriving: tuple[_Sorted, ...]
    leaving: tuple[_Sorted, ...]

    @property
    def devices(self) -> int:
        """How many there are: p."""
        return len(self.arriving)


def chain_of(problem: StageProblem, kept: Index) -> Chain:
    """The chain of the columns `kept` of a problem."""
    groups = 1 if problem.crossings is None else len(problem.crossings)
    columns = problem.columns
    group = columns.group if groups > 1 else np.zeros_like(columns.group)
    start = columns.starts[:, 0] * groups + group
    end = columns.ends[:, 0] * groups + group
    of_device = [kept[columns.device[kept] == d] for d in range(problem.devices)]
    return Chain(
        positions=problem.layers + 1,
        groups=groups,
        arriving=tuple(_sorted(own, end, start) for own in of_device),
        leaving=tuple(_sorted(own, start, end) for own in of_device),
    )


def _sorted(own: Index, state: Ints, other: Ints) -> _Sorted:
    order = own[np.argsort(state[own], kind="stable")]
    states, begins = np.unique(state[order], return_index=True)
    return _Sorted(columns=order, begins=begins, states=states, others=other[order])


def spans(first: Index, counts: Index) -> tuple[Index, Index]:
    """Rows, each as often as it counts, and with each a place: from its first one on."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) + np.repeat(first - (np.cumsum(counts) - counts), counts)


def traced(steps: Sequence[tuple[Index, Index]], rows: Index) -> Index:
    """(n, p) columns of (n,) labels of the last device.

    Args:
        steps: By device, columns of its labels, and rows of the labels that they follow.
        rows: Of the last labels.
    """
    chosen = np.empty((len(rows), len(steps)), dtype=np.intp)
    for d in reversed(range(len(steps))):
        columns, parents = steps[d]
        chosen[:, d], rows = columns[rows], parents[rows]
    return chosen


def forth(chain: Chain, lengths: Floats, crossings: Floats | None) -> tuple[Floats, Floats]:
    """Shortest ways from the first layer.

    Args:
        chain: p devices, L layers, g groups.
        lengths: (c,) of every column of the problem; inf: not allowed.
        crossings: (g, g) what neighbours add; None only where there is one group.

    Returns:
        arrive: (p + 1, L + 1, g) by position and group of the device before.
        depart: (p, L + 1, g) by position and group of the device that leaves.
    """
    arrive = np.full((chain.devices + 1, chain.positions, chain.groups), np.inf)
    depart = np.full((chain.devices, chain.positions, chain.groups), np.inf)
    arrive[0, 0] = depart[0, 0] = 0.0
    for d, step in enumerate(chain.arriving):
        if d:
            depart[d] = _crossed(arrive[d], crossings)
        if len(step.columns):
            ways = depart[d].reshape(-1)[step.others] + lengths[step.columns]
            arrive[d + 1].reshape(-1)[step.states] = np.minimum.reduceat(ways, step.begins)
    return arrive, depart


def back(chain: Chain, lengths: Floats, crossings: Floats | None) -> Floats:
    """(p + 1, L + 1, g) shortest ways to the end, by position and group of the device before."""
    rest = np.full((chain.devices + 1, chain.positions, chain.groups), np.inf)
    rest[-1, -1] = 0.0
    turned = None if crossings is None else crossings.T
    for d in reversed(range(chain.devices)):
        step = chain.leaving[d]
        leave = np.full((chain.positions, chain.groups), np.inf)
        if len(step.columns):
            ways = rest[d + 1].reshape(-1)[step.others] + lengths[step.columns]
            leave.reshape(-1)[step.states] = np.minimum.reduceat(ways, step.begins)
        rest[d] = _crossed(leave, turned) if d else leave.min(axis=1, keepdims=True)
    return rest


def _crossed(values: Floats, crossings: Floats | None) -> Floats:
    """(L + 1, g') least of values[:, g] + crossings[g, g'] over g."""
    if crossings is None:
        return values
    best: Floats = (values[:, :, None] + crossings).min(axis=1)
    return best


def shortest(chain: Chain, lengths: Floats, crossings: Floats | None) -> tuple[float, Index | None]:
    """Length of a shortest chain and its columns by device; inf and None where there is none."""
    arrive, depart = forth(chain, lengths, crossings)
    state = int(np.argmin(arrive[-1, -1])) + (chain.positions - 1) * chain.groups
    total = float(arrive[-1].reshape(-1)[state])
    if total == np.inf:
        return total, None
    chosen = np.empty(chain.devices, dtype=np.intp)
    for d in reversed(range(chain.devices)):
        step = chain.arriving[d]
        at = int(np.searchsorted(step.states, state))
        begin = step.begins[at]
        end = step.begins[at + 1] if at + 1 < len(step.begins) else len(step.columns)
        ways = depart[d].reshape(-1)[step.others[begin:end]] + lengths[step.columns[begin:end]]
        pick = begin + int(np.argmin(ways))
        chosen[d] = step.columns[pick]
        if d:
            state = _before(arrive[d], int(step.others[pick]), crossings, chain.groups)
    return total, chosen


def _before(arrive: Floats, left: int, crossings: Floats | None, groups: int) -> int:
    """The state of the device before from which a column left."""
    if crossings is None:
        return left
    position, group = divmod(left, groups)
    return position * groups + int(np.argmin(arrive[position] + crossings[:, group]))


def through(
    problem: StageProblem, chain: Chain, lengths: Floats, crossings: Floats | None
) -> Floats:
    """(c,) length of a shortest chain through each column of the chain; inf elsewhere."""
    _, depart = forth(chain, lengths, crossings)
    rest = back(chain, lengths, crossings)
    best = np.full(len(problem.columns), np.inf)
    for d, step in enumerate(chain.arriving):
        own = step.columns
        ends = problem.columns.ends[own, 0] * chain.groups + np.remainder(step.others, chain.groups)
        best[own] = (
            depart[d].reshape(-1)[step.others] + lengths[own] + rest[d + 1].reshape(-1)[ends]
        )
    return best
