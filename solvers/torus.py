"""Which parts of which mesh axes lie along each physical axis of a torus, chosen with the mesh.

A physical axis of length L is used by a *pattern*: parts of different mesh axes, innermost first,
whose product is L. On it, a group of mesh axes has e members (the product of their parts) within a
span (from its innermost to the end of its outermost part), so they are span / e links apart, and as
many groups share each link. In links, with 2 where the span is the whole of a closed axis, else 1:

    own  = (2 or 1) e / span                   of an axis on which the group has members
    rate = min( sum of own,  (g - 1) / (e - 1) own of every such axis )        g members in all
    cost = ceil(volume / rate)                 per group; 0 for one member

The objective is the largest cost of all groups (they run at the same time; of equals the least
sum) or their sum. The same
rates as floating-point arrays: `planner.network.torus`.

As an integer program: one variable for the mesh, one pattern per physical axis, and tables. A table
per physical axis gives the exponents of every prime in every part, so that the parts multiply to
the mesh by sums; another column numbers what a group sees of the axis, (e, own). A table per group
gives its cost from these numbers and its volume, so that nothing is multiplied. Physical axes that
are equal are ordered by their patterns.
Source of CP-SAT: L. Perron, F. Didier, https://developers.google.com/optimization/cp/cp_solver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from solvers.cpsat_solver import new_solver
from solvers.solution import Solution, Status

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Pattern = tuple[tuple[str, int], ...]
Footprint = tuple[int, Fraction]

_ROUNDING = 1e-6
LARGEST_COST = 2**31  # so that no sum of a few costs is large for the solver


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusMesh:
    """One mesh that may be chosen.

    Attributes:
        sizes: Mesh axis to its size; the product is that of the physical axes.
        volumes: Group to a whole number >= 0: what it moves, in link units of the objective.
    """

    sizes: Mapping[str, int]
    volumes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusProblem:
    """What may be chosen.

    Attributes:
        dims: Length of each physical axis.
        wrap: Whether each closes into a ring.
        axes: Names of the mesh axes.
        groups: Group to the mesh axes that it is made of.
        meshes: The meshes.
        overlapped: Whether the largest cost counts, else the sum.
    """

    dims: tuple[int, ...]
    wrap: tuple[bool, ...]
    axes: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    meshes: tuple[TorusMesh, ...]
    overlapped: bool = True

    def __post_init__(self) -> None:
        if len(self.dims) != len(self.wrap) or min(self.dims, default=0) < 1:
            raise ValueError(f"dims {self.dims} and wrap {self.wrap} do not describe a torus")
        for mesh in self.meshes:
            if math.prod(mesh.sizes.values()) != math.prod(self.dims):
                raise ValueError(f"mesh {dict(mesh.sizes)} does not fill the torus {self.dims}")
            if min(mesh.volumes.values(), default=0) < 0:
                raise ValueError(f"volumes {dict(mesh.volumes)} must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class TorusDecision:
    """A mesh and how it lies on the torus.

    Attributes:
        mesh: Row of `TorusProblem.meshes`.
        patterns: Parts of every physical axis, innermost first.
        costs: Cost of every group.
    """

    mesh: int
    patterns: tuple[Pattern, ...]
    costs: Mapping[str, int]


def place(
    problem: TorusProblem,
    *,
    time_limit_s: float | None = None,
    workers: int = 1,
    seed: int = 0,
) -> Solution[TorusDecision]:
    """The mesh and the patterns with the least cost.

    One worker without a time limit is deterministic for a seed.

    Args:
        problem: What may be chosen.
        time_limit_s: Wall time of the solver; None for none.
        workers: Threads of the solver.
        seed: Random seed of the solver.

    Returns:
        Decision, value, bound and status; counts: `patterns` and `rows` of all tables.

    Raises:
        ValueError: A cost may exceed `LARGEST_COST`.
    """
    started = time.perf_counter()
    model = _Model(problem)
    status, bound = model.solve(time_limit_s, workers, seed)
    decision = model.decision() if status in (Status.OPTIMAL, Status.FEASIBLE) else None
    value = math.inf
    if decision is not None:
        value = float(_total(problem, decision.costs.values()))
    return Solution(
        decision=decision,
        objective=value,
        bound=min(bound, value),
        status=status,
        seconds=time.perf_counter() - started,
        counts=model.counts,
    )


def patterns_of(length: int, axes: Sequence[str]) -> Iterator[Pattern]:
    """Ordered lists of (mesh axis, part > 1) of different axes that fill a physical axis."""
    if length == 1:
        yield ()
    for axis in axes:
        others = [other for other in axes if other != axis]
        for part in range(2, length + 1):
            if length % part == 0:
                for outer in patterns_of(length // part, others):
                    yield ((axis, part), *outer)


def footprint(pattern: Pattern, axes: Sequence[str], length: int, *, closed: bool) -> Footprint:
    """(members, rate in links) of a group of mesh axes on a physical axis; rate 0 for one."""
    members = span = inside = 1
    for axis, part in pattern:
        inside *= part
        if axis in axes:
            members, span = members * part, inside
    if members == 1:
        return 1, Fraction(0)
    return members, Fraction((2 if closed and span == length else 1) * members, span)


def group_cost(volume: int, footprints: Sequence[Footprint]) -> int:
    """ceil(volume / rate) of a group with one footprint per physical axis; 0 for one member."""
    size = math.prod(members for members, _ in footprints)
    if size == 1:
        return 0
    rates = [sum((own for _, own in footprints), Fraction(0))]
    rates += [Fraction(size - 1, e - 1) * own for e, own in footprints if e > 1]
    return math.ceil(volume / min(rates))


def _total(problem: TorusProblem, costs: Iterable[int]) -> int:
    return max(costs, default=0) if problem.overlapped else sum(costs)


def _primes(number: int) -> list[int]:
    """The distinct prime factors of a number, ascending."""
    found, factor = [], 2
    while number > 1:
        if number % factor == 0:
            found.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return found


def _exponent(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return count


def _solver(time_limit_s: float | None, workers: int, seed: int) -> Any:
    solver = new_solver()
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    if time_limit_s is not None:
        solver.parameters.max_time_in_seconds = time_limit_s
    return solver


class _Model:
    """The constraint model of a problem."""

    def __init__(self, problem: TorusProblem) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415  (slow to import)

        self.problem = problem
        self.model = cp_model.CpModel()
        self.solver = new_solver()
        self.counts = {"patterns": 0, "rows": 0}
        self.primes = _primes(math.prod(problem.dims))
        self.mesh = self.model.new_int_var(0, max(len(problem.meshes) - 1, 0), "mesh")
        self.lists = [list(patterns_of(length, problem.axes)) for length in problem.dims]
        self.seen: dict[str, list[list[Footprint]]] = {name: [] for name in problem.groups}
        self.numbers: dict[str, list[cp_model.IntVar]] = {name: [] for name in problem.groups}
        self.chosen: list[cp_model.IntVar] = []
        if problem.meshes:
            self._multiply([self._physical_axis(at) for at in range(len(problem.dims))])
            self._order()
            self.costs = {name: self._group(name) for name in problem.groups}
            self._minimize()

    def _table(self, columns: Sequence[cp_model.IntVar], rows: list[tuple[int, ...]]) -> None:
        self.counts["rows"] += len(rows)
        self.model.add_allowed_assignments(columns, rows)

    def _physical_axis(self, at: int) -> list[cp_model.IntVar]:
        """The pattern of a physical axis; its exponents, for every mesh axis and prime."""
        problem, listed = self.problem, self.lists[at]
        self.counts["patterns"] += len(listed)
        chosen = self.model.new_int_var(0, len(listed) - 1, f"pattern{at}")
        self.chosen.append(chosen)
        pairs = list(product(problem.axes, self.primes))
        most = max(problem.dims).bit_length()
        exponents = [self.model.new_int_var(0, most, f"{a}{p}@{at}") for a, p in pairs]
        rows = []
        seen: list[list[int]] = [[] for _ in listed]
        for name, axes in problem.groups.items():
            closed = problem.wrap[at]
            of = [footprint(p, axes, problem.dims[at], closed=closed) for p in listed]
            kinds = sorted(set(of))
            self.seen[name].append(kinds)
            self.numbers[name].append(self.model.new_int_var(0, len(kinds) - 1, f"{name}@{at}"))
            for row, kind in zip(seen, of, strict=True):
                row.append(kinds.index(kind))
        for number, pattern in enumerate(listed):
            parts = dict(pattern)
            sizes = [_exponent(parts.get(axis, 1), prime) for axis, prime in pairs]
            rows.append((number, *sizes, *seen[number]))
        columns = [chosen, *exponents, *(numbers[at] for numbers in self.numbers.values())]
        self._table(columns, rows)
        return exponents

    def _multiply(self, exponents: list[list[cp_model.IntVar]]) -> None:
        """The parts of every mesh axis multiply to its size: exponents add up."""
        problem = self.problem
        pairs = list(product(problem.axes, self.primes))
        most = math.prod(problem.dims).bit_length()
        totals = [self.model.new_int_var(0, most, f"{axis}{prime}") for axis, prime in pairs]
        rows = [
            (row, *(_exponent(mesh.sizes.get(axis, 1), prime) for axis, prime in pairs))
            for row, mesh in enumerate(problem.meshes)
        ]
        self._table([self.mesh, *totals], rows)
        for total, parts in zip(totals, zip(*exponents, strict=True), strict=True):
            self.model.add(sum(parts) == total)

    def _order(self) -> None:
        """Equal physical axes change places freely: their patterns ascend."""
        axes = list(zip(self.problem.dims, self.problem.wrap, strict=True))
        for at in range(1, len(axes)):
            before = [earlier for earlier in range(at) if axes[earlier] == axes[at]]
            if before:
                self.model.add(self.chosen[before[-1]] <= self.chosen[at])

    def _group(self, name: str) -> cp_model.IntVar:
        """The cost of a group, by its volume and what it sees of every physical axis."""
        problem, axes = self.problem, self.problem.groups[name]
        kinds = [
            (math.prod(mesh.sizes.get(axis, 1) for axis in axes), mesh.volumes.get(name, 0))
            for mesh in problem.meshes
        ]
        distinct = sorted(set(kinds))
        kind = self.model.new_int_var(0, len(distinct) - 1, f"{name} volume")
        self._table([self.mesh, kind], [(r, distinct.index(k)) for r, k in enumerate(kinds)])
        rows = []
        for at in product(*(range(len(seen)) for seen in self.seen[name])):
            footprints = [seen[i] for seen, i in zip(self.seen[name], at, strict=True)]
            size = math.prod(members for members, _ in footprints)
            for number, (wanted, volume) in enumerate(distinct):
                if wanted == size:
                    rows.append((number, *at, group_cost(volume, footprints)))
        largest = max((row[-1] for row in rows), default=0)
        if largest > LARGEST_COST:
            raise ValueError(f"{name} may cost {largest}, above {LARGEST_COST}; scale volumes down")
        cost = self.model.new_int_var(0, largest, f"{name} cost")
        self._table([kind, *self.numbers[name], cost], rows)
        return cost

    def _minimize(self) -> None:
        costs = list(self.costs.values())
        if not self.problem.overlapped:
            self.model.minimize(sum(costs))
            return
        self.largest = self.model.new_int_var(0, LARGEST_COST, "largest")
        for cost in costs:
            self.model.add(self.largest >= cost)
        self.model.minimize(self.largest)

    def solve(self, time_limit_s: float | None, workers: int, seed: int) -> tuple[Status, float]:
        """Runs CP-SAT; status and proved bound."""
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy; only where it is used)

        if not self.problem.meshes:
            return Status.INFEASIBLE, math.inf
        self.solver = _solver(time_limit_s, workers, seed)
        found = self.solver.solve(self.model)
        names = {
            cp_model.OPTIMAL: Status.OPTIMAL,
            cp_model.FEASIBLE: Status.FEASIBLE,
            cp_model.INFEASIBLE: Status.INFEASIBLE,
            cp_model.UNKNOWN: Status.TIME_LIMIT,
        }
        if found not in names:
            raise RuntimeError(f"CP-SAT refuses the model: {self.solver.status_name(found)}")
        if names[found] is Status.INFEASIBLE:
            return Status.INFEASIBLE, math.inf
        bound = self.solver.best_objective_bound  # of whole numbers, as a float beside them
        if self.problem.overlapped and names[found] is Status.OPTIMAL:
            self._least_sum(_solver(time_limit_s, workers, seed))
        return names[found], float(math.ceil(bound - _ROUNDING))

    def _least_sum(self, second: Any) -> None:
        """Of the decisions with the largest cost that was proved, one with the least sum."""
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy; only where it is used)

        self.model.add(self.largest <= self.solver.value(self.largest))
        self.model.minimize(sum(self.costs.values()))
        if second.solve(self.model) in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self.solver = second

    def decision(self) -> TorusDecision:
        """What was chosen; the costs are computed again from the definitions."""
        problem, value = self.problem, self.solver.value
        patterns = tuple(
            listed[value(chosen)] for listed, chosen in zip(self.lists, self.chosen, strict=True)
        )
        mesh = value(self.mesh)
        costs = {}
        for name, axes in problem.groups.items():
            physical = zip(patterns, problem.dims, problem.wrap, strict=True)
            seen = [footprint(p, axes, length, closed=closed) for p, length, closed in physical]
            costs[name] = group_cost(problem.meshes[mesh].volumes.get(name, 0), seen)
            if costs[name] != value(self.costs[name]):
                raise RuntimeError(f"CP-SAT's cost of {name} contradicts the definitions")
        return TorusDecision(mesh=mesh, patterns=patterns, costs=costs)
