"""When a search has to stop, asked for between steps that take a few hundredths of a second."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray
from solvers.clock import OutOfTime

__all__ = ["NEVER", "Deadline", "OutOfTime"]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the clock of `time.perf_counter`; None: never."""

    at: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the moment is over."""
        return self.at is not None and time.perf_counter() >= self.at

    @property
    def moment(self) -> float:
        """As `solvers.clock` has it: inf: never."""
        return math.inf if self.at is None else self.at

    @property
    def left_s(self) -> float | None:
        """Seconds until the moment, at least 0; None: no limit."""
        return None if self.at is None else max(self.at - time.perf_counter(), 0.0)

    def check(self) -> None:
        """Raises `OutOfTime` once the moment is over."""
        if self.passed:
            raise OutOfTime

    def parts(self, count: int, at_a_time: int) -> Iterator[IntArray]:
        """The numbers of `count` rows, so many at a time; `check` comes before each part."""
        for start in range(0, count, at_a_time):
            self.check()
            yield np.arange(start, min(start + at_a_time, count))


NEVER = Deadline()
