"""Maximum a posteriori estimates of positive constants, and what leaving a row out would do.

Everything is in logarithms: a constant is its prior times exp(z), z normal with mean 0 and the
prior's sigma; a measurement is its prediction times exp(e), e normal with standard deviation s:

    minimize  sum_i ((log y_i - log f_i(z)) / s)^2  +  sum_j (z_j / sigma_j)^2

The noise s is estimated from the residuals by their median absolute deviation, shrunk to what
such measurements usually scatter by, because few rows say little about it. The posterior is the
normal distribution at the minimum (Laplace): covariance (J^T J)^-1 of the stacked residuals.

Source: Gelman et al., Bayesian Data Analysis, 3rd edition, sections 4.1 and 14.8; leave-one-out
residuals r_i / (1 - h_ii) from the hat matrix: section 14.2 of Hastie et al., and Allen, The
Relationship between Variable Selection and Data Augmentation, Technometrics 1974,
doi:10.1080/00401706.1974.10489157.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray

_MAD = 1.4826  # of a normal distribution: standard deviation over median absolute deviation
_STEP = 1e-4
_ROUNDS = 2
_TOLERANCE = 1e-6  # of the sum of squares and of the logarithms


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known of a constant before a measurement.

    Attributes:
        path: Dotted path in the calibration.
        value: Prior value, SI.
        sigma: Standard deviation of its logarithm.
        highest: Largest value that makes sense.
    """

    path: str
    value: float
    sigma: float
    highest: float = np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What scatter of log(measured / predicted) to expect before seeing any.

    Attributes:
        usual: Usual standard deviation.
        weight: Number of rows that this expectation is worth.
        least: Smallest standard deviation that is believed.
    """

    usual: float
    weight: float = 4.0
    least: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """What is known after it.

    Attributes:
        values: (k,) posterior values, in the order of the priors.
        sigma: (k,) standard deviations of their logarithms.
        learned: (k,) 1 - (posterior sigma / prior sigma)^2: 0 where the rows say nothing.
        noise: Standard deviation of log(measured / predicted).
        before, after: (n,) log(measured / predicted) with the priors and the posterior values.
        left_out: (n,) the same for each row predicted without it.
    """

    values: FloatArray
    sigma: FloatArray
    learned: FloatArray
    noise: float
    before: FloatArray
    after: FloatArray
    left_out: FloatArray


def noise_of(residuals: FloatArray, noise: Noise, weights: FloatArray | None = None) -> float:
    """Robust standard deviation of residuals about zero, shrunk to the usual one.

    s^2 = (w s0^2 + n (1.48 MAD)^2) / (w + n), n rows (or the sum of their weights).
    """
    n = float(len(residuals) if weights is None else weights.sum())
    if n == 0:
        return noise.usual
    spread = _MAD * float(np.median(np.abs(residuals)))
    pooled = (noise.weight * noise.usual**2 + n * spread**2) / (noise.weight + n)
    return max(float(np.sqrt(pooled)), noise.least)


def shrunk_median(residuals: FloatArray, sigma: float, noise: Noise) -> tuple[float, float, float]:
    """The common factor of rows: the median of log(measured / predicted), shrunk to 0.

    The standard error of a median is sqrt(pi / 2) s / sqrt(n); prior and median are weighted by
    the inverse of their variances.

    Args:
        residuals: (n,) log(measured / predicted).
        sigma: Prior standard deviation of the logarithm of the factor.
        noise: Expected scatter of rows about it.

    Returns:
        Posterior mean and standard deviation of the logarithm of the factor, and the scatter.
    """
    if len(residuals) == 0:
        return 0.0, sigma, noise.usual
    median = float(np.median(residuals))
    count = len(residuals)
    free = np.full(count, (count - 1) / count)  # one went into the median
    scatter = noise_of(residuals - median, noise, free)
    error = (
        np.sqrt(np.pi / 2) * scatter / np.sqrt(len(residuals)) if len(residuals) > 1 else scatter
    )
    weight = sigma**2 / (sigma**2 + error**2)
    return weight * median, sigma * float(np.sqrt(1 - weight)), scatter


def maximize(
    predict: Callable[[FloatArray], FloatArray],
    measured: FloatArray,
    priors: list[Prior],
    noise: Noise,
    weights: FloatArray | None = None,
) -> Posterior:
    """The posterior of constants under measurements.

    Args:
        predict: From (k,) values to (n,) predictions.
        measured: (n,) positive measurements in the same unit.
        priors: The k constants.
        noise: Expected scatter.
        weights: (n,) how many independent rows each counts for; default 1.
    """
    weight = np.ones(len(measured)) if weights is None else weights
    problem = _Problem(predict, np.log(measured), priors, np.sqrt(weight))
    z = np.zeros(len(priors))
    before = problem.rows(z)
    scatter = noise_of(before, noise, weight)
    for _ in range(_ROUNDS):
        z = problem.solve(z, scatter)
        scatter = noise_of(problem.rows(z), noise, weight)
    return _posterior(problem, z, scatter, before)


def learnable(
    predict: Callable[[FloatArray], FloatArray],
    measured: FloatArray,
    priors: list[Prior],
    scatter: float,
) -> FloatArray:
    """(k,) share of each prior's variance that measurements would take away, to first order."""
    problem = _Problem(predict, np.log(measured), priors, np.ones(len(measured)))
    jacobian = problem.jacobian(np.zeros(len(priors)), scatter)
    variance = np.diag(np.linalg.inv(jacobian.T @ jacobian))
    return np.asarray(1 - np.minimum(variance / problem.sigma**2, 1.0))


@dataclass(frozen=True, slots=True)
class _Problem:
    predict: Callable[[FloatArray], FloatArray]
    log_measured: FloatArray
    priors: list[Prior]
    root: FloatArray  # square roots of the weights

    @property
    def sigma(self) -> FloatArray:
        return np.array([prior.sigma for prior in self.priors])

    def values(self, z: FloatArray) -> FloatArray:
        return np.array([prior.value for prior in self.priors]) * np.exp(z)

    def rows(self, z: FloatArray) -> FloatArray:
        """(n,) log(measured / predicted)."""
        return np.asarray(self.log_measured - np.log(self.predict(self.values(z))))

    def stacked(self, z: FloatArray, scatter: float) -> FloatArray:
        """(n + k,) residuals of rows and priors, each in its own standard deviations."""
        return np.concatenate([self.root * self.rows(z) / scatter, z / self.sigma])

    def jacobian(self, z: FloatArray, scatter: float) -> FloatArray:
        """(n + k, k) forward differences."""
        here = self.stacked(z, scatter)
        steps = _STEP * np.eye(len(z))
        columns = [(self.stacked(z + step, scatter) - here) / _STEP for step in steps]
        return np.stack(columns, axis=1)

    def solve(self, z: FloatArray, scatter: float) -> FloatArray:
        """The minimum from a start; rows farther than 1.5 standard deviations count less."""
        from scipy.optimize import least_squares  # noqa: PLC0415  (heavy)

        high = np.log([max(prior.highest / prior.value, 1 + 1e-6) for prior in self.priors])
        found = least_squares(
            lambda x: self.stacked(x, scatter),
            np.minimum(z, high - 1e-9),
            bounds=(np.full(len(z), -np.inf), high),
            loss=huber_of_rows(len(self.log_measured)),
            x_scale=self.sigma,
            diff_step=_STEP,
            ftol=_TOLERANCE,
            xtol=_TOLERANCE,
            gtol=_TOLERANCE,
        )
        return np.asarray(found.x)


def huber_of_rows(rows: int, edge: float = 1.5) -> Callable[[FloatArray], FloatArray]:
    """Huber's loss for the first `rows` residuals, the square for those of the priors.

    As `scipy.optimize.least_squares` wants a loss: from squares to (3, m) values and derivatives.
    """

    def loss(squares: FloatArray) -> FloatArray:
        rho = np.stack([squares, np.ones_like(squares), np.zeros_like(squares)])
        far = squares > edge**2
        far[rows:] = False
        root = np.sqrt(squares[far])
        rho[0, far] = 2 * edge * root - edge**2
        rho[1, far] = edge / root
        rho[2, far] = -0.5 * edge / root**3
        return rho

    return loss


def _posterior(problem: _Problem, z: FloatArray, scatter: float, before: FloatArray) -> Posterior:
    jacobian = problem.jacobian(z, scatter)
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    sigma = np.sqrt(np.diag(covariance))
    rows = len(problem.log_measured)
    mine = jacobian[:rows]
    leverage = np.minimum(np.einsum("ij,jk,ik->i", mine, covariance, mine), 0.999)
    after = problem.rows(z)
    return Posterior(
        values=problem.values(z),
        sigma=sigma,
        learned=1 - np.minimum(sigma / problem.sigma, 1.0) ** 2,
        noise=scatter,
        before=before,
        after=after,
        left_out=after / (1 - leverage),
    )
