"""The marks of a chart as SVG: areas, lines, bars, dots with their labels, words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, dist, hypot

from planner.report.chart import Area, Bar, Chart, Dot, Line, Words
from planner.report.chart_axes import number, text
from planner.report.chart_frame import SMALL, Frame
from planner.report.clipping import clipped_area, clipped_line
from planner.report.labels import Label, placed
from planner.report.lettering import clean, width_of
from planner.report.machine_marks import symbol
from planner.report.shapes import Box, Pixel

HatchIds = dict[tuple[str, str], str]
"""The id of the pattern of each (hatch, tone); the tone `paper` is for solid bars."""
_RADIUS, _STRONG, _SMALL_RADIUS, _HIT = 5.0, 6.5, 3.2, 11.0
_MANY = 150
"""Dots from which they are small."""
_STEP = 12.0
"""Pixels of a line that become one box for labels to keep clear of."""
_HEAD = 9.0
_HATCHES = {
    "slant": "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
    "backslant": "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
    "cross": "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4 M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
    "dots": "M1.5,2 h1.8 M5.5,6 h1.8",
}


_MOST_HATCHED = 40
"""Bars of one run that have a hatch each of their own; see `bars_svg`."""


def hatch_ids(one: Chart, ident: str) -> HatchIds:
    """The patterns a chart needs, with ids that begin with `ident`."""
    used: HatchIds = {}
    for mark in one.marks:
        if isinstance(mark, Area | Bar) and mark.hatch:
            own = isinstance(mark, Area) or mark.faint
            used[mark.hatch, mark.tone if own else "paper"] = ""
    for key in one.legend:
        if key.kind == "bar" and key.hatch:
            used[key.hatch, "paper"] = ""
    return {(hatch, tone): f"{ident}-{hatch}-{tone}" for hatch, tone in sorted(used)}


def patterns(ids: HatchIds) -> list[str]:
    """Their definitions."""
    return [
        f'<pattern id="{ident}" class="tone-{tone}" width="8" height="8" '
        f'patternUnits="userSpaceOnUse"><path class="{_hatch_look(tone)}" '
        f'stroke-linecap="round" d="{_HATCHES[hatch]}"/></pattern>'
        for (hatch, tone), ident in ids.items()
    ]


def _hatch_look(tone: str) -> str:
    return "hatch-paper" if tone == "paper" else "hatch"


def area_svg(mark: Area, drawn: Frame, ids: HatchIds) -> str:
    """A polygon, cut off at the axes."""
    corners = clipped_area([drawn.at(corner) for corner in mark.corners], drawn.area)
    if len(corners) < 3:
        return ""
    shape = f'd="{_path(corners)} z"'
    over = ids.get((mark.hatch, mark.tone))
    hatch = f'<path {shape} fill="url(#{over})"/>' if over else ""
    return _group(mark.tone, f'<path class="soft" {shape}/>{hatch}', mark.detail)


def line_svg(mark: Line, drawn: Frame) -> str:
    """A line, cut off at the axes, with its head where its end is inside."""
    pixels = [drawn.at(point) for point in mark.points]
    parts = clipped_line(pixels, drawn.area)
    if not parts:
        return ""
    head = ""
    if mark.arrow and parts[-1][-1] == pixels[-1] and dist(parts[-1][-2], pixels[-1]) > 0:
        head, parts[-1][-1] = _head(parts[-1][-2], pixels[-1], bold=mark.bold)
    look = "line" + " bold" * mark.bold + " dashed" * mark.dashed
    path = " ".join(map(_path, parts))
    return _group(mark.tone, f'<path class="{look}" d="{path}"/>{head}', mark.detail)


def bars_svg(marks: Sequence[Bar], drawn: Frame, ids: HatchIds) -> list[str]:
    """Bars one after the other.

    Of many, those with the same hatch share one path for it, below the words of all: printers turn
    each shape that is filled with a pattern into an image of its own.
    """
    if sum(bool(mark.hatch) for mark in marks) <= _MOST_HATCHED:
        return [bar_svg(mark, drawn, ids) for mark in marks]
    boxes = [(mark, box) for mark in marks if (box := box_of(mark, drawn)) is not None]
    parts = [_group(mark.tone, _filled(mark, box), mark.detail) for mark, box in boxes]
    shared: dict[str, list[str]] = {}
    for mark, box in boxes:
        if over := ids.get(_hatch_of(mark)):
            wide, high = number(box.right - box.left), number(box.bottom - box.top)
            path = f"M{number(box.left)},{number(box.top)}h{wide}v{high}h-{wide}z"
            shared.setdefault(over, []).append(path)
    parts += [
        f'<path d="{"".join(paths)}" fill="url(#{over})" pointer-events="none"/>'
        for over, paths in shared.items()
    ]
    words = [(mark.tone, _inside(mark, box)) for mark, box in boxes]
    return parts + [_group(tone, inside, "") for tone, inside in words if inside]


def _hatch_of(mark: Bar) -> tuple[str, str]:
    return mark.hatch, mark.tone if mark.faint else "paper"


def bar_svg(mark: Bar, drawn: Frame, ids: HatchIds) -> str:
    """A rectangle, cut off at the axes; its words where they fit, upright or turned."""
    box = box_of(mark, drawn)
    if box is None:
        return ""
    over = ids.get(_hatch_of(mark), "")
    return _group(mark.tone, _filled(mark, box, over) + _inside(mark, box), mark.detail)


def _filled(mark: Bar, box: Box, over: str = "") -> str:
    """The rectangle of a bar, with a hatch and a gap around it."""
    wide, high = box.right - box.left, box.bottom - box.top
    place = (
        f'x="{number(box.left)}" y="{number(box.top)}" '
        f'width="{number(wide)}" height="{number(high)}"'
    )
    parts = [f'<rect class="{"faint" if mark.faint else "fill"}" {place}/>']
    parts += [f'<rect {place} fill="url(#{over})"/>'] if over else []
    if not mark.faint and min(wide, high) > 3:
        parts.append(f'<rect class="gap" {place}/>')
    return "".join(parts)


def _inside(mark: Bar, box: Box) -> str:
    """The words of a bar, where they fit."""
    wide, high = box.right - box.left, box.bottom - box.top
    long = width_of(mark.words, SMALL) + 6
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    look = "" if mark.faint else "inside"
    if mark.words and long <= wide and high >= 14:
        return text(x, y + 4, mark.words, anchor="middle", look=look)
    if mark.words and long <= high and wide >= 14:
        return text(x + 4, y, mark.words, anchor="middle", look=look, turned=90)
    return ""


def box_of(mark: Bar, drawn: Frame) -> Box | None:
    """The part of a bar inside the axes, in pixels; None where there is none."""
    (x, y), (x_end, y_end) = drawn.at((mark.left, mark.bottom)), drawn.at((mark.right, mark.top))
    area = drawn.area
    left, right = max(min(x, x_end), area.left), min(max(x, x_end), area.right)
    top, bottom = max(min(y, y_end), area.top), min(max(y, y_end), area.bottom)
    if left >= right or top >= bottom:
        return None
    return Box(left=left, top=top, right=right, bottom=bottom)


def dot_svg(mark: Dot, drawn: Frame, many: bool) -> str:
    """A point; one with a key can be reached with the keyboard, and a script may listen to it."""
    x, y = drawn.at((mark.x, mark.y))
    radius = _STRONG if mark.strong else _SMALL_RADIUS if many else _RADIUS
    parts = (
        [f'<circle class="hit" cx="{number(x)}" cy="{number(y)}" r="{_HIT:g}"/>']
        if mark.key
        else []
    )
    parts.append(symbol(x, y, radius, mark.shape, 'class="mark"'))
    if mark.strong:
        parts.append(f'<circle class="ring" cx="{number(x)}" cy="{number(y)}" r="{radius + 4:g}"/>')
    title = f"<title>{clean(mark.detail)}</title>" if mark.detail else ""
    more = ""
    if mark.key:
        label = clean(mark.detail or mark.words or mark.key)
        more = f' tabindex="0" role="button" aria-label="{label}" data-key="{clean(mark.key)}"'
    return f'<g class="dot tone-{mark.tone}"{more}>{title}{"".join(parts)}</g>'


def words_svg(mark: Words, drawn: Frame) -> str:
    """Text at a point, readable above lines and areas."""
    x, y = drawn.at((mark.x, mark.y))
    look = "halo toned" if mark.tone else "halo"
    written = text(x, y + 4, mark.words, anchor=mark.anchor, look=look, bold=mark.bold,
                   turned=mark.turned)  # fmt: skip
    return f'<g class="tone-{mark.tone}">{written}</g>' if mark.tone else written


def shown_dots(one: Chart, drawn: Frame) -> list[Dot]:
    """The dots inside the axes."""
    inside = Box(left=drawn.area.left - 0.5, right=drawn.area.right + 0.5,
                 top=drawn.area.top - 0.5, bottom=drawn.area.bottom + 0.5)  # fmt: skip
    return [
        mark
        for mark in one.marks
        if isinstance(mark, Dot) and inside.distance(drawn.at((mark.x, mark.y))) == 0
    ]


def labels_svg(one: Chart, drawn: Frame) -> list[str]:
    """The words of dots where they cover nothing, the strong dots' first."""
    dots = shown_dots(one, drawn)
    order = sorted(
        (at for at, dot in enumerate(dots) if dot.words), key=lambda at: (not dots[at].strong, at)
    )
    if not order:
        return []
    strong = {at for at in order if dots[at].strong}
    area = drawn.area
    room = Box(left=area.left + 2, top=area.top, right=area.right, bottom=area.bottom - 2)
    pixels = [drawn.at((dot.x, dot.y)) for dot in dots]
    taken = [box for mark in one.marks for box in _taken(mark, drawn)]
    found = placed(pixels, [dot.words for dot in dots], order, room, SMALL, taken, strong)
    return [*map(_leader, found), *(_label(label, dots[label.index]) for label in found)]


def _leader(label: Label) -> str:
    if label.leader is None:
        return ""
    return f'<path class="leader" d="{_path([label.leader.start, label.leader.end])}"/>'


def _label(label: Label, dot: Dot) -> str:
    return text(label.x, label.y, dot.words, anchor=label.anchor, look="halo", bold=dot.strong)


def _taken(mark: object, drawn: Frame) -> Iterator[Box]:
    """What labels keep clear of: lines as a row of boxes, bars, words."""
    if isinstance(mark, Line):
        for part in clipped_line([drawn.at(point) for point in mark.points], drawn.area):
            for start, end in pairwise(part):
                yield from _beads(start, end)
    elif isinstance(mark, Bar):
        box = box_of(mark, drawn)
        if box is not None:
            yield box
    elif isinstance(mark, Words) and not mark.turned:
        x, y = drawn.at((mark.x, mark.y))
        wide = width_of(mark.words, SMALL)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[mark.anchor]
        yield Box(left=left, top=y - 6, right=left + wide, bottom=y + 8)


def _beads(start: Pixel, end: Pixel) -> Iterator[Box]:
    """A segment as boxes: one if it is level or upright, a row of small ones otherwise."""
    level = abs(start[0] - end[0]) < 1 or abs(start[1] - end[1]) < 1
    count = 1 if level else ceil(dist(start, end) / _STEP)
    for at in range(count):
        (x, y), (x_end, y_end) = (
            tuple(a + (b - a) * share / count for a, b in zip(start, end, strict=True))
            for share in (at, at + 1)
        )
        yield Box(left=min(x, x_end) - 1, top=min(y, y_end) - 1,
                  right=max(x, x_end) + 1, bottom=max(y, y_end) + 1)  # fmt: skip


def _head(before: Pixel, end: Pixel, *, bold: bool) -> tuple[str, Pixel]:
    """An arrow head as a triangle, and where the line ends below it."""
    size = _HEAD * (1.5 if bold else 1.0)
    far = hypot(end[0] - before[0], end[1] - before[1])
    step_x, step_y = (end[0] - before[0]) / far, (end[1] - before[1]) / far
    base = (end[0] - size * step_x, end[1] - size * step_y)
    half = 0.45 * size
    corners = [
        end,
        (base[0] - half * step_y, base[1] + half * step_x),
        (base[0] + half * step_y, base[1] - half * step_x),
    ]
    return f'<path class="fill" d="{_path(corners)} z"/>', base


def is_many(one: Chart) -> bool:
    """Whether dots are so many that they are drawn small."""
    return sum(isinstance(mark, Dot) for mark in one.marks) >= _MANY


def _group(tone: str, inside: str, detail: str) -> str:
    title = f"<title>{clean(detail)}</title>" if detail else ""
    return f'<g class="tone-{tone}">{title}{inside}</g>'


def _path(points: Sequence[Pixel]) -> str:
    return "M" + " L".join(f"{number(x)},{number(y)}" for x, y in points)
