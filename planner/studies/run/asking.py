"""Goodput of a run on each number of chips, by the closed form and simulated."""

from __future__ import annotations

from typing import Any

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.progress import Progress
from planner.base.units import HOUR_S
from planner.cost.goodput.goodput import chips_at
from planner.cost.goodput.spares import spares_for
from planner.evidence.goodput.simulation import FAILURES, FAILURES_WITH_REPAIRS, goodput_of
from planner.studies.run.answer import RunResult, RunRow
from planner.studies.run.kept import Kept, kept_of
from planner.studies.run.question import FIELDS, Law, Question, question_of

HALF = 0.5


def goodput(*, on_progress: Progress | None = None, **asked: Any) -> RunResult:
    """How much of a run's time counts on so many chips, without a plan.

    `planner.goodput(chips=[512, 16384], stall="5s")` answers as `planner goodput` does with the
    same flags.

    Args:
        on_progress: Called with (what, done, of) while runs are simulated.
        **asked: Flags of the command with `_` for `-`: `chips` or `nodes`, `stall`,
            `checkpoint_bytes`, `step_time`, `simulate`, `runs`; and how the run is kept going.

    Returns:
        Goodput with its parts, for each number of chips.

    Raises:
        InputError: The question cannot be asked as it is; one line per mistake.
    """
    if unknown := [name for name in asked if name not in FIELDS]:
        raise InputError("\n".join(f"goodput: {not_one_of(name, FIELDS)}" for name in unknown))
    return goodput_over_chips(question_of(asked), on_progress)


def goodput_over_chips(question: Question, on_progress: Progress | None = None) -> RunResult:
    """The answer to a question, see `planner.studies.run.question.question_of`.

    Args:
        question: What is asked.
        on_progress: Told of simulated runs.
    """
    kept, rows = kept_of(question), []
    for done, chips in enumerate(question.chips):
        if on_progress is not None and question.law is not None:
            on_progress("runs", done, len(question.chips))
        rows.append(_row(kept, question, chips))
    rate, last = kept.rate, question.chips[-1]
    at_half = None
    if rows[-1].share < HALF:
        at_half = chips_at(HALF, rate.theta_s, kept.pace(last), kept.upkeep)
    return RunResult(
        rows=tuple(rows),
        chip_hours_per_failure=rate.theta_s / HOUR_S,
        chip_hours_low=rate.low_s / HOUR_S,
        chip_hours_high=rate.high_s / HOUR_S,
        rate=rate.words,
        detection_s=kept.upkeep.detection_s,
        restart_s=kept.upkeep.restart_s,
        while_down=kept.upkeep.while_down,
        spares=kept.upkeep.spares,
        spares_chance=question.spares_chance,
        straggler_loss=kept.upkeep.straggler_loss,
        law="" if question.law is None else question.law.words,
        runs=0 if question.law is None else question.runs,
        chips_at_half=at_half,
    )


def _row(kept: Kept, question: Question, chips: int) -> RunRow:
    rate, found, saved = kept.rate, kept.goodput(chips), kept.pace(chips).saved
    low, high = (float(kept.goodput(chips, at).work) for at in (rate.low_s, rate.high_s))
    simulated = error = None
    if question.law is not None:
        simulated, error = _simulated(kept, chips, question.law, question.runs)
    return RunRow(
        chips=chips,
        nodes=question.nodes(chips),
        mtbf_s=rate.theta_s / chips,
        share=float(found.work),
        **found.parts("smaller"),
        low=low,
        high=high,
        checkpoint_every_s=kept.every_s(chips),
        checkpoint_stall_s=float(saved.stall_s),
        checkpoint_write_s=float(saved.write_s),
        spares_wanted=spares_for(
            float(kept.upkeep.pulled(rate.theta_s, chips)), question.spares_chance
        ),
        simulated=simulated,
        simulated_error=error,
    )


def _simulated(
    kept: Kept, chips: int, law: Law, runs: int
) -> tuple[float, float] | tuple[None, None]:
    """Goodput of simulated runs with its standard error; slow chips and maintenance take theirs."""
    if not kept.ends(chips, law):
        return None, None
    failures = FAILURES if kept.upkeep.spares is None else FAILURES_WITH_REPAIRS
    mean, error = goodput_of(kept.run(chips, law, failures), failures, runs)
    left = (1.0 - kept.upkeep.straggler_loss) * (1.0 - kept.upkeep.maintenance)
    return mean * left, error * left
