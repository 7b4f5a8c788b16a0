"""A run on any number of chips: how it is kept going, how often it fails, what it saves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from frozen_records import dataclass
from planner.cost.goodput.goodput import Goodput, Pace, Upkeep, goodput
from planner.cost.goodput.rates import Rate, rate_of_unseen_site
from planner.cost.goodput.segments import Checkpointing
from planner.cost.memory.state import trained_bytes
from planner.evidence.goodput.gaps import gaps_of
from planner.evidence.goodput.simulation import Run, run_of
from planner.question.resolved import Resolved
from planner.question.run.running import (
    failure_domain_of,
    pace_of,
    rate_given,
    rate_of,
    store_of,
    upkeep_of,
)
from planner.question.run.upkeep import SHRINK
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
        pace: Its work on so many chips; checkpoints come after whole steps.
    """

    upkeep: Upkeep
    rate: Rate
    pace: Callable[[int], Pace]

    def goodput(self, chips: int, theta_s: float | None = None) -> Goodput:
        """Where its time goes, at its own failure rate or at another one."""
        return goodput(theta_s or self.rate.theta_s, self.pace(chips), self.upkeep)

    def every_s(self, chips: int) -> float:
        """Seconds of work between two checkpoints, slow chips included."""
        slow = float(self.pace(chips).step_time_s) / (1.0 - self.upkeep.straggler_loss)
        return float(self.goodput(chips).steps_between) * slow

    def run(self, chips: int, law: Law, failures: int) -> Run:
        """The run as it is simulated; the work of so many failures if it never failed."""
        mtbf = self.rate.theta_s / chips
        gaps = gaps_of(mtbf, law.shape, law.gaps_s)
        saved = self.pace(chips).saved
        return run_of(self.upkeep, saved, self.every_s(chips), mtbf, gaps, failures)

    def ends(self, chips: int, law: Law) -> bool:
        """Whether it can be simulated, and its runs end before long.

        Of a list some gap has to be long enough for a checkpoint to become whole. Copies in the
        memory of peers are not simulated here.
        """
        if float(self.goodput(chips).work) < _LEAST or self.pace(chips).peers is not None:
            return False
        run = self.run(chips, law, 1)
        needed = run.work_s + run.stall_s + run.write_s + run.down_s
        return not law.gaps_s or max(law.gaps_s) > needed


def kept_of(question: Question) -> Kept:
    """The run that is asked about."""
    law, chips = question.law, question.chips[0]
    if law is not None and law.gaps_s:
        mean = math.fsum(law.gaps_s) / len(law.gaps_s)
        rate = Rate.exact(mean * chips, f"that of the {law.words}")
    else:
        rate = rate_given(question.kept, chips) or rate_of_unseen_site()
    return Kept(
        upkeep=upkeep_of(question.kept), rate=rate, pace=lambda chips: _pace(question, chips)
    )


def _pace(question: Question, chips: int) -> Pace:
    return Pace(
        chips=chips, step_time_s=question.step_time_s, steps=math.inf,
        saved=_saved(question, chips),
    )  # fmt: skip


def _saved(question: Question, chips: int) -> Checkpointing:
    """A checkpoint as given, or its bytes over what the store takes in."""
    if question.checkpoint_bytes is None:
        return Checkpointing(stall_s=question.stall_s or 0.0, write_s=0.0)
    write = question.checkpoint_bytes / store_of(question.kept, chips)
    if question.is_blocking:
        return Checkpointing(stall_s=write, write_s=0.0)
    return Checkpointing(stall_s=question.stall_s or 0.0, write_s=write)


def kept_of_plan(resolved: Resolved, plan: PlanResult) -> Kept | None:
    """The run of a plan; on other numbers of chips with its step and its checkpoint.

    None where nobody published how often its chips fail, or where it shrinks: on other numbers of
    chips it would shrink to other sizes.
    """
    request, model = resolved.request, resolved.cost
    rate = rate_of(request, model, plan.chips)
    if rate is None or request.on_failure == SHRINK:
        return None
    copied = float(trained_bytes(model.job, plan.memory_bytes))
    pace = pace_of(request, model, plan.chips, plan.step_time_s, copied)
    return Kept(
        upkeep=upkeep_of(request, failure_domain_of(request, model, plan.chips)),
        rate=rate,
        pace=lambda chips: replace(pace, chips=chips),
    )
