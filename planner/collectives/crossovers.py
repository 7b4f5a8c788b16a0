"""Where one algorithm overtakes another as the data grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from planner.plan import FloatArray

Times = Callable[[FloatArray], FloatArray]
"""From (n,) bytes to (n,) seconds."""
_POINTS = 512
_HALVINGS = 60


class Crossover(NamedTuple):
    """Attributes: bytes from which `after` is faster than `before`, numbers of curves."""

    size_bytes: float
    before: int
    after: int


def fastest(curves: Sequence[Times], sizes_bytes: FloatArray) -> tuple[FloatArray, list[int]]:
    """(n,) least seconds, and which curve it is; of equals the first."""
    times = np.stack([curve(sizes_bytes) for curve in curves])
    return np.asarray(times.min(axis=0)), times.argmin(axis=0).tolist()


def crossovers(curves: Sequence[Times], low_bytes: float, high_bytes: float) -> list[Crossover]:
    """Sizes at which the fastest of some curves changes, rising.

    The sizes between are found by halving, to the last digits; a curve that is fastest only
    within a hundredth or so of a decade can be missed.

    Args:
        curves: At least one.
        low_bytes, high_bytes: Where to look.
    """
    grid = np.geomspace(low_bytes, high_bytes, _POINTS)
    _, best = fastest(curves, grid)
    found = []
    for at in np.flatnonzero(np.diff(best)).tolist():
        before, after = best[at], best[at + 1]
        low, high = float(grid[at]), float(grid[at + 1])
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            one, other = (float(curves[c](np.array([middle]))[0]) for c in (before, after))
            low, high = (middle, high) if one <= other else (low, middle)
        found.append(Crossover(float(high), before, after))
    return found
