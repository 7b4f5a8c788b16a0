"""Seconds between the failures of a job: laws that the simulation draws from."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from planner.base.arrays import FloatArray

Gaps = Callable[[np.random.Generator, int], FloatArray]
"""Draws n gaps in seconds."""


def exponential(mean_s: float) -> Gaps:
    """Failures without memory: what the closed forms assume."""
    return lambda random, n: random.exponential(mean_s, n)


def weibull(mean_s: float, shape: float) -> Gaps:
    """Gaps whose failure rate falls with the time since the last failure where shape < 1.

    B. Schroeder and G. Gibson, "A large-scale study of failures in high-performance computing
    systems", DSN 2006, section 5.3, fit shapes of 0.7 to 0.8 to the nodes of clusters.
    """
    scale = mean_s / math.gamma(1.0 + 1.0 / shape)
    return lambda random, n: scale * random.weibull(shape, n)
