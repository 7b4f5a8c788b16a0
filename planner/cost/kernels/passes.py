"""Seconds of one pass over a layer, by cause."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTimes:
    """Seconds of one pass by cause; `memory` is element-wise work."""

    compute: FloatArray
    memory: FloatArray
    tp: FloatArray
    cp: FloatArray
    ep: FloatArray

    def __add__(self, other: PassTimes) -> PassTimes:
        """Sum of two passes, cause by cause."""
        return PassTimes(
            compute=self.compute + other.compute,
            memory=self.memory + other.memory,
            tp=self.tp + other.tp,
            cp=self.cp + other.cp,
            ep=self.ep + other.ep,
        )

    def overlapped(self) -> PassTimes:
        """The same pass with each axis's communication behind kernels and the axes before it."""
        first = self.kernels
        second = np.maximum(first, self.tp)
        third = np.maximum(second, self.cp)
        return PassTimes(
            compute=self.compute,
            memory=self.memory,
            tp=second - first,
            cp=third - second,
            ep=np.maximum(third, self.ep) - third,
        )

    def scaled(self, factor: float) -> PassTimes:
        """Every cause times `factor`."""
        return PassTimes(
            compute=self.compute * factor,
            memory=self.memory * factor,
            tp=self.tp * factor,
            cp=self.cp * factor,
            ep=self.ep * factor,
        )

    @property
    def kernels(self) -> FloatArray:
        """Seconds in which kernels run."""
        return self.compute + self.memory

    @property
    def device(self) -> FloatArray:
        """Seconds on the device, exposed communication included."""
        return self.compute + self.memory + self.tp + self.cp + self.ep
