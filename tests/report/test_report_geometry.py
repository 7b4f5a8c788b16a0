"""Axes, ticks and labels of pictures: where they are, and that nothing covers anything."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from planner.report.drawing.geometry.frame import Axis, log_ticks, ticks
from planner.report.drawing.geometry.labels import placed
from planner.report.drawing.geometry.shapes import Box, Segment


def test_svg_positions_on_a_logarithmic_axis() -> None:
    """Values that range over a factor of 12 or more: equal ratios are equal distances."""
    axis = Axis.of([1.0, 10.0, 100.0], 0.0, 300.0)
    assert axis.logarithmic
    assert axis.at(10.0) - axis.at(1.0) == pytest.approx(axis.at(100.0) - axis.at(10.0))
    assert not Axis.of([1.0, 11.0], 0.0, 300.0).logarithmic
    assert not Axis.of([0.0, 100.0], 0.0, 300.0).logarithmic


@each(("low", "high"), [(0.97, 67.5), (1.0, 20.0), (3e-4, 8e3)])
def test_logarithmic_ticks_are_round_inside_and_few(low: float, high: float) -> None:
    found = log_ticks(low, high)
    assert 3 <= len(found) <= 10
    assert found == sorted(set(found))
    assert all(low <= value <= high for value in found)
    assert {f"{value:e}"[0] for value in found} <= {"1", "2", "5"}


@settings(max_examples=100, deadline=None)
@given(
    points=st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), min_size=1, max_size=30),
    words=st.text("dp x0123456789", max_size=30),
)
def test_labels_never_overlap(points: list[tuple[float, float]], words: str) -> None:
    area = Box(left=0, top=0, right=300, bottom=200)
    labels = placed(points, [words] * len(points), range(len(points)), area, 11)
    for one, other in itertools.combinations(labels, 2):
        assert not one.box.overlaps(other.box)
    for label in labels:
        assert label.box.inside(area)
        if words:
            assert not any(
                label.box.left < x < label.box.right and label.box.top < y < label.box.bottom
                for x, y in points
            )


def test_a_label_that_is_not_beside_its_point_has_a_leader_line() -> None:
    """Ten points in a crowd: what a leader line passes is no point, no label and no line."""
    points = [(100.0 + 9 * i, 60.0 + 9 * i) for i in range(10)]
    lines = [Box(left=100, top=59, right=190, bottom=61)]
    area = Box(left=0, top=0, right=500, bottom=300)
    labels = placed(points, ["dp 16 x tp 8"] * 10, range(10), area, 11, lines)
    assert len(labels) >= 5
    leaders = [label for label in labels if label.leader]
    assert leaders, "there is no room beside all of them"
    for label in labels:
        assert not any(map(label.box.overlaps, lines))
        if label.leader is None:
            closest = min(points, key=label.box.distance)
            assert closest == points[label.index], "it reads as the label of another point"
            assert label.box.distance(points[label.index]) < 15
    for label in leaders:
        assert label.leader
        assert math.dist(label.leader.start, points[label.index]) < 10
        assert label.box.distance(label.leader.end) < 5
        assert not any(label.leader.meets(other.box) for other in labels)
        assert not any(map(label.leader.meets, lines))


@each(("start", "end", "meets"), [
    ((-5.0, 5.0), (15.0, 5.0), True), ((5.0, -5.0), (5.0, 15.0), True),
    ((2.0, 2.0), (3.0, 3.0), True), ((-5.0, 8.0), (8.0, 21.0), False),
    ((-5.0, 12.0), (15.0, 12.0), False), ((-9.0, 5.0), (-1.0, 5.0), False),
])  # fmt: skip
def test_segments_and_boxes(
    start: tuple[float, float], end: tuple[float, float], meets: bool
) -> None:
    box = Box(left=0, top=0, right=10, bottom=10)
    assert Segment(start=start, end=end).meets(box) is meets
    assert Segment(start=end, end=start).meets(box) is meets


def test_segments_cross_in_inner_points_only() -> None:
    across = Segment(start=(0.0, 0.0), end=(10.0, 10.0))
    assert across.crosses(Segment(start=(0.0, 10.0), end=(10.0, 0.0)))
    assert not across.crosses(Segment(start=(6.0, 5.0), end=(10.0, 0.0)))
    assert not across.crosses(Segment(start=(1.0, 0.0), end=(11.0, 10.0)))


@each(("low", "high"), [
    (0.0, 1.0), (1.356, 5.24), (444.5e-3, 2.363), (1e-9, 1.1e-9), (5.0, 5.0), (0.0, 0.0),
    (1e6, 1e9), (-3.0, 7.0), (571.9e3, 772.3e3),
])  # fmt: skip
def test_ticks_are_round_inside_and_ascending(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert found == sorted(set(found))
    span = (high - low) or abs(high) or 1.0
    assert all(low - 1e-9 * span <= value <= high + span * 1e-6 for value in found)
    steps = {round(b - a, 15) for a, b in itertools.pairwise(found)}
    for step in steps:
        mantissa = step / 10 ** math.floor(math.log10(step))
        assert min(abs(mantissa - round_one) for round_one in (1, 2, 2.5, 5, 10)) < 1e-3
