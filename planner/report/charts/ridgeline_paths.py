"""Charts along a path of a ridgeline: intensity, times and the projected time by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.units import plain, show_seconds
from planner.report.charts.ridgeline_labels import (
    HEIGHT,
    SHAPES,
    TONES,
    fit_keys,
    fit_words,
    near_notes,
    region_keys,
)
from planner.report.drawing.chart import Axis, Chart, Dot, Key, Line, Mark
from planner.report.tables.ridgeline import step_title
from planner.studies.ridgeline.answer import RidgelineResult, step_words
from planner.studies.ridgeline.plane import REGIONS

_OF_SERIES = (
    ("teal", "circle"),
    ("brown", "triangle"),
    ("grey", "square"),
    ("teal", "hexagon"),
    ("brown", "star"),
    ("grey", "diamond"),
)
_OF_LEVELS = (
    ("blue", "diamond"),
    ("teal", "triangle"),
    ("brown", "hexagon"),
    ("grey", "star"),
    ("teal", "wedge"),
)
"""Looks of paths and of levels: no tone of a region but that of the network, and not purple, which
is what was measured or what the cost model says."""
_MARGIN = 1.6


def path_charts(result: RidgelineResult, name: str) -> list[Chart]:
    """The chart of a name, where the points are steps of a path.

    Args:
        result: The answer.
        name: intensity, times or projected.
    """
    return [_CHARTS[name](result)] if len(set(result.steps)) > 1 else []


def _rows_of(result: RidgelineResult) -> Iterator[tuple[str, list[int]]]:
    """The points of every path, by its name."""
    for name in dict.fromkeys(result.series):
        yield name, [row for row, other in enumerate(result.series) if other == name]


def _last(result: RidgelineResult) -> tuple[str, list[int]]:
    """The points of the last path: the sum, where there are several."""
    return list(_rows_of(result))[-1]


def _steps_axis(result: RidgelineResult) -> Axis:
    steps = sorted(set(result.steps))
    return Axis(
        label=step_title(result),
        low=steps[0] / _MARGIN,
        high=steps[-1] * _MARGIN,
        logarithmic=True,
        ticks=tuple((step, step_words(step)) for step in steps),
    )


def _values_axis(label: str, values: FloatArray) -> Axis:
    """A logarithmic axis that shows all values above 0."""
    shown = values[values > 0]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (1.0, 10.0)
    return Axis(label=label, low=low / 2, high=high * 2, logarithmic=True)


def _curve(result: RidgelineResult, rows: list[int], values: FloatArray, tone: str) -> Line:
    """A line through the values above 0 of a path."""
    points = tuple((result.steps[row], float(values[row])) for row in rows if values[row] > 0)
    return Line(points=points, tone=tone)


def _marked(
    result: RidgelineResult, rows: list[int], values: FloatArray, look: tuple[str, str], words: str
) -> list[Mark]:
    """A curve with its points.

    Args:
        result: The answer.
        rows: Of the path.
        values: Of all points.
        look: Tone and shape.
        words: What the values are.
    """
    dots = (
        Dot(
            x=result.steps[row],
            y=float(values[row]),
            tone=look[0],
            shape=look[1],
            detail=f"{step_words(result.steps[row])}: {words} {values[row]:.4g}"
            + fit_words(result, row),
            hollow=not result.fits_at(row),
        )
        for row in rows
        if values[row] > 0
    )
    return [_curve(result, rows, values, look[0]), *dots]


def intensity(result: RidgelineResult) -> Chart:
    """FLOP per byte along the paths, with the machine's balance."""
    counts, knee = result.counts, result.ridges[0].knee_y
    values = np.zeros(len(counts))
    np.divide(counts.flop, counts.memory_bytes, where=counts.memory_bytes > 0, out=values)
    axis = _steps_axis(result)
    words = f"balance, {plain(knee)} FLOP per byte"
    balance = ((axis.low, knee), (axis.high, knee))
    marks: list[Mark] = [Line(points=balance, tone="red", bold=True, detail=words)]
    keys, notes = [Key(words=words, tone="red", kind="line")], []
    looks = cycle(_OF_SERIES)
    for name, rows in _rows_of(result):
        if not values[rows].any():
            notes.append(f"{name}: no FLOP is counted, and a logarithmic axis has no 0.")
            continue
        tone, shape = look = next(looks)
        marks += _marked(result, rows, values, look, name)
        keys.append(Key(words=name, tone=tone, shape=shape))
    return Chart(
        title="FLOP per memory byte",
        x=axis,
        y=_values_axis("FLOP per memory byte", np.append(values, knee)),
        marks=tuple(marks),
        legend=(*keys, *fit_keys(result, range(len(counts)))),
        notes=tuple(notes),
        description=f"FLOP per byte of memory along {step_title(result)}; the machine's balance is "
        f"{plain(knee)}: below it memory would bind, were there no network.",
        header=(step_title(result), "of", "FLOP per byte"),
        height=HEIGHT,
        rows=tuple(
            (step_words(result.steps[row]), result.series[row], plain(float(values[row])))
            for row in range(len(counts))
        ),
    )


def _resources(
    result: RidgelineResult, rows: list[int]
) -> dict[str, tuple[FloatArray, tuple[str, str]]]:
    """Seconds of each resource that is used, with its look; levels of equal times are one."""
    placed = result.placed
    found = {
        name: (seconds, (TONES[name], SHAPES[name]))
        for name, seconds in (("compute", placed.compute_s), ("memory", placed.memory_s))
    }
    for index, ridge in enumerate(result.ridges):
        seconds = placed.network_s[:, index]
        same = any(np.array_equal(seconds, other) for other, _ in found.values())
        if seconds[rows].any() and not same:
            name = ridge.level if ridge.level == "network" else f"network: {ridge.level}"
            found[name] = (seconds, _OF_LEVELS[index % len(_OF_LEVELS)])
    return found


def times(result: RidgelineResult) -> Chart:
    """Seconds of computing, of memory and of each level along the last path."""
    name, rows = _last(result)
    found = _resources(result, rows)
    marks: list[Mark] = []
    for what, (seconds, look) in found.items():
        marks += _marked(result, rows, seconds, look, f"{what}, s")
    every = np.concatenate([seconds[rows] for seconds, _ in found.values()])
    words = f" of {name}" if len(set(result.series)) > 1 else ""
    return Chart(
        title=f"Times of each resource{words}",
        x=_steps_axis(result),
        y=_values_axis("seconds", every),
        marks=tuple(marks),
        legend=(
            *(
                Key(words=what, tone=tone, shape=shape)
                for what, (_, (tone, shape)) in found.items()
            ),
            *fit_keys(result, rows),
        ),
        description=f"Seconds that each resource alone would take along {step_title(result)}; the "
        "longest binds.",
        header=(step_title(result), *found),
        height=HEIGHT,
        rows=tuple(
            (
                step_words(result.steps[row]),
                *(show_seconds(float(seconds[row])) for seconds, _ in found.values()),
            )
            for row in rows
        ),
    )


def projected(result: RidgelineResult) -> Chart:
    """The projected time along the last path, with the region of each point."""
    placed = result.placed
    name, rows = _last(result)
    known = np.array([time or 0.0 for time in result.times_s] or np.zeros(len(result.counts)))
    marks: list[Mark] = [_curve(result, rows, placed.bound_s, "grey")]
    for row in rows:
        region = REGIONS[placed.region[row]]
        marks.append(
            Dot(x=result.steps[row], y=float(placed.bound_s[row]), tone=TONES[region],
                shape=SHAPES[region], words=show_seconds(float(placed.bound_s[row])),
                strong=bool(placed.near_ridge[row]), hollow=not result.fits_at(row),
                detail=f"{name}, {step_words(result.steps[row])}: {region}-bound"
                + fit_words(result, row))
        )  # fmt: skip
    keys = [*region_keys(REGIONS[placed.region[row]] for row in rows), *fit_keys(result, rows)]
    if result.times_s:
        marks.append(_curve(result, rows, known, "purple"))
        keys.append(Key(words=result.times_are, tone="purple", kind="line"))
    return Chart(
        title="Projected time",
        x=_steps_axis(result),
        y=_values_axis("seconds", np.concatenate([placed.bound_s[rows], known])),
        marks=tuple(marks),
        legend=tuple(keys),
        notes=near_notes(placed.near_ridge[rows].tolist()),
        description=f"Projected time along {step_title(result)}: the longest of compute, memory "
        "and network.",
        header=(step_title(result), "region", "time"),
        height=HEIGHT,
        rows=tuple(
            (step_words(result.steps[row]), REGIONS[placed.region[row]],
             show_seconds(float(placed.bound_s[row])))
            for row in rows
        ),
    )  # fmt: skip


_CHARTS: dict[str, Callable[[RidgelineResult], Chart]] = {
    "intensity": intensity,
    "times": times,
    "projected": projected,
}
