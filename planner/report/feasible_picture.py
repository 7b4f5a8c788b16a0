"""The pictures of `planner feasible --plot`: what a textbook draws, for any model and cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.feasibility.curves import Machine
from planner.feasibility.pictured import Pictured
from planner.messages import not_one_of
from planner.plan import FloatArray
from planner.report import plotting
from planner.report.page import Table
from planner.report.plotting import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    About,
    apart,
    load_pyplot,
    save,
)
from planner.units import plain, show_count, show_seconds

PANELS = ("ratio", "time", "split")
_PAPER = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5}
_APART = 0.055
"""Least distance of two labels, as a share of the height of a panel."""

_ROWS = 13
"""Points of the curves that a page's table has."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: its name at its end, its values over the x of the panel, and its looks."""

    name: str
    values: FloatArray
    colour: str
    style: str = "-"
    width: float = 1.8


def check_plot(plot: Path | None, picture: str | None) -> tuple[str, ...]:
    """The panels that are drawn, found out before anything is computed.

    Raises:
        InputError: A panel or the ending is unknown, the file cannot be written, or matplotlib
            is missing.
    """
    names = PANELS if picture is None else tuple(name.strip() for name in picture.split(","))
    if plot is None:
        if picture is not None:
            raise InputError(
                "picture: has no effect without --plot FILE.svg, FILE.png or FILE.html"
            )
        return ()
    if wrong := [name for name in names if name not in PANELS]:
        raise InputError(f"picture: {not_one_of(wrong[0], PANELS)}")
    plotting.check_plot(plot)
    return tuple(dict.fromkeys(names))


def draw(pictured: Pictured, panels: Sequence[str], path: Path) -> None:
    """Writes the panels side by side.

    Args:
        pictured: What is drawn.
        panels: Some of `PANELS`.
        path: An .svg, .png or .html file.

    Raises:
        InputError: The file cannot be written, or matplotlib is missing.
    """
    plt = load_pyplot()
    drawn: dict[str, Callable[[Any, Pictured], Table]] = {
        "ratio": _ratio,
        "time": _time,
        "split": _split,
    }
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6.2 * len(panels), 4.6), layout="constrained", squeeze=False
    )
    tables = tuple(
        drawn[name](panel, pictured) for panel, name in zip(axes[0], panels, strict=True)
    )
    figure.suptitle(pictured.title, fontsize=11)
    figure.draw_without_rendering()
    shown = "; ".join(caption for caption, _, _ in tables)
    about = About(title=pictured.title, description=f"{shown}, on logarithmic axes.", tables=tables)
    save(figure, path, about)


def _ratio(panel: Any, pictured: Pictured) -> Table:
    """FLOP time over communication time against the batch."""
    machine = pictured.ratio
    batches = machine.batches()
    math_s = machine.math_s(batches)
    lines = (
        Line("FSDP or DP", math_s / machine.fsdp_s(batches), BLUE),
        Line("TP", math_s / machine.tp_s(batches), ORANGE),
        Line("FSDP + TP", math_s / machine.mixed_s(batches), GREEN),
        Line("compute-bound above", np.ones(batches.shape), BLACK, style="--"),
    )
    _curves(panel, batches, lines, plain)
    panel.set(
        title=f"FLOP time over communication time, {pictured.slice_of(machine)}",
        xlabel="batch B (tokens per step)",
        ylabel="T_math / T_comms",
    )
    _mark_crossing(panel, machine, 1.0, above=True)
    _label_ends(panel, lines)
    return _table(panel, batches, lines, plain)


def _time(panel: Any, pictured: Pictured) -> Table:
    """Communication time of each strategy against the batch, with the FLOP line."""
    machine = pictured.time
    batches = machine.batches()
    lines = (
        Line("FSDP or DP", machine.fsdp_s(batches), BLUE),
        Line("TP", machine.tp_s(batches), ORANGE),
        Line("FSDP + TP", machine.mixed_s(batches), GREEN),
        Line("FLOP", machine.math_s(batches), BLACK, style="--"),
    )
    _curves(panel, batches, lines, show_seconds)
    panel.set(
        title=f"Time per layer and forward pass, {pictured.slice_of(machine)}",
        xlabel="batch B (tokens per step)",
        ylabel="seconds",
    )
    crossing = machine.crossing()
    if math.isfinite(crossing):
        _mark_crossing(panel, machine, float(machine.math_s(np.array([crossing]))[0]))
    _label_ends(panel, lines)
    return _table(panel, batches, lines, show_seconds)


def _table(
    panel: Any, x: FloatArray, lines: Sequence[Line], show_y: Callable[[float], str]
) -> Table:
    """Some values of the curves: title of the panel, names, rows."""
    rows = [
        [show_count(round(x[at])), *(show_y(float(line.values[at])) for line in lines)]
        for at in np.unique(np.linspace(0, len(x) - 1, _ROWS).round().astype(int))
    ]
    return panel.get_title(), [panel.get_xlabel(), *(line.name for line in lines)], rows


def _curves(
    panel: Any, x: FloatArray, lines: Sequence[Line], show_y: Callable[[float], str]
) -> None:
    """Lines over logarithmic axes, with readable numbers at their ticks."""
    for line in lines:
        panel.plot(x, line.values, line.style, color=line.colour, linewidth=line.width)
    panel.set(xscale="log", yscale="log")
    panel.xaxis.set_major_formatter(lambda value, _: show_count(round(value)))
    panel.yaxis.set_major_formatter(lambda value, _: show_y(value))
    panel.tick_params(axis="both", which="minor", length=0)


def _mark_crossing(panel: Any, machine: Machine, height: float, *, above: bool = False) -> None:
    """A dot where FSDP + TP becomes compute-bound, with the batch beside it."""
    crossing = machine.crossing()
    if not math.isfinite(crossing):
        return
    panel.plot([crossing], [height], "o", color=GREEN, markersize=6, zorder=5)
    panel.annotate(
        f"{show_count(round(crossing))} tokens\n({plain(crossing / machine.chips)} per chip)",
        (crossing, height), xytext=(-8, 8) if above else (8, -8), textcoords="offset points",
        va="bottom" if above else "top", ha="right" if above else "left", color=GREEN,
        fontsize=9, bbox=_PAPER,
    )  # fmt: skip


def _split(panel: Any, pictured: Pictured) -> Table:
    """Communication time over the split of the chips into FSDP and TP."""
    machine, batch = pictured.split, pictured.split_batch
    whole_x, whole = machine.whole_splits(batch)
    x, parts = whole_x, whole
    if machine.axes is not None:
        x = np.geomspace(1.0, machine.chips, 481)
        parts = machine.split_s(np.asarray(batch), x)
    flop = float(machine.math_s(np.array([batch]))[0])
    total = np.maximum(flop, parts.max(axis=0))
    lines = (
        Line("FSDP", parts[0], BLUE),
        Line("TP", parts[1], ORANGE),
        Line("total", total, PURPLE, width=2.6),
        Line("FLOP", np.full(x.shape, flop), BLACK, style="--"),
    )
    _curves(panel, x, lines, show_seconds)
    panel.plot(whole_x, np.maximum(flop, whole.max(axis=0)), "o", color=PURPLE, markersize=4)
    panel.set(
        title=f"Split of {pictured.slice_of(machine)} at {show_count(round(batch))} tokens",
        xlabel="FSDP ranks X (TP ranks Y = N / X); dots: whole meshes",
        ylabel="seconds per layer and forward pass",
    )
    low = min(float(parts.max(axis=0).min()), flop)
    panel.set_ylim(low / 6, float(total.max()) * 1.3)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.tick_params(axis="x", rotation=30)
    _mark_least(panel, machine, batch)
    _label_ends(panel, lines)
    return _table(panel, x, lines, show_seconds)


def _mark_least(panel: Any, machine: Machine, batch_tokens: float) -> None:
    """A diamond at the split with the least communication, and its ranks in a corner."""
    best, least = machine.least_split(batch_tokens)
    panel.plot([best], [least], "D", color=GREEN, markersize=6, zorder=6)
    panel.annotate(
        f"least communication at X {plain(best)}, Y {plain(machine.chips / best)}",
        (0.02, 0.04), xycoords="axes fraction", color=GREEN, fontsize=9, bbox=_PAPER,
    )  # fmt: skip


def _label_ends(panel: Any, lines: Sequence[Line]) -> None:
    """Names behind the ends of the lines, in their colours, apart from each other."""
    low, high = (math.log10(end) for end in panel.get_ylim())
    wanted = [(math.log10(line.values[-1]) - low) / (high - low) for line in lines]
    inside = [min(max(height, 0.02), 0.98) for height in wanted]
    for line, height in zip(lines, apart(inside, _APART), strict=True):
        panel.annotate(
            line.name, (1.01, height), xycoords="axes fraction", va="center", color=line.colour,
            annotation_clip=False,
        )  # fmt: skip
