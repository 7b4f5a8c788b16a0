"""The marks of a chart as SVG: areas, lines, bars, dots with their labels, words."""

from __future__ import annotations

from collections.abc import Sequence

from planner.report.drawing.axes import DOTTED, is_soft, number, text
from planner.report.drawing.chart import Area, Bar, Chart, Dot, Line, Words
from planner.report.drawing.geometry.chart_frame import Frame
from planner.report.drawing.geometry.clipping import clipped_area
from planner.report.drawing.geometry.labels import Label
from planner.report.drawing.geometry.lettering import clean
from planner.report.drawing.geometry.places import (
    FAINT_RADIUS,
    HIT,
    RING,
    box_of,
    labels_of,
    letters_on,
    parts_of,
    radius_of,
    turned_of,
    width_of_line,
    words_inside,
)
from planner.report.drawing.geometry.shapes import Box, Pixel
from planner.report.drawing.style.symbols import dot_symbol, symbol

HatchIds = dict[tuple[str, str], str]
"""The id of the pattern of each (hatch, tone); the tone `paper` is for solid bars.

Those of faint dots are among them, as (`spot-` and the shape, tone).
"""
_MOST_HATCHED = 40
"""Bars of one run that have a hatch each of their own; see `bars_svg`."""
_HATCHES = {
    "slant": "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
    "backslant": "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
    "cross": "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4 M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
    "dots": "M1.5,2 h1 M5.5,6 h1",
}


def hatch_ids(one: Chart, ident: str) -> HatchIds:
    """The patterns a chart needs, with ids that begin with `ident`."""
    used = set()
    for mark in one.marks:
        if isinstance(mark, Area | Bar) and mark.hatch:
            own = isinstance(mark, Area) or mark.faint
            used.add((mark.hatch, mark.tone if own else "paper"))
    for key in one.legend:
        if key.hatch and key.kind in ("bar", "area"):
            used.add((key.hatch, key.tone if is_soft(key) else "paper"))
    return {(hatch, tone): f"{ident}-{hatch}-{tone}" for hatch, tone in sorted(used)}


def patterns(ids: HatchIds) -> list[str]:
    """Their definitions."""
    return [
        f'<pattern id="{ident}" class="tone-{tone}" width="8" height="8" '
        f'patternUnits="userSpaceOnUse"><path class="{_hatch_look(tone)}" '
        f'stroke-linecap="round" d="{_HATCHES[hatch]}"/></pattern>'
        for (hatch, tone), ident in ids.items()
    ]


def spot_ids(one: Chart, ident: str) -> HatchIds:
    """The markers that the faint dots of a chart need, with ids that begin with `ident`."""
    looks = {(mark.shape, mark.tone) for mark in one.marks if isinstance(mark, Dot) and mark.faint}
    return {
        (f"spot-{shape}", tone): f"{ident}-spot-{shape}-{tone}" for shape, tone in sorted(looks)
    }


def spots(ids: HatchIds) -> list[str]:
    """Their definitions."""
    return [
        f'<marker id="{ident}" class="tone-{tone}" markerUnits="userSpaceOnUse" markerWidth="8" '
        f'markerHeight="8" overflow="visible">'
        f"{symbol((0.0, 0.0), FAINT_RADIUS, what.removeprefix('spot-'), 'spot')}</marker>"
        for (what, tone), ident in ids.items()
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
    parts, corners = parts_of(mark, drawn)
    if not parts:
        return ""
    head = f'<path class="fill" d="{_path(corners)} z"/>' if corners else ""
    look = "line" + " bold" * mark.bold + " dashed" * mark.dashed
    path = " ".join(map(_path, parts))
    own = _own_look(mark)
    return _group(mark.tone, f'<path class="{look}"{own} d="{path}"/>{head}', mark.detail)


def _own_look(mark: Line) -> str:
    """The width and strength of a line, where they are not the usual ones, and its dots."""
    rules = [f"stroke-width:{number(width_of_line(mark))}"] if mark.width != 1 else []
    rules += [f"stroke-opacity:{number(mark.strength)}"] if mark.strength != 1 else []
    rules += [DOTTED] if mark.dotted else []
    return f' style="{";".join(rules)}"' if rules else ""


def bars_svg(marks: Sequence[Bar], drawn: Frame, ids: HatchIds) -> list[str]:
    """Bars one after the other.

    Of many, those with the same hatch share one path for it, below the words of all: printers turn
    each shape that is filled with a pattern into an image of its own.
    """
    boxes = [(mark, box) for mark in marks if (box := box_of(mark, drawn)) is not None]
    if sum(bool(mark.hatch) for mark in marks) <= _MOST_HATCHED:
        return [
            _group(mark.tone, _filled(mark, box, ids) + _inside(mark, box), mark.detail)
            for mark, box in boxes
        ]
    parts = [_group(mark.tone, _filled(mark, box, {}), mark.detail) for mark, box in boxes]
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


def _filled(mark: Bar, box: Box, ids: HatchIds) -> str:
    """The rectangle of a bar, with a hatch and a gap around it."""
    wide, high = box.right - box.left, box.bottom - box.top
    place = (
        f'x="{number(box.left)}" y="{number(box.top)}" '
        f'width="{number(wide)}" height="{number(high)}"'
    )
    parts = [f'<rect class="{"faint" if mark.faint else "fill"}" {place}/>']
    over = ids.get(_hatch_of(mark))
    parts += [f'<rect {place} fill="url(#{over})"/>'] if over else []
    if not mark.faint and min(wide, high) > 3:
        parts.append(f'<rect class="gap" {place}/>')
    return "".join(parts)


def _inside(mark: Bar, box: Box) -> str:
    """The words of a bar, where they fit, level or turned."""
    turned = words_inside(mark, box)
    if turned is None:
        return ""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    at = (x + 4, y) if turned else (x, y + 4)
    look = "" if mark.faint else "inside"
    return text(*at, mark.words, anchor="middle", look=look, turned=turned)


def dot_svg(mark: Dot, drawn: Frame, *, many: bool, hit: float = HIT) -> str:
    """A point; one with a key can be reached with the keyboard, and a script may listen to it.

    Args:
        mark: The point.
        drawn: Where the chart is.
        many: Whether its dots are small.
        hit: How far around a dot with a key a pointer is answered, in pixels; what of the dot lies
            further out is left to the dots below.
    """
    x, y = drawn.at((mark.x, mark.y))
    radius = radius_of(mark, many=many)
    parts = [dot_symbol((x, y), radius, mark.shape, hollow=mark.hollow)]
    parts += [_circle("ring", x, y, radius + RING)] if mark.strong else []
    if mark.key and hit < HIT:
        seen = "".join([_circle("hit", x, y, HIT), *parts])
        middle = f'cx="{number(x)}" cy="{number(y)}" r="{hit:.3g}"'
        parts = [
            f'<g pointer-events="none">{seen}</g>',
            f'<circle class="middle" fill="transparent" {middle}/>',
        ]
    elif mark.key:
        parts = [_circle("hit", x, y, HIT), *parts]
    size = letters_on(mark, radius)
    if size:
        parts.append(text(x, y + 0.36 * size, mark.inside, size=size, anchor="middle",
                          look="inside"))  # fmt: skip
    title = f"<title>{clean(mark.detail)}</title>" if mark.detail else ""
    more = ""
    if mark.key:
        label = clean(mark.detail or mark.words or mark.key)
        more = f' tabindex="0" role="button" aria-label="{label}" data-key="{clean(mark.key)}"'
    return f'<g class="dot tone-{mark.tone}"{more}>{title}{"".join(parts)}</g>'


def spots_svg(marks: Sequence[Dot], drawn: Frame, ids: HatchIds) -> str:
    """Faint dots of one look: one path with a marker at every corner, some 12 bytes for each."""
    over = ids[f"spot-{marks[0].shape}", marks[0].tone]
    corners = (drawn.at((mark.x, mark.y)) for mark in marks)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    at = " ".join(f'marker-{part}="url(#{over})"' for part in ("start", "mid"))
    last = path.rpartition(" ")[2]
    return f'<path fill="none" {at} d="M{path} L{last}"/>'


def words_svg(mark: Words, drawn: Frame) -> str:
    """Text at a point, readable above lines and areas."""
    x, y = drawn.at((mark.x, mark.y))
    look = "halo toned" if mark.tone else "halo"
    turned = turned_of(mark, drawn)
    written = text(x, y - 5 if mark.towards else y + 4, mark.words, anchor=mark.anchor, look=look,
                   bold=mark.bold, turned=turned)  # fmt: skip
    return f'<g class="tone-{mark.tone}">{written}</g>' if mark.tone else written


def labels_svg(one: Chart, drawn: Frame) -> list[str]:
    """The words of dots and the thin lines that lead to them."""
    found = labels_of(one, drawn)
    leaders = [_leader(label) for label, _ in found]
    return leaders + [
        text(label.x, label.y, dot.words, anchor=label.anchor, look="halo", bold=dot.strong)
        for label, dot in found
    ]


def _leader(label: Label) -> str:
    if label.leader is None:
        return ""
    return f'<path class="leader" d="{_path([label.leader.start, label.leader.end])}"/>'


def _circle(look: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{look}" cx="{number(x)}" cy="{number(y)}" r="{radius:g}"/>'


def _group(tone: str, inside: str, detail: str) -> str:
    title = f"<title>{clean(detail)}</title>" if detail else ""
    return f'<g class="tone-{tone}">{title}{inside}</g>'


def _path(points: Sequence[Pixel]) -> str:
    return "M" + " L".join(f"{number(x)},{number(y)}" for x, y in points)
