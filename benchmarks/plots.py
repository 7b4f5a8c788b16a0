"""The pictures of `scaling.py`: CPU seconds by chips, and by enabled axes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from planner.report.plotting import BLUE, GREEN, ORANGE, PURPLE, apart, load_pyplot, save

Rows = list[dict[str, Any]]
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
_EXACTLY, _UP_TO = "exactly, CPU s", "up to, CPU s"


def _seconds(value: float, _: object = None) -> str:
    """A tick or label of a time: 0.03, 0.5, 2, 30."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def chips_picture(by_job: dict[str, Rows], path: Path) -> None:
    """Two panels: the exact front on exactly N chips, and over every count up to N."""
    plt = load_pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
    titles = ("front on exactly N chips", "front over every count up to N")
    for panel, column, title in zip(panels, (_EXACTLY, _UP_TO), titles, strict=True):
        ends = []
        for colour, rows in zip(_COLOURS, by_job.values(), strict=False):
            chips = [row["chips"] for row in rows]
            panel.plot(chips, [row[column] for row in rows], "o-", markersize=4, color=colour)
            ends.append(rows[-1][column])
        panel.set(title=title, xlabel="chips N", yscale="log")
        panel.set_xscale("log", base=4)
        _label_lines(panel, [title.partition(" ")[0] for title in by_job], ends)
        panel.yaxis.set_major_formatter(_seconds)
        panel.xaxis.set_major_formatter(lambda chips, _: f"{chips:,.0f}")
        panel.tick_params(axis="x", rotation=30)
        panel.tick_params(axis="x", which="minor", length=0)
    panels[0].set_ylabel("CPU seconds on one core")
    save(figure, path)


def _label_lines(panel: Any, names: list[str], ends: list[float]) -> None:
    """Names behind the ends of the lines, in their colours."""
    heights = apart([math.log10(end) for end in ends], 0.16)
    right = panel.get_xlim()[1]
    for name, height, colour in zip(names, heights, _COLOURS, strict=False):
        panel.annotate(
            name, (right, 10**height), xytext=(6, 0), textcoords="offset points", va="center",
            color=colour, annotation_clip=False,
        )  # fmt: skip


def axes_picture(by_job: dict[str, Rows], path: Path) -> None:
    """One panel per job: a point per enabled axis or choice, each with all above it."""
    plt = load_pyplot()
    figure, panels = plt.subplots(
        1, len(by_job), figsize=(10, 3.8), layout="constrained", squeeze=False, sharex=True
    )
    for panel, colour, (title, rows) in zip(panels[0], _COLOURS, by_job.items(), strict=False):
        seconds = [row["CPU s"] for row in rows]
        panel.plot(seconds, [row["enabled"] for row in rows], "o-", color=colour, linewidth=1)
        for row, value in zip(rows, seconds, strict=True):
            note = _seconds(value) + ("" if row["answer"] == "optimal" else "  (no plan fits)")
            panel.annotate(
                note, (value, row["enabled"]), xytext=(8, 0), textcoords="offset points",
                va="center", fontsize=9,
            )  # fmt: skip
        panel.set(title=title, xlabel="CPU seconds on one core", xscale="log")
        panel.margins(y=0.08)
        panel.invert_yaxis()
        panel.xaxis.set_major_formatter(_seconds)
    low, high = panels[0][0].get_xlim()
    panels[0][0].set_xlim(low, high * 3)
    save(figure, path)
