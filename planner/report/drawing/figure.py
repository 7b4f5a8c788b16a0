"""Charts with matplotlib as PNG: every part where `chart_svg` has it, in light colours."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from itertools import groupby
from math import cos, pi, sin
from typing import Any

from planner.report.drawing.axes import is_named, is_soft
from planner.report.drawing.chart import Area, Bar, Chart, Dot, Key, Line, Mark, Picture, Words
from planner.report.drawing.geometry.chart_frame import (
    LINE,
    NORMAL,
    PAD,
    SMALL,
    SYMBOL,
    TITLE,
    TURNED,
    Entry,
    Frame,
)
from planner.report.drawing.geometry.clipping import clipped_area
from planner.report.drawing.geometry.places import (
    FAINT_RADIUS,
    RING,
    box_of,
    is_many,
    labels_of,
    layers,
    letters_on,
    parts_of,
    radius_of,
    shown_dots,
    turned_of,
    width_of_line,
    words_inside,
)
from planner.report.drawing.geometry.shapes import Box, Pixel
from planner.report.drawing.plotting import load_pyplot
from planner.report.drawing.style.palette import LIGHT
from planner.report.drawing.style.symbols import corners_of
from planner.report.drawing.svg import Sheet, sheet_of

_PIXELS = 72.0
"""Pixels of a sheet in an inch, so that a pixel is a point."""
_DPI = 144
_MANY = 40
"""Bars of one run from which those that look the same are drawn at once."""
_LETTERS = 0.87
"""The font of matplotlib is wider than that of the pages."""
_HATCHES = {"": "", "slant": "////", "backslant": "\\\\\\\\", "dots": "...", "cross": "xxxx"}
_FAINT, _HATCHED, _OVER, _SPOT = "21", "73", "73", "80"
"""Opacity of faint fills, of the hatches over them and over solid fills, and of faint dots, in
hexadecimal digits."""
_CIRCLE = 16
"""Corners of a faint circle."""


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

    def polygons(self, shapes: Sequence[Sequence[Pixel]], face: str, edge: str = "none",
                 hatch: str = "", outline: str = "none", width: float = 0.0) -> None:  # fmt: skip
        """Filled polygons, with a hatch in the colour `edge`, and an outline above both."""
        from matplotlib.collections import PolyCollection  # noqa: PLC0415  (only for pictures)

        at = [self._shifted(corners) for corners in shapes]
        if face != "none" or hatch:
            filled = PolyCollection(at, facecolors=face, edgecolors=edge if hatch else "none",
                                    linewidths=0, hatch=_HATCHES[hatch],
                                    zorder=self._above())  # fmt: skip
            self.panel.add_collection(filled, autolim=False)
        if outline != "none":
            around = PolyCollection(at, facecolors="none", edgecolors=outline, linewidths=width,
                                    zorder=self._above())  # fmt: skip
            self.panel.add_collection(around, autolim=False)

    def line(
        self, points: Sequence[Pixel], colour: str, width: float, *, kind: str = "line"
    ) -> None:
        """A line through points; the kind is that of `Key`."""
        x, y = zip(*self._shifted(points), strict=True)
        on, off = {"dashed": (6, 4), "dotted": (1.8, 3)}.get(kind, (0, 0))
        style = (0, (on / width, off / width)) if on else "-"
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
            corners = corners_of(shape, at, radius)
            self.polygons([corners], face, outline=edge, width=width)

    def spots(self, points: Sequence[Pixel], shape: str, tone: str) -> None:
        """Faint dots of one look as one collection."""
        from matplotlib.collections import PolyCollection  # noqa: PLC0415  (an extra)

        corners = _corners(shape)
        polygons = [[(x + dx, y + dy) for dx, dy in corners] for x, y in self._shifted(points)]
        self.panel.add_collection(
            PolyCollection(polygons, facecolors=LIGHT[tone] + _SPOT, linewidths=0,
                           zorder=self._above()),
            autolim=False,
        )  # fmt: skip

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


def _corners(shape: str) -> list[Pixel]:
    """A faint dot around (0, 0)."""
    if shape != "circle":
        return corners_of(shape, (0.0, 0.0), FAINT_RADIUS)
    turns = (2 * pi * at / _CIRCLE for at in range(_CIRCLE))
    return [(FAINT_RADIUS * cos(turn), FAINT_RADIUS * sin(turn)) for turn in turns]


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
    for (faint, bars), run in groupby(marks, key=_run_of):
        if faint:
            shown = [mark for mark in run if isinstance(mark, Dot) and id(mark) in dots]
            canvas.spots([drawn.at((mark.x, mark.y)) for mark in shown], *faint)
        elif bars:
            _bars(canvas, [mark for mark in run if isinstance(mark, Bar)], drawn)
        else:
            for mark in run:
                _mark(canvas, mark, drawn, dots, many=many)


def _run_of(mark: Mark) -> tuple[tuple[str, str] | None, bool]:
    """What marks that are drawn at once share: shape and tone of faint dots; being bars."""
    faint = (mark.shape, mark.tone) if isinstance(mark, Dot) and mark.faint else None
    return faint, isinstance(mark, Bar)


def _mark(canvas: _Canvas, mark: Mark, drawn: Frame, dots: Collection[int], *, many: bool) -> None:
    """A mark that is no bar; of dots only those that are shown."""
    if isinstance(mark, Line):
        _line(canvas, mark, drawn)
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
    if key.kind in ("line", "dashed", "dotted"):
        canvas.line([(x, y), (x + 17, y)], colour + _opacity(key.strength), 1.8, kind=key.kind)
    elif key.kind == "dot":
        canvas.symbol((x + 8, y), 5, key.shape, colour, hollow=key.hollow)
    else:
        corners = [(x + 1, y - 5), (x + 16, y - 5), (x + 16, y + 5), (x + 1, y + 5)]
        _fill(canvas, [corners], key.tone, key.hatch, soft=is_soft(key))
        if key.faint:
            canvas.polygons([corners], "none", outline=colour, width=1.0)


def _fill(canvas: _Canvas, shapes: Sequence[Sequence[Pixel]], tone: str, hatch: str,
          *, soft: bool) -> None:  # fmt: skip
    colour = LIGHT[tone]
    if soft:
        canvas.polygons(shapes, colour + _FAINT, colour + _HATCHED, hatch)
    else:
        canvas.polygons(shapes, colour, LIGHT["paper"] + _OVER, hatch)


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


def _opacity(strength: float) -> str:
    """How much of a colour is drawn, in hexadecimal digits."""
    return f"{round(255 * min(max(strength, 0.0), 1.0)):02x}"


def _area(canvas: _Canvas, mark: Area, drawn: Frame) -> None:
    corners = clipped_area([drawn.at(corner) for corner in mark.corners], drawn.area)
    if len(corners) > 2:
        _fill(canvas, [corners], mark.tone, mark.hatch, soft=True)


def _line(canvas: _Canvas, mark: Line, drawn: Frame) -> None:
    parts, head = parts_of(mark, drawn)
    for part in parts:
        kind = "dashed" if mark.dashed else "dotted" if mark.dotted else "line"
        colour = LIGHT[mark.tone] + _opacity(mark.strength)
        canvas.line(part, colour, width_of_line(mark), kind=kind)
    if head:
        canvas.polygons([head], LIGHT[mark.tone])


def _bars(canvas: _Canvas, marks: Sequence[Bar], drawn: Frame) -> None:
    """Bars one after the other; of many, those that look the same at once, which is quicker."""
    boxes = [(mark, box) for mark in marks if (box := box_of(mark, drawn)) is not None]
    if len(boxes) <= _MANY:
        for mark, box in boxes:
            _filled(canvas, [(mark, box)])
            _inside(canvas, mark, box)
        return
    looks: dict[tuple[str, str, bool, bool], list[tuple[Bar, Box]]] = {}
    for mark, box in boxes:
        look = (mark.tone, mark.hatch, mark.faint, _is_outlined(mark, box))
        looks.setdefault(look, []).append((mark, box))
    for alike in looks.values():
        _filled(canvas, alike)
    for mark, box in boxes:
        _inside(canvas, mark, box)


def _filled(canvas: _Canvas, alike: Sequence[tuple[Bar, Box]]) -> None:
    """Bars of one look, with hatch and outline."""
    mark, first = alike[0]
    shapes = [
        [(box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom)]
        for _, box in alike
    ]
    _fill(canvas, shapes, mark.tone, mark.hatch, soft=mark.faint)
    if _is_outlined(mark, first):
        outline = LIGHT[mark.tone if mark.faint else "paper"]
        canvas.polygons(shapes, "none", outline=outline, width=1.0)


def _is_outlined(mark: Bar, box: Box) -> bool:
    return mark.faint or min(box.right - box.left, box.bottom - box.top) > 3


def _inside(canvas: _Canvas, mark: Bar, box: Box) -> None:
    """The words of a bar."""
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
    size = letters_on(mark, radius)
    if size:
        canvas.text(at[0], at[1] + 0.36 * size, mark.inside, size=size, anchor="middle",
                    colour="paper", halo=mark.tone)  # fmt: skip


def _words(canvas: _Canvas, mark: Words, drawn: Frame) -> None:
    x, y = drawn.at((mark.x, mark.y))
    canvas.text(x, y - 5 if mark.towards else y + 4, mark.words, anchor=mark.anchor,
                colour=mark.tone or "ink", bold=mark.bold, turned=turned_of(mark, drawn),
                halo="paper")  # fmt: skip
