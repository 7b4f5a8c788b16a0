"""The pictures of `planner reproduce`: each as the command of its study draws it.

The charts carry the numbers of the document's figures in their titles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from planner.collectives.runs.times import TimeComparison
from planner.report.charts.collective_time import time_picture
from planner.report.charts.feasible import feasible_picture
from planner.report.charts.rack_parallelism import parallelism_picture
from planner.report.charts.rack_zero import zero_picture
from planner.report.charts.ridgeline import ridgeline_picture
from planner.report.drawing.chart import Picture
from planner.studies.feasibility.pictured import Pictured
from planner.studies.rack.parallelism.asking import ParallelismAnswer
from planner.studies.rack.zero.figures import ZeroAnswer
from planner.studies.reproduce.found import Found, Shown
from planner.studies.ridgeline.answer import RidgelineResult


def pictures_of(found: Found) -> tuple[Picture, ...]:
    """One picture for each answer that an item shows."""
    return tuple(map(_drawn, found.pictured))


def _drawn(shown: Shown) -> Picture:
    draw = next(draw for kind, draw in _DRAW.items() if isinstance(shown.answer, kind))
    picture = draw(shown.answer, shown.panels)
    charts = picture.charts
    if shown.labels:
        labelled = zip(shown.labels, charts, strict=True)
        charts = tuple(
            replace(one, title=f"{label}: {_NUMBER.sub('', one.title)}") for label, one in labelled
        )
    if shown.note:
        charts = tuple(replace(one, notes=(*one.notes, shown.note)) for one in charts)
    return replace(picture, charts=charts)


_NUMBER = re.compile(r"^[0-9]+\. ")
"""What the title of a figure begins with; its label has the number too."""
_DRAW: dict[type, Callable[[Any, Sequence[str]], Picture]] = {
    Pictured: feasible_picture,
    RidgelineResult: ridgeline_picture,
    TimeComparison: lambda answer, _: time_picture(answer),
    ZeroAnswer: lambda answer, _: zero_picture(answer),
    ParallelismAnswer: lambda answer, _: parallelism_picture(answer.figures),
}
"""By the type of an answer, and its panels."""
