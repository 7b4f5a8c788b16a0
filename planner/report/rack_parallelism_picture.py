"""The figures of `planner rack parallelism --plot`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.rack.parallelism import Figure
from planner.report.plotting import BLACK, BLUE, GREEN, ORANGE, About, load_pyplot, save
from planner.report.rack_parallelism_view import (
    NAMES,
    PART_NAMES,
    curve_names,
    curve_of,
    figure_table,
)
from planner.units import show_joules, show_seconds

_COLOURS = {"dp": BLUE, "tp": ORANGE, "pp+tp": GREEN}
_PART_COLOURS = {
    "main_memory_read": "#8c6bb1",
    "main_memory_write": "#c9b8dd",
    "gpu_memory_read": BLUE,
    "gpu_memory_write": "#a9c2dd",
    "sram_read": GREEN,
    "sram_write": "#a8cfae",
    "registers_read": "#b8860b",
    "registers_write": "#e3cb8f",
    "compute": "#8a8a8a",
    "network": ORANGE,
    "network_between_racks": "#e8a987",
    "static": BLACK,
}
_PER_ROW = 3


def draw(figures: Sequence[Figure], path: Path) -> None:
    """Writes figures as panels of one picture.

    Args:
        figures: At least one.
        path: An .svg, .png or .html file.

    Raises:
        InputError: The file cannot be written, or matplotlib is missing.
    """
    plt = load_pyplot()
    across = 2 if len(figures) == 4 else min(_PER_ROW, len(figures))
    down = math.ceil(len(figures) / across)
    picture, axes = plt.subplots(
        down, across, figsize=(5.6 * across, 4.2 * down), layout="constrained", squeeze=False
    )
    panels = [panel for row in axes for panel in row]
    for panel, figure in zip(panels, figures, strict=False):
        (_bars if figure.shown == "energy" else _lines)(panel, figure)
        panel.set_title(f"{figure.number}. {figure.title}", fontsize=9.5, wrap=True)
    for panel in panels[len(figures) :]:
        panel.set_visible(False)
    save(picture, path, _about(figures))


def _about(figures: Sequence[Figure]) -> About:
    """What a page says."""
    titles = [f"Figure {figure.number}. {figure.title}" for figure in figures]
    tables = [figure_table(figure) for figure in figures]
    return About(
        title="Latency and energy of parallelism in a rack",
        description="; ".join(titles),
        tables=tuple(
            (title, table.header, table.rows) for title, table in zip(titles, tables, strict=True)
        ),
    )


def _lines(panel: Any, figure: Figure) -> None:
    """A curve per strategy over GPUs or block sizes."""
    plt, energy = load_pyplot(), figure.shown == "total energy"
    widths = iter((3.6, 2.4, 2.4, 1.6, 1.6, 1.2))  # curves that coincide all stay visible
    marks = iter("osD^vP")
    for name in curve_names(figure):
        points = [point for point in figure.series if curve_of(point) == name]
        values = [point.total_j if energy else point.latency_s for point in points]
        if not any(values):
            panel.plot([], [], "-", color=_COLOURS[points[0].strategy], label=f"{name}: none")
            continue
        back = points[0].direction == "backward"
        panel.plot(
            [getattr(point, figure.swept) for point in points],
            values,
            "--" if back else "-",
            marker=next(marks),
            markersize=9 if back else 5,
            linewidth=min(next(widths), 1.4 if back else math.inf),
            fillstyle="none" if back else "full",
            color=_COLOURS[points[0].strategy],
            label=name,
        )
    show = show_joules if energy else show_seconds
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    ticks = sorted({getattr(point, figure.swept) for point in figure.series})
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.xaxis.set_minor_locator(plt.NullLocator())
    panel.yaxis.set_major_formatter(lambda value, _: show(value))
    panel.yaxis.set_major_locator(plt.LogLocator(base=10, subs=(1, 2, 5)))
    panel.yaxis.set_minor_locator(plt.NullLocator())
    panel.set_xlabel("GPUs" if figure.swept == "gpus" else "threads of a block")
    panel.set_ylabel("joules of all GPUs" if energy else "seconds")
    panel.legend(frameon=False, fontsize=8)


def _bars(panel: Any, figure: Figure) -> None:
    """A stack of parts per point."""
    points = figure.series
    places = range(len(points))
    bottom = [0.0] * len(points)
    for part in points[0].energy_j:
        heights = [point.energy_j[part] for point in points]
        panel.bar(
            places, heights, 0.62, bottom=bottom, color=_PART_COLOURS[part], label=PART_NAMES[part]
        )
        bottom = [low + high for low, high in zip(bottom, heights, strict=True)]
    several = len({point.strategy for point in points}) > 1
    labels = [
        NAMES[point.strategy] if several else f"{getattr(point, figure.swept):,}"
        for point in points
    ]
    panel.set_xticks(list(places), labels)
    panel.set_xlim(-0.6, len(points) - 0.4)
    panel.yaxis.set_major_formatter(lambda value, _: show_joules(value))
    panel.set_ylabel("joules of all GPUs")
    if not several:
        panel.set_xlabel("GPUs" if figure.swept == "gpus" else "threads of a block")
    handles, names = panel.get_legend_handles_labels()
    panel.legend(
        handles[::-1], names[::-1], frameon=False, fontsize=7, loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )  # fmt: skip
