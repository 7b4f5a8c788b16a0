"""The pictures of `planner rack solve`: the front, and the parts of the best plan."""

from dataclasses import replace
from itertools import combinations

import pytest
from support.cases import each

from planner.report.charts.rack_solve import front_chart, front_picture, solve_picture
from planner.report.drawing.chart import Bar, Chart, Dot, Line
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import labels_of
from planner.report.drawing.svg import WIDTH
from planner.studies.rack.solve.answer import RackAnswer
from planner.studies.rack.solve.joint import joint_problem
from planner.studies.rack.solve.request import rack_request
from planner.studies.rack.solve.search import Search
from planner.studies.rack.solve.solve import solve_rack

CROWDED = {"workload": "fc", "strategy": "dp,zero,tp"}


def answer_to(**given: str) -> RackAnswer:
    """The answer to flags."""
    request = rack_request(**given)
    return solve_rack(request.question, request.objective)


@pytest.fixture(scope="module")
def one_chip() -> RackAnswer:
    """An answer with one plan on one chip."""
    return answer_to(workload="fc", gpus="1", pes="16")


@pytest.fixture(scope="module")
def few() -> RackAnswer:
    """An answer with several plans, topologies and parts."""
    return answer_to(**CROWDED, gpus="2,4", pes="16,64", objective="edp")


def crowded(one: RackAnswer, gpus: str) -> RackAnswer:
    """An answer with the whole front of many plans, listed rather than proved."""
    question = rack_request(**CROWDED, gpus=gpus).question
    front = sorted(
        Search(joint_problem(question)).unproved_front(), key=lambda point: point.latency_s
    )
    best = min(front, key=lambda point: point.edp_js)
    return replace(one, question=question, objective="edp", front=tuple(front), best=best)


def dots(chart: Chart) -> list[Dot]:
    return [mark for mark in chart.marks if isinstance(mark, Dot)]


@each("gpus", ["2-12", "2-24", "2-64"])
def test_labels_cover_no_label_and_no_point_and_stay_inside(
    gpus: str, one_chip: RackAnswer
) -> None:
    answer = crowded(one_chip, gpus)
    assert len(answer.front) >= 10
    chart = front_chart(answer)
    drawn = frame_of(chart, WIDTH)
    labels = labels_of(chart, drawn)
    boxes = [label.box for label, _ in labels]
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    for dot in dots(chart):
        pixel = drawn.at((dot.x, dot.y))
        assert all(box.distance(pixel) > 0 for box in boxes)
    assert all(box.inside(drawn.area) for box in boxes)
    bold = [dot.words for _, dot in labels if dot.strong]
    assert answer.best is not None
    assert len(bold) == 1
    assert bold[0].startswith(f"{answer.best.chips} x {answer.best.pes}")
    assert len(labels) >= 8


def test_a_wide_range_is_logarithmic_with_units() -> None:
    answer = answer_to(workload="conv", strategy="dp", gpus="1,2,4,24", pes="16")
    times = [point.latency_s for point in answer.front]
    assert times[-1] > 12 * times[0]
    chart = front_chart(answer)
    assert (chart.x.logarithmic, chart.y.logarithmic) == (True, False)
    assert chart.x.label == "latency (ms, logarithmic)"
    assert len(frame_of(chart, WIDTH).x_ticks) >= 3
    assert [dot.x for dot in dots(chart) if not dot.strong] == pytest.approx(
        [1e3 * point.latency_s for point in answer.front if point != answer.best]
    )


def test_one_chip_has_no_mesh_in_its_label(one_chip: RackAnswer) -> None:
    chart = front_chart(one_chip)
    assert [dot.words for dot in dots(chart)] == ["1 x 16"]
    assert [mark for mark in chart.marks if isinstance(mark, Line)] == []


def test_shapes_are_topologies_and_tones_are_pes(few: RackAnswer) -> None:
    (chart,) = front_picture(few).charts
    looks = sorted(dots(chart), key=lambda dot: dot.x)
    assert [dot.x for dot in looks] == pytest.approx([1e6 * p.latency_s for p in few.front])
    assert [dot.y for dot in looks] == pytest.approx([1e6 * p.energy_j for p in few.front])
    assert len(looks) > 2
    for (one, dot), (other, second) in combinations(zip(few.front, looks, strict=True), 2):
        assert (dot.shape == second.shape) == (one.topology == other.topology)
        assert (dot.tone == second.tone) == (one.pes == other.pes)
    named = {key.words for key in chart.legend}
    assert named >= {point.topology for point in few.front}
    assert named >= {f"{point.pes} PEs per chip" for point in few.front}
    assert sum(dot.strong for dot in looks) == 1
    assert [row[0] for row in chart.rows].count("*") == 1
    assert len(chart.rows) == len(few.front)


def test_the_stairs_go_level_then_down(few: RackAnswer) -> None:
    chart = front_chart(few)
    (stairs,) = [mark for mark in chart.marks if isinstance(mark, Line)]
    assert len(stairs.points) == 2 * len(few.front) - 1
    for (x, y), (to_x, to_y) in zip(stairs.points, stairs.points[1:], strict=False):
        assert (to_x > x and to_y == y) or (to_x == x and to_y < y)


def test_parts_of_the_best_plan_add_up(few: RackAnswer) -> None:
    front, energy, time = solve_picture(few).charts
    assert few.best is not None
    assert front.title == "Proved front"
    bars = [mark for mark in energy.marks if isinstance(mark, Bar)]
    lengths = [bar.right - bar.left for bar in bars]
    assert lengths == sorted(lengths, reverse=True)
    unit = {"uJ": 1e6, "nJ": 1e9}[energy.x.label]
    assert sum(lengths) == pytest.approx(unit * few.best.energy_j)
    told = {row[0]: row[1] for row in time.rows}
    assert told.keys() == {"compute"} | {
        name for name, seconds in few.best.transfer_s.items() if seconds > 0
    }
    assert "may hide behind computing" in time.notes[0]
