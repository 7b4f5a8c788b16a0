"""The space-time picture of a schedule: who sends what, where to and when.

A row per node or link, with a track per lane; a bar is a chunk that occupies a lane, in the colour
of where it comes from. Of many rows some are shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.units import plain, plural, show_bytes, show_seconds, unit_for
from planner.collectives.runs.spacetime import SpaceTime, Span
from planner.report.drawing.chart import (
    HATCHES,
    TONES,
    Axis,
    Bar,
    Chart,
    Key,
    Line,
    Mark,
    Picture,
    Words,
)
from planner.report.drawing.svg import WIDTH

MOST_ROWS = {"nodes": 16, "links": 48}
_GAP = 5.0
"""Pixels between rows."""
_TRACK_PIXELS, _LEAST_PIXELS, _MOST_PIXELS = 17.0, 120.0, 880.0
_WORDS_PIXELS = 15.0
"""Height of a bar from which it has words."""
_BESIDE_PIXELS = 60.0
_MOST_KEYS = 16
_NAMED = 8
_ROOM = 16.0
"""Pixels above the first row, for the names of the steps."""


def space_picture(view: SpaceTime, title: str = "") -> Picture:
    """The rows of a run as one chart."""
    chart = space_chart(view, title)
    return Picture(title=chart.title, charts=(chart,))


def space_chart(view: SpaceTime, title: str = "") -> Chart:
    """The chart of `space_picture`.

    Args:
        view: Rows of spans.
        title: Default: collective and machine.
    """
    rows = shown_rows(view)
    layout = _layout(view, rows)
    low, room = layout.low, _ROOM / layout.pixels
    run = view.simulation
    size, unit = unit_for(run.finish_s, "s")
    bars = _bars(view, layout, size)
    words = any(bar.words for bar in bars)
    schedule, machine = run.program.schedule, run.program.machine
    centres = [top + view.tracks[row] / 2 for row, top in layout.tops.items()]
    return Chart(
        title=title or f"{schedule.collective} on {machine.label}, space against time",
        subtitle=_subtitle(view),
        x=Axis(label=f"time ({unit})", low=0.0, high=run.finish_s / size),
        y=Axis(
            label={"nodes": "sent from", "links": "link"}[view.by],
            low=-room,
            high=low,
            ticks=tuple((at, view.rows[row]) for at, row in zip(centres, rows, strict=True)),
            downwards=True,
        ),
        marks=(*_rules(view, layout, size), *bars, *_steps(view, low, room, size)),
        legend=_legend(view),
        notes=_notes(view, rows, words=words),
        description=_description(view),
        header=_HEADER,
        rows=_table(view, size, unit),
        height=((low + room) * layout.pixels + _BESIDE_PIXELS) / WIDTH,
    )


def shown_rows(view: SpaceTime) -> tuple[int, ...]:
    """Every node, or the links with spans; of many some from the first to the last."""
    rows = list(range(len(view.rows))) if view.by == "nodes" else _busy(view)
    count = min(len(rows), MOST_ROWS[view.by])
    chosen = np.unique(np.rint(np.linspace(0, len(rows) - 1, count))).astype(int).tolist()
    return tuple(rows[at] for at in chosen)


def _busy(view: SpaceTime) -> list[int]:
    """Rows with spans."""
    return sorted({span.row for span in view.spans})


def look_of_origin(origin: int) -> tuple[str, str]:
    """Tone and hatch: tones first, then the same with hatches."""
    return TONES[origin % len(TONES)], HATCHES[origin // len(TONES) % len(HATCHES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where rows are, in heights of a track.

    Attributes:
        tops: Upper end of each shown row.
        low: Lower end of all.
        pixels: Of one track.
    """

    tops: dict[int, float]
    low: float
    pixels: float


def _layout(view: SpaceTime, rows: Sequence[int]) -> _Layout:
    """Rows below one another, tracks as high as there is room."""
    gaps = _GAP * (len(rows) - 1)
    tracks = sum(view.tracks[row] for row in rows)
    high = min(max(_TRACK_PIXELS * tracks + gaps, _LEAST_PIXELS), _MOST_PIXELS)
    pixels = (high - gaps) / tracks
    tops, at = {}, 0.0
    for row in rows:
        tops[row] = at
        at += view.tracks[row] + _GAP / pixels
    return _Layout(tops=tops, low=at - _GAP / pixels, pixels=pixels)


def _bars(view: SpaceTime, layout: _Layout, size: float) -> list[Bar]:
    """The spans of the shown rows; `size` seconds are one unit of the time axis."""
    names = view.simulation.program.machine.names
    bars: list[Bar] = []
    named, least = view.by == "nodes", _WORDS_PIXELS / layout.pixels
    bars = []
    for span in view.spans:
        if span.row not in layout.tops:
            continue
        tone, hatch = look_of_origin(span.origin)
        top = layout.tops[span.row] + span.track
        bars.append(
            Bar(
                left=span.begin_s / size, right=span.end_s / size,
                top=top + 0.04, bottom=top + span.tracks - 0.04, tone=tone, hatch=hatch,
                words=names[span.target] if named and span.tracks >= least else "",
                detail=_detail(view, span),
            )
        )  # fmt: skip
    return bars


def _detail(view: SpaceTime, span: Span) -> str:
    names = view.simulation.program.machine.names
    chunks = ", ".join(map(str, span.chunks[:4])) + (", ..." if len(span.chunks) > 4 else "")
    return (
        f"step {span.step + 1}: {names[span.source]} to {names[span.target]}, "
        f"chunk{'s' * (len(span.chunks) > 1)} {chunks} ({view.origin_kind} "
        f"{view.origins[span.origin]}), {show_seconds(span.begin_s)} to {show_seconds(span.end_s)}"
    )


def _rules(view: SpaceTime, layout: _Layout, size: float) -> list[Mark]:
    """A thin line between each two rows."""
    end, half = view.simulation.finish_s / size, _GAP / layout.pixels / 2
    return [
        Line(points=((0.0, top - half), (end, top - half)), tone="grey", width=0.4, strength=0.4)
        for top in list(layout.tops.values())[1:]
    ]


def _steps(view: SpaceTime, low: float, room: float, size: float) -> list[Mark]:
    """Where steps end, and their numbers above, where steps are kept apart."""
    run = view.simulation
    if run.mode != "synchronous":
        return []
    marks: list[Mark] = []
    begin = run.program.machine.start_s
    for step, end in enumerate(run.step_end_s.tolist()):
        marks.append(Line(points=((end / size, -room), (end / size, low)), tone="grey",
                          dashed=True, width=0.8, detail=f"end of step {step + 1}"))  # fmt: skip
        if (end - begin) > 0.06 * run.finish_s:
            words = f"step {step + 1}" if (end - begin) > 0.1 * run.finish_s else f"{step + 1}"
            marks.append(Words(x=(begin + end) / 2 / size, y=-room / 2, words=words))
        begin = end
    return marks


def _legend(view: SpaceTime) -> tuple[Key, ...]:
    used = sorted({span.origin for span in view.spans})
    keys = []
    for origin in used[:_MOST_KEYS]:
        tone, hatch = look_of_origin(origin)
        keys.append(Key(words=f"{view.origin_kind} {view.origins[origin]}", tone=tone, kind="bar",
                        hatch=hatch))  # fmt: skip
    return tuple(keys)


def _subtitle(view: SpaceTime) -> str:
    run = view.simulation
    schedule = run.program.schedule
    return (
        f"(C,S,R) = ({schedule.chunks},{schedule.steps},{schedule.total_rounds}), L = "
        f"{show_bytes(run.size_bytes)}, {run.mode}, {show_seconds(run.finish_s)}"
    )


def _notes(view: SpaceTime, rows: Sequence[int], *, words: bool) -> tuple[str, ...]:
    notes = []
    if words:
        notes.append("Names in bars are the chips that the chunks go to.")
    busy = _busy(view)
    if len(rows) < (len(view.rows) if view.by == "nodes" else len(busy)):
        notes.append(f"{len(rows)} of {len(view.rows)} {view.by} are shown.")
    idle = [view.rows[row] for row in range(len(view.rows)) if row not in set(busy)]
    if idle and view.by == "nodes":
        more = f" and {len(idle) - _NAMED:,} more" if len(idle) > _NAMED else ""
        chips = f"{'chips' if idle[1:] else 'chip'} {', '.join(idle[:_NAMED])}{more}"
        notes.append(f"Nothing is sent from {chips}.")
    elif idle:
        notes.append(f"{plural(len(idle), 'link')} of {len(view.rows)} without sends.")
    used = len({span.origin for span in view.spans})
    if used > _MOST_KEYS:
        notes.append(
            f"{_MOST_KEYS} of {used} {view.origin_kind}s are named; from "
            f"{len(TONES) * len(HATCHES)} on looks repeat."
        )
    return tuple(notes)


def _description(view: SpaceTime) -> str:
    run = view.simulation
    schedule, machine = run.program.schedule, run.program.machine
    return (
        f"{plural(len(schedule.sends), 'send')} of {schedule.collective} on {machine.label} in "
        f"{plural(schedule.steps, 'step')}, {show_seconds(run.finish_s)} in all; the "
        f"busiest {'port' if machine.network.shared else 'link'} is in use "
        f"{plain(100 * run.busiest_use)} % of the time."
    )


_HEADER = ("step", "sends", "begins", "ends", "links used")


def _table(view: SpaceTime, size: float, unit: str) -> tuple[tuple[str, ...], ...]:
    """What each step does and when."""
    run = view.simulation
    steps, links = np.array(run.program.step), np.array(run.program.link)
    rows = []
    for step in range(run.program.schedule.steps):
        here = steps == step
        if not here.any():
            continue
        rows.append((
            f"{step + 1}", f"{int(here.sum()):,}",
            f"{plain(float(run.hop_start_s[here].min()) / size, 4)} {unit}",
            f"{plain(float(run.hop_arrive_s[here].max()) / size, 4)} {unit}",
            f"{len(set(links[here].tolist())):,}",
        ))  # fmt: skip
    return tuple(rows)
