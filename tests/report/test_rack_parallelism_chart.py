"""The picture of `planner rack parallelism`: curves and stacks of its figures."""

from itertools import pairwise

import pytest

from planner.base.units import show_joules
from planner.report.charts.rack_parallelism import parallelism_chart, parallelism_picture
from planner.report.drawing.chart import Bar, Dot, Line, Words
from planner.studies.rack.parallelism.asking import figures_asked
from planner.studies.rack.parallelism.figures import Figure


@pytest.fixture(scope="module")
def figures() -> dict[int, Figure]:
    """Some figures of each kind."""
    names = ("hardware", "rack_chips", "block_size", "micro_batches", "ring", "transfers",
             "tensor", "in_stage", "scores")  # fmt: skip
    answer = figures_asked(["2,4,6,10,11,12"], dict.fromkeys(names))
    return {figure.number: figure for figure in answer.figures}


def test_curves_have_the_values_of_the_figure(figures: dict[int, Figure]) -> None:
    figure = figures[4]
    chart = parallelism_chart(figure)
    lines = [mark for mark in chart.marks if isinstance(mark, Line)]
    assert [line.detail for line in lines] == ["DP", "TP"]
    for line, strategy in zip(lines, ("dp", "tp"), strict=True):
        assert line.points == tuple(
            (point.gpus, point.latency_s) for point in figure.series if point.strategy == strategy
        )
    assert chart.x.logarithmic
    assert chart.y.logarithmic
    assert [words for _, words in chart.x.ticks] == ["4", "6", "8", "10", "16", "32"]
    assert all(words.endswith("ms") for _, words in chart.y.ticks)
    widths = [line.width for line in lines]
    assert widths == sorted(widths, reverse=True), "equal curves: the lower one is wider"


def test_curves_of_which_one_would_hide_the_other_are_one_with_both_names(
    figures: dict[int, Figure],
) -> None:
    chart = parallelism_chart(figures[2])
    (line,) = [mark for mark in chart.marks if isinstance(mark, Line)]
    assert line.detail == "DP and TP"
    assert [key.words for key in chart.legend] == ["DP and TP"]
    assert chart.notes == ("Curves that agree to 0.2 % are drawn as one.",)
    assert chart.header == ("GPUs", "DP", "TP"), "the table has both"
    by_gpus: dict[int, list[float]] = {}
    for point in figures[2].series:
        by_gpus.setdefault(point.gpus, []).append(point.latency_s)
    assert all(max(pair) / min(pair) - 1 <= 2e-3 for pair in by_gpus.values())


def test_passes_are_distinguished_and_none_is_said(figures: dict[int, Figure]) -> None:
    for number, value in ((10, "total_j"), (11, "latency_s")):
        figure = figures[number]
        chart = parallelism_chart(figure)
        assert [key.words for key in chart.legend if key.kind == "line"] == ["DP forward: none"]
        lines = {mark.detail: mark for mark in chart.marks if isinstance(mark, Line)}
        assert list(lines) == ["DP backward", "TP forward and backward",
                               "PP + TP forward and backward"]  # fmt: skip
        assert [line.dashed for line in lines.values()] == [True, False, False]
        assert len({line.tone for line in lines.values()}) == len(lines)
        expected = [getattr(point, value) for point in figure.series
                    if (point.strategy, point.direction) == ("tp", "backward")]  # fmt: skip
        assert [y for _, y in lines["TP forward and backward"].points] == expected
        assert chart.notes == ("Dashed: the backward pass.",
                               "Curves that agree to 0.2 % are drawn as one.")  # fmt: skip
        shapes = {mark.shape for mark in chart.marks if isinstance(mark, Dot)}
        assert len(shapes) == len(lines)


def test_stacks_add_up_to_the_energy(figures: dict[int, Figure]) -> None:
    for number, labels in ((6, ["DP", "TP", "PP + TP"]), (12, ["4", "6", "8", "10", "16", "32"])):
        figure = figures[number]
        chart = parallelism_chart(figure)
        assert [words for _, words in chart.x.ticks] == labels
        totals = [mark.words for mark in chart.marks if isinstance(mark, Words)]
        assert totals == [show_joules(point.total_j, 3) for point in figure.series]
        for at, point in enumerate(figure.series):
            stack = [mark for mark in chart.marks
                     if isinstance(mark, Bar) and mark.left < at < mark.right]  # fmt: skip
            assert stack[0].bottom == 0
            for low, high in pairwise(stack):
                assert high.bottom == low.top
            assert stack[-1].top == pytest.approx(point.total_j)
            assert len(stack) == sum(joules > 0 for joules in point.energy_j.values())
        looks = {(key.tone, key.hatch) for key in chart.legend}
        assert len(looks) == len(chart.legend) == len(figure.series[0].energy_j)
        assert chart.y.label == "energy of all GPUs (J)"


def test_all_figures_share_a_picture_with_their_tables(figures: dict[int, Figure]) -> None:
    picture = parallelism_picture(list(figures.values()))
    assert picture.columns == 2
    assert [chart.title.partition(".")[0] for chart in picture.charts] == [str(n) for n in figures]
    for chart in picture.charts:
        assert chart.rows
        assert all(len(row) == len(chart.header) for row in chart.rows)
    alone = parallelism_picture([figures[6]])
    assert alone.title == alone.charts[0].title == f"6. {figures[6].title}"
