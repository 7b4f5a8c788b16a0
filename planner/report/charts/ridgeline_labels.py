"""What is written beside the points of a ridgeline, and what their looks mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import hypot, log10

from frozen_records import dataclass
from planner.report.drawing.chart import Chart, Dot, Key, Point
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import labels_of
from planner.report.tables.ridgeline import GIVEN, drawn_names, point_names
from planner.studies.ridgeline.answer import NEAR_RULE, RidgelineResult, step_words
from planner.studies.ridgeline.plane import REGIONS

TONES = {"compute": "green", "memory": "orange", "network": "blue"}
"""Colour of a region, in every chart."""
SHAPES = {"compute": "circle", "memory": "square", "network": "diamond"}
"""Shape of a point in a region, in every chart."""
MOST_NAMED = 40
"""Points up to which all have their names beside them."""
HEIGHT = 0.7
"""Of a chart over its width."""
_TOUCHING = (0.015, 0.027, 0.04, 0.07, 0.12)
"""Shares of the width of a chart: neighbours that are closer get one name. The second is a dot's
width; what comes after it is tried where names have no room."""
_WIDTH = 560.0
"""Pixels of the narrowest chart that names must fit on."""
_LEFT_OUT = "Points without a name have no room for it; the printed table names all."
_SAME = 0.012
_WIDE, _HIGH, _CLEAR = 0.19, 0.04, 0.02
"""Words on a chart and what they keep clear of, in shares of its width."""
_RINGED = NEAR_RULE.replace("Near", "Ringed, near", 1)
_TOO_LARGE = Key(words="does not fit in memory", tone="grey", hollow=True)
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSpace:
    """A chart with logarithmic axes and the points that its words keep clear of."""

    across: Ends
    up: Ends
    points: tuple[Point, ...]

    def first(self, places: Sequence[Point], anchor: str) -> Point:
        """The first place whose words cover no point; the first of all where there is none.

        Args:
            places: The best first.
            anchor: Which part of the words is there: `middle` or `end`.
        """
        spots = [_spot(point, self.across, self.up) for point in self.points]
        left, right = (-_WIDE, 0.0) if anchor == "end" else (-_WIDE / 2, _WIDE / 2)
        for place in places:
            x, y = _spot(place, self.across, self.up)
            if not any(
                left - _CLEAR < at - x < right + _CLEAR and abs(height - y) < _HIGH / 2 + _CLEAR
                for at, height in spots
            ):
                return place
        return places[0]


def region_keys(regions: Iterable[str]) -> tuple[Key, ...]:
    """The regions that points are in, in the order of `REGIONS`."""
    found = set(regions)
    return tuple(
        Key(words=f"{region}-bound", tone=TONES[region], shape=SHAPES[region])
        for region in REGIONS
        if region in found
    )


def fit_keys(result: RidgelineResult, rows: Iterable[int]) -> tuple[Key, ...]:
    """What hollow points mean, where there are any."""
    return () if all(map(result.fits_at, rows)) else (_TOO_LARGE,)


def fit_words(result: RidgelineResult, row: int) -> str:
    """What a pointer is told of a point that cannot be used."""
    return "" if result.fits_at(row) else "; does not fit in memory"


def near_notes(rings: Iterable[bool]) -> tuple[str, ...]:
    """What rings mean, where there are any."""
    return (_RINGED,) if any(rings) else ()


def named(chart: Chart, result: RidgelineResult) -> Chart:
    """A chart with logarithmic axes and a name beside each of its points.

    Of points that cover one another one is named for all: `16 to 4,096` along a path, `a and b`
    elsewhere; more of them, the less room there is. A note says where names are left out.

    Args:
        chart: Its points in the order of the answer, with their numbers in `Dot.key`.
        result: The answer.
    """
    names = drawn_names(result)
    dots = {int(mark.key): mark for mark in chart.marks if isinstance(mark, Dot) and mark.key}
    bare = _with_words(chart, {})
    if len(dots) > MOST_NAMED:
        return _with_note(bare)
    rows = [row for row in dots if names[row]]
    ends = (chart.x.low, chart.x.high), (chart.y.low, chart.y.high)
    spots = {row: _spot((dots[row].x, dots[row].y), *ends) for row in rows}
    along = bool(result.step_name) and len(set(result.series)) == 1
    best, most = bare, 0
    for touching in _TOUCHING if along else (_SAME, *_TOUCHING[1:]):
        groups = _groups(rows, spots, touching, along=along)
        words = {str(one[len(one) // 2]): _words(result, one, along=along) for one in groups}
        found = _with_words(chart, words)
        fitting = len(labels_of(found, frame_of(found, _WIDTH)))
        if fitting == len(groups):
            return found
        if fitting > most:
            best, most = found, fitting
    return _with_note(best)


def _with_words(chart: Chart, words: dict[str, str]) -> Chart:
    """The words by key beside the points of a chart; the keys go."""
    marks = (
        replace(mark, words=words.get(mark.key, ""), key="")
        if isinstance(mark, Dot) and mark.key
        else mark
        for mark in chart.marks
    )
    return replace(chart, marks=tuple(marks))


def _with_note(chart: Chart) -> Chart:
    return replace(chart, notes=(*chart.notes, _LEFT_OUT))


def _spot(point: Point, across: Ends, up: Ends) -> Point:
    """A point in shares of the width of a chart."""
    x = log10(point[0] / across[0]) / log10(across[1] / across[0])
    return x, HEIGHT * log10(point[1] / up[0]) / log10(up[1] / up[0])


def _groups(
    rows: Sequence[int], spots: dict[int, Point], touching: float, *, along: bool
) -> list[list[int]]:
    """Points that cover one another: neighbours of a path that touch, or points of one place."""
    groups: list[list[int]] = []
    for row in rows:
        others = (
            ((group, group[-1]) for group in groups[-1:])
            if along
            else ((group, group[0]) for group in groups)
        )
        near = [group for group, other in others if _apart(spots, other, row) < touching]
        if near:
            near[0].append(row)
        else:
            groups.append([row])
    return groups


def _apart(spots: dict[int, Point], one: int, other: int) -> float:
    (x, y), (x_other, y_other) = spots[one], spots[other]
    return hypot(x - x_other, y - y_other)


def _words(result: RidgelineResult, group: Sequence[int], *, along: bool) -> str:
    """`16`, `16 to 4,096`, `tp 1 to 4`, `a and b`, `a and 3 more`."""
    names = point_names(result)
    first, last = group[0], group[-1]
    if len(group) == 1:
        return names[first]
    if along:
        start = names[first].removesuffix(GIVEN)
        return f"{start} to {step_words(result.steps[last])}"
    more = f"{len(group) - 1} more" if len(group) > 2 else names[last]
    return f"{names[first]} and {more}"
