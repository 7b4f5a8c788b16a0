"""Looks that some charts have of their own: widths, strengths, words on dots, equal axes, lines."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from support.pixels import pixels

from planner.report.drawing.chart import Axis, Chart, Dot, Line, Picture
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.png import picture_png
from planner.report.drawing.style.palette import LIGHT
from planner.report.drawing.svg import chart_svg, sheet_of
from report.charts import BOXES, STAGES, line


def drawn(chart: Chart) -> ElementTree.Element:
    """The root element, without names of name spaces."""
    svg = chart_svg(chart, ident="c")
    return ElementTree.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def test_lines_have_their_own_width_and_strength() -> None:
    lines = (
        Line(points=((0, 0), (1, 1)), tone="red"),
        Line(points=((0, 1), (1, 0)), tone="red", width=2.0),
        Line(points=((0, 0.5), (1, 0.5)), tone="red", strength=0.25, bold=True, width=0.5),
    )
    found = [
        path.get("style")
        for path in drawn(replace(BOXES, marks=lines)).iter("path")
        if path.get("class", "").startswith("line")
    ]
    assert found == [None, "stroke-width:3.6", "stroke-width:1.8;stroke-opacity:0.25"]


def test_words_on_a_dot_are_smaller_where_it_is_small_and_left_out_where_they_do_not_fit() -> None:
    dots = tuple(
        Dot(x=at, y=1.0, tone="blue", radius=radius, inside=words)
        for at, (radius, words) in enumerate([(10, "7"), (7.5, "11"), (10, "gpu12"), (3, "5")])
    )
    axis = Axis(label="", low=-1.0, high=4.0)
    root = drawn(replace(BOXES, x=axis, y=axis, marks=dots, legend=()))
    found = [(text.text, text.get("font-size")) for text in root.iter("text")
             if text.get("class") == "inside"]  # fmt: skip
    assert found == [("7", "11"), ("11", "11"), ("5", "8")]
    radii = [circle.get("r") for circle in root.iter("circle") if circle.get("class") == "mark"]
    assert radii == ["10", "7.5", "10", "3"]


def test_equal_axes_have_equal_units_and_keep_what_they_show() -> None:
    wide, high = (
        Axis(label="", low=0.0, high=9.0, hidden=True),
        Axis(label="", low=-1.0, high=1.0, hidden=True),
    )
    for x, y in ((wide, high), (high, wide)):
        frame = frame_of(replace(BOXES, x=x, y=y, marks=(), equal=True, height=0.8), 500.0)
        left, low = frame.at((x.low, y.low))
        right, top = frame.at((x.high, y.high))
        assert (right - left) / (x.high - x.low) == pytest.approx((low - top) / (y.high - y.low))
        assert frame.area.left - 1e-9 <= left < right <= frame.area.right + 1e-9
        assert frame.area.top - 1e-9 <= top < low <= frame.area.bottom + 1e-9
        assert left - frame.area.left == pytest.approx(frame.area.right - right)


def test_a_chart_may_begin_a_line_and_have_the_width_of_its_picture() -> None:
    charts = (STAGES, replace(STAGES, newline=True), STAGES, STAGES)
    sheet = sheet_of(Picture(title="t", charts=charts, columns=2, width=300.0))
    lefts = [place.left for place in sheet.places]
    assert [left > 0 for left in lefts] == [False, False, True, False]
    assert len({place.top for place in sheet.places}) == 3
    assert {place.frame.width for place in sheet.places} == {300.0}
    assert sheet.width < 2 * 330


def test_a_png_has_the_same_widths_strengths_and_words() -> None:
    ten = Axis(label="", low=0.0, high=10.0, hidden=True)
    marks = (
        Line(points=((1, 2), (9, 2)), tone="red", width=4.0),
        Line(points=((1, 5), (9, 5)), tone="red", width=4.0, strength=0.25),
        Dot(x=5, y=8, tone="blue", radius=12.0, inside="8"),
    )
    chart = replace(STAGES, x=ten, y=ten, marks=marks, legend=(), notes=())
    picture = Picture(title=chart.title, charts=(chart,))
    (place,) = sheet_of(picture).places
    drawn = pixels(picture_png(picture))[:, :, :3]

    def at(x: float, y: float, right: float = 0.0, down: float = 0.0) -> list[float]:
        across, below = place.frame.at((x, y))
        return [float(c) for c in drawn[round(2 * (below + down)), round(2 * (across + right))]]

    red, blue = ([int(LIGHT[tone][i : i + 2], 16) / 255 for i in (1, 3, 5)]
                 for tone in ("red", "blue"))  # fmt: skip
    assert at(4, 2, down=2.5) == pytest.approx(red, abs=0.02)
    assert at(4, 5) == pytest.approx([1 - 0.25 * (1 - part) for part in red], abs=0.02)
    assert at(5, 8, right=10) == pytest.approx(blue, abs=0.02)
    inside = [at(5, 8, right=x / 2, down=y / 2) for x in range(-6, 7) for y in range(-8, 9)]
    assert max(min(pixel) for pixel in inside) > 0.9, "a digit in the colour of the paper"


def test_powers_that_do_not_all_fit_are_thinned_evenly() -> None:
    """1 to 4,096 by powers of 4 where those of 2 would touch: 1,024 is not the one left out."""
    powers = tuple((2.0**power, f"{2**power:,}") for power in range(13))
    axis = Axis(label="", low=1.0, high=4096.0 * 4, logarithmic=True, ticks=powers)
    chart = replace(line(), x=axis)
    for width, step in ((1400.0, 1), (560.0, 2), (300.0, 3)):
        shown = [tick.lines[0] for tick in frame_of(chart, width).x_ticks]
        assert shown == [words for _, words in powers[::step]]
