"""One case of another engine and of ours, as a row of a table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Cell = str | int | float | bool | None
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search found.

    Attributes:
        objective: By the formula of the engine compared with, evaluated apart from both searches.
        seconds: Of the search, tables read.
        bound: Nothing is better; None: there is no proof.
    """

    objective: float
    seconds: float
    bound: float | None = None


def row(case: str, theirs: Outcome, ours: Outcome) -> dict[str, Cell]:
    """A row; `better` is how much less our objective is, `times faster` their seconds by ours."""
    return {
        "case": case,
        "theirs": float(theirs.objective),
        "ours": float(ours.objective),
        "bound": None if ours.bound is None else float(ours.bound),
        "better %": float(100 * (theirs.objective - ours.objective) / theirs.objective),
        "their s": theirs.seconds,
        "our s": ours.seconds,
        "times faster": theirs.seconds / ours.seconds,
    }


def timed(work: Callable[[], Answer], repeats: int) -> tuple[Answer, float]:
    """The answer of `work` and the median of its CPU seconds over `repeats` calls."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        answer = work()
        seconds.append(time.process_time() - started)
    return answer, statistics.median(seconds)
