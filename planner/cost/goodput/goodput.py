"""Goodput: the share of a run's wall time that is work that counts, and where the rest goes.

    goodput = (1 - s) (1 - w) T / E        s: loss by stragglers, w: waiting for spares

T / E is that of `segments` with the best whole number of steps between two checkpoints, a step
lasting t / (1 - s) with stragglers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.goodput.segments import (
    Checkpointing,
    Interruptions,
    best_steps,
    free_work_s,
    shares,
)
from planner.cost.goodput.spares import waiting

_HALVINGS = 60
_MOST_THETA_S = 1e18


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How a run is kept going.

    Attributes:
        detection_s, restart_s: As of `segments.Interruptions`.
        spares: Nodes that wait; None: enough of them.
        straggler_loss: Share of a step's time that is lost to slow chips, which the step time of
            the plan does not have.
        node_share: Share of the failures that pull a node.
        repair_s: Until such a node is a spare again.
        while_down: Whether failures strike during detection and restart.
    """

    detection_s: float
    restart_s: float
    spares: int | None
    straggler_loss: float
    node_share: float
    repair_s: float
    while_down: bool = True

    def pulled(self, theta_s: FloatArray | float, chips: FloatArray | float) -> FloatArray:
        """Mean number of nodes under repair, with enough spares."""
        return np.divide(self.node_share * self.repair_s * np.asarray(chips), theta_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The work of plans; each (n,) or a number.

    Attributes:
        chips: Of the job.
        step_time_s: Of the plan.
        steps: Of the whole run.
        saved: What a checkpoint costs.
    """

    chips: FloatArray | float
    step_time_s: FloatArray | float
    steps: FloatArray | float
    saved: Checkpointing


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What of the goodput of plans does not depend on their steps; (n,) or numbers.

    Attributes:
        mtbf_s: Mean time between failures of the job.
        free_work_s: Of `segments`.
        waits: Share of the time in which it waits for spares.
    """

    mtbf_s: FloatArray
    free_work_s: FloatArray
    waits: FloatArray

    @staticmethod
    def of(mtbf_s: FloatArray | float, saved: Checkpointing, upkeep: Upkeep) -> Known:
        """Of jobs that fail so often, with their checkpoints."""
        mtbf = np.asarray(mtbf_s, dtype=np.float64)
        waits = np.zeros_like(mtbf)
        if upkeep.spares is not None:
            waits = waiting(upkeep.pulled(mtbf, 1), upkeep.spares)
        return Known(mtbf_s=mtbf, free_work_s=free_work_s(mtbf, saved.stall_s), waits=waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """(n,) where the wall time goes; the shares sum to 1.

    Attributes:
        work: Work that counts: goodput.
        times: How often work is done in the mean: once, and again where it is lost.
        stragglers, stalls, down, lost, waits: Slow chips, checkpoints, detection and restart, work
            and checkpoints that were lost, waiting for a spare.
        steps_between: Steps between two checkpoints.
        failures_per_s: Mean failures per second of wall time.
    """

    work: FloatArray
    times: FloatArray
    stragglers: FloatArray
    stalls: FloatArray
    down: FloatArray
    lost: FloatArray
    waits: FloatArray
    steps_between: FloatArray
    failures_per_s: FloatArray


def goodput(
    theta_s: FloatArray | float, pace: Pace, upkeep: Upkeep, known: Known | None = None
) -> Goodput:
    """Where the time of runs goes with their best checkpoint interval.

    Args:
        theta_s: (n,) or a number: chip-seconds per failure.
        pace: The plans.
        upkeep: How the run is kept going.
        known: What of it does not depend on the steps, where that was made before.
    """
    known = known or Known.of(np.divide(theta_s, pace.chips), pace.saved, upkeep)
    down = Interruptions(
        mtbf_s=known.mtbf_s,
        detection_s=upkeep.detection_s,
        restart_s=upkeep.restart_s,
        while_down=upkeep.while_down,
    )
    step = np.divide(pace.step_time_s, 1.0 - upkeep.straggler_loss)
    best = np.maximum(known.free_work_s, pace.saved.write_s)
    between = np.minimum(best_steps(step, down, pace.saved, best), np.maximum(pace.steps, 1.0))
    spent = shares(between * step, down, pace.saved)
    works = 1.0 - known.waits
    return Goodput(
        times=spent.times,
        work=works * spent.work * (1.0 - upkeep.straggler_loss),
        stragglers=works * spent.work * upkeep.straggler_loss,
        stalls=works * spent.stalls,
        down=works * spent.down,
        lost=works * spent.lost,
        waits=known.waits + np.zeros_like(spent.work),
        steps_between=between,
        failures_per_s=works * spent.failures_per_s,
    )


def break_even_s(least: float, pace: Pace, upkeep: Upkeep) -> float | None:
    """Chip-seconds per failure below which goodput falls below `least`, of one plan.

    None where stragglers alone take it below. Goodput grows with theta: bisection of its logarithm.
    """
    if not float(goodput(_MOST_THETA_S, pace, upkeep).work) >= least:
        return None
    low, high = 0.0, np.log(_MOST_THETA_S)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = float(goodput(float(np.exp(middle)), pace, upkeep).work) >= least
        low, high = (low, middle) if enough else (middle, high)
    return float(np.exp(high))


def chips_at(share: float, theta_s: float, pace: Pace, upkeep: Upkeep) -> float:
    """Chips at which the goodput of one plan falls to a share, by failures alone.

    Step, stall and write are those of the plan; enough spares, no stragglers.
    """
    ample = replace(upkeep, spares=None, straggler_loss=0.0)
    low, high = 0.0, float(np.log(_MOST_THETA_S))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        at = replace(pace, chips=float(np.exp(middle)))
        enough = float(goodput(theta_s, at, ample).work) >= share
        low, high = (middle, high) if enough else (low, middle)
    return float(np.exp(low))
