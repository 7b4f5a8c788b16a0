"""The parts of a step that a picture of its schedule shows, beside each other on one axis."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.cost.timeline.timeline import Timeline
from planner.schedules import schedule_of
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD

READABLE = 72
"""Operations on a row that can be told apart."""
_BREAK = 0.035
"""Width of a break over that of what is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of the step that is shown.

    Attributes:
        begin_s, end_s: Of the step.
        at: Where it begins on the axis.
    """

    begin_s: float
    end_s: float
    at: float

    def place(self, seconds: float) -> float:
        """Where a moment of it is on the axis."""
        return self.at + seconds - self.begin_s


def windows_of(timeline: Timeline) -> tuple[Window, ...]:
    """The parts of a step that are shown: all of it, or what is not the same over and over."""
    whole = timeline.makespan_s
    # Chunks of a stage that a micro-batch visits.
    chunks = timeline.interleave // schedule_of(timeline.schedule).replicas
    passes = chunks * timeline.micro_batches * (2 + timeline.splits_backward)
    spans = [(0.0, whole)]
    if passes > READABLE:
        spans = _joined(_ends(timeline), whole)
    gap = _BREAK * sum(end - begin for begin, end in spans)
    windows: list[Window] = []
    for begin, end in spans:
        at = windows[-1].place(windows[-1].end_s) + gap if windows else 0.0
        windows.append(Window(begin_s=begin, end_s=end, at=at))
    return tuple(windows)


def _ends(timeline: Timeline) -> list[tuple[float, float]]:
    """Filling and draining of the pipeline, with some operations of the steady state beside them.

    Filling ends with the first backward pass of the first stage, draining begins with its last
    forward pass; with GPipe the two meet in the turn, and the step begins and ends with passes in
    one direction.
    """
    first = timeline.of_stage(0)
    starts = timeline.start_s[first & (timeline.kind == BACKWARD)]
    ends = timeline.end_s[first & (timeline.kind == FORWARD)]
    passes = np.isin(timeline.kind, (FORWARD, BACKWARD, WEIGHT_GRAD))
    pair = float(np.sum((timeline.end_s - timeline.start_s)[first & passes])) / len(starts)
    few = READABLE / 12 * pair
    if starts[0] >= ends[-1]:
        middle = max(few, (timeline.stages + 2) * pair / 2)
        turn = (float(ends[-1]) - few / 3, float(starts[0]) + few / 3)
        return [(0.0, middle), turn, (timeline.pipeline_s - middle, timeline.makespan_s)]
    return [(0.0, float(starts[0]) + few), (float(ends[-1]) - few, timeline.makespan_s)]


def _joined(spans: list[tuple[float, float]], whole: float) -> list[tuple[float, float]]:
    """Spans within the step; those that overlap or nearly touch as one."""
    joined = [(max(spans[0][0], 0.0), min(spans[0][1], whole))]
    near = _BREAK * sum(end - begin for begin, end in spans)
    for begin, end in spans[1:]:
        if begin - joined[-1][1] <= near:
            joined[-1] = (joined[-1][0], min(end, whole))
        else:
            joined.append((begin, min(end, whole)))
    return joined
