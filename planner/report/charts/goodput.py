"""The pictures of goodput: over chips beside published runs, and one simulated day of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.units import plain, plural, show_percent, show_seconds
from planner.evidence.goodput.strip import DOWN, LOST, SAVE, WAIT, WORK, Span, strip_of
from planner.report.drawing.chart import Area, Axis, Bar, Chart, Dot, Key, Line, Mark, Picture
from planner.studies.run.curve import Curve, curve_of
from planner.studies.run.kept import Kept
from planner.studies.run.question import EXPONENTIAL, Law

_HOUR_S, _HOURS = 3600.0, 24
_EXPONENTIAL = Law(words=EXPONENTIAL)
_ROOM = 0.1
"""Of a line of the strip, free at both sides."""
_NARROW_S = 24.0
"""Length below which a checkpoint is drawn as a line."""
_HEIGHT = 0.75
_KINDS = {
    WORK: ("work that counts", "blue", ""),
    SAVE: ("checkpoint", "purple", "dots"),
    LOST: ("work that is done again", "orange", "slant"),
    DOWN: ("detection and restart", "red", "cross"),
    WAIT: ("waiting for a spare", "grey", "backslant"),
}
"""Words, tone and hatch of what a run does."""
_ROWS = ("chips", "goodput", "80 %", "a site not seen")


def goodput_picture(kept: Kept, chips: tuple[int, ...], law: Law | None = None) -> Picture:
    """Goodput over chips, and a day on the most chips.

    Args:
        kept: The run.
        chips: Numbers that are marked, ascending.
        law: Of its failures; None: exponential.
    """
    curve = curve_of(kept.goodput, kept.rate, chips)
    fewest = f"{chips[0]:,} to " if len(chips) > 1 else ""
    charts = [curve_chart(curve, chips)]
    if kept.ends(chips[-1], law or _EXPONENTIAL):
        charts.append(day_chart(kept, chips[-1], law or _EXPONENTIAL))
    return Picture(
        title=f"Goodput of a run on {fewest}{chips[-1]:,} chips",
        charts=tuple(charts),
        columns=len(charts),
    )


def curve_chart(curve: Curve, marked: tuple[int, ...]) -> Chart:
    """Goodput over chips; numbers that were asked for are marked."""
    low, high = float(curve.chips[0]), float(curve.chips[-1])
    marks: list[Mark] = [
        _band(curve, curve.unseen_low, curve.unseen_high, "grey", "slant"),
        Line(points=_points(curve, curve.share), tone="blue", bold=True, detail=curve.rate),
    ]
    exact = bool(np.all(curve.low == curve.high))
    own = not exact and not np.array_equal(curve.low, curve.unseen_low)
    if own:
        marks.insert(1, _band(curve, curve.low, curve.high, "blue", ""))
    marks += [*_published(curve), *_marked(curve, marked)]  # those are named first
    keys = [Key(words=curve.rate.partition(" (")[0], tone="blue", kind="line")]
    keys += [Key(words="its 80 % interval", tone="blue", kind="area")] if own else []
    return Chart(
        title="Share of the time that is work that counts",
        x=Axis(label="chips of the job", low=low, high=high, logarithmic=True,
               ticks=tuple((float(n), f"{n:,}") for n in _ticks(low, high))),
        y=Axis(label="goodput (%)", low=0.0, high=105.0,
               ticks=tuple((float(at), f"{at}") for at in range(0, 101, 20))),
        marks=tuple(marks),
        legend=(
            *keys,
            Key(words="a site not seen, 80 %", tone="grey", kind="area", hatch="slant"),
            Key(words="published effective time", tone="orange", shape="square"),
            Key(words="published: at least", tone="orange", shape="triangle"),
        ),
        description="Goodput falls with the number of chips. "
        + " ".join(f"{said.run}: {said.published} on {said.chips:,} chips."
                   for said in curve.published),
        header=_ROWS,
        rows=tuple(_row(curve, at) for at in _shown(curve, marked)),
        height=_HEIGHT,
    )  # fmt: skip


def _points(curve: Curve, shares: FloatArray) -> tuple[tuple[float, float], ...]:
    pairs = zip(curve.chips, shares, strict=True)
    return tuple((float(chips), 100.0 * float(share)) for chips, share in pairs)


def _band(curve: Curve, low: FloatArray, high: FloatArray, tone: str, hatch: str) -> Area:
    corners = _points(curve, high) + _points(curve, low)[::-1]
    return Area(corners=corners, tone=tone, hatch=hatch, detail="80 % interval of the failure rate")


def _published(curve: Curve) -> Iterator[Dot]:
    for said in curve.published:
        share = 100.0 * (said.shown or 0.0)
        yield Dot(
            x=float(said.chips), y=share, tone="orange",
            shape="square" if said.share is not None else "triangle", words=said.run,
            detail=f"{said.run}: {said.published} on {said.chips:,} chips",
        )  # fmt: skip


def _marked(curve: Curve, marked: tuple[int, ...]) -> Iterator[Dot]:
    for chips in marked:
        share = float(curve.share[int(np.searchsorted(curve.chips, chips))])
        words = f"{chips:,}: {100 * share:.1f} %"
        yield Dot(x=float(chips), y=100 * share, tone="blue", words=words, detail=words)


def _ticks(low: float, high: float) -> Iterator[int]:
    """Powers of 4 inside."""
    yield from (4**k for k in range(16) if low <= 4**k <= high)


def _shown(curve: Curve, marked: tuple[int, ...]) -> list[int]:
    """Numbers that stand in the table: every sixth, and those asked for."""
    asked = [int(np.searchsorted(curve.chips, chips)) for chips in marked]
    return sorted({*range(0, len(curve.chips), 6), len(curve.chips) - 1, *asked})


def _row(curve: Curve, at: int) -> tuple[str, ...]:
    def between(low: FloatArray, high: FloatArray) -> str:
        return f"{show_percent(float(low[at]))} to {show_percent(float(high[at]))}"

    return (
        f"{int(curve.chips[at]):,}", show_percent(float(curve.share[at])),
        between(curve.low, curve.high), between(curve.unseen_low, curve.unseen_high),
    )  # fmt: skip


def day_chart(kept: Kept, chips: int, law: Law) -> Chart:
    """The first simulated day of a run on so many chips, an hour a line; it has to end."""
    day = _HOURS * _HOUR_S
    run = kept.run(chips, law, 1)
    run = replace(run, total_s=max(1.0, round(day / run.work_s)) * run.work_s)
    often = plain(day / (kept.rate.theta_s / chips))
    words = f"{chips:,} chips, failures {law.words}, {often} a day in the mean"
    return _strip(tuple(_first_day(strip_of(run))), words)


def _first_day(spans: tuple[Span, ...]) -> Iterator[Span]:
    end = _HOURS * _HOUR_S
    for span in spans:
        if span.start_s < end:
            yield replace(span, end_s=min(span.end_s, end))


def _strip(spans: tuple[Span, ...], subtitle: str) -> Chart:
    total = {kind: sum(s.end_s - s.start_s for s in spans if s.kind == kind) for kind in _KINDS}
    whole = sum(total.values())
    failures = sum(1 for span in spans if span.kind == DOWN)
    there = {kind: look for kind, look in _KINDS.items() if total[kind]}
    return Chart(
        title="One simulated day, an hour a line",
        subtitle=subtitle,
        x=Axis(label="minutes", low=0.0, high=60.0,
               ticks=tuple((float(at), str(at)) for at in range(0, 61, 10))),
        y=Axis(label="hour", low=0.0, high=float(_HOURS), downwards=True,
               ticks=tuple((at + 0.5, str(at)) for at in range(0, _HOURS, 2))),
        marks=(
            *(bar for span in _merged(spans) for bar in _bars(span)),
            *(line for span in spans if _is_short(span) for line in _lines(span)),
        ),
        legend=tuple(Key(words=f"{words}: {show_percent(total[kind] / whole)}", tone=tone,
                         kind="bar", hatch=hatch, faint=kind == WORK)
                     for kind, (words, tone, hatch) in there.items()),
        description=f"{plural(failures, 'failure')} in the day.",
        header=("what", "time", "share"),
        rows=tuple((words, show_seconds(total[kind]), show_percent(total[kind] / whole))
                   for kind, (words, _, _) in there.items()),
        height=_HEIGHT,
    )  # fmt: skip


def _is_short(span: Span) -> bool:
    """Whether it is a checkpoint too short for a bar."""
    return span.kind == SAVE and span.end_s - span.start_s < _NARROW_S


def _merged(spans: tuple[Span, ...]) -> Iterator[Span]:
    """Spans without short checkpoints, over which the work goes on."""
    last: Span | None = None
    for span in spans:
        if last is not None and (_is_short(span) or span.kind == last.kind == WORK):
            last = replace(last, end_s=span.end_s)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _lines(span: Span) -> Iterator[Line]:
    """A short checkpoint as a line."""
    hour, minutes = divmod(span.start_s / 60.0, 60.0)
    yield Line(points=((minutes, hour + _ROOM), (minutes, hour + 1 - _ROOM)), tone=_KINDS[SAVE][1])


def _bars(span: Span) -> Iterator[Bar]:
    """A bar for each hour that a span touches."""
    words, tone, hatch = _KINDS[span.kind]
    for hour in range(int(span.start_s // _HOUR_S), int(np.ceil(span.end_s / _HOUR_S))):
        start, end = (np.clip(at - hour * _HOUR_S, 0.0, _HOUR_S) / 60.0
                      for at in (span.start_s, span.end_s))  # fmt: skip
        yield Bar(left=float(start), right=float(end), bottom=hour + 1 - _ROOM, top=hour + _ROOM,
                  tone=tone, hatch=hatch, detail=words, faint=span.kind == WORK)  # fmt: skip
