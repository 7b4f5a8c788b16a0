"""A run on any number of chips: how it is kept going, how often it fails, what it saves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from frozen_records import dataclass
from planner.cost.goodput.goodput import Goodput, Pace, Upkeep, goodput
from planner.cost.goodput.rates import Rate, known, rate_of_unseen_site
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.goodput.gaps import Gaps, empirical, exponential, weibull
from planner.evidence.goodput.simulation import Run
from planner.question.kinds.running import rate_given, rate_of, upkeep_of
from planner.question.resolved import Resolved
from planner.results.parts import RunGoodput
from planner.results.plan import PlanResult
from planner.studies.run.question import Law, Question

_LEAST = 0.05
"""Goodput below which runs are not simulated: they would hardly ever end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A run on any number of chips.

    Attributes:
        upkeep: How it is kept going.
        rate: How often its chips fail.
        step_time_s: Checkpoints come after whole steps.
        saved: What a checkpoint costs a job on so many chips.
    """

    upkeep: Upkeep
    rate: Rate
    step_time_s: float
    saved: Callable[[int], Checkpointing]

    def pace(self, chips: int) -> Pace:
        """Its work on so many chips."""
        return Pace(
            chips=chips, step_time_s=self.step_time_s, steps=math.inf, saved=self.saved(chips)
        )

    def goodput(self, chips: int, theta_s: float | None = None) -> Goodput:
        """Where its time goes, at its own failure rate or at another one."""
        return goodput(theta_s or self.rate.theta_s, self.pace(chips), self.upkeep)

    def every_s(self, chips: int) -> float:
        """Seconds of work between two checkpoints, slow chips included."""
        slow = self.step_time_s / (1.0 - self.upkeep.straggler_loss)
        return float(self.goodput(chips).steps_between) * slow

    def run(self, chips: int, law: Law, failures: int) -> Run:
        """The run as it is simulated; the work of so many failures if it never failed."""
        mtbf, saved, upkeep = self.rate.theta_s / chips, self.saved(chips), self.upkeep
        work = self.every_s(chips)
        return Run(
            total_s=max(1.0, round(failures * mtbf / work)) * work,
            work_s=work,
            stall_s=float(saved.stall_s),
            write_s=float(saved.write_s),
            down_s=upkeep.detection_s + upkeep.restart_s,
            gaps=_gaps(law, mtbf),
            while_down=upkeep.while_down,
            spares=upkeep.spares,
            broken_share=upkeep.node_share,
            repair_s=upkeep.repair_s,
        )

    def ends(self, chips: int, law: Law) -> bool:
        """Whether its simulated runs end before long.

        Of a list some gap has to be long enough for a checkpoint to become whole.
        """
        if float(self.goodput(chips).work) < _LEAST:
            return False
        run = self.run(chips, law, 1)
        needed = run.work_s + run.stall_s + run.write_s + run.down_s
        return not law.gaps_s or max(law.gaps_s) > needed


def _gaps(law: Law, mean_s: float) -> Gaps:
    if law.gaps_s:
        return empirical(law.gaps_s)
    return exponential(mean_s) if law.shape == 1.0 else weibull(mean_s, law.shape)


def kept_of(question: Question) -> Kept:
    """The run that is asked about."""
    upkeep = replace(upkeep_of(question.kept), while_down=question.while_down)
    law, chips = question.law, question.chips[0]
    if law is not None and law.gaps_s:
        mean = math.fsum(law.gaps_s) / len(law.gaps_s)
        rate = Rate.exact(mean * chips, f"that of the {law.words}")
    else:
        rate = rate_given(question.kept, chips) or rate_of_unseen_site()
    return Kept(
        upkeep=upkeep,
        rate=rate,
        step_time_s=question.step_time_s,
        saved=lambda chips: _saved(question, chips),
    )


def _saved(question: Question, chips: int) -> Checkpointing:
    """A checkpoint as given, or its bytes over what the store takes in."""
    if question.checkpoint_bytes is None:
        return Checkpointing(stall_s=question.stall_s or 0.0, write_s=0.0)
    store = question.kept.checkpoint_store
    if store is None:
        store = known().quantities["usual.store_per_chip"].number * chips
    write = question.checkpoint_bytes / store
    if question.is_blocking:
        return Checkpointing(stall_s=write, write_s=0.0)
    return Checkpointing(stall_s=question.stall_s or 0.0, write_s=write)


def kept_of_plan(resolved: Resolved, plan: PlanResult, found: RunGoodput) -> Kept | None:
    """The run of a plan; on other numbers of chips with its step and its checkpoint.

    None where nobody published how often its chips fail.
    """
    rate = rate_of(resolved.request, resolved.cost, plan.chips)
    if rate is None:
        return None
    saved = Checkpointing(stall_s=found.checkpoint_stall_s, write_s=found.checkpoint_write_s)
    return Kept(
        upkeep=upkeep_of(resolved.request),
        rate=rate,
        step_time_s=plan.step_time_s,
        saved=lambda _: saved,
    )
