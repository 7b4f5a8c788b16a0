"""The roofline of a chip and its roofline of energy as charts, and what all ridgelines share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.base.arrays import BoolArray, FloatArray
from planner.base.units import plain, show_count
from planner.report.charts.ridgeline_labels import (
    HEIGHT,
    SHAPES,
    TONES,
    fit_keys,
    fit_words,
    named,
    region_keys,
)
from planner.report.drawing.chart import Axis, Chart, Dot, Key, Line, Mark
from planner.report.tables.ridgeline import energy_words, point_names, short, step_title
from planner.studies.ridgeline.answer import RidgelineResult
from planner.studies.ridgeline.plane import Ridge

_AROUND = 30.0
_MARGIN = 2.5
_SAMPLES = 121
_STEPS = (1.0, 2.0, 5.0)
_WITH_NETWORK = Key(words="with the network", tone="blue", shape="diamond")


def quotients(above: FloatArray, below: FloatArray, on: BoolArray) -> FloatArray:
    """Quotients where both counts are there, 1 elsewhere."""
    return np.divide(above, below, out=np.ones(len(above)), where=on)


def ends(values: Sequence[float], knee: float) -> tuple[float, float]:
    """Ends of an axis that show all values, and the knee well inside."""
    low = min(min(values) / _MARGIN, knee / _AROUND)
    high = max(max(values) * _MARGIN, knee * _AROUND)
    return float(low), float(high)


def rate_words(flop_per_s: float) -> str:
    """`4.2 TFLOP/s`."""
    words = show_count(flop_per_s)
    return f"{words}{'' if words[-1:].isalpha() else ' '}FLOP/s"


def roofline(result: RidgelineResult) -> Chart:
    """FLOP/s over FLOP per byte: the roof, the points under it, and what the network leaves."""
    ridge, counts = result.ridges[0], result.counts
    on = (counts.flop > 0) & (counts.memory_bytes > 0)
    x = quotients(counts.flop, counts.memory_bytes, on)
    across = ends([ridge.knee_y, *x[on]], ridge.knee_y)
    peak = ridge.flop_per_s
    roof, kept = ridge.roof(x), result.achieved_flop_per_s
    lowest = float(ridge.roof(np.array([across[0]]))[0])
    known = _known(result, x, on)
    low = float(min([lowest, *kept[on] / _MARGIN, *(dot.y / _MARGIN for dot in known)]))
    high = max([peak * 2, *(dot.y * 2 for dot in known)])
    rows = np.flatnonzero(on).tolist()
    pulled = [row for row in rows if kept[row] < roof[row] * (1 - 1e-9)]
    chart = Chart(
        title="Roofline",
        subtitle=f"knee at {plain(ridge.knee_y)} FLOP per byte",
        x=Axis(label="FLOP per memory byte", low=across[0], high=across[1], logarithmic=True),
        y=_rate_axis(low, high),
        marks=(
            *_roof(ridge, across, low),
            *(mark for row in pulled for mark in _below_roof(result, row, x, roof, kept)),
            *(_at_roof(result, row, x, roof) for row in rows),
            *known,
        ),
        legend=(
            *region_keys(_region(result, float(x[row])) for row in rows),
            *_roofline_keys(result, pulled=bool(pulled), known=bool(known)),
            *fit_keys(result, rows),
        ),
        description=f"Roofline: memory-bound below {plain(ridge.knee_y)} FLOP per byte, "
        f"compute-bound above, {rate_words(peak)} at most.",
        header=(step_title(result), "FLOP per byte", "FLOP/s", "FLOP/s with the network"),
        rows=_roofline_rows(result, rows, x, (roof, kept)),
        height=HEIGHT,
    )
    return named(chart, result)


def _roof(ridge: Ridge, across: tuple[float, float], low: float) -> Iterator[Line]:
    """The roof from end to end, and a line from its knee down to `low`."""
    x = (across[0], ridge.knee_y, across[1])
    y = ridge.roof(np.array(x)).tolist()
    yield Line(points=tuple(zip(x, y, strict=True)), tone="red", bold=True, detail="the roof")
    yield Line(points=((x[1], low), (x[1], y[1])), tone="grey", dashed=True)


def _roofline_keys(result: RidgelineResult, *, pulled: bool, known: bool) -> Iterator[Key]:
    """What the marks below the roof mean, where there are any."""
    if pulled:
        yield _WITH_NETWORK
    if known:
        yield Key(words=result.times_are, tone="purple", shape="cross")


def _roofline_rows(
    result: RidgelineResult, rows: list[int], x: FloatArray, rates: Sequence[FloatArray]
) -> tuple[tuple[str, ...], ...]:
    """The points as words."""
    names = point_names(result)
    return tuple(
        (names[row], short(float(x[row])), *(show_count(float(y[row])) for y in rates))
        for row in rows
    )


def _region(result: RidgelineResult, intensity: float) -> str:
    """What binds at so many FLOP per byte, were there no network."""
    return "compute" if intensity >= result.ridges[0].knee_y else "memory"


def _below_roof(
    result: RidgelineResult, row: int, x: FloatArray, roof: FloatArray, kept: FloatArray
) -> Iterator[Mark]:
    """Where the network takes a point."""
    at, top, left = float(x[row]), float(roof[row]), float(kept[row])
    words = f"{point_names(result)[row]}: {rate_words(left)} with the network"
    yield Line(points=((at, top), (at, left)), tone="blue", dashed=True)
    yield Dot(x=at, y=left, tone="blue", shape="diamond", detail=words)


def _at_roof(result: RidgelineResult, row: int, x: FloatArray, roof: FloatArray) -> Dot:
    """A point at the roof."""
    region = _region(result, float(x[row]))
    return Dot(
        x=float(x[row]),
        y=float(roof[row]),
        tone=TONES[region],
        shape=SHAPES[region],
        key=str(row),
        detail=f"{point_names(result)[row]}: at most {rate_words(float(roof[row]))}"
        + fit_words(result, row),
        hollow=not result.fits_at(row),
    )


def _rate_axis(low: float, high: float) -> Axis:
    """FLOP/s with ticks at 1, 2 and 5 of each power of ten, or fewer on a long axis."""
    steps = _STEPS if high / low < 3e3 else (1.0,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    shown = tuple((tick, show_count(tick)) for tick in ticks if low <= tick <= high)
    return Axis(label="FLOP/s of a chip", low=low, high=high, logarithmic=True, ticks=shown)


def _known(result: RidgelineResult, x: FloatArray, on: BoolArray) -> list[Dot]:
    """What was measured, or the cost model says."""
    dots = []
    for row in np.flatnonzero(on).tolist():
        time = result.times_s[row] if result.times_s else None
        if time is not None:
            rate = float(result.counts.flop[row]) / time
            words = f"{result.counts.names[row]}: {rate_words(rate)}, {result.times_are}"
            dots.append(Dot(x=float(x[row]), y=rate, tone="purple", shape="cross", detail=words))
    return dots


def energy(result: RidgelineResult) -> Chart:
    """Joules per FLOP over FLOP per byte: the arch line, its parts, and the points."""
    roof, ridge, counts = result.energy, result.ridges[0], result.counts
    on = (counts.flop > 0) & (counts.memory_bytes > 0)
    x = quotients(counts.flop, counts.memory_bytes, on)
    across = ends([ridge.knee_y, roof.balance, *x[on]], ridge.knee_y)
    at = np.geomspace(*across, _SAMPLES)
    arch = 1e12 * roof.per_flop(ridge, at)
    picojoules = 1e12 * quotients(roof.joules(counts, result.placed), counts.flop, on)
    floor = 1e12 * roof.flop_j
    rows, names = np.flatnonzero(on).tolist(), point_names(result)
    high = 2 * float(max([arch[0], *picojoules[on]]))
    of_points = "points" if result.is_degenerate else "points, with the network"
    points = (Key(words=of_points, tone="blue", shape="diamond"),) if rows else ()
    chart = Chart(
        title="Roofline of energy",
        subtitle=f"balance at {plain(roof.balance)} FLOP per byte",
        x=Axis(label="FLOP per memory byte", low=across[0], high=across[1], logarithmic=True),
        y=Axis(
            label="pJ per FLOP of a chip",
            low=floor / 2,
            high=high,
            logarithmic=True,
        ),
        marks=(
            *_arch(roof.balance, floor, tuple(zip(at.tolist(), arch.tolist(), strict=True))),
            *(_drawn_energy(result, row, x, picojoules) for row in rows),
        ),
        legend=(
            Key(words="chip and memory", tone="red", kind="line"),
            Key(words="arithmetic alone", tone="green", kind="dashed"),
            *points,
            *fit_keys(result, rows),
        ),
        notes=tuple(energy_words(result)[-1:]) if roof.assumed else (),
        description=" ".join(energy_words(result)),
        header=(step_title(result), "FLOP per byte", "pJ per FLOP"),
        rows=tuple((names[r], short(float(x[r])), short(float(picojoules[r]))) for r in rows),
        height=HEIGHT,
    )
    return named(chart, result)


def _arch(balance: float, floor: float, line: tuple[tuple[float, float], ...]) -> Iterator[Line]:
    """The arch line, what arithmetic alone draws, and where memory draws as much."""
    ends_of_floor = ((line[0][0], floor), (line[-1][0], floor))
    upright = ((balance, floor / 2), (balance, line[0][1]))
    yield Line(points=line, tone="red", bold=True, detail="chip and memory")
    yield Line(points=ends_of_floor, tone="green", dashed=True, detail="arithmetic alone")
    yield Line(points=upright, tone="grey", dashed=True, detail="both draw the same")


def _drawn_energy(result: RidgelineResult, row: int, x: FloatArray, picojoules: FloatArray) -> Dot:
    """A point with all that crosses a network."""
    drawn = float(picojoules[row])
    what = "" if result.is_degenerate else ", network included"
    return Dot(
        x=float(x[row]),
        y=drawn,
        tone="blue",
        shape="diamond",
        key=str(row),
        detail=f"{point_names(result)[row]}: {short(drawn)} pJ per FLOP{what}"
        + fit_words(result, row),
        hollow=not result.fits_at(row),
    )
