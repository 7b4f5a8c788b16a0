"""Where the labels of a picture go, so that none covers another, a point, a line or the edge."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from math import cos, dist, radians, sin

from frozen_records import dataclass
from planner.report.drawing.geometry.shapes import Box, Pixel, Segment

_CHARACTER, _ASCENT, _DESCENT = 0.6, 0.8, 0.25
"""Width of a usual character, and height above and below the line, in font sizes."""
_GAP = 11.0
_RADIUS = 7.0
"""What labels keep free around a point."""
_NEAR = 12.0
"""Points that are closer than this to a label's own may touch its leader line."""
_MARGIN = 3.0
"""By how much a label without leader line is closer to its own point than to others."""
_LENGTHS = (20, 28, 38, 50, 64)
_MORE_LENGTHS = (80, 100)
"""For labels that are needed; farther from its point a label is worse than none."""
_ANGLES = (45, 30, 60, 75, 90, 225, 210, 240, 255, 270, 330, 315, 300, 135, 150, 120, 105)
"""Leader lines in pixels, and in degrees anticlockwise from the right, the best first: to the upper
right and the lower left of a point is where a falling staircase leaves room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text that has found its place.

    Attributes:
        index: Of its point.
        x, y: Its anchor on the base line.
        anchor: Which part of the text is at x: "start", "middle" or "end".
        box: What it covers.
        leader: The line from the point to the text where it is not beside its point.
    """

    index: int
    x: float
    y: float
    anchor: str
    box: Box
    leader: Segment | None = None


@dataclass(slots=True, kw_only=True)
class _Room:
    """What is taken already.

    Attributes:
        points: Pixels of the points.
        lines: Lines of the picture.
        area: Where labels may be.
        labels: Those that have their place.
    """

    points: Sequence[Pixel]
    lines: Sequence[Box]
    area: Box
    labels: list[Label] = field(default_factory=list)

    def is_free(self, label: Label) -> bool:
        """Whether the text covers nothing."""
        return (
            label.box.inside(self.area)
            and not any(label.box.overlaps(Box.around(point, _RADIUS)) for point in self.points)
            and not any(map(label.box.overlaps, self.lines))
            and self.is_apart(label)
        )

    def is_apart(self, label: Label) -> bool:
        """Whether the text covers no other text and no leader line."""
        return not any(
            label.box.overlaps(other.box) or (other.leader and other.leader.meets(label.box))
            for other in self.labels
        )

    def is_clear(self, label: Label, near: float) -> bool:
        """Whether one sees which point the text belongs to.

        Args:
            label: With or without leader line.
            near: Points that are closer than this to the label's own do not matter.
        """
        own = self.points[label.index]
        others = [point for index, point in enumerate(self.points) if index != label.index]
        if label.leader is None:
            closest = label.box.distance(own) + _MARGIN
            return all(label.box.distance(other) >= closest for other in others)
        far = [Box.around(other, _RADIUS - 1) for other in others if dist(own, other) >= near]
        texts = [other.box for other in self.labels]
        leaders = [other.leader for other in self.labels if other.leader]
        return not any(map(label.leader.meets, [*far, *texts, *self.lines])) and not any(
            map(label.leader.crosses, leaders)
        )

    def covered(self, label: Label) -> int:
        """How many points the text covers."""
        return sum(label.box.overlaps(Box.around(point, _RADIUS)) for point in self.points)


def placed(
    points: Sequence[Pixel],
    words: Sequence[str],
    order: Sequence[int],
    area: Box,
    size: float,
    lines: Sequence[Box] = (),
    needed: Collection[int] = (),
) -> list[Label]:
    """Labels beside their points or at the end of a leader line, as many as find room.

    Where one finds none after those that matter more, it is tried before them.

    Args:
        points: Pixels of the points; labels stay clear of all of them.
        words: The label of each point.
        order: Indices of the points, those whose labels matter most first.
        area: Where labels may be.
        size: Font size in pixels.
        lines: Lines of the picture, which neither labels nor leader lines cover.
        needed: Points that get their label even where it covers others.
    """

    def in_order(chosen: Sequence[int]) -> list[Label]:
        room = _Room(points=points, lines=lines, area=area)
        for index in chosen:
            label = _found(room, index, words[index], size, is_needed=index in needed)
            room.labels += [label] if label else []
        return room.labels

    first = in_order(order)
    placed_ones = {label.index for label in first}
    missed = [index for index in order if index not in placed_ones]
    if not missed:
        return first
    again = in_order([*missed, *(index for index in order if index in placed_ones)])
    kept = {label.index for label in again} >= placed_ones
    return again if kept and len(again) > len(first) else first


def _found(room: _Room, index: int, words: str, size: float, *, is_needed: bool) -> Label | None:
    """The best place of a label that is left; None where there is none."""
    lengths = _LENGTHS + (_MORE_LENGTHS if is_needed else ())
    places = list(_places(index, room.points[index], words, size, lengths))
    free = [label for label in places if room.is_free(label)]
    clear = (label for near in (0.0, _NEAR) for label in free if room.is_clear(label, near))
    chosen = next(clear, None)
    if chosen is None and is_needed:
        inside = [label for label in places if label.box.inside(room.area) and room.is_apart(label)]
        chosen = min(inside, key=room.covered, default=None)
    return chosen


def _label(
    index: int, at: Pixel, anchor: str, words: str, size: float, leader: Segment | None = None
) -> Label:
    x, y = at
    width = _CHARACTER * size * len(words)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    top, bottom = y - _ASCENT * size, y + _DESCENT * size
    box = Box(left=left, top=top, right=left + width, bottom=bottom)
    return Label(index=index, x=x, y=y, anchor=anchor, box=box, leader=leader)


def _places(
    index: int, point: Pixel, words: str, size: float, lengths: Sequence[int]
) -> Iterator[Label]:
    """Labels around a point, the best places first: beside it, then at leader lines."""
    x, y = point
    middle, above, below = y + 0.35 * size, y - 6.0, y + 6.0 + _ASCENT * size
    right, left = x + _GAP, x - _GAP
    for at, anchor in (
        ((right, above), "start"), ((right, middle), "start"), ((left, below), "end"),
        ((right, below), "start"), ((left, above), "end"), ((left, middle), "end"),
        ((x, y - _GAP - 2), "middle"), ((x, y + _GAP + size), "middle"),
    ):  # fmt: skip
        yield _label(index, at, anchor, words, size)
    for length in lengths:
        for angle in _ANGLES:
            step_x, step_y = cos(radians(angle)), -sin(radians(angle))
            start = (x + (_RADIUS + 1) * step_x, y + (_RADIUS + 1) * step_y)
            end = (x + length * step_x, y + length * step_y)
            for side, anchor in ((3.0, "start"), (-3.0, "end")):
                if side * step_x > -1e-9:
                    at = (end[0] + side, end[1] + 0.3 * size)
                    leader = Segment(start=start, end=end)
                    yield _label(index, at, anchor, words, size, leader)
