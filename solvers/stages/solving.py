"""Stage problems solved: the first solver that can, over pruned columns, with a checked answer.

    Solver      Chunks  Crossings  Cost  Limits  Exact time  Proof
    dynamic     no      yes        no    no      no          to the last unit
    labels      no      yes        yes   no      no          to the last unit
    unfolding   yes     yes        yes   no      no          to the last unit
    exact peak  no      no         yes   yes     yes         to the last unit
    cp-sat      yes     yes        yes   yes     yes         to the last unit
    highs       yes     yes        yes   yes     yes         to a relative 1e-6

Those of several chunks per device take limits that fix a sum. A solver that fails, or whose answer
the tables refute, is passed over; what it proved is kept only where it ended well. Equal questions
get equal answers with one worker and no limit on seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import cast

import numpy as np

from solvers.frontier import epsilon_front
from solvers.solution import Solution, Status
from solvers.stages.answers import answer, objective_of
from solvers.stages.backend import COST, TIME, Backend, Need, Question, UnansweredError
from solvers.stages.checking import check_question, evaluate, faults
from solvers.stages.forms import needs_of
from solvers.stages.problem import Choice, Form, Limit, StageProblem
from solvers.stages.pruning import pruned, sooner
from solvers.stages.starting import start_of

_BACKENDS: Mapping[str, tuple[str, str]] = {
    "dynamic": ("solvers.stages.dynamic", "Dynamic"),
    "labels": ("solvers.stages.labels", "Labels"),
    "unfolding": ("solvers.stages.unfolded", "Unfolding"),
    "exact peak": ("solvers.stages.exact_peak", "ExactPeak"),
    "cp-sat": ("solvers.stages.cpsat", "CpSat"),
    "highs": ("solvers.stages.highs", "Highs"),
}
"""Module and class by name, in the order in which they are tried."""
_MANY = 300
"""Columns above which a starting choice is looked for: it takes about as long as a small search."""
_INTERVALS, _SHRINKS = 8, 0.5
"""Intervals of the heaviest peak, and how few columns must be left for another round to pay."""


def backend_of(name: str) -> Backend:
    """A solver by name.

    Raises:
        ValueError: There is none of this name.
    """
    if name not in _BACKENDS:
        raise ValueError(f"no stage solver {name!r}; there are {', '.join(_BACKENDS)}")
    module, kind = _BACKENDS[name]
    made: Backend = getattr(import_module(module), kind)()
    return made


def capable(question: Question) -> list[str]:
    """Names of the solvers that can answer, in the order in which they are tried."""
    needs = needs_of(question)
    return [name for name in _BACKENDS if needs <= backend_of(name).can]


def solve_stages(
    question: Question, *, backend: str | None = None, check: str | None = None
) -> Solution[Choice]:
    """The best choice of columns with its bound.

    Args:
        question: What is asked. A hint that keeps all limits is the answer unless a better one is
            found, and proves columns away.
        backend: Name of the solver to use; others only where it fails. None: the first that can,
            then the next where one ends without a proof and time is left.
        check: Name of a solver that answers the same question over all columns, in at most as
            much time; None: none.

    Returns:
        The choice with its status. Counts: `columns`, `columns_dropped`; `solved by NAME` of each
        solver that found or proved something, `solved by bounds` where none was needed; `failed
        NAME`; `checked by NAME` where both have a proof.

    Raises:
        ValueError: The question makes no sense, or a solver is unknown or cannot answer it.
        UnansweredError: Every solver fails.
        RuntimeError: Two answers contradict each other.
    """
    started = time.perf_counter()
    check_question(question)
    names = _order(question, backend)
    if check is not None:
        _order(question, check)
    search = _Search(question, started)
    search.run(names, only_first=backend is not None)
    found = search.answer()
    return found if check is None else _checked(question, found, check)


def _order(question: Question, first: str | None) -> list[str]:
    """Solvers to try; `first` must be able to."""
    names = capable(question)
    if first is None:
        return names
    lacks = needs_of(question) - backend_of(first).can
    if lacks:
        listed = ", ".join(sorted(need.value for need in lacks))
        raise ValueError(f"{first} cannot do {listed}; {', '.join(names)} can")
    return [first, *(name for name in names if name != first)]


class _Search:
    """The state of one search: the best choice and the best bound so far."""

    def __init__(self, question: Question, started: float) -> None:
        self.question, self.started = question, started
        self.best = _known(question)
        self.bound = -math.inf
        self.left, self.kept = question, np.arange(len(question.problem.columns))
        self._prune(())
        while self._worth_starting():
            before = len(self.kept)
            self._start()
            if len(self.kept) > before * _SHRINKS:
                break
        count = len(question.problem.columns)
        self.counts = {"columns": count, "columns_dropped": count - len(self.kept)}

    @property
    def closed(self) -> bool:
        """Whether nothing better than the best choice can be found."""
        limits = [] if self.question.below is None else [self.question.below]
        if self.best is not None:
            limits.append(objective_of(self.question, self.best))
        return self.bound >= min(limits, default=math.inf)

    def _worth_starting(self) -> bool:
        """Whether a starting choice can be found in less time than it saves."""
        one_chunk = Need.CHUNKS not in needs_of(self.question)
        open_ = not self.closed and self._seconds() != 0.0
        return one_chunk and open_ and len(self.kept) > _MANY

    def _prune(self, multipliers: Sequence[tuple[int, float]], intervals: int = 1) -> None:
        """Drops columns that nothing better than the best choice holds."""
        if self.best is not None:
            self.left = replace(self.left, below=objective_of(self.question, self.best))
        found = pruned(self.left, multipliers=multipliers, intervals=intervals)
        self.left, self.kept = sooner(found.question), self.kept[found.kept]
        self.bound = max(self.bound, found.lower if found.possible else math.inf)

    def _start(self) -> None:
        """A better choice by shortest paths, and what then goes."""
        start = start_of(self.left)
        if start.choice is not None:
            self.best = replace(start.choice, columns=self.kept[start.choice.columns])
        self._prune(start.multipliers, _INTERVALS)

    def run(self, names: list[str], *, only_first: bool) -> None:
        """Asks one solver after the other until one has a proof or time ends."""
        failures: list[str] = []
        for name in names:
            seconds = self._seconds()
            if self.closed or seconds == 0.0:
                return
            try:
                self._ask(name, seconds)
            except Exception as error:  # whatever a solver does, the next one may answer
                failures.append(f"{name}: {error}")
                self.counts[f"failed {name}"] = 1
                continue
            if only_first:
                return
        if len(failures) == len(names) and self.best is None:
            raise UnansweredError(f"no stage solver could answer; {'; '.join(failures)}")

    def _seconds(self) -> float | None:
        """What is left of them."""
        if self.question.seconds is None:
            return None
        return max(self.question.seconds - (time.perf_counter() - self.started), 0.0)

    def _ask(self, name: str, seconds: float | None) -> None:
        """Takes over the answer of one solver after a check.

        Raises:
            RuntimeError: The tables refute it.
        """
        asked = replace(self.left, seconds=seconds)
        if self.best is not None:
            asked = replace(asked, below=objective_of(asked, self.best))
        found = backend_of(name).solve(asked)
        if found.decision is not None:
            choice = replace(found.decision, columns=self.kept[found.decision.columns])
            wrong = faults(self.question.problem, choice, self.question.longest)
            objective = objective_of(self.question, choice)
            if wrong or found.bound > objective or objective < self.bound:
                raise RuntimeError(wrong[0] if wrong else f"{objective} is below a proved bound")
            if asked.below is None or objective < asked.below:
                self.best = choice
        self.bound = max(self.bound, found.bound)
        self.counts |= found.counts
        if found.status is not Status.TIME_LIMIT:
            self.counts[f"solved by {name}"] = 1

    def answer(self) -> Solution[Choice]:
        """What is known."""
        if self.closed and not any(name.startswith("solved by") for name in self.counts):
            self.counts["solved by bounds"] = 1
        chosen = None if self.best is None else self.best.columns
        return answer(self.question, chosen, self.bound, self.started, self.counts)


def _known(question: Question) -> Choice | None:
    """The hint where it is a wanted choice."""
    hint = question.hint
    if hint is None or len(hint.columns) != question.problem.devices:
        return None
    inside = (hint.columns >= 0) & (hint.columns < len(question.problem.columns))
    if not inside.all():
        return None
    choice = evaluate(question.problem, hint.columns)
    if faults(question.problem, choice, question.longest):
        return None
    below = question.below
    return choice if below is None or objective_of(question, choice) < below else None


def _checked(question: Question, found: Solution[Choice], name: str) -> Solution[Choice]:
    """The answer, after another solver has answered over all columns.

    Raises:
        RuntimeError: One has a better choice than the bound of the other.
    """
    other = backend_of(name).solve(replace(question, hint=None))
    if other.objective < found.bound or found.objective < other.bound:
        raise RuntimeError(
            f"stage solvers contradict each other: {found.objective} with bound {found.bound}, "
            f"and by {name} {other.objective} with bound {other.bound}"
        )
    ended = (Status.OPTIMAL, Status.INFEASIBLE)
    both = found.status in ended and other.status in ended
    return replace(found, counts=found.counts | ({f"checked by {name}": 1} if both else {}))


def lexicographic(question: Question, *, backend: str | None = None) -> Solution[Choice]:
    """The least cost, and the least time at that cost.

    Returns:
        A solution of the cost; OPTIMAL only where the time is proved too: with status FEASIBLE
        and a bound equal to the objective the cost is proved and the time is not.

    Raises:
        ValueError, RuntimeError: As `solve_stages`, or time is what is minimized. A named solver
            that cannot find the least time leaves that to the others.
    """
    if question.minimize != COST:
        raise ValueError(f"minimize must be {COST!r}, not {question.minimize!r}")
    started = time.perf_counter()
    cheapest = solve_stages(question, backend=backend)
    if cheapest.decision is None or cheapest.status is not Status.OPTIMAL:
        return cheapest
    problem = question.problem
    least = Limit(
        name="cost",
        form=problem.cost or Form(),
        upper=cheapest.decision.cost,
        per_time=problem.cost_per_time,
    )
    seconds = question.seconds
    if seconds is not None:
        seconds = max(seconds - cheapest.seconds, 0.0)
    among = replace(
        question,
        problem=replace(problem, limits=(*problem.limits, least)),
        minimize=TIME,
        below=None,
        hint=cheapest.decision,
        seconds=seconds,
    )
    fastest = solve_stages(among, backend=backend if backend in capable(among) else None)
    solved = {key: 1 for key in fastest.counts if key.startswith(("solved by", "failed"))}
    return replace(
        cheapest,
        decision=fastest.decision,
        status=fastest.status,
        seconds=time.perf_counter() - started,
        counts=solved | cheapest.counts,
    )


def exact_front(
    problem: StageProblem,
    *,
    longest: int | None = None,
    seconds: float | None = None,
    workers: int = 1,
    backend: str | None = None,
) -> Iterator[Solution[Choice]]:
    """The exact front of time and cost, as it is found, time descending.

    Args:
        problem: With a cost.
        longest: Limit on the time of the first point; None: none.
        seconds: Wall time for the whole front; None: no limit.
        workers: Threads.
        backend: As of `solve_stages`.

    Yields:
        One solution of the cost per point, OPTIMAL. Where time ends before the front does, the
        last is the one in progress: not OPTIMAL, perhaps without a decision.

    Raises:
        ValueError, RuntimeError: As `solve_stages`.
    """
    end = math.inf if seconds is None else time.perf_counter() + seconds
    question = Question(problem=problem, minimize=COST, longest=longest, workers=workers)

    def left() -> float | None:
        return None if seconds is None else max(end - time.perf_counter(), 0.0)

    fastest = solve_stages(replace(question, minimize=TIME, seconds=left()))
    unproved = [] if fastest.status in (Status.OPTIMAL, Status.INFEASIBLE) else [fastest]

    def solve(limit: int | None) -> tuple[int, int, Solution[Choice]] | None:
        if fastest.decision is None or (limit is not None and limit < fastest.decision.time):
            return None
        asked = replace(question, seconds=left(), hint=fastest.decision)
        if limit is not None:
            asked = replace(asked, longest=limit)
        found = lexicographic(asked, backend=backend)
        if found.decision is None or found.status is not Status.OPTIMAL:
            unproved[:] = [found]
            return None
        return found.decision.time, found.decision.cost, found

    yield from (cast(Solution[Choice], found) for _, _, found in epsilon_front(solve))
    yield from unproved
