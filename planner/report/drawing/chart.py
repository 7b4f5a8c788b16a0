"""What a picture shows, as immutable data: the first of two steps.

A view module (`front_chart`, `breakdown_chart`, ...) turns an answer into a `Picture`: charts with
axes and marks in the units of the axes, no pixels and no library. The second step draws it:
`planner.report.drawing.svg` as SVG (files and pages, no library needed), which
`planner.report.drawing.png` turns into pixels. Tests look at the data first.

Colours are names of `TONES`, so that a page can be light or dark; a mark never rests on its colour
alone: areas and bars carry a hatch too, dots a shape, and `Chart.rows` the figures as a table.
"""

from __future__ import annotations

from frozen_records import dataclass

TONES = ("blue", "orange", "green", "purple", "red", "teal", "brown", "grey")
"""Colours of marks; `style.palette` says what they look like."""
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "hexagon", "wedge", "bar", "star")
HATCHES = ("", "slant", "backslant", "dots", "cross")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis of a chart.

    Attributes:
        label: Quantity with its unit.
        low, high: Values at the two ends; positive where logarithmic.
        logarithmic: Whether it is logarithmic.
        ticks: (value, words); empty: round values are chosen.
        hidden: Neither line, ticks nor label are drawn.
        downwards: Values grow downwards (vertical axes of rows).
        beside: Its ticks are middles of bands, which no line is to cross.
    """

    label: str
    low: float
    high: float
    logarithmic: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    hidden: bool = False
    downwards: bool = False
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A filled polygon behind everything else; corners outside of the axes are cut off."""

    corners: tuple[Point, ...]
    tone: str
    hatch: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line through points; what lies outside of the axes is cut off.

    Attributes:
        points: Its corners.
        tone: Colour.
        dashed: Drawn with gaps.
        dotted: Drawn as dots.
        bold: Twice as wide.
        arrow: With a head at its end.
        detail: What a pointer or a screen reader is told.
        width: Times the usual width.
        strength: From 0 (not seen) to 1: how much of the tone is drawn.
    """

    points: tuple[Point, ...]
    tone: str
    dashed: bool = False
    dotted: bool = False
    bold: bool = False
    arrow: bool = False
    detail: str = ""
    width: float = 1.0
    strength: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An upright rectangle with an outline; words inside are left out where they do not fit.

    Attributes:
        left, right, bottom, top: Sides, in values of the axes.
        tone, hatch: Fill.
        words: Inside.
        detail: What a pointer or a screen reader is told.
        faint: Drawn lightly (capacity, waiting).
    """

    left: float
    right: float
    bottom: float
    top: float
    tone: str
    hatch: str = ""
    words: str = ""
    detail: str = ""
    faint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A marked point.

    Attributes:
        x, y: Where.
        tone, shape: Look.
        words: Label beside it; placed where it covers nothing, or left out.
        detail: What a pointer or a screen reader is told.
        key: What a page shows when it is chosen; empty: nothing.
        strong: Larger and with a ring: the one to look at.
        faint: Small and see-through: one of very many, with neither words nor detail.
        radius: In pixels; 0: as all dots.
        inside: Words on the dot; left out where they do not fit.
        hollow: Drawn as an outline: what cannot be used.
    """

    x: float
    y: float
    tone: str
    shape: str = "circle"
    words: str = ""
    detail: str = ""
    key: str = ""
    strong: bool = False
    faint: bool = False
    radius: float = 0.0
    inside: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Text at a point; `anchor` is start, middle or end, `turned` in degrees counter-clockwise.

    `towards` turns the text along the line to another point, and puts it just above that line.
    """

    x: float
    y: float
    words: str
    anchor: str = "middle"
    tone: str = ""
    bold: bool = False
    turned: float = 0.0
    towards: Point | None = None


Mark = Area | Line | Bar | Dot | Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One entry of a legend.

    `kind` is dot, which may be `hollow`, line, dashed, dotted, area or bar, which may be `faint`;
    `strength` is that of a line.
    """

    words: str
    tone: str
    kind: str = "dot"
    shape: str = "circle"
    hatch: str = ""
    faint: bool = False
    strength: float = 1.0
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One coordinate system with its marks.

    Attributes:
        title, subtitle: Above it.
        x, y: Axes.
        marks: In the order in which they are drawn.
        legend: What the marks mean.
        notes: Below it.
        description: What it shows, for people who do not see it.
        header, rows: The same figures as a table of words.
        height: Over its width.
        equal: One unit is as long on both axes, which are hidden then and may show more.
        newline: Begins a line of its picture.
        spelled: The description spells out the figures that are drawn: no caption for the eye.
    """

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    description: str
    subtitle: str = ""
    legend: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    height: float = 0.55
    equal: bool = False
    newline: bool = False
    spelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One or several charts that belong together.

    Attributes:
        title: Of all of them.
        charts: In reading order.
        columns: Charts on a line.
        width: Of each chart in pixels; 0: as usual for one on a line, or for several.
    """

    title: str
    charts: tuple[Chart, ...]
    columns: int = 1
    width: float = 0.0
