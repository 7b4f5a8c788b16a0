"""The figures of `planner rack parallelism --plot` as charts."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from planner.base.units import show_joules, show_seconds, unit_for
from planner.report.drawing.chart import (
    SHAPES,
    Axis,
    Bar,
    Chart,
    Dot,
    Key,
    Line,
    Mark,
    Picture,
    Words,
)
from planner.report.drawing.geometry import frame
from planner.report.tables.rack_parallelism import (
    NAMES,
    PART_NAMES,
    curve_names,
    curve_of,
    figure_table,
)
from planner.studies.rack.parallelism.figures import Figure, Point

_TONES = {"dp": "blue", "tp": "orange", "pp+tp": "green"}
_BACK_TONES = {"dp": "teal", "tp": "purple", "pp+tp": "brown"}
_PART_LOOKS = {
    "main_memory_read": ("purple", ""),
    "main_memory_write": ("purple", "slant"),
    "gpu_memory_read": ("blue", ""),
    "gpu_memory_write": ("blue", "slant"),
    "sram_read": ("green", ""),
    "sram_write": ("green", "slant"),
    "registers_read": ("brown", ""),
    "registers_write": ("brown", "slant"),
    "compute": ("grey", ""),
    "network": ("orange", ""),
    "network_between_racks": ("orange", "slant"),
    "static": ("red", "dots"),
}
_RADII, _WIDTHS = (6.5, 5.2, 4.2), (2.6, 1.5, 1.0)
"""Of the first curves, and of all others: those that coincide all stay visible."""
_BOTH_RADII, _BOTH_WIDTHS = (4.2, 7.0), (2.4, 1.0)
"""Of the forward and the backward pass where a figure shows both."""
_MARGIN = 1.12
_SAME = 2e-3
"""Relative difference of curves of which one would hide the other."""
_HALF = 0.31
"""Half of the width of a bar, from 1 to the next."""
_HEIGHT = 0.62


def parallelism_picture(figures: Sequence[Figure]) -> Picture:
    """Figures side by side.

    Args:
        figures: At least one.
    """
    charts = tuple(map(parallelism_chart, figures))
    title = "Latency and energy of parallelism in a rack" if len(charts) > 1 else charts[0].title
    return Picture(title=title, charts=charts, columns=min(2, len(charts)))


def parallelism_chart(figure: Figure) -> Chart:
    """One figure: a curve per strategy, or a stack of parts per point."""
    table = figure_table(figure)
    axes, marks, legend = (_bars if figure.shown == "energy" else _curves)(figure)
    return Chart(
        title=f"{figure.number}. {figure.title}",
        x=axes[0],
        y=axes[1],
        marks=tuple(marks),
        legend=tuple(legend),
        notes=_notes(figure),
        description=_described(figure),
        header=tuple(table.header),
        rows=tuple(map(tuple, table.rows)),
        height=_HEIGHT,
    )


def _notes(figure: Figure) -> tuple[str, ...]:
    """How the curves are drawn, where that is not in the legend."""
    notes: tuple[str, ...] = ()
    if figure.series[0].direction:
        notes += ("Dashed: the backward pass.",)
    if figure.shown != "energy" and any(len(names) > 1 for names in _alike(figure)):
        notes += (f"Curves that agree to {100 * _SAME:g} % are drawn as one.",)
    return notes


_Drawn = tuple[tuple[Axis, Axis], list[Mark], list[Key]]


def _value(figure: Figure, point: Point) -> float:
    """Joules or seconds of a point."""
    return point.latency_s if figure.shown == "latency" else point.total_j


def _words(figure: Figure, value: float) -> str:
    return show_seconds(value) if figure.shown == "latency" else show_joules(value)


def _x_label(figure: Figure) -> str:
    return "GPUs" if figure.swept == "gpus" else "threads of a block"


def _described(figure: Figure) -> str:
    """The figure, and each curve from its first to its last point."""
    parts = []
    for name in curve_names(figure):
        points = _points(figure, name)
        ends = points[:1] + points[1:][-1:]
        told = " to ".join(
            f"{_words(figure, _value(figure, point))} at {getattr(point, figure.swept):,}"
            for point in ends
        )
        parts.append(f"{name} {told}")
    return f"Figure {figure.number}. {figure.title}: {'; '.join(parts)} {_x_label(figure)}."


def _curves(figure: Figure) -> _Drawn:
    """A curve per strategy and direction over GPUs or block sizes, both axes logarithmic."""
    lines: list[Mark] = []
    dots: list[Dot] = []
    keys = []
    drawn = 0
    for names in _alike(figure):
        points, name = _points(figure, names[0]), _joined(figure, names)
        back = points[0].direction == "backward"
        tone = (_BACK_TONES if back else _TONES)[points[0].strategy]
        if not any(_value(figure, point) for point in points):
            keys.append(Key(words=f"{name}: none", tone=tone, kind="line"))
            continue
        at, drawn = drawn, drawn + 1
        shape = SHAPES[at % len(SHAPES)]
        keys.append(Key(words=name, tone=tone, shape=shape))
        places = tuple((float(getattr(p, figure.swept)), _value(figure, p)) for p in points)
        shown = tuple(place for place in places if place[1] > 0)
        radius, width = _RADII[min(at, 2)], _WIDTHS[min(at, 2)]
        if points[0].direction:
            radius, width = _BOTH_RADII[back], _BOTH_WIDTHS[back]
        lines.append(Line(points=shown, tone=tone, dashed=back, detail=name, width=width))
        dots += [
            Dot(x=x, y=y, tone=tone, shape=shape, radius=radius,
                detail=f"{name}, {x:,.0f} {_x_label(figure)}: {_words(figure, y)}")
            for x, y in shown
        ]  # fmt: skip
    dots.sort(key=lambda dot: -dot.radius)
    return _curve_axes(figure), [*lines, *dots], keys


def _alike(figure: Figure) -> list[list[str]]:
    """The names of the curves; those that agree at every point, so that one is seen, together."""
    groups: list[list[str]] = []
    for name in curve_names(figure):
        values = _values(figure, name)
        for group in groups:
            first = _values(figure, group[0])
            if first.keys() == values.keys() and all(
                isclose(first[at], values[at], rel_tol=_SAME) for at in first
            ):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _joined(figure: Figure, names: Sequence[str]) -> str:
    """What a curve is called: `DP and TP`, `TP forward and backward`."""
    first, *others = (_points(figure, name)[0] for name in names)
    if first.direction and all(point.strategy == first.strategy for point in others):
        return " and ".join((names[0], *(f"{point.direction}" for point in others)))
    return " and ".join(names)


def _values(figure: Figure, name: str) -> dict[int, float]:
    """The value of a curve at each number of GPUs or block size."""
    return {getattr(point, figure.swept): _value(figure, point) for point in _points(figure, name)}


def _points(figure: Figure, name: str) -> list[Point]:
    return [point for point in figure.series if curve_of(point) == name]


def _curve_axes(figure: Figure) -> tuple[Axis, Axis]:
    swept = sorted({getattr(point, figure.swept) for point in figure.series})
    values = [value for point in figure.series if (value := _value(figure, point)) > 0] or [1.0]
    low, high = min(values) / _MARGIN, max(values) * _MARGIN
    what = "latency" if figure.shown == "latency" else "energy of all GPUs"
    x = Axis(
        label=_x_label(figure), low=swept[0] / _MARGIN, high=swept[-1] * _MARGIN, logarithmic=True,
        ticks=tuple((float(value), f"{value:,}") for value in swept),
    )  # fmt: skip
    ticks = tuple((value, _words(figure, value)) for value in frame.log_ticks(low, high))
    return x, Axis(label=what, low=low, high=high, logarithmic=True, ticks=ticks)


def _bars(figure: Figure) -> _Drawn:
    """A stack of parts per point."""
    points = figure.series
    largest = max(point.total_j for point in points)
    scale, unit = unit_for(largest, "J")
    several = len({point.strategy for point in points}) > 1
    labels = [NAMES[p.strategy] if several else f"{getattr(p, figure.swept):,}" for p in points]
    marks: list[Mark] = []
    for at, (point, label) in enumerate(zip(points, labels, strict=True)):
        low = 0.0
        for part, joules in point.energy_j.items():
            tone, hatch = _PART_LOOKS[part]
            top = low + joules / scale
            if joules > 0:
                marks.append(
                    Bar(left=at - _HALF, right=at + _HALF, bottom=low, top=top, tone=tone,
                        hatch=hatch, detail=f"{label}: {PART_NAMES[part]} {show_joules(joules)}")
                )  # fmt: skip
            low = top
        words = show_joules(point.total_j, 3)
        marks.append(Words(x=at, y=low + 0.035 * largest / scale, words=words))
    keys = [
        Key(words=PART_NAMES[part], tone=_PART_LOOKS[part][0], kind="bar",
            hatch=_PART_LOOKS[part][1])
        for part in points[0].energy_j
    ]  # fmt: skip
    x = Axis(
        label="" if several else _x_label(figure), low=-0.6, high=len(points) - 0.4,
        ticks=tuple((float(at), label) for at, label in enumerate(labels)),
    )  # fmt: skip
    y = Axis(label=f"energy of all GPUs ({unit})", low=0.0, high=1.09 * largest / scale or 1.0)
    return (x, y), marks, keys
