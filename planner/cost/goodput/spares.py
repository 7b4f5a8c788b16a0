"""Nodes that wait to take the place of broken ones: how many, and what too few cost.

A share q of the failures pulls a node, which is a spare again after the repair V. With enough
spares the nodes under repair at any time are Poisson with mean m = q V / M, M the wall time from
one failure to the next: theta / N, with the downtime where no failure strikes in it. With S spares
the job waits while S + 1 are under repair, and no node fails while it waits: a loss system of S + 1
servers, where the time that all are busy is Erlang's B(S + 1, m), whatever the law of the repair
(A. K. Erlang, 1917; B. A. Sevast'yanov, Theory of Probability and its Applications 2, 1957). With
that downtime failures come more evenly than Poisson's, so that a little less is waited than is said
here.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from planner.base.arrays import FloatArray

CHANCE = 0.99
"""That spares are enough at any time."""
_MOST = 10_000
_NOTHING = -80.0
"""Logarithm of a chance that a sum near 1 no longer holds in double precision."""


def spares_for(mean: float, chance: float = CHANCE) -> int:
    """Fewest spares of which no more are under repair, at a chance.

    Args:
        mean: m: nodes under repair.
        chance: Below 1.
    """
    if mean > _MOST:  # the normal law with its skew (Cornish and Fisher, 1938), rounded up
        z = NormalDist().inv_cdf(chance)
        return math.ceil(mean + z * math.sqrt(mean) + (z * z - 1.0) / 6.0)
    term, count = -mean, 0
    total = math.exp(term)
    while total < chance and (count < mean or term > _NOTHING):
        count += 1
        term += math.log(mean / count)
        total += math.exp(term)
    return count


def waiting(mean: FloatArray | float, spares: int) -> FloatArray:
    """Share of the time that a job with so many spares waits for one: Erlang's B(spares + 1, m).

    Args:
        mean: (n,) or a number: m.
        spares: Nodes that wait.
    """
    mean = np.asarray(mean, dtype=np.float64)
    blocked = np.ones_like(mean)
    for servers in range(1, spares + 2):
        blocked = mean * blocked / (servers + mean * blocked)
    return blocked
