"""The pictures of `growth.py` and `scaling.py`: seconds and memory by chips and by enabled axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.report.drawing.chart import SHAPES, Axis, Chart, Dot, Key, Line, Mark, Picture, Words
from planner.report.pages.picture_file import write_picture

Rows = list[dict[str, Any]]
_TONES = ("blue", "orange", "green", "purple")
_TITLES = {
    "exactly, CPU s": "Front on exactly N chips",
    "up to, CPU s": "Front over every count up to N",
}
_LABEL = "CPU seconds on one core"
_WHOLE = {"CPU s": "The default command", "peak MB": "Its peak memory"}
_NOTED = 12.0
"""The axis reaches so many times beyond the slowest case, where its seconds are written."""


def _seconds(value: float) -> str:
    """A label of a time: 0.03, 0.5, 2, 30."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def _axis(label: str, values: Sequence[float], beyond: float = 1.5) -> Axis:
    return Axis(label=label, low=min(values) / 1.5, high=max(values) * beyond, logarithmic=True)


def chips_picture(by_job: dict[str, Rows], path: Path) -> None:
    """Two charts: the exact front on exactly N chips, and over every count up to N."""
    seconds = [row[column] for rows in by_job.values() for row in rows for column in _TITLES]
    axis = _axis(_LABEL, seconds)
    charts = tuple(_by_chips(by_job, column, title, axis) for column, title in _TITLES.items())
    write_picture(Picture(title="CPU seconds by chips", charts=charts, columns=2), path)


def commands_picture(by_job: dict[str, Rows], path: Path) -> None:
    """Two charts: CPU seconds and peak memory of the default command on exactly N chips."""
    axes = {"CPU s": "CPU seconds, start-up included", "peak MB": "largest resident set, MB"}
    charts = []
    for column, title in _WHOLE.items():
        most = max(row[column] for rows in by_job.values() for row in rows)
        axis = Axis(label=axes[column], low=0.0, high=1.15 * most)
        charts.append(_by_chips(by_job, column, title, axis))
    write_picture(Picture(title="The command by chips", charts=tuple(charts), columns=2), path)


def _by_chips(by_job: dict[str, Rows], column: str, title: str, y: Axis) -> Chart:
    """One column of the table of each job."""
    marks: list[Mark] = []
    dots: list[Dot] = []
    keys = []
    chips = sorted({row["chips"] for rows in by_job.values() for row in rows})
    unit = column.rpartition(" ")[2]
    for at, (name, rows) in enumerate(by_job.items()):
        tone, shape = _TONES[at % len(_TONES)], SHAPES[at % len(SHAPES)]
        points = tuple((float(row["chips"]), float(row[column])) for row in rows)
        marks.append(Line(points=points, tone=tone, detail=name))
        dots += [
            Dot(x=n, y=value, tone=tone, shape=shape,
                detail=f"{name}, {n:,.0f} chips: {value:.3g} {unit}")
            for n, value in points
        ]  # fmt: skip
        keys.append(Key(words=name.partition(" ")[0], tone=tone, shape=shape))
    x = Axis(label="chips N", low=chips[0] / 1.5, high=chips[-1] * 1.5, logarithmic=True,
             ticks=tuple((float(n), f"{n:,}") for n in chips[::2]))  # fmt: skip
    values = {name: {row["chips"]: row[column] for row in rows} for name, rows in by_job.items()}
    return Chart(
        title=title,
        x=x,
        y=y,
        marks=(*marks, *dots),
        legend=tuple(keys),
        description=f"{title}: {y.label} by the number of chips.",
        header=("chips", *by_job),
        rows=tuple(
            (f"{n:,}", *(f"{of[n]:.3g}" if n in of else "" for of in values.values()))
            for n in chips
        ),
        height=0.7,
    )


def axes_picture(by_job: dict[str, Rows], path: Path) -> None:
    """One chart per job: a point per enabled axis or choice, each with all above it."""
    every = [row["CPU s"] for rows in by_job.values() for row in rows]
    charts = tuple(
        _by_axes(title, rows, every, _TONES[at % len(_TONES)])
        for at, (title, rows) in enumerate(by_job.items())
    )
    write_picture(Picture(title="CPU seconds by enabled axes", charts=charts, columns=2), path)


def _by_axes(title: str, rows: Rows, every: Sequence[float], tone: str) -> Chart:
    """What was added from the top down; all charts have the same horizontal axis."""
    points = tuple((float(row["CPU s"]), float(at)) for at, row in enumerate(rows))
    notes = [
        _seconds(row["CPU s"]) + ("" if row["answer"] == "optimal" else " (no plan fits)")
        for row in rows
    ]
    words = [
        Words(x=x * 1.4, y=y, words=note, anchor="start")
        for (x, y), note in zip(points, notes, strict=True)
    ]
    dots = [
        Dot(x=x, y=y, tone=tone, detail=f"{row['enabled']}: {note} s")
        for (x, y), row, note in zip(points, rows, notes, strict=True)
    ]
    names = tuple((float(at), row["enabled"]) for at, row in enumerate(rows))
    return Chart(
        title=title,
        x=_axis(_LABEL, every, _NOTED),
        y=Axis(label="", low=-0.6, high=len(rows) - 0.4, ticks=names, downwards=True),
        marks=(Line(points=points, tone=tone), *dots, *words),
        description=f"{title}: {_LABEL} as axes and choices are added one by one.",
        header=("enabled", "answer", "CPU s"),
        rows=tuple((r["enabled"], r["answer"], f"{r['CPU s']:.3g}") for r in rows),
        height=0.6,
    )
