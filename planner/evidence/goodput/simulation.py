"""Runs with failures, event by event, many at once.

Each run is one job. It works, saves, fails, waits for spares, restarts from the last checkpoint
that is whole, and ends when its work is done. Runs are the rows of arrays; a step of the loop is
the next failure of each run, so that nothing here uses the closed forms of `cost.goodput`.

A process per run, as simpy has them, would take minutes for what is printed: 10,000 runs of 100
failures and the 30 checkpoints between two of them, for nine jobs. Between two failures nothing is
random, so that all checkpoints of that time are one division here. A test plays single runs
checkpoint by checkpoint, machine by machine, through the same gaps, and finds the same times.
"""

from __future__ import annotations

import math

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.goodput.goodput import Upkeep
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.goodput.gaps import Gaps

FAILURES = 100
"""Failures of a run that are simulated in the mean: enough that its ends do not count."""
FAILURES_WITH_REPAIRS = 2_000
"""The same where repairs take many times the time between failures."""
SEED = 27


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A job whose runs are simulated.

    Attributes:
        total_s: Work to do.
        work_s: Work between two checkpoints.
        stall_s: Seconds that each checkpoint stops the job.
        write_s: Seconds after its stall in which a checkpoint is not whole yet; at most `work_s`.
        down_s: Detection and restart after a failure.
        gaps: Seconds between failures.
        while_down: Whether the next gap counts from the failure, or from when the job works again.
        spares: Machines that wait to take the place of broken ones; None: enough of them.
        broken_share: Chance that a failure breaks a machine.
        broken_at_once: Machines that such a failure breaks: those of a domain.
        repair_s: Until a broken machine is a spare again.
    """

    total_s: float
    work_s: float
    stall_s: float
    write_s: float
    down_s: float
    gaps: Gaps
    while_down: bool = True
    spares: int | None = None
    broken_share: float = 0.0
    broken_at_once: int = 1
    repair_s: float = 0.0


def run_of(
    upkeep: Upkeep, saved: Checkpointing, work_s: float, mtbf_s: float, gaps: Gaps, failures: int
) -> Run:
    """A job as the closed forms have it.

    Args:
        upkeep: How it is kept going; spares take the place of whole domains.
        saved: What a checkpoint costs; numbers.
        work_s: Work between two checkpoints.
        mtbf_s: Mean time between failures.
        gaps: Their law.
        failures: Work of a run over that mean time.
    """
    return Run(
        total_s=max(1.0, round(failures * mtbf_s / work_s)) * work_s,
        work_s=work_s,
        stall_s=float(saved.stall_s),
        write_s=float(saved.write_s),
        down_s=upkeep.detection_s + upkeep.restart_s,
        gaps=gaps,
        while_down=upkeep.while_down,
        spares=None if upkeep.spares is None else upkeep.spares // upkeep.domain_nodes,
        broken_share=upkeep.node_share,
        repair_s=upkeep.repair_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """(runs,) what each run came to.

    Attributes:
        wall_s: From its start to the end of its work.
        failures: How many it had.
        stalls_s, down_s, waits_s, lost_s: Seconds of checkpoints that count, of detection and
            restart, of waiting for a spare, and of work and checkpoints that were lost.
    """

    wall_s: FloatArray
    failures: IntArray
    stalls_s: FloatArray
    down_s: FloatArray
    waits_s: FloatArray
    lost_s: FloatArray


def simulate(run: Run, runs: int, seed: int) -> Simulated:
    """Many runs of a job.

    Args:
        run: The job.
        runs: How many.
        seed: Of the random numbers.
    """
    return Batch(run, runs, np.random.default_rng(seed)).to_the_end()


def goodput_of(run: Run, failures: int, runs: int) -> tuple[float, float]:
    """Work over wall time in the mean of simulated runs, and its standard error.

    Args:
        run: The job.
        failures: Of one of its runs, about.
        runs: How many there would be of `FAILURES`; of longer ones fewer are simulated, so that
            the failures of all stay as many.
    """
    runs = max(runs * FAILURES // failures, 2)
    wall = simulate(run, runs, SEED).wall_s
    mean = float(run.total_s / wall.mean())
    return mean, mean * float(wall.std() / wall.mean()) / math.sqrt(runs)


class Batch:
    """Runs that go on side by side; every array is (runs,) but `back_at`.

    `back_at` has when each machine that is no part of the job is a spare; the place `taken` is that
    of the machine that the job took last, free for the next one that breaks.
    """

    def __init__(self, run: Run, runs: int, random: np.random.Generator) -> None:
        self.run, self.random = run, random
        self.now, self.done = np.zeros(runs), np.zeros(runs)
        self.stalls, self.down, self.waits, self.lost = (np.zeros(runs) for _ in range(4))
        self.failures = np.zeros(runs, dtype=np.int64)
        self.open: BoolArray = np.ones(runs, dtype=bool)
        self.back_at = np.zeros((runs, (run.spares or 0) + 1))
        self.taken = np.zeros(runs, dtype=np.int64)

    def to_the_end(self) -> Simulated:
        """Fails and restarts until the work of every run is done."""
        at = np.arange(len(self.now))
        up = self.run.gaps(self.random, len(at))
        while at.size:
            failed = self._work(at, up)
            at = at[failed]
            self.failures[at] += 1
            self.now[at] += self._wait(at)
            up = self._come_back(at)
        return Simulated(
            wall_s=self.now, failures=self.failures, stalls_s=self.stalls, down_s=self.down,
            waits_s=self.waits, lost_s=self.lost,
        )  # fmt: skip

    def _work(self, at: IntArray, up: FloatArray) -> BoolArray:
        """Lets runs work for so long; which of them failed before their work was done."""
        run, cycle = self.run, self.run.work_s + self.run.stall_s
        left = run.total_s - self.done[at]
        pauses = np.maximum(np.ceil(left / run.work_s - 1e-9) - 1.0, 0.0)
        needed = left + pauses * run.stall_s
        failed = up < needed
        whole = np.clip(np.floor((up - run.write_s) / cycle), 0.0, pauses)
        saved = np.where(failed, whole, pauses)
        spent = np.where(failed, up, needed)
        gained = np.where(failed, saved * run.work_s, left)
        self.now[at] += spent
        self.done[at] += gained
        self.stalls[at] += saved * run.stall_s
        self.lost[at] += spent - gained - saved * run.stall_s
        return failed

    def _wait(self, at: IntArray) -> FloatArray:
        """Seconds until there is a machine for each that just broke; takes the spares."""
        waits = np.zeros(len(at))
        if self.run.spares is None or not self.run.broken_share:
            return waits
        broken = self.random.random(len(at)) < self.run.broken_share
        rows = at[broken]
        for _ in range(self.run.broken_at_once):
            self.back_at[rows, self.taken[rows]] = self.now[rows] + self.run.repair_s
            self.taken[rows] = self.back_at[rows].argmin(axis=1)
            ready = self.back_at[rows, self.taken[rows]] - self.now[rows]
            waits[broken] = np.maximum(waits[broken], ready)
        self.waits[at] += waits
        return waits

    def _come_back(self, at: IntArray) -> FloatArray:
        """Detection and restart, again after each failure during them; seconds up after that."""
        gaps = self.run.gaps(self.random, len(at))
        if not self.run.while_down:
            self._be_down(at, self.run.down_s)
            return gaps
        short = gaps < self.run.down_s
        while short.any():
            rows = at[short]
            self._be_down(rows, gaps[short])
            self.failures[rows] += 1
            self.now[rows] += self._wait(rows)
            gaps[short] = self.run.gaps(self.random, len(rows))
            short = gaps < self.run.down_s
        self._be_down(at, self.run.down_s)
        return gaps - self.run.down_s

    def _be_down(self, at: IntArray, seconds: FloatArray | float) -> None:
        self.now[at] += seconds
        self.down[at] += seconds
