"""The answer of `planner ridgeline` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_count, show_percent, show_seconds
from planner.report.tables.tables import SplitTable, indented, section, table
from planner.studies.ridgeline.answer import RidgelineResult, step_words
from planner.studies.ridgeline.plane import REGIONS, ratio

_NONE = "-"
GIVEN = " (the plan)"
"""Behind the point that was asked for."""
_MOST_SHOWN = 200
"""Points of a table for people."""
_STEPS = {"batch-tokens": "tokens per step"}


def ridgeline_view(result: RidgelineResult) -> RenderableType:
    """Everything that `planner ridgeline` prints."""
    chip = f"{result.hardware}, {result.precision}"
    parts: list[RenderableType] = [
        Text(f"{result.title} on {chip}" if len(result.counts) else chip, style="bold"),
        Text(),
        section(*_peaks(result)),
    ]
    if len(result.counts):
        parts += [Text(), section("Points", _points(result))]
        if (more := len(result.counts) - _MOST_SHOWN) > 0:
            line = f"The first {_MOST_SHOWN} points; --json has the {more:,} others too."
            parts += [Text(), indented([line], by=0)]
        parts += [Text(), indented([result.summary], by=0)] if result.summary else []
        if not result.is_degenerate:
            parts += [Text(), section("Distance to the borders, as ratios of times", _far(result))]
        if len(result.ridges) > 1 and not result.is_degenerate:
            parts += [Text(), section("By level", _levels(result))]
    parts += [Text(), section("Energy of one chip", indented(energy_words(result)))]
    if result.notes:
        parts += [Text(), indented(result.notes, by=0)]
    if result.defaults:
        assumed = table(("what", "value", "why"), result.defaults, whole=("what",))
        parts += [Text(), section("Assumed", assumed)]
    return Group(*parts)


def _peaks(result: RidgelineResult) -> tuple[str, RenderableType]:
    """The rates of the machine; where no byte crosses a network they are those of a roofline."""
    if not result.is_degenerate:
        return "Ridgelines at peak rates", _ridges(result)
    ridge = result.ridges[0]
    header = ("FLOP/s", "memory B/s", "knee, FLOP per byte")
    rates = (show_count(ridge.flop_per_s), show_count(ridge.memory_bytes_per_s))
    return "Roofline at peak rates", SplitTable(
        header, [(*rates, plain(ridge.knee_y))], by=(), right=header
    )


def _ridges(result: RidgelineResult) -> RenderableType:
    """Rates and knee of every level."""
    header = ("level", "FLOP/s", "memory B/s", "network B/s", "knee x", "knee y", "diagonal")
    rows = [
        (
            ridge.level,
            show_count(ridge.flop_per_s),
            show_count(ridge.memory_bytes_per_s),
            show_count(ridge.network_bytes_per_s),
            plain(ridge.knee_x),
            plain(ridge.knee_y),
            plain(ridge.diagonal),
        )
        for ridge in result.ridges
    ]
    return SplitTable(header, rows, by=("level",), right=header[1:])


def point_names(result: RidgelineResult) -> list[str]:
    """What each point is called: its series, and its place on the path."""
    if not result.steps:
        return list(result.counts.names)
    steps = [step_words(step) for step in result.steps]
    if result.kind == "plan":
        words = "" if result.step_name == "batch-tokens" else f"{result.step_name} "
        given = {result.given: GIVEN} if len(steps) > 1 else {}
        return [f"{words}{step}{given.get(row, '')}" for row, step in enumerate(steps)]
    if len(set(result.series)) == 1:
        return steps
    return [f"{name}, {step}" for name, step in zip(result.series, steps, strict=True)]


def drawn_names(result: RidgelineResult) -> list[str]:
    """Names beside points of a chart: of several paths only the last point of each has one."""
    names = point_names(result)
    if len(set(result.series)) <= 1 or not result.step_name:
        return names
    last = {name: row for row, name in enumerate(result.series)}
    return [name if last[result.series[row]] == row else "" for row, name in enumerate(names)]


def step_title(result: RidgelineResult) -> str:
    """What the points of a path differ in."""
    if not result.step_name:
        return "name"
    return _STEPS.get(result.step_name, result.step_name)


def _first_points(result: RidgelineResult) -> Iterator[tuple[int, str]]:
    """The points that tables show: number and name."""
    return islice(enumerate(point_names(result)), _MOST_SHOWN)


def _points(result: RidgelineResult) -> RenderableType:
    """What binds each point, and the times that say so."""
    placed, near_ridge, achieved = (
        result.placed,
        result.placed.near_ridge,
        result.achieved_flop_per_s,
    )
    name = step_title(result)
    header = [name, "region", "time", "compute", "memory", "network", "FLOP/s", "y", "x"]
    if result.times_s:
        header += [result.times_are, "bound share"]
    header += ["fits"] if result.fits else []
    rows = []
    for row, label in _first_points(result):
        level = int(placed.level[row])
        sent = float(result.counts.network_bytes[row, level])
        near = " (near)" if near_ridge[row] else ""
        cells = [
            label,
            _region(result, row) + near,
            show_seconds(float(placed.bound_s[row])),
            show_seconds(float(placed.compute_s[row])),
            show_seconds(float(placed.memory_s[row])),
            show_seconds(float(placed.network_s[row, level])),
            show_count(float(achieved[row])),
            _number(ratio(float(result.counts.flop[row]), float(result.counts.memory_bytes[row]))),
            _number(ratio(float(result.counts.memory_bytes[row]), sent)),
        ]
        fits = ["yes" if result.fits[row] else "no"] if result.fits else []
        rows.append([*cells, *(_compared(result, row) if result.times_s else []), *fits])
    right = tuple(column for column in header if column not in (name, "region", "fits"))
    return SplitTable(header, rows, by=(name, "region"), right=right)


def _region(result: RidgelineResult, row: int) -> str:
    """`compute`, `network: leaf`."""
    region = REGIONS[result.placed.region[row]]
    if region != "network" or len(result.ridges) == 1:
        return region
    return f"{region}: {result.ridges[result.placed.level[row]].level}"


def _compared(result: RidgelineResult, row: int) -> list[str]:
    """The time that is known, and the share of it that the bound explains."""
    time = result.times_s[row]
    if time is None:
        return [_NONE, _NONE]
    share = float(result.placed.bound_s[row]) / time
    return [show_seconds(time), share_words(share)]


def _far(result: RidgelineResult) -> RenderableType:
    """How far the borders are on the plane of the level that takes longest."""
    placed, name = result.placed, step_title(result)
    rows = []
    for row, label in _first_points(result):
        network = float(placed.network_s[row, placed.level[row]])
        compute, memory = float(placed.compute_s[row]), float(placed.memory_s[row])
        far = (ratio(compute, network), ratio(memory, network), ratio(compute, memory))
        rows.append((label, *map(_number, far)))
    header = (name, "compute / network", "memory / network", "compute / memory")
    return SplitTable(header, rows, by=(name,), right=header[1:])


def _levels(result: RidgelineResult) -> RenderableType:
    """Seconds over every level; the longest of a row binds, if any does."""
    name = step_title(result)
    used = [at for at in range(len(result.ridges)) if result.placed.network_s[:, at].any()]
    header = (name, *(result.ridges[at].level for at in used))
    rows = [
        (label, *(show_seconds(float(result.placed.network_s[row, at])) for at in used))
        for row, label in _first_points(result)
    ]
    return SplitTable(header, rows, by=(name,), right=header[1:])


def energy_words(result: RidgelineResult) -> list[str]:
    """The joules behind the roofline of energy, and where its balance is."""
    energy, ridge = result.energy, result.ridges[0]
    at_peak = float(energy.per_flop(ridge, np.array([np.inf]))[0])
    lines = [
        f"{_pico(energy.flop_j)} pJ per FLOP ({energy.flop_format}), "
        f"{_pico(energy.memory_j_per_byte)} pJ per byte of memory, {plain(energy.static_w)} W at "
        f"rest: both draw the same at {_number(energy.balance)} FLOP per byte, both take as long "
        f"at {_number(ridge.knee_y)}.",
        f"At best {_pico(at_peak)} pJ per FLOP, {show_count(1 / at_peak)} FLOP per joule at most.",
    ]
    sent = [
        f"{_pico(joules)} over {ridge.level}"
        for ridge, joules in zip(result.ridges, energy.network_j_per_byte, strict=True)
        if joules
    ]
    if sent and not result.is_degenerate:
        lines.append(f"Points count the network too, pJ per byte: {', '.join(sent)}.")
    if energy.assumed:
        names = {"flop_j": "J per FLOP", "memory_j_per_byte": "J per byte", "static_w": "W at rest"}
        lines.append(f"Assumed, not measured: {', '.join(names[one] for one in energy.assumed)}.")
    return lines


def _pico(joules: float) -> str:
    return plain(joules * 1e12)


def _number(value: float | None) -> str:
    return _NONE if value is None else short(value)


def short(value: float) -> str:
    """Three digits, with an exponent where plain ones would be many."""
    return plain(value) if value == 0 or 1e-4 <= abs(value) < 1e7 else f"{value:.3g}"


def share_words(share: float) -> str:
    """A share of a measured time, which may be far above 1 where counts are wrong."""
    return show_percent(share) if share < 1e4 else f"{share:.3g} times"
