"""Pictures of explanations and comparisons, as data."""

from dataclasses import replace
from itertools import pairwise

import pytest
from support.cases import each

from explanation.cases import answer
from planner.explanation.comparison.answer import Waterfall
from planner.explanation.sensitivity.elasticities import LEAST, Elasticity, Number
from planner.report.charts.compare import waterfall_chart
from planner.report.charts.explain import leaning_chart, steps_chart
from planner.report.drawing.chart import Bar, Chart, Line, Words
from planner.report.drawing.style.looks import look_of


def bars(chart: Chart) -> list[Bar]:
    """The bars from top to bottom."""
    found = [mark for mark in chart.marks if isinstance(mark, Bar)]
    return sorted(found, key=lambda bar: bar.bottom)


def words(chart: Chart) -> list[Words]:
    """The words from top to bottom."""
    found = [mark for mark in chart.marks if isinstance(mark, Words)]
    return sorted(found, key=lambda mark: mark.y)


def test_both_bars_of_a_number_have_their_figures() -> None:
    found = answer().explained.elasticities
    chart = leaning_chart(found)
    shown = sorted(
        (one for one in found if max(abs(one.time), abs(one.energy)) >= LEAST),
        key=lambda one: -max(abs(one.time), abs(one.energy)),
    )[: len(chart.y.ticks)]
    assert len(shown) < len(found), "numbers that move bytes alone are not drawn"
    figures = [float(mark.words) for mark in words(chart)]
    wanted = [round(value, 3) for one in shown for value in (one.time, one.energy)]
    assert figures == pytest.approx(wanted, abs=1e-9)
    for bar, mark in zip(bars(chart), words(chart), strict=True):
        assert bar.top < mark.y < bar.bottom
    for before, after in pairwise(bars(chart)):
        assert before.bottom <= after.top + 1e-9, "bars do not cover one another"


def number(kind: str) -> Number:
    """Some number of the explanation that is assumed, or is not."""
    found = (one.number for one in answer().explained.elasticities)
    return next(one for one in found if one.is_assumed is (kind == "assumed"))


def test_the_star_is_explained_where_there_is_one() -> None:
    for kind in ("assumed", "known"):
        one = Elasticity(number=number(kind), time=-0.5, energy=0.1, memory=0.0)
        assert bool(leaning_chart([one]).notes) is (kind == "assumed")


def test_one_large_change_does_not_flatten_the_others() -> None:
    result = answer()
    steps = result.explained.steps
    plain = steps_chart(result)
    assert not any("cut" in note for note in plain.notes)
    at = next(at for at, step in enumerate(steps) if step.direction == "plan" and step.time)
    far = replace(steps[at], time=8.0, refusal=None, tie=None)
    changed = replace(result.explained, steps=(*steps[:at], far, *steps[at + 1 :]))
    chart = steps_chart(replace(result, explained=changed))
    assert chart.x.high <= plain.x.high
    assert any(mark.words == "+800 %" for mark in words(chart)), "the figure is the true one"
    (arrow,) = [mark for mark in chart.marks if isinstance(mark, Line) and mark.arrow]
    cut = max(bars(chart), key=lambda bar: bar.right)
    assert cut.right <= arrow.points[0][0] < arrow.points[1][0] < chart.x.high
    assert any("cut" in note for note in chart.notes)


@each("end_s", [9.9, 10.002, 14.0])
def test_a_waterfall_begins_at_zero_and_ends_with_the_difference(end_s: float) -> None:
    parts = {"compute": end_s - 10.0 + 0.0495, "bubble": -0.05, "optimizer": 5e-4}
    fall = Waterfall(name="b", start_s=10.0, end_s=end_s, parts=parts)
    chart = waterfall_chart(fall, "B", "words")
    drawn = bars(chart)
    assert len(drawn) == 4, "compute, bubble, what is too small to see, the sum"
    unit = abs(drawn[-1].right - drawn[-1].left) / abs(end_s - 10.0)
    ends = [0.0]
    for bar in drawn[:-1]:
        assert min(abs(bar.left - ends[-1]), abs(bar.right - ends[-1])) < 1e-9
        ends.append(bar.right if abs(bar.left - ends[-1]) < 1e-9 else bar.left)
    assert ends[-1] == pytest.approx((end_s - 10.0) * unit)
    assert 0.0 in (drawn[-1].left, drawn[-1].right), "the sum starts at zero"
    assert chart.x.low <= 0.0 <= chart.x.high
    assert "10 s to" in chart.subtitle
    looks = {(bar.tone, bar.hatch) for bar in drawn}
    assert {(key.tone, key.hatch) for key in chart.legend} == looks


def test_a_comparison_without_anything_faster_has_no_key_for_it() -> None:
    fall = Waterfall(name="b", start_s=1.0, end_s=1.5, parts={"compute": 0.5})
    chart = waterfall_chart(fall, "B", "words")
    assert [key.words for key in chart.legend] == ["takes longer", "the whole step"]
    assert look_of("longer") == (chart.legend[0].tone, chart.legend[0].hatch)
