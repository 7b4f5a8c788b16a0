"""The chart of measured collectives: predicted over measured time of every call.

Beside each other: with the constants of the training step, and with those of NCCL.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.units import plural, show_bytes, show_seconds
from planner.evidence.validation.collective_systems import kind_of
from planner.evidence.validation.collectives import Measured
from planner.report.drawing.chart import Area, Axis, Chart, Dot, Key, Line, Picture
from planner.report.drawing.geometry.line_ends import named_ticks
from planner.report.tables.validation_tables import percent

TITLE = "Measured collectives"
BANDS = (0.5, 0.2)
"""Half widths of the shaded bands, the wide one first."""
LOOKS = {
    "one NVLink domain": ("blue", "circle"),
    "InfiniBand, RoCE": ("green", "triangle"),
    "EFA": ("orange", "square"),
    "TCPX": ("red", "diamond"),
    "PCIe": ("purple", "hexagon"),
}
"""Tone and shape of each kind of `kind_of`."""
_AROUND = 1.4
_SQUARE = 0.93


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it is drawn.

    Attributes:
        words: System, collective and size.
        kind: Key of `LOOKS`.
        measured_s, usual_s, nccl_s: Measured, and predicted with either set of constants.
    """

    words: str
    kind: str
    measured_s: float
    usual_s: float
    nccl_s: float


def calls_of(measured: Sequence[Measured]) -> tuple[Call, ...]:
    """Every call of some measurements."""
    return tuple(
        Call(
            words=f"{row.system}: {row.collective} of {show_bytes(float(size))}",
            kind=kind_of(row.system, row.chips),
            measured_s=float(found),
            usual_s=float(usual),
            nccl_s=float(nccl),
        )
        for row in measured
        for size, found, usual, nccl in zip(
            row.size_bytes, row.measured_s, row.predicted_s, row.nccl_s, strict=True
        )
    )


def nccl_picture(measured: Sequence[Measured]) -> Picture:
    """Both charts side by side, on the same axes."""
    calls = calls_of(measured)
    seconds = [x for call in calls for x in (call.measured_s, call.usual_s, call.nccl_s)]
    ends = (min(seconds) / _AROUND, max(seconds) * _AROUND)
    usual, nccl = (
        np.array([getattr(call, name) for call in calls]) for name in ("usual_s", "nccl_s")
    )
    charts = (
        _chart("Constants of the training step", calls, usual, ends),
        _chart("Constants of NCCL", calls, nccl, ends),
    )
    return Picture(title=TITLE, charts=charts, columns=2)


def _chart(
    title: str, calls: Sequence[Call], predicted_s: FloatArray, ends: tuple[float, float]
) -> Chart:
    low, high = ends
    ticks = named_ticks(low, high, show_seconds)
    measured_s = np.array([call.measured_s for call in calls])
    error = np.abs(predicted_s / measured_s - 1)
    words = f"{plural(len(calls), 'call')}, median error {percent(float(np.median(error)))} %"
    dots = [
        Dot(x=call.measured_s, y=float(value), tone=LOOKS[call.kind][0],
            shape=LOOKS[call.kind][1], detail=f"{call.words}: measured "
            f"{show_seconds(call.measured_s)}, predicted {show_seconds(float(value))}")
        for call, value in zip(calls, predicted_s, strict=True)
    ]  # fmt: skip
    kinds = [call.kind for call in calls]
    keys = [
        Key(words=f"{kind} ({kinds.count(kind)})", tone=tone, shape=shape)
        for kind, (tone, shape) in LOOKS.items()
        if kind in kinds
    ]
    bands = " and ".join(f"{100 * width:g}" for width in reversed(BANDS))
    return Chart(
        title=title,
        subtitle=words,
        x=Axis(label="measured", low=low, high=high, logarithmic=True, ticks=ticks),
        y=Axis(label="predicted", low=low, high=high, logarithmic=True, ticks=ticks),
        marks=(
            *(_band(low, high, width) for width in BANDS),
            Line(points=((low, low), (high, high)), tone="grey", detail="predicted as measured"),
            *dots,
        ),
        legend=(*keys, Key(words=f"within {bands} %", tone="grey", kind="area")),
        description=f"{title}: {words}.",
        header=("call", "measured", "predicted", "error %"),
        rows=tuple(
            (call.words, show_seconds(call.measured_s), show_seconds(float(value)),
             percent(float(value) / call.measured_s - 1))
            for call, value in zip(calls, predicted_s, strict=True)
        ),
        height=_SQUARE,
    )  # fmt: skip


def _band(low: float, high: float, width: float) -> Area:
    corners = (
        (low, low * (1 - width)),
        (high, high * (1 - width)),
        (high, high * (1 + width)),
        (low, low * (1 + width)),
    )
    return Area(corners=corners, tone="grey", detail=f"within {100 * width:g} %")
