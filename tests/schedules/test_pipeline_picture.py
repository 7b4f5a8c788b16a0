"""The picture of a timeline, as data."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cost.cases import case_of
from support.cases import each

from planner.cost.timeline import Timeline, timeline_of
from planner.plan import Plan
from planner.report.charts.timeline import (
    MOST_ROWS,
    difference_words,
    shown_stages,
    timeline_chart,
    timeline_picture,
)
from planner.report.charts.timeline_windows import windows_of
from planner.report.drawing.chart import Bar, Chart, Line
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import box_of, words_inside
from planner.report.drawing.style.looks import look_of
from planner.report.drawing.svg import picture_svg


@cache
def timeline(schedule: str = "1f1b", pp: int = 4, batch: int = 16, **changes: Any) -> Timeline:
    """A layer or more on each stage."""
    layers = 48 if pp <= 8 else pp
    job = case_of("llama3-8b", layers=layers, batch=batch, seq_len=2048).assuming(**changes)
    v = 2 if schedule == "interleaved" else 1
    return timeline_of(job.model, Plan(pp=pp, dp=2, schedule=schedule, interleave=v))


def chart_of(step: Timeline) -> Chart:
    (chart,) = timeline_picture(step, "a step").charts
    assert chart.title == "a step"
    return chart


SPLIT = ("zero-bubble", "dualpipe")


def bars_of(chart: Chart) -> list[Bar]:
    return [mark for mark in chart.marks if isinstance(mark, Bar)]


def waits(bar: Bar) -> bool:
    """Whether a bar is no operation."""
    return (bar.tone, bar.hatch, bar.faint) == (*look_of("waiting"), True)


@each("schedule", ["gpipe", "1f1b", "interleaved", "zero-bubble", "dualpipe"])
def test_a_short_step_is_shown_whole(schedule: str) -> None:
    step = timeline(schedule)
    chart = chart_of(step)
    drawn = [bar for bar in bars_of(chart) if not waits(bar)]
    assert len(drawn) == len(step.stage)
    spans = sorted((bar.left, bar.right) for bar in drawn)
    assert np.allclose(spans, sorted(zip(step.start_s, step.end_s, strict=True)))
    assert chart.x.high == step.makespan_s
    seen = {(bar.tone, bar.hatch) for bar in drawn}
    always = ("forward", "backward", "reduction", "optimizer")
    assert seen >= {look_of(name) for name in always}
    assert (look_of("weight_gradients") in seen) == (schedule in SPLIT)
    assert any(bar.faint for bar in drawn) == (schedule in ("interleaved", "dualpipe"))
    assert not [mark for mark in chart.marks if isinstance(mark, Line)]
    looks = {(key.tone, key.hatch) for key in chart.legend}
    assert len(looks) == len(chart.legend) == (7 if schedule in SPLIT else 6)


def test_bars_and_waits_fill_every_row() -> None:
    step = timeline()
    rows: dict[float, list[Bar]] = {}
    for bar in bars_of(chart_of(step)):
        rows.setdefault((bar.bottom + bar.top) / 2, []).append(bar)
    assert sorted(rows) == [0.0, 1.0, 2.0, 3.0]
    for stage, bars in enumerate(rows[at] for at in sorted(rows)):
        idle = sum(bar.right - bar.left for bar in bars if waits(bar))
        assert np.isclose(idle, step.idle_s[stage], rtol=0.01)
        assert np.isclose(sum(b.right - b.left for b in bars), step.makespan_s, rtol=0.01)


@each("schedule", ["gpipe", "1f1b", "interleaved", "zero-bubble", "dualpipe"])
@each("pp", [1, 2, 8])
def test_a_long_step_is_shown_at_its_ends(schedule: str, pp: int) -> None:
    if pp == 1 and schedule in ("interleaved", *SPLIT):
        return
    step = timeline(schedule, pp, 256)
    windows, chart = windows_of(step), chart_of(step)
    assert windows[0].begin_s == 0.0
    assert windows[-1].end_s == step.makespan_s
    assert len(windows) == (3 if schedule == "gpipe" else 2)
    breaks = [mark for mark in chart.marks if isinstance(mark, Line)]
    assert len(breaks) == len(windows) - 1
    for before, after in pairwise(windows):
        assert after.begin_s > before.end_s
        assert after.at > before.place(before.end_s)
    assert all(0 <= bar.left <= bar.right <= chart.x.high + 1e-12 for bar in bars_of(chart))
    assert len(bars_of(chart)) < 200 * pp
    assert any("of the step, where the same repeats, is left out" in note for note in chart.notes)
    ticks = [float(words.replace(",", "")) for _, words in chart.x.ticks]
    assert ticks == sorted(ticks)
    assert 4 <= len(ticks) <= 12
    first = step.of_stage(0)
    begins = step.start_s[first & (step.kind == 1)][0]
    assert any(window.begin_s < begins < window.end_s for window in windows)


def test_axis_says_the_true_times() -> None:
    step = timeline("1f1b", 8, 256)
    windows, chart = windows_of(step), chart_of(step)
    scale = 1e3 if "(ms)" in chart.x.label else 1.0
    for at, words in chart.x.ticks:
        seconds = float(words.replace(",", "")) / scale
        (window,) = (w for w in windows if w.at - 1e-9 <= at <= w.place(w.end_s) + 1e-9)
        assert np.isclose(window.place(seconds), at)


def test_of_many_stages_some_have_a_row() -> None:
    step = timeline("1f1b", 32, 64)
    rows = shown_stages(step)
    assert len(rows) == MOST_ROWS
    assert (rows[0], rows[-1]) == (0, 31)
    chart = chart_of(step)
    assert [words for _, words in chart.y.ticks] == [str(stage) for stage in rows]
    assert "16 of 32 stages are shown." in chart.notes
    assert len(chart.rows) == 32


def test_the_table_says_what_each_stage_waits() -> None:
    step = timeline("zero-bubble")
    chart = chart_of(step)
    assert all(len(row) == len(chart.header) for row in chart.rows)
    shares = [row[chart.header.index("share waiting")] for row in chart.rows]
    assert shares == [f"{100 * idle / step.makespan_s:.1f} %" for idle in step.idle_s]
    held = [row[chart.header.index("most micro-batches held")] for row in chart.rows]
    assert held == ["4", "4", "4", "4"]


def test_both_step_times_are_said() -> None:
    same, apart = timeline("1f1b"), timeline("zero-bubble")
    assert difference_words(same).endswith("s, the same.")
    assert difference_words(apart).endswith(f"({100 * apart.difference:+.2f} %).")
    assert f"{apart.makespan_s:.4g} s" in difference_words(apart)
    bare = timeline("1f1b", bubbles=False)
    assert difference_words(bare).endswith("whose assumptions leave bubbles out.")
    assert difference_words(bare) == chart_of(bare).notes[0]


@each("pp", [2, 4, 8])
@each("batch", [8, 32, 256])
@each("width", [560.0, 860.0])
def test_numbers_are_on_all_whole_operations_of_a_kind_or_on_none(
    pp: int, batch: int, width: float
) -> None:
    step = timeline("1f1b", pp, batch)
    chart = timeline_chart(step, width=width)
    drawn = frame_of(chart, width)
    numbered: dict[str, set[bool]] = {}
    for bar in bars_of(chart):
        kind = next((kind for kind in ("forward", "backward") if f"{kind} pass" in bar.detail), "")
        whole = np.isclose(bar.right - bar.left, (step.end_s - step.start_s)[
            (step.kind == (0 if kind == "forward" else 1))], rtol=1e-6).any()  # fmt: skip
        if kind and whole:
            numbered.setdefault(kind, set()).add(bool(bar.words))
        box = box_of(bar, drawn)
        assert not bar.words or (box is not None and words_inside(bar, box) == 0.0), "it is drawn"
    assert all(len(found) == 1 for found in numbered.values())
    there = [kind for kind, found in numbered.items() if True in found]
    said = [note for note in chart.notes if note.startswith("Numbers")]
    which = "" if len(there) == 2 else f" on {there[0]} passes" if there else None
    assert said == ([] if which is None else [f"Numbers{which} are micro-batches, from 0."])


def test_numbers_are_there_where_they_fit_and_not_on_slivers() -> None:
    assert any(bar.words for bar in bars_of(timeline_chart(timeline("1f1b", 4, 8))))
    narrow = timeline_chart(timeline("interleaved", 8, 64), width=400.0)
    assert not any(bar.words for bar in bars_of(narrow))


def test_the_legend_has_what_is_drawn() -> None:
    chart = chart_of(timeline("1f1b", 1, 8))
    bars = bars_of(chart)
    for key in chart.legend:
        assert any((bar.tone, bar.hatch) == (key.tone, key.hatch) for bar in bars), key.words


def test_it_can_be_drawn() -> None:
    drawn = picture_svg(timeline_picture(timeline("1f1b", 2, 8)))
    assert "stage 1: forward pass of micro-batch 3, " in drawn
    assert "waits" in drawn


def test_a_picture_is_wide_enough_for_numbers_of_two_digits() -> None:
    """Where 860 pixels leave no room for them, up to 1,600."""
    step = timeline("dualpipe", pp=8, batch=64)
    assert not any(bar.words for bar in bars_of(timeline_chart(step)))
    picture = timeline_picture(step)
    assert 860 < picture.width <= 1600
    (chart,) = picture.charts
    passes = [bar for bar in bars_of(chart)
              if not waits(bar) and (bar.tone, bar.hatch) == look_of("forward")]  # fmt: skip
    assert sum(bool(bar.words) for bar in passes) > 0.6 * len(passes)
    usual = frame_of(timeline_chart(step), 860).area
    assert frame_of(chart, picture.width).area.bottom == pytest.approx(usual.bottom, abs=25)


def test_a_picture_that_would_be_too_wide_has_the_usual_width() -> None:
    assert timeline_picture(timeline("interleaved", pp=8, batch=512)).width == 860
