r"""Work between two checkpoints on chips that fail: expected seconds, and the best length.

A cycle is T seconds of work, then a checkpoint that stalls the job for C. A failure costs the
detection D and the restart R, and all work since the last checkpoint that the store has whole.
A checkpoint that is written beside the work (asynchronous) is whole W seconds after its stall has
ended, so that a failure in those W seconds falls back on the one before: W <= T, or two writes
would run at once. Failures are exponential with mean M.

From the moment that a checkpoint is whole to the moment that the next is takes T + C seconds
without a failure. After a failure the job starts at the older snapshot and needs T + C + W seconds
without one. If failures strike during D + R too, a try after a failure takes

    E_r = M (exp((D + R + T + C + W) / M) - 1)

seconds in the mean, and a cycle, which fails with probability p = 1 - exp(-(T + C) / M),

    E = M p + p E_r = M exp((D + R + W) / M) (exp((T + C) / M) - 1).

With W = 0 this is Daly's form (J. T. Daly, Future Generation Computer Systems 22, 2006, eq. 13,
https://doi.org/10.1016/j.future.2004.11.016). If none strikes during D + R, the same steps give

    E = (M + D + R) exp(W / M) (exp((T + C) / M) - 1).

Neither D, R nor W moves the T that makes E / T least: with c = C / M it solves
(T/M - 1) exp(T/M) = -exp(-c), so T = M (1 + L(-exp(-1 - c))) with Lambert's L; T = max(T, W), since
E / T falls up to that T and grows after it. Young's sqrt(2 M C) is its first term.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.base.numerals import LEAST

_ITERATIONS = 12
"""Of Newton: 1e-12 of the root for any stall, from its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """What interrupts a job, and what that costs; each a number or (n,).

    Attributes:
        mtbf_s: M: mean seconds between failures of the whole job; infinite: it never fails.
        detection_s: D: from a failure until it is known.
        restart_s: R: from then until the job works again, its checkpoint loaded.
        while_down: Whether failures strike during D + R too.
    """

    mtbf_s: FloatArray | float
    detection_s: FloatArray | float
    restart_s: FloatArray | float
    while_down: bool = True

    @property
    def down_s(self) -> FloatArray:
        """D + R."""
        return np.add(self.detection_s, self.restart_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointing:
    """What a checkpoint costs; each a number or (n,).

    Attributes:
        stall_s: C: for how long it stops the job.
        write_s: W: for how long it is written beside the work; 0 where the stall is all.
    """

    stall_s: FloatArray | float
    write_s: FloatArray | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """(n,) where the time of a run goes; they sum to 1.

    Attributes:
        work: Goodput: seconds of work that count over seconds of wall time.
        stalls: Checkpoints.
        down: Detection and restart.
        lost: Work that was done again.
        failures_per_s: Mean failures per second of wall time.
        times: How often work is done in the mean: once, and again where it is lost; None: as the
            shares say.
    """

    work: FloatArray
    stalls: FloatArray
    down: FloatArray
    lost: FloatArray
    failures_per_s: FloatArray
    times: FloatArray | None = None


def best_steps(
    step_time_s: FloatArray | float,
    down: Interruptions,
    saved: Checkpointing,
    best_s: FloatArray | None = None,
) -> FloatArray:
    """(n,) whole steps between two checkpoints that make a run shortest.

    Wall time per step falls and then grows with their number, so that one of the two whole numbers
    around the best length is best. A job that never fails gives infinite: it needs no checkpoint.

    Args:
        step_time_s: (n,) or a number.
        down, saved: Of the plans.
        best_s: (n,) `best_work_s` of them, where it is known.
    """
    step = np.asarray(step_time_s, dtype=np.float64)
    exact = (best_work_s(down, saved) if best_s is None else best_s) / step
    least = np.maximum(np.ceil(np.asarray(saved.write_s) / step), 1.0)
    below, above = np.maximum(np.floor(exact), least), np.maximum(np.ceil(exact), least)
    with np.errstate(over="ignore", invalid="ignore"):  # a cycle that hardly ever ends, times steps
        short = wall_time_s(below * step, down, saved) * above
        long = wall_time_s(above * step, down, saved) * below
    return np.where(short <= long, below, above)


def best_work_s(down: Interruptions, saved: Checkpointing) -> FloatArray:
    """(n,) seconds of work between two checkpoints that make a run shortest; at least `write_s`.

    Infinite for a job that never fails.
    """
    best: FloatArray = np.maximum(free_work_s(down.mtbf_s, saved.stall_s), saved.write_s)
    return best


def free_work_s(mtbf_s: FloatArray | float, stall_s: FloatArray | float) -> FloatArray:
    """(n,) the same where a checkpoint is written in no time; E / T falls up to it, then grows."""
    mtbf, stall = np.broadcast_arrays(
        *(np.asarray(one, dtype=np.float64) for one in (mtbf_s, stall_s))
    )
    fails = np.isfinite(mtbf)
    scale = np.where(fails, mtbf, 1.0)
    return np.where(fails, scale * _root(stall / scale), np.inf)


def _root(stall: FloatArray) -> FloatArray:
    """(n,) the x of 0 to 1 with log(1 - x) + x = -c, by Newton.

    That function is concave and falls: from the right of its root Newton comes down to it. Both
    starts lie right of it: log(1 - x) <= -x - x^2 / 2 gives x <= sqrt(2 c), and x <= 1 in
    1 - x = exp(-c - x) gives x <= 1 - exp(-c - 1).
    """
    x = np.minimum(np.sqrt(2.0 * stall), -np.expm1(-stall - 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_ITERATIONS):
            step = (np.log1p(-x) + x + stall) * (1.0 - x) / x
            x = x + np.where(np.isfinite(step), step, 0.0)
    return x


def wall_time_s(
    work_s: FloatArray | float, down: Interruptions, saved: Checkpointing
) -> FloatArray:
    """(n,) expected seconds from one whole checkpoint to the next, `work_s` of work apart.

    Infinite where a cycle hardly ever ends: less than `LEAST` of its time is work.
    """
    mtbf = np.asarray(down.mtbf_s, dtype=np.float64)
    cycle = np.add(work_s, saved.stall_s)
    with np.errstate(over="ignore", invalid="ignore"):
        if down.while_down:
            factor = mtbf * np.exp(np.add(down.down_s, saved.write_s) / mtbf)
        else:
            factor = (mtbf + down.down_s) * np.exp(np.asarray(saved.write_s) / mtbf)
        spent = factor * np.expm1(cycle / mtbf)
    spent = np.where(does_end(work_s, spent), spent, np.inf)
    return np.where(np.isfinite(mtbf), spent, cycle)


def does_end(work_s: FloatArray | float, spent_s: FloatArray) -> BoolArray:
    """(n,) whether so much work is ever done in seconds that may be infinite, or no number."""
    return np.asarray(spent_s * LEAST <= work_s)


def shares(work_s: FloatArray | float, down: Interruptions, saved: Checkpointing) -> Shares:
    """Where the time of a cycle goes in the mean.

    Failures come at the rate 1 / M of all time, or of the time that the job is up. A try to come
    back lasts M (1 - exp(-(D + R) / M)) in the mean if failures strike during it, else D + R.
    """
    spent = wall_time_s(work_s, down, saved)
    mtbf = np.asarray(down.mtbf_s, dtype=np.float64)
    if down.while_down:
        rate, idle = 1.0 / mtbf, -np.expm1(-down.down_s / mtbf)
        up = np.exp(-down.down_s / mtbf)
    else:
        rate = 1.0 / (mtbf + down.down_s)
        idle, up = rate * down.down_s, np.where(np.isinf(mtbf), 1.0, rate * mtbf)
    with np.errstate(invalid="ignore"):
        work = np.where(np.isfinite(spent), np.divide(work_s, spent), 0.0)
    stalls = np.where(np.isfinite(spent), np.divide(saved.stall_s, spent), 0.0)
    never = np.isinf(np.add(work_s, 0.0)) & np.isinf(mtbf)
    work, stalls = np.where(never, 1.0, work), np.where(never, 0.0, stalls)
    lost = np.maximum(1.0 - work - stalls - idle, 0.0)
    with np.errstate(invalid="ignore"):  # 1 + lost / work, which loses digits where work is little
        times = np.divide(spent * up - saved.stall_s, work_s)
    return Shares(
        work=work, stalls=stalls, down=idle + np.zeros_like(work), lost=lost,
        times=np.where(never, 1.0, times),
        failures_per_s=rate + np.zeros_like(work),
    )  # fmt: skip
