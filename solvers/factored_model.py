"""A factored problem as a CP-SAT model: what `solvers.factored_cpsat` builds and solves.

Tables become lists of allowed rows. Products become sums of exponents of primes. Sums and
constant multiples stay linear; a product or maximum of variables gets one auxiliary variable, as
narrow as the bounds of what it combines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from solvers.cpsat_solver import new_solver, run_search
from solvers.factored import (
    Arithmetic,
    Column,
    FactoredProblem,
    Ops,
    Product,
    Relation,
    as_integer,
    row_count,
)
from solvers.solution import Status


class Term(Arithmetic):
    """A linear expression: sum of weights[i] * variable i of the model, plus `offset`."""

    def __init__(self, model: Model, weights: dict[int, int], offset: int) -> None:
        self.model, self.offset = model, offset
        self.weights = {index: weight for index, weight in weights.items() if weight}

    def _plus(self, other: Any) -> Term:
        added = self.model.term(other)
        weights = dict(self.weights)
        for index, weight in added.weights.items():
            weights[index] = weights.get(index, 0) + weight
        return Term(self.model, weights, self.offset + added.offset)

    def _times(self, other: Any) -> Term:
        left, right = self, self.model.term(other)
        if left.weights and right.weights:
            return self.model.product(left, right)
        if left.weights:
            left, right = right, left
        return right.scaled(left.offset)

    def scaled(self, factor: int) -> Term:
        """The term times a constant."""
        weights = {index: factor * weight for index, weight in self.weights.items()}
        return Term(self.model, weights, factor * self.offset)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal expressions."""
        return (self.offset, *sorted(self.weights.items()))

    @property
    def low(self) -> int:
        """The least value that the ranges of its variables allow."""
        ranges = self.model.ranges
        return self.offset + sum(w * ranges[i][w < 0] for i, w in self.weights.items())

    @property
    def high(self) -> int:
        """The largest value that the ranges of its variables allow."""
        ranges = self.model.ranges
        return self.offset + sum(w * ranges[i][w > 0] for i, w in self.weights.items())

    def linear(self) -> Any:
        """The expression for CP-SAT."""
        each = [self.model.variables[index] for index in self.weights]
        return self.model.cp.LinearExpr.weighted_sum(each, [*self.weights.values()]) + self.offset


class Model(dict[str, Term]):
    """A CP-SAT model; the term of a name is made when an expression or a table asks for it.

    Attributes:
        domains: Sorted values of every name.
        variables, ranges: Every variable and its (lowest, highest) value.
        ops: Maximum and minimum of terms.
    """

    def __init__(self, domains: Relation) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

        super().__init__()
        self.cp, self.model, self.solver = cp_model, cp_model.CpModel(), new_solver()
        self.domains = domains
        self.variables: list[Any] = []
        self.ranges: list[tuple[int, int]] = []
        self._made: dict[tuple[Any, ...], Term] = {}
        self.ops = Ops(maximum=self.maximum, minimum=self.minimum)

    def __missing__(self, name: str) -> Term:
        values = self.domains[name].tolist()
        constant = len(values) == 1
        self[name] = self.term(values[0]) if constant else self._new(values)
        return self[name]

    def _new(self, values: list[int], *, between: bool = False) -> Term:
        """A new variable with these values, or with any from the first to the last."""
        domain = self.cp.Domain(*values) if between else self.cp.Domain.from_values(values)
        self.variables.append(self.model.new_int_var_from_domain(domain, ""))
        self.ranges.append((values[0], values[-1]))
        return Term(self, {len(self.variables) - 1: 1}, 0)

    def term(self, value: Any) -> Term:
        """The term itself, or a constant."""
        return value if isinstance(value, Term) else Term(self, {}, as_integer(value))

    def product(self, left: Term, right: Term) -> Term:
        """A variable for the product of two terms that are not constant."""
        key = ("product", *sorted([left.key, right.key]))
        if key not in self._made:
            corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
            made = self._new([min(corners), max(corners)], between=True)
            factors = [self._affine(left), self._affine(right)]
            self.model.add_multiplication_equality(made.linear(), factors)
            self._made[key] = made
        return self._made[key]

    def _affine(self, term: Term) -> Any:
        """The term over at most one variable, as products require."""
        if len(term.weights) <= 1:
            return term.linear()
        single = self._new([term.low, term.high], between=True).linear()
        self.model.add(single == term.linear())
        return single

    def maximum(self, *values: Any) -> Term:
        """A variable for the maximum of the terms that no other dominates."""
        terms = [self.term(value) for value in values]
        top = max(terms, key=lambda term: term.low)
        rivals = [term for term in terms if term is top or term.high > top.low]
        if len(rivals) == 1:
            return top
        key = ("maximum", *sorted(term.key for term in rivals))
        if key not in self._made:
            made = self._new([top.low, max(term.high for term in rivals)], between=True)
            self.model.add_max_equality(made.linear(), [term.linear() for term in rivals])
            self._made[key] = made
        return self._made[key]

    def minimum(self, *values: Any) -> Term:
        """The minimum, through the maximum of the negatives."""
        return self.maximum(*(self.term(value).scaled(-1) for value in values)).scaled(-1)

    def build(self, problem: FactoredProblem, objective: str, tables: list[Relation]) -> Term:
        """Adds every constraint and the objective, which is returned."""
        target = self.term(problem.objective(objective)(self, self.ops))
        for limit in problem.limits:
            value = self.term(limit.expression(self, self.ops))
            self.model.add_linear_constraint(
                value.linear(), min(value.low, limit.upper), limit.upper
            )
        needed = [*problem.choices, *(key for table in problem.tables for key in table.keys)]
        self.update({name: self[name] for name in needed})
        for product in problem.products:
            self._add_product(product)
        for columns in tables:
            self._add_rows(columns)
        self.model.minimize(target.linear() - target.low)
        return target

    def _add_rows(self, columns: Relation) -> None:
        """Allowed rows, over the columns that are used and not constant."""
        used = [name for name in columns if name in self and self[name].weights]
        if row_count(columns) < math.prod(len(self.domains[name]) for name in used):
            rows = np.stack([columns[name] for name in used], axis=1).tolist()
            self.model.add_allowed_assignments([self[name].linear() for name in used], rows)

    def _add_product(self, product: Product) -> None:
        """For every prime of the product, the exponents in the factors sum to its exponent."""
        for prime, exponent in _prime_powers(product.equals):
            total = self.term(0)
            for name in product.factors:
                label = f"exponent of {prime} in {name}"
                if label not in self.domains:
                    powers = _valuations(self.domains[name], prime)
                    self.domains[label] = np.unique(powers)
                    total += self[label]
                    self._add_rows({name: self.domains[name], label: powers})
                else:
                    total += self[label]
            self.model.add_linear_constraint(total.linear(), exponent, exponent)

    def add_hint(self, values: Mapping[str, int]) -> None:
        """Starts the search at these values of choices and outputs."""
        for name, value in values.items():
            if name in self and self[name].weights and value in self.domains[name]:
                (index,) = self[name].weights
                self.model.add_hint(self.variables[index], int(value))

    def solve(
        self, limit_s: float | None, workers: int, seed: int, counts: dict[str, int]
    ) -> Status:
        """Runs CP-SAT; adds to the counts.

        Without the presolve of CP-SAT: version 9.15 calls feasible products with a two-valued
        factor infeasible once they pass 2**31, and it took longer than the search it saved. The
        pruning of this module takes its place. Nor is the formula simplified between restarts,
        relaxed to a linear program, or probed value by value: on meshes a few conflicts prove the
        optimum, and each takes longer than the search (together a twelfth of the time is left).
        """
        self.solver.parameters.num_workers = workers
        self.solver.parameters.random_seed = seed
        self.solver.parameters.cp_model_presolve = False
        self.solver.parameters.use_sat_inprocessing = False
        self.solver.parameters.linearization_level = 0
        self.solver.parameters.cp_model_probing_level = 0
        if limit_s is not None:
            self.solver.parameters.max_time_in_seconds = max(limit_s, 0.0)
        status = run_search(self.solver, self.model)
        counts |= {"variables": len(self.variables), "branches": self.solver.num_branches}
        counts |= {"conflicts": self.solver.num_conflicts}
        meaning = {
            self.cp.OPTIMAL: Status.OPTIMAL,
            self.cp.FEASIBLE: Status.FEASIBLE,
            self.cp.INFEASIBLE: Status.INFEASIBLE,
            self.cp.UNKNOWN: Status.TIME_LIMIT,
        }
        if status not in meaning:
            raise ValueError(f"CP-SAT refuses the model: {self.model.validate()}")
        return meaning[status]

    def value(self, term: Term) -> int:
        """The value of a term in the solution."""
        return int(self.solver.value(term.linear()))

    def bound(self, target: Term) -> float:
        """A proved lower bound on the objective.

        The solver minimizes `target - target.low`, so that the 0 it reports before it has any
        bound is one. Rounded up to an integer, less what float64 may have lost.
        """
        above = self.solver.best_objective_bound
        return float(target.low + max(math.ceil(above - max(1e-6, math.ulp(above))), 0))


def _prime_powers(number: int) -> Iterator[tuple[int, int]]:
    """The primes of a number and their exponents, by trial division."""
    prime = 2
    while number > 1:
        if prime * prime > number:
            prime = number
        exponent = 0
        while number % prime == 0:
            number, exponent = number // prime, exponent + 1
        if exponent:
            yield prime, exponent
        prime += 1


def _valuations(values: Column, prime: int) -> Column:
    """(n,) the exponent of the prime in each positive value."""
    exponents, power = np.zeros_like(values), prime
    while (divisible := values % power == 0).any():
        exponents, power = exponents + divisible, power * prime
    return exponents
