"""The charts of `planner feasible --plot`: what a textbook draws, for any model and cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.units import plain, show_count, show_seconds
from planner.report.drawing.chart import Axis, Chart, Dot, Key, Mark, Picture, Words
from planner.report.drawing.geometry.line_ends import Curve, end_names, named_ticks, with_room
from planner.report.drawing.svg import SIDE_BY_SIDE, WIDTH
from planner.report.pages.picture_file import check_picture
from planner.studies.feasibility.pictured import Pictured
from planner.studies.feasibility.textbook.curves import Machine

PANELS = ("ratio", "time", "split")
_HEIGHT = 0.66
_COLUMNS = 2
_SAMPLES = 481
_MARGIN = 1.6
"""Factor that stays free above and below the curves."""
_BELOW = 6.0
"""How far below the best total the picture of the split goes."""
_BEFORE = 1.2
"""Factor that stays free left of the first whole mesh."""
_ROWS = 13
"""Points of the curves that a table has."""
_SPLIT_KEYS = (
    Key(words="whole meshes", tone="purple"),
    Key(words="least communication", tone="green", shape="diamond"),
)
_BATCH = "batch B (tokens per step)"
_NOTE = "Peak rates and the textbook's bytes (assumptions roofline), whatever those of the tables."


def check_panels(plot: Path | None, picture: str | None) -> tuple[str, ...]:
    """The panels that are drawn, found out before anything is computed.

    Args:
        plot: The file, if any.
        picture: Names of panels with commas; all of them without.

    Raises:
        InputError: A panel or the ending is unknown, the file cannot be written, or it is a PNG
            and resvg-py is missing.
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
    check_picture(plot)
    return tuple(dict.fromkeys(names))


def feasible_picture(pictured: Pictured, panels: Sequence[str] = PANELS) -> Picture:
    """The panels, two on a line.

    Args:
        pictured: What is drawn.
        panels: Some of `PANELS`.

    Raises:
        InputError: The split is asked for, and there is none.
    """
    width = WIDTH if len(panels) == 1 else SIDE_BY_SIDE
    charts = {"ratio": _ratio, "time": _time, "split": _split}
    return Picture(
        title=f"{pictured.title}: does communication hide behind computing?",
        charts=tuple(charts[name](pictured, width) for name in panels),
        columns=min(len(panels), _COLUMNS),
    )


def _ratio(pictured: Pictured, width: float) -> Chart:
    """Computing time over communication time against the batch."""
    machine = pictured.ratio
    batches = machine.batches()
    math_s = machine.math_s(batches)
    curves = _finite(
        Curve(name="FSDP or DP", values=math_s / machine.fsdp_s(batches), tone="blue"),
        Curve(name="TP", values=math_s / machine.tp_s(batches), tone="orange"),
        Curve(name="FSDP + TP", values=math_s / machine.mixed_s(batches), tone="green"),
    )
    line = Curve(name="compute-bound above", values=np.ones(batches.shape), tone="grey",
                 dashed=True)  # fmt: skip
    x = _batch_axis(machine, batches, curves, width)
    y = _level_axis("computing time / communication time", (*curves, line), plain)
    words = Words(x=x.low * 1.04, y=(y.high / y.low) ** 0.035, words=line.name, anchor="start")
    return Chart(
        title=f"Computing time over communication time, {pictured.slice_of(machine)}",
        subtitle=f"T_math / T_comms; {pictured.symbols}",
        x=x,
        y=y,
        marks=(
            *(curve.line(batches) for curve in (*curves, line)),
            *end_names(curves, float(batches[-1]), x, y),
            words,
            *_crossing(machine, 1.0),
        ),
        legend=_legend((*curves, line), machine),
        notes=(_NOTE,),
        description=f"Computing time over communication time against the batch; above 1 the step "
        f"is compute-bound. {_crossing_words(machine)}",
        header=(_BATCH, *(curve.name for curve in curves)),
        rows=_rows(batches, curves, plain),
        height=_HEIGHT,
    )


def _time(pictured: Pictured, width: float) -> Chart:
    """Communication time of each strategy against the batch, with that of computing."""
    machine = pictured.time
    batches = machine.batches()
    curves = _finite(
        Curve(name="FSDP or DP", values=machine.fsdp_s(batches), tone="blue"),
        Curve(name="TP", values=machine.tp_s(batches), tone="orange"),
        Curve(name="FSDP + TP", values=machine.mixed_s(batches), tone="green"),
        Curve(name="computing", values=machine.math_s(batches), tone="grey", dashed=True),
    )
    x = _batch_axis(machine, batches, curves, width)
    y = _level_axis("time per layer and forward pass", curves, show_seconds)
    crossing = machine.crossing()
    hidden_s = float(machine.math_s(np.array([crossing]))[0])
    return Chart(
        title=f"Time per layer and forward pass, {pictured.slice_of(machine)}",
        subtitle=f"T_comms of each strategy and T_math; {pictured.symbols}",
        x=x,
        y=y,
        marks=(
            *(curve.line(batches) for curve in curves),
            *end_names(curves, float(batches[-1]), x, y),
            *_crossing(machine, hidden_s),
        ),
        legend=_legend(curves, machine),
        notes=(_NOTE,),
        description="Communication time of each strategy against the batch; what is above the line "
        f"of computing is communication-bound. {_crossing_words(machine)}",
        header=(_BATCH, *(curve.name for curve in curves)),
        rows=_rows(batches, curves, show_seconds),
        height=_HEIGHT,
    )


def _split(pictured: Pictured, width: float) -> Chart:
    """Communication time over the split of the chips into FSDP and TP."""
    machine, batch = pictured.split, pictured.split_batch
    whole_x, whole = machine.whole_splits(batch)
    if not whole_x.size:
        raise InputError(
            f"picture: {machine.chips:,} chips cannot be split into FSDP and TP; nearest: "
            "--picture ratio,time"
        )
    x, parts = whole_x, whole
    if machine.axes is not None:
        x = np.geomspace(1.0, machine.chips, _SAMPLES)
        parts = machine.split_s(np.asarray(batch), x)
    flop_s = float(machine.math_s(np.array([batch]))[0])
    curves = (
        Curve(name="FSDP", values=parts[0], tone="blue"),
        Curve(name="TP", values=parts[1], tone="orange"),
        Curve(name="total", values=np.maximum(flop_s, parts.max(axis=0)), tone="purple", bold=True),
        Curve(name="computing", values=np.full(x.shape, flop_s), tone="grey", dashed=True),
    )
    across, up = _split_axes(x, curves, width, whole=machine.axes is None)
    tokens = f"{show_count(round(batch))} tokens"
    return Chart(
        title=f"FSDP against TP on {pictured.slice_of(machine)} at {tokens} per step",
        subtitle=f"T_comms of both and T_math; {pictured.symbols}",
        x=across,
        y=up,
        marks=(
            *(curve.line(x) for curve in curves),
            *end_names(curves, float(x[-1]), across, up),
            *_meshes(machine, whole_x, np.maximum(flop_s, whole.max(axis=0))),
            _least(machine, batch),
        ),
        legend=(*(curve.key() for curve in curves), *_SPLIT_KEYS),
        notes=(_NOTE,),
        description=f"Time of {tokens} over the split of {machine.chips:,} chips into FSDP and TP; "
        f"{_least_words(machine, batch)}.",
        header=("FSDP ranks X", *(curve.name for curve in curves)),
        rows=_rows(x, curves, show_seconds),
        height=_HEIGHT,
    )


def _split_axes(
    x: FloatArray, curves: Sequence[Curve], width: float, *, whole: bool
) -> tuple[Axis, Axis]:
    """X with room for the names, and seconds from below the least of the longest parts on.

    Args:
        x: FSDP ranks.
        curves: FSDP, TP, the total and computing.
        width: Of the chart.
        whole: Whether X is whole.
    """
    gathers, exchanges, total, computing = (curve.values for curve in curves)
    least = min(float(np.maximum(gathers, exchanges).min()), float(computing[0]))
    low, high = least / _BELOW, float(total.max()) * _MARGIN
    first, last = float(x[0]), float(x[-1])
    across = Axis(
        label="FSDP ranks X (TP ranks Y = chips / X)", low=first / (_BEFORE if whole else 1.0),
        high=with_room(first, last, [curve.name for curve in curves], width), logarithmic=True,
        ticks=_powers(x),
    )  # fmt: skip
    up = Axis(label="time per layer and forward pass", low=low, high=high, logarithmic=True,
              ticks=named_ticks(low, high, show_seconds))  # fmt: skip
    return across, up


def _finite(*curves: Curve) -> tuple[Curve, ...]:
    """Those that there are: few chips have no mix of FSDP and TP."""
    return tuple(curve for curve in curves if np.isfinite(curve.values).all())


def _batch_axis(
    machine: Machine, batches: FloatArray, curves: Sequence[Curve], width: float
) -> Axis:
    """Batches, the crossing among them, with room for the names."""
    low, end = float(batches[0]), float(batches[-1])
    crossing = machine.crossing()
    if math.isfinite(crossing):
        low = min(low, crossing)
    high = with_room(low, end, [curve.name for curve in curves], width)
    ticks = named_ticks(low, end, lambda tokens: show_count(round(tokens)))
    return Axis(label=_BATCH, low=low, high=high, logarithmic=True, ticks=ticks)


def _level_axis(label: str, curves: Sequence[Curve], words: Callable[[float], str]) -> Axis:
    """A vertical axis that shows all curves."""
    low = min(float(curve.values.min()) for curve in curves) / _MARGIN
    high = max(float(curve.values.max()) for curve in curves) * _MARGIN
    return Axis(label=label, low=low, high=high, logarithmic=True,
                ticks=named_ticks(low, high, words))  # fmt: skip


def _powers(x: FloatArray) -> tuple[tuple[float, str], ...]:
    """Powers of two between the ends."""
    first, last = math.ceil(math.log2(x[0]) - 1e-9), math.floor(math.log2(x[-1]) + 1e-9)
    return tuple((2.0**power, f"{2**power:,}") for power in range(first, last + 1))


def _crossing(machine: Machine, height: float) -> list[Mark]:
    """Where FSDP + TP becomes compute-bound, with the batch beside it."""
    crossing = machine.crossing()
    if not math.isfinite(crossing):
        return []
    words = f"{show_count(round(crossing))} tokens ({plain(crossing / machine.chips)} per chip)"
    return [Dot(x=crossing, y=height, tone="green", words=words, detail=_crossing_words(machine),
                strong=True)]  # fmt: skip


def _crossing_words(machine: Machine) -> str:
    crossing = machine.crossing()
    if not math.isfinite(crossing):
        return "FSDP + TP is not compute-bound at any batch that is shown."
    return (
        f"FSDP + TP is compute-bound from {show_count(round(crossing))} tokens per step on, "
        f"{plain(crossing / machine.chips)} per chip."
    )


def _legend(curves: Sequence[Curve], machine: Machine) -> tuple[Key, ...]:
    keys = tuple(curve.key() for curve in curves)
    if not math.isfinite(machine.crossing()):
        return keys
    return (*keys, Key(words="FSDP + TP compute-bound from here", tone="green"))


def _meshes(machine: Machine, x: FloatArray, totals: FloatArray) -> list[Dot]:
    """The totals of whole meshes."""
    return [
        Dot(x=own, y=total, tone="purple",
            detail=f"X {plain(own)}, Y {plain(machine.chips / own)}: {show_seconds(total)}")
        for own, total in zip(x.tolist(), totals.tolist(), strict=True)
    ]  # fmt: skip


def _least(machine: Machine, batch_tokens: float) -> Dot:
    """The split with the least communication."""
    best, least_s = machine.least_split(batch_tokens)
    words = _least_words(machine, batch_tokens)
    return Dot(x=best, y=least_s, tone="green", shape="diamond", words=words,
               detail=f"{words}: {show_seconds(least_s)}", strong=True)  # fmt: skip


def _least_words(machine: Machine, batch_tokens: float) -> str:
    best, _ = machine.least_split(batch_tokens)
    return f"least communication at X {plain(best)}, Y {plain(machine.chips / best)}"


def _rows(
    x: FloatArray, curves: Sequence[Curve], show_y: Callable[[float], str]
) -> tuple[tuple[str, ...], ...]:
    """Some values of the curves."""
    shown = np.unique(np.linspace(0, len(x) - 1, _ROWS).round().astype(int)).tolist()
    return tuple(
        (show_count(round(x[at])), *(show_y(float(curve.values[at])) for curve in curves))
        for at in shown
    )
