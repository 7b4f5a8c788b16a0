"""The picture of `planner rack zero`: the figures of the report as charts."""

import numpy as np
import pytest

from planner.report.charts.rack_zero import zero_chart, zero_picture
from planner.report.drawing.chart import Chart, Dot, Line
from planner.studies.rack.zero.figures import ZeroAnswer, zero_study
from planner.studies.rack.zero.request import zero_question


def answer_to(**given: object) -> ZeroAnswer:
    """The answer to flags."""
    return zero_study(zero_question(**given)[0])  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> ZeroAnswer:
    """All figures of the report."""
    return answer_to()


def lines(chart: Chart) -> list[Line]:
    return [mark for mark in chart.marks if isinstance(mark, Line)]


def dots(chart: Chart) -> list[Dot]:
    return [mark for mark in chart.marks if isinstance(mark, Dot)]


def test_every_figure_asked_for_is_a_chart_with_its_table(whole: ZeroAnswer) -> None:
    picture = zero_picture(whole)
    assert [chart.title[:2] for chart in picture.charts] == ["3.", "4.", "5.", "6.", "7.", "8."]
    assert picture.columns == 2
    for chart in picture.charts:
        assert len(lines(chart)) == len(chart.legend) == len(chart.header) - 1
        assert len(dots(chart)) >= len(lines(chart)) * len(chart.rows)
        assert chart.y.low == 0
    (one,) = zero_picture(answer_to(figure=["4"])).charts
    assert one.title.startswith("4. ")


def test_lines_have_the_ratios_of_the_answer(whole: ZeroAnswer) -> None:
    gpus = whole.question.gpus
    for number, name in ((3, "energy_ratio"), (4, "latency_ratio"), (7, "energy_ratio"),
                         (8, "latency_ratio")):  # fmt: skip
        compared = whole.workloads if number < 5 else whole.topologies
        for line, one in zip(lines(zero_chart(whole, number)), compared, strict=True):
            wanted = zip(gpus, 100 * getattr(one, name), strict=True)
            np.testing.assert_allclose(line.points, list(wanted))


def test_a_ring_marks_the_largest_rack_that_hides_its_fetch(whole: ZeroAnswer) -> None:
    chart = zero_chart(whole, 8)
    assert [key.words for key in chart.legend] == [
        "linear, hidden up to 6", "ring, hidden up to 8", "fully-connected",
    ]  # fmt: skip
    tones = {key.tone: key.words.partition(",")[0] for key in chart.legend}
    assert {(tones[dot.tone], dot.x) for dot in dots(chart) if dot.strong} == {
        ("linear", 6), ("ring", 8),
    }  # fmt: skip
    assert not any(dot.strong for dot in dots(zero_chart(whole, 7)))
    assert not zero_chart(whole, 7).notes


def test_columns_of_pes_reach_a_plateau(whole: ZeroAnswer) -> None:
    chart = zero_chart(whole, 6)
    dp, zero = lines(chart)
    assert zero.points[-1] == (20, pytest.approx(300))
    assert dp.points[-1][1] < 300
    assert [dot.words for dot in dots(chart) if dot.words] == ["300 cycles"]
    energy = zero_chart(whole, 5)
    assert energy.y.label == "energy per GPU (uJ)"
    assert lines(energy)[0].points[0][1] == pytest.approx(1.358, abs=1e-3)


def test_holes_are_left_out_and_long_lines_have_no_dots() -> None:
    answer = answer_to(figure=["8"], topology=["hypercube,mesh:2x3,ring"], gpus="2-64")
    chart = zero_chart(answer, 8)
    by_name = {line.detail.partition(",")[0]: line for line in lines(chart)}
    assert [x for x, _ in by_name["hypercube"].points] == [2, 4, 8, 16, 32, 64]
    assert [x for x, _ in by_name["mesh:2x3"].points] == [6]
    assert len(by_name["ring"].points) == 63
    ring = [dot for dot in dots(chart) if dot.detail.startswith("ring")]
    assert [(dot.x, dot.strong) for dot in ring] == [(8, True)]
    assert all(value == int(value) for value, _ in chart.x.ticks)


def test_many_lines_have_looks_of_their_own() -> None:
    specs = "linear,ring,fully-connected,mesh,hypercube,torus,hyperx,star,switch,leaf-spine"
    answer = answer_to(figure=["7"], topology=[specs], gpus="4,16")
    chart = zero_chart(answer, 7)
    looks = {(line.tone, line.dashed) for line in lines(chart)}
    assert len(looks) == len(chart.legend) == 10
    assert len({(key.tone, key.shape) for key in chart.legend}) == 10
