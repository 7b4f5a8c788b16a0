"""How good predictions are: errors, coverage of intervals, and the choice among plans of a job.

Errors are predicted over measured minus one. Rank correlation and regret are taken over groups of
runs of one job on the same chips with at least three different plans. Regret at k is the measured
time of the best of the k plans that are predicted fastest, over the fastest measured time, minus
one; where predictions tie, it is the mean over all ways to break the tie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.evidence.validation.predicting import Predictions

LEAST_PLANS = 3
_FIT, _TEST = "fit", "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of some predictions, as fractions.

    Attributes:
        rows: How many.
        mean, median, p90: Of the absolute errors (p90: nine of ten are smaller).
        bias: Mean of the signed errors.
        within_10, within_20: Share of rows at most 10 and 20 % off.
        coverage: Share of rows whose measurement lies in the 80 % interval.
    """

    rows: int
    mean: float
    median: float
    p90: float
    bias: float
    within_10: float
    within_20: float
    coverage: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How well plans of one job are told apart.

    Attributes:
        groups, rows: How many groups, and runs in them.
        spearman: Mean rank correlation of predicted and measured times; None: undefined.
        regret_1, regret_1_median, regret_1_most: Mean, median and largest regret of the plan
            that is predicted fastest.
        regret_3: Mean regret of the best of the three predicted fastest.
    """

    groups: int
    rows: int
    spearman: float | None
    regret_1: float
    regret_1_median: float
    regret_1_most: float
    regret_3: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What is reported of one source, or of several together.

    Attributes:
        name: Of the source.
        rows, gold, test: Rows, those without known faults, those of the test split.
        time, time_test: Step times without site factors: all rows, and the test split.
        site_time, site_time_test: The same with site factors.
        site_factors: Smallest and largest that its runs have.
        choice, site_choice: Choice of plans; None where no group is large enough.
        memory, power: Bytes and watts per chip where published.
    """

    name: str
    rows: int
    gold: int
    test: int
    time: Errors
    time_test: Errors | None
    site_time: Errors
    site_time_test: Errors | None
    site_factors: tuple[float, float]
    choice: Choice | None
    site_choice: Choice | None
    memory: Errors | None
    power: Errors | None


def errors_of(
    predicted: FloatArray,
    measured: FloatArray,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
) -> Errors | None:
    """The errors of n predictions; None for none.

    Args:
        predicted, measured: (n,) in the same unit, positive.
        low, high: (n,) ends of the 80 % interval.
    """
    if len(predicted) == 0:
        return None
    error = predicted / measured - 1
    size = np.abs(error)
    inside = None
    if low is not None and high is not None:
        inside = float(np.mean((low <= measured) & (measured <= high)))
    return Errors(
        rows=len(error),
        mean=float(size.mean()),
        median=float(np.median(size)),
        p90=float(np.quantile(size, 0.9)),
        bias=float(error.mean()),
        within_10=float(np.mean(size <= 0.1)),
        within_20=float(np.mean(size <= 0.2)),
        coverage=inside,
    )


def spearman(predicted: FloatArray, measured: FloatArray) -> float | None:
    """Rank correlation of n pairs, ties with their mean rank; None where one side is constant."""
    one, other = mean_ranks(predicted), mean_ranks(measured)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def mean_ranks(values: FloatArray) -> FloatArray:
    """(n,) ranks from 1, of equal values their mean; `scipy.stats.rankdata`, slow to import."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which.ravel()])


def regret(predicted: FloatArray, measured: FloatArray, k: int) -> float:
    """Regret of the best of the k plans that are predicted fastest.

    Of plans that tie for the last places a random choice of the right number is taken: the
    least of r of t sorted values is the j-th (from 0) with probability C(t-1-j, r-1) / C(t, r).
    """
    k = min(k, len(predicted))
    last = np.sort(predicted)[k - 1]
    sure = measured[predicted < last]
    tied = np.sort(measured[predicted == last])
    chosen, count = k - len(sure), len(tied)
    ways = math.comb(count, chosen)
    chance = [math.comb(count - 1 - at, chosen - 1) / ways for at in range(count)]
    least = np.minimum(tied, sure.min() if len(sure) else math.inf)
    return float(np.dot(chance, least) / measured.min() - 1)


def choice_groups(predictions: Predictions, among: BoolArray) -> list[np.ndarray]:
    """Rows of each job that has at least three different plans among some rows.

    Args:
        predictions: n runs.
        among: (n,) which of them count.
    """
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(predictions.jobs[rows], kind="stable")]
    groups = np.split(rows, np.flatnonzero(np.diff(predictions.jobs[rows])) + 1)
    return [group for group in groups if len(np.unique(predictions.plans[group])) >= LEAST_PLANS]


def choice_of(
    predicted: FloatArray, measured: FloatArray, groups: Sequence[np.ndarray]
) -> Choice | None:
    """How well plans are chosen in groups of rows; None without groups."""
    if not groups:
        return None
    pairs = [(predicted[rows], measured[rows]) for rows in groups]
    ranks = [found for found in (spearman(*pair) for pair in pairs) if found is not None]
    first = [regret(*pair, 1) for pair in pairs]
    return Choice(
        groups=len(groups),
        rows=sum(len(rows) for rows in groups),
        spearman=float(np.mean(ranks)) if ranks else None,
        regret_1=float(np.mean(first)),
        regret_1_median=float(np.median(first)),
        regret_1_most=max(first),
        regret_3=float(np.mean([regret(*pair, 3) for pair in pairs])),
    )


def names_of(predictions: Predictions) -> list[str]:
    """The sources of some runs, in alphabetical order."""
    return predictions.sources[0]


def of_sources(predictions: Predictions, names: Sequence[str]) -> BoolArray:
    """(n,) which runs are of some sources."""
    known, which = predictions.sources
    return np.array([name in names for name in known])[which]


def is_gold(predictions: Predictions) -> BoolArray:
    """(n,) which runs have no known fault."""
    return predictions.gold


def is_test(predictions: Predictions) -> BoolArray:
    """(n,) which runs are of the test split: no constant was fitted to them."""
    return np.asarray(predictions.splits == _TEST)


def is_fit(predictions: Predictions) -> BoolArray:
    """(n,) which runs are of the fit split."""
    return np.asarray(predictions.splits == _FIT)


def is_moe(predictions: Predictions) -> BoolArray:
    """(n,) which runs train mixtures of experts."""
    return np.array([measured.run.job.model.moe is not None for measured in predictions.runs])


def score(name: str, predictions: Predictions, among: BoolArray, *, choices: bool = True) -> Score:
    """The score of some runs.

    Args:
        name: What to call them.
        predictions: n runs, predicted without site factors.
        among: (n,) which of them; at least one.
        choices: Whether it says how well plans are chosen, which takes longest.

    Raises:
        ValueError: None of them.
    """
    p, site = predictions, predictions.with_site_factors()
    test = among & is_test(p)
    groups = choice_groups(p, among) if choices else []

    def time(source: Predictions, rows: BoolArray) -> Errors | None:
        return errors_of(
            source.step_time_s[rows], p.measured_s[rows], source.low_s[rows], source.high_s[rows]
        )

    all_rows, site_rows = time(p, among), time(site, among)
    if all_rows is None or site_rows is None:
        raise ValueError(f"{name}: no rows")
    factors = p.site_factor[among]
    choice = choice_of(p.step_time_s, p.measured_s, groups)
    return Score(
        name=name,
        rows=int(among.sum()),
        gold=int((among & is_gold(p)).sum()),
        test=int(test.sum()),
        time=all_rows,
        time_test=time(p, test),
        site_time=site_rows,
        site_time_test=time(site, test),
        site_factors=(float(factors.min()), float(factors.max())),
        choice=choice,
        site_choice=choice
        if (factors == 1).all()
        else choice_of(site.step_time_s, p.measured_s, groups),
        memory=memory_errors(p, among),
        power=power_errors(p, among),
    )


def memory_errors(p: Predictions, among: BoolArray) -> Errors | None:
    """Errors of the bytes per chip where they are published."""
    rows = among & np.isfinite(p.measured_memory_bytes)
    return errors_of(
        p.memory_bytes[rows],
        p.measured_memory_bytes[rows],
        p.memory_low_bytes[rows],
        p.memory_high_bytes[rows],
    )


def power_errors(p: Predictions, among: BoolArray) -> Errors | None:
    """Errors of the watts per chip where they are published."""
    rows = among & np.isfinite(p.measured_power_w)
    return errors_of(
        p.power_w[rows], p.measured_power_w[rows], p.power_low_w[rows], p.power_high_w[rows]
    )
