"""The pictures of goodput as data: the curve with published runs, and the strip of a day."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from planner.base.units import HOUR_S
from planner.cost.goodput.goodput import Pace, Upkeep
from planner.cost.goodput.rates import Rate, rate_of_site
from planner.cost.goodput.segments import Checkpointing
from planner.evidence.goodput.said import runs_said
from planner.report.charts.goodput import goodput_picture
from planner.report.drawing.chart import Area, Bar, Chart, Dot, Line
from planner.report.drawing.svg import chart_svg
from planner.studies.run.kept import Kept


def pace(chips: int, stall_s: float) -> Pace:
    saved = Checkpointing(stall_s=stall_s, write_s=0.0)
    return Pace(chips=chips, step_time_s=1.0, steps=math.inf, saved=saved)


KEPT = Kept(
    upkeep=Upkeep(detection_s=120.0, restart_s=600.0, spares=None, straggler_loss=0.0,
                  node_share=0.5, repair_s=72 * HOUR_S),
    rate=Rate.exact(50_700 * HOUR_S, "as given"),
    pace=lambda chips: pace(chips, 60.0),
)  # fmt: skip


def charts(kept: Kept = KEPT, *chips: int) -> tuple[Chart, ...]:
    return goodput_picture(kept, chips or (16_384,)).charts


def test_the_curve_falls_from_point_to_point_and_has_what_was_published() -> None:
    curve = charts(KEPT, 512, 16_384)[0]
    (line,) = (mark for mark in curve.marks if isinstance(mark, Line))
    shares = [share for _, share in line.points]
    assert shares == sorted(shares, reverse=True)
    dots = {mark.words: mark for mark in curve.marks if isinstance(mark, Dot)}
    assert "16,384: 84.3 %" in dots
    said = {one.run: one for one in runs_said() if one.published}
    assert {run for run, one in said.items() if not one.projected} <= set(dots)
    assert not {run for run, one in said.items() if one.projected} & set(dots), "not measured"
    llama = dots["Llama 3 405B"]
    assert (llama.x, llama.y, llama.shape) == (16_384.0, 90.0, "triangle"), "a bound"
    assert dots["ByteRobust"].y == 97.0
    areas = [mark for mark in curve.marks if isinstance(mark, Area)]
    assert len(areas) == 1, "a rate that was given has no band of its own"
    assert len([mark for mark in charts(replace(KEPT, rate=rate_of_site("rsc-1")))[0].marks
                if isinstance(mark, Area)]) == 2  # fmt: skip


def test_what_was_published_is_named_among_many_numbers_of_chips() -> None:
    often = replace(KEPT, pace=lambda chips: pace(chips, 5.0), rate=rate_of_site("rsc-2"))
    curve = charts(often, *(512 * 2**power for power in range(9)))[0]
    published = {
        mark.words for mark in curve.marks if isinstance(mark, Dot) and mark.tone == "orange"
    }
    drawn = chart_svg(curve, width=560.0)
    named = set(re.findall(r"<text[^>]*>([^<]*)</text>", drawn))
    assert published
    assert published <= named
    assert any(words.endswith(", that of rsc-2") for words in named), "what fits in the legend"


def test_the_strip_is_a_day_without_gaps() -> None:
    _, day = charts()
    bars = [mark for mark in day.marks if isinstance(mark, Bar)]
    assert sum(bar.right - bar.left for bar in bars) == pytest.approx(24 * 60)
    assert {int(bar.top) for bar in bars} == set(range(24))
    assert all(0.0 <= bar.left < bar.right <= 60.0 for bar in bars)
    shares = [float(row[2].split()[0]) for row in day.rows]
    assert sum(shares) == pytest.approx(100.0, abs=0.2)


def test_short_checkpoints_are_lines_over_the_work() -> None:
    short = replace(KEPT, pace=lambda chips: pace(chips, 5.0))
    _, day = charts(short)
    bars = [mark for mark in day.marks if isinstance(mark, Bar)]
    lines = [mark for mark in day.marks if isinstance(mark, Line)]
    assert len(lines) > 200 > len(bars)
    assert sum(bar.right - bar.left for bar in bars) == pytest.approx(24 * 60)


def test_a_run_that_hardly_ends_has_no_strip() -> None:
    hopeless = replace(KEPT, rate=Rate.exact(16_384 * 100.0, "as given"))
    assert len(charts(hopeless)) == 1
