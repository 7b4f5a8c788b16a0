"""A time limit inside long loops: they look at the clock and give up by an exception.

A deadline is a value of `time.perf_counter`; inf: there is none.
"""

from __future__ import annotations

import math
import time


class OutOfTime(Exception):  # noqa: N818  (an end that is planned for, caught by the caller)
    """The deadline passed before a loop ended."""


def deadline_of(time_limit_s: float) -> float:
    """When a limit that starts now ends, on the clock of `time.perf_counter`."""
    return time.perf_counter() + time_limit_s


def left_s(deadline: float) -> float:
    """Seconds until a deadline, at least 0; inf if there is none (inf)."""
    if math.isinf(deadline):
        return math.inf
    return max(0.0, deadline - time.perf_counter())


def keep_time(deadline: float) -> None:
    """Goes on, or gives up.

    Raises:
        OutOfTime: The deadline has passed.
    """
    if time.perf_counter() > deadline:
        raise OutOfTime


def check_solved(status: int, message: str) -> None:
    """Raises where a linear program of SciPy ended without a solution.

    Args:
        status: As `scipy.optimize.linprog` says: 0 solved, 1 a limit on time or iterations.
        message: Its words.

    Raises:
        OutOfTime: The time limit ended it.
        RuntimeError: The solver failed.
    """
    if status == 1:
        raise OutOfTime
    if status != 0:
        raise RuntimeError(f"the linear program was not solved: {message}")
