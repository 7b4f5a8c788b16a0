"""Charts as SVG without a library: for pages, and as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby

from frozen_records import dataclass
from planner.report.drawing.axes import axes, grid, heading, legend, notes, number, text
from planner.report.drawing.chart import Area, Bar, Chart, Dot, Line, Mark, Picture, Words
from planner.report.drawing.geometry.chart_frame import PAD, TITLE, Frame, frame_of
from planner.report.drawing.geometry.lettering import clean
from planner.report.drawing.geometry.places import HIT, hits_of, is_many, layers, shown_dots
from planner.report.drawing.marks import (
    HatchIds,
    area_svg,
    bars_svg,
    dot_svg,
    hatch_ids,
    labels_svg,
    line_svg,
    patterns,
    spot_ids,
    spots,
    spots_svg,
    words_svg,
)
from planner.report.drawing.style.palette import picture_css

WIDTH = 860.0
SIDE_BY_SIDE = 560.0
"""Width of each of several charts on a line."""
_GAP = 18.0
_TITLE_HEIGHT = 34.0


def chart_svg(chart: Chart, *, width: float = WIDTH, ident: str = "") -> str:
    """One `<svg>` element for a page that has `palette.theme_css` and `palette.chart_css`.

    The element scales with its page. Where dots have keys it is a group of buttons, otherwise an
    image to screen readers.

    Args:
        chart: What is drawn.
        width: Of its coordinates.
        ident: Begins the ids inside, so that they are unique in a page; letters, digits, hyphens.
    """
    drawn = frame_of(chart, width)
    return _svg(chart, drawn, ident or _ident(chart), f'viewBox="0 0 {_size(drawn)}"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A chart of a sheet with its upper left corner, in pixels."""

    chart: Chart
    frame: Frame
    left: float
    top: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Where the charts of a picture are; without a title of its own where it has one chart's."""

    title: str
    width: float
    height: float
    places: tuple[Place, ...]


def sheet_of(picture: Picture) -> Sheet:
    """Puts the charts of a picture on a grid."""
    columns = max(1, min(picture.columns, len(picture.charts)))
    width = picture.width or (WIDTH if columns == 1 else SIDE_BY_SIDE)
    own = [chart.title for chart in picture.charts] != [picture.title]
    title = picture.title if own else ""
    top, places = PAD + _TITLE_HEIGHT if title else 0.0, []
    for charts in _lines_of(picture.charts, columns):
        row = [
            Place(chart=chart, frame=frame_of(chart, width), left=at * (width + _GAP), top=top)
            for at, chart in enumerate(charts)
        ]
        places += row
        top += max(place.frame.height for place in row) + _GAP
    whole = columns * width + (columns - 1) * _GAP
    return Sheet(title=title, width=whole, height=top - _GAP + PAD, places=tuple(places))


def _lines_of(charts: Sequence[Chart], columns: int) -> list[list[Chart]]:
    """The charts line by line."""
    lines: list[list[Chart]] = []
    for chart in charts:
        if not lines or chart.newline or len(lines[-1]) == columns:
            lines.append([])
        lines[-1].append(chart)
    return lines


def picture_svg(picture: Picture) -> str:
    """A file of its own, light or dark as the viewer's system is."""
    sheet = sheet_of(picture)
    size = f'width="{number(sheet.width)}" height="{number(sheet.height)}"'
    head = [text(PAD, PAD + 20, sheet.title, size=TITLE + 3, bold=True)] if sheet.title else []
    body = [
        _svg(place.chart, place.frame, f"c{at}",
             f'x="{number(place.left)}" y="{number(place.top)}" {_box(place.frame)}')
        for at, place in enumerate(sheet.places)
    ]  # fmt: skip
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" '
        f'viewBox="0 0 {number(sheet.width)} {number(sheet.height)}" {size}>\n'
        f"<title>{clean(picture.title)}</title>\n<style>\n{picture_css()}</style>\n"
        f'<rect class="paper" {size}/>\n' + "\n".join([*head, *body]) + "\n</svg>\n"
    )


def _svg(chart: Chart, drawn: Frame, ident: str, place: str) -> str:
    hatches, dots = hatch_ids(chart, ident), spot_ids(chart, ident)
    ids = hatches | dots
    below, above = layers(chart)
    active = any(isinstance(mark, Dot) and mark.key for mark in chart.marks)
    defs = f"<defs>{''.join([*patterns(hatches), *spots(dots)])}</defs>" if ids else ""
    parts = [
        f'<title id="{ident}-title">{clean(chart.title)}</title>',
        f'<desc id="{ident}-desc">{clean(" ".join((chart.description, *chart.notes)))}</desc>',
        defs,
        *heading(drawn),
        *legend(drawn, ids),
        *(area_svg(mark, drawn, ids) for mark in chart.marks if isinstance(mark, Area)),
        *grid(chart, drawn),
        *_marks(chart, below, drawn, ids),
        *axes(chart, drawn),
        *_marks(chart, above, drawn, ids),
        *labels_svg(chart, drawn),
        *notes(drawn),
    ]
    return (
        f'<svg class="chart" {place} role="{"group" if active else "img"}" '
        f'aria-labelledby="{ident}-title" aria-describedby="{ident}-desc">\n'
        + "\n".join(part for part in parts if part)
        + "\n</svg>"
    )


def _marks(chart: Chart, marks: Sequence[Mark], drawn: Frame, ids: HatchIds) -> list[str]:
    """Some marks of a chart in their order, without areas and labels."""
    many, dots = is_many(chart), set(map(id, shown_dots(chart, drawn)))
    hits = hits_of(chart, drawn)
    parts: list[str] = []
    for (kind, *faint), run in groupby(marks, key=_look):
        if kind is Bar:
            parts += bars_svg([mark for mark in run if isinstance(mark, Bar)], drawn, ids)
            continue
        if faint:
            shown = [mark for mark in run if isinstance(mark, Dot) and id(mark) in dots]
            parts += [spots_svg(shown, drawn, ids)] if shown else []
            continue
        for mark in run:
            if isinstance(mark, Line):
                parts.append(line_svg(mark, drawn))
            elif isinstance(mark, Words):
                parts.append(words_svg(mark, drawn))
            elif isinstance(mark, Dot) and id(mark) in dots:
                parts.append(dot_svg(mark, drawn, many=many, hit=hits.get(id(mark), HIT)))
    return parts


def _look(mark: Mark) -> tuple[object, ...]:
    """What marks have in common that are drawn together: their kind, of faint dots the look."""
    if isinstance(mark, Dot) and mark.faint:
        return Dot, mark.shape, mark.tone
    return (type(mark),)


def _size(drawn: Frame) -> str:
    return f"{number(drawn.width)} {number(drawn.height)}"


def _box(drawn: Frame) -> str:
    size = _size(drawn)
    return f'width="{number(drawn.width)}" height="{number(drawn.height)}" viewBox="0 0 {size}"'


def _ident(chart: Chart) -> str:
    return "c" + sha256(repr(chart).encode("utf-8", "replace")).hexdigest()[:8]
