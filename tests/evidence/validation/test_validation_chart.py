"""What the pictures of `planner validate` show."""

from dataclasses import replace

import numpy as np
import pytest

from planner.evidence.validation.answer import validate
from planner.evidence.validation.measured_runs import Runs
from planner.report.charts.validation import (
    FAMILIES,
    MOST,
    SOME,
    Drawn,
    drawn_of,
    family_of,
    runs_picture,
    sources_picture,
    validation_picture,
)
from planner.report.drawing.chart import Area, Bar, Chart, Dot, Line
from planner.report.drawing.svg import SIDE_BY_SIDE, picture_svg


@pytest.fixture(scope="module")
def some() -> Runs:
    """Enough runs for faint points: 162 of mpt, 73 of vtrain-multi, 22 of simumax, 2 of mtnlg."""
    runs = validate(sources=["simumax", "mpt", "vtrain-multi", "mtnlg"]).runs
    assert runs is not None
    return runs


@pytest.fixture(scope="module")
def few() -> Runs:
    runs = validate(sources=["simumax", "mtnlg"]).runs
    assert runs is not None
    return runs


@pytest.fixture(scope="module")
def drawn(some: Runs) -> Drawn:
    return drawn_of(some)


def dots(chart: Chart) -> list[Dot]:
    return [mark for mark in chart.marks if isinstance(mark, Dot)]


def test_what_is_drawn(some: Runs, drawn: Drawn) -> None:
    assert drawn.order[:2] == ("mpt", "vtrain-multi")  # the smaller median error first
    assert len(drawn.sources) == len(drawn.predicted_s) == len(drawn.keys) == 162 + 73 + 22 + 2
    assert np.array_equal(drawn.predicted_s, some.predictions.step_time_s)
    assert family_of("mbridge26-moe").name == "mixtures of experts"
    assert family_of("something").name == "others"
    looks = [(family.tone, family.shape) for family in (*FAMILIES, family_of("something"))]
    assert len(set(looks)) == len(looks)


def test_every_run_is_a_dot(some: Runs, drawn: Drawn) -> None:
    (chart,) = runs_picture(some).charts
    shown = sorted((dot.x, dot.y) for dot in dots(chart))
    assert shown == sorted(zip(drawn.measured_s, drawn.predicted_s, strict=True))
    assert len(shown) > SOME
    assert all(dot.faint for dot in dots(chart))
    assert (chart.x.low, chart.x.high) == (chart.y.low, chart.y.high)
    counts = {key.words: key.shape for key in chart.legend}
    assert counts["MPT (162)"] == "triangle"
    assert counts["vTrain, multi-node (73)"] == "square"
    (line,) = (mark for mark in chart.marks if isinstance(mark, Line))
    assert all(x == y for x, y in line.points)


def test_the_bands_are_10_and_20_percent(some: Runs) -> None:
    for chart in validation_picture(some).charts:
        bands = [mark for mark in chart.marks if isinstance(mark, Area)]
        assert [band.detail for band in bands] == ["within 20 %", "within 10 %"]
        assert "within 10 and 20 %" in [key.words for key in chart.legend]
    wide = bands[0]
    assert {x for x, _ in wide.corners} == {0.8, 1.2}
    ratios = {round(y / x, 9) for x, y in runs_picture(some).charts[0].marks[0].corners}  # type: ignore[union-attr]
    assert ratios == {0.8, 1.2}


def test_the_shares_of_the_description_are_those_of_the_runs(some: Runs, drawn: Drawn) -> None:
    error = np.abs(drawn.predicted_s / drawn.measured_s - 1)
    words = f"{100 * np.mean(error <= 0.1):.1f} % of them within 10 %"
    for chart in validation_picture(some).charts:
        assert words in chart.description
        assert "259 runs of 4 sources" in chart.description


def test_a_source_has_its_quartiles_and_its_median(some: Runs, drawn: Drawn) -> None:
    (chart,) = sources_picture(some).charts
    assert [words for _, words in chart.y.ticks] == [
        f"{name} ({(drawn.sources == name).sum()})" for name in drawn.order
    ]
    bars = {mark.detail.partition(":")[0]: mark for mark in chart.marks if isinstance(mark, Bar)}
    assert set(bars) == {"mpt", "vtrain-multi", "simumax"}  # two runs have no quartiles
    for name, bar in bars.items():
        at = drawn.order.index(name)
        ratio = (drawn.predicted_s / drawn.measured_s)[drawn.sources == name]
        low, middle, high = np.quantile(ratio, (0.25, 0.5, 0.75))
        assert (bar.left, bar.right) == pytest.approx((low, high))
        (median,) = (dot for dot in dots(chart) if dot.shape == "diamond" and dot.y == at)
        assert median.x == pytest.approx(middle)
        points = sorted(dot.x for dot in dots(chart) if dot.faint and round(dot.y) == at)
        assert points == pytest.approx(sorted(ratio))
    plain = [dot for dot in dots(chart) if not dot.faint and dot.shape == "circle"]
    assert len(plain) == 2
    assert "fewer than 4 runs" in chart.notes[0]
    assert [row[0] for row in chart.rows] == list(drawn.order)


def test_errors_beyond_the_edge_are_drawn_at_it(some: Runs) -> None:
    p = some.predictions
    far = replace(some, predictions=replace(p, step_time_s=p.step_time_s * 10))
    (chart,) = sources_picture(far).charts
    assert {dot.x for dot in dots(chart)} == {MOST}
    assert [row[-1] for row in chart.rows] == [row[1] for row in chart.rows]


def test_few_runs_say_which_they_are(few: Runs) -> None:
    chart = validation_picture(few).charts[0]
    assert not any(dot.faint for dot in dots(chart))
    first = few.predictions.runs[0].run.key
    (own,) = (dot for dot in dots(chart) if dot.detail.startswith(f"{first}: measured "))
    assert own.x == few.predictions.measured_s[0]


def test_site_factors_are_said_and_in_the_table(few: Runs) -> None:
    with_them = validation_picture(replace(few, site_factors=True)).charts
    without = validation_picture(few).charts
    assert all("with site factors" in chart.subtitle for chart in with_them)
    assert not any("site factors" in chart.subtitle for chart in without)
    assert with_them[0].header[-2:] == ("mean with site factors", "median with site factors")
    assert len(with_them[0].rows[0]) == len(with_them[0].header)
    drawn = drawn_of(replace(few, site_factors=True))
    wanted = few.predictions.with_site_factors().step_time_s
    assert np.array_equal(drawn.predicted_s, wanted)


def test_many_runs_are_a_small_file(some: Runs) -> None:
    chart = validation_picture(some).charts[0]
    assert len(picture_svg(runs_picture(some))) < 12_000 + 20 * len(dots(chart))
    assert chart.height * SIDE_BY_SIDE < SIDE_BY_SIDE  # about as high as wide
