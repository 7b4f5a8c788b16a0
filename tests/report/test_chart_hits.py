"""What of a chart answers to a pointer."""

from xml.etree import ElementTree

import pytest
from support.cases import each

from planner.report.drawing.chart import Axis, Chart, Dot
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import HIT, hits_of
from planner.report.drawing.svg import chart_svg


@each("away", [0.0, 3.0, 10.0, 16.0, 60.0])
def test_a_dot_under_another_one_answers_to_a_pointer(away: float) -> None:
    """What is drawn last answers in its middle, the one below where it sticks out of that."""
    x = 10 + away * 90 / 700  # some pixels to the right
    dots = (Dot(x=10, y=50, tone="blue", key="below"), Dot(x=x, y=50, tone="red", key="above",
                                                           strong=True))  # fmt: skip
    axis = Axis(label="", low=0, high=100)
    chart = Chart(title="t", x=axis, y=axis, marks=dots, description="d")
    (low, high), hits = dots, hits_of(chart, frame_of(chart, 860))
    frame = frame_of(chart, 860)
    apart = frame.at((x, 50))[0] - frame.at((10, 50))[0]
    assert hits[id(low)] == HIT
    assert 0 < hits[id(high)] <= HIT
    assert hits[id(high)] < HIT + apart, "a part of the lower one is outside of the upper one"
    assert apart < 8 or hits[id(high)] <= apart, "its middle too where they are apart"
    svg = chart_svg(chart, ident="c").replace(' xmlns="http://www.w3.org/2000/svg"', "")
    root = ElementTree.fromstring(svg)
    (group,) = [g for g in root.iter("g") if g.get("data-key") == "above"]
    still = [g for g in group.iter("g") if g.get("pointer-events") == "none"]
    assert bool(still) is (hits[id(high)] < HIT)
    if still:
        (middle,) = [one for one in group if one.get("class") == "middle"]
        assert float(middle.get("r", "")) == pytest.approx(hits[id(high)], rel=0.01)
        assert {one.get("class") for one in still[0]} == {"hit", "mark", "ring"}
