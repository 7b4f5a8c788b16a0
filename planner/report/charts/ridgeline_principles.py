"""How a ridgeline comes about, step by step: figures 2a to 2d of the paper for any machine.

Two rooflines lie on one plane: FLOP/s over FLOP per memory byte, and memory bytes/s over memory
bytes per network byte. Each divides it once; where they disagree, the product of both
coordinates, FLOP per network byte, decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from planner.base.units import plain, show_bytes
from planner.report.charts.ridgeline_labels import HEIGHT, TONES
from planner.report.charts.ridgeline_roofline import ends, rate_words
from planner.report.drawing.chart import Area, Axis, Chart, Key, Line, Mark, Words
from planner.studies.ridgeline.answer import RidgelineResult
from planner.studies.ridgeline.plane import Ridge

_SHARE = 0.35
"""Of the plane: how far a roofline that lies on it reaches."""
_DECADE_SHARES = (0.01, 0.1, 1.0, 10.0, 100.0)
_Square = tuple[float, float, float, float]


def principle(result: RidgelineResult, name: str) -> Chart:
    """One step.

    Args:
        result: An answer; the ridge of the level that matters most is drawn.
        name: arithmetic, bandwidth, quadrants or products.
    """
    ridge = result.ridges[result.main]
    title, words, marks, legend = _STEPS[name](ridge)
    left, right, low, high = _square(ridge)
    return Chart(
        title=title,
        subtitle=f"{ridge.level}: knee at x = {plain(ridge.knee_x)}, y = {plain(ridge.knee_y)}",
        x=Axis(label="memory bytes per network byte", low=left, high=right, logarithmic=True),
        y=Axis(label="FLOP per memory byte", low=low, high=high, logarithmic=True),
        marks=tuple(marks),
        legend=legend,
        description=words,
        height=HEIGHT,
    )


_Step = tuple[str, str, Iterator[Mark], tuple[Key, ...]]


def _square(ridge: Ridge) -> _Square:
    """The part of the plane that is drawn: left, right, low, high."""
    return (*ends([ridge.knee_x], ridge.knee_x), *ends([ridge.knee_y], ridge.knee_y))


def _named(ridge: Ridge, shares: dict[str, tuple[float, float]]) -> Iterator[Words]:
    """Names of regions at shares of the plane."""
    left, right, low, high = _square(ridge)
    for words, (across, up) in shares.items():
        x, y = left * (right / left) ** across, low * (high / low) ** up
        yield Words(x=x, y=y, words=words, tone=TONES.get(words, ""), bold=True)


def _arithmetic(ridge: Ridge) -> _Step:
    """2a: the roofline of arithmetic and memory along the vertical axis."""
    left, right, low, high = _square(ridge)
    y = np.array([low, ridge.knee_y, high])
    reach = ridge.roof(y) / ridge.flop_per_s
    x = left * (right / left) ** (_SHARE * (1 + np.log10(reach) / np.log10(high / low) * 2))

    def marks() -> Iterator[Mark]:
        yield Area(corners=((left, ridge.knee_y), (right, ridge.knee_y), (right, high),
                            (left, high)), tone=TONES["compute"])  # fmt: skip
        yield Area(corners=((left, low), (right, low), (right, ridge.knee_y),
                            (left, ridge.knee_y)), tone=TONES["memory"], hatch="dots")  # fmt: skip
        yield Line(points=((left, ridge.knee_y), (right, ridge.knee_y)), tone="blue", dashed=True)
        yield Line(points=tuple(zip(x.tolist(), y.tolist(), strict=True)), tone="purple", bold=True)
        yield from _named(ridge, {"compute": (0.75, 0.8), "memory": (0.75, 0.2)})

    words = (
        f"Above {plain(ridge.knee_y)} FLOP per memory byte arithmetic binds, below it memory, were "
        "there no network."
    )
    keys = (
        Key(words="roofline, FLOP/s to the right", tone="purple", kind="line"),
        Key(words=f"y = {plain(ridge.knee_y)}", tone="blue", kind="dashed"),
    )
    return "Arithmetic or memory", words, marks(), keys


def _bandwidth(ridge: Ridge) -> _Step:
    """2b: the roofline of memory and network along the horizontal axis."""
    left, right, low, high = _square(ridge)
    x = np.array([left, ridge.knee_x, right])
    rate = np.minimum(ridge.memory_bytes_per_s, x * ridge.network_bytes_per_s)
    share = 1 + np.log10(rate / ridge.memory_bytes_per_s) / np.log10(right / left) * 2
    y = low * (high / low) ** (_SHARE * share)

    def marks() -> Iterator[Mark]:
        yield Area(corners=((left, low), (ridge.knee_x, low), (ridge.knee_x, high), (left, high)),
                   tone=TONES["network"], hatch="slant")  # fmt: skip
        yield Area(corners=((ridge.knee_x, low), (right, low), (right, high), (ridge.knee_x, high)),
                   tone=TONES["memory"], hatch="dots")  # fmt: skip
        yield Line(points=((ridge.knee_x, low), (ridge.knee_x, high)), tone="red", dashed=True)
        yield Line(points=tuple(zip(x.tolist(), y.tolist(), strict=True)), tone="purple", bold=True)
        yield from _named(ridge, {"network": (0.25, 0.8), "memory": (0.75, 0.8)})

    words = (
        f"Left of {plain(ridge.knee_x)} memory bytes per network byte the network binds, right of "
        f"it memory ({show_bytes(ridge.memory_bytes_per_s)}/s), were there no arithmetic."
    )
    keys = (
        Key(words="memory bytes/s upwards", tone="purple", kind="line"),
        Key(words=f"x = {plain(ridge.knee_x)}", tone="red", kind="dashed"),
    )
    return "Network or memory", words, marks(), keys


def _cross(ridge: Ridge) -> Iterator[Line]:
    """The two lines."""
    left, right, low, high = _square(ridge)
    yield Line(points=((left, ridge.knee_y), (right, ridge.knee_y)), tone="blue", dashed=True)
    yield Line(points=((ridge.knee_x, low), (ridge.knee_x, high)), tone="red", dashed=True)


def _quadrants(ridge: Ridge) -> _Step:
    """2c: what both say together."""

    def marks() -> Iterator[Mark]:
        yield from _cross(ridge)
        yield from _named(
            ridge,
            {"network or compute": (0.25, 0.75), "compute": (0.75, 0.75), "memory": (0.75, 0.25),
             "network": (0.25, 0.25)},
        )  # fmt: skip

    words = "Three of the four quadrants have one answer; the upper left one has two."
    return "What both say", words, marks(), ()


def _products(ridge: Ridge) -> _Step:
    """2d: in the upper left quadrant the product of both coordinates decides."""
    left, right, low, high = _square(ridge)

    def along(product: float) -> tuple[tuple[float, float], ...]:
        start, end = max(left, product / high), min(right, product / low)
        return ((start, product / start), (end, product / end)) if start < end else ()

    def marks() -> Iterator[Mark]:
        yield from _cross(ridge)
        for share in _DECADE_SHARES:
            if points := along(share * ridge.diagonal):
                bold = share == 1.0
                detail = f"x y = {plain(share * ridge.diagonal)}"
                tone = "green" if bold else "grey"
                yield Line(points=points, tone=tone, bold=bold, dashed=not bold, detail=detail)

    words = (
        f"Along x y = k all work has k FLOP per network byte. At k = {plain(ridge.diagonal)} "
        f"network and arithmetic ({rate_words(ridge.flop_per_s)}) take equally long."
    )
    keys = (
        Key(words=f"x y = {plain(ridge.diagonal)}", tone="green", kind="line"),
        Key(words="x y = k, each ten times the next", tone="grey", kind="dashed"),
    )
    return "Network or arithmetic", words, marks(), keys


_STEPS: dict[str, Callable[[Ridge], _Step]] = {
    "arithmetic": _arithmetic,
    "bandwidth": _bandwidth,
    "quadrants": _quadrants,
    "products": _products,
}
