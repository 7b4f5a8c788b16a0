"""A small scatter plot made of characters, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 56, 12


def scatter(
    x: Sequence[float],
    y: Sequence[float],
    marks: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    x_ends: tuple[str, str],
    y_ends: tuple[str, str],
) -> str:
    """Points on a grid of characters with labelled ends.

    Args:
        x, y: Coordinates, same length, at least one point.
        marks: One character per point; later points cover earlier ones.
        x_label, y_label: Names of the axes.
        x_ends, y_ends: Text of the smallest and largest value of each axis.
    """
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for px, py, mark in zip(x, y, marks, strict=True):
        column = round(_share(px, x) * (WIDTH - 1))
        row = HEIGHT - 1 - round(_share(py, y) * (HEIGHT - 1))
        grid[row][column] = mark
    margin = max(len(y_ends[0]), len(y_ends[1]))
    lines = [f"{'':>{margin}}  {y_label}"]
    for index, row_cells in enumerate(grid):
        label = {0: y_ends[1], HEIGHT - 1: y_ends[0]}.get(index, "")
        lines.append(f"{label:>{margin}} |{''.join(row_cells)}")
    lines.append(f"{'':>{margin}} +{'-' * WIDTH}")
    room = WIDTH - len(x_ends[0]) - len(x_ends[1])
    lines.append(f"{'':>{margin}}  {x_ends[0]}{x_label:^{max(room, 0)}}{x_ends[1]}")
    return "\n".join(lines)


def _share(value: float, values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    return (value - low) / (high - low) if high > low else 0.5
