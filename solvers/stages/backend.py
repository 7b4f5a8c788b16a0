"""What a solver of the stage problem is asked, and what it says it can do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from solvers.solution import Solution
from solvers.stages.problem import Choice, StageProblem

TIME, COST = "time", "cost"


class UnansweredError(RuntimeError):
    """Nothing is known of a question: every solver fails, or its problem cannot be made."""


class Need(Enum):
    """What a question needs that not every solver has.

    CHUNKS: several chunks per device. CROSSINGS: costs between neighbours. COST: a second
    objective, minimized or limited by time. TOTALS: rows of `StageProblem.limits` that fix a sum
    (`solvers.stages.forms.totals_of`). LIMITS: other rows. EXACT_TIME: a limit or objective in
    which more time is better, so that time may not be overstated.
    """

    CHUNKS = "chunks"
    CROSSINGS = "crossings"
    COST = "cost"
    TOTALS = "totals"
    LIMITS = "limits"
    EXACT_TIME = "exact time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One minimization of a stage problem.

    Attributes:
        problem: The tables.
        minimize: `TIME` or `COST`.
        longest: Limit on the time; None: no limit.
        soonest: No choice within the limits is known to take less time; None: nothing is known.
        below: Only choices whose objective is less are wanted; None: any. A solver that proves
            that there is none answers INFEASIBLE with this as its bound.
        hint: A choice to start from.
        seconds: Wall time to spend at most; None: no limit.
        workers: Threads.
    """

    problem: StageProblem
    minimize: str = TIME
    longest: int | None = None
    soonest: int | None = None
    below: int | None = None
    hint: Choice | None = None
    seconds: float | None = None
    workers: int = 1


class Backend(Protocol):
    """A solver of stage problems."""

    @property
    def name(self) -> str:
        """Its name in answers."""

    @property
    def can(self) -> frozenset[Need]:
        """What it can do."""

    def solve(self, question: Question) -> Solution[Choice]:
        """The best choice with its bound, both by the integer tables."""
