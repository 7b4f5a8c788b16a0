"""The plane of a ridgeline: points from counts, regions from the ridge of a machine.

    x = B_M / B_N   memory bytes per network byte        knee   x = W_M / W_N
    y = F / B_M     FLOP per memory byte                 knee   y = C / W_M
    x y = F / B_N   FLOP per network byte                diagonal  x y = C / W_N

F FLOP, B_M bytes of memory and B_N bytes over a level of the network of one piece of work on one
chip; C, W_M and W_N the chip's FLOP/s, memory bytes/s and bytes/s over that level. The work takes
at least as long as the longest of F / C, B_M / W_M and B_N / W_N, and that one is its region: left
of the knee and below the diagonal the network, right of it and below the knee's height the memory,
above both the chip's arithmetic.

Source: Checconi, Tithi, Petrini, Ridgeline: A 2D Roofline Model for Distributed Systems,
arXiv:2209.01368, section II.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray

COMPUTE, MEMORY, NETWORK = range(3)
REGIONS = ("compute", "memory", "network")
NEAR_SHARE = 0.9
"""Near the ridge: the second longest of the three times is at least this share of the longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """The rates of one chip and one level of its network.

    Attributes:
        level: Name of the level.
        flop_per_s: C, peak at a precision.
        memory_bytes_per_s: W_M, of the chip's memory.
        network_bytes_per_s: W_N, of the chip over the level, one direction.
    """

    level: str
    flop_per_s: float
    memory_bytes_per_s: float
    network_bytes_per_s: float

    @property
    def knee_x(self) -> float:
        """Memory bytes per network byte at which both take equally long."""
        return self.memory_bytes_per_s / self.network_bytes_per_s

    @property
    def knee_y(self) -> float:
        """FLOP per memory byte at which both take equally long: the knee of the roofline."""
        return self.flop_per_s / self.memory_bytes_per_s

    @property
    def diagonal(self) -> float:
        """FLOP per network byte at which both take equally long."""
        return self.flop_per_s / self.network_bytes_per_s

    def roof(self, intensity: FloatArray) -> FloatArray:
        """FLOP/s that arithmetic and memory allow: min(C, y W_M), the roofline.

        Args:
            intensity: y, FLOP per memory byte.
        """
        at_most: FloatArray = np.minimum(self.flop_per_s, intensity * self.memory_bytes_per_s)
        return at_most

    def share(self, x: float, y: float) -> float:
        """FLOP/s at a place on the plane over the peak: min(1, y W_M / C, x y W_N / C)."""
        return min(1.0, y / self.knee_y, x * y / self.diagonal)

    def contour(
        self, share: float, across: tuple[float, float], up: tuple[float, float]
    ) -> tuple[tuple[float, float], ...]:
        """Corners of the line on the plane along which work reaches a share of the peak.

        Left of the knee the network allows x y W_N FLOP/s, so the line falls; right of it memory
        allows y W_M, so it is level. At share 1 it is the ridge.

        Args:
            share: Of C, above 0 and at most 1.
            across: Least and largest x that is looked at, the knee between them.
            up: The same of y.

        Returns:
            (x, y) from left to right; empty where the line lies below or above what is looked at.
        """
        (left, right), (low, high) = across, up
        level, product = share * self.knee_y, share * self.diagonal
        start, end = max(left, product / high), min(product / low, self.knee_x)
        corners = [(start, min(product / start, high))] if start < end else []
        if low <= level <= high:
            return (*corners, (self.knee_x, level), (right, level))
        return (*corners, (end, low)) if corners and level < low else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What n pieces of work execute and move, per chip.

    Attributes:
        names: Labels.
        flop: (n,) F.
        memory_bytes: (n,) B_M.
        network_bytes: (n, l) B_N over each of l levels.
        crossed_bytes: (n, k) each byte once, on the outermost that it crosses of all k levels of
            the cluster; None where the work has no placement and every level is looked at in turn.
    """

    names: tuple[str, ...]
    flop: FloatArray
    memory_bytes: FloatArray
    network_bytes: FloatArray
    crossed_bytes: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where n pieces of work lie, by the ridges of l levels; arrays are (n,) or (n, l).

    Attributes:
        compute_s, memory_s: (n,) F / C and B_M / W_M.
        network_s: (n, l) B_N / W_N.
        level: (n,) index of the level with the longest time.
        bound_s: (n,) the longest of all: no run is faster.
        second_s: (n,) the second longest of compute, memory and the slowest level.
        region: (n,) index of `REGIONS`; on a border the first of them.
    """

    compute_s: FloatArray
    memory_s: FloatArray
    network_s: FloatArray
    level: IntArray
    bound_s: FloatArray
    second_s: FloatArray
    region: IntArray

    @property
    def near_ridge(self) -> BoolArray:
        """(n,) whether the second longest time is at least `NEAR_SHARE` of the longest."""
        near: BoolArray = self.second_s >= NEAR_SHARE * self.bound_s
        return near

    def of_level(self, level: int) -> Placed:
        """The same on the plane of one level, as if there were no other."""
        return _placed(self.compute_s, self.memory_s, self.network_s[:, level : level + 1])


def place(ridges: tuple[Ridge, ...], counts: Counts) -> Placed:
    """Times, regions and bounds of all work.

    Args:
        ridges: One per level, of one chip; at least one.
        counts: The work; a column of `network_bytes` per ridge.
    """
    rates = np.array([ridge.network_bytes_per_s for ridge in ridges])
    return _placed(
        counts.flop / ridges[0].flop_per_s,
        counts.memory_bytes / ridges[0].memory_bytes_per_s,
        counts.network_bytes / rates,
    )


def _placed(compute: FloatArray, memory: FloatArray, network: FloatArray) -> Placed:
    level = np.argmax(network, axis=1)
    slowest = np.max(network, axis=1)
    three = np.stack([compute, memory, slowest], axis=1)
    ranked = np.sort(three, axis=1)
    return Placed(
        compute_s=compute,
        memory_s=memory,
        network_s=network,
        level=level,
        bound_s=ranked[:, 2],
        second_s=ranked[:, 1],
        region=np.argmax(three, axis=1),
    )


def ratio(above: float, below: float) -> float | None:
    """A quotient of counts or times; None where it is infinite or not defined."""
    return above / below if below > 0 and np.isfinite(above / below) else None
