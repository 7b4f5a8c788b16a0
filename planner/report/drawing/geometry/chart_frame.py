"""Where the parts of a chart are, in pixels: heading, legend, axes with their ticks, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import log10

from frozen_records import dataclass
from planner.base.numerals import is_digits
from planner.report.drawing import chart
from planner.report.drawing.chart import Chart, Key, Point
from planner.report.drawing.geometry import frame
from planner.report.drawing.geometry.lettering import cut, widest, width_of, wrapped
from planner.report.drawing.geometry.shapes import Box, Pixel

PAD = 14.0
TITLE, NORMAL, SMALL = 15.0, 12.0, 11.0
LINE = 15.0
"""Pixels from line to line of small text."""
SYMBOL = 22.0
"""Room of a symbol in the legend."""
TURNED = 35.0
"""Degrees by which names below a horizontal axis rise where they are too wide side by side."""
_FAR = 1e7
_LEAST_LOG = 1e-300
_MOST_LINES = 3
_WIDEST_NAMES = 0.34
"""Most of the width that names beside a vertical axis take."""
_LOWEST_NAMES = 90.0
_TICK_APART = 13.0
_ALIKE = 0.5
"""Pixels by which the steps between ticks differ that are equally far apart."""
_HEADING_LINE, _LEGEND_LINE = 19.0, 19.0
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A value of an axis: its pixel along the axis and its words, one line or several."""

    at: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A key of the legend with the left end of its symbol and its base line."""

    key: Key
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A chart in pixels; y grows downwards.

    Attributes:
        width, height: Of all of it.
        title, subtitle, notes, y_label: Lines of text.
        legend: Its entries.
        area: Inside of the axes.
        x, y: Axes.
        x_ticks, y_ticks: What is written at them.
        turned: Whether the words below the horizontal axis are.
        subtitle_top, notes_top: Upper ends of these lines.
    """

    width: float
    height: float
    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    legend: tuple[Entry, ...]
    area: Box
    x: frame.Axis
    y: frame.Axis
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    turned: bool
    y_label: tuple[str, ...]
    notes: tuple[str, ...]
    subtitle_top: float
    notes_top: float

    def at(self, point: Point) -> Pixel:
        """The pixel of a point in values of the axes."""
        return pixel(self.x, point[0]), pixel(self.y, point[1])


def frame_of(one: Chart, width: float) -> Frame:
    """Finds a place for every part of a chart.

    Args:
        one: The chart.
        width: Of all of it, in pixels.
    """
    inner = width - 2 * PAD
    title, subtitle = wrapped(one.title, TITLE, inner * 0.95), wrapped(one.subtitle, NORMAL, inner)
    subtitle_top = PAD + _HEADING_LINE * len(title)
    legend_top = subtitle_top + 16 * len(subtitle) + 4
    legend, rows = _legend(one.legend, legend_top, inner)
    top = legend_top + _LEGEND_LINE * rows + (10 if title or rows else 0)
    body = width * one.height
    y_label = () if one.y.hidden else tuple(wrapped(one.y.label, NORMAL, 0.75 * body - 20))
    left = PAD if one.y.hidden else _left(one.y, len(y_label), width)
    right = width - PAD - (0 if one.x.hidden else 12)
    x = axis_of(one.x, left, right)
    x_ticks, turned = ((), False) if one.x.hidden else _below(one.x, x)
    bottom = 2.0 if one.x.hidden else _bottom(x_ticks, bool(one.x.label), turned)
    low = top + max(body - bottom, 60.0)
    y = axis_of(one.y, top, low) if one.y.downwards else axis_of(one.y, low, top)
    if one.equal:
        x, y = _evened(x, y)
    notes = [line for note in one.notes for line in wrapped(note, SMALL, inner)]
    notes_top = low + bottom + 6
    return Frame(
        width=width, height=notes_top + LINE * len(notes) + (8 if notes else 2),
        title=tuple(title), subtitle=tuple(subtitle), legend=legend,
        area=Box(left=left, top=top, right=right, bottom=low), x=x, y=y, x_ticks=x_ticks,
        y_ticks=() if one.y.hidden else _beside(one.y, y, left - PAD), turned=turned,
        y_label=y_label, notes=tuple(notes), subtitle_top=subtitle_top, notes_top=notes_top,
    )  # fmt: skip


def axis_of(axis: chart.Axis, start: float, end: float) -> frame.Axis:
    """An axis between two pixels."""
    low, high = axis.low, axis.high
    if axis.logarithmic:
        low, high = log10(low), log10(high)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return frame.Axis(low=low, high=high, start=start, end=end, logarithmic=axis.logarithmic)


def _evened(x: frame.Axis, y: frame.Axis) -> tuple[frame.Axis, frame.Axis]:
    """Both axes with as many pixels for one unit: that with more shows more on both sides."""
    unit = max((axis.high - axis.low) / abs(axis.end - axis.start) for axis in (x, y))
    evened = []
    for axis in (x, y):
        middle, reach = (axis.low + axis.high) / 2, unit * abs(axis.end - axis.start) / 2
        evened.append(replace(axis, low=middle - reach, high=middle + reach))
    return evened[0], evened[1]


def pixel(axis: frame.Axis, value: float) -> float:
    """The pixel of any value; what has no place on the axis is far outside of it."""
    at = axis.at(max(value, _LEAST_LOG) if axis.logarithmic else value)
    return min(max(at, -_FAR), _FAR)


def tick_words(axis: chart.Axis, drawn: frame.Axis) -> list[tuple[float, str]]:
    """Values and words of an axis: its own, or round values inside."""
    if axis.ticks:
        low, high = sorted((axis.low, axis.high))
        slack = 1e-9 * (high - low)
        return [(v, words) for v, words in axis.ticks if low - slack <= v <= high + slack]
    values = drawn.ticks()
    if axis.logarithmic and len(values) < 2:
        values = [value for value in frame.ticks(axis.low, axis.high) if value > 0]
    return [(value, value_words(value)) for value in values]


def value_words(value: float) -> str:
    """A value of an axis: `0.25`, `20,000`, `5×10⁷`."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.6g}" if abs(value) >= 1000 else f"{value:.6g}"
    digits, _, power = f"{value:.3e}".partition("e")
    factor = f"{float(digits):g}"
    tens = f"10{str(int(power)).translate(_SUPERSCRIPT)}"
    return tens if factor == "1" else f"{factor}×{tens}"


def _legend(keys: Sequence[Key], top: float, inner: float) -> tuple[tuple[Entry, ...], int]:
    """The entries from left to right, line by line, and how many lines there are."""
    entries: list[Entry] = []
    x, row = PAD, 0
    for key in keys:
        wide = SYMBOL + width_of(key.words, SMALL) + 18
        if entries and x + wide - 18 > PAD + inner:
            x, row = PAD, row + 1
        entries.append(Entry(key=key, x=x, y=top + _LEGEND_LINE * row + 13))
        x += wide
    return tuple(entries), row + 1 if entries else 0


def _left(axis: chart.Axis, label_lines: int, width: float) -> float:
    """Where the area begins: behind the label and the names of the vertical axis."""
    names = [words for _, words in tick_words(axis, axis_of(axis, 0.0, 1.0))]
    room = min(widest(names, SMALL), _WIDEST_NAMES * width)
    return PAD + 17 * label_lines + room + 9


def _beside(axis: chart.Axis, drawn: frame.Axis, room: float) -> tuple[Tick, ...]:
    """Ticks of the vertical axis, at least a line apart."""
    ticks: list[Tick] = []
    for value, words in tick_words(axis, drawn):
        at = drawn.at(value)
        if all(abs(at - other.at) >= _TICK_APART for other in ticks):
            ticks.append(Tick(at=at, lines=(cut(words, SMALL, room),)))
    return tuple(ticks)


def _below(axis: chart.Axis, drawn: frame.Axis) -> tuple[tuple[Tick, ...], bool]:
    """Ticks of the horizontal axis: side by side, in several lines, or turned."""
    named = [(drawn.at(value), words) for value, words in tick_words(axis, drawn)]
    slot = min((abs(b[0] - a[0]) for a, b in pairwise(named)), default=abs(drawn.end - drawn.start))
    words = [one for _, one in named]
    plain = [Tick(at=at, lines=(one,)) for at, one in named]
    if not axis.ticks or widest(words, SMALL) + 8 <= slot:
        return _thinned(plain), False
    lines = [tuple(wrapped(one, SMALL, slot - 8)) for one in words]
    if slot > 30 and max(map(len, lines)) <= _MOST_LINES and not _any_cut(words, lines):
        ticks = zip(named, lines, strict=True)
        return tuple(Tick(at=at, lines=several) for (at, _), several in ticks), False
    if all(is_digits(one.replace(",", "").replace(".", "")) for one in words):
        return _thinned(plain), False
    turned: list[Tick] = []
    for at, one in named:
        if not turned or abs(at - turned[-1].at) >= _TICK_APART + 3:
            room = min(_LOWEST_NAMES / 0.57, (at - PAD) / 0.82)
            turned.append(Tick(at=at, lines=(cut(one, SMALL, room),)))
    return tuple(turned), True


def _any_cut(words: Sequence[str], lines: Sequence[tuple[str, ...]]) -> bool:
    return any(
        one.split() != " ".join(several).split() for one, several in zip(words, lines, strict=True)
    )


def _thinned(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """Those whose words do not touch the words before them.

    Of ticks that are equally far apart, every second is left out, or more of them, so that the rest
    are so as well.
    """
    steps = [abs(after.at - before.at) for before, after in pairwise(ticks)]
    if steps and max(steps) - min(steps) < _ALIKE:
        for stride in range(1, len(ticks)):
            kept = ticks[::stride]
            if all(_is_clear(*pair) for pair in pairwise(kept)):
                return tuple(kept)
    found: list[Tick] = []
    for tick in ticks:
        if not found or _is_clear(found[-1], tick):
            found.append(tick)
    return tuple(found)


def _is_clear(before: Tick, after: Tick) -> bool:
    """Whether the words of two ticks do not touch."""
    wide = sum(width_of(tick.lines[0], SMALL) for tick in (before, after))
    return abs(after.at - before.at) > wide / 2 + 8


def _bottom(ticks: Sequence[Tick], labelled: bool, turned: bool) -> float:
    """Room below the area."""
    label = 19.0 if labelled else 0.0
    if turned:
        longest = max((width_of(tick.lines[0], SMALL) for tick in ticks), default=0.0)
        return 14 + 0.57 * longest + 8 + label
    return 8 + 14.0 * max((len(tick.lines) for tick in ticks), default=0) + 4 + label
