"""The set whose least value is expected to be least, against sampling by another seed."""

from itertools import combinations

import numpy as np
import pytest

from solvers.selection import least_expected_minimum


def expected(log_values: np.ndarray, covariance: np.ndarray, chosen: tuple[int, ...]) -> float:
    rng = np.random.default_rng(99)
    errors = rng.multivariate_normal(np.zeros(len(log_values)), covariance, 200_000)
    return float(np.exp(log_values + errors)[:, list(chosen)].min(axis=1).mean())


def test_no_set_is_clearly_better_than_the_one_chosen() -> None:
    rng = np.random.default_rng(4)
    compared = 0
    for _ in range(12):
        log_values = np.sort(rng.uniform(0, 0.1, 6))
        log_values -= log_values[0]
        factor = rng.normal(0, 0.06, (6, 3))
        covariance = factor @ factor.T
        chosen = least_expected_minimum(log_values, covariance, 3)
        least = min(
            expected(log_values, covariance, (0, *rest)) for rest in combinations(range(1, 6), 2)
        )
        assert expected(log_values, covariance, chosen) == pytest.approx(least, rel=1e-3)
        compared += 10
    print(f"{compared} sets")


def test_a_twin_of_the_first_is_not_tried() -> None:
    """Of equal errors only the better one can be least."""
    covariance = np.array([[0.01, 0.01, 0.0], [0.01, 0.01, 0.0], [0.0, 0.0, 0.01]])
    assert least_expected_minimum(np.array([0.0, 0.001, 0.02]), covariance, 2) == (0, 2)


def test_few_values_are_all_tried() -> None:
    assert least_expected_minimum(np.zeros(2), np.eye(2), 3) == (0, 1)
