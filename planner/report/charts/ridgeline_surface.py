"""FLOP/s as a surface over two intensities, seen from the side: figures 1 and 3 of the paper.

All axes are logarithmic, so every face is a plane:

    naive     FLOP/s = min(C, y W_M, n W_N)      over FLOP per memory byte y and per network byte n
    surface   FLOP/s = min(C, y W_M, x y W_N)    over memory bytes per network byte x, and y

It is an isometric projection; the corner with the lowest intensities is nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import cos, radians, sin

from frozen_records import dataclass
from planner.base.units import plain
from planner.report.charts.ridgeline_labels import TONES
from planner.report.charts.ridgeline_roofline import rate_words
from planner.report.drawing.chart import Area, Axis, Chart, Key, Line, Mark, Point, Words
from planner.studies.ridgeline.answer import RidgelineResult
from planner.studies.ridgeline.plane import REGIONS, Ridge

_REACH = 1.5
"""Decades on each side of the knee."""
_COS, _SIN, _UP = cos(radians(30)), sin(radians(30)), 0.55
_ROOM, _OUT = 0.5, 0.35
_HATCHES = {"compute": "", "memory": "dots", "network": "slant"}
_INSIDE = 0.5
"""Decades from the knee to the lines on the surface of figure 3."""
Place = tuple[float, float]
"""Decades from the knee along both intensities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surface:
    """A surface around its knee, in decades.

    Attributes:
        title, description: Of the chart.
        across, deep: Names of the two intensities.
        height: Decades of FLOP/s below the peak at a place.
        faces: Corners of each region.
        lines: Lines on it, with their tone.
        legend: What these are.
    """

    title: str
    description: str
    across: str
    deep: str
    height: Callable[[Place], float]
    faces: dict[str, tuple[Place, ...]]
    lines: tuple[tuple[str, tuple[Place, ...]], ...] = ()
    legend: tuple[Key, ...] = ()


def surface(result: RidgelineResult, name: str) -> Chart:
    """The surface of the ridge that matters most.

    Args:
        result: An answer.
        name: `naive` or `surface`.
    """
    ridge = result.ridges[result.main]
    drawn = (_naive if name == "naive" else _ridgeline)(ridge)
    r = _REACH
    corners = [(-r, -r), (r, -r), (-r, r), (r, r)]
    floor = min(map(drawn.height, corners))
    places = [_seen(at, height) for at in corners for height in (floor, 0.0)]
    across, up = zip(*places, strict=True)
    return Chart(
        title=drawn.title,
        subtitle=f"{ridge.level}: at most {rate_words(ridge.flop_per_s)}",
        x=Axis(label="", low=min(across) - _ROOM, high=max(across) + _ROOM, hidden=True),
        y=Axis(label="", low=min(up) - _ROOM, high=max(up) + _ROOM, hidden=True),
        marks=(*_faces(drawn), *_lines(drawn, floor), *_axes(drawn, floor, ridge)),
        legend=drawn.legend,
        description=drawn.description,
        height=0.75,
        equal=True,
    )


def _seen(at: Place, height: float) -> Point:
    """Where a place at a height is seen."""
    return (at[0] - at[1]) * _COS, (at[0] + at[1]) * _SIN + _UP * height


def _naive(ridge: Ridge) -> _Surface:
    r, knee = _REACH, (0.0, 0.0)
    return _Surface(
        title="FLOP/s over both intensities, one axis each",
        description=f"Three faces: a plateau from {plain(ridge.knee_y)} FLOP per memory byte and "
        f"{plain(ridge.diagonal)} FLOP per network byte on, and two that fall, one along each.",
        across="FLOP per memory byte",
        deep="FLOP per network byte",
        height=lambda at: min(0.0, at[0], at[1]),
        faces={
            "compute": (knee, (r, 0.0), (r, r), (0.0, r)),
            "memory": ((-r, -r), knee, (0.0, r), (-r, r)),
            "network": ((-r, -r), (r, -r), (r, 0.0), knee),
        },
    )


def _ridgeline(ridge: Ridge) -> _Surface:
    r, near, knee = _REACH, _INSIDE, (0.0, 0.0)
    roof = ((r, near - r), (near, 0.0), (near - r, r))
    return _Surface(
        title="FLOP/s over the plane of a ridgeline",
        description="The red line is a traditional roofline: equal FLOP per network byte, x y = "
        f"{plain(10**near * ridge.diagonal)}. The blue one is that of network and arithmetic: "
        f"equal FLOP per memory byte, y = {plain(10**near * ridge.knee_y)}. Dashed: on the plane.",
        across="memory bytes per network byte",
        deep="FLOP per memory byte",
        height=lambda at: min(0.0, at[1], at[0] + at[1]),
        faces={
            "compute": (knee, (r, 0.0), (r, r), (-r, r)),
            "memory": (knee, (0.0, -r), (r, -r), (r, 0.0)),
            "network": ((-r, -r), (0.0, -r), knee, (-r, r)),
        },
        lines=(("red", roof), ("blue", ((-r, near), (-near, near), (r, near)))),
        legend=(
            Key(words="equal FLOP per network byte", tone="red", kind="line"),
            Key(words="equal FLOP per memory byte", tone="blue", kind="line"),
        ),
    )


def _faces(drawn: _Surface) -> Iterator[Mark]:
    """The faces, their edges and names."""
    for region in REGIONS:
        around = drawn.faces[region]
        corners = [_seen(at, drawn.height(at)) for at in around]
        yield Area(
            corners=tuple(corners), tone=TONES[region], hatch=_HATCHES[region], detail=region
        )
        yield Line(points=(*corners, corners[0]), tone="grey")
        x, y = (sum(values) / len(corners) for values in zip(*corners, strict=True))
        yield Words(x=x, y=y, words=region, tone=TONES[region], bold=True)


def _lines(drawn: _Surface, floor: float) -> Iterator[Mark]:
    """Lines on the surface, and dashed below them on the plane."""
    for tone, places in drawn.lines:
        yield Line(points=tuple(_seen(at, drawn.height(at)) for at in places), tone=tone, bold=True)
        yield Line(points=_on_floor(places, floor), tone=tone, dashed=True)


def _on_floor(places: Sequence[Place], floor: float) -> tuple[Point, ...]:
    return tuple(_seen(at, floor) for at in places)


def _axes(drawn: _Surface, floor: float, ridge: Ridge) -> Iterator[Mark]:
    """The two near edges of the plane with their names, and the height at its right corner."""
    r, o = _REACH, _OUT
    yield Line(points=_on_floor(((-r, r), (-r, -r), (r, -r)), floor), tone="grey")
    for words, at, towards in (
        (drawn.across, (0.0, -r - o), (r, -r - o)),
        (drawn.deep, (-r - o, 0.0), (-r - o, -r)),
    ):
        x, y = _seen(at, floor)
        yield Words(x=x, y=y, words=words, towards=_seen(towards, floor))
    right = (r, -r)
    yield Line(points=(_seen(right, floor), _seen(right, 0.0)), tone="grey", dotted=True)
    x, y = _seen(right, 0.0)
    yield Words(x=x, y=y, words=rate_words(ridge.flop_per_s))
