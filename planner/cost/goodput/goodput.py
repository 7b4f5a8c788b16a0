"""Goodput: the share of a run's wall time that is work that counts, and where the rest goes.

    goodput = (1 - m) (1 - s) (1 - w) T / E    m: planned maintenance, s: loss by stragglers,
                                               w: waiting for spares

T / E is that of `segments`, or of `peers` where copies are kept there, with the best whole number
of steps between two checkpoints, a step lasting t / (1 - s) with stragglers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.bisection import turn
from planner.cost.goodput.peers import PeerCopies, Rhythm, best_rhythm
from planner.cost.goodput.rates import known as published
from planner.cost.goodput.segments import (
    Checkpointing,
    Interruptions,
    best_steps,
    free_work_s,
    shares,
)
from planner.cost.goodput.spares import waiting

PARTS = ("stalls", "down", "lost", "stragglers", "waits", "smaller", "maintenance")
"""What takes time that does not count, as `Goodput` has it: with `work` all of it."""
_MOST_THETA_S = 1e18


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How a run is kept going.

    Attributes:
        detection_s, restart_s: As of `segments.Interruptions`.
        spares: Nodes that wait; None: enough of them.
        straggler_loss: Share of a step's time that is lost to slow chips, which the step time of
            the plan does not have.
        node_share: Share of the failures that pull a node, or the nodes of a failure domain.
        repair_s: Until these are spares again.
        domain_nodes: Nodes of a failure domain: spares take its place together.
        maintenance: Share of the wall time in which the machine is not there, as planned.
        while_down: Whether failures strike during detection and restart.
    """

    detection_s: float
    restart_s: float
    spares: int | None
    straggler_loss: float
    node_share: float
    repair_s: float
    domain_nodes: int = 1
    maintenance: float = 0.0
    while_down: bool = True

    @property
    def share_unfailing(self) -> float:
        """Share of the time that counts where nothing fails."""
        return (1.0 - self.straggler_loss) * (1.0 - self.maintenance)

    def between_s(self, mtbf_s: FloatArray | float) -> FloatArray:
        """Mean seconds of wall time from one failure to the next of jobs that wait for nothing."""
        down = 0.0 if self.while_down else self.detection_s + self.restart_s
        return np.add(mtbf_s, down)

    def pulled(self, theta_s: FloatArray | float, chips: FloatArray | float) -> FloatArray:
        """Mean number of failure domains under repair, with enough spares."""
        between = self.between_s(np.divide(theta_s, np.asarray(chips)))
        return np.divide(self.node_share * self.repair_s, between)

    def waits(self, theta_s: FloatArray | float, chips: FloatArray | float) -> FloatArray:
        """Share of the time in which jobs wait for spares."""
        pulled = self.pulled(theta_s, chips)
        if self.spares is None:
            return np.zeros_like(pulled)
        return waiting(pulled, self.spares // self.domain_nodes)

    def interruptions(self, mtbf_s: FloatArray | float) -> Interruptions:
        """What interrupts jobs that fail so often."""
        return Interruptions(
            mtbf_s=mtbf_s,
            detection_s=self.detection_s,
            restart_s=self.restart_s,
            while_down=self.while_down,
        )


def usual_upkeep() -> Upkeep:
    """How a run is kept going where nobody says; `hardware_db/data/reference/failures.yaml`."""
    detection, restart, share, repair = (
        published().quantities[f"usual.{name}"].number
        for name in ("detection", "restart", "node_share", "repair")
    )
    return Upkeep(
        detection_s=detection, restart_s=restart, spares=None, straggler_loss=0.0,
        node_share=share, repair_s=repair,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The work of plans; each (n,) or a number.

    Attributes:
        chips: Of the job.
        step_time_s: Of the plan.
        steps: Of the whole run.
        saved: What a checkpoint costs; with `peers` one in the store.
        peers: Copies in the memory of peers; None: there are none.
    """

    chips: FloatArray | float
    step_time_s: FloatArray | float
    steps: FloatArray | float
    saved: Checkpointing
    peers: PeerCopies | None = None


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
    def of(mtbf_s: FloatArray, saved: Checkpointing, waits: FloatArray) -> Known:
        """Of jobs that fail so often, with their checkpoints and waits."""
        return Known(mtbf_s=mtbf_s, free_work_s=free_work_s(mtbf_s, saved.stall_s), waits=waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """(n,) where the wall time goes; the shares sum to 1.

    Attributes:
        work: Work that counts: goodput.
        stragglers, stalls, down, lost, waits: Slow chips, checkpoints, detection and restart, work
            and checkpoints that were lost, waiting for a spare.
        smaller, maintenance: What running on fewer chips takes longer, planned maintenance.
        steps_between: Steps between two checkpoints, or copies to a peer.
        store_every: How many of these the store takes one of.
        failures_per_s: Mean failures per second of wall time.
        times: How often work is done in the mean: once, and again where it is lost; None: as the
            shares say, which lose digits where work is little.
    """

    work: FloatArray
    stragglers: FloatArray
    stalls: FloatArray
    down: FloatArray
    lost: FloatArray
    waits: FloatArray
    smaller: FloatArray
    maintenance: FloatArray
    steps_between: FloatArray
    store_every: FloatArray
    failures_per_s: FloatArray
    times: FloatArray | None = None

    def parts(self, *left_out: str) -> dict[str, float]:
        """What takes the time of one plan that does not count, by name, some names left out."""
        return {name: float(getattr(self, name)) for name in PARTS if name not in left_out}


def goodput(
    theta_s: FloatArray | float, pace: Pace, upkeep: Upkeep, known: Known | None = None
) -> Goodput:
    """Where the time of runs goes with their best checkpoint interval.

    Args:
        theta_s: (n,) or a number: chip-seconds per failure.
        pace: The plans.
        upkeep: How the run is kept going.
        known: What of it does not depend on steps, where that was made before; then `theta_s` is
            not read.
    """
    if known is None:
        mtbf = np.asarray(np.divide(theta_s, pace.chips))
        known = Known.of(mtbf, pace.saved, upkeep.waits(theta_s, pace.chips))
    rhythm = _rhythm(known, pace, upkeep)
    spent, waits = rhythm.shares, known.waits
    there = 1.0 - upkeep.maintenance
    works, none = there * (1.0 - waits), np.zeros_like(spent.work)
    return Goodput(
        work=works * spent.work * (1.0 - upkeep.straggler_loss),
        stragglers=works * spent.work * upkeep.straggler_loss,
        stalls=works * spent.stalls,
        down=works * spent.down,
        lost=works * spent.lost,
        waits=there * waits + none,
        smaller=none,
        maintenance=upkeep.maintenance + none,
        steps_between=rhythm.steps,
        store_every=rhythm.copies,
        failures_per_s=works * spent.failures_per_s,
        times=spent.times,
    )


def _rhythm(known: Known, pace: Pace, upkeep: Upkeep) -> Rhythm:
    """How often plans save, and where the time goes of a machine that is there."""
    down = upkeep.interruptions(known.mtbf_s)
    step = np.divide(pace.step_time_s, 1.0 - upkeep.straggler_loss)
    if pace.peers is not None:
        return best_rhythm(step, down, pace.saved, pace.peers, pace.steps)
    best = np.maximum(known.free_work_s, pace.saved.write_s)
    between = np.minimum(best_steps(step, down, pace.saved, best), np.maximum(pace.steps, 1.0))
    spent = shares(between * step, down, pace.saved)
    return Rhythm(steps=between, copies=np.ones_like(between), shares=spent)


def break_even_s(least: float, pace: Pace, upkeep: Upkeep) -> float | None:
    """Chip-seconds per failure below which goodput falls below `least`, of one plan.

    None where stragglers alone take it below. Goodput grows with theta: bisection of its logarithm.
    """
    if not float(goodput(_MOST_THETA_S, pace, upkeep).work) >= least:
        return None

    def enough(log_theta: float) -> bool:
        return float(goodput(float(np.exp(log_theta)), pace, upkeep).work) >= least

    return float(np.exp(turn(enough, 0.0, np.log(_MOST_THETA_S))[1]))


def chips_at(share: float, theta_s: float, pace: Pace, upkeep: Upkeep) -> float:
    """Chips at which the goodput of one plan falls to a share, by failures alone.

    Step, stall and write are those of the plan; enough spares, no stragglers.
    """
    ample = replace(upkeep, spares=None, straggler_loss=0.0, maintenance=0.0)

    def too_many(log_chips: float) -> bool:
        at = replace(pace, chips=float(np.exp(log_chips)))
        return not float(goodput(theta_s, at, ample).work) >= share

    return float(np.exp(turn(too_many, 0.0, float(np.log(_MOST_THETA_S)))[0]))
