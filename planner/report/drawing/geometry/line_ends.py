"""Curves with their names behind their right ends, for charts of few lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log10

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.report.drawing.chart import Axis, Key, Line, Mark, Words
from planner.report.drawing.geometry.frame import log_ticks, ticks
from planner.report.drawing.geometry.lettering import widest

_SIZE = 11.0
_AROUND = 90.0
"""Pixels of a chart beside its area: the labels and words of the vertical axis."""
_LINE = 0.055
"""Least distance of two names, as a share of the height of the area."""
_GAP = 0.018
"""Between the end of a line and its name, as a share of the width of the area."""
_SWEEPS = 100
_MOST_TICKS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line over the x values of a chart.

    Attributes:
        name: Behind its end, in the legend and in the table.
        values: One for each x.
        tone: One of `planner.report.drawing.chart.TONES`.
        dashed, dotted, bold: Look.
    """

    name: str
    values: FloatArray
    tone: str
    dashed: bool = False
    dotted: bool = False
    bold: bool = False

    def line(self, x: FloatArray) -> Line:
        """The mark."""
        points = tuple(zip(x.tolist(), self.values.tolist(), strict=True))
        return Line(points=points, tone=self.tone, dashed=self.dashed, dotted=self.dotted,
                    bold=self.bold, detail=self.name)  # fmt: skip

    def key(self) -> Key:
        """Its entry in the legend."""
        kind = "dashed" if self.dashed else "dotted" if self.dotted else "line"
        return Key(words=self.name, tone=self.tone, kind=kind)


def with_room(low: float, high: float, names: Sequence[str], width: float) -> float:
    """The end of a logarithmic axis that leaves room for names behind `high`.

    Args:
        low, high: Where the curves begin and end.
        names: Of the curves.
        width: Of the chart, in pixels.
    """
    share = min(widest(names, _SIZE) / (width - _AROUND) + 2 * _GAP, 0.5)
    return float(low * max(high / low, 2.0) ** (1.0 / (1.0 - share)))


def end_names(curves: Sequence[Curve], end: float, x: Axis, y: Axis) -> list[Mark]:
    """The names of curves that end at `end`, none on another; both axes are logarithmic."""
    low, high = log10(y.low), log10(y.high)
    wanted = [(log10(curve.values[-1]) - low) / (high - low) for curve in curves]
    inside = [min(max(height, 0.02), 0.98) for height in wanted]
    at = end * (x.high / x.low) ** _GAP
    placed = below(apart(inside, _LINE), _LINE)
    return [
        Words(x=at, y=10.0 ** (low + height * (high - low)), words=curve.name, anchor="start",
              tone=curve.tone)
        for curve, height in zip(curves, placed, strict=True)
    ]  # fmt: skip


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Heights of labels at least `least` apart, as near to the wanted heights as sweeps get."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = [heights[at] for at in order]
    for _ in range(_SWEEPS):
        for low in range(len(placed) - 1):
            overlap = least - (placed[low + 1] - placed[low])
            if overlap > 1e-9:
                placed[low] -= overlap / 2
                placed[low + 1] += overlap / 2
    return [placed[order.index(at)] for at in range(len(heights))]


def below(heights: Sequence[float], least: float) -> list[float]:
    """The same with none above the area: the highest ones are moved down, the others give way."""
    found, top = list(heights), 1.0
    for at in sorted(range(len(found)), key=found.__getitem__, reverse=True):
        found[at] = min(found[at], top)
        top = found[at] - least
    return found


def named_ticks(
    low: float, high: float, words: Callable[[float], str]
) -> tuple[tuple[float, str], ...]:
    """Round values of a logarithmic axis in the words of their unit, two at least."""
    values = log_ticks(low, high)
    if len(values) > _MOST_TICKS:
        values = [value for value in values if log10(value).is_integer()]
    if len(values) < 2:
        values = [value for value in ticks(low, high) if value > 0]
    return tuple((value, words(value)) for value in values)
