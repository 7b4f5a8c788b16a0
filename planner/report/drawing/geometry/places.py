"""Where the marks of a chart are, in pixels, whatever draws them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import atan2, ceil, degrees, dist, hypot

from planner.report.drawing.chart import Bar, Chart, Dot, Line, Mark, Words
from planner.report.drawing.geometry.chart_frame import SMALL, Frame
from planner.report.drawing.geometry.clipping import clipped_line
from planner.report.drawing.geometry.labels import Label, placed
from planner.report.drawing.geometry.lettering import width_of
from planner.report.drawing.geometry.shapes import Box, Pixel

RING = 3.4
"""By how much the ring around a strong dot is larger than the dot."""
_RADIUS, _STRONG, _SMALL_RADIUS, FAINT_RADIUS = 5.0, 6.0, 3.2, 2.6
_ON_DOTS = (SMALL, 10.0, 9.0, 8.0, 7.0)
"""Sizes of words on dots, the best first."""
HIT = 12.0
"""Radius of what answers to a pointer around a dot with a key (WCAG 2.2, 2.5.8: 24 pixels)."""
_LEAST_HIT = 4.0
"""The same where a dot lies on another one."""
_LINE_WIDTH = 1.8
_MANY = 150
"""Dots from which they are small."""
_STEP = 12.0
"""Pixels of a line that become one box for labels to keep clear of."""
_HEAD = 9.0
_LETTERS = 14.0
"""Height of a line of words inside a bar."""


def radius_of(dot: Dot, *, many: bool) -> float:
    """The radius of a dot."""
    if dot.faint:
        return FAINT_RADIUS
    return dot.radius or (_STRONG if dot.strong else _SMALL_RADIUS if many else _RADIUS)


def letters_on(dot: Dot, radius: float) -> float:
    """The size of the words on a dot; 0 where none fits."""
    fits = (size for size in _ON_DOTS if width_of(dot.inside, size) <= 2 * radius - 1)
    return next(fits, 0.0) if dot.inside else 0.0


def width_of_line(mark: Line) -> float:
    """The width of a line in pixels."""
    return mark.width * (2 * _LINE_WIDTH if mark.bold else _LINE_WIDTH)


def is_many(one: Chart) -> bool:
    """Whether dots are so many that they are drawn small; faint ones always are."""
    return sum(isinstance(mark, Dot) and not mark.faint for mark in one.marks) >= _MANY


def layers(one: Chart) -> tuple[tuple[Mark, ...], tuple[Mark, ...]]:
    """The marks below the axes and those above them: the first dot and what follows it."""
    first = next((at for at, mark in enumerate(one.marks) if isinstance(mark, Dot)), None)
    return one.marks[:first], () if first is None else one.marks[first:]


def box_of(mark: Bar, drawn: Frame) -> Box | None:
    """The part of a bar inside the axes; None where there is none."""
    (x, y), (x_end, y_end) = drawn.at((mark.left, mark.bottom)), drawn.at((mark.right, mark.top))
    area = drawn.area
    left, right = max(min(x, x_end), area.left), min(max(x, x_end), area.right)
    top, bottom = max(min(y, y_end), area.top), min(max(y, y_end), area.bottom)
    if left >= right or top >= bottom:
        return None
    return Box(left=left, top=top, right=right, bottom=bottom)


def words_inside(mark: Bar, box: Box) -> float | None:
    """Degrees by which the words of a bar are turned: 0, 90, or None where they do not fit."""
    wide, high = box.right - box.left, box.bottom - box.top
    long = width_of(mark.words, SMALL) + 6
    if mark.words and long <= wide and high >= _LETTERS:
        return 0.0
    if mark.words and long <= high and wide >= _LETTERS:
        return 90.0
    return None


def turned_of(mark: Words, drawn: Frame) -> float:
    """Degrees counter-clockwise by which words are turned, never upside down."""
    if mark.towards is None:
        return mark.turned
    (x, y), (x_end, y_end) = drawn.at((mark.x, mark.y)), drawn.at(mark.towards)
    angle = degrees(atan2(y - y_end, x_end - x))
    return (angle + 90) % 180 - 90


def parts_of(mark: Line, drawn: Frame) -> tuple[list[list[Pixel]], list[Pixel]]:
    """The parts of a line inside the axes, and the corners of its head.

    The head is there where the end of the line is inside; the line then ends below it.
    """
    pixels = [drawn.at(point) for point in mark.points]
    parts = clipped_line(pixels, drawn.area)
    if not (mark.arrow and parts and parts[-1][-1] == pixels[-1]):
        return parts, []
    if dist(parts[-1][-2], pixels[-1]) == 0:
        return parts, []
    corners, parts[-1][-1] = _head(parts[-1][-2], pixels[-1], _HEAD * (1.5 if mark.bold else 1))
    return parts, corners


def _head(before: Pixel, end: Pixel, size: float) -> tuple[list[Pixel], Pixel]:
    """A triangle that ends at `end`, and the middle of its base."""
    far = hypot(end[0] - before[0], end[1] - before[1])
    size = min(size, far)
    step_x, step_y = (end[0] - before[0]) / far, (end[1] - before[1]) / far
    base = (end[0] - size * step_x, end[1] - size * step_y)
    half = 0.45 * size
    one = (base[0] - half * step_y, base[1] + half * step_x)
    other = (base[0] + half * step_y, base[1] - half * step_x)
    return [end, one, other], base


def shown_dots(one: Chart, drawn: Frame) -> list[Dot]:
    """The dots inside the axes."""
    area = drawn.area
    inside = Box(left=area.left - 0.5, right=area.right + 0.5,
                 top=area.top - 0.5, bottom=area.bottom + 0.5)  # fmt: skip
    return [
        mark
        for mark in one.marks
        if isinstance(mark, Dot) and inside.distance(drawn.at((mark.x, mark.y))) == 0
    ]


def hits_of(one: Chart, drawn: Frame) -> dict[int, float]:
    """Radius in pixels of what answers to a pointer around each dot with a key, by its `id`.

    A dot that is drawn later leaves half of the way to those below it that have something to say,
    and of those that lie right under it what sticks out of its middle.
    """
    below: list[Pixel] = []
    radii: dict[int, float] = {}
    for dot in shown_dots(one, drawn):
        if not dot.key and not dot.detail:
            continue
        at = drawn.at((dot.x, dot.y))
        if dot.key:
            near = min((dist(at, other) for other in below), default=2 * HIT)
            radii[id(dot)] = min(max(near / 2, _LEAST_HIT), HIT)
        below.append(at)
    return radii


def labels_of(one: Chart, drawn: Frame) -> list[tuple[Label, Dot]]:
    """Places for the words of dots where they cover nothing, the strong dots' first."""
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
    return [(label, dots[label.index]) for label in found]


def _taken(mark: Mark, drawn: Frame) -> Iterator[Box]:
    """What labels keep clear of: lines as a row of boxes, bars, words."""
    if isinstance(mark, Line):
        for part in parts_of(mark, drawn)[0]:
            for start, end in pairwise(part):
                yield from _beads(start, end)
    elif isinstance(mark, Bar):
        box = box_of(mark, drawn)
        if box is not None:
            yield box
    elif isinstance(mark, Words) and not turned_of(mark, drawn):
        x, y = drawn.at((mark.x, mark.y))
        wide = width_of(mark.words, SMALL)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[mark.anchor]
        yield Box(left=left, top=y - 6, right=left + wide, bottom=y + 8)


def _beads(start: Pixel, end: Pixel) -> Iterator[Box]:
    """A segment as boxes: one if it is level or upright, a row of small ones otherwise."""
    (x, y), (x_end, y_end) = start, end
    level = abs(x_end - x) < 1 or abs(y_end - y) < 1
    count = 1 if level else ceil(dist(start, end) / _STEP)
    for at in range(count):
        left, right = sorted(x + (x_end - x) * (at + share) / count for share in (0, 1))
        top, bottom = sorted(y + (y_end - y) * (at + share) / count for share in (0, 1))
        yield Box(left=left - 1, top=top - 1, right=right + 1, bottom=bottom + 1)
