"""The Pareto front as a picture that needs no library to look at."""

from __future__ import annotations

from html import escape
from math import floor, log10

from planner.report.words import mesh_words, schedule_words
from planner.results import PlanResult, SolveResult

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 86, 24, 52, 60
_TICKS = 5


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


class _Frame:
    """Maps data to pixels, with a margin of 6 % around the points."""

    def __init__(self, xs: list[float], ys: list[float]) -> None:
        self.x_low, self.x_high = _padded(xs)
        self.y_low, self.y_high = _padded(ys)

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _padded(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) if high > low else 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def front_svg(result: SolveResult) -> str:
    """An SVG of step time against energy per step, the best plan marked and points labelled."""
    points = result.front
    times = [point.step_time_s for point in points]
    energies = [point.energy_per_step_j / 1e6 for point in points]
    frame = _Frame(times, energies)
    job = result.job
    title = f"{job['model']} on up to {job['chips']:,} x {job['chip']}"
    body = [
        f"<title>{escape(title)}: Pareto front of time and energy</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 24, title, size=16, weight="bold"),
        _text(_LEFT, 42, "Exact Pareto front of step time and energy per step", size=12),
        *_axes(frame),
        _staircase(frame, times, energies),
        *(
            _point(frame, point, energy, result)
            for point, energy in zip(points, energies, strict=True)
        ),
        *_labels(frame, points, energies),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" fill="#222">'
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _text(
    x: float, y: float, words: str, *, size: int, weight: str = "normal", anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def _axes(frame: _Frame) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [
        f'<path d="M{_LEFT},{_TOP} V{bottom} H{right}" fill="none" stroke="#555"/>',
        _text((_LEFT + right) / 2, _HEIGHT - 14, "step time (s)", size=13, anchor="middle"),
        f'<text transform="translate(18,{(_TOP + bottom) / 2:.1f}) rotate(-90)" font-size="13" '
        f'text-anchor="middle">energy per step (MJ)</text>',
    ]
    for value in ticks(frame.x_low, frame.x_high):
        at = frame.x(value)
        parts.append(f'<path d="M{at:.1f},{bottom} V{_TOP}" stroke="#e4e4e4"/>')
        parts.append(_text(at, bottom + 18, f"{value:g}", size=12, anchor="middle"))
    for value in ticks(frame.y_low, frame.y_high):
        at = frame.y(value)
        parts.append(f'<path d="M{_LEFT},{at:.1f} H{right}" stroke="#e4e4e4"/>')
        parts.append(_text(_LEFT - 8, at + 4, f"{value:g}", size=12, anchor="end"))
    return parts


def _staircase(frame: _Frame, times: list[float], energies: list[float]) -> str:
    """The border of what no plan reaches: level to the next point, then down."""
    path = f"M{frame.x(times[0]):.1f},{frame.y(energies[0]):.1f}"
    for time, energy in zip(times[1:], energies[1:], strict=True):
        path += f" H{frame.x(time):.1f} V{frame.y(energy):.1f}"
    return f'<path d="{path}" fill="none" stroke="#9bb8d3" stroke-width="1.5"/>'


def _point(frame: _Frame, point: PlanResult, energy: float, result: SolveResult) -> str:
    best = result.best is not None and point.plan == result.best.plan
    words = (
        f"{point.chips:,} chips: {mesh_words(point.plan)}; {point.plan.sharding}, "
        f"{schedule_words(point.plan)}; {point.step_time_s:.4g} s, {energy:.4g} MJ, "
        f"MFU {100 * point.mfu:.1f} %"
    )
    at = f'cx="{frame.x(point.step_time_s):.1f}" cy="{frame.y(energy):.1f}"'
    style = 'r="7" fill="#d1495b"' if best else 'r="5" fill="#2f6690"'
    return f"<circle {at} {style}><title>{escape(words)}</title></circle>"


def _labels(frame: _Frame, points: tuple[PlanResult, ...], energies: list[float]) -> list[str]:
    """The chips (and clock) of each point, as far as labels do not overlap."""
    parts: list[str] = []
    last = (-1e9, -1e9)
    for point, energy in zip(points, energies, strict=True):
        x, y = frame.x(point.step_time_s), frame.y(energy)
        if abs(x - last[0]) < 90 and abs(y - last[1]) < 14:
            continue
        clock = f", clock {point.plan.clock:g}" if point.plan.clock != 1.0 else ""
        side = -1 if x > _WIDTH - 170 else 1
        anchor = "end" if side < 0 else "start"
        parts.append(
            _text(x + 10 * side, y - 8, f"{point.chips:,} chips{clock}", size=11, anchor=anchor)
        )
        last = (x, y)
    return parts
