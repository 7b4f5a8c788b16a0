"""Where in the pipeline the stages are that choices are for: one stage, or one per choice."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in the pipeline a stage is.

    Attributes:
        position: From 0.
        first, last: Whether it holds the embedding, the head.
    """

    position: int
    first: bool
    last: bool

    def take(self, _: IntArray) -> Place:
        """Of some of the choices for the stage."""
        return self

    @property
    def ends(self) -> list[IntArray]:
        """What tells the ends of choices apart: nothing."""
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Places(ArrayRecord):
    """The same of choices for several stages, (c,) each."""

    position: IntArray
    first: FloatArray
    last: FloatArray

    @staticmethod
    def of(devices: IntArray, pp: int) -> Places:
        """Of (c,) devices of a pipeline of pp; the first and the last have its ends."""
        return Places(
            position=devices,
            first=(devices == 0).astype(np.float64),
            last=(devices == pp - 1).astype(np.float64),
        )

    @property
    def ends(self) -> list[IntArray]:
        """What tells the ends of choices apart, as columns of whole numbers."""
        return [self.first.astype(np.int64), self.last.astype(np.int64)]
