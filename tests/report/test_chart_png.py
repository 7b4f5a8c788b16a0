"""Charts as PNG files."""

import struct
from dataclasses import replace

import pytest
from support.pixels import pixels

from planner.report.drawing.chart import Axis, Bar, Chart, Dot, Picture
from planner.report.drawing.png import picture_png
from planner.report.drawing.style.palette import LIGHT
from planner.report.drawing.svg import sheet_of
from report.charts import ALL, PLANE, ROWS


def test_a_picture_is_the_same_png_twice_and_as_large_as_its_svg() -> None:
    picture = Picture(title="costs $5 & more $x^2$", charts=ALL, columns=2)
    drawn, again = picture_png(picture), picture_png(picture)
    assert drawn == again
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", drawn[16:24])
    sheet = sheet_of(picture)
    assert (wide / 2, high / 2) == pytest.approx((sheet.width, sheet.height), abs=1)


def test_marks_have_their_colours_where_they_stand() -> None:
    picture = Picture(title=PLANE.title, charts=(PLANE,))
    (place,) = sheet_of(picture).places
    drawn = pixels(picture_png(picture))
    for point, tone in (((1000, 100), "purple"), ((100, 1), "purple"), ((31.6, 31.6), "red")):
        x, y = place.frame.at(point)
        around = drawn[round(2 * y) - 6 : round(2 * y) + 7, round(2 * x) - 6 : round(2 * x) + 7, :3]
        wanted = [int(LIGHT[tone][at : at + 2], 16) / 255 for at in (1, 3, 5)]
        assert abs(around - wanted).max(axis=2).min() < 0.02, point
    corner = drawn[2, 2, :3]
    assert corner.tolist() == [1.0, 1.0, 1.0]


def test_many_bars_are_as_few_bars_drawn() -> None:
    bars = [replace(mark, left=3.0 * at, right=3.0 * at + 2, words="")
            for at, mark in enumerate(ROWS.marks[:40]) if isinstance(mark, Bar)]  # fmt: skip
    hidden = replace(bars[0], bottom=-9.0, top=-8.0)  # outside, so that it is not drawn
    inside = replace(bars[0], left=119.0, right=119.5)
    drawn = [
        pixels(picture_png(Picture(title="a", charts=(replace(ROWS, marks=marks),))))
        for marks in ((*bars[:39], hidden, inside), (*bars[:39], inside, inside))
    ]
    few, many = drawn
    assert abs(few - many).max() < 0.3, "edges alone differ where a bar is drawn twice"
    assert (abs(few - many).max(axis=2) > 0.02).mean() < 1e-3
    assert few.min() < 0.5


def test_faint_dots_are_seen_where_they_stand() -> None:
    axis = Axis(label="", low=0, high=10)
    dots = [Dot(x=x, y=5, tone="blue", shape=shape, faint=True)
            for x, shape in ((2, "circle"), (8, "diamond"))]  # fmt: skip
    chart = Chart(title="", x=axis, y=axis, marks=tuple(dots), description="")
    picture = Picture(title="", charts=(chart,))
    (place,) = sheet_of(picture).places
    drawn = pixels(picture_png(picture))
    blue = [int(LIGHT["blue"][at : at + 2], 16) / 255 for at in (1, 3, 5)]
    for dot in dots:
        x, y = place.frame.at((dot.x, dot.y))
        seen = drawn[round(2 * (y + 1)), round(2 * (x + 0.5)), :3]
        assert seen == pytest.approx([(1 + part) / 2 for part in blue], abs=0.02)
