"""Rectangles and line segments in pixels, and whether they meet; y grows downwards."""

from __future__ import annotations

from math import hypot

from frozen_records import dataclass

Pixel = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    @staticmethod
    def around(point: Pixel, radius: float) -> Box:
        """The square around a point."""
        x, y = point
        return Box(left=x - radius, top=y - radius, right=x + radius, bottom=y + radius)

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

    def distance(self, point: Pixel) -> float:
        """From a point to the closest point of this box, in pixels."""
        x, y = point
        return hypot(
            max(self.left - x, 0.0, x - self.right), max(self.top - y, 0.0, y - self.bottom)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A straight line between two points."""

    start: Pixel
    end: Pixel

    def meets(self, box: Box) -> bool:
        """Whether a part of the segment lies inside a box: the part inside all four sides."""
        first, last = 0.0, 1.0
        sides = ((box.left, box.right), (box.top, box.bottom))
        for (low, high), start, end in zip(sides, self.start, self.end, strict=True):
            if start == end:
                if not low < start < high:
                    return False
                continue
            enter, leave = sorted(((low - start) / (end - start), (high - start) / (end - start)))
            first, last = max(first, enter), min(last, leave)
        return first < last

    def crosses(self, other: Segment) -> bool:
        """Whether two segments have a point in common that is an end of neither."""
        return self._parts(other) and other._parts(self)

    def _parts(self, other: Segment) -> bool:
        """Whether the ends of another segment are on different sides of this one's line."""
        return self._side(other.start) * self._side(other.end) < 0

    def _side(self, point: Pixel) -> float:
        (x, y), (end_x, end_y) = self.start, self.end
        return (end_x - x) * (point[1] - y) - (end_y - y) * (point[0] - x)
