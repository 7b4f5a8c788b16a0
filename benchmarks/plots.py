"""The pictures of `scaling.py`: CPU seconds by chips, and by enabled axes."""

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
    charts = tuple(_by_chips(by_job, column, seconds) for column in _TITLES)
    write_picture(Picture(title="CPU seconds by chips", charts=charts, columns=2), path)


def _by_chips(by_job: dict[str, Rows], column: str, every: Sequence[float]) -> Chart:
    """One column of the table of each job; both charts have the same axes."""
    marks: list[Mark] = []
    dots: list[Dot] = []
    keys = []
    chips = sorted({row["chips"] for rows in by_job.values() for row in rows})
    for at, (title, rows) in enumerate(by_job.items()):
        tone, shape = _TONES[at % len(_TONES)], SHAPES[at % len(SHAPES)]
        points = tuple((float(row["chips"]), float(row[column])) for row in rows)
        marks.append(Line(points=points, tone=tone, detail=title))
        dots += [
            Dot(x=x, y=y, tone=tone, shape=shape, detail=f"{title}, {x:,.0f} chips: {y:.3g} s")
            for x, y in points
        ]
        keys.append(Key(words=title.partition(" ")[0], tone=tone, shape=shape))
    x = Axis(label="chips N", low=chips[0] / 1.5, high=chips[-1] * 1.5, logarithmic=True,
             ticks=tuple((float(n), f"{n:,}") for n in chips[::2]))  # fmt: skip
    seconds = {title: {row["chips"]: row[column] for row in rows} for title, rows in by_job.items()}
    return Chart(
        title=_TITLES[column],
        x=x,
        y=_axis(_LABEL, every),
        marks=(*marks, *dots),
        legend=tuple(keys),
        description=f"{_TITLES[column]}: {_LABEL} by the number of chips.",
        header=("chips", *by_job),
        rows=tuple(
            (f"{n:,}", *(f"{of[n]:.3g}" if n in of else "" for of in seconds.values()))
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
