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

adds its seconds to their waits, and where steps repeat (`solvers.operations.graph`) to

    T + b_first >= b_last + sum_k d_last,k x_g(last)k + seconds s_gh

That is of whole levels alone: without them changes take no time, which is a bound of all that take
some.

Sources: Kelley, Critical-path planning and scheduling, Operations Research 9(3), 1961,
doi:10.1287/opre.9.3.296; Phillips and Dessouky, Management Science 24(4), 1977,
doi:10.1287/mnsc.24.4.393; Huangfu, Hall, Math. Prog. Comp. 2018, doi:10.1007/s12532-017-0130-5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.clock import check_solved, keep_time, left_s
from solvers.operations.graph import (
    TOLERANCE,
    Floats,
    Ints,
    Levels,
    Operations,
    Turn,
    at_level,
    evaluated,
)

_INFEASIBLE = 2
"""Status of `scipy.optimize.linprog`."""
_NEAR = 1e-7
"""Share of the work of a group below which a level is not used."""
_NO_TURN = Turn(last=np.empty(0, np.intp), first=np.empty(0, np.intp), switches=np.empty(0))


def solve(graph: Operations, limit: float, deadline: float = math.inf) -> Levels | None:
    """The shares of least cost that end within a limit; None: there are none.

    A change of the level takes no time.

    Args:
        graph: The operations.
        limit: Seconds until the end of all.
        deadline: When HiGHS gives up, see `solvers.clock`.

    Raises:
        OutOfTime: The deadline passed.
        RuntimeError: HiGHS fails.
    """
    graph = graph.without_switches
    program = Program(graph, limit)
    found = program.solved(deadline)
    if found is None:
        return None
    values, multipliers = found
    return evaluated(graph, program.mixed(values), program.dual_bound(multipliers))


def solve_whole(
    graph: Operations,
    limit: float,
    *,
    nodes: int | None = None,
    gap: float = 0.0,
    deadline: float = math.inf,
) -> Levels | None:
    """The levels of least cost that end within a limit, each group at one of them.

    Without a deadline nothing counts seconds, so that the answer is the same on every machine.

    Args:
        graph: The operations.
        limit: Seconds until the end of all.
        nodes: Nodes of the tree after which what was found is returned, with its bound.
        gap: Relative difference of cost and bound that ends the search.
        deadline: When what was found is returned, see `solvers.clock`.

    Returns:
        None where there are none, or none was found in so many nodes, or by then.
    """
    if left_s(deadline) <= 0:
        return None
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415  (slow)

    program = Program(graph, limit)
    program.add_switches()
    found = milp(
        program.price,
        integrality=np.arange(len(program.price)) < program.count,
        bounds=Bounds(0.0, program.most),
        constraints=[
            LinearConstraint(program.waits, program.least, np.inf),
            LinearConstraint(program.each, 1.0, 1.0),
        ],
        options={"mip_rel_gap": gap, "time_limit": left_s(deadline)}
        | ({} if nodes is None else {"node_limit": nodes}),
    )
    if found.x is None:
        return None
    level = program.shares_in(found.x).argmax(axis=1)
    bound = -math.inf if found.mip_dual_bound is None else float(found.mip_dual_bound)
    return evaluated(graph, at_level(graph, level), bound)


@dataclass(frozen=True, slots=True)
class Below:
    """A bound of costs by multipliers that are best at one limit; they bound at every other too.

    Attributes:
        at_limit: What no choice that ends within the limit costs less than; inf: there is none.
        limit: Seconds.
        per_second: What a second more takes from it, at most 0.
    """

    at_limit: float
    limit: float
    per_second: float = 0.0

    def within(self, limit: float) -> float:
        """The bound at another limit; -inf where it says nothing of that."""
        if math.isinf(self.at_limit):
            return self.at_limit if limit <= self.limit else -math.inf
        return self.at_limit + self.per_second * (limit - self.limit)


def whole_bound(graph: Operations, limit: float, deadline: float = math.inf) -> Below:
    """What no whole levels that end within a limit cost less than, their changes counted.

    It is above the bound of `solve`: of the program with the variables of changes, still mixed.

    Args:
        graph: The operations.
        limit: Seconds until the end of all.
        deadline: When HiGHS gives up, see `solvers.clock`.

    Raises:
        OutOfTime: The deadline passed.
        RuntimeError: HiGHS fails.
    """
    program = Program(graph, limit)
    program.add_switches()
    found = program.solved(deadline)
    if found is None:
        return Below(math.inf, limit)
    return Below(program.dual_bound(found[1]), limit, program.per_second(found[1]))


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
        turn = _turn_of(graph)
        before = np.concatenate([graph.before, np.arange(n), turn.last])
        later = np.concatenate([
            self.count + graph.after, np.full(n + len(turn.last), width - 1)
        ])  # fmt: skip
        at = np.arange(len(before))
        self.waits = _table(
            [
                (at, later, np.ones(len(at))),
                (at[len(at) - len(turn.last) :], self.count + turn.first, np.ones(len(turn.last))),
                (at, self.count + before, -np.ones(len(at))),
                (
                    np.repeat(at, levels),
                    self.columns[before].ravel(),
                    -graph.seconds[before].ravel(),
                ),
            ],
            (len(at), width),
        )
        self.least = np.concatenate([graph.lag, np.zeros(n + len(turn.last))])
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

    def solved(self, deadline: float = math.inf) -> tuple[Floats, Floats] | None:
        """Values of all variables and multipliers of `waits`; None: there are none.

        Raises:
            OutOfTime: The deadline passed.
            RuntimeError: HiGHS fails.
        """
        from scipy.optimize import linprog  # noqa: PLC0415  (slow)

        keep_time(deadline)
        found = linprog(
            self.price,
            A_ub=-self.waits,
            b_ub=-self.least,
            A_eq=self.each,
            b_eq=np.ones(self.graph.groups),
            bounds=np.stack([np.zeros(len(self.most)), self.most], axis=1),
            method="highs",
            options={"time_limit": left_s(deadline)},
        )
        if found.status == _INFEASIBLE:
            return None
        check_solved(found.status, found.message)
        return found.x, -found.ineqlin.marginals

    def add_switches(self) -> None:
        """Seconds of changes of the level, with a column for each after the end of all."""
        from scipy.sparse import vstack  # noqa: PLC0415  (slow)

        graph, width = self.graph, len(self.most)
        (n, levels), turn = graph.seconds.shape, _turn_of(graph)
        of_waits = np.zeros(len(graph.before)) if graph.switches is None else graph.switches
        seconds = np.concatenate([of_waits, np.zeros(n), turn.switches])
        before = np.concatenate([graph.before, np.arange(n), turn.last])
        after = np.concatenate([graph.after, np.arange(n), turn.first])
        groups = graph.group[np.stack([before, after], axis=1)]
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
        self.waits = vstack([_widened(self.waits, wide) + slower, rows], format="csr")
        self.least = np.append(self.least, np.zeros(len(at)))
        self.each = _widened(self.each, wide)
        self.price = np.append(self.price, np.zeros(len(pairs)))
        self.most = np.append(self.most, np.ones(len(pairs)))

    def dual_bound(self, multipliers: Floats) -> float:
        """What no choice goes below, by multipliers of the waits, of which those below 0 are not.

        A group costs at least its cheapest level at the prices that they give; a moment lies
        between 0 and the limit, and a change between 0 and 1.
        """
        prices, left = self._left(multipliers)
        of_groups = self.shares_in(left).min(axis=1).sum()
        of_moments = np.minimum(left[self.count :], 0.0) @ self.most[self.count :]
        return float(prices @ self.least + of_groups + of_moments)

    def per_second(self, multipliers: Floats) -> float:
        """What a second more of the limit takes from `dual_bound`, at most 0."""
        _, left = self._left(multipliers)
        moments = left[self.count : self.count + len(self.graph.seconds) + 1]
        return float(np.minimum(moments, 0.0).sum() * (1 + TOLERANCE))

    def _left(self, multipliers: Floats) -> tuple[Floats, Floats]:
        """Prices of the waits, and what is left of those of the variables."""
        prices = np.maximum(multipliers, 0.0)
        return prices, np.asarray(self.price - self.waits.T @ prices)


def _turn_of(graph: Operations) -> Turn:
    """What waits from one step to the next where changes take time."""
    turn = graph.turn
    return _NO_TURN if turn is None or not turn.switches.any() else turn


def _table(parts: list[tuple[Ints, Ints, Floats]], shape: tuple[int, int]) -> Any:
    """A sparse table of rows, columns and values."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (slow)

    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return csr_array((values, (rows, columns)), shape=shape)


def _widened(table: Any, width: int) -> Any:
    """The same with further columns of zeros."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (slow)

    return csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], width))
