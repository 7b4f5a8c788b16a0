"""Levels of the operations of a graph: least cost within a limit on the longest path.

Operation i takes d_ik seconds and costs c_ik at level k. Operations of a group share their level.
With the share x_gk of the work of group g that is done at level k, b_i the begin of operation i,
and T the end of all:

    minimize    sum_ik c_ik x_g(i)k + P T
    subject to  b_j >= b_i + sum_k d_ik x_g(i)k + lag_ij     j after i
                T >= b_i + sum_k d_ik x_g(i)k,  T <= limit
                sum_k x_gk = 1,  x >= 0,  b >= 0

This is the project time-cost tradeoff of Kelley (1961) over the convex hull of the levels, which
HiGHS solves; Phillips and Dessouky (1977) crawl along the same curve by minimum cuts, as Lowtime
does in fixed steps of time. The program is taken because it knows no step, takes groups, the price
P of a second and lags, and proves its answer: the dual of any multipliers is a bound, and is
computed here from those of HiGHS (`Program.dual_bound`).

A group whose work is at one level needs no more; at two levels an operation changes its level once
while it runs. `solvers.operations.rounding` makes whole levels of it, `solve_whole` proves the best
whole levels. Where
a change of the level between two groups takes seconds (`switches`), a variable s_gh of each pair

    s_gh >= x_gk - x_hk for every k,   0 <= s_gh <= 1

adds its seconds to their waits. That is of whole levels alone: without them changes take no time,
which is a bound of all that take some.

Sources: Kelley, Critical-path planning and scheduling, Operations Research 9(3), 1961,
doi:10.1287/opre.9.3.296; Phillips and Dessouky, Management Science 24(4), 1977,
doi:10.1287/mnsc.24.4.393; Huangfu, Hall, Math. Prog. Comp. 2018, doi:10.1007/s12532-017-0130-5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.mixed_integer import milp

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
TOLERANCE = 1e-9
"""Relative seconds by which HiGHS may miss a row: limits are kept to that."""
_INFEASIBLE = 2
"""Status of `scipy.optimize.linprog`."""
_NEAR = 1e-7
"""Share of the work of a group below which a level is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Operations in an order in which each comes after those that it waits for.

    Attributes:
        seconds, cost: (n, k) of each operation at each level.
        group: (n,) whose level an operation has, from 0.
        before, after: (e,) operations; `after` begins once `before` ended, and
        lag: (e,) seconds passed.
        per_second: Cost of a second until the end of all.
        switches: (e,) seconds that a wait takes longer where the two groups have other levels.
    """

    seconds: Floats
    cost: Floats
    group: Ints
    before: Ints
    after: Ints
    lag: Floats
    per_second: float = 0.0
    switches: Floats | None = None

    def __post_init__(self) -> None:
        """Refuses an order that does not fit the edges, and what is no number.

        Raises:
            ValueError: Which.
        """
        if not np.all(self.before < self.after):
            raise ValueError("an operation comes before one that it waits for")
        if not (np.isfinite(self.seconds).all() and np.isfinite(self.cost).all()):
            raise ValueError("seconds or cost of a level are no numbers")
        if (self.seconds < 0).any() or (self.lag < 0).any():
            raise ValueError("seconds are negative")

    def grouped(self, group: Ints) -> Operations:
        """The same with other groups, (n,)."""
        return replace(self, group=group)

    @property
    def groups(self) -> int:
        """How many there are."""
        return int(self.group.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What was chosen.

    Attributes:
        shares: (g, k) of the work of a group at each level.
        begin, seconds: (n,) of each operation.
        end: Of all.
        cost: Of all, the price of time included.
        bound: No choice within the limit costs less, to the rounding of floating point.
    """

    shares: Floats
    begin: Floats
    seconds: Floats
    end: float
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """Relative difference of cost and bound."""
        return (self.cost - self.bound) / abs(self.cost) if self.cost else 0.0


def evaluated(graph: Operations, shares: Floats, bound: float = -math.inf) -> Levels:
    """Levels that are given, every operation as soon as it may begin.

    Args:
        graph: The operations.
        shares: (g, k) of each level.
        bound: What is known of the least cost.
    """
    weights = shares[graph.group]
    seconds = (graph.seconds * weights).sum(axis=1)
    begin = begins(graph, seconds, lags(graph, shares))
    end = float((begin + seconds).max(initial=0.0))
    cost = float((graph.cost * weights).sum()) + graph.per_second * end
    return Levels(shares=shares, begin=begin, seconds=seconds, end=end, cost=cost, bound=bound)


def lags(graph: Operations, shares: Floats) -> Floats:
    """(e,) seconds of each wait with what changes of levels add, (g, k) shares."""
    if graph.switches is None:
        return graph.lag
    weights = shares[graph.group]
    changed = (weights[graph.before] != weights[graph.after]).any(axis=1)
    return np.asarray(graph.lag + graph.switches * changed)


def begins(graph: Operations, seconds: Floats, lag: Floats) -> Floats:
    """(n,) seconds until each may begin, after the longest way to it.

    Args:
        graph: The operations.
        seconds: (n,) of each.
        lag: (e,) of each wait.
    """
    order = np.argsort(graph.before, kind="stable")
    begin = [0.0] * len(seconds)
    took = seconds.tolist()
    edges = zip(
        graph.before[order].tolist(), graph.after[order].tolist(), lag[order].tolist(), strict=True
    )
    for one, other, wait in edges:
        begin[other] = max(begin[other], begin[one] + took[one] + wait)
    return np.array(begin)


def passes_after(graph: Operations, seconds: Floats) -> Floats:
    """(n,) seconds that pass at least after each ended until the end of all; of (n,) `seconds`."""
    last = len(seconds) - 1
    back = replace(
        graph, seconds=graph.seconds[::-1], cost=graph.cost[::-1], group=graph.group[::-1],
        before=last - graph.after, after=last - graph.before,
    )  # fmt: skip
    return begins(back, seconds[::-1], graph.lag)[::-1]


def at_level(graph: Operations, level: Ints) -> Floats:
    """(g, k) shares of groups that are each at one level, (g,)."""
    shares = np.zeros((graph.groups, graph.seconds.shape[1]))
    shares[np.arange(graph.groups), level] = 1.0
    return shares


def solve(graph: Operations, limit: float) -> Levels | None:
    """The shares of least cost that end within a limit; None: there are none.

    A change of the level takes no time.

    Args:
        graph: The operations.
        limit: Seconds until the end of all.

    Raises:
        RuntimeError: HiGHS fails.
    """
    program, graph = Program(graph, limit), replace(graph, switches=None)
    found = program.solved()
    if found is None:
        return None
    values, multipliers = found
    return evaluated(graph, program.mixed(values), program.dual_bound(multipliers))


def solve_whole(
    graph: Operations, limit: float, *, nodes: int | None = None, gap: float = 0.0
) -> Levels | None:
    """The levels of least cost that end within a limit, each group at one of them.

    No limit counts seconds, so that the answer is the same on every machine.

    Args:
        graph: The operations.
        limit: Seconds until the end of all.
        nodes: Nodes of the tree after which what was found is returned, with its bound.
        gap: Relative difference of cost and bound that ends the search.

    Returns:
        None where there are none, or none was found in so many nodes.
    """
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415  (slow)

    program = Program(graph, limit)
    waits, each, rows = program.with_switches()
    free = waits.shape[1] - len(program.most)
    found = milp(
        np.concatenate([program.price, np.zeros(free)]),
        integrality=np.arange(waits.shape[1]) < program.count,
        bounds=Bounds(0.0, np.concatenate([program.most, np.ones(free)])),
        constraints=[
            LinearConstraint(waits, program.least, np.inf),
            LinearConstraint(each, 1.0, 1.0),
            LinearConstraint(rows, 0.0, np.inf),
        ],
        options={"mip_rel_gap": gap} | ({} if nodes is None else {"node_limit": nodes}),
    )
    if found.x is None:
        return None
    level = program.shares_in(found.x).argmax(axis=1)
    bound = -math.inf if found.mip_dual_bound is None else float(found.mip_dual_bound)
    return evaluated(graph, at_level(graph, level), bound)


class Program:
    """The linear program of the module: shares, then begins, then the end.

    Attributes:
        graph: The operations.
        count: Of shares.
        columns: (n, k) of the shares of each operation.
        price: (v,) of a variable.
        waits, least: (r, v) and (r,) rows: what they weigh at least.
        each: (g, v) shares that add up to 1.
        most: (v,) that a variable is at most.
    """

    def __init__(self, graph: Operations, limit: float) -> None:
        n, levels = graph.seconds.shape
        self.graph, self.count = graph, graph.groups * levels
        self.columns = graph.group[:, None] * levels + np.arange(levels)
        width = self.count + n + 1
        self.price = np.zeros(width)
        np.add.at(self.price, self.columns, graph.cost)
        self.price[-1] = graph.per_second
        before = np.concatenate([graph.before, np.arange(n)])
        later = np.concatenate([self.count + graph.after, np.full(n, width - 1)])
        at = np.arange(len(before))
        self.waits = _table(
            [
                (at, later, np.ones(len(at))),
                (at, self.count + before, -np.ones(len(at))),
                (
                    np.repeat(at, levels),
                    self.columns[before].ravel(),
                    -graph.seconds[before].ravel(),
                ),
            ],
            (len(at), width),
        )
        self.least = np.concatenate([graph.lag, np.zeros(n)])
        shares = np.arange(self.count)
        self.each = _table([(shares // levels, shares, np.ones(self.count))], (graph.groups, width))
        self.most = np.concatenate([np.ones(self.count), np.full(n + 1, limit * (1 + TOLERANCE))])

    def shares_in(self, values: Floats) -> Floats:
        """(g, k) shares among the values of all variables."""
        return values[: self.count].reshape(self.graph.groups, -1)

    def mixed(self, values: Floats) -> Floats:
        """(g, k) shares among the values of all variables, those that are next to nothing 0."""
        shares: Floats = np.clip(self.shares_in(values), 0.0, 1.0)
        shares[shares < _NEAR] = 0.0
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def add(self, rows: Sequence[tuple[Ints, Floats, float]]) -> None:
        """Further rows like `waits`: of each its columns, what they weigh, and that at least."""
        from scipy.sparse import vstack  # noqa: PLC0415  (slow)

        at = np.repeat(np.arange(len(rows)), [len(columns) for columns, _, _ in rows])
        columns = np.concatenate([one for one, _, _ in rows])
        weights = np.concatenate([one for _, one, _ in rows])
        more = _table([(at, columns, weights)], (len(rows), len(self.most)))
        self.waits = vstack([self.waits, more], format="csr")
        self.least = np.append(self.least, [one for _, _, one in rows])

    def solved(self) -> tuple[Floats, Floats] | None:
        """Values of all variables and multipliers of `waits`; None: there are none.

        Raises:
            RuntimeError: HiGHS fails.
        """
        from scipy.optimize import linprog  # noqa: PLC0415  (slow)

        found = linprog(
            self.price,
            A_ub=-self.waits,
            b_ub=-self.least,
            A_eq=self.each,
            b_eq=np.ones(self.graph.groups),
            bounds=np.stack([np.zeros(len(self.most)), self.most], axis=1),
            method="highs",
        )
        if found.status == _INFEASIBLE:
            return None
        if found.status != 0:
            raise RuntimeError(f"HiGHS ends with status {found.status}: {found.message}")
        return found.x, -found.ineqlin.marginals

    def with_switches(self) -> tuple[Any, Any, Any]:
        """Waits, shares that add up, and what makes a change of the level one, with its columns."""
        graph, width = self.graph, len(self.most)
        levels = graph.seconds.shape[1]
        seconds = np.zeros(len(graph.before)) if graph.switches is None else graph.switches
        groups = np.stack([graph.group[graph.before], graph.group[graph.after]], axis=1)
        edges = np.flatnonzero((seconds > 0) & (groups[:, 0] != groups[:, 1]))
        pairs, which = np.unique(groups[edges], axis=0, return_inverse=True)
        wide = width + len(pairs)
        slower = _table([(edges, width + which.ravel(), -seconds[edges])], (len(self.least), wide))
        at = np.arange(len(pairs) * levels)
        one, other = ((pairs[:, [side]] * levels + np.arange(levels)).ravel() for side in (0, 1))
        changed = width + at // levels
        rows = _table(
            [
                (at, changed, np.ones(len(at))),
                (at, one, -np.ones(len(at))),
                (at, other, np.ones(len(at))),
            ],
            (len(at), wide),
        )
        return _widened(self.waits, wide) + slower, _widened(self.each, wide), rows

    def dual_bound(self, multipliers: Floats) -> float:
        """What no choice goes below, by multipliers of the waits, of which those below 0 are not.

        A group costs at least its cheapest level at the prices that they give; a moment lies
        between 0 and the limit.
        """
        prices = np.maximum(multipliers, 0.0)
        left = self.price - self.waits.T @ prices
        of_groups = self.shares_in(left).min(axis=1).sum()
        of_moments = np.minimum(left[self.count :], 0.0) @ self.most[self.count :]
        return float(prices @ self.least + of_groups + of_moments)


def _table(parts: list[tuple[Ints, Ints, Floats]], shape: tuple[int, int]) -> Any:
    """A sparse table of rows, columns and values."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (slow)

    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return csr_array((values, (rows, columns)), shape=shape)


def _widened(table: Any, width: int) -> Any:
    """The same with further columns of zeros."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (slow)

    return csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], width))
