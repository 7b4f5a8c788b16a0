"""Plan files whose stages choose for themselves: read, written, evaluated, shown, refused."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

import planner as library
from cli.command import planner
from cli.plan_files import COSTS, evaluate
from planner.plan import RECOMPUTES, SHARDINGS, Plan, PlanTable, Stage
from planner.question.files.plan_file import plan_of
from planner.question.files.plan_models import PlanModel
from planner.question.files.plan_text import plan_fields
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

_COUNTS = st.tuples(st.integers(0, 3), st.integers(0, 3))
_STAGES = st.builds(
    Stage,
    layers=st.integers(0, 20),
    recompute=st.sampled_from([None, *RECOMPUTES]),
    selective=_COUNTS,
    full=_COUNTS,
    sharding=st.sampled_from([None, *SHARDINGS]),
    clock=st.sampled_from([None, 0.5, 0.875, 1.0]),
)


def written(tmp_path: Path, stages: Any, model: str = "llama3-8b", **plan: Any) -> Path:
    """A plan file with some stages, pp 4."""
    path = tmp_path / "plan.yaml"
    content = {
        "schema_version": 1,
        "job": {"model": model, "hardware": "h100-sxm5-80", "batch_tokens": 2**18, "seq_len": 4096},
        "plan": {"mesh": {"pp": 4, "dp": 2}, "stages": stages, **plan},
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@settings(max_examples=60, deadline=None)
@given(st.lists(_STAGES, min_size=1, max_size=6))
def test_what_is_written_is_read(stages: list[Stage]) -> None:
    plan = Plan(pp=len(stages), dp=2, stages=tuple(stages))
    text = dump_yaml(plan_fields(plan))
    assert plan_of(PlanModel.model_validate(load_yaml(text))) == plan


def test_a_file_gives_the_same_digits_again(tmp_path: Path) -> None:
    """Counts, clocks and shardings of chunks; as a list, and as the answer writes it."""
    kinds = [{"full": 1}, {"selective": 2, "rest": "full"}, "selective", {"dense": {"full": 2}}]
    stages = [
        {"layers": 4 + (at == 0) - (at == 7), "recompute": kinds[at % 4],
         "clock": [1.0, 0.9][at % 2], "sharding": ["zero1", "ddp"][at % 2]}
        for at in range(8)
    ]  # fmt: skip
    first = evaluate(written(tmp_path, stages, schedule="interleaved", interleave=2))
    again = evaluate(written(tmp_path, first["stages"], schedule="interleaved", interleave=2))
    assert {name: first[name] for name in COSTS} == {name: again[name] for name in COSTS}
    assert first["stages"] == again["stages"]
    assert [stage["full_layers"] for stage in first["per_stage"]] == [2, 4, 0, 4]
    assert [stage["selective_layers"] for stage in first["per_stage"]] == [0, 4, 8, 0]
    assert [stage["recompute"] for stage in first["per_stage"]] == [
        "mixed", "mixed", "selective", "mixed",
    ]  # fmt: skip
    assert [stage["clock"] for stage in first["per_stage"]] == [1.0, 0.9, 1.0, 0.9]
    assert any("unequal layers" in line for line in first["warnings"])
    assert any("has one sharding for all stages" in line for line in first["warnings"])


@each("text", ["Et*9|(t*8|)*2t*7L", "9,8*2,7"])
def test_layouts_as_text(tmp_path: Path, text: str) -> None:
    listed = [{"layers": layers} for layers in (9, 8, 8, 7)]
    one, other = (evaluate(written(tmp_path, stages)) for stages in (text, listed))
    assert {name: one[name] for name in COSTS} == {name: other[name] for name in COSTS}
    assert one["stages"] == listed


def test_flat_counts_are_of_the_only_kind_of_layers(tmp_path: Path) -> None:
    """Of the dense layers of llama, of those with experts of mixtral."""
    for model, kind in (("llama3-8b", "dense"), ("mixtral-8x7b", "moe")):
        stages = [{"layers": 8, "recompute": {"full": 3}}] * 4
        answer = evaluate(written(tmp_path, stages, model))
        assert answer["stages"] == [{"layers": 8, "recompute": {kind: {"full": 3}}}] * 4


def test_the_terminal_shows_what_stages_choose(tmp_path: Path) -> None:
    stages = [{"layers": 9, "recompute": {"full": 3}}, {"layers": 8, "clock": 0.8},
              {"layers": 8}, {"layers": 7}]  # fmt: skip
    shown = planner("evaluate", written(tmp_path, stages), "--show", "plan,stages").out
    assert "9,8*2,7 (stages in order)" in shown
    assert "0.8 (stage 1)" in shown
    head, *rows = shown[shown.index("stage  layers") :].splitlines()
    assert head.split()[:4] == ["stage", "layers", "recompute", "clock"]
    assert rows[0].split()[:6] == ["0", "9", "+", "embedding", "3", "full"]
    plain = planner("evaluate", written(tmp_path, "9,8*2,7"), "--show", "stages").out
    assert "recompute" not in plain[plain.index("stage  layers") :].splitlines()[0]


@each(
    ("stages", "line"),
    [
        ("Et*9|t*8", "plan.stages: layout: L (loss) must come last and once at the end of"),
        ([], "plan.stages: []: must have at least 1 entry"),
        (5, "plan.stages: 5: must be a list"),
        ([{"layers": 9, "recompute": "ful"}],
         "plan.stages.0.recompute: 'ful' is not one of none, selective, full, core_attn, "),
        ([{"layers": 9, "recompute": {"full": -1}}],
         "plan.stages.0.recompute.full: -1: must be at least 0"),
        ([{"layers": 9, "recompute": {"fulll": 1}}],
         "plan.stages.0.recompute.fulll: unknown field; did you mean 'full'?"),
        ([{"layers": 9, "recompute": {"full": 1, "moe": {"full": 1}}}],
         "plan.stages.0.recompute: counts full and selective either of all layers or of dense and "
         "moe"),
        ("9,8*3", "plan: stages: 4 stages with 33 layers; needed: 4 stages (pp) with 32 layers in "
         "all (llama3-8b); nearest: 8 layers instead of 9 on stage 0"),
        ("9,8,8,4,3", "plan: stages: 5 stages with 32 layers; needed: 4 stages (pp) with"),
        ([{"layers": 8, "recompute": {"full": 9}}, *[{"layers": 8}] * 3],
         "plan: stages: stage 0 recomputes 0 (selective) + 9 (full) of its 8 dense layers; "
         "allowed: 0 to 8 in all"),
    ],
)  # fmt: skip
def test_what_cannot_be_says_so_in_one_line(tmp_path: Path, stages: Any, line: str) -> None:
    outcome = planner("evaluate", written(tmp_path, stages))
    assert outcome.code == 2
    assert line in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_both_kinds_of_layers_must_be_distinguished(tmp_path: Path) -> None:
    stages = [{"layers": 9, "recompute": {"full": 3}}, {"layers": 6}, {"layers": 6}, {"layers": 6}]
    outcome = planner("evaluate", written(tmp_path, stages, "deepseek-v2-lite"))
    assert outcome.code == 2
    assert (
        "plan.stages.0.recompute: the stage has 1 dense and 8 mixture-of-experts layers; say of "
        "which, e.g. {moe: {full: 3}}" in outcome.err
    )


def test_chunks_of_a_stage_that_disagree(tmp_path: Path) -> None:
    stages = [{"layers": 4}] * 7 + [{"layers": 4, "sharding": "ddp"}]
    outcome = planner("evaluate", written(tmp_path, stages, schedule="interleaved", interleave=2))
    assert outcome.code == 2
    assert (
        "chunks 3 and 7 are on the same stage (pp 4) and have sharding zero1 and ddp" in outcome.err
    )


def test_megatron_blocks_are_no_warning(tmp_path: Path) -> None:
    """The first N layers of every stage; anything else is."""
    block = [{"layers": 8, "recompute": {"full": 3}}] * 4
    assert evaluate(written(tmp_path, block))["warnings"] == []
    other = [{"layers": 8, "recompute": {"full": 4}}, *block[1:]]
    (line,) = evaluate(written(tmp_path, other))["warnings"]
    assert line == (
        "stages: megatron recomputes the first N layers of every stage in one way, the same on "
        "all stages; these differ"
    )


def test_the_schema_has_every_form() -> None:
    schema = planner("schema", "plan").document
    stages = schema["$defs"]["PlanModel"]["properties"]["stages"]
    assert "Et*7|(t*8|)*14t*7L" in str(stages)
    recompute = schema["$defs"]["StageModel"]["properties"]["recompute"]
    assert str(RECOMPUTES[2]) in str(recompute)
    assert {"dense", "moe", "full", "selective", "rest"} == set(
        schema["$defs"]["RecomputeModel"]["properties"]
    )


def test_the_library_evaluates_counts_too() -> None:
    plan = library.Plan(
        pp=2,
        sharding="ddp",
        stages=(library.Stage(layers=17, full=(3, 0)), library.Stage(layers=15)),
    )
    table = PlanTable.from_plans([plan])
    assert table.plan(0) == plan
    answer = library.evaluate(plan, model="llama3-8b", hardware="h100-sxm5-80", batch_tokens=2**18)
    assert answer.result.plan == plan
