"""CP-SAT for factored problems: the exact optimum, or the exact front of two objectives.

Each minimization builds one model (`solvers.factored_model`) from the rows that some solution
could use: a row goes when a key or output value of it occurs in no row of another table, or when
its best possible value already breaks a limit. The decision is evaluated again from the
definitions before it is returned.
Source: L. Perron, F. Didier, CP-SAT, https://developers.google.com/optimization/cp/cp_solver.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from solvers.factored import (
    ARRAY_OPS,
    Arithmetic,
    Decision,
    FactoredProblem,
    Limit,
    Ops,
    Relation,
    as_integer,
    row_count,
)
from solvers.factored_model import Model
from solvers.frontier import epsilon_front
from solvers.solution import Solution, Status


def minimize(
    problem: FactoredProblem,
    objective: str,
    *,
    time_limit_s: float | None = None,
    workers: int = 1,
    seed: int = 0,
    upper_bounds: Mapping[str, int] | None = None,
    hint: Mapping[str, int] | None = None,
) -> Solution[Decision]:
    """The least value of an objective, with a decision that attains it.

    One worker without a time limit is deterministic for a seed.

    Args:
        problem: What may be chosen.
        objective: Name of the objective.
        time_limit_s: Wall time, model building included; None for none.
        workers: Threads of the solver.
        seed: Random seed of the solver.
        upper_bounds: Largest allowed value of some objectives, by name.
        hint: Values of some choices to try first; they need not be feasible.

    Returns:
        Decision, value, bound and status; counts: `rows` and `rows_dropped` of all tables,
        `variables`, `branches`, `conflicts`.

    Raises:
        ValueError: An unknown objective or choice, a bound that is not an integer within 2**53, a
            time limit that is not a number >= 0, no worker, or a seed outside 0 .. 2**31 - 1.
        RuntimeError: The answer of CP-SAT contradicts the definitions or a feasible hint.
    """
    _check_options(problem, [objective], time_limit_s, workers, seed, hint or {})
    limits = _Limits(time_limit_s, workers, seed)
    return _minimized(problem, objective, limits, upper_bounds or {}, hint, _Left.of(problem))[0]


class _Limits(NamedTuple):
    """Limits and options of a search, as of `minimize`."""

    time_limit_s: float | None
    workers: int
    seed: int


class _Left(NamedTuple):
    """Rows and values that some solution could use."""

    tables: list[Relation]
    domains: Relation

    @staticmethod
    def of(problem: FactoredProblem) -> _Left:
        """All of them."""
        return _Left([table.columns() for table in problem.tables], problem.domains())


def _minimized(
    problem: FactoredProblem,
    objective: str,
    limits: _Limits,
    upper_bounds: Mapping[str, int],
    hint: Mapping[str, int] | None,
    left: _Left,
) -> tuple[Solution[Decision], _Left]:
    """What `minimize` returns, with what is left of the rows and values that it begins with."""
    started = time.perf_counter()
    time_limit_s, workers, seed = limits
    problem = _bounded(problem, upper_bounds)
    tables, domains = [*left.tables], dict(left.domains)
    possible = _prune(problem, tables, domains)
    rows = sum(len(table.rows) for table in problem.tables)
    kept = sum(row_count(table) for table in tables) if possible else 0
    counts = {"rows": kept, "rows_dropped": rows - kept}
    status, decision, value, bound = Status.INFEASIBLE, None, math.inf, math.inf
    if possible and time_limit_s is not None and time.perf_counter() - started >= time_limit_s:
        status, bound = Status.TIME_LIMIT, -math.inf
    elif possible:
        model = Model(dict(domains))
        target = model.build(problem, objective, tables)
        known = evaluate(problem, hint) if hint and hint.keys() == problem.choices.keys() else None
        model.add_hint(known[0] if known else hint or {})
        limit_s = None if time_limit_s is None else time_limit_s - time.perf_counter() + started
        status = model.solve(limit_s, workers, seed, counts)
        if status in (Status.OPTIMAL, Status.FEASIBLE):
            decision = {name: model.value(model[name]) for name in problem.choices}
            value = float(_confirmed(problem, objective, decision, model.value(target)))
        bound = value if status in (Status.OPTIMAL, Status.INFEASIBLE) else model.bound(target)
        if known and known[1][objective] < bound:
            raise RuntimeError(f"CP-SAT says {status.value} above {bound}, but {hint} is feasible")
    found = Solution(
        decision=decision,
        objective=value,
        bound=min(bound, value),
        status=status,
        seconds=time.perf_counter() - started,
        counts=counts,
    )
    return found, _Left(tables, domains)


def front(
    problem: FactoredProblem,
    objectives: tuple[str, str],
    *,
    time_limit_s: float | None = None,
    workers: int = 1,
    seed: int = 0,
    upper_bounds: Mapping[str, int] | None = None,
) -> Iterator[tuple[int, int, Decision]]:
    """The exact front of two objectives, point by point, first objective descending.

    Each point takes two minimizations (`solvers.frontier.epsilon_front`). Arguments and errors as
    for `minimize`; the time limit is for the whole front.

    Raises:
        TimeoutError: The time limit ended the search; the points already given are efficient.
    """
    first, second = objectives
    _check_options(problem, objectives, time_limit_s, workers, seed, {})
    end = math.inf if time_limit_s is None else time.perf_counter() + time_limit_s

    def proved(
        name: str, bounds: dict[str, int], hint: Decision | None, left: _Left
    ) -> tuple[Solution[Decision], _Left]:
        seconds = None if time_limit_s is None else max(end - time.perf_counter(), 0.0)
        limits = _Limits(seconds, workers, seed)
        found, rest = _minimized(problem, name, limits, bounds, hint, left)
        if found.status in (Status.FEASIBLE, Status.TIME_LIMIT):
            raise TimeoutError(f"the front is incomplete: its limit of {time_limit_s} s is over")
        return found, rest

    left = _Left.of(problem)  # what a limit leaves holds all that a tighter one does

    def solve(limit: int | None) -> tuple[int, int, Decision | None] | None:
        nonlocal left
        bounds = dict(upper_bounds or {})
        if limit is not None:
            bounds[first] = min(limit, bounds.get(first, limit))
        least, left = proved(second, bounds, None, left)
        if least.decision is None:
            return None
        bounds[second] = int(least.objective)
        best, _ = proved(first, bounds, least.decision, left)
        return int(best.objective), int(least.objective), best.decision

    return cast(Iterator[tuple[int, int, Decision]], epsilon_front(solve))


def evaluate(
    problem: FactoredProblem, decision: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]] | None:
    """Values (choices and outputs) and objectives of one decision; None when it breaks a rule.

    Follows the definitions one by one and shares no code with the searches. A choice that is
    missing from the decision is a KeyError.
    """
    values = {name: as_integer(decision[name]) for name in problem.choices}
    if any(values[name] not in allowed for name, allowed in problem.choices.items()):
        return None
    for product in problem.products:
        if math.prod(values[name] for name in product.factors) != product.equals:
            return None
    for table in problem.tables:
        row = np.flatnonzero((table.rows == [values[name] for name in table.keys]).all(axis=1))
        if len(row) == 0:
            return None
        values |= {name: int(column[row[0]]) for name, column in table.outputs.items()}
    if any(int(limit.expression(values, ARRAY_OPS)) > limit.upper for limit in problem.limits):
        return None
    return values, {name: int(f(values, ARRAY_OPS)) for name, f in problem.objectives.items()}


def _confirmed(problem: FactoredProblem, objective: str, decision: Decision, value: int) -> int:
    """The value of a decision, which must be what the solver says it is."""
    evaluated = evaluate(problem, decision)
    if evaluated is None or evaluated[1][objective] != value:
        raise RuntimeError(f"CP-SAT says {objective} = {value} for {decision}, not {evaluated}")
    return value


def _check_options(
    problem: FactoredProblem,
    objectives: Iterable[str],
    time_limit_s: float | None,
    workers: int,
    seed: int,
    hint: Mapping[str, int],
) -> None:
    for name in objectives:
        problem.objective(name)
    if time_limit_s is not None and not time_limit_s >= 0:
        raise ValueError(f"time_limit_s must be a number of at least 0, not {time_limit_s}")
    if workers < 1 or not 0 <= seed < 2**31:
        raise ValueError(f"needs workers >= 1 and 0 <= seed < 2**31, not {workers} and {seed}")
    if unknown := sorted(hint.keys() - problem.choices.keys()):
        raise ValueError(f"hint for unknown choices {unknown}; known: {sorted(problem.choices)}")
    if wrong := [
        f"{n} = {value!r}" for n, value in hint.items() if not hasattr(value, "__index__")
    ]:
        raise ValueError(f"hint needs integers, not {', '.join(wrong)}")


def _bounded(problem: FactoredProblem, bounds: Mapping[str, int]) -> FactoredProblem:
    """The problem with upper bounds on objectives as further limits."""
    added = [
        Limit(name=f"upper bound of {name}", expression=problem.objective(name), upper=upper)
        for name, upper in bounds.items()
    ]
    return dataclasses.replace(problem, limits=(*problem.limits, *added)) if added else problem


class _Interval(Arithmetic):
    """Arrays of closed intervals [low, high] that contain every possible value.

    Where `low` is the same object as `high` all are single points, which are worked out once.
    """

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    @staticmethod
    def of(value: Any) -> _Interval:
        return value if isinstance(value, _Interval) else _Interval(value, value)

    @staticmethod
    def within(domain: npt.NDArray[np.int64]) -> _Interval:
        """From the least to the largest of some sorted values; of one value a point."""
        return _Interval(domain[0], domain[-1]) if len(domain) > 1 else _Interval.of(domain[0])

    def _plus(self, other: Any) -> _Interval:
        ends = _Interval.of(other)
        low = self.low + ends.low
        exact = self.low is self.high and ends.low is ends.high
        return _Interval(low, low if exact else self.high + ends.high)

    def _times(self, other: Any) -> _Interval:
        ends = _Interval.of(other)
        if ends.low is ends.high:
            return self._scaled(ends.low)
        if self.low is self.high:
            return ends._scaled(self.low)
        one, two = self._scaled(ends.low), self._scaled(ends.high)
        return _Interval(np.minimum(one.low, two.low), np.maximum(one.high, two.high))

    def _scaled(self, factor: Any) -> _Interval:
        """The products with a number, or with one number for each interval."""
        a = self.low * factor
        if self.low is self.high:
            return _Interval(a, a)
        b = self.high * factor
        return _Interval(np.minimum(a, b), np.maximum(a, b))

    @staticmethod
    def by_ends(pick: Callable[..., Any], *terms: Any) -> _Interval:
        """The interval of a monotone function: its values at all low and at all high ends."""
        ends = [_Interval.of(term) for term in terms]
        low = pick(*[e.low for e in ends])
        exact = all(e.low is e.high for e in ends)
        return _Interval(low, low if exact else pick(*[e.high for e in ends]))


_INTERVAL_OPS = Ops(
    maximum=partial(_Interval.by_ends, ARRAY_OPS.maximum),
    minimum=partial(_Interval.by_ends, ARRAY_OPS.minimum),
)


def _prune(problem: FactoredProblem, tables: list[Relation], domains: Relation) -> bool:
    """Drops impossible rows and values in place until nothing changes; False when none is left.

    Each relation is looked at once, and again after values of others have gone. A single row is
    not: what breaks a limit or lacks a value there does so in the rows of every other relation.
    """
    if not all(map(len, domains.values())):
        return False
    in_tables = {key for table in problem.tables for key in table.keys}
    free = [{name: domains[name]} for name in problem.choices if name not in in_tables]
    relations = [*tables, *free]
    turn = settled = 0
    while settled < len(relations):
        at, again = turn % len(relations), turn >= len(relations)
        turn, settled = turn + 1, settled + 1
        if again and row_count(relations[at]) == 1:
            continue
        keep = _supported(problem, relations[at], domains)
        if not keep.any():
            return False
        if again and keep.all():
            continue
        relations[at] = {name: column[keep] for name, column in relations[at].items()}
        if _narrow(domains, relations[at]):
            settled = 1
    tables[:] = relations[: len(tables)]
    return True


def _narrow(domains: Relation, columns: Relation) -> bool:
    """Takes the values that no row has out of the domains; whether there were any."""
    narrowed = False
    for name, column in columns.items():
        values = np.unique(column)
        if len(values) < len(domains[name]):
            domains[name], narrowed = values, True
    return narrowed


def _supported(
    problem: FactoredProblem, columns: Relation, domains: Relation
) -> npt.NDArray[np.bool_]:
    """(r,) rows whose values occur in the domains and whose best case breaks no limit."""
    keep = np.ones(row_count(columns), dtype=np.bool_)
    for name, column in columns.items():
        domain = domains[name]  # sorted, not empty
        nearest = np.minimum(domain.searchsorted(column), len(domain) - 1)
        keep &= domain[nearest] == column
    box = {name: _Interval.within(domain) for name, domain in domains.items()}
    box |= {name: _Interval(column, column) for name, column in columns.items()}
    for limit in problem.limits:
        keep &= _Interval.of(limit.expression(box, _INTERVAL_OPS)).low <= limit.upper
    return keep
