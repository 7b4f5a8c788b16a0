"""Shrinkage: no measurements leave the prior, many replace it; noise and outliers count less."""

import numpy as np
import pytest
from support.cases import each

from hardware_db import load_calibration, load_chip
from planner.assumptions.software import ERAS
from planner.base.arrays import FloatArray
from planner.evidence.calibration.constants import ADJUSTABLE, prior_of
from planner.evidence.calibration.posterior import (
    Noise,
    Prior,
    learnable,
    maximize,
    noise_of,
    shrunk_median,
)
from planner.evidence.calibration.systematic import SYSTEMATIC, learn, updated

NOISE = Noise(usual=0.05)
RNG = np.random.default_rng(7)
SIZES = np.geomspace(1e6, 1e10, 40)


def line(values: FloatArray) -> FloatArray:
    """Latency and rate of a straight line."""
    return np.asarray(values[0] + SIZES / values[1])


PRIORS = [Prior(path="alpha", value=1e-3, sigma=0.5), Prior(path="rate", value=1e9, sigma=0.3)]
TRUTH = np.array([2.0e-3, 1.4e9])


def test_without_rows_the_site_factor_is_that_of_the_prior() -> None:
    assert shrunk_median(np.array([]), 0.1, NOISE) == (0.0, 0.1, 0.05)


def test_one_row_scatters_as_rows_usually_do() -> None:
    _, _, scatter = shrunk_median(np.array([0.3]), 0.1, Noise(usual=0.06))
    assert scatter == pytest.approx(0.06)


@each("era", ERAS)
def test_every_era_has_the_constants_that_runs_adjust(era: str) -> None:
    chip, base = load_chip("h100-sxm5-80"), load_calibration()
    for item in ADJUSTABLE:
        assert prior_of(item.path, base, chip, era).value > 0


def test_many_rows_give_the_median() -> None:
    rows = np.log(1.3) + 0.05 * RNG.standard_normal(3000)
    mean, sigma, scatter = shrunk_median(rows, 0.1, NOISE)
    assert mean == pytest.approx(np.median(rows), rel=0.01)
    assert sigma < 0.002
    assert scatter == pytest.approx(0.05, rel=0.1)


def test_shrinkage_is_between_prior_and_median_and_fades() -> None:
    factors = [shrunk_median(np.full(n, 0.2), 0.1, NOISE)[0] for n in (1, 2, 3, 5, 10, 100)]
    assert factors[0] > 0
    assert factors == sorted(factors)
    assert factors[-1] == pytest.approx(0.2, rel=0.02)
    assert factors[0] < 0.17


def test_the_weight_of_a_median_by_hand() -> None:
    rows = np.array([0.1, 0.2, 0.3])
    scatter = np.sqrt((4 * 0.05**2 + 2 * (1.4826 * 0.1) ** 2) / 6)  # one row went into the median
    error = np.sqrt(np.pi / 2) * scatter / np.sqrt(3)
    weight = 0.1**2 / (0.1**2 + error**2)
    mean, sigma, found = shrunk_median(rows, 0.1, NOISE)
    assert found == pytest.approx(scatter)
    assert mean == pytest.approx(weight * 0.2)
    assert sigma == pytest.approx(0.1 * np.sqrt(1 - weight))


def test_one_outlier_moves_a_median_little() -> None:
    clean = shrunk_median(np.full(7, 0.1), 0.1, NOISE)[0]
    spoilt = shrunk_median(np.array([0.1] * 6 + [3.0]), 0.1, NOISE)[0]
    assert spoilt == pytest.approx(clean, rel=0.05)


def test_noise_of_few_rows_is_mostly_the_usual_one() -> None:
    assert noise_of(np.array([]), NOISE) == 0.05
    assert noise_of(np.zeros(1), NOISE) == pytest.approx(0.05 * np.sqrt(0.8))
    assert noise_of(np.zeros(100_000), NOISE) == NOISE.least


def test_the_true_constants_come_back() -> None:
    measured = line(TRUTH) * np.exp(0.02 * RNG.standard_normal(len(SIZES)))
    found = maximize(line, measured, PRIORS, NOISE)
    assert found.values == pytest.approx(TRUTH, rel=0.03)
    assert (found.learned > 0.95).all()
    assert np.abs(found.after).mean() < 0.03 < np.abs(found.before).mean()


def test_sigma_covers_the_truth() -> None:
    misses = []
    for seed in range(30):
        noise = 0.05 * np.random.default_rng(seed).standard_normal(len(SIZES))
        found = maximize(line, line(TRUTH) * np.exp(noise), PRIORS, NOISE)
        misses.append(np.log(found.values / TRUTH) / found.sigma)
    assert 0.6 < np.std(misses) < 1.5


def test_outliers_do_not_lead() -> None:
    measured = line(TRUTH) * np.exp(0.02 * RNG.standard_normal(len(SIZES)))
    measured[::8] *= 4.0
    found = maximize(line, measured, PRIORS, NOISE)
    assert found.values == pytest.approx(TRUTH, rel=0.15)


def test_a_constant_without_effect_stays() -> None:
    dead = [*PRIORS, Prior(path="dead", value=3.0, sigma=0.2)]
    measured = line(TRUTH)
    found = maximize(lambda v: line(v[:2]), measured, dead, NOISE)
    assert found.values[2] == pytest.approx(3.0)
    assert found.learned[2] == pytest.approx(0.0, abs=1e-9)
    assert found.sigma[2] == pytest.approx(0.2)
    assert learnable(lambda v: line(v[:2]), measured, dead, 0.05)[2] == pytest.approx(0, abs=1e-9)


def test_a_bound_holds() -> None:
    capped = [PRIORS[0], Prior(path="rate", value=1e9, sigma=0.3, highest=1.1e9)]
    found = maximize(line, line(TRUTH), capped, NOISE)
    assert found.values[1] <= 1.1e9 * (1 + 1e-9)


def test_left_out_residuals_are_those_of_a_refit() -> None:
    """Exact for a model that is linear in the logarithms: one common factor."""
    rows = np.array([0.08, 0.1, 0.14, 0.16])
    prior = [Prior(path="factor", value=1.0, sigma=0.1)]

    def predict(values: FloatArray) -> FloatArray:
        return np.asarray(np.full(4, values[0]))

    fixed = Noise(usual=0.05, weight=1e12)  # the scatter that is expected is the scatter
    found = maximize(predict, np.exp(rows), prior, fixed)
    for left in range(4):
        others = np.delete(rows, left)
        mean = others.sum() / 0.05**2 / (3 / 0.05**2 + 1 / 0.1**2)
        assert found.left_out[left] == pytest.approx(rows[left] - mean, abs=2e-4)


def test_a_benchmark_never_makes_an_efficiency_surer_than_its_common_error() -> None:
    prior = [Prior(path="rate", value=1e9, sigma=0.3)]
    few = learn(lambda v: SIZES / v[0], SIZES / 1.4e9, prior, NOISE)
    assert few.sigma[0] >= 0.98 * SYSTEMATIC * 0.3 / np.hypot(0.3, SYSTEMATIC)
    assert few.values[0] == pytest.approx(1.4e9, rel=0.03)


@each(("error", "near"), [(1e-6, 2.0), (1e6, 1.0), (0.1, np.sqrt(2.0))])
def test_a_direct_measurement_is_weighted(error: float, near: float) -> None:
    value, sigma, learned = updated(Prior(path="x", value=1.0, sigma=0.1), 2.0, error)
    assert value == pytest.approx(near, rel=1e-5)
    assert sigma <= 0.1
    assert 0 <= learned <= 1
