"""How others score on the same runs: simple rules, computed, and published tools, cited.

The rules are what a table of peak rates allows: every step takes model FLOP over peak FLOP times
one constant, fitted to the fit split of a source (all rows where it has no split), with or
without the bubble of a 1F1B pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.evidence.validation.predicting import Predictions
from planner.evidence.validation.scores import (
    Choice,
    choice_groups,
    choice_of,
    errors_of,
    is_fit,
    of_sources,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """How another way of predicting scores on the runs of a source.

    Attributes:
        source: Name of the runs.
        predictor: Which rule or tool.
        mean, median: Absolute error; None: not stated.
        spearman, regret_1: Of the choice of plans; None: not stated.
        origin: Where the figures come from.
    """

    source: str
    predictor: str
    mean: float
    median: float | None
    spearman: float | None
    regret_1: float | None
    origin: str


LEAST_ROWS = 10  # a constant fitted to fewer runs says little
_COMPUTED = "fitted to the fit split of the source"
_CAMPAIGN = "whole campaign, of which these rows are a part"
# vTrain: Bang et al., MICRO 2024. calculon: Isaev et al., SC 2023, commit caa4b11, run with its
# own A100 file on the same measurements; nobody fitted it to them.
CITED = (
    Peer(
        source="vtrain-multi",
        predictor="calculon",
        mean=0.153,
        median=0.097,
        spearman=(0.97 + 0.67 + 0.43 + 0.86) / 4,
        regret_1=(0.0 + 0.045 + 0.0 + 0.006) / 4,
        origin=f"its commit caa4b11 and A100 file; {_CAMPAIGN}",
    ),
    Peer(
        source="vtrain-multi",
        predictor="vTrain",
        mean=0.1473,
        median=None,
        spearman=None,
        regret_1=None,
        origin=f"published (Bang et al., MICRO 2024); {_CAMPAIGN}",
    ),
    Peer(
        source="vtrain-single",
        predictor="calculon",
        mean=0.3895,
        median=None,
        spearman=None,
        regret_1=None,
        origin=f"its commit caa4b11 and A100 file; {_CAMPAIGN}",
    ),
    Peer(
        source="vtrain-single",
        predictor="vTrain",
        mean=0.0837,
        median=None,
        spearman=None,
        regret_1=None,
        origin=f"published (Bang et al., MICRO 2024); {_CAMPAIGN}",
    ),
)


def constant_mfu_s(p: Predictions, among: BoolArray, *, bubble: bool) -> FloatArray:
    """(n,) step times if all runs of a source had one MFU, apart from the pipeline's bubble.

        t = model FLOP / (chips x peak x c) x (1 + (pp - 1) / (v m))

    with the c that has the least mean absolute error on the fit split. The bubble is that of
    Narayanan et al., SC 2021, section 2.2.1.

    Args:
        p: n runs.
        among: (n,) the runs of the source.
        bubble: Whether the last factor is taken.
    """
    ideal_s = p.mfu * p.step_time_s * ((1 + p.bubble_share) if bubble else 1.0)
    fitted = among & is_fit(p)
    rows = fitted if fitted.any() else among
    return np.asarray(ideal_s / _best_constant(ideal_s[rows] / p.measured_s[rows]))


def _best_constant(ratio: FloatArray) -> float:
    """The c with the least sum of |x / c - 1| over (n,) ratios x: their median, weighted by x."""
    order = np.argsort(ratio)
    weight = np.cumsum(ratio[order])
    return float(ratio[order][np.searchsorted(weight, weight[-1] / 2)])


def computed_peers(p: Predictions, name: str) -> list[Peer]:
    """The simple rules on the runs of a source."""
    among = of_sources(p, [name])
    groups = choice_groups(p, among)
    peers = []
    for predictor, bubble in (("one MFU", False), ("one MFU and the bubble", True)):
        seconds = constant_mfu_s(p, among, bubble=bubble)
        errors = errors_of(seconds[among], p.measured_s[among])
        choice: Choice | None = choice_of(_rounded(seconds, among), p.measured_s, groups)
        if errors is not None:
            peers.append(
                Peer(
                    source=name,
                    predictor=predictor,
                    mean=errors.mean,
                    median=errors.median,
                    spearman=choice.spearman if choice else None,
                    regret_1=choice.regret_1 if choice else None,
                    origin=_COMPUTED,
                )
            )
    return peers


def _rounded(seconds: FloatArray, among: BoolArray) -> FloatArray:
    """Times, of which those of some rows that differ by rounding only are ties."""
    result = seconds.copy()
    result[among] = [float(f"{second:.9g}") for second in seconds[among]]
    return result


def peers_of(p: Predictions, names: Sequence[str], *, cited: bool) -> list[Peer]:
    """The rules for sources of ten runs or more, and the tools cited for them."""
    tools = CITED if cited else ()
    return [
        peer
        for name in names
        if int(of_sources(p, [name]).sum()) >= LEAST_ROWS
        for peer in (*computed_peers(p, name), *(row for row in tools if row.source == name))
    ]
