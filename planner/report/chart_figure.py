"""Charts with matplotlib as PNG: every part where `chart_svg` has it, in light colours."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from planner.report.chart import Area, Bar, Chart, Dot, Key, Line, Mark, Picture, Words
from planner.report.chart_axes import is_named, is_soft
from planner.report.chart_frame import LINE, NORMAL, PAD, SMALL, SYMBOL, TITLE, TURNED, Entry, Frame
from planner.report.chart_places import (
    RING,
    box_of,
    is_many,
    labels_of,
    layers,
    parts_of,
    radius_of,
    shown_dots,
    turned_of,
    words_inside,
)
from planner.report.chart_svg import Sheet, sheet_of
from planner.report.clipping import clipped_area
from planner.report.palette import LIGHT
from planner.report.plotting import load_pyplot
from planner.report.shapes import Pixel
from planner.report.symbols import corners_of

_PIXELS = 72.0
"""Pixels of a sheet in an inch, so that a pixel is a point."""
_DPI = 144
_LETTERS = 0.87
"""The font of matplotlib is wider than that of the pages."""
_HATCHES = {"": "", "slant": "////", "backslant": "\\\\\\\\", "dots": "...", "cross": "xxxx"}
_FAINT, _HATCHED, _OVER = "21", "73", "73"
"""Opacity of faint fills, of the hatches over them and over solid fills, in hexadecimal digits."""


def picture_png(picture: Picture) -> bytes:
    """A picture in light colours as the bytes of a PNG file, the same for the same picture.

    Raises:
        InputError: matplotlib is not installed.
    """
    plt = load_pyplot()
    sheet = sheet_of(picture)
    size = (sheet.width / _PIXELS, sheet.height / _PIXELS)
    with plt.rc_context({"hatch.linewidth": 0.8, "font.family": "DejaVu Sans"}):
        figure = plt.figure(figsize=size, facecolor=LIGHT["paper"])
        panel = figure.add_axes((0, 0, 1, 1), xlim=(0, sheet.width), ylim=(sheet.height, 0))
        panel.set_axis_off()
        for canvas, chart, drawn in _canvases(panel, sheet):
            _draw(canvas, chart, drawn)
        if sheet.title:
            _Canvas(panel=panel).text(PAD, PAD + 20, sheet.title, size=TITLE + 3, bold=True)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
        plt.close(figure)
    return buffer.getvalue()


class _Canvas:
    """A part of the sheet with its own origin, in pixels; what is drawn later covers the rest."""

    def __init__(self, *, panel: Any, left: float = 0.0, top: float = 0.0) -> None:
        self.panel, self.left, self.top = panel, left, top
        self.order = 1.0

    def _above(self) -> float:
        self.order += 1e-3
        return self.order

    def _shifted(self, points: Sequence[Pixel]) -> list[Pixel]:
        return [(x + self.left, y + self.top) for x, y in points]

    def polygon(self, corners: Sequence[Pixel], face: str, edge: str = "none", hatch: str = "",
                outline: str = "none", width: float = 0.0) -> None:  # fmt: skip
        """A filled polygon, with a hatch in the colour `edge`, and an outline above both."""
        from matplotlib.patches import Polygon  # noqa: PLC0415  (an extra, and only for pictures)

        at = self._shifted(corners)
        patch = Polygon(at, facecolor=face, edgecolor=edge if hatch else "none", linewidth=0,
                        hatch=_HATCHES[hatch], zorder=self._above())  # fmt: skip
        self.panel.add_patch(patch)
        if outline != "none":
            self.panel.add_patch(Polygon(at, fill=False, edgecolor=outline, linewidth=width,
                                         zorder=self._above()))  # fmt: skip

    def line(
        self, points: Sequence[Pixel], colour: str, width: float, *, dashed: bool = False
    ) -> None:
        """A line through points."""
        x, y = zip(*self._shifted(points), strict=True)
        style = (0, (6 / width, 4 / width)) if dashed else "-"
        self.panel.plot(x, y, color=colour, linewidth=width, linestyle=style,
                        solid_capstyle="butt", zorder=self._above())  # fmt: skip

    def symbol(
        self, at: Pixel, radius: float, shape: str, colour: str, *, hollow: bool = False
    ) -> None:
        """A dot with a thin edge, or an outline."""
        face, edge, width = (
            (LIGHT["paper"], colour, 2.0) if hollow else (colour, LIGHT["paper"], 0.8)
        )
        if shape == "circle":
            self._circle(at, radius, facecolor=face, edgecolor=edge, linewidth=width)
        else:
            self.polygon(corners_of(shape, at, radius), face, outline=edge, width=width)

    def ring(self, at: Pixel, radius: float, colour: str) -> None:
        """A circle."""
        self._circle(at, radius, fill=False, edgecolor=colour, linewidth=2.2)

    def _circle(self, at: Pixel, radius: float, **look: Any) -> None:
        from matplotlib.patches import Circle  # noqa: PLC0415  (an extra, and only for pictures)

        (middle,) = self._shifted([at])
        self.panel.add_patch(Circle(middle, radius, zorder=self._above(), **look))

    def text(self, x: float, y: float, words: str, *, size: float = SMALL, anchor: str = "start",
             colour: str = "ink", bold: bool = False, turned: float = 0.0,
             halo: str = "") -> None:  # fmt: skip
        """A line of text on its base line; `turned` in degrees counter-clockwise."""
        written = self.panel.text(
            x + self.left, y + self.top, words, fontsize=size * _LETTERS, parse_math=False,
            ha={"start": "left", "middle": "center", "end": "right"}[anchor], va="baseline",
            color=LIGHT[colour], fontweight="bold" if bold else "normal", rotation=turned,
            rotation_mode="anchor", zorder=self._above(),
        )  # fmt: skip
        if halo:
            from matplotlib.patheffects import withStroke  # noqa: PLC0415  (an extra)

            written.set_path_effects([withStroke(linewidth=3.0, foreground=LIGHT[halo])])


def _canvases(panel: Any, sheet: Sheet) -> list[tuple[_Canvas, Chart, Frame]]:
    return [
        (_Canvas(panel=panel, left=place.left, top=place.top), place.chart, place.frame)
        for place in sheet.places
    ]


def _draw(canvas: _Canvas, chart: Chart, drawn: Frame) -> None:
    """One chart with everything around it."""
    _around(canvas, drawn)
    for mark in chart.marks:
        if isinstance(mark, Area):
            _area(canvas, mark, drawn)
    _grid(canvas, chart, drawn)
    below, above = layers(chart)
    _marks(canvas, chart, below, drawn)
    _axes(canvas, chart, drawn)
    _marks(canvas, chart, above, drawn)
    for label, dot in labels_of(chart, drawn):
        if label.leader is not None:
            canvas.line([label.leader.start, label.leader.end], LIGHT["muted"], 0.8)
        canvas.text(label.x, label.y, dot.words, anchor=label.anchor, bold=dot.strong, halo="paper")


def _marks(canvas: _Canvas, chart: Chart, marks: Sequence[Mark], drawn: Frame) -> None:
    """Some marks of a chart in their order, without areas and labels."""
    many, dots = is_many(chart), set(map(id, shown_dots(chart, drawn)))
    for mark in marks:
        if isinstance(mark, Line):
            _line(canvas, mark, drawn)
        elif isinstance(mark, Bar):
            _bar(canvas, mark, drawn)
        elif isinstance(mark, Words):
            _words(canvas, mark, drawn)
        elif isinstance(mark, Dot) and id(mark) in dots:
            _dot(canvas, mark, drawn, many=many)


def _around(canvas: _Canvas, drawn: Frame) -> None:
    """Heading, legend and notes."""
    for row, line in enumerate(drawn.title):
        canvas.text(PAD, PAD + 13 + 19 * row, line, size=TITLE, bold=True)
    for row, line in enumerate(drawn.subtitle):
        canvas.text(PAD, drawn.subtitle_top + 11 + 16 * row, line, size=NORMAL, colour="muted")
    for entry in drawn.legend:
        _sign(canvas, entry)
        canvas.text(entry.x + SYMBOL, entry.y, entry.key.words)
    for row, line in enumerate(drawn.notes):
        canvas.text(PAD, drawn.notes_top + 11 + LINE * row, line, colour="muted")


def _sign(canvas: _Canvas, entry: Entry) -> None:
    key: Key = entry.key
    x, y, colour = entry.x, entry.y - 4, LIGHT[key.tone]
    if key.kind in ("line", "dashed"):
        canvas.line([(x, y), (x + 17, y)], colour, 1.8, dashed=key.kind == "dashed")
    elif key.kind == "dot":
        canvas.symbol((x + 8, y), 5, key.shape, colour, hollow=key.hollow)
    else:
        corners = [(x + 1, y - 5), (x + 16, y - 5), (x + 16, y + 5), (x + 1, y + 5)]
        _fill(canvas, corners, key.tone, key.hatch, soft=is_soft(key))
        if key.faint:
            canvas.polygon(corners, "none", outline=colour, width=1.0)


def _fill(canvas: _Canvas, corners: Sequence[Pixel], tone: str, hatch: str, *, soft: bool) -> None:
    colour = LIGHT[tone]
    if soft:
        canvas.polygon(corners, colour + _FAINT, colour + _HATCHED, hatch)
    else:
        canvas.polygon(corners, colour, LIGHT["paper"] + _OVER, hatch)


def _grid(canvas: _Canvas, chart: Chart, drawn: Frame) -> None:
    """Thin lines at the ticks."""
    area = drawn.area
    for tick in () if is_named(chart.x) else drawn.x_ticks:
        canvas.line([(tick.at, area.bottom), (tick.at, area.top)], LIGHT["grid"], 1.0)
    for tick in () if is_named(chart.y) else drawn.y_ticks:
        canvas.line([(area.left, tick.at), (area.right, tick.at)], LIGHT["grid"], 1.0)


def _axes(canvas: _Canvas, chart: Chart, drawn: Frame) -> None:
    """Axes and what is written at them."""
    area = drawn.area
    if not chart.x.hidden:
        canvas.line([(area.left, area.bottom), (area.right, area.bottom)], LIGHT["muted"], 1.0)
        _below(canvas, chart, drawn)
    if not chart.y.hidden:
        canvas.line([(area.left, area.top), (area.left, area.bottom)], LIGHT["muted"], 1.0)
        for tick in drawn.y_ticks:
            canvas.text(area.left - 7, tick.at + 4, tick.lines[0], anchor="end")
        middle = (area.top + area.bottom) / 2
        for row, line in enumerate(drawn.y_label):
            canvas.text(PAD + 10 + 15 * row, middle, line, size=NORMAL, anchor="middle", turned=90)


def _below(canvas: _Canvas, chart: Chart, drawn: Frame) -> None:
    area = drawn.area
    for tick in drawn.x_ticks:
        canvas.line([(tick.at, area.bottom), (tick.at, area.bottom + 4)], LIGHT["muted"], 1.0)
        if drawn.turned:
            canvas.text(tick.at + 4, area.bottom + 13, tick.lines[0], anchor="end", turned=TURNED)
            continue
        for row, line in enumerate(tick.lines):
            canvas.text(tick.at, area.bottom + 17 + 13 * row, line, anchor="middle")
    middle = (area.left + area.right) / 2
    canvas.text(middle, drawn.notes_top - 12, chart.x.label, size=NORMAL, anchor="middle")


def _area(canvas: _Canvas, mark: Area, drawn: Frame) -> None:
    corners = clipped_area([drawn.at(corner) for corner in mark.corners], drawn.area)
    if len(corners) > 2:
        _fill(canvas, corners, mark.tone, mark.hatch, soft=True)


def _line(canvas: _Canvas, mark: Line, drawn: Frame) -> None:
    parts, head = parts_of(mark, drawn)
    for part in parts:
        canvas.line(part, LIGHT[mark.tone], 3.6 if mark.bold else 1.8, dashed=mark.dashed)
    if head:
        canvas.polygon(head, LIGHT[mark.tone])


def _bar(canvas: _Canvas, mark: Bar, drawn: Frame) -> None:
    box = box_of(mark, drawn)
    if box is None:
        return
    corners = [(box.left, box.top), (box.right, box.top), (box.right, box.bottom),
               (box.left, box.bottom)]  # fmt: skip
    _fill(canvas, corners, mark.tone, mark.hatch, soft=mark.faint)
    if mark.faint or min(box.right - box.left, box.bottom - box.top) > 3:
        outline = LIGHT[mark.tone if mark.faint else "paper"]
        canvas.polygon(corners, "none", outline=outline, width=1.0)
    turned = words_inside(mark, box)
    if turned is not None:
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        at = (x + 4, y) if turned else (x, y + 4)
        colour, halo = ("ink", "") if mark.faint else ("paper", mark.tone)
        canvas.text(*at, mark.words, anchor="middle", colour=colour, turned=turned, halo=halo)


def _dot(canvas: _Canvas, mark: Dot, drawn: Frame, *, many: bool) -> None:
    at, radius = drawn.at((mark.x, mark.y)), radius_of(mark, many=many)
    canvas.symbol(at, radius, mark.shape, LIGHT[mark.tone], hollow=mark.hollow)
    if mark.strong:
        canvas.ring(at, radius + RING, LIGHT[mark.tone])


def _words(canvas: _Canvas, mark: Words, drawn: Frame) -> None:
    x, y = drawn.at((mark.x, mark.y))
    canvas.text(x, y - 5 if mark.towards else y + 4, mark.words, anchor=mark.anchor,
                colour=mark.tone or "ink", bold=mark.bold, turned=turned_of(mark, drawn),
                halo="paper")  # fmt: skip
