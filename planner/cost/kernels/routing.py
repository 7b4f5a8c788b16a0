"""Where tokens go on layers with experts: the busiest rank, and copies that are sent once.

A token visits k of E experts; a rank holds E / ep of them, a node those of its ranks.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.cost.kernels.shapes import Shapes


def busiest_rank(
    a: Assumptions, shapes: Shapes, tokens: FloatArray, tp: IntArray, ep: IntArray
) -> FloatArray:
    """Expected load of the busiest of ep ranks over the mean, in one micro-batch.

        v = (1 - 1/ep) ((E - k) / (E - 1) / n + s^2 ep / E),    n = T k etp / tp choices per rank
        busiest = min(1 + sqrt(v) z(ep), ep, E / k),    z(ep) = Phi^-1((ep - 3/8) / (ep + 1/4))

    A token chooses k different experts, with shares that differ by s = `load_spread` of their mean
    from expert to expert; ranks add up theirs. The first term is the variance of draws without
    replacement (hypergeometric). z is the expected largest of ep standard normal values. No rank
    gets more than all tokens for each of its experts. All ranks wait for the busiest, since an
    exchange follows. 1 where loads are even.

    Source: Blom, Statistical Estimates and Transformed Beta-Variables (1958), for z.

    Args:
        a: Spread; `moe_imbalance` multiplies the result.
        shapes: Experts, and how many a token visits.
        tokens: Of a micro-batch on a chip before tp divides them, of all ranks of etp.
        tp, ep: Degrees.
    """
    if a.even_loads:
        return np.full(np.broadcast(tokens, tp, ep).shape, a.moe_imbalance)
    spread = a.biased_load_spread if shapes.biased_router else a.load_spread
    experts, k = max(shapes.experts, 1), max(shapes.experts_per_token, 1)
    chosen = np.maximum(tokens * k / tp, 1.0)
    without_return = (experts - k) / max(experts - 1, 1)
    variance = (1 - 1 / ep) * (without_return / chosen + spread**2 * ep / experts)
    load = np.minimum(1 + np.sqrt(variance) * _expected_largest(ep), np.minimum(ep, experts / k))
    return np.asarray(a.moe_imbalance * load, dtype=np.float64)


def _expected_largest(counts: IntArray) -> FloatArray:
    """The z of each count, in its shape; there are few different ones."""
    some, at = np.unique(counts, return_inverse=True)
    found = [NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) for count in some.tolist()]
    return np.array(found)[at].reshape(np.shape(counts))


def sent_once(places: FloatArray, chosen: int, experts: FloatArray | float) -> FloatArray:
    """Distinct places over the k different experts that a token visits.

        p (1 - q) / k,    q = product over i < k of 1 - (E / p) / (E - i)

    q is the probability that none of the E / p experts of a place is among the k.

    Args:
        places: p ranks or nodes over which routing is uniform.
        chosen: k.
        experts: E, those of all places.
    """
    missed = np.ones(np.broadcast(places, experts).shape)
    for index in range(chosen):
        left = np.maximum(experts - index, 1.0)
        missed = missed * np.maximum(1 - experts / places / left, 0.0)
    return np.asarray(places * (1 - missed) / chosen)
