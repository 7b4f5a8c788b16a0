"""The shapes of dots in pictures."""

from __future__ import annotations

from planner.report.drawing.geometry.shapes import Pixel

_PATHS = {  # corners around (0, 0) in units of the radius
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.15), (1.05, 0.8), (-1.05, 0.8)),
    "diamond": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    "cross": (
        (-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4),
        (0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4),
    ),
    "hexagon": ((-1.1, 0), (-0.55, -0.95), (0.55, -0.95), (1.1, 0), (0.55, 0.95), (-0.55, 0.95)),
    "wedge": ((0, 1.15), (1.05, -0.8), (-1.05, -0.8)),
    "bar": ((-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)),
    "star": ((0, -1.3), (0.4, -0.4), (1.3, 0), (0.4, 0.4), (0, 1.3), (-0.4, 0.4), (-1.3, 0),
             (-0.4, -0.4)),
}  # fmt: skip


def corners_of(shape: str, at: Pixel, radius: float) -> list[Pixel]:
    """The corners of a shape around a pixel; of every shape but the circle."""
    return [(at[0] + radius * x, at[1] + radius * y) for x, y in _PATHS[shape]]


def symbol(at: Pixel, radius: float, shape: str, look: str) -> str:
    """A shape as SVG.

    Args:
        at, radius: Where and how large, in pixels.
        shape: One of `chart.SHAPES`.
        look: Its class.
    """
    if shape == "circle":
        return f'<circle class="{look}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}"/>'
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners_of(shape, at, radius))
    return f'<polygon class="{look}" points="{corners}"/>'


def dot_symbol(at: Pixel, radius: float, shape: str, *, hollow: bool) -> str:
    """The symbol of a point: filled, or an outline that hides what is behind it."""
    looks = ("paper", "ring") if hollow else ("mark",)
    return "".join(symbol(at, radius, shape, look) for look in looks)
