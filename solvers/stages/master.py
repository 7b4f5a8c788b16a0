"""The stage problem as one integer linear program, the same for every solver of such programs.

    x_c in {0, 1} per column;  sum over the columns of a device of x = 1
    at every chunk boundary and layer l:  sum of x that end there at l = sum that start there at l
    u_gg' in [0, 1] per pair of neighbours:  rows sum to the x of the left device in group g,
                                             columns to those of the right device in group g'
    P_b >= sum_c peaks[c, b] x_c of every device;  T >= every form of time

The rows of u describe all transitions of two one-hot choices and nothing else (their convex hull),
so X = sum crossings u is exact without u being whole. With one form of time, T is that form.
Where more time may be better (`Need.EXACT_TIME`) each peak equals that of one device, and T one
form, chosen by further binaries. Source of the crossings: on a chain the local polytope is the
convex hull; M. Wainwright, M. Jordan, Graphical Models, Exponential Families, and Variational
Inference, 2008, doi:10.1561/2200000001.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from solvers.stages.backend import TIME, Need, Question
from solvers.stages.forms import longest_of, needs_of, weights
from solvers.stages.problem import LARGEST, Form, Ints, StageProblem

Terms = tuple[npt.NDArray[np.intp], Ints]
"""Variables and their coefficients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Master:
    """Minimize `objective` x + `constant` with `lower` <= `rows` x <= `upper`.

    Attributes:
        columns: The first variables are the columns of the problem, this many.
        binary: (n,) variables that are 0 or 1.
        least, most: (n,) their ranges.
        objective: (n,) whole numbers.
        constant: What the objective has beyond that.
        low: The objective, constant included, is at least this by the ranges alone.
        rows: (r, n) whole numbers.
        lower, upper: (r,) -LARGEST and LARGEST for none.
        exactly_one: How many of the first rows say that one column of a device is chosen.
    """

    columns: int
    binary: npt.NDArray[np.bool_]
    least: Ints
    most: Ints
    objective: Ints
    constant: int
    low: int
    rows: csr_array
    lower: Ints
    upper: Ints
    exactly_one: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A linear expression: the variables `at` times `by`, plus `constant`."""

    at: npt.NDArray[np.intp]
    by: Ints
    constant: int

    def plus(self, factor: int, other: _Line) -> _Line:
        """This one + `factor` `other`; a variable may occur in both."""
        return _Line(
            np.concatenate([self.at, other.at]),
            np.concatenate([self.by, factor * other.by]),
            self.constant + factor * other.constant,
        )


class _Builder:
    """Collects variables and rows of a master."""

    def __init__(self, question: Question) -> None:
        self.question, self.problem = question, question.problem
        self.columns = question.problem.columns
        count = len(self.columns)
        self.of_device = [
            np.flatnonzero(self.columns.device == d) for d in range(self.problem.devices)
        ]
        self.ranges: list[tuple[int, int]] = [(0, 1)] * count
        self.whole = [True] * count
        self.lines: list[tuple[_Line, int, int]] = []
        for own in self.of_device:
            self.row(_Line(own, np.ones_like(own), 0), 1, 1)
        self.exactly_one = len(self.lines)
        self.exact = Need.EXACT_TIME in needs_of(question)
        self._boundaries()
        self.crossings = self._crossings()
        self.peaks = self._peaks()
        self.time = self._time()

    def row(self, line: _Line, lower: int, upper: int) -> None:
        """`lower` <= line <= `upper`."""
        self.lines.append((line, lower, upper))

    def new(self, least: int, most: int, *, whole: bool = False) -> int:
        """A variable and its number."""
        self.ranges.append((least, most))
        self.whole.append(whole)
        return len(self.ranges) - 1

    def _boundaries(self) -> None:
        """The first chunk begins at 0, the last ends at L, and chunks line up between."""
        problem, columns = self.problem, self.columns
        places = [np.argwhere(problem.chunks == chunk)[0] for chunk in range(problem.chunks.size)]
        (first, k), (last, n) = places[0], places[-1]
        self._only(first, columns.starts[:, k] == 0)
        self._only(last, columns.ends[:, n] == problem.layers)
        for (d, k), (e, n) in itertools.pairwise(places):
            if d == e:
                self._only(d, columns.ends[:, k] == columns.starts[:, n])
                continue
            left, right = self.of_device[d], self.of_device[e]
            ends, starts = columns.ends[left, k], columns.starts[right, n]
            both = np.concatenate([left, right])
            signs = np.concatenate([np.ones_like(left), -np.ones_like(right)])
            self._one_row_each(both, signs, np.concatenate([ends, starts]))

    def _only(self, device: int, allowed: npt.NDArray[np.bool_]) -> None:
        """Columns of a device that are not allowed are 0."""
        for column in self.of_device[device][~allowed[self.of_device[device]]].tolist():
            self.ranges[column] = (0, 0)

    def _one_row_each(self, variables: npt.NDArray[np.intp], signs: Ints, keys: Ints) -> None:
        """For every key: the sum of its variables with their signs is 0."""
        order = np.argsort(keys, kind="stable")
        cuts = np.flatnonzero(np.diff(keys[order])) + 1
        for part in np.split(order, cuts):
            self.row(_Line(variables[part], signs[part], 0), 0, 0)

    def _crossings(self) -> _Line:
        """X over one variable per pair of groups of neighbours."""
        line = _Line(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64), 0)
        if self.problem.crossings is None:
            return line
        group = self.columns.group
        for left, right in zip(self.of_device, self.of_device[1:], strict=False):
            here, there = np.unique(group[left]), np.unique(group[right])
            u = np.array([self.new(0, 1) for _ in range(len(here) * len(there))], dtype=np.intp)
            of_left, of_right = np.repeat(here, len(there)), np.tile(there, len(here))
            for own, of_own in ((left, of_left), (right, of_right)):
                signs = np.concatenate([np.ones_like(own), -np.ones_like(u)])
                keys = np.concatenate([group[own], of_own])
                self._one_row_each(np.concatenate([own, u]), signs, keys)
            line = line.plus(1, _Line(u, self.problem.crossings[of_left, of_right], 0))
        return line

    def _peaks(self) -> dict[int, int]:
        """A variable for every peak that some form weighs, no less than every device's."""
        problem, peaks = self.problem, self.columns.peaks
        costs = [] if problem.cost is None else [problem.cost]
        forms = [*problem.time, *costs, *(limit.form for limit in problem.limits)]
        used = {b for form in forms for b, weight in enumerate(form.peaks) if weight}
        in_time = {b for form in problem.time for b, weight in enumerate(form.peaks) if weight}
        made = {}
        for b in sorted(used):
            least = max(int(peaks[own, b].min()) for own in self.of_device)
            made[b] = self.new(least, int(peaks[:, b].max()))
            alone = _Line(np.array([made[b]]), np.ones(1, dtype=np.int64), 0)
            devices = [_Line(own, peaks[own, b], 0) for own in self.of_device]
            for device in devices:
                self.row(alone.plus(-1, device), 0, LARGEST)
            if self.exact and b in in_time:
                self._equals_one(
                    alone, devices, [int(peaks[own, b].min()) for own in self.of_device]
                )
        return made

    def _equals_one(self, alone: _Line, lines: list[_Line], least: list[int]) -> None:
        """The variable is no more than one of the lines, each at least so much."""
        most = self.ranges[alone.at[0]][1]
        chosen = np.array([self.new(0, 1, whole=True) for _ in lines], dtype=np.intp)
        self.row(_Line(chosen, np.ones_like(chosen), 0), 1, 1)
        for at, line, low in zip(chosen.tolist(), lines, least, strict=True):
            slack = most - low
            picked = _Line(np.array([at]), np.array([slack]), -slack)
            self.row(alone.plus(-1, line).plus(1, picked), -LARGEST, 0)

    def of(self, form: Form) -> _Line:
        """A form over the variables."""
        by = self.columns.sums @ weights(form.sums, self.columns.sums.shape[1])
        at = np.flatnonzero(by)
        line = _Line(at, by[at], form.constant).plus(form.crossings, self.crossings)
        own = [(self.peaks[b], weight) for b, weight in enumerate(form.peaks) if weight]
        return line.plus(1, _Line(*_columns_of(own), 0))

    def bounds(self, line: _Line) -> tuple[int, int]:
        """Ends of what a line can be: by device where columns are chosen, by range elsewhere."""
        count = len(self.columns)
        dense = np.zeros(count, dtype=np.int64)
        inner = line.at < count
        np.add.at(dense, line.at[inner], line.by[inner])
        low = line.constant + sum(int(dense[own].min()) for own in self.of_device)
        high = line.constant + sum(int(dense[own].max()) for own in self.of_device)
        for at, by in zip(line.at[~inner].tolist(), line.by[~inner].tolist(), strict=True):
            ends = sorted(by * end for end in self.ranges[at])
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _time(self) -> _Line:
        """Time: its only form, or a variable that no form exceeds."""
        lines = [self.of(form) for form in self.problem.time]
        if len(lines) == 1:
            return lines[0]
        ends = [self.bounds(line) for line in lines]
        time = self.new(max(low for low, _ in ends), max(high for _, high in ends))
        alone = _Line(np.array([time]), np.ones(1, dtype=np.int64), 0)
        for line in lines:
            self.row(alone.plus(-1, line), 0, LARGEST)
        if self.exact:
            self._equals_one(alone, lines, [low for low, _ in ends])
        return alone

    def master(self) -> Master:
        """The program, limits and objective included."""
        question, problem = self.question, self.problem
        longest = longest_of(question)
        if longest is not None:
            self.row(self.time, -LARGEST, longest)
        for limit in problem.limits:
            self.row(self.of(limit.form).plus(limit.per_time, self.time), -LARGEST, limit.upper)
        objective = self.time
        if question.minimize != TIME:
            objective = self.of(problem.cost or Form()).plus(problem.cost_per_time, self.time)
            if question.below is not None:
                self.row(objective, -LARGEST, question.below - 1)
        width = len(self.ranges)
        dense = np.zeros(width, dtype=np.int64)
        np.add.at(dense, objective.at, objective.by)
        rows, lower, upper = self._matrix(width)
        ranges = np.array(self.ranges, dtype=np.int64)
        return Master(
            columns=len(self.columns),
            binary=np.array(self.whole),
            least=ranges[:, 0],
            most=ranges[:, 1],
            objective=dense,
            constant=objective.constant,
            low=self.bounds(objective)[0],
            rows=rows,
            lower=lower,
            upper=upper,
            exactly_one=self.exactly_one,
        )

    def _matrix(self, width: int) -> tuple[csr_array, Ints, Ints]:
        """All rows, their constants moved to the ends."""
        lines = [line for line, _, _ in self.lines]
        sizes = [len(line.at) for line in lines]
        at = np.concatenate([line.at for line in lines])
        by = np.concatenate([line.by for line in lines])
        rows = csr_array(
            (by, (np.repeat(np.arange(len(lines)), sizes), at)), shape=(len(lines), width)
        )
        rows.sum_duplicates()
        rows.eliminate_zeros()
        lower = [low if low == -LARGEST else low - line.constant for line, low, _ in self.lines]
        upper = [up if up == LARGEST else up - line.constant for line, _, up in self.lines]
        return rows, np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)


def _columns_of(pairs: list[tuple[int, int]]) -> Terms:
    """Variables and coefficients of a list of pairs."""
    return (
        np.array([at for at, _ in pairs], dtype=np.intp),
        np.array([by for _, by in pairs], dtype=np.int64),
    )


def master_of(question: Question) -> Master:
    """The integer linear program of a question."""
    return _Builder(question).master()


def chosen_of(problem: StageProblem, values: npt.NDArray[np.float64]) -> Ints:
    """(p,) the column of each device with the largest value."""
    device = problem.columns.device
    order = np.lexsort((-values[: len(device)], device))
    first = np.searchsorted(device[order], np.arange(problem.devices))
    return order[first].astype(np.int64)
