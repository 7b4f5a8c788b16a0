"""Published runs: step time, effective time and chip-hours as they say, and as predicted.

What a run states is put in, the rest is predicted: the step time by the cost model, as `planner
validate` predicts it, without a factor of the installation; goodput from how often the run failed,
with detection and restart as usual, unless it says how long they take. Where a run says its
effective time but not how often it failed, the row has the rate that gives it; where it says both,
how long an interruption must have taken.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from frozen_records import dataclass
from planner.base.bisection import turn
from planner.base.units import HOUR_S
from planner.cost.evaluate import evaluate_table
from planner.cost.goodput.goodput import Pace, Upkeep, break_even_s, goodput, usual_upkeep
from planner.cost.goodput.rates import rate_of_site
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.csvfile import published as rows_of
from planner.evidence.goodput.said import Said, runs_said
from planner.evidence.runs.rows import run_of
from planner.evidence.validation.predicting import Constants
from planner.plan import PlanTable

_LONGEST_S = 30 * 24 * HOUR_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A run as it says and as predicted; None: it does not say, or nothing can be predicted.

    Attributes:
        run: Its name.
        chips: Of the job.
        step_s, step_predicted_s: Step time.
        published: What it says of its effective time, in words; empty: nothing.
        share: The same as a number; None of a bound.
        predicted: Goodput from how often it failed.
        tokens, chip_hours: Of the whole run.
        hours_if_nothing_failed: Chip-hours of its tokens at the predicted step time.
        closes_the_gap: Chip-hours per failure that give what it says.
        closing_s: Or seconds from a failure until the job works again, at the rate that it says.
        missing: What it does not say, or what is put in.
        source: Address.
    """

    run: str
    chips: int
    step_s: float | None
    step_predicted_s: float | None
    published: str
    share: float | None
    predicted: float | None
    tokens: float | None
    chip_hours: float | None
    hours_if_nothing_failed: float | None
    closes_the_gap: float | None
    closing_s: float | None
    missing: str
    source: str

    @property
    def step_error(self) -> float | None:
        """Predicted step time over that of the run, minus one."""
        return _over(self.step_predicted_s, self.step_s)

    @property
    def share_error(self) -> float | None:
        """Predicted goodput less that of the run."""
        if self.predicted is None or self.share is None:
            return None
        return self.predicted - self.share

    @property
    def hours_predicted(self) -> float | None:
        """Chip-hours with failures."""
        if self.hours_if_nothing_failed is None or self.predicted is None:
            return None
        return self.hours_if_nothing_failed / self.predicted

    @property
    def hours_errors(self) -> tuple[float | None, float | None]:
        """Predicted chip-hours over those of the run, minus one: if nothing failed, and as said."""
        ideal, real = self.hours_if_nothing_failed, self.hours_predicted
        return _over(ideal, self.chip_hours), _over(real, self.chip_hours)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready fields, with what is off by how much."""
        ideal, real = self.hours_errors
        return {
            **asdict(self),
            "step_error": self.step_error,
            "share_error": self.share_error,
            "hours_predicted": self.hours_predicted,
            "hours_error_if_nothing_failed": ideal,
            "hours_error": real,
        }


def _over(predicted: float | None, said: float | None) -> float | None:
    return None if predicted is None or said is None else predicted / said - 1.0


def published_rows() -> tuple[Published, ...]:
    """The published runs; a stall of their checkpoints counts where they say it."""
    return tuple(_published(said) for said in runs_said())


def _published(said: Said) -> Published:
    pace, predicted, step = _pace(said), None, _step_s(said)
    if said.site:
        predicted = float(goodput(rate_of_site(said.site).theta_s, pace, _upkeep(said)).work)
    theta, down = _closing(said, pace)
    return Published(
        run=said.run,
        chips=said.chips,
        step_s=said.step_s,
        step_predicted_s=step,
        published=said.published,
        share=said.share,
        predicted=predicted,
        tokens=said.tokens,
        chip_hours=said.chip_hours,
        hours_if_nothing_failed=_hours(said, step),
        closes_the_gap=None if theta is None else theta / HOUR_S,
        closing_s=down,
        missing=said.missing,
        source=said.source,
    )


def _upkeep(said: Said) -> Upkeep:
    """How it is kept going, as it says or as usual."""
    if said.down_s is None:
        return usual_upkeep()
    return replace(usual_upkeep(), detection_s=0.0, restart_s=said.down_s)


def _pace(said: Said) -> Pace:
    """One step a checkpoint where it says how often it saves, else the best interval."""
    saved = Checkpointing(stall_s=said.stall_s, write_s=said.write_s)
    most = 1.0 if said.every_s else math.inf
    return Pace(chips=said.chips, step_time_s=said.every_s or 1.0, steps=most, saved=saved)


def _step_s(said: Said) -> float | None:
    """Predicted from a row of the published runs."""
    if not said.row:
        return None
    (cells,) = (row for row in rows_of("runs") if row["id"] == said.row)
    run = run_of({**cells, **dict(said.also)})
    plans = PlanTable.from_plans([run.plan])
    return float(evaluate_table(Constants.of().model(run), plans).step_time_s[0])


def _hours(said: Said, step_s: float | None) -> float | None:
    if step_s is None or said.tokens is None:
        return None
    return said.tokens / said.batch_tokens * step_s * said.chips / HOUR_S


def _closing(said: Said, pace: Pace) -> tuple[float | None, float | None]:
    """Chip-seconds per failure, or seconds down at the rate that is known, that give its share."""
    if said.share is None:
        return None, None
    theta = _theta_s(said)
    if theta is None:
        return break_even_s(said.share, pace, usual_upkeep()), None
    upkeep, share = replace(usual_upkeep(), detection_s=0.0), said.share

    def too_long(down_s: float) -> bool:
        return not float(goodput(theta, pace, replace(upkeep, restart_s=down_s)).work) >= share

    return None, turn(too_long, 0.0, _LONGEST_S)[0]


def _theta_s(said: Said) -> float | None:
    """How often it failed: as it says, or as another one of the same job."""
    if said.site:
        return rate_of_site(said.site).theta_s
    if not said.as_often_as:
        return None
    (other,) = (one for one in runs_said() if one.key == said.as_often_as)
    return _closing(other, _pace(other))[0]
