"""Lanes of links in proportion to their bandwidth, rounded down.

A link has no more lanes than it can carry, so that no schedule is promised what links do not have.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.units import plain

MOST_LANES = 256
"""The most lanes of one of several unequal links; finer proportions are rounded down."""
_LARGEST_DENOMINATOR = 64
_EXACT = 1e-9


class Lanes(NamedTuple):
    """Bandwidths as whole lanes.

    Attributes:
        lanes: (m,) of each link.
        lane_bytes_per_s: Of one lane.
        error: The largest part of a link's bandwidth that its lanes leave out.
    """

    lanes: IntArray
    lane_bytes_per_s: float
    error: float


def lanes_of(bandwidth_bytes_per_s: FloatArray) -> Lanes:
    """Lanes in proportion to bandwidths, a lane being their greatest common divisor.

    Where the proportions are no small fractions, so many lanes of the slowest link as leave out
    least of any, with at most `MOST_LANES` of the fastest.

    Args:
        bandwidth_bytes_per_s: (m,) of single links, above 0.

    Raises:
        InputError: The fastest is more than `MOST_LANES` times as fast as the slowest.
    """
    slowest = float(bandwidth_bytes_per_s.min())
    ratios = bandwidth_bytes_per_s / slowest
    if ratios.max() > MOST_LANES:
        raise InputError(
            f"links: the fastest is {plain(float(ratios.max()))} times as fast as the slowest "
            f"({plain(float(bandwidth_bytes_per_s.max()) / 1e9)} and {plain(slowest / 1e9)} GB/s); "
            f"at most {MOST_LANES} times"
        )
    each, inverse = np.unique(ratios, return_inverse=True)
    near = [Fraction(float(ratio)).limit_denominator(_LARGEST_DENOMINATOR) for ratio in each]
    exact = all(abs(float(f) / r - 1.0) <= _EXACT for f, r in zip(near, each, strict=True))
    parts = math.lcm(*(ratio.denominator for ratio in near))
    if exact and parts * max(near) <= MOST_LANES:
        whole = np.asarray([int(ratio * parts) for ratio in near], dtype=np.int64)
    else:
        parts = _least_error(each)
        whole = _down(each * parts)
    error = float((1.0 - whole / (each * parts)).max())
    return Lanes(whole[inverse], slowest / parts, 0.0 if error <= _EXACT else error)


def _least_error(ratios: FloatArray) -> int:
    """Lanes of the slowest link with which least of any link is left out; of equals the fewest."""
    parts = np.arange(1, int(MOST_LANES / ratios.max()) + 1)[:, None]
    error = (1.0 - _down(ratios * parts) / (ratios * parts)).max(axis=1)
    return int(np.argmin(error)) + 1


def _down(lanes: FloatArray) -> IntArray:
    """The whole lanes; what is a whole number but for the last digits counts as that."""
    whole: IntArray = np.floor(lanes * (1.0 + _EXACT)).astype(np.int64)
    return whole
