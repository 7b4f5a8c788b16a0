"""What of lines and polygons lies inside a box, in pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from planner.report.drawing.geometry.shapes import Box, Pixel

_Side = tuple[Callable[[Pixel], bool], Callable[[Pixel, Pixel], Pixel]]


def clipped_area(corners: Sequence[Pixel], box: Box) -> list[Pixel]:
    """The part of a polygon inside a box, side after side (Sutherland and Hodgman 1974).

    Returns:
        Its corners; empty where nothing is inside.
    """
    left = list(corners)
    for inside, border in _sides(box):
        kept: list[Pixel] = []
        for at, here in enumerate(left):
            before = left[at - 1]
            if inside(here) != inside(before):
                kept.append(border(before, here))
            if inside(here):
                kept.append(here)
        left = kept
    return left


def clipped_line(points: Sequence[Pixel], box: Box) -> list[list[Pixel]]:
    """The parts of a line through points that are inside a box."""
    parts: list[list[Pixel]] = []
    for start, end in pairwise(points):
        piece = _clipped(start, end, box)
        if piece is None:
            continue
        if parts and parts[-1][-1] == piece[0]:
            parts[-1].append(piece[1])
        else:
            parts.append(list(piece))
    return parts


def _sides(box: Box) -> tuple[_Side, ...]:
    def across(at: float) -> Callable[[Pixel, Pixel], Pixel]:
        return lambda a, b: (at, a[1] + (at - a[0]) / (b[0] - a[0]) * (b[1] - a[1]))

    def along(at: float) -> Callable[[Pixel, Pixel], Pixel]:
        return lambda a, b: (a[0] + (at - a[1]) / (b[1] - a[1]) * (b[0] - a[0]), at)

    return (
        (lambda p: p[0] >= box.left, across(box.left)),
        (lambda p: p[0] <= box.right, across(box.right)),
        (lambda p: p[1] >= box.top, along(box.top)),
        (lambda p: p[1] <= box.bottom, along(box.bottom)),
    )


def _clipped(start: Pixel, end: Pixel, box: Box) -> tuple[Pixel, Pixel] | None:
    """The part of a segment inside a box (Liang and Barsky 1984)."""
    first, last = 0.0, 1.0
    sides = ((box.left, box.right), (box.top, box.bottom))
    for (low, high), a, b in zip(sides, start, end, strict=True):
        if a == b:
            if not low <= a <= high:
                return None
            continue
        enter, leave = sorted(((low - a) / (b - a), (high - a) / (b - a)))
        first, last = max(first, enter), min(last, leave)
    if first > last or (first == last and start != end):
        return None
    return _between(start, end, first), _between(start, end, last)


def _between(start: Pixel, end: Pixel, share: float) -> Pixel:
    if share in (0.0, 1.0):  # exactly, so that pieces of a line meet
        return end if share else start
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
