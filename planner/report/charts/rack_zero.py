"""The picture of `planner rack zero --plot`: figures 3 to 8 of the report as charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.units import unit_for
from planner.report.drawing.chart import SHAPES, TONES, Axis, Chart, Dot, Key, Line, Mark, Picture
from planner.report.drawing.geometry import frame
from planner.report.tables.rack_zero import figure_table
from planner.studies.rack.zero.figures import Comparison, ZeroAnswer
from planner.studies.rack.zero.json import TITLES

_WIDTH = 560.0
_HEIGHT = 0.62
_MARKED = 40
"""Points of a line up to which each has a dot."""
_WRITTEN = 24
"""Numbers below an axis up to which each of them is written."""
_ROOM = 1.05
"""Upper end of the vertical axis over the largest value."""
_RADII, _WIDTHS = (6.5, 5.2, 4.2), (2.4, 1.6, 1.0)
"""Of the first curves, and of all others: those that coincide all stay visible."""
_NOTE = "A ring marks the largest rack whose computing hides the fetch."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """One line of a chart.

    Attributes:
        name: In the legend.
        values: One for each number below the axis; NaN where there is no such rack.
        ringed: Index of the value with a ring.
        words: At its end.
    """

    name: str
    values: FloatArray
    ringed: int | None = None
    words: str = ""


def zero_picture(answer: ZeroAnswer) -> Picture:
    """The figures asked for, two side by side."""
    numbers = answer.question.figures
    charts = tuple(zero_chart(answer, number) for number in numbers)
    title = "ZeRO against data parallelism in a rack" if len(charts) > 1 else charts[0].title
    return Picture(title=title, charts=charts, columns=min(2, len(charts)), width=_WIDTH)


def zero_chart(answer: ZeroAnswer, number: int) -> Chart:
    """One figure of the report.

    Args:
        answer: One in which this figure was asked for.
        number: Its number, 3 to 8.
    """
    where, table = figure_table(answer, number)[1:]
    chart = _over_columns(answer, number) if number in (5, 6) else _over_gpus(answer, number)
    described = f"{TITLES[number]}; {where}. In the table * waits for the network."
    return Chart(
        title=f"{number}. {TITLES[number]}",
        subtitle=where,
        x=chart.x,
        y=chart.y,
        marks=chart.marks,
        legend=chart.legend,
        notes=(_NOTE,) if any(isinstance(m, Dot) and m.strong for m in chart.marks) else (),
        description=" ".join([described, *chart.described]),
        header=tuple(table.header),
        rows=tuple(map(tuple, table.rows)),
        height=_HEIGHT,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Axes, marks, legend and sentences of a figure."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    legend: tuple[Key, ...]
    described: tuple[str, ...] = ()


def _over_gpus(answer: ZeroAnswer, number: int) -> _Parts:
    """ZeRO over data parallelism: workloads (3, 4) or topologies (7, 8) over GPUs."""
    by_work, energy = number in (3, 4), number in (3, 7)
    compared = answer.workloads if by_work else answer.topologies
    gpus = answer.question.gpus
    curves = []
    for one in compared:
        name = one.workload if by_work else one.topology
        last = None if energy else _last_hidden(one)
        values = 100 * (one.energy_ratio if energy else one.latency_ratio)
        hidden = "" if last is None else f", hidden up to {gpus[last]:,}"
        curves.append(_Curve(name=name + hidden, values=values, ringed=last))
    what = "energy" if energy else "latency"
    return _parts(gpus, curves, "GPUs", f"{what} of ZeRO (% of data parallelism)", "%")


def _over_columns(answer: ZeroAnswer, number: int) -> _Parts:
    """Data parallelism and ZeRO over the columns of PEs."""
    one, question = answer.columns, answer.question
    assert one is not None
    plateau = ""
    if number == 5:
        scale, unit = unit_for(float(np.max(one.zero_j / one.gpus)), "J")
        dp, zero = one.dp_j / one.gpus / scale, one.zero_j / one.gpus / scale
        label = f"energy per GPU ({unit})"
    else:
        dp, zero, unit = one.dp_s * question.clock_hz, one.zero_s * question.clock_hz, "cycles"
        label = "latency (cycles)"
        if answer.plateau_s is not None:
            plateau = f"{answer.plateau_s * question.clock_hz:,.0f} cycles"
    x_label = f"columns of {question.rows} PE{'s' * (question.rows > 1)}"
    curves = [_Curve(name="DP", values=dp), _Curve(name="ZeRO", values=zero, words=plateau)]
    return _parts(question.pe_columns, curves, x_label, label, unit)


def _parts(
    numbers: Sequence[int], curves: Sequence[_Curve], x_label: str, y_label: str, unit: str
) -> _Parts:
    """Lines over whole numbers; values from zero on."""
    marks: list[Mark] = []
    dots: list[Dot] = []
    keys = []
    for index, curve in enumerate(curves):
        tone, shape = TONES[index % len(TONES)], SHAPES[index % len(SHAPES)]
        dashed = index % (2 * len(TONES)) >= len(TONES)
        there = [int(at) for at in np.flatnonzero(~np.isnan(curve.values))]
        points = tuple((float(numbers[at]), float(curve.values[at])) for at in there)
        size = min(index, len(_RADII) - 1)
        marks.append(Line(points=points, tone=tone, dashed=dashed, detail=curve.name,
                          width=_WIDTHS[size]))  # fmt: skip
        shown = there if len(there) <= _MARKED else [at for at in there if at == curve.ringed]
        dots += [
            replace(_dot(curve, numbers, at, unit), tone=tone, shape=shape, radius=_RADII[size])
            for at in shown
        ]
        if curve.words:
            x, y = points[-1]
            dots.append(Dot(x=x, y=y, tone=tone, shape=shape, words=curve.words))
        keys.append(Key(words=curve.name, tone=tone, shape=shape))
    dots.sort(key=lambda dot: dot.strong)
    high = _ROOM * max(float(np.nanmax(curve.values)) for curve in curves)
    margin = 0.04 * (max(numbers) - min(numbers)) or 0.5
    low, far = min(numbers) - margin, max(numbers) + margin
    written = sorted(set(numbers))
    if len(written) > _WRITTEN:
        written = [round(tick) for tick in frame.ticks(low, far) if tick == round(tick)]
    return _Parts(
        x=Axis(label=x_label, low=low, high=far, ticks=tuple((n, f"{n:,}") for n in written)),
        y=Axis(label=y_label, low=0.0, high=high or 1.0),
        marks=(*marks, *dots),
        legend=tuple(keys),
        described=tuple(f"{curve.name}." for curve in curves),
    )


def _dot(curve: _Curve, numbers: Sequence[int], at: int, unit: str) -> Dot:
    """One value of a curve, in no colour yet."""
    value, name = float(curve.values[at]), curve.name.partition(",")[0]
    return Dot(x=float(numbers[at]), y=value, tone="", strong=at == curve.ringed,
               detail=f"{name} at {numbers[at]:,}: {value:,.4g} {unit}")  # fmt: skip


def _last_hidden(one: Comparison) -> int | None:
    """Index of the last rack before the first that waits, where both are there."""
    racks = np.flatnonzero(~np.isnan(one.dp_s))
    late = np.flatnonzero(one.bound[racks])
    return int(racks[late[0] - 1]) if late.size and late[0] > 0 else None
