"""Microbenchmarks teach less than they seem to: they all share one error.

A benchmark runs one kernel at a time, warm and alone; training reaches a little less or more.
All rows of a kind of benchmark therefore share an unknown factor with a standard deviation of
5 %: the shipped efficiencies, fitted to training, and the benchmarks published for the same chips
(A100, H100, H200) differ by that much. However many rows there are, an efficiency cannot become
more certain than that, while constants of the shape (latency, half-rate sizes) can.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.evidence.calibration.posterior import Noise, Prior, maximize

SYSTEMATIC = 0.05
"""Standard deviation of the logarithm of the common factor; assumed, see above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Constants under a benchmark.

    Attributes:
        priors: The k constants before.
        values, sigma, learned: (k,) after; see `planner.evidence.calibration.posterior.Posterior`.
        noise: Scatter of the rows.
        before, after: (n,) log(measured / predicted).
    """

    priors: tuple[Prior, ...]
    values: FloatArray
    sigma: FloatArray
    learned: FloatArray
    noise: float
    before: FloatArray
    after: FloatArray


def learn(
    predict: Callable[[FloatArray], FloatArray],
    measured: FloatArray,
    priors: list[Prior],
    noise: Noise,
    weights: FloatArray | None = None,
) -> Learned:
    """The constants of a benchmark, the factor that its rows share set apart.

    Args:
        predict: From (k,) values to (n,) predictions.
        measured: (n,) measurements.
        priors: The k constants.
        noise: Expected scatter.
        weights: (n,) independent rows that each counts for; default 1.
    """
    common = Prior(path="common", value=1.0, sigma=SYSTEMATIC)
    found = maximize(
        lambda values: predict(values[:-1]) * values[-1],
        measured,
        [*priors, common],
        noise,
        weights,
    )
    return Learned(
        priors=tuple(priors),
        values=found.values[:-1],
        sigma=found.sigma[:-1],
        learned=found.learned[:-1],
        noise=found.noise,
        before=found.before,
        after=found.after,
    )


def updated(prior: Prior, measured: float, error: float = SYSTEMATIC) -> tuple[float, float, float]:
    """One constant measured directly: value, sigma and learned share after it.

    Prior and measurement are weighted by the inverse of their variances, in logarithms.
    """
    weight = prior.sigma**2 / (prior.sigma**2 + error**2)
    value = prior.value * float(np.exp(weight * np.log(measured / prior.value)))
    return min(value, prior.highest), prior.sigma * float(np.sqrt(1 - weight)), weight
