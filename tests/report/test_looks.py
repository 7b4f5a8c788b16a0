"""The same cause looks the same in every chart, and different causes look different."""

from collections import Counter

import pytest

import planner
from planner.cost.breakdown import TIME_PARTS
from planner.cost.memory.memory import MEMORY_PARTS
from planner.cost.timeline import timeline_of
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.report.charts.breakdown import breakdown_charts
from planner.report.charts.plan import evaluate_picture
from planner.report.drawing.chart import HATCHES, TONES, Bar, Chart
from planner.report.drawing.style.looks import LEVELS, LOOKS, SAME, is_known, level_look, look_of
from planner.results.result import EvaluateResult

PIPED = Plan(dp=2, tp=4, pp=4, micro_batch=1, schedule="1f1b", sharding="zero1",
             sequence_parallel=True, order=("tp", "dp", "pp"))  # fmt: skip
JOB = {"model": "llama2-7b", "hardware": "a100-sxm4-80", "seq_len": 2048, "batch_tokens": 2**17}


@pytest.fixture(scope="module")
def drawn() -> tuple[Chart, ...]:
    """Every chart of a plan with a pipeline."""
    answer: EvaluateResult = planner.evaluate(PIPED, **JOB)
    resolved = resolve(request_from(JOB), chips=PIPED.chips)
    return evaluate_picture(answer, timeline_of(resolved.cost, PIPED)).charts


def test_no_two_things_share_a_look() -> None:
    looks = [*LOOKS.values(), *LEVELS]
    assert [look for look, times in Counter(looks).items() if times > 1] == []
    assert {tone for tone, _ in looks} <= set(TONES)
    assert {hatch for _, hatch in looks} <= set(HATCHES)
    assert set(SAME.values()) <= set(LOOKS)
    assert not set(SAME) & set(LOOKS)


def test_every_part_and_axis_is_known() -> None:
    for name in (*TIME_PARTS, *MEMORY_PARTS, "reserve", "tp", "cp", "ep", "pp", "dp", "fsdp"):
        assert is_known(name), name
    assert not is_known("network: leaf")
    assert level_look(0) != level_look(1)


def test_a_cause_looks_the_same_in_every_chart_of_a_plan(drawn: tuple[Chart, ...]) -> None:
    assert len(drawn) == 6, "three breakdowns, memory, mesh, timeline"
    words = {
        "tp": ["tensor parallel"], "dp": ["data parallel"], "pp": ["pipeline transfer"],
        "weights": ["weights"], "activations": ["activations"], "optimizer": ["optimizer"],
        "compute": ["compute", "forward pass"], "memory": ["memory bound"],
        "backward": ["backward pass"], "reduction": ["exposed reduction of gradients"],
    }  # fmt: skip
    for name, known_as in words.items():
        looks = {
            (mark.tone, mark.hatch)
            for chart in drawn
            for mark in chart.marks
            if isinstance(mark, Bar) and not mark.faint
            if any(f": {one}" in f": {mark.detail}" for one in known_as)
        }
        assert looks == {look_of(name)}, name
    mesh = next(chart for chart in drawn if "mesh" in chart.title)
    for mark in mesh.marks:
        if isinstance(mark, Bar) and mark.words:
            assert (mark.tone, mark.hatch) == look_of(mark.words.split()[0])


def test_keys_are_of_what_is_drawn(drawn: tuple[Chart, ...]) -> None:
    for chart in drawn:
        bars = {(mark.tone, mark.hatch) for mark in chart.marks if isinstance(mark, Bar)}
        for key in chart.legend:
            assert key.kind != "bar" or (key.tone, key.hatch) in bars, (chart.title, key.words)


def test_side_by_side_and_alone_plans_look_the_same() -> None:
    answer = planner.evaluate(PIPED, **JOB)
    alone = breakdown_charts([("a", answer.result)])
    both = breakdown_charts([("a", answer.result), ("b", answer.result)])
    for one, two in zip(alone, both, strict=True):
        looks = {mark.detail.split(":")[0]: (mark.tone, mark.hatch) for mark in one.marks
                 if isinstance(mark, Bar) and not mark.faint}  # fmt: skip
        for key in two.legend:
            assert looks.get(key.words, (key.tone, key.hatch)) == (key.tone, key.hatch)
