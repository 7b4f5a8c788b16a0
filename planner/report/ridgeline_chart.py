"""Ridgelines as charts: the plane of each level, the roofline, and the roofline of energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.plan import BoolArray, FloatArray
from planner.report.chart import Area, Axis, Chart, Dot, Key, Line, Mark, Picture, Words
from planner.report.ridgeline_paths import path_charts
from planner.report.ridgeline_view import energy_words, point_names, step_title
from planner.ridgeline.answer import NEAR_RULE, RidgelineResult
from planner.ridgeline.plane import REGIONS, Ridge
from planner.units import plain, show_bytes, show_count, show_seconds

TONES = {"compute": "green", "memory": "orange", "network": "blue"}
"""Colour of a region, in every chart."""
SHAPES = {"compute": "circle", "memory": "square", "network": "diamond"}
_HATCHES = {"compute": "", "memory": "dots", "network": "slant"}
_AROUND = 30.0
_MARGIN = 2.5
_SAMPLES = 121
_SHARES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_STEPS = (1.0, 2.0, 5.0)
_MOST_NAMED = 40


def ridgeline_picture(result: RidgelineResult, figures: Sequence[str] = ()) -> Picture:
    """The charts of an answer as one picture.

    Args:
        result: The answer.
        figures: Some of `planner.report.ridgeline_figures.FIGURES`; empty: all that it has.
    """
    wanted = figures or ("ridgeline", "roofline", "intensity", "times", "projected", "energy")
    charts: list[Chart] = []
    for name in wanted:
        if name == "ridgeline":
            charts += [] if result.is_degenerate else planes(result)
        elif name == "roofline":
            charts += [roofline(result)]
        elif name == "energy":
            charts += [energy(result)]
        else:
            charts += path_charts(result, name)
    return Picture(title=_title(result), charts=tuple(charts), columns=2 if len(charts) > 1 else 1)


def _rate(flop_per_s: float) -> str:
    """`4.2 TFLOP/s`."""
    words = show_count(flop_per_s)
    return f"{words}{'' if words[-1:].isalpha() else ' '}FLOP/s"


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
        charts.append(plane(result, index, listed(same)))
    return charts


def listed(names: Sequence[str]) -> str:
    """`leaf`, `leaf and spine`, `leaf, spine and core`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def plane(result: RidgelineResult, index: int, name: str) -> Chart:
    """The plane of one level: regions, contours of FLOP/s, points and their paths.

    Args:
        result: The answer.
        index: Of the level.
        name: What it is called, with the levels that look the same.
    """
    ridge, placed = result.ridges[index], result.placed.of_level(index)
    counts = result.counts
    sent = counts.network_bytes[:, index]
    on = (counts.flop > 0) & (counts.memory_bytes > 0) & (sent > 0)
    x, y = _over(counts.memory_bytes, sent, on), _over(counts.flop, counts.memory_bytes, on)
    left, right = _ends([ridge.knee_x, *x[on]], ridge.knee_x)
    low, high = _ends([ridge.knee_y, *y[on]], ridge.knee_y)
    names = point_names(result)
    dots = tuple(
        Dot(
            x=float(x[row]),
            y=float(y[row]),
            tone=TONES[REGIONS[placed.region[row]]],
            shape=SHAPES[REGIONS[placed.region[row]]],
            words=names[row] if int(on.sum()) <= _MOST_NAMED else "",
            detail=_detail(result, row, names[row]),
            strong=bool(placed.near_ridge[row]),
        )
        for row in np.flatnonzero(on)
    )
    edges = _edges(ridge, (left, right), (low, high))
    shown = f"{name}: {show_bytes(ridge.network_bytes_per_s)}/s"
    return Chart(
        title=f"Ridgeline of {shown}",
        subtitle=f"knee at x = {plain(ridge.knee_x)}, y = {plain(ridge.knee_y)}",
        x=Axis(label="memory bytes per network byte", low=left, high=right, logarithmic=True),
        y=Axis(label="FLOP per memory byte", low=low, high=high, logarithmic=True),
        marks=(*edges, *_contours(ridge, (left, right), (low, high)), *_arrows(result, x, y, on), *dots),
        legend=(
            *(Key(words=f"{region}-bound", tone=TONES[region], kind="dot", shape=SHAPES[region])
              for region in REGIONS),
            Key(words="equal FLOP/s", tone="grey", kind="dashed"),
        ),
        notes=(NEAR_RULE.replace("Near", "Ringed, near"),) if dots else (),
        description=_words(result, ridge, name),
        header=(step_title(result), "region", "x", "y", "time"),
        rows=tuple(
            (
                names[row],
                REGIONS[placed.region[row]],
                plain(float(x[row])),
                plain(float(y[row])),
                show_seconds(float(placed.bound_s[row])),
            )
            for row in np.flatnonzero(on)
        ),
        height=0.7,
    )  # fmt: skip


def _words(result: RidgelineResult, ridge: Ridge, name: str) -> str:
    counts = np.bincount(result.placed.region, minlength=len(REGIONS))
    found = ", ".join(f"{n} {region}" for region, n in zip(REGIONS, counts, strict=True) if n)
    points = f" Of the points {found}-bound." if found else ""
    return (
        f"Plane of memory bytes per network byte and FLOP per memory byte for {name}: left of "
        f"{plain(ridge.knee_x)} and below the diagonal the network binds, right of it and below "
        f"{plain(ridge.knee_y)} the memory, elsewhere compute.{points}"
    )


def _over(above: FloatArray, below: FloatArray, on: BoolArray) -> FloatArray:
    """Quotients where both counts are there, 1 elsewhere."""
    return np.divide(above, below, out=np.ones(len(above)), where=on)


def _ends(values: Sequence[float], knee: float) -> tuple[float, float]:
    """Ends of an axis that show all values, and the knee well inside."""
    low = min(min(values) / _MARGIN, knee / _AROUND)
    high = max(max(values) * _MARGIN, knee * _AROUND)
    return low, high


def _edges(ridge: Ridge, across: tuple[float, float], up: tuple[float, float]) -> Iterator[Mark]:
    """The three regions and the lines between them."""
    (left, right), (low, high) = across, up
    knee_x, knee_y = ridge.knee_x, ridge.knee_y
    at_left = ridge.diagonal / left
    top = max(high, at_left)
    corners = {
        "network": ((left, low), (knee_x, low), (knee_x, knee_y), (left, at_left)),
        "memory": ((knee_x, low), (right, low), (right, knee_y), (knee_x, knee_y)),
        "compute": ((left, at_left), (knee_x, knee_y), (right, knee_y), (right, top), (left, top)),
    }
    for region, around in corners.items():
        yield Area(corners=around, tone=TONES[region], hatch=_HATCHES[region], detail=region)
    for points in (
        ((left, at_left), (knee_x, knee_y)),
        ((knee_x, low), (knee_x, knee_y)),
        ((knee_x, knee_y), (right, knee_y)),
    ):
        yield Line(points=points, tone="red", bold=True, detail="the ridge")
    middle = (knee_x * right) ** 0.5
    yield Words(
        x=middle, y=(knee_y * high) ** 0.5, words="compute", tone=TONES["compute"], bold=True
    )
    yield Words(x=middle, y=(low * knee_y) ** 0.5, words="memory", tone=TONES["memory"], bold=True)
    yield Words(
        x=(left * knee_x) ** 0.5, y=low * (knee_y / low) ** 0.2, words="network",
        tone=TONES["network"], bold=True,
    )  # fmt: skip


def _contours(ridge: Ridge, across: tuple[float, float], up: tuple[float, float]) -> Iterator[Mark]:
    """Lines of equal FLOP/s below the peak: level right of the knee, sloping left of it."""
    (left, right), (low, high) = across, up
    raised = (high / low) ** 0.018
    for share in (1.0, *_SHARES):
        rate, level = share * ridge.flop_per_s, share * ridge.knee_y
        if level * raised <= low:
            return
        words = _rate(rate)
        if share < 1:
            points = ((left, share * ridge.diagonal / left), (ridge.knee_x, level), (right, level))
            yield Line(points=points, tone="grey", dashed=True, detail=words)
        yield Words(x=right / (right / left) ** 0.01, y=level * raised, words=words, anchor="end")


def _arrows(result: RidgelineResult, x: FloatArray, y: FloatArray, on: BoolArray) -> Iterator[Line]:
    """From each point of a path to the next."""
    if not result.step_name:
        return
    for row in range(1, len(x)):
        if result.series[row] == result.series[row - 1] and on[row] and on[row - 1]:
            ends = ((float(x[row - 1]), float(y[row - 1])), (float(x[row]), float(y[row])))
            yield Line(points=ends, tone="purple", arrow=True)


def _detail(result: RidgelineResult, row: int, name: str) -> str:
    """What a pointer is told."""
    placed = result.placed
    level = placed.level[row]
    times = (
        f"compute {show_seconds(float(placed.compute_s[row]))}, "
        f"memory {show_seconds(float(placed.memory_s[row]))}, "
        f"{result.ridges[level].level} {show_seconds(float(placed.network_s[row, level]))}"
    )
    return f"{name}: {REGIONS[placed.region[row]]}-bound, {times}"


def roofline(result: RidgelineResult) -> Chart:
    """FLOP/s over FLOP per byte: the roof, the points under it, and what the network leaves."""
    ridge, counts, placed = result.ridges[0], result.counts, result.placed
    on = (counts.flop > 0) & (counts.memory_bytes > 0)
    x = _over(counts.flop, counts.memory_bytes, on)
    left, right = _ends([ridge.knee_y, *x[on]], ridge.knee_y)
    peak, slope = ridge.flop_per_s, ridge.memory_bytes_per_s
    roof = np.minimum(peak, x * slope)
    kept = counts.flop / np.maximum(placed.bound_s, np.finfo(float).tiny)
    low = min(left * slope, *(kept[on] / _MARGIN)) if on.any() else left * slope
    names = point_names(result)
    marks: list[Mark] = [
        Line(points=((left, left * slope), (ridge.knee_y, peak), (right, peak)), tone="red",
             bold=True, detail="the roof"),
        Line(points=((ridge.knee_y, low), (ridge.knee_y, peak)), tone="grey", dashed=True),
    ]  # fmt: skip
    for row in np.flatnonzero(on):
        tone = TONES["compute" if x[row] >= ridge.knee_y else "memory"]
        shape = SHAPES["compute" if x[row] >= ridge.knee_y else "memory"]
        place = f"{names[row]}: at most {_rate(float(roof[row]))}"
        if kept[row] < roof[row] * (1 - 1e-9):
            ends = ((float(x[row]), float(roof[row])), (float(x[row]), float(kept[row])))
            marks.append(Line(points=ends, tone="blue", dashed=True))
            marks.append(
                Dot(x=float(x[row]), y=float(kept[row]), tone="blue", shape="diamond",
                    detail=f"{names[row]}: {_rate(float(kept[row]))} with the network")
            )  # fmt: skip
        marks.append(
            Dot(x=float(x[row]), y=float(roof[row]), tone=tone, shape=shape, detail=place,
                words=names[row] if int(on.sum()) <= _MOST_NAMED else "")
        )  # fmt: skip
    marks += _known(result, x, on)
    return Chart(
        title="Roofline",
        subtitle=f"knee at {plain(ridge.knee_y)} FLOP per byte",
        x=Axis(label="FLOP per memory byte", low=left, high=right, logarithmic=True),
        y=_rate_axis(low, peak * 2),
        marks=tuple(marks),
        legend=_roofline_legend(result),
        description=f"Roofline: memory-bound below {plain(ridge.knee_y)} FLOP per byte, compute-bound "
        f"above, {show_count(peak)}FLOP/s at most.",
        header=(step_title(result), "FLOP per byte", "FLOP/s", "FLOP/s with the network"),
        rows=tuple(
            (names[row], plain(float(x[row])), show_count(float(roof[row])),
             show_count(float(kept[row])))
            for row in np.flatnonzero(on)
        ),
        height=0.7,
    )  # fmt: skip


def _rate_axis(low: float, high: float) -> Axis:
    """FLOP/s with ticks at 1, 2 and 5 of each power of ten, or fewer on a long axis."""
    steps = _STEPS if high / low < 3e3 else (1.0,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    shown = tuple((tick, show_count(tick)) for tick in ticks if low <= tick <= high)
    return Axis(label="FLOP/s of a chip", low=low, high=high, logarithmic=True, ticks=shown)


def _known(result: RidgelineResult, x: FloatArray, on: BoolArray) -> Iterator[Dot]:
    """What was measured, or the cost model says."""
    for row in np.flatnonzero(on):
        time = result.times_s[row] if result.times_s else None
        if time is not None:
            rate = float(result.counts.flop[row]) / time
            words = f"{result.counts.names[row]}: {_rate(rate)}, {result.times_are}"
            yield Dot(x=float(x[row]), y=rate, tone="purple", shape="cross", detail=words)


def _roofline_legend(result: RidgelineResult) -> tuple[Key, ...]:
    """What the marks of a roofline mean."""
    keys = [
        Key(words="compute-bound", tone="green", shape="circle"),
        Key(words="memory-bound", tone="orange", shape="square"),
    ]
    if len(result.counts) and not result.is_degenerate:
        keys.append(Key(words="with the network", tone="blue", shape="diamond"))
    if result.times_s:
        keys.append(Key(words=result.times_are, tone="purple", shape="cross"))
    return tuple(keys)


def energy(result: RidgelineResult) -> Chart:
    """Joules per FLOP over FLOP per byte: the arch line, its parts, and the points."""
    roof, ridge, counts = result.energy, result.ridges[0], result.counts
    on = (counts.flop > 0) & (counts.memory_bytes > 0)
    x = _over(counts.flop, counts.memory_bytes, on)
    left, right = _ends([ridge.knee_y, roof.balance, *x[on]], ridge.knee_y)
    at = np.geomspace(left, right, _SAMPLES)
    arch = 1e12 * roof.per_flop(ridge, at)
    joules = 1e12 * np.divide(roof.joules(counts, result.placed), counts.flop, where=on,
                              out=np.ones(len(on)))  # fmt: skip
    floor = 1e12 * roof.flop_j
    names = point_names(result)
    marks = (
        Line(points=tuple(zip(at.tolist(), arch.tolist(), strict=True)), tone="red", bold=True,
             detail="chip and memory"),
        Line(points=((left, floor), (right, floor)), tone="green", dashed=True,
             detail="arithmetic alone"),
        Line(points=((roof.balance, floor / 2), (roof.balance, arch[0])), tone="grey", dashed=True,
             detail="both draw the same"),
        *(
            Dot(x=float(x[row]), y=float(joules[row]), tone="blue", shape="diamond",
                words=names[row] if int(on.sum()) <= _MOST_NAMED else "",
                detail=f"{names[row]}: {plain(float(joules[row]))} pJ per FLOP, network included")
            for row in np.flatnonzero(on)
        ),
    )  # fmt: skip
    return Chart(
        title="Roofline of energy",
        subtitle=f"balance at {plain(roof.balance)} FLOP per byte",
        x=Axis(label="FLOP per memory byte", low=left, high=right, logarithmic=True),
        y=Axis(
            label="pJ per FLOP of a chip", low=floor / 2, logarithmic=True,
            high=2 * max(float(arch[0]), *(joules[on] if on.any() else [0.0])),
        ),
        marks=marks,
        legend=(
            Key(words="chip and memory", tone="red", kind="line"),
            Key(words="arithmetic alone", tone="green", kind="dashed"),
            *((Key(words="points, with the network", tone="blue", shape="diamond"),) if on.any() else ()),
        ),
        notes=tuple(energy_words(result)[-1:]) if roof.assumed else (),
        description=" ".join(energy_words(result)),
        header=(step_title(result), "FLOP per byte", "pJ per FLOP"),
        rows=tuple(
            (names[row], plain(float(x[row])), plain(float(joules[row])))
            for row in np.flatnonzero(on)
        ),
        height=0.7,
    )  # fmt: skip
