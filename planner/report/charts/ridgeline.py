"""Ridgelines as charts: the plane of each level, beside the rooflines and the paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log10

import numpy as np

from planner.base.arrays import BoolArray, FloatArray
from planner.base.units import plain, plural, show_bytes, show_seconds
from planner.report.charts.ridgeline_figures import OF_ANSWERS, PRINCIPLES, SURFACES
from planner.report.charts.ridgeline_labels import (
    HEIGHT,
    SHAPES,
    TONES,
    LabelSpace,
    fit_keys,
    fit_words,
    named,
    near_notes,
    region_keys,
)
from planner.report.charts.ridgeline_paths import path_charts
from planner.report.charts.ridgeline_principles import principle
from planner.report.charts.ridgeline_roofline import ends, energy, quotients, rate_words, roofline
from planner.report.charts.ridgeline_surface import surface
from planner.report.drawing.chart import (
    Area,
    Axis,
    Chart,
    Dot,
    Key,
    Line,
    Mark,
    Picture,
    Point,
    Words,
)
from planner.report.tables.ridgeline import point_names, short, step_title
from planner.results.words import join_words
from planner.studies.ridgeline.answer import RidgelineResult
from planner.studies.ridgeline.plane import REGIONS, Placed, Ridge

_HATCHES = {"compute": "", "memory": "dots", "network": "slant"}
_HEIGHTS = (0.5, 0.75, 0.25, 0.9)
"""Where the name of a region may stand in it, in shares of its height, the best first."""
_BEADS = 12
_MOST_CONTOURS = 8


def ridgeline_picture(result: RidgelineResult, figures: Sequence[str] = ()) -> Picture:
    """The charts of an answer as one picture.

    Args:
        result: The answer.
        figures: Some of `planner.report.charts.ridgeline_figures.FIGURES`; empty: all `OF_ANSWERS`
            that it has.
            Where nothing crosses a network, a roofline stands for the plane.
    """
    wanted = figures or OF_ANSWERS
    charts: list[Chart] = []
    for name in wanted:
        if name == "ridgeline":
            charts += [] if result.is_degenerate else planes(result)
        elif name == "roofline":
            charts += [roofline(result)]
        elif name == "energy":
            charts += [energy(result)]
        elif name in SURFACES:
            charts += [surface(result, name)]
        elif name in PRINCIPLES:
            charts += [principle(result, name)]
        else:
            charts += path_charts(result, name)
    charts = charts or [roofline(result)]
    return Picture(title=_title(result), charts=tuple(charts), columns=2 if len(charts) > 1 else 1)


def _title(result: RidgelineResult) -> str:
    machine = f"{result.hardware}, {result.precision}"
    return f"{result.title}: {machine}" if len(result.counts) else machine


def planes(result: RidgelineResult) -> list[Chart]:
    """One plane per level; levels of one rate that carry the same bytes share theirs."""
    charts = []
    seen: list[tuple[float, tuple[float, ...]]] = []
    for index, ridge in enumerate(result.ridges):
        sent = result.counts.network_bytes[:, index]
        if len(sent) and not sent.any():
            continue
        look = (ridge.network_bytes_per_s, tuple(sent))
        if look in seen:
            continue
        seen.append(look)
        same = [
            other.level
            for at, other in enumerate(result.ridges)
            if look == (other.network_bytes_per_s, tuple(result.counts.network_bytes[:, at]))
        ]
        charts.append(plane(result, index, join_words(same)))
    return charts


def plane(result: RidgelineResult, index: int, name: str) -> Chart:
    """The plane of one level: regions, contours of FLOP/s, points and their paths.

    Args:
        result: The answer.
        index: Of the level.
        name: What it is called, with the levels that look the same.
    """
    ridge, counts = result.ridges[index], result.counts
    sent = counts.network_bytes[:, index]
    on = (counts.flop > 0) & (counts.memory_bytes > 0) & (sent > 0)
    x, y = quotients(counts.memory_bytes, sent, on), quotients(counts.flop, counts.memory_bytes, on)
    across = ends([ridge.knee_x, *x[on]], ridge.knee_x)
    up = ends([ridge.knee_y, *y[on]], ridge.knee_y)
    rows = np.flatnonzero(on).tolist()
    dots = _dots(result, index, rows, (x, y))
    space = LabelSpace(across=across, up=up, points=_covered(result, x, y, on))
    regions = [REGIONS[region] for region in result.placed.of_level(index).region[rows]]
    chart = Chart(
        title=f"Ridgeline of {name}: {show_bytes(ridge.network_bytes_per_s)}/s",
        subtitle=f"peak rates; knee at x = {plain(ridge.knee_x)}, y = {plain(ridge.knee_y)}",
        x=Axis(
            label="memory bytes per network byte", low=across[0], high=across[1], logarithmic=True
        ),
        y=Axis(label="FLOP per memory byte", low=up[0], high=up[1], logarithmic=True),
        marks=(
            *_edges(ridge, space),
            *_contours(ridge, space),
            *_arrows(result, x, y, on),
            *dots,
        ),
        legend=(
            *region_keys(regions),
            *fit_keys(result, rows),
            Key(words="equal FLOP/s", tone="grey", kind="dashed"),
        ),
        notes=near_notes(dot.strong for dot in dots),
        description=_words(ridge, name, regions),
        header=(step_title(result), "region", "x", "y", "time"),
        rows=_table(result, index, rows, (x, y)),
        height=HEIGHT,
    )
    return named(chart, result)


def _dots(
    result: RidgelineResult,
    index: int,
    rows: list[int],
    at: tuple[FloatArray, FloatArray],
) -> tuple[Dot, ...]:
    """The points on the plane of a level; those near its ridge are ringed."""
    placed, names = result.placed.of_level(index), point_names(result)
    regions = [REGIONS[region] for region in placed.region]
    return tuple(
        Dot(
            x=float(at[0][row]),
            y=float(at[1][row]),
            tone=TONES[regions[row]],
            shape=SHAPES[regions[row]],
            key=str(row),
            detail=f"{names[row]}: {_detail(placed, row, result.ridges[index].level)}"
            + fit_words(result, row),
            hollow=not result.fits_at(row),
            strong=bool(placed.near_ridge[row]),
        )
        for row in rows
    )


def _table(
    result: RidgelineResult, index: int, rows: list[int], at: tuple[FloatArray, FloatArray]
) -> tuple[tuple[str, ...], ...]:
    """The same points as words."""
    placed, names = result.placed.of_level(index), point_names(result)
    return tuple(
        (
            names[row],
            REGIONS[placed.region[row]],
            short(float(at[0][row])),
            short(float(at[1][row])),
            show_seconds(float(placed.bound_s[row])),
        )
        for row in rows
    )


def _words(ridge: Ridge, name: str, regions: Sequence[str]) -> str:
    counts = [(regions.count(region), region) for region in REGIONS if region in regions]
    found = join_words([f"{count} {region}-bound" for count, region in counts]) if counts else ""
    points = f" {plural(len(regions), 'point')}: {found}." if counts else ""
    return (
        f"Plane of memory bytes per network byte and FLOP per memory byte for {name}: left of "
        f"{plain(ridge.knee_x)} and below the diagonal the network binds, right of it and below "
        f"{plain(ridge.knee_y)} the memory, elsewhere compute.{points}"
    )


def _covered(
    result: RidgelineResult, x: FloatArray, y: FloatArray, on: BoolArray
) -> tuple[Point, ...]:
    """Points and the arrows between them, as points that words keep clear of."""
    rows = np.flatnonzero(on).tolist()
    found = [(float(x[row]), float(y[row])) for row in rows]
    for arrow in _arrows(result, x, y, on):
        start, end = arrow.points
        found += map(tuple, np.geomspace(np.array(start), np.array(end), _BEADS).tolist())
    return tuple(found)


def _edges(ridge: Ridge, space: LabelSpace) -> Iterator[Mark]:
    """The three regions and the lines between them."""
    (left, right), (low, high) = space.across, space.up
    knee_x, knee_y = ridge.knee_x, ridge.knee_y
    start, knee, end = ridge.contour(1.0, space.across, space.up)
    corner = (left, start[1])  # the upper left one of the plane where the diagonal starts above it
    corners = {
        "network": ((left, low), (knee_x, low), knee, start, corner),
        "memory": ((knee_x, low), (right, low), end, knee),
        "compute": (start, knee, end, (right, high), (start[0], high)),
    }
    for region, around in corners.items():
        yield Area(corners=around, tone=TONES[region], hatch=_HATCHES[region], detail=region)
    for points in ((start, knee), ((knee_x, low), knee), (knee, end)):
        yield Line(points=points, tone="red", bold=True, detail="the ridge")
    middle, inside = (knee_x * right) ** 0.5, (left * knee_x) ** 0.5
    heights = {
        "compute": (middle, [knee_y * (high / knee_y) ** share for share in _HEIGHTS]),
        "memory": (middle, [low * (knee_y / low) ** share for share in _HEIGHTS]),
        "network": (inside, [low * (knee_y / low) ** share for share in (0.2, 0.35, 0.05, 0.5)]),
    }
    for region, (x, ys) in heights.items():
        y = space.first([(x, y) for y in ys], "middle")[1]
        yield Words(x=x, y=y, words=region, tone=TONES[region], bold=True)


def _contours(ridge: Ridge, space: LabelSpace) -> Iterator[Mark]:
    """Lines of equal FLOP/s below the peak.

    Each has its name at its right end; at its left one where it leaves the plane before the knee.
    """
    (left, right), (low, high) = space.across, space.up
    aside, raised = (right / left) ** 0.01, (high / low) ** 0.03
    ends = [right / (right / ridge.knee_x) ** share for share in (0.02, 0.15, 0.3, 0.45)]
    for share in (1.0, *_shares(-log10(ridge.share(left, low)))):
        points = ridge.contour(share, space.across, space.up)
        if not points or points[0][1] < low * raised**4:  # no room for a name
            return
        words = rate_words(share * ridge.flop_per_s)
        if share < 1:
            yield Line(points=points, tone="grey", dashed=True, detail=words)
        if points[-1][1] < low * raised:
            (x, y), towards = points[0], points[1]
            steps = [aside**step for step in (9, 13, 24, 29)]  # x y is the same along it
            places = [(x * step, y / step) for step in steps]
            x, y = space.first([place for place in places if place[1] > low] or places, "middle")
            yield Words(x=x, y=y, words=words, towards=towards)
        else:
            x, y = space.first([(end, points[-1][1] * raised) for end in ends], "end")
            yield Words(x=x, y=y, words=words, anchor="end")


def _shares(decades: float) -> list[float]:
    """Shares of the peak over some powers of ten, falling.

    0.3, 0.1, 0.03, ...; every tenth, hundredth, ... alone where the powers are many.
    """
    if decades <= _MOST_CONTOURS / 2:
        return [part * 0.1**power for power in range(ceil(decades)) for part in (0.3, 0.1)]
    step = ceil(decades / _MOST_CONTOURS)
    return [0.1**power for power in range(step, ceil(decades), step)]


def _arrows(result: RidgelineResult, x: FloatArray, y: FloatArray, on: BoolArray) -> Iterator[Line]:
    """From each point of a path to the next."""
    if not result.step_name:
        return
    for row in range(1, len(x)):
        if result.series[row] == result.series[row - 1] and on[row] and on[row - 1]:
            ends = ((float(x[row - 1]), float(y[row - 1])), (float(x[row]), float(y[row])))
            yield Line(points=ends, tone="purple", arrow=True)


def _detail(placed: Placed, row: int, level: str) -> str:
    """What a pointer is told of a point on the plane of a level."""
    times = (
        f"compute {show_seconds(float(placed.compute_s[row]))}, "
        f"memory {show_seconds(float(placed.memory_s[row]))}, "
        f"{level} {show_seconds(float(placed.network_s[row, 0]))}"
    )
    return f"{REGIONS[placed.region[row]]}-bound, {times}"
