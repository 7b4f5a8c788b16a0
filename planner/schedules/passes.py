"""What a schedule is told of a step: seconds of the passes of its stages, from the cost model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPasses:
    """Seconds of one micro-batch on a class of equal stages, (n, k), without messages.

    Attributes:
        count: (n, 1) stages of the class.
        total: All passes.
        backward: The whole backward pass.
        weight_grad: The part of it that waits for nobody.
    """

    count: FloatArray
    total: FloatArray
    backward: FloatArray
    weight_grad: FloatArray


class StepTimes(Protocol):
    """The seconds of n steps of k clocks each; arrays are (n, k), (n, 1) or (1, 1).

    A stage is all that a rank runs. Where a rank has both directions of a bidirectional schedule,
    a time is that of a *round*: one micro-batch of each.
    """

    @property
    def assumptions(self) -> Assumptions:
        """Constants of the cost model: overlaps, the host's seconds per micro-batch."""

    @property
    def m(self) -> FloatArray:
        """Micro-batches of a step."""

    @property
    def pp(self) -> FloatArray | IntArray:
        """Stages."""

    @property
    def v(self) -> FloatArray | IntArray:
        """Chunks of the model per stage."""

    @property
    def rounds(self) -> FloatArray:
        """Times per step that a stage runs its layers."""

    @property
    def p2p(self) -> FloatArray:
        """Seconds of the two sends of a micro-batch between chunks."""

    @property
    def slowest(self) -> FloatArray:
        """Seconds of a micro-batch on the slowest stage, both passes: t_max."""

    @property
    def others(self) -> FloatArray:
        """Seconds of a micro-batch on all other stages, a v-th of them: they fill the pipeline.

        Of plans that list their chunks: of the longest chunk of each.
        """

    @property
    def ramp(self) -> FloatArray:
        """Seconds of messages and of the host while the pipeline fills and drains."""

    def split_passes(self) -> Sequence[SplitPasses]:
        """The passes of every class of stages."""

    def hidden(self) -> Sequence[FloatArray]:
        """Seconds that each class of stages hides where passes run side by side."""

    def slowest_passes(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """The slowest forward and the slowest backward pass of any stage, of some of the rows."""


def of_rows(column: FloatArray, rows: IntArray | None) -> FloatArray:
    """Some rows of an (n, k) column; of one that repeats a single row, that row."""
    if rows is None or len(column) == 1:
        return column
    return np.take(column.T, rows, axis=1).T


def paced_sends(a: Assumptions, v: FloatArray | IntArray) -> FloatArray:
    """Messages between chunks that delay each micro-batch of a full pipeline, of interleave v.

    With several chunks per stage, stages work on other chunks meanwhile: a part is hidden.
    """
    return np.where(np.asarray(v) > 1, v * a.interleaved_p2p, v)
