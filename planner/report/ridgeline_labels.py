"""What is written beside the points of a ridgeline, and what their looks mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot, log10

from planner.plan import FloatArray
from planner.report.chart import Key, Point
from planner.report.ridgeline_view import drawn_names, point_names
from planner.ridgeline.answer import NEAR_RULE, RidgelineResult, step_words
from planner.ridgeline.plane import REGIONS

TONES = {"compute": "green", "memory": "orange", "network": "blue"}
"""Colour of a region, in every chart."""
SHAPES = {"compute": "circle", "memory": "square", "network": "diamond"}
"""Shape of a point in a region, in every chart."""
MOST_NAMED = 40
"""Points up to which all have their names beside them."""
HEIGHT = 0.7
"""Of a chart over its width."""
_TOUCHING = 0.035
"""Share of the width of a chart: dots that are closer than this cover one another."""
_SAME = 0.012
_WIDE, _HIGH, _CLEAR = 0.19, 0.04, 0.02
"""Words on a chart and what they keep clear of, in shares of its width."""
_RINGED = NEAR_RULE.replace("Near", "Ringed, near", 1)
_TOO_LARGE = Key(words="does not fit in memory", tone="grey", hollow=True)
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
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


def dot_names(
    result: RidgelineResult,
    rows: Sequence[int],
    at: tuple[FloatArray, FloatArray],
    across: Ends,
    up: Ends,
) -> list[str]:
    """Per point of an answer what is written beside it on a chart with logarithmic axes.

    Of points that cover one another one is named for all: `16 to 4,096` along a path, `a, b`
    elsewhere.

    Args:
        result: The answer.
        rows: The points that are drawn.
        at: Where all points are.
        across, up: Ends of the axes.
    """
    names = drawn_names(result)
    found = [""] * len(names)
    if len(rows) > MOST_NAMED:
        return found
    spots = {row: _spot((float(at[0][row]), float(at[1][row])), across, up) for row in rows}
    along = bool(result.step_name) and len(set(result.series)) == 1
    for group in _groups([row for row in rows if names[row]], spots, along=along):
        middle = group[len(group) // 2]
        if len(group) == 1:
            found[middle] = names[middle]
        elif along:
            found[middle] = _range(result, group)
        else:
            more = f" and {len(group) - 1} more" if len(group) > 2 else f", {names[group[-1]]}"
            found[middle] = f"{names[group[0]]}{more}"
    return found


def _spot(point: Point, across: Ends, up: Ends) -> Point:
    """A point in shares of the width of a chart."""
    x = log10(point[0] / across[0]) / log10(across[1] / across[0])
    return x, HEIGHT * log10(point[1] / up[0]) / log10(up[1] / up[0])


def _groups(rows: Sequence[int], spots: dict[int, Point], *, along: bool) -> list[list[int]]:
    """Points that cover one another: neighbours of a path that touch, or points of one place."""
    groups: list[list[int]] = []
    for row in rows:
        if along:
            near = [group for group in groups[-1:] if _apart(spots, group[-1], row) < _TOUCHING]
        else:
            near = [group for group in groups if _apart(spots, group[0], row) < _SAME]
        if near:
            near[0].append(row)
        else:
            groups.append([row])
    return groups


def _apart(spots: dict[int, Point], one: int, other: int) -> float:
    (x, y), (x_other, y_other) = spots[one], spots[other]
    return hypot(x - x_other, y - y_other)


def _range(result: RidgelineResult, group: Sequence[int]) -> str:
    """`16 to 4,096`, `tp 1 to 4 (the plan: 2)`."""
    words = f"{_step_name(result)}{step_words(result.steps[group[0]])} to "
    words += step_words(result.steps[group[-1]])
    if result.kind == "plan" and result.given in group:
        words += f" (the plan: {step_words(result.steps[result.given])})"
    return words


def _step_name(result: RidgelineResult) -> str:
    name = point_names(result)[0]
    return name[: name.index(step_words(result.steps[0]))]
