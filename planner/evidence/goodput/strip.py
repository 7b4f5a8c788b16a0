"""One simulated run, second by second: what it does when.

A picture shows it. Between two failures nothing is random, so that what a step of the simulation
adds to work, checkpoints and lost time says in which order they came.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.evidence.goodput.simulation import SEED, Batch, Run

WORK, SAVE, LOST, DOWN, WAIT = "work", "checkpoint", "lost", "down", "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a run does from one second to another: a word of this module."""

    kind: str
    start_s: float
    end_s: float


def strip_of(run: Run, seed: int = SEED) -> tuple[Span, ...]:
    """A simulated run from its start to its end; spans that follow one another.

    Work that is lost is one span, with the stalls of checkpoints that are lost with it.
    """
    told = _Told(run, 1, np.random.default_rng(seed))
    told.to_the_end()
    return tuple(told.spans)


class _Told(Batch):
    """A batch of one run that keeps what happens."""

    def __init__(self, run: Run, runs: int, random: np.random.Generator) -> None:
        super().__init__(run, runs, random)
        self.spans: list[Span] = []

    def _add(self, kind: str, seconds: float) -> None:
        start = self.spans[-1].end_s if self.spans else 0.0
        if seconds > 0.0:
            self.spans.append(Span(kind=kind, start_s=start, end_s=start + seconds))

    def _work(self, at: IntArray, up: FloatArray) -> BoolArray:
        done, stalls, lost = float(self.done[0]), float(self.stalls[0]), float(self.lost[0])
        failed = super()._work(at, up)
        left, stalled = float(self.done[0]) - done, float(self.stalls[0]) - stalls
        for _ in range(round(stalled / self.run.stall_s) if stalled else 0):
            self._add(WORK, min(self.run.work_s, left))
            self._add(SAVE, self.run.stall_s)
            left -= self.run.work_s
        self._add(WORK, left)
        self._add(LOST, float(self.lost[0]) - lost)
        return failed

    def _wait(self, at: IntArray) -> FloatArray:
        waits = super()._wait(at)
        self._add(WAIT, float(waits.sum()))
        return waits

    def _be_down(self, at: IntArray, seconds: FloatArray | float) -> None:
        super()._be_down(at, seconds)
        if at.size:  # not after its end
            self._add(DOWN, float(np.sum(seconds)))
