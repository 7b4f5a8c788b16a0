"""Stages in words and as a picture: equal ones together, every layer counted once."""

from hypothesis import given
from hypothesis import strategies as st
from support.cases import each

from planner.plan import Plan, Stage
from planner.plan.layout_text import parse_layout
from planner.plan.layout_words import (
    chunk_layers,
    clocks_by_stage,
    layers_by_chunk,
    recomputed_by_chunk,
    shardings_by_stage,
)
from planner.report.charts.layout import layout_chart
from planner.report.drawing.chart import Bar, Words
from planner.results.words import choice_words


def plan_of(*stages: Stage, **changes: object) -> Plan:
    """A plan with such stages."""
    return Plan(pp=len(stages), stages=stages, **changes)  # type: ignore[arg-type]


UNEVEN = plan_of(
    Stage(layers=7, full=(3, 1), sharding="zero2", clock=1.0),
    *(Stage(layers=8, full=(1, 0), clock=0.9) for _ in range(2)),
    Stage(layers=7, selective=(2, 0), clock=0.9),
    sharding="zero1",
)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_the_layers_are_said_as_a_question_gives_them(counts: list[int]) -> None:
    plan = plan_of(*(Stage(layers=count) for count in counts))
    words = layers_by_chunk(plan).removesuffix(" (stages in order)")
    assert parse_layout(words) == tuple(counts)
    if len(counts) > 1:
        assert f"layers {words}" in choice_words(plan)


def test_choices_name_the_stages_that_have_them() -> None:
    assert layers_by_chunk(UNEVEN) == "7,8*2,7 (stages in order)"
    assert recomputed_by_chunk(UNEVEN) == (
        "selective on 2 of 30 layers (stage 3); full on 6 of 30 layers (stages 0-2)"
    )
    assert shardings_by_stage(UNEVEN) == "zero2 (stage 0), zero1 (stages 1-3)"
    assert clocks_by_stage(UNEVEN) == "1 (stage 0), 0.9 (stages 1-3)"
    assert "layers 7,8*2,7" in choice_words(UNEVEN)


def test_one_choice_for_all_stages_is_named_once() -> None:
    plan = plan_of(Stage(layers=3), Stage(layers=2), recompute="full", clock=0.8)
    assert (recomputed_by_chunk(plan), shardings_by_stage(plan), clocks_by_stage(plan)) == (
        "full", "zero1", "0.8",
    )  # fmt: skip
    uniform = Plan(pp=2, recompute="selective", split="front")
    assert layers_by_chunk(uniform) == "front"
    assert recomputed_by_chunk(uniform) == "selective"


def test_chunks_of_interleaved_pipelines_are_called_chunks() -> None:
    stages = tuple(Stage(layers=n, clock=c) for n, c in ((3, 1), (4, 0.9), (4, 1), (3, 0.9)))
    plan = Plan(pp=2, interleave=2, schedule="interleaved", stages=stages)
    assert layers_by_chunk(plan) == "3,4*2,3 (chunks in order)"
    assert clocks_by_stage(plan) == "1 (stage 0), 0.9 (stage 1)"
    chart = layout_chart(plan)
    assert chart.header[0] == "chunk"
    assert [mark.top for mark in chart.marks if isinstance(mark, Bar)] == [3.0, 7.0, 4.0, 7.0]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=20))
def test_the_picture_has_every_layer_once(counts: list[tuple[int, int, int]]) -> None:
    stages = tuple(
        Stage(layers=sum(parts), selective=(parts[1], 0), full=(0, parts[2])) for parts in counts
    )
    chart = layout_chart(plan_of(*stages, recompute="none"))
    bars = [mark for mark in chart.marks if isinstance(mark, Bar)]
    assert sum(bar.top - bar.bottom for bar in bars) == sum(stage.layers for stage in stages)
    for at, stage in enumerate(stages):
        tops = [bar.top for bar in bars if bar.left < at < bar.right]
        assert max(tops, default=0) == stage.layers
        assert chart.rows[at][1] == f"{stage.layers}"
    assert all(mark.words for mark in chart.marks if isinstance(mark, Words))


@each("name", ["none", "selective", "full"])
def test_layers_without_a_count_recompute_as_their_stage_says(name: str) -> None:
    found = chunk_layers(Stage(layers=5, recompute=name, full=(1, 0)), Plan())
    assert found.layers == 5
    assert found.full == (5 if name == "full" else 1)
