"""Where the labels of a picture go, so that none covers another, a point or the edge."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

_CHARACTER, _ASCENT, _DESCENT = 0.6, 0.8, 0.25
"""Width of a usual character, and height above and below the line, in font sizes."""
_GAP = 11.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two have an inner point in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def inside(self, other: Box) -> bool:
        """Whether this one sticks out nowhere."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text that has found its place.

    Attributes:
        index: Of its point.
        x, y: Left end and base line.
        box: What it covers.
        clear: Whether there is nothing else in the box.
    """

    index: int
    x: float
    y: float
    box: Box
    clear: bool = True


def placed(
    points: Sequence[tuple[float, float]],
    words: Sequence[str],
    order: Sequence[int],
    area: Box,
    size: float,
    lines: Sequence[Box] = (),
    needed: Collection[int] = (),
) -> list[Label]:
    """Labels beside their points, as many as find room.

    Args:
        points: Pixels of the points; labels stay clear of all of them.
        words: The label of each point.
        order: Indices of the points, those whose labels matter most first.
        area: Where labels may be.
        size: Font size in pixels.
        lines: What labels cover only where there is no other place.
        needed: Points that get their label even where it covers others.
    """
    taken = [Box(left=x - 7, top=y - 7, right=x + 7, bottom=y + 7) for x, y in points]
    labels: list[Label] = []
    for index in order:
        places = [
            Label(index=index, x=x, y=y, box=_box(x, y, words[index], size))
            for x, y in _places(*points[index], _width(words[index], size), size)
        ]
        inside = [label for label in places if label.box.inside(area)]
        free = [label for label in inside if not any(map(label.box.overlaps, taken))]
        clear = [label for label in free if not any(map(label.box.overlaps, lines))]
        chosen = (clear or free or (inside if index in needed else []))[:1]
        labels += [replace(label, clear=bool(clear)) for label in chosen]
        taken += [label.box for label in chosen]
    return labels


def _width(words: str, size: float) -> float:
    return _CHARACTER * size * len(words)


def _box(x: float, y: float, words: str, size: float) -> Box:
    return Box(
        left=x, top=y - _ASCENT * size, right=x + _width(words, size), bottom=y + _DESCENT * size
    )


def _places(x: float, y: float, width: float, size: float) -> list[tuple[float, float]]:
    """Left end and base line of a label around a point, the best places first."""
    middle = y + 0.35 * size
    above, below = y - 6.0, y + 6.0 + _ASCENT * size
    right, left, centre = x + _GAP, x - _GAP - width, x - width / 2
    return [
        (right, above), (right, middle), (left, below), (right, below), (left, above),
        (left, middle), (centre, y - _GAP - 2), (centre, y + _GAP + size),
    ]  # fmt: skip
