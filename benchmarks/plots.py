"""The pictures of `scaling.py`: CPU seconds by chips, and by enabled axes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
_COLOURS = ("#3b6ea5", "#c2571a", "#3a7d44", "#7a4b94")
_EXACTLY, _UP_TO = "exactly, CPU s", "up to, CPU s"


def _pyplot() -> Any:
    """Pyplot, set so that it writes the same SVG for the same figures."""
    import matplotlib as mpl  # noqa: PLC0415  (only with --plots)

    mpl.use("svg")
    mpl.rcParams.update(
        {
            "svg.hashsalt": "planner",
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "axes.axisbelow": True,
        }
    )
    from matplotlib import pyplot  # noqa: PLC0415

    return pyplot


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _seconds(value: float, _: object = None) -> str:
    """A tick or label of a time: 0.03, 0.5, 2, 30."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def apart(heights: list[float], least: float) -> list[float]:
    """Heights of labels at least `least` apart, as near to the wanted heights as sweeps get."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = [heights[at] for at in order]
    for _ in range(100):
        for low in range(len(placed) - 1):
            overlap = least - (placed[low + 1] - placed[low])
            if overlap > 1e-9:
                placed[low] -= overlap / 2
                placed[low + 1] += overlap / 2
    return [placed[order.index(at)] for at in range(len(heights))]


def chips_picture(by_job: dict[str, Rows], path: Path) -> None:
    """Two panels: the exact front on exactly N chips, and over every count up to N."""
    plt = _pyplot()
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
    _save(figure, path)
    plt.close(figure)


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
    plt = _pyplot()
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
    _save(figure, path)
    plt.close(figure)
