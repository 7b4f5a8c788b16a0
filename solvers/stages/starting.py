"""A good choice before the search, and multipliers of limits under which its objective is low.

With one chunk per device a least sum is a shortest path over (layer, group). So for some ceilings
on the peak that time weighs most,

    min over paths below the ceiling of  objective + w (the limit that the best path breaks most)

gives choices that obey the limits: a starting point, not a proof. w is where the best path that
breaks the limit and the best that keeps it are worth the same; it serves a proof, for objective +
w limit is bounded below better than either alone (`solvers.stages.pruning`). Source: G. Handler,
I. Zang, A Dual Algorithm for the Constrained Shortest Path Problem, Networks 1980,
doi:10.1002/net.3230100403.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.answers import objective_of
from solvers.stages.backend import Question
from solvers.stages.checking import evaluate, faults, value_of
from solvers.stages.completion import Completion
from solvers.stages.forms import Cap, caps_of, heaviest_peak, objective_forms, weights
from solvers.stages.problem import Choice, Form, Ints, StageProblem

_CEILINGS, _ZOOMS, _STEPS, _MULTIPLIERS = 12, 3, 12, 3
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a search may begin.

    Attributes:
        choice: The best found that obeys all limits; None where none was found.
        multipliers: (number of a cap of the question, its multiplier) that were worth most.
    """

    choice: Choice | None
    multipliers: tuple[tuple[int, float], ...]


def start_of(question: Question) -> Start:
    """A choice for one chunk per device, in order."""
    return _Starting(question).run()


class Paths:
    """Shortest paths of one column per device."""

    def __init__(self, problem: StageProblem) -> None:
        self.problem = problem
        columns = problem.columns
        self.of_device = [np.flatnonzero(columns.device == d) for d in range(problem.devices)]
        self.starts, self.ends = columns.starts[:, 0], columns.ends[:, 0]
        crossings = problem.crossings
        self.group = np.zeros_like(columns.group) if crossings is None else columns.group
        self.crossings = np.zeros((1, 1)) if crossings is None else crossings.astype(np.float64)

    def best(self, values: Floats, crossed: float) -> Ints | None:
        """(p,) columns of the least sum of (c,) values and weighed crossings; None without any."""
        cross = crossed * self.crossings
        start = np.full((self.problem.layers + 1, len(cross)), np.inf)
        start[0] = 0.0
        totals = []
        for own in self.of_device:
            total = start[self.starts[own], self.group[own]] + values[own]
            end = np.full_like(start, np.inf)
            np.minimum.at(end, (self.ends[own], self.group[own]), total)
            start = (end[:, :, None] + cross).min(axis=1)
            totals.append(total)
        if not np.isfinite(start[-1]).any():
            return None
        return self._traced(totals, cross)

    def _traced(self, totals: list[Floats], cross: Floats) -> Ints:
        """The columns of the least path, last first."""
        at, after = self.problem.layers, np.zeros(len(cross))
        chosen = []
        for own, total in zip(reversed(self.of_device), reversed(totals), strict=True):
            there = np.flatnonzero(self.ends[own] == at)
            column = own[there[np.argmin(total[there] + after[self.group[own[there]]])]]
            chosen.append(int(column))
            at, after = int(self.starts[column]), cross[:, self.group[column]]
        return np.array(chosen[::-1], dtype=np.int64)


class _Starting:
    """The search for a start."""

    def __init__(self, question: Question) -> None:
        self.question, self.problem = question, question.problem
        self.paths = Paths(self.problem)
        self.objective = objective_forms(question)[0]
        self.caps = caps_of(question)
        self.best: Choice | None = None
        below = question.below
        self.least = math.inf if below is None else float(below)
        self.found = math.inf
        self.duals: list[tuple[float, int, float]] = []

    def run(self) -> Start:
        """Ceilings between the least and the largest peak, then closer around the best."""
        inside = np.zeros(len(self.problem.columns))
        b = heaviest_peak(self.problem)
        if b is None:
            self._under(inside)
        else:
            peak = self.problem.columns.peaks[:, b]
            low, high = Completion(self.problem).least_peak(b), int(peak.max())
            for _ in range(_ZOOMS):
                ceilings = np.unique(low + (high - low) * np.arange(_CEILINGS + 1) // _CEILINGS)
                values = [
                    self._under(np.where(peak <= ceiling, inside, np.inf)) for ceiling in ceilings
                ]
                best = int(np.argmin(values))
                low, high = ceilings[max(best - 1, 0)], ceilings[min(best + 1, len(ceilings) - 1)]
        duals = dict.fromkeys((cap, by) for _, cap, by in sorted(self.duals))
        return Start(choice=self.best, multipliers=tuple(duals)[:_MULTIPLIERS])

    def _under(self, allowed: Floats) -> float:
        """The least objective of choices found of columns that are allowed: 0 or infinity."""
        self.found = math.inf
        cheapest = self._path(self.objective, None, 0.0, allowed)
        if cheapest is None:
            return math.inf
        broken = [
            (self._value(cap.form, cheapest) - cap.upper, j) for j, cap in enumerate(self.caps)
        ]
        excess, j = max(broken, default=(0, 0))
        if excess > 0:
            self._weighed(self.caps[j], j, cheapest, allowed)
        return self.found

    def _weighed(self, cap: Cap, j: int, cheapest: Ints, allowed: Floats) -> None:
        """The best multiplier of a cap that the best path breaks: its line through two paths."""
        kept = self._path(cap.form, None, 0.0, allowed)
        if kept is None or self._value(cap.form, kept) > cap.upper:
            return
        over, under = self._point(cap, cheapest), self._point(cap, kept)
        by = 0.0
        for _ in range(_STEPS):
            if over[0] <= under[0]:
                break
            by = max((under[1] - over[1]) / (over[0] - under[0]), 0.0)
            path = self._path(self.objective, cap.form, by, allowed)
            if path is None:
                break
            point = self._point(cap, path)
            if point in (over, under):
                break
            over, under = (point, under) if point[0] > 0 else (over, point)
        self.duals.append((over[1] + by * over[0], j, by))

    def _point(self, cap: Cap, path: Ints) -> tuple[int, int]:
        """By how much a path is above a cap, and its objective."""
        return self._value(cap.form, path) - cap.upper, self._value(self.objective, path)

    def _value(self, form: Form, path: Ints) -> int:
        return value_of(self.problem, form, path.tolist())

    def _path(self, form: Form, other: Form | None, by: float, allowed: Floats) -> Ints | None:
        """The least path of `form` + `by` `other`, peaks aside; kept where it is the best."""
        sums = self.problem.columns.sums
        values = sums @ weights(form.sums, sums.shape[1]) + allowed
        crossed = float(form.crossings)
        if other is not None:
            values = values + by * (sums @ weights(other.sums, sums.shape[1]))
            crossed += by * other.crossings
        path = self.paths.best(values, crossed)
        if path is not None:
            choice = evaluate(self.problem, path)
            value = objective_of(self.question, choice)
            if value < self.found and not faults(self.problem, choice, self.question.longest):
                self.found = value
                if value < self.least:
                    self.best, self.least = choice, value
        return path
