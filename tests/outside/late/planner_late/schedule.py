"""1F1B whose ranks wait for a barrier at the start of every step."""

from planner.base.arrays import BoolArray, FloatArray
from planner.schedules.one_f_one_b import OneFOneB
from planner.schedules.passes import StepTimes

BARRIER_S = 0.5


class LateOneFOneB(OneFOneB):
    """1F1B, half a second later."""

    name = "late-1f1b"
    source = "this file"
    uneven = False

    def bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """That of 1F1B, and the barrier."""
        return super().bubble_s(step, own) + BARRIER_S
