"""A small scatter plot made of characters, for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

WIDTH, HEIGHT = 56, 12
WIDE_RANGE = 12.0
"""Largest over smallest value from which an axis is logarithmic."""


def scatter(
    x: Sequence[float],
    y: Sequence[float],
    marks: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    x_ends: tuple[str, str],
    y_ends: tuple[str, str],
    legend: str = "",
    width: int = WIDTH,
) -> str:
    """Points on a grid of characters with labelled ends.

    Args:
        x, y: Coordinates, same length, at least one point.
        marks: One character per point; later points cover earlier ones.
        x_label, y_label: Names of the axes; "(log)" is added where an axis is logarithmic.
        x_ends, y_ends: Text of the smallest and largest value of each axis.
        legend: What the marks mean, beside the name of the vertical axis.
        width: Columns of the grid.
    """
    grid = [[" "] * width for _ in range(HEIGHT)]
    for share_x, share_y, mark in zip(shares(x), shares(y), marks, strict=True):
        column = round(share_x * (width - 1))
        row = HEIGHT - 1 - round(share_y * (HEIGHT - 1))
        grid[row][column] = mark
    margin = max(len(y_ends[0]), len(y_ends[1]))
    lines = [f"{'':>{margin}}  {_named(y_label, y)}   {legend}".rstrip()]
    for index, row_cells in enumerate(grid):
        label = {0: y_ends[1], HEIGHT - 1: y_ends[0]}.get(index, "")
        lines.append(f"{label:>{margin}} |{''.join(row_cells)}")
    lines.append(f"{'':>{margin}} +{'-' * width}")
    room = width - len(x_ends[0]) - len(x_ends[1])
    lines.append(f"{'':>{margin}}  {x_ends[0]}{_named(x_label, x):^{max(room, 0)}}{x_ends[1]}")
    return "\n".join(lines)


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether values range so widely that a linear axis would crowd the small ones."""
    return min(values) > 0 and max(values) >= WIDE_RANGE * min(values)


def shares(values: Sequence[float]) -> list[float]:
    """Where each value lies between the smallest (0) and the largest (1)."""
    if is_logarithmic(values):
        values = [log(value) for value in values]
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def _named(label: str, values: Sequence[float]) -> str:
    return f"{label} (log)" if is_logarithmic(values) else label
