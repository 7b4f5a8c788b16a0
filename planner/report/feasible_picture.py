"""The pictures of `planner feasible --plot`: what a textbook draws, for any model and cluster."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.feasibility.curves import Machine
from planner.feasibility.pictured import Pictured
from planner.files import check_writable, write_bytes
from planner.messages import not_one_of
from planner.units import plain, show_count, show_seconds

PANELS = ("ratio", "time", "split")
_ENDINGS = (".svg", ".png")
_BLUE, _ORANGE, _GREEN, _PURPLE, _BLACK = "#3b6ea5", "#c2571a", "#3a7d44", "#7a4b94", "#222222"
_PAPER = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5}
_APART = 0.055
"""Least distance of two labels, as a share of the height of a panel."""


def check_plot(plot: Path | None, picture: str | None) -> tuple[str, ...]:
    """The panels that are drawn, found out before anything is computed.

    Raises:
        InputError: A panel or the ending is unknown, the file cannot be written, or matplotlib
            is missing.
    """
    names = PANELS if picture is None else tuple(name.strip() for name in picture.split(","))
    if plot is None:
        if picture is not None:
            raise InputError("picture: has no effect without --plot FILE.svg or FILE.png")
        return ()
    if wrong := [name for name in names if name not in PANELS]:
        raise InputError(f"picture: {not_one_of(wrong[0], PANELS)}")
    if plot.suffix.lower() not in _ENDINGS:
        raise InputError(f"plot: {plot}: pictures are written as {' or '.join(_ENDINGS)}")
    _pyplot()
    check_writable(plot)
    return tuple(dict.fromkeys(names))


def _pyplot() -> Any:
    """Pyplot, set so that it writes the same picture for the same figures.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415  (only for pictures)
    except ImportError as error:
        raise InputError(
            "plot: matplotlib is not installed; install it with: pip install 'planner[viz]'"
        ) from error
    mpl.use("agg")
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


def draw(pictured: Pictured, panels: Sequence[str], path: Path) -> None:
    """Writes the panels side by side.

    Args:
        pictured: What is drawn.
        panels: Some of `PANELS`.
        path: An .svg or .png file.

    Raises:
        InputError: The file cannot be written, or matplotlib is missing.
    """
    plt = _pyplot()
    drawn: dict[str, Callable[[Any, Pictured], None]] = {
        "ratio": _ratio,
        "time": _time,
        "split": _split,
    }
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6.2 * len(panels), 4.6), layout="constrained", squeeze=False
    )
    for panel, name in zip(axes[0], panels, strict=True):
        drawn[name](panel, pictured)
    figure.suptitle(pictured.title, fontsize=11)
    figure.draw_without_rendering()
    kind = path.suffix.lower().removeprefix(".")
    buffer = io.BytesIO()
    same = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=144, metadata=same)
    plt.close(figure)
    write_bytes(path, buffer.getvalue())


def _ratio(panel: Any, pictured: Pictured) -> None:
    """FLOP time over communication time against the batch."""
    machine = pictured.ratio
    batches = machine.batches()
    math_s = machine.math_s(batches)
    lines = (
        ("FSDP or DP", math_s / machine.fsdp_s(batches), _BLUE),
        ("TP", math_s / machine.tp_s(batches), _ORANGE),
        ("FSDP + TP", math_s / machine.mixed_s(batches), _GREEN),
    )
    for _, values, colour in lines:
        panel.plot(batches, values, color=colour, linewidth=1.8)
    panel.axhline(1.0, color=_BLACK, linestyle="--", linewidth=1.0)
    panel.set(
        title=f"FLOP time over communication time, {pictured.slice_of(machine)}",
        xlabel="batch B (tokens per step)",
        ylabel="T_math / T_comms",
        xscale="log",
        yscale="log",
    )
    _ticks(panel, plain)
    _mark_crossing(panel, machine, 1.0, above=True)
    ends = [(name, float(values[-1]), colour) for name, values, colour in lines]
    _label_ends(panel, [*ends, ("compute-bound above", 1.0, _BLACK)])


def _time(panel: Any, pictured: Pictured) -> None:
    """Communication time of each strategy against the batch, with the FLOP line."""
    machine = pictured.time
    batches = machine.batches()
    lines = (
        ("FSDP or DP", machine.fsdp_s(batches), _BLUE),
        ("TP", machine.tp_s(batches), _ORANGE),
        ("FSDP + TP", machine.mixed_s(batches), _GREEN),
        ("FLOP", machine.math_s(batches), _BLACK),
    )
    for name, values, colour in lines:
        style = "--" if name == "FLOP" else "-"
        panel.plot(batches, values, style, color=colour, linewidth=1.8)
    panel.set(
        title=f"Time per layer and forward pass, {pictured.slice_of(machine)}",
        xlabel="batch B (tokens per step)",
        ylabel="seconds",
        xscale="log",
        yscale="log",
    )
    _ticks(panel, show_seconds)
    crossing = machine.crossing()
    if math.isfinite(crossing):
        _mark_crossing(panel, machine, float(machine.math_s(np.array([crossing]))[0]))
    _label_ends(panel, [(name, float(values[-1]), colour) for name, values, colour in lines])


def _mark_crossing(panel: Any, machine: Machine, height: float, *, above: bool = False) -> None:
    """A dot where FSDP + TP becomes compute-bound, with the batch beside it."""
    crossing = machine.crossing()
    if not math.isfinite(crossing):
        return
    panel.plot([crossing], [height], "o", color=_GREEN, markersize=6, zorder=5)
    panel.annotate(
        f"{show_count(round(crossing))} tokens\n({plain(crossing / machine.chips)} per chip)",
        (crossing, height), xytext=(-8, 8) if above else (8, -8), textcoords="offset points",
        va="bottom" if above else "top", ha="right" if above else "left", color=_GREEN,
        fontsize=9, bbox=_PAPER,
    )  # fmt: skip


def _split(panel: Any, pictured: Pictured) -> None:
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
        ("FSDP", parts[0], _BLUE, "-"),
        ("TP", parts[1], _ORANGE, "-"),
        ("total", total, _PURPLE, "-"),
        ("FLOP", np.full(x.shape, flop), _BLACK, "--"),
    )
    for name, values, colour, style in lines:
        panel.plot(x, values, style, color=colour, linewidth=2.6 if name == "total" else 1.5)
    panel.plot(whole_x, np.maximum(flop, whole.max(axis=0)), "o", color=_PURPLE, markersize=4)
    comms = parts.max(axis=0)
    best, least = machine.least_split(batch)
    panel.plot([best], [least], "D", color=_GREEN, markersize=6, zorder=6)
    panel.annotate(
        f"least communication at X {plain(best)}, Y {plain(machine.chips / best)}",
        (0.02, 0.04), xycoords="axes fraction", color=_GREEN, fontsize=9, bbox=_PAPER,
    )  # fmt: skip
    panel.set(
        title=f"Split of {pictured.slice_of(machine)} at {show_count(round(batch))} tokens",
        xlabel="FSDP ranks X (TP ranks Y = N / X); dots: whole meshes",
        ylabel="seconds per layer and forward pass",
        xscale="log",
        yscale="log",
    )
    low = min(float(comms.min()), flop)
    panel.set_ylim(low / 6, max(float(total.max()), flop) * 1.3)
    panel.set_xscale("log", base=2)
    _ticks(panel, show_seconds)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.tick_params(axis="x", rotation=30)
    _label_ends(panel, [(name, float(values[-1]), colour) for name, values, colour, _ in lines])


def _ticks(panel: Any, show: Callable[[float], str]) -> None:
    panel.xaxis.set_major_formatter(lambda value, _: show_count(round(value)))
    panel.yaxis.set_major_formatter(lambda value, _: show(value))
    panel.tick_params(axis="both", which="minor", length=0)


def _label_ends(panel: Any, ends: Sequence[tuple[str, float, str]]) -> None:
    """Names behind the ends of the lines, in their colours, apart from each other."""
    low, high = (math.log10(end) for end in panel.get_ylim())
    wanted = [(math.log10(end) - low) / (high - low) for _, end, _ in ends]
    order = sorted(range(len(ends)), key=wanted.__getitem__)
    placed = [min(max(wanted[at], 0.02), 0.98) for at in order]
    for _ in range(100):
        for below in range(len(placed) - 1):
            overlap = _APART - (placed[below + 1] - placed[below])
            if overlap > 1e-9:
                placed[below] -= overlap / 2
                placed[below + 1] += overlap / 2
    for place, at in zip(placed, order, strict=True):
        name, _, colour = ends[at]
        panel.annotate(
            name, (1.01, place), xycoords="axes fraction", va="center", color=colour,
            annotation_clip=False,
        )  # fmt: skip
