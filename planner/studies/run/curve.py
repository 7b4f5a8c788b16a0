"""Goodput over chips, with the band of a site not seen and what was published: for pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.units import HOUR_S, plain
from planner.cost.goodput.goodput import Goodput
from planner.cost.goodput.rates import Rate, rate_of_unseen_site
from planner.evidence.goodput.said import Said, runs_said

_FEWEST, _MOST, _POINTS = 64, 131_072, 49


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """(n,) goodput over chips.

    Attributes:
        chips: Ascending.
        share: At the failure rate that is asked about.
        low, high: At the ends of its 80 % interval.
        unseen_low, unseen_high: At those of a site not seen.
        rate: The failure rate and what it rests on, in words.
        published: Runs that say their effective time, as they measured it.
    """

    chips: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    unseen_low: FloatArray
    unseen_high: FloatArray
    rate: str
    published: tuple[Said, ...]


def curve_of(goodput: Callable[[int, float], Goodput], rate: Rate, chips: tuple[int, ...]) -> Curve:
    """The curve of a run.

    Args:
        goodput: Of so many chips, at so many chip-seconds per failure.
        rate: How often its chips fail.
        chips: Numbers that the curve has at least.
    """
    ends = (min(_FEWEST, chips[0]), max(_MOST, chips[-1]))
    between = np.geomspace(*ends, _POINTS).round().astype(int).tolist()
    counts = sorted({*between, *chips})
    unseen = rate_of_unseen_site()

    def at(theta_s: float) -> FloatArray:
        return np.array([float(goodput(count, theta_s).work) for count in counts])

    return Curve(
        chips=np.array(counts, dtype=np.float64),
        share=at(rate.theta_s),
        low=at(rate.low_s),
        high=at(rate.high_s),
        unseen_low=at(unseen.low_s),
        unseen_high=at(unseen.high_s),
        rate=f"{plain(rate.theta_s / HOUR_S)} chip-hours per failure, {rate.words}",
        published=tuple(
            said for said in runs_said() if said.shown is not None and not said.projected
        ),
    )
