"""The schedule of a pipeline as a picture: a row per stage, a bar per operation.

A long step is shown in parts: the beginning, with GPipe the turn, and the end; breaks between them
are marked, and the axis says the true times. Of many stages some are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.timeline.timeline import Timeline
from planner.report.charts.timeline_windows import Window, windows_of
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Line, Mark, Picture
from planner.report.drawing.geometry.chart_frame import SMALL
from planner.report.drawing.geometry.lettering import width_of
from planner.report.drawing.style.looks import Look, look_of
from planner.report.drawing.svg import WIDTH
from planner.schedules import schedule_of
from planner.schedules.orders import BACKWARD, FORWARD, OPTIMIZER, OVERHEAD, REDUCTION, WEIGHT_GRAD

MOST_ROWS = 16
WIDEST = 1600.0
"""Pixels of the widest picture."""
_UNNUMBERED = 0.05
"""Share of the passes that may be too short for a number."""
_NUMBERED = (FORWARD, BACKWARD)
_LOOK: dict[int, Look] = {
    FORWARD: look_of("forward"),
    BACKWARD: look_of("backward"),
    WEIGHT_GRAD: look_of("weight_gradients"),
    REDUCTION: look_of("reduction"),
    OPTIMIZER: look_of("optimizer"),
    OVERHEAD: look_of("overhead"),
}
_WAITING = look_of("waiting")
_AROUND = 75.0
"""Pixels of a chart beside its horizontal axis."""
_HALF = 0.4
_SLIVER = 1e-3
"""Share of a window below which a wait is not drawn."""


def timeline_picture(timeline: Timeline, title: str = "Pipeline timeline") -> Picture:
    """One step as a chart of bars, with a table of what each stage does and waits for."""
    width = _width(timeline)
    return Picture(title=title, charts=(timeline_chart(timeline, title, width),), width=width)


def timeline_chart(
    timeline: Timeline, title: str = "Pipeline timeline", width: float = WIDTH
) -> Chart:
    """The chart of `timeline_picture`.

    Args:
        timeline: What is drawn.
        title: Of the chart.
        width: In pixels, of all of it: operations have their number where it fits.
    """
    windows, rows = windows_of(timeline), shown_stages(timeline)
    high = windows[-1].place(windows[-1].end_s)
    marks = _marks(timeline, windows, rows)
    marks = _numbered(timeline, marks, high / (width - _AROUND))
    unit, name = _unit(timeline.makespan_s)
    header, table = _table(timeline)
    return Chart(
        title=title,
        subtitle=_subtitle(timeline),
        x=Axis(label=f"time ({name})", low=0.0, high=high, ticks=_ticks(windows, unit)),
        y=Axis(
            label="stage",
            low=-0.6,
            high=len(rows) - 0.4,
            ticks=tuple((float(at), f"{stage}") for at, stage in enumerate(rows)),
            downwards=True,
        ),
        marks=tuple(marks),
        legend=_legend(timeline, marks),
        notes=_notes(timeline, windows, rows, marks),
        description=_description(timeline),
        header=header,
        rows=table,
        height=min(0.14 + 0.05 * len(rows), 0.9) * min(WIDTH / width, 1.0),
    )


def _width(timeline: Timeline) -> float:
    """Pixels of a picture that has room for the numbers of forward and backward passes.

    The usual width where half of them would have none in `WIDEST` pixels.
    """
    last = windows_of(timeline)[-1]
    of_second = _number_width(timeline) * last.place(last.end_s)
    seconds = timeline.end_s - timeline.start_s
    nearly_all, half = (
        of_second / min(np.quantile(seconds[timeline.kind == kind], share) for kind in _NUMBERED)
        + _AROUND
        for share in (_UNNUMBERED, 0.5)
    )
    return WIDTH if half > WIDEST else float(np.clip(nearly_all, WIDTH, WIDEST))


def shown_stages(timeline: Timeline) -> tuple[int, ...]:
    """The stages with a row: all, or `MOST_ROWS` from the first to the last."""
    count = min(timeline.stages, MOST_ROWS)
    return tuple(
        np.unique(np.rint(np.linspace(0, timeline.stages - 1, count))).astype(int).tolist()
    )


def _unit(seconds: float) -> tuple[float, str]:
    return (1e3, "ms") if seconds < 2.0 else (1.0, "s")


def _ticks(windows: tuple[Window, ...], unit: float) -> tuple[tuple[float, str], ...]:
    """Round times of the step at their places, about eight in all and one in each window."""
    widths = [(window.end_s - window.begin_s) * unit for window in windows]
    rough = min(sum(widths) / 8, min(widths) / 1.5)
    decade = 10.0 ** np.floor(np.log10(rough))
    step = float(decade * min(n for n in (1, 2, 5, 10) if n * decade >= rough))
    ticks = []
    for window in windows:
        low, high = window.begin_s * unit, window.end_s * unit
        for count in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1):
            digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
            ticks.append((window.place(count * step / unit), f"{count * step:,.{digits}f}"))
    return tuple(ticks)


def _marks(timeline: Timeline, windows: tuple[Window, ...], rows: tuple[int, ...]) -> list[Mark]:
    marks: list[Mark] = []
    for at, stage in enumerate(rows):
        for window in windows:
            marks += _waits(timeline, window, at, stage)
            marks += _row(timeline, window, at, stage)
    for before, after in pairwise(windows):
        middle = (before.place(before.end_s) + after.at) / 2
        ends = ((middle, -0.6), (middle, len(rows) - 0.4))
        marks.append(
            Line(points=ends, tone="grey", dashed=True, detail="part of the step is left out")
        )
    return marks


def _numbered(timeline: Timeline, marks: Sequence[Mark], pixel_s: float) -> list[Mark]:
    """The marks with numbers on all operations of a look, or on none where some have no room.

    Args:
        timeline: What is drawn.
        marks: Bars with numbers, and others.
        pixel_s: Seconds of a pixel.
    """
    need = _number_width(timeline) * pixel_s
    widths: dict[tuple[str, str], list[float]] = {}
    for mark in marks:
        if isinstance(mark, Bar) and mark.words:
            widths.setdefault((mark.tone, mark.hatch), []).append(mark.right - mark.left)
    wide = {one for one, found in widths.items() if float(np.median(found)) >= need}
    numbered: list[Mark] = []
    for mark in marks:
        if isinstance(mark, Bar) and mark.words:
            fits = (mark.tone, mark.hatch) in wide and mark.right - mark.left >= need
            numbered.append(mark if fits else replace(mark, words=""))
        else:
            numbered.append(mark)
    return numbered


def _number_width(timeline: Timeline) -> float:
    """Pixels that the longest number of a micro-batch takes."""
    return width_of(f"{timeline.micro_batches - 1}", SMALL) + 7


def _waits(timeline: Timeline, window: Window, at: int, stage: int) -> list[Mark]:
    """The gaps between the operations of a stage in a window."""
    here = timeline.of_stage(stage)
    begins = np.append(timeline.start_s[here], timeline.makespan_s)
    ends = np.append(0.0, timeline.end_s[here])
    from_s, to_s = np.maximum(ends, window.begin_s), np.minimum(begins, window.end_s)
    unit, name = _unit(timeline.makespan_s)
    least = _SLIVER * (window.end_s - window.begin_s)
    return [
        Bar(
            left=window.place(float(from_s[gap])),
            right=window.place(float(to_s[gap])),
            bottom=at + _HALF,
            top=at - _HALF,
            tone=_WAITING[0],
            faint=True,
            detail=f"stage {stage} waits {float(begins[gap] - ends[gap]) * unit:.4g} {name}",
        )
        for gap in np.flatnonzero(to_s - from_s > least).tolist()
    ]


def _row(timeline: Timeline, window: Window, at: int, stage: int) -> list[Mark]:
    """The operations of a stage in a window."""
    inside = timeline.of_stage(stage)
    inside = inside & (timeline.end_s > window.begin_s) & (timeline.start_s < window.end_s)
    marks: list[Mark] = []
    for index in np.flatnonzero(inside).tolist():
        kind, number = int(timeline.kind[index]), int(timeline.micro_batch[index])
        tone, hatch = _LOOK[kind]
        marks.append(
            Bar(
                left=window.place(max(float(timeline.start_s[index]), window.begin_s)),
                right=window.place(min(float(timeline.end_s[index]), window.end_s)),
                bottom=at + _HALF,
                top=at - _HALF,
                tone=tone,
                hatch=hatch,
                words=f"{number}" if number >= 0 else "",
                detail=_operation_words(timeline, index),
                faint=_faint(timeline, index),
            )
        )
    return marks


def _faint(timeline: Timeline, index: int) -> bool:
    """Whether an operation is lighter: at a clock below the highest, else every second chunk."""
    if timeline.clock is not None:
        return bool(timeline.clock[index] < np.nanmax(timeline.clock))
    return max(int(timeline.chunk[index]), 0) % 2 == 1


_VERBS = {
    FORWARD: "forward pass",
    BACKWARD: "backward pass",
    WEIGHT_GRAD: "weight gradients",
    REDUCTION: "exposed reduction of gradients",
    OPTIMIZER: "optimizer",
    OVERHEAD: "overhead of the step",
}


def _verb(timeline: Timeline, kind: int) -> str:
    split = kind == BACKWARD and timeline.splits_backward
    return "input gradients" if split else _VERBS[kind]


_PASSES = (FORWARD, BACKWARD, WEIGHT_GRAD)
_CHUNKS = "A micro-batch visits every stage once per chunk; every second chunk is lighter."
_BOTH_WAYS = "Half of the micro-batches, lighter, go from the last stage to the first."


def _several(timeline: Timeline, kind: int) -> str:
    """`backward passes`, `input gradients`."""
    return _verb(timeline, kind).replace("pass", "passes")


def _operation_words(timeline: Timeline, index: int) -> str:
    unit, name = _unit(timeline.makespan_s)
    stage, number = int(timeline.stage[index]), int(timeline.micro_batch[index])
    what = _verb(timeline, int(timeline.kind[index]))
    if number >= 0:
        what += f" of micro-batch {number}"
        if timeline.interleave > 1:
            what += f", chunk {int(timeline.chunk[index])}"
    begin, end = (float(times[index]) * unit for times in (timeline.start_s, timeline.end_s))
    clock = np.nan if timeline.clock is None else timeline.clock[index]
    at = "" if np.isnan(clock) else f", clock {clock:g}"
    return f"stage {stage}: {what}, {begin:.4g} to {end:.4g} {name}{at}"


def _legend(timeline: Timeline, marks: Sequence[Mark]) -> tuple[Key, ...]:
    """What is drawn: passes, what comes once per step, waiting."""
    drawn = [mark for mark in marks if isinstance(mark, Bar)]
    looks = {(mark.tone, mark.hatch) for mark in drawn}
    kinds = [kind for kind in _LOOK if _LOOK[kind] in looks and np.any(timeline.kind == kind)]
    keys = [
        Key(words=_verb(timeline, kind), tone=_LOOK[kind][0], kind="bar", hatch=_LOOK[kind][1])
        for kind in kinds
    ]
    if any((mark.tone, mark.hatch) == _WAITING for mark in drawn):
        keys.append(Key(words="waiting", tone=_WAITING[0], kind="bar", faint=True))
    return tuple(keys)


def _subtitle(timeline: Timeline) -> str:
    stages = f"{timeline.stages} stage" + "s" * (timeline.stages > 1)
    chunks = f" of {timeline.interleave} chunks" if timeline.interleave > 1 else ""
    batches = f"{timeline.micro_batches} micro-batch" + "es" * (timeline.micro_batches > 1)
    return f"{timeline.schedule}, {stages}{chunks}, {batches} per step"


def difference_words(timeline: Timeline) -> str:
    """The simulated step time and the cost model's, in a sentence."""
    words = (
        f"Simulated step: {timeline.makespan_s:.4g} s; step time of the cost model: "
        f"{timeline.modelled_s:.4g} s"
    )
    if not timeline.bubbles:
        return f"{words}, whose assumptions leave bubbles out."
    if abs(timeline.difference) < 5e-5:
        return f"{words}, the same."
    return f"{words} ({100 * timeline.difference:+.2f} %)."


def _notes(
    timeline: Timeline,
    windows: tuple[Window, ...],
    rows: tuple[int, ...],
    marks: Sequence[Mark],
) -> tuple[str, ...]:
    notes = [difference_words(timeline)]
    numbered = {(m.tone, m.hatch) for m in marks if isinstance(m, Bar) and m.words}
    if numbered:
        passes = [kind for kind in _PASSES if np.any(timeline.kind == kind)]
        some = [_several(timeline, kind) for kind in passes if _LOOK[kind] in numbered]
        only = f" on {' and '.join(some)}" if len(some) < len(passes) else ""
        notes.append(f"Numbers{only} are micro-batches, from 0.")
    if timeline.clock is not None:
        notes.append(f"Lighter operations run below the clock {np.nanmax(timeline.clock):g}.")
    elif timeline.interleave > 1:
        notes.append(_BOTH_WAYS if schedule_of(timeline.schedule).bidirectional else _CHUNKS)
    if len(windows) > 1:
        left = timeline.makespan_s - sum(window.end_s - window.begin_s for window in windows)
        where = "At the dashed line" + "s" * (len(windows) > 2)
        notes.append(
            f"{where} {_percent(left / timeline.makespan_s)} of the step, where the same repeats, "
            "is left out."
        )
    if len(rows) < timeline.stages:
        notes.append(f"{len(rows)} of {timeline.stages} stages are shown.")
    return tuple(notes)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _description(timeline: Timeline) -> str:
    idle: FloatArray = timeline.idle_s / timeline.makespan_s
    return (
        f"One step of a pipeline, {_subtitle(timeline)}: a row per stage with its forward and "
        f"backward passes in order. Stages wait {_percent(idle.min())} to {_percent(idle.max())} "
        "of the step."
    )


def _table(timeline: Timeline) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """What each stage does in a step, and how long it waits."""
    unit, name = _unit(timeline.makespan_s)
    kinds = [kind for kind in _LOOK if np.any(timeline.kind == kind)]
    header = ("stage", "layers", *(f"{_verb(timeline, kind)} ({name})" for kind in kinds))
    header += (f"waiting ({name})", "share waiting", "most micro-batches held")
    rows = []
    seconds = timeline.end_s - timeline.start_s
    for stage in range(timeline.stages):
        here = timeline.of_stage(stage)
        sums = [float(seconds[here & (timeline.kind == kind)].sum()) * unit for kind in kinds]
        idle = float(timeline.idle_s[stage])
        rows.append((
            f"{stage}", f"{int(timeline.layers[stage].sum())}", *(f"{s:.4g}" for s in sums),
            f"{idle * unit:.4g}", _percent(idle / timeline.makespan_s),
            f"{timeline.in_flight[stage]:g}",
        ))  # fmt: skip
    return header, tuple(rows)
