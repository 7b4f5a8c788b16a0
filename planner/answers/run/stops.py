"""The stop between two phases of a run: a last checkpoint, and the restart with another plan.

The job waits until the store has the checkpoint. Where it does not load into the next plan as it
is, the store gives it out and takes it in again in another form, as `planner.answers.run.outage`
counts it. Chips, hosts and network draw what they draw while they wait: those of the larger phase.
"""

from __future__ import annotations

from planner.answers.run.phased import Passage, Phase
from planner.answers.run.training import priced
from planner.base.units import DAY_S
from planner.cost.energy.energy import standing_w
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.cost.memory.state import trained_bytes
from planner.question.resolved import resolve
from planner.question.run.running import pace_of, store_of, upkeep_of
from planner.results.parts import TrainingRun


def stop_between(before: Phase, after: Phase, passage: Passage) -> TrainingRun | None:
    """The time, energy and money of a stop; None: the next phase keeps the plan, and goes on.

    Args:
        before, after: Phases that have a plan.
        passage: Whether the checkpoint of the first loads into the plan of the next.
    """
    if after.same or before.best is None or after.best is None:
        return None
    seconds = _saved_s(before, passage) + upkeep_of(after.request).restart_s
    larger = max(before, after, key=lambda phase: phase.best.chips if phase.best else 0)
    best = larger.best or after.best
    model = resolve(larger.request, chips=best.chips).cost
    joules = seconds * best.chips * standing_w(model, best.chips)
    days = seconds / DAY_S
    stop = TrainingRun(
        tokens=0.0, steps=0.0, days=days, days_low=days, days_high=days, ideal_days=days,
        energy_mwh=None, facility_energy_mwh=None, cost=None, electricity_cost=None, co2_t=None,
    )  # fmt: skip
    return priced(stop, larger.request, best, seconds, joules)


def _saved_s(phase: Phase, passage: Passage) -> float:
    """Until the store has the last checkpoint of a phase, in the form that loads."""
    best = phase.best
    assert best is not None
    model = resolve(phase.request, chips=best.chips).cost
    copied = float(trained_bytes(model.job, best.memory_bytes))
    saved = pace_of(phase.request, model, best.chips, best.step_time_s, copied).saved
    once_s = checkpoint_bytes(model.job) / float(store_of(phase.request, best.chips))
    converted_s = 0.0 if passage.loads else 2.0 * once_s
    return float(saved.stall_s) + float(saved.write_s) + converted_s
