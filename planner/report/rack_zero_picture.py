"""The picture of `planner rack zero --plot`: figures 3 to 8 of the report as panels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.plan import FloatArray
from planner.rack.zero import Comparison, ZeroAnswer
from planner.rack.zero_json import TITLES
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
from planner.report.rack_zero_view import figure_table
from planner.units import unit_for

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BLACK)
_STYLES = ("-", "--", ":")
_PER_ROW = 2
_APART = 0.06
_MARKED = 40
"""Points of a line up to which each has a dot."""


def draw(answer: ZeroAnswer, path: Path) -> None:
    """Writes the figures asked for, two side by side.

    Raises:
        InputError: The file cannot be written, or matplotlib is missing.
    """
    plt = load_pyplot()
    numbers = answer.question.figures
    wide = min(_PER_ROW, len(numbers))
    high = -(-len(numbers) // wide)
    figure, axes = plt.subplots(
        high, wide, figsize=(6.4 * wide, 4.0 * high), layout="constrained", squeeze=False
    )
    panels = list(axes.flat)
    for panel, number in zip(panels, numbers, strict=False):
        _panel(panel, answer, number)
    for panel in panels[len(numbers) :]:
        panel.set_axis_off()
    figure.draw_without_rendering()
    save(figure, path, _about(answer))


def _about(answer: ZeroAnswer) -> About:
    """What a page says."""
    found = [figure_table(answer, number) for number in answer.question.figures]
    shown = "; ".join(title for title, _, _ in found)
    return About(
        title="ZeRO against data parallelism in a rack",
        description=f"{shown}. A ring marks the largest rack whose computing hides the fetch; "
        "in the tables * waits for the network.",
        tables=tuple(
            (f"{title}; {where}", table.header, table.rows) for title, where, table in found
        ),
    )


def _panel(panel: Any, answer: ZeroAnswer, number: int) -> None:
    """One figure of the report."""
    panel.set_title(f"{number}. {TITLES[number]}")
    if number in (5, 6):
        _over_columns(panel, answer, number)
        return
    compared = answer.workloads if number in (3, 4) else answer.topologies
    names = [one.workload if number in (3, 4) else one.topology for one in compared]
    energy = number in (3, 7)
    values = [100 * (one.energy_ratio if energy else one.latency_ratio) for one in compared]
    gpus = np.array(answer.question.gpus, dtype=np.float64)
    what = "energy" if energy else "latency"
    panel.set(xlabel="GPUs", ylabel=f"{what} of ZeRO (% of data parallelism)")
    if not energy:
        names = [_with_last(name, gpus, one) for name, one in zip(names, compared, strict=True)]
    _lines(panel, gpus, values, names)
    panel.set_ylim(bottom=0)
    if not energy:
        _mark_last_hidden(panel, gpus, compared, values)


def _over_columns(panel: Any, answer: ZeroAnswer, number: int) -> None:
    """Data parallelism and ZeRO over the columns of PEs."""
    one, clock = answer.columns, answer.question.clock_hz
    assert one is not None
    x = np.array(answer.question.pe_columns, dtype=np.float64)
    if number == 5:
        scale, name = unit_for(float(np.max(one.zero_j / one.gpus)), "J")
        values = [one.dp_j / one.gpus / scale, one.zero_j / one.gpus / scale]
        unit = f"energy per GPU ({name})"
    else:
        values, unit = [one.dp_s * clock, one.zero_s * clock], "latency (cycles)"
    rows, gpus = answer.question.rows, answer.question.column_gpus
    panel.set(
        xlabel=f"columns of {rows} PE{'s' * (rows > 1)}; {gpus} GPUs, {one.topology}", ylabel=unit
    )
    _lines(panel, x, values, ["DP", "ZeRO"])
    panel.set_ylim(bottom=0)
    if number == 6 and answer.plateau_s is not None:
        panel.annotate(
            f"{answer.plateau_s * clock:,.0f} cycles",
            (x[-1], answer.plateau_s * clock), xytext=(0, 6), textcoords="offset points",
            ha="right", color=_COLOURS[1], fontsize=9,
        )  # fmt: skip


def _lines(panel: Any, x: FloatArray, values: Sequence[FloatArray], names: Sequence[str]) -> None:
    """Curves with their names at their ends, in their colours."""
    ends, low, high = [], 0.0, 1.05 * max(float(np.nanmax(line)) for line in values)
    for index, line in enumerate(values):
        there = ~np.isnan(line)
        style = _STYLES[index // len(_COLOURS) % len(_STYLES)]
        colour = _COLOURS[index % len(_COLOURS)]
        marker = "o" if there.sum() <= _MARKED else ""
        panel.plot(x[there], line[there], style, color=colour, marker=marker, markersize=4,
                   linewidth=1.8, zorder=3 - index / 100)  # fmt: skip
        ends.append((float(line[there][-1]) - low) / (high - low))
    panel.set_ylim(low, high)
    panel.locator_params(axis="x", integer=True)
    least = _APART * max(1 + name.count("\n") for name in names)
    for index, (name, height) in enumerate(zip(names, apart(ends, least), strict=True)):
        panel.annotate(
            name, (1.01, height), xycoords="axes fraction", va="center",
            color=_COLOURS[index % len(_COLOURS)], annotation_clip=False,
        )  # fmt: skip


def _last_hidden(one: Comparison) -> int | None:
    """Index of the last rack before the first that waits, where both are there."""
    racks = np.flatnonzero(~np.isnan(one.dp_s))
    late = np.flatnonzero(one.bound[racks])
    return int(racks[late[0] - 1]) if late.size and late[0] > 0 else None


def _with_last(name: str, gpus: FloatArray, one: Comparison) -> str:
    """The name of a line, with how far it hides its fetch where it waits later."""
    last = _last_hidden(one)
    return name if last is None else f"{name}\nhidden up to {gpus[last]:,.0f}"


def _mark_last_hidden(
    panel: Any, gpus: FloatArray, compared: Sequence[Comparison], values: Sequence[FloatArray]
) -> None:
    """A ring around the last rack of each line that hides its fetch."""
    for index, (one, line) in enumerate(zip(compared, values, strict=True)):
        last = _last_hidden(one)
        if last is not None:
            panel.plot(
                [gpus[last]], [line[last]], "o", markersize=9, fillstyle="none", zorder=4,
                color=_COLOURS[index % len(_COLOURS)],
            )  # fmt: skip
