"""The coordinate system of a picture: data to pixels, and round values for the axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from frozen_records import dataclass
from planner.report.tables.scatter import is_logarithmic

_TICKS = 5
_MARGIN = 0.06
"""Share of the range of values that stays free on each side."""


def ticks(low: float, high: float) -> list[float]:
    """About five round values that cover low..high from inside."""
    span = (high - low) or abs(high) or 1.0
    raw = span / _TICKS
    scale = 10.0 ** floor(log10(raw))
    step = next(s * scale for s in (1, 2, 2.5, 5, 10) if s * scale >= raw)
    first = int(low / step) + (low > int(low / step) * step)
    values = []
    while first * step <= high + 1e-9 * span:
        values.append(round(first * step, 12))
        first += 1
    return values


def log_ticks(low: float, high: float) -> list[float]:
    """The values 1, 2, 5 times a power of ten inside low..high; only the powers if these do."""
    powers = range(floor(log10(low)), floor(log10(high)) + 1)
    every = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    inside = [value for value in every if low <= value <= high]
    tens = inside[:] if len(inside) <= 2 * _TICKS else [10.0**power for power in powers]
    return [value for value in tens if low <= value <= high]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: linear, or logarithmic where values range widely.

    Attributes:
        low, high: Values (or their logarithms) at the two ends.
        start, end: Pixels of the two ends.
        logarithmic: Whether it is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    @staticmethod
    def of(values: Sequence[float], start: float, end: float) -> Axis:
        """An axis with a margin around the values, which are not empty."""
        wide = is_logarithmic(values)
        ends = [min(values), max(values)]
        low, high = [log10(value) for value in ends] if wide else ends
        margin = _MARGIN * (high - low) if high > low else 0.1 * abs(high) or 1.0
        return Axis(low=low - margin, high=high + margin, start=start, end=end, logarithmic=wide)

    def at(self, value: float) -> float:
        """The pixel of a value."""
        position = log10(value) if self.logarithmic else value
        return self.start + (position - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values inside the axis."""
        if self.logarithmic:
            return log_ticks(10.0**self.low, 10.0**self.high)
        return ticks(self.low, self.high)
