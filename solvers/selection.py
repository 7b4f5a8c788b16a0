"""Which few of several uncertain values to look at, so that the least of them is most likely seen.

Values are log-normal, their logarithms known but for errors that are jointly normal. Trying a set
S costs the value of its best member, so that the set with the least expected minimum has the least
expected regret: the expected minimum of all does not depend on the choice.
Source: knowledge gradient and subset selection, Frazier, Powell, Dayanik, A Knowledge-Gradient
Policy for Sequential Information Collection, SIAM J. Control Optim. 47 (2008), 2410-2439.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SAMPLES = 2048
_SEED = 0


def least_expected_minimum(log_values: Floats, covariance: Floats, count: int) -> tuple[int, ...]:
    """The set of `count` values, the first among them, whose least one is expected to be least.

    All sets are compared on the same samples of the errors, so that the choice is that of a sample
    average, not of the exact expectation.

    Args:
        log_values: (n,) natural logarithms; n is small, the sets are tried one by one.
        covariance: (n, n) of their errors, positive semidefinite.
        count: Size of the set; all where n is no more.

    Returns:
        Increasing positions; of equal sets the first.
    """
    n = len(log_values)
    if n <= count:
        return tuple(range(n))
    weights, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.clip(weights, 0.0, None))
    normals = np.random.default_rng(_SEED).standard_normal((_SAMPLES, n))
    values = np.exp(log_values - log_values[0] + normals @ root.T)
    sets = [(0, *rest) for rest in combinations(range(1, n), count - 1)]
    means = [float(values[:, chosen].min(axis=1).mean()) for chosen in sets]
    return sets[int(np.argmin(means))]
