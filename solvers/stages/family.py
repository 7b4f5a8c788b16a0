"""The least cost within a limit on time over many stage problems, and their common front.

Problems (rows) share units of time and cost, of which a row may count parts, and one incumbent:
the cheapest choice known within the limit. A row whose bound is no lower is dropped. Of the others
the one with the lowest bound comes first: its bound is tightened, or it is solved for a choice
below the incumbent. What a row is proved not to go below under a limit, it does not go below under
a smaller one, so bounds are kept while the limit falls.

The front is that of Haimes' epsilon-constraint: the least cost, of equals the least time, then the
limit moves below that time. Source: Haimes, Lasdon, Wismer 1971; Laumanns, Thiele, Zitzler, EJOR
2006, doi:10.1016/j.ejor.2004.08.029.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from solvers.solution import Solution, Status
from solvers.stages.backend import COST, Question, UnansweredError
from solvers.stages.problem import Choice, Ints, StageProblem

Bools = npt.NDArray[np.bool_]
UNLIMITED = 2**53
"""Stands for no limit on time, and for the cost where no choice is known."""
Solve = Callable[[Question], Solution[Choice]]


class Family(Protocol):
    """Many stage problems with lower bounds on their cost."""

    def __len__(self) -> int:
        """How many rows."""

    def bounds(self, limit: int | None) -> Ints:
        """(n,) no choice of a row within the limit costs less; `UNLIMITED` where there is none."""

    def loose(self) -> Bools:
        """(n,) rows whose bound can be tightened."""

    def tighten(self, rows: Ints, limit: int | None) -> None:
        """Makes better bounds of some of `rows`, the first at least, for this and smaller limits.

        `rows` are loose, the lowest bound first.
        """

    def problem(self, row: int, limit: int | None) -> StageProblem | None:
        """Of a row that is not loose, for choices within the limit; None: there are none.

        It may be a relaxation of the row.

        Raises:
            UnansweredError: It cannot be made.
        """

    def scale(self, row: int) -> int:
        """Units of time and cost of the row's problem in one of the family."""

    def real(self, row: int, choice: Choice) -> Known | None:
        """What a choice of a row's problem stands for; None: of a relaxation, for nothing.

        Where that is dearer or slower than the choice, the row becomes loose, and its problem the
        row itself.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A choice that is known, of a row or from elsewhere.

    Attributes:
        time, cost: By the integer tables.
        row: -1: from elsewhere.
        choice, problem: Of the row; None from elsewhere.
        fastest: Whether no choice of its row is as cheap and faster, or that is not asked.
        label: What the family or the caller knows it by.
    """

    time: int
    cost: int
    row: int = -1
    choice: Choice | None = None
    problem: StageProblem | None = None
    fastest: bool = True
    label: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of the front.

    Attributes:
        limit: On time, when it was asked for; None: none.
        found: The choice.
        bound: No choice within the limit costs less.
        proved: Whether it is the cheapest within the limit, by the integer tables.
        solved, bounded: Rows solved, rows that bounds alone dropped, for this point.
        seconds: Wall time.
    """

    limit: int | None
    found: Known
    bound: int
    proved: bool
    solved: int
    bounded: int
    seconds: float


@dataclass(slots=True, kw_only=True)
class FamilySearch:
    """A search over the rows of a family.

    Attributes:
        family: The rows.
        solve: Answers one question; every question minimizes cost.
        settles: Whether an answer of `solve` is also the fastest of its cost.
        fastest: A choice no dearer than the one given, of the same problem, in the least time.
        known: Choices known at the start; grows.
        gap: A row whose bound is above (1 - gap) times the incumbent is dropped.
        rounding, cost_rounding: Units of time, of cost, that count as nothing: what choices from
            elsewhere may differ by from their integers.
        deadline: `time.perf_counter` value after which no further row is solved.
        row_seconds: For one row; None: no limit but the deadline.
        soonest: No choice takes less time, so that no smaller limit is asked for.
        solves, solved: Problems solved by solver, and the rows that they are of.
        unanswered: Rows of which a problem could not be made, or that no solver answered.
        ahead: Later, smaller limit up to which rows are compared with the choices known there:
            what they are proved not to go below then holds for longer.
        faster: After `least_product`: choices within it belong to no point that was given; they
            cost no less than `bounds` of it.
    """

    family: Family
    solve: Solve
    settles: Callable[[Solution[Choice]], bool]
    fastest: Callable[[StageProblem, Choice, float | None], Choice]
    known: list[Known] = field(default_factory=list)
    gap: float = 0.0
    rounding: int = 0
    cost_rounding: int = 0
    deadline: float | None = None
    row_seconds: float | None = None
    soonest: int = 0
    ahead: int | None = None
    faster: int = field(init=False, default=0)
    solves: Counter[str] = field(default_factory=Counter)
    solved: set[int] = field(default_factory=set)
    unanswered: set[int] = field(default_factory=set)
    _proved: Ints = field(init=False)
    _limit: int = field(init=False, default=UNLIMITED)

    def __post_init__(self) -> None:
        self._proved = np.zeros(len(self.family), dtype=np.int64)

    def best(self, limit: int | None, worth: int = UNLIMITED) -> Point | None:
        """The cheapest choice within a limit, of equals of its row the fastest.

        None: there is none, or none was found in time (see `late` and `bounds`).

        Args:
            limit: On time; None: none.
            worth: Choices that cost as much are not looked for.

        Raises:
            ValueError: The limit is above one that was asked for before.
        """
        started = time.perf_counter()
        if limit is not None and limit < self.soonest:
            return None
        self._lower(limit)
        solved, tried = 0, np.zeros(len(self.family), dtype=np.bool_)
        low = self.bounds(limit)
        while True:
            best = self._incumbent(limit)
            rows = self._open(low, best, worth, ~tried)
            if not len(rows) or self.late:
                break
            loose = self.family.loose()[rows]
            if loose[0]:
                low = self._tightened(rows[loose], limit, low)
                continue
            row = int(rows[0])
            try:
                self._solve(row, limit, best, worth)
            except UnansweredError:  # its bound is that of before
                self.unanswered.add(row)
            low[row] = max(low[row], self._proved[row])
            tried[row] = not self.family.loose()[row]
            solved += 1
        if best.cost >= UNLIMITED:
            return None
        bound = min(int(low.min(initial=UNLIMITED)), best.cost)
        best = self._faster(best)
        return Point(
            limit=limit,
            found=best,
            bound=bound,
            proved=bound >= best.cost - self.cost_rounding,
            solved=solved,
            bounded=len(self.family) - solved,
            seconds=time.perf_counter() - started,
        )

    def bounds(self, limit: int | None) -> Ints:
        """(n,) what every row is proved not to go below."""
        return np.maximum(self.family.bounds(limit), self._proved)

    def front(self, limit: int | None = None) -> Iterator[Point]:
        """All points within a limit, the slowest first; see the module."""
        held: Point | None = None
        while (point := self.best(limit)) is not None:
            if held is not None and point.found.cost > held.found.cost:
                yield held
            held = point
            limit = self._next(point)
        if held is not None:
            yield held

    def least_product(self, limit: int | None = None) -> Iterator[Point]:
        """Points until none can have a product of time and cost smaller by more than the gap.

        The slowest come first. A choice within a limit costs no less than the bound of its point,
        so that to beat the best product its time must be below that product over this bound; as
        none takes less than `soonest`, its cost must be below that product over `soonest`.
        """
        most = UNLIMITED if limit is None else limit
        products = [float(known.time) * known.cost for known in self.known if known.time <= most]
        best, worth = min(products, default=float(UNLIMITED) ** 2), UNLIMITED
        while (point := self.best(limit, worth)) is not None:
            product = float(point.found.time) * point.found.cost
            if point.bound >= worth and product >= best:
                return
            yield point
            best = min(best, product)
            wanted = best * (1 - self.gap)
            self.faster = limit = min(self._next(point), int(wanted / max(point.bound, 1)))
            worth = int(min(wanted / max(self.soonest, 1), UNLIMITED))

    def _next(self, point: Point) -> int:
        """The limit after a point; none that is asked where all that is faster is so by rounding.

        No choice takes less than `soonest`, of which a known one may be short by the rounding.
        """
        limit = point.found.time - 1 - self.rounding
        return limit if limit >= self.soonest + self.rounding else self.soonest - 1

    def within(self, limits: Sequence[int]) -> Iterator[Point]:
        """The point of each of some limits, descending; one that holds for several comes once."""
        held: Point | None = None
        for place, limit in enumerate(limits):
            if held is not None and held.found.time <= limit:
                continue
            self.ahead = limits[place + 1] if place + 1 < len(limits) else None
            held = self.best(limit)
            if held is None:
                return
            yield held

    def _incumbent(self, limit: int | None) -> Known:
        """The cheapest known choice within a limit, of equals the fastest."""
        most = UNLIMITED if limit is None else limit
        inside = [known for known in self.known if known.time <= most]
        nothing = Known(time=UNLIMITED, cost=UNLIMITED)
        return min(inside, key=lambda known: (known.cost, known.time), default=nothing)

    def _open(self, low: Ints, best: Known, worth: int, untried: Bools) -> Ints:
        """Rows that may hold something better by more than the gap, the lowest bound first."""
        rows = np.flatnonzero(untried & (low < min(self.enough(best), worth)))
        return rows[np.argsort(low[rows], kind="stable")]

    def enough(self, best: Known) -> float:
        """What a bound must reach for its row to be dropped."""
        if best.cost >= UNLIMITED:
            return best.cost
        return min(best.cost * (1 - self.gap), best.cost - self.cost_rounding)

    def _tightened(self, rows: Ints, limit: int | None, low: Ints) -> Ints:
        """(n,) the bounds after some of the rows, lowest first, have got better ones."""
        self.family.tighten(rows, limit)
        return np.maximum(low, self.bounds(limit))

    def _lower(self, limit: int | None) -> None:
        """Notes the limit; what is proved under it holds for smaller ones only."""
        most = UNLIMITED if limit is None else limit
        if most > self._limit:
            raise ValueError(f"limit {most} after {self._limit}: limits must not rise")
        self._limit = most

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def _seconds(self) -> float | None:
        left = None if self.deadline is None else max(self.deadline - time.perf_counter(), 0.0)
        return min((x for x in (left, self.row_seconds) if x is not None), default=None)

    def _solve(self, row: int, limit: int | None, best: Known, worth: int) -> None:
        """Asks a row for a choice below the incumbent, and keeps what is proved.

        Raises:
            UnansweredError: There is no answer.
        """
        problem = self.family.problem(row, limit)
        if problem is None:
            self._proved[row] = UNLIMITED
            return
        scale = self.family.scale(row)
        below = best.cost - self.cost_rounding if best.cost < UNLIMITED else UNLIMITED
        if self.ahead is not None:
            below = max(below, self._incumbent(self.ahead).cost)
        below = min(below, worth)
        found = self.solve(
            Question(
                problem=problem,
                minimize=COST,
                longest=None if limit is None else (limit + 1) * scale - 1,
                soonest=self.soonest * scale if self.soonest else None,
                below=below * scale if below < UNLIMITED else None,
                seconds=self._seconds(),
            )
        )
        self.solves.update(name for name in found.counts if name.startswith("solved by"))
        if found.decision is not None:
            known = self.family.real(row, found.decision)
            if known is not None:
                self.known.append(replace(known, fastest=self.settles(found)))
        bound = max(found.bound, 0.0) / scale
        bound = float(below) if found.status is Status.INFEASIBLE else bound
        self._proved[row] = max(int(self._proved[row]), int(min(bound, UNLIMITED)))
        self.solved.add(row)

    def _faster(self, best: Known) -> Known:
        """The same cost, of the same row, in the least time."""
        if best.choice is None or best.problem is None or best.fastest:
            return best
        choice = self.fastest(best.problem, best.choice, self._seconds())
        better = self.family.real(best.row, choice)
        if better is None or (better.cost, better.time) >= (best.cost, best.time):
            return best
        self.known.append(better)
        return better
