"""Pictures of plans as data: every figure that they show is one of the plan."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

import planner
from planner.base.units import show_bytes, show_seconds
from planner.cost.facts import PlanFacts
from planner.plan import Plan
from planner.report.charts.breakdown import breakdown_charts, breakdown_picture, wholes
from planner.report.charts.front import front_chart, is_refused
from planner.report.charts.memory import memory_chart
from planner.report.charts.mesh import level_boxes, mesh_chart
from planner.report.charts.plan import evaluate_picture, solve_picture
from planner.report.drawing.chart import (
    HATCHES,
    SHAPES,
    TONES,
    Bar,
    Chart,
    Dot,
    Line,
    Picture,
    Words,
)
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import labels_of
from planner.report.drawing.png import picture_png
from planner.report.drawing.svg import picture_svg
from planner.results.plan import Neighbor
from planner.results.result import EvaluateResult, SolveResult

JOB: dict[str, Any] = {"model": "llama2-7b", "hardware": "a100-sxm4-80", "seq_len": 2048,
                       "batch_tokens": 2**19}  # fmt: skip
PIPED = Plan(dp=2, tp=4, pp=4, micro_batch=1, schedule="1f1b", sharding="zero1",
             sequence_parallel=True, order=("tp", "dp", "pp"))  # fmt: skip


@pytest.fixture(scope="module")
def piped() -> EvaluateResult:
    """A plan with four stages on four nodes."""
    return planner.evaluate(PIPED, **JOB)


@pytest.fixture(scope="module")
def torus() -> EvaluateResult:
    """A plan on a torus of 4 x 4 x 4."""
    plan = Plan(fsdp=16, tp=4, micro_batch=4, sharding="zero3", order=("tp", "fsdp"))
    return planner.evaluate(plan, **{**JOB, "hardware": "tpu-v5p"})


@pytest.fixture(scope="module")
def solved() -> SolveResult:
    """An answer with several points and neighbours."""
    return planner.solve(model="gpt3-125m", hardware="h100-sxm5-80", chips=8)


def facts_of(answer: EvaluateResult) -> PlanFacts:
    """The facts, which every evaluated plan has."""
    assert answer.facts is not None
    return answer.facts


def bars(chart: Chart, *, faint: bool = False) -> list[Bar]:
    """The bars of a chart."""
    return [mark for mark in chart.marks if isinstance(mark, Bar) and mark.faint is faint]


def words(chart: Chart) -> str:
    """All text marks of a chart."""
    return "\n".join(mark.words for mark in chart.marks if isinstance(mark, Words))


def test_bars_of_one_plan_add_up_to_its_costs(piped: EvaluateResult) -> None:
    costs = piped.result
    totals = (costs.step_time_s, costs.energy_per_step_j,
              costs.memory_per_chip_bytes + costs.reserve_bytes)  # fmt: skip
    for chart, whole, total in zip(
        breakdown_charts([("a", costs)]), wholes(costs), totals, strict=True
    ):
        lengths = [bar.right - bar.left for bar in bars(chart)]
        assert lengths == sorted(lengths, reverse=True)
        unit = whole.ranked()[0][1] / lengths[0]
        assert sum(lengths) * unit == pytest.approx(total, rel=1e-9)
        assert len(chart.rows) == len(lengths)
        for (name, value, _), row in zip(whole.ranked(), chart.rows, strict=True):
            assert row[0] == name.replace("_", " ")
            assert row[1] == whole.show(value)


def test_hidden_communication_stands_behind_what_is_exposed(piped: EvaluateResult) -> None:
    costs = piped.result
    chart = breakdown_charts([("a", costs)])[0]
    exposed = {bar.bottom: bar for bar in bars(chart)}
    hidden = bars(chart, faint=True)
    assert hidden
    unit = costs.step_time_s / sum(bar.right - bar.left for bar in exposed.values())
    both = {
        name.replace("_", " "): costs.communication_s[name] - costs.time_s[name]
        for name in costs.communication_s
    }
    for bar in hidden:
        assert bar.left == exposed[bar.bottom].right
        name = bar.detail.split(":")[0]
        assert (bar.right - bar.left) * unit == pytest.approx(both[name])


def test_plans_side_by_side_share_a_scale(piped: EvaluateResult, torus: EvaluateResult) -> None:
    charts = breakdown_picture([("first", piped.result), ("second", torus.result)]).charts
    assert len(charts) == 3
    time = charts[0]
    ends = [max(bar.right for bar in bars(time) if round((bar.bottom + bar.top) / 2) == row)
            for row in range(2)]  # fmt: skip
    expected = piped.result.step_time_s / torus.result.step_time_s
    assert ends[0] / ends[1] == pytest.approx(expected)
    assert [label for _, label in time.y.ticks] == ["first", "second"]
    assert time.header == ("part", "first", "second")
    looks = [(key.tone, key.hatch) for key in time.legend]
    assert len(set(looks)) == len(looks), "told apart without words too"


def test_memory_stacks_are_those_of_the_stages(piped: EvaluateResult) -> None:
    facts = facts_of(piped)
    chart = memory_chart(facts, piped.result.reserve_bytes)
    for stage in facts.stages:
        stack = [bar for bar in bars(chart) if round((bar.left + bar.right) / 2) == stage.index]
        assert stack[0].bottom == 0
        assert all(low.top == high.bottom for low, high in itertools.pairwise(stack))
        assert stack[-1].top == pytest.approx(stage.total_bytes / 1e9)
        assert show_bytes(stage.total_bytes) in words(chart)
    levels = sorted(mark.points[0][1] for mark in chart.marks if isinstance(mark, Line))
    limits = [piped.memory_limit_bytes / 1e9, facts.chip_memory_bytes / 1e9]
    assert levels == pytest.approx(limits)
    (reserve,) = bars(chart, faint=True)
    assert (reserve.top - reserve.bottom) * 1e9 == pytest.approx(piped.result.reserve_bytes)
    assert show_bytes(piped.memory_limit_bytes) in " ".join(key.words for key in chart.legend)


def test_many_stages_stay_readable(piped: EvaluateResult) -> None:
    facts = facts_of(piped)
    many = tuple(replace(facts.stages[1], index=index) for index in range(64))
    chart = memory_chart(replace(facts, stages=many))
    assert len(chart.x.ticks) <= 16
    assert not words(chart), "no words over thin bars"


def test_sums_of_stages_stand_clear_of_all_lines(piped: EvaluateResult) -> None:
    facts = facts_of(piped)
    for limit in (0.9, 1.0, 1.05):
        low = max(stage.total_bytes for stage in facts.stages) / limit
        chart = memory_chart(replace(facts, memory_limit_bytes=low))
        drawn = frame_of(chart, 560.0)
        lines = [drawn.at(mark.points[0])[1] for mark in chart.marks if isinstance(mark, Line)]
        for mark in chart.marks:
            if isinstance(mark, Words):
                _, y = drawn.at((mark.x, mark.y))
                assert all(abs(y - at) > 7 for at in lines)
                assert y - 7 > drawn.area.top


def test_one_stage_lies_on_its_side() -> None:
    answer = planner.evaluate(
        Plan(micro_batch=1, sharding="ddp"), model="gpt3-125m", hardware="a100-sxm4-80"
    )
    (stage,) = facts_of(answer).stages
    chart = memory_chart(facts_of(answer), answer.result.reserve_bytes)
    stack = bars(chart)
    assert stack[0].left == 0
    assert all(one.right == two.left for one, two in itertools.pairwise(stack))
    assert stack[-1].right == pytest.approx(stage.total_bytes / 1e9)
    assert chart.height < 0.25
    lines = [mark for mark in chart.marks if isinstance(mark, Line)]
    assert {line.points[0][0] == line.points[1][0] for line in lines} == {True}


def test_the_reserve_is_distinguished_from_what_is_filled(piped: EvaluateResult) -> None:
    costs = piped.result
    filled, reserve = show_bytes(costs.memory_per_chip_bytes), show_bytes(costs.reserve_bytes)
    whole = show_bytes(costs.memory_per_chip_bytes + costs.reserve_bytes)
    memory = breakdown_charts([("a", costs)])[2]
    assert memory.subtitle == f"{filled} + {reserve} reserve = {whole} in all"
    both = breakdown_charts([("a", costs), ("b", costs)])[2]
    assert f"{filled} + {reserve} reserve" in words(both)
    stages = memory_chart(facts_of(piped), costs.reserve_bytes)
    assert filled in stages.subtitle
    assert f"+ {reserve} reserve" in stages.subtitle


def test_a_plan_with_one_level_has_none_that_is_the_busiest(torus: EvaluateResult) -> None:
    (box,) = level_boxes(torus.result, facts_of(torus))
    assert box.share > 0
    assert not box.busiest
    assert "the busiest" not in words(mesh_chart(torus.result, facts_of(torus)))


def test_labels_of_a_front_are_near_their_dots(solved: SolveResult) -> None:
    chart = front_chart(solved)
    for width in (560.0, 860.0):
        drawn = frame_of(chart, width)
        for label, dot in labels_of(chart, drawn):
            assert label.box.distance(drawn.at((dot.x, dot.y))) <= 100
    points = [mark for mark in chart.marks if isinstance(mark, Dot) and mark.key]
    all_there = len(labels_of(chart, frame_of(chart, 560.0))) == len(points)
    assert ("Points are labelled where there is room." in chart.notes) is not all_there


def test_the_mesh_names_each_axis_where_it_is(piped: EvaluateResult) -> None:
    boxes = level_boxes(piped.result, facts_of(piped))
    assert [box.facts.name for box in boxes] == [
        level.name for level in reversed(facts_of(piped).levels)
    ]
    inner = boxes[-1]
    assert inner.columns == 8
    assert [dict(cells) for cells in inner.cells] == [
        {"tp": f"tp {chip % 4}", "dp": f"dp {chip // 4}"} for chip in range(8)
    ]
    assert [dict(cells) for cells in boxes[0].cells] == [{"pp": f"pp {node}"} for node in range(4)]
    assert sum(box.busiest for box in boxes) == 1
    assert max(boxes, key=lambda box: box.share).busiest
    for box in boxes:
        assert box.share == pytest.approx(box.facts.busy_s / piped.result.step_time_s)
        assert show_seconds(box.facts.busy_s) in words(mesh_chart(piped.result, facts_of(piped)))


def test_a_torus_is_drawn_by_its_physical_axes(torus: EvaluateResult) -> None:
    facts = facts_of(torus)
    (level,) = facts.levels
    assert [(axis.name, axis.length, axis.parts) for axis in level.torus] == [
        ("x", 4, (("tp", 4),)), ("y", 4, (("fsdp", 4),)), ("z", 4, (("fsdp", 4),)),
    ]  # fmt: skip
    chart = mesh_chart(torus.result, facts)
    assert [bar.words for bar in bars(chart)] == ["tp 4", "fsdp 4", "fsdp 4"]
    assert "x: ring of 4" in words(chart)
    assert torus.result.torus in " ".join(chart.notes)


def test_the_mesh_stays_as_large_on_16384_chips(piped: EvaluateResult) -> None:
    plan = replace(PIPED, dp=512, tp=8, pp=4)
    big = planner.evaluate(plan, **{**JOB, "batch_tokens": 2**22})
    small, large = (mesh_chart(answer.result, facts_of(answer)) for answer in (piped, big))
    assert big.result.chips == 16384
    levels = len(facts_of(big).levels)
    assert len(bars(large)) <= 8 * 3 * levels
    assert large.height / levels == pytest.approx(small.height / 2, rel=0.3)
    assert "..." in words(large), "columns that are left out are counted"


def test_an_axis_in_two_parts_has_its_positions() -> None:
    plan = replace(PIPED, dp=4, tp=4, pp=2, layout=(("dp", 2), ("tp", 4), ("pp", 2), ("dp", 2)))
    answer = planner.evaluate(plan, **JOB)
    node = level_boxes(answer.result, facts_of(answer))[-1]
    assert [dict(cells)["dp"] for cells in node.cells[:4]] == ["dp 0", "dp 1", "dp 0", "dp 1"]
    outer = level_boxes(answer.result, facts_of(answer))[0]
    assert [dict(cells)["dp"] for cells in outer.cells] == ["dp 0-1", "dp 0-1", "dp 2-3", "dp 2-3"]


def test_the_front_has_a_dot_with_the_full_plan_for_every_point(solved: SolveResult) -> None:
    chart = front_chart(solved)
    dots = [mark for mark in chart.marks if isinstance(mark, Dot)]
    front = sorted((dot for dot in dots if dot.key), key=lambda dot: int(dot.key.split("-")[1]))
    assert len(front) == len(solved.front)
    ratio = solved.front[0].step_time_s / front[0].x
    for dot, point in zip(front, solved.front, strict=True):
        assert dot.x * ratio == pytest.approx(point.step_time_s)
        assert show_seconds(point.step_time_s) in dot.detail
        assert point.plan.sharding in dot.detail
    assert [dot for dot in dots if dot.strong] == [dots[-1]], "nothing covers the best plan"
    assert len(chart.rows) == len(solved.front)


def test_neighbours_are_dots_of_another_shape(solved: SolveResult) -> None:
    chart = front_chart(solved)
    drawn = [mark for mark in chart.marks if isinstance(mark, Dot) and not mark.key]
    assert drawn
    assert all(chart.x.low <= dot.x <= chart.x.high for dot in drawn)
    verdicts = {neighbor.verdict: neighbor for neighbor in solved.candidates.neighbors}
    for dot in drawn:
        (verdict,) = (one for one in verdicts if f"), {one}: " in dot.detail)
        assert dot.shape == ("cross" if is_refused(verdicts[verdict]) else "wedge")
    known = {point.plan for point in solved.front}
    costed = [n for n in solved.candidates.neighbors if n.result and n.result.plan not in known]
    left = len(costed) - len(drawn)
    assert (f"{left} plan" in " ".join(chart.notes)) is (left > 0)


def beside(answer: SolveResult, neighbor: Neighbor) -> SolveResult:
    """An answer with one neighbour."""
    return replace(answer, candidates=replace(answer.candidates, neighbors=(neighbor,)))


def test_a_neighbour_that_ties_says_so(solved: SolveResult) -> None:
    neighbor = next(n for n in solved.candidates.neighbors if n.result is not None)
    for tie in (True, False, None):
        chart = front_chart(beside(solved, replace(neighbor, tie=tie)))
        (dot,) = [mark for mark in chart.marks if isinstance(mark, Dot) and not mark.key]
        assert ("a tie" in dot.detail) is bool(tie)


def test_refused_neighbours_are_crosses(solved: SolveResult) -> None:
    neighbor = next(n for n in solved.candidates.neighbors if n.result is not None)
    refused = replace(neighbor, verdict="memory: 92.1 of 80 GB on stage 0", tie=None)
    chart = front_chart(beside(solved, refused))
    (dot,) = [mark for mark in chart.marks if isinstance(mark, Dot) and not mark.key]
    assert dot.shape == "cross"
    assert refused.verdict in dot.detail
    assert [key.shape for key in chart.legend][-1] == "cross"


def test_marks_use_the_names_of_the_vocabulary(solved: SolveResult, piped: EvaluateResult) -> None:
    charts = (*solve_picture(solved).charts, *evaluate_picture(piped).charts)
    for chart in charts:
        assert chart.description
        for mark in chart.marks:
            assert getattr(mark, "tone", "") in (*TONES, "")
            assert getattr(mark, "shape", "circle") in SHAPES
            assert getattr(mark, "hatch", "") in HATCHES
        assert all(len(row) == len(chart.header) for row in chart.rows)
    assert len(solve_picture(solved).charts) == 6
    assert len(evaluate_picture(piped).charts) == 5
    assert picture_svg(evaluate_picture(piped)).startswith("<svg ")


def test_every_shape_can_be_drawn(solved: SolveResult) -> None:
    chart = front_chart(solved)
    (dot, *_) = [mark for mark in chart.marks if isinstance(mark, Dot)]
    marks = tuple(replace(dot, shape=shape) for shape in SHAPES)
    keys = tuple(replace(chart.legend[0], shape=shape) for shape in SHAPES)
    picture = Picture(title="", charts=(replace(chart, marks=marks, legend=keys),))
    assert picture_png(picture).startswith(b"\x89PNG")
    assert picture_svg(picture).startswith("<svg ")


def test_one_chip_has_no_mesh() -> None:
    plan = Plan(micro_batch=1, sharding="ddp")
    answer = planner.evaluate(plan, model="gpt3-125m", hardware="a100-sxm4-80")
    assert facts_of(answer).levels == ()
    titles = [chart.title for chart in evaluate_picture(answer).charts]
    assert len(titles) == 4
    assert not any("mesh" in title for title in titles)
