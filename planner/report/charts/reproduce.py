"""The pictures of `planner reproduce`: each as the command of its study draws it.

The charts carry the numbers of the document's figures in their titles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from planner.report.charts.feasible import feasible_picture
from planner.report.drawing.chart import Picture
from planner.studies.feasibility.pictured import Pictured
from planner.studies.reproduce.found import Found, Shown


def pictures_of(found: Found) -> tuple[Picture, ...]:
    """One picture for each answer that an item shows."""
    return tuple(map(_drawn, found.pictured))


def _drawn(shown: Shown) -> Picture:
    draw = next(draw for kind, draw in _DRAW.items() if isinstance(shown.answer, kind))
    picture = draw(shown.answer, shown.panels)
    if not shown.labels:
        return picture
    charts = zip(shown.labels, picture.charts, strict=True)
    titled = tuple(replace(one, title=f"{label}: {one.title}") for label, one in charts)
    return replace(picture, charts=titled)


_DRAW: dict[type, Callable[[Any, Sequence[str]], Picture]] = {
    Pictured: feasible_picture,
}
"""By the type of an answer, and its panels."""
