"""Factored integer problems: choices, products and tables in, exact optimum or front out.

A table says which values of its keys (choices, or outputs of earlier tables) go together, and its
outputs take the values of the one row they pick. An expression `f(v, ops)`, an objective or the
left side of a limit, combines `v[name]` by `+ - *`, `ops.maximum` and `ops.minimum`; the same
callable is evaluated on arrays here, on intervals and solver variables in `factored_cpsat`.

This module enumerates: a natural join of all tables, then a filter. It is the exact oracle of the
constraint solver. No value exceeds 2**53 in magnitude, so neither int64 nor float64 rounds.
"""

from __future__ import annotations

import difflib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.frontier import nondominated
from solvers.solution import Solution, Status

Column = npt.NDArray[np.int64]
Relation = dict[str, Column]
Decision = dict[str, int]
LARGEST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Ops:
    """Maximum and minimum of any number of values or integers, in one kind of evaluation."""

    maximum: Callable[..., Any]
    minimum: Callable[..., Any]


Expression = Callable[[Mapping[str, Any], Ops], Any]
ARRAY_OPS = Ops(
    maximum=lambda *terms: reduce(np.maximum, terms),
    minimum=lambda *terms: reduce(np.minimum, terms),
)


class Arithmetic:
    """`+ - *` among operands and integers from sum and product; anything else is a TypeError.

    That includes comparison and truth: a branch on a value would be taken once for all rows.
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    _plus: Callable[[Any], Any]
    _times: Callable[[Any], Any]

    def __add__(self, other: Any) -> Any:
        return self._plus(other)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other * -1)

    def __rsub__(self, other: Any) -> Any:
        return self._times(-1)._plus(other)

    def __mul__(self, other: Any) -> Any:
        return self._times(other)

    def __neg__(self) -> Any:
        return self._times(-1)

    def __eq__(self, *_: object) -> bool:
        raise TypeError("values cannot be compared in an expression")

    __radd__, __rmul__, __bool__ = __add__, __mul__, __eq__


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Allowed combinations of key values, and the outputs of each.

    Attributes:
        name: Used in messages.
        keys: (k,) names of choices or of outputs of earlier tables.
        rows: (r, k) integer key values, each combination at most once.
        outputs: (r,) integer values of each output, by name.

    Raises:
        ValueError: No rows or keys, wrong shapes, no integers within 2**53, repeated names or rows.
    """

    name: str
    keys: tuple[str, ...]
    rows: Column
    outputs: Mapping[str, Column]

    def __post_init__(self) -> None:
        where = f"table {self.name!r}"
        if repeated := _repeated([*self.keys, *self.outputs]):
            raise ValueError(f"{where}: columns named more than once: {repeated}")
        rows = _integers(self.rows, f"{where}, rows")
        outputs = {n: _integers(c, f"{where}, output {n!r}") for n, c in self.outputs.items()}
        shapes = {column.shape for column in outputs.values()} or {rows.shape[:1]}
        if not rows.size or rows.shape[1:] != (len(self.keys),) or shapes != {rows.shape[:1]}:
            raise ValueError(
                f"{where}: rows must have shape (rows, {len(self.keys)}) and outputs (rows,) with "
                f"at least one row and one key, not {rows.shape} and {sorted(shapes)}"
            )
        unique, times = np.unique(rows, axis=0, return_counts=True)
        if np.any(times > 1):
            key = dict(zip(self.keys, unique[times > 1][0].tolist(), strict=True))
            raise ValueError(f"{where}: {np.sum(times > 1)} repeated keys, the first is {key}")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "outputs", outputs)

    def columns(self) -> Relation:
        """(r,) every column, keys first."""
        return {name: self.rows[:, i] for i, name in enumerate(self.keys)} | dict(self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The product of the `factors` (distinct choices) equals `equals` (1 to 2**40)."""

    factors: tuple[str, ...]
    equals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The value of `expression` is at most `upper`."""

    name: str
    expression: Expression
    upper: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoredProblem:
    """A pure integer problem in choices, products, tables, limits and objectives.

    Attributes:
        choices: Allowed values of each choice, by name.
        objectives: What may be minimized, by name.
        products: Their factors have positive values; one that does not divide is never chosen.
        tables: In an order in which outputs are defined before they are keys.
        limits: Upper bounds on expressions.

    Raises:
        ValueError: All mistakes at once: unknown or repeated names, no or repeated values, factors
            below 1, expressions with an unsupported operation or values that could exceed 2**53.
    """

    choices: Mapping[str, tuple[int, ...]]
    objectives: Mapping[str, Expression]
    products: tuple[Product, ...] = ()
    tables: tuple[Table, ...] = ()
    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        mistakes = [*_mistakes_of_choices(self.choices), *_mistakes_of_tables(self)]
        if not mistakes:
            mistakes = [*_mistakes_of_products(self), *_mistakes_of_expressions(self)]
        if mistakes:
            raise ValueError("; ".join(mistakes))

    def domains(self) -> Relation:
        """Sorted values of every choice (divisors of its products only) and of every output."""
        found = {n: np.unique(np.asarray(c, dtype=np.int64)) for n, c in self.choices.items()}
        for product in self.products:
            for name in product.factors:
                found[name] = found[name][product.equals % found[name] == 0]
        for table in self.tables:
            found |= {name: np.unique(column) for name, column in table.outputs.items()}
        return found

    def objective(self, name: str) -> Expression:
        """The objective called `name`; ValueError with the nearest name when there is none."""
        if name not in self.objectives:
            raise ValueError(f"unknown objective {name!r}{_nearest(name, self.objectives)}")
        return self.objectives[name]


def as_integer(value: Any) -> int:
    """`value` as an int; TypeError for anything that is not an integer (floats and bools too)."""
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise TypeError(f"needs integers, not {value!r}")
    return int(value.__index__())


def enumerate_assignments(
    problem: FactoredProblem, *, max_rows: int = 20_000_000
) -> tuple[Relation, dict[str, int]]:
    """All feasible assignments: (n,) columns of choices and outputs, and what was dropped.

    A natural join of products, tables and free choices: what adds no column only filters and goes
    first, then what gives the fewest rows. Limits filter last. Counts are `evaluated` and one
    `dropped_by_<limit>` per limit. ValueError when the join needs more than `max_rows` rows.
    """
    domains = problem.domains()
    parts = [_factorizations(product, domains) for product in problem.products]
    parts += [table.columns() for table in problem.tables]
    parts += [{name: domains[name]} for name in problem.choices]
    parts.sort(key=row_count)
    joined = parts.pop(0)
    while parts:
        filters = [i for i, part in enumerate(parts) if part.keys() <= joined.keys()]
        linked = [i for i, part in enumerate(parts) if part.keys() & joined.keys()]
        tried = {i: _match(joined, parts[i]) for i in filters[:1] or linked or [0]}
        least = min(tried, key=lambda i: int(tried[i][2].sum()))
        if (size := int(tried[least][2].sum())) > max_rows:
            raise ValueError(f"enumeration needs {size} rows, more than {max_rows}; use a solver")
        joined = _join(joined, parts.pop(least), tried[least])
    counts = {"evaluated": row_count(joined)}
    for limit in problem.limits:
        keep = _values(limit.expression, joined) <= limit.upper
        counts[f"dropped_by_{limit.name}"] = int(np.sum(~keep))
        joined = {name: column[keep] for name, column in joined.items()}
    return joined, counts


def brute_force_minimum(problem: FactoredProblem, objective: str) -> Solution[Decision]:
    """The least value of an objective over all assignments; of equal ones the first joined."""
    started = time.perf_counter()
    columns, counts = enumerate_assignments(problem)
    values = _values(problem.objective(objective), columns)
    best = int(np.argmin(values)) if len(values) else None
    value = math.inf if best is None else float(values[best])
    return Solution(
        decision=None if best is None else _decision(problem, columns, best),
        objective=value,
        bound=value,
        status=Status.INFEASIBLE if best is None else Status.OPTIMAL,
        seconds=time.perf_counter() - started,
        counts=counts,
    )


def brute_force_front(
    problem: FactoredProblem, objectives: tuple[str, str]
) -> Iterator[tuple[int, int, Decision]]:
    """The exact front of two objectives, (first, second, decision), first objective descending."""
    expressions = [problem.objective(name) for name in objectives]
    columns, _ = enumerate_assignments(problem)
    points = np.stack([_values(f, columns) for f in expressions], axis=1)
    for i in nondominated(points.astype(np.float64))[::-1].tolist():
        yield int(points[i, 0]), int(points[i, 1]), _decision(problem, columns, i)


def row_count(columns: Relation) -> int:
    """Rows of a relation."""
    return len(next(iter(columns.values())))


def _values(expression: Expression, columns: Relation) -> Column:
    """(n,) values of an expression over the rows of a relation."""
    values = np.asarray(expression(columns, ARRAY_OPS), dtype=np.int64)
    return np.broadcast_to(values, (row_count(columns),))


def _decision(problem: FactoredProblem, columns: Relation, row: int) -> Decision:
    return {name: int(columns[name][row]) for name in problem.choices}


def _factorizations(product: Product, domains: Relation) -> Relation:
    """Every way to write the product with allowed values of its factors."""
    rest = np.array([product.equals], dtype=np.int64)
    columns: Relation = {}
    for name in product.factors:
        left, right = np.nonzero(rest[:, None] % domains[name][None, :] == 0)
        columns = {n: c[left] for n, c in columns.items()} | {name: domains[name][right]}
        rest = rest[left] // domains[name][right]
    return {name: column[rest == 1] for name, column in columns.items()}


def _match(left: Relation, right: Relation) -> tuple[Column, Column, Column]:
    """(order, first, count): left row i meets right rows order[first[i] : first[i] + count[i]].

    Rows meet when they agree in all shared columns; without any, every row meets every row.
    """
    rows = row_count(left)
    code = np.zeros(rows + row_count(right), dtype=np.int64)
    for name in left.keys() & right.keys():
        rank = np.unique(np.concatenate([left[name], right[name]]), return_inverse=True)[1]
        code = np.unique(code * (rank.max(initial=0) + 1) + rank, return_inverse=True)[1]
    order = np.argsort(code[rows:], kind="stable")
    first = np.searchsorted(code[rows:][order], code[:rows], side="left")
    last = np.searchsorted(code[rows:][order], code[:rows], side="right")
    return order, first, last - first


def _join(left: Relation, right: Relation, match: tuple[Column, Column, Column]) -> Relation:
    """All pairs of matching rows."""
    order, first, count = match
    at = np.repeat(np.arange(len(count)), count)
    met = order[np.arange(len(at)) - (np.cumsum(count) - count - first)[at]]
    return {n: c[met] for n, c in right.items()} | {n: c[at] for n, c in left.items()}


def _integers(values: Any, where: str) -> Column:
    """A read-only int64 copy; ValueError when values are not integers within 2**53."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{where}: needs integers, not {array.dtype}")
    if array.size and (int(array.max()) > LARGEST or int(array.min()) < -LARGEST):
        raise ValueError(f"{where}: values reach beyond 2**53 = {LARGEST}")
    array = array.astype(np.int64)
    array.flags.writeable = False
    return array


def _repeated(names: Iterable[Any]) -> str:
    """What occurs more than once, as text."""
    return ", ".join(repr(name) for name, times in Counter(names).items() if times > 1)


def _nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a message: the closest known name, or all of them when none is close."""
    close = difflib.get_close_matches(name, known := list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known) or 'none'}"


def _mistake_of_number(value: Any, lowest: int = -LARGEST, highest: int = LARGEST) -> list[str]:
    try:
        within = lowest <= as_integer(value) <= highest
        return [] if within else [f"{value} is not in {lowest} .. {highest}"]
    except TypeError as error:
        return [str(error)]


def _mistakes_of_choices(choices: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    if not choices:
        yield "a problem needs at least one choice"
    for name, values in choices.items():
        if not values or _repeated(values):
            yield f"choice {name!r}: needs values without repetition, not {values}"
        for value in values:
            yield from (f"choice {name!r}: {mistake}" for mistake in _mistake_of_number(value))


def _mistakes_of_tables(problem: FactoredProblem) -> Iterator[str]:
    known = list(problem.choices)
    for table in problem.tables:
        where, rule = f"table {table.name!r}", "must be a choice or an output of an earlier table"
        for name in table.keys:
            if name not in known:
                yield f"{where}: key {name!r} {rule}{_nearest(name, known)}"
        if taken := _repeated([*known, *table.outputs]):
            yield f"{where}: outputs named like an earlier choice or output: {taken}"
        known += table.outputs


def _mistakes_of_products(problem: FactoredProblem) -> Iterator[str]:
    for number, product in enumerate(problem.products, start=1):
        for mistake in _mistake_of_number(product.equals, 1, 2**40):
            yield f"product {number}: {mistake}"
        if not product.factors or _repeated(product.factors):
            yield f"product {number}: needs distinct factors, not {product.factors}"
        for name in product.factors:
            if name not in problem.choices:
                yield f"product {number}: no choice {name!r}{_nearest(name, problem.choices)}"
            elif min(problem.choices[name]) < 1:
                yield f"product {number}: factor {name!r} has values below 1"


class _Magnitude(Arithmetic):
    """The largest absolute value an expression can take; also that of a maximum of several."""

    def __init__(self, *terms: Any) -> None:
        self.most = max(abs(as_integer(getattr(term, "most", term))) for term in terms)
        if self.most > LARGEST:
            raise OverflowError(f"values could exceed 2**53 = {LARGEST}")

    def _plus(self, other: Any) -> _Magnitude:
        return _Magnitude(self.most + _Magnitude(other).most)

    def _times(self, other: Any) -> _Magnitude:
        return _Magnitude(self.most * _Magnitude(other).most)


def _mistakes_of_expressions(problem: FactoredProblem) -> Iterator[str]:
    if repeated := _repeated(limit.name for limit in problem.limits):
        yield f"limits named more than once: {repeated}"
    for limit in problem.limits:
        yield from (f"limit {limit.name!r}: {m}" for m in _mistake_of_number(limit.upper))
    values = dict(problem.choices) | {n: c for t in problem.tables for n, c in t.outputs.items()}
    names = {name: _Magnitude(*np.unique(c)[[0, -1]]) for name, c in values.items()}
    expressions = {f"objective {name!r}": f for name, f in problem.objectives.items()}
    expressions |= {f"limit {limit.name!r}": limit.expression for limit in problem.limits}
    for where, expression in expressions.items():
        try:
            _Magnitude(expression(names, Ops(maximum=_Magnitude, minimum=_Magnitude)))
        except KeyError as error:
            yield f"{where}: unknown name {error}{_nearest(str(error.args[0]), names)}"
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            yield f"{where}: {error}"
