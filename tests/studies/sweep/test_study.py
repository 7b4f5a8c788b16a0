"""Studies: axes and their ranges, conditions, points, and what is refused of each."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.cases import each

from planner.answers.sweeping import sweep
from planner.base.errors import InputError
from planner.studies.sweep.question.conditions import condition_of
from planner.studies.sweep.question.points import counted, points_of
from planner.studies.sweep.question.ranges import values_of
from planner.studies.sweep.question.study import Study, read_study, study_of, study_schema
from strict_yaml.reading import load

JOB = {"model": "gpt3-125m", "hardware": "h100-sxm5-80"}
SCHEMA = jsonschema.Draft202012Validator(json.loads(json.dumps(study_schema())))
EXAMPLE = Path(__file__).parents[3] / "docs" / "studies" / "buyer.yaml"


def values(study: Study) -> list[dict[str, Any]]:
    return [dict(point.values) for point in points_of(study)]


@each(
    ("given", "found"),
    [
        ([8, 16], (8, 16)),
        (8, (8,)),
        (range(8, 25, 8), (8, 16, 24)),
        (np.array([8, 16]), (8, 16)),
        ([np.int64(8)], (8,)),
        ({"from": 8, "to": 70, "factor": 2}, (8, 16, 32, 64)),
        ({"from": 8, "to": 20, "step": 4}, (8, 12, 16, 20)),
        ({"from": "1Mi", "to": "4Mi", "factor": 2}, ("1Mi", "2Mi", "4Mi")),
        ({"from": "0.5x", "to": "0.8x", "step": 0.1}, ("0.5x", "0.6x", "0.7x", "0.8x")),
        ({"from": "512Ki", "to": "2Mi", "factor": 2}, (524288, 1048576, 2097152)),
        ({"from": 0.1, "to": 0.3, "step": "0.1"}, (0.1, 0.2, 0.3)),
    ],
)
def test_values_of_an_axis(given: Any, found: tuple[Any, ...]) -> None:
    assert values_of(given, "chips") == found


@each(
    ("given", "said"),
    [
        ([], "has no values"),
        ([8, 8], "8 is given twice"),
        ({"from": 8, "to": 64}, "either step or factor"),
        ({"from": 8, "to": 64, "factor": 1}, "a factor above 1"),
        ({"from": 64, "to": 8, "step": 8}, "to is at least from"),
        ({"from": 1, "to": 1e9, "step": 1}, "more than 100,000 values"),
        ({"from": 8, "to": 64, "facto": 2}, "did you mean 'factor'"),
        ({"from": "1GB", "to": "1TB", "factor": 2}, "in one unit"),
        ({"from": "a", "to": 2, "step": 1}, "'a' is not a number"),
        ({"from": "1GB", "to": "4GB", "step": "1MB"}, "'1MB' is not in the unit of the ends, GB"),
        ({"from": "1GB", "to": "4GB", "factor": "2GB"}, "is not in the unit of the ends, none"),
    ],
)
def test_ranges_that_are_none_are_refused(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        values_of(given, "chips")


@each(
    ("text", "holds"),
    [
        ("chips <= 64", True),
        ("8 < chips < 64", False),
        ("batch_tokens == 1Mi", True),
        ("batch_tokens / seq_len >= 2 * chips", True),
        ("model in ['a', 'gpt3-125m'] and not chips > 64", True),
        ("chips % 16 == 0 or memory.bandwidth == '1x'", True),
        ("-chips < 0", True),
        ("model != 'gpt3 8k' and 'gpt3' in model", True),
        ("'8k' < model", True),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    point = {"chips": 64, "batch_tokens": 2**20, "seq_len": 8192, "model": "gpt3-125m",
             "memory.bandwidth": "2x"}  # fmt: skip
    assert condition_of(text).holds(point) == holds


@each("text", ["chips <", "open('x')", "chips ** 9", "[c for c in chips]", "lambda: 1", "a" * 501,
               "chips.__class__()", "f'{chips}'"])  # fmt: skip
def test_what_is_no_condition_is_refused_and_never_run(text: str) -> None:
    with pytest.raises(InputError, match="condition"):
        condition_of(text)


@each(
    ("text", "said"),
    [
        ("chips < 'a'", "'a' is not a number"),
        ("1 / (chips - 8) > 0", "zero"),
        ("era > 1", "left open"),
        ("'a' * 9999999999 == 'b'", "'a' is not a number"),
        ("'%9999999999d' % chips == 'b'", "is not a number"),
        ("-'a' == 'b'", "'a' is not a number"),
        ("[chips] * 9999999999 == []", "is not a number"),
        ("chips in 8", "8 is not a list that may hold 8"),
        ("chips in 'a'", "'a' is not a list"),
    ],
)
def test_conditions_that_cannot_be_told_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        condition_of(text).holds({"chips": 8})


def test_axes_are_crossed_zipped_and_listed() -> None:
    study = study_of(
        JOB,
        cross={"chips": [8, 16], "fix.pp": [1, 2]},
        zipped=[{"seq_len": [1024, 2048], "batch-tokens": ["1Mi", "2Mi"]}],
        points=[{"precision": "bf16"}, {"era": "megatron-core"}],
        where=["chips == 8 or seq_len == 1024"],
    )
    assert study.combinations == 2 * 2 * 4
    found = list(points_of(study))
    assert len(found) == 16 - 4
    assert values(study)[1] == {
        "precision": "bf16", "seq_len": 1024, "batch_tokens": "1Mi", "chips": 8, "fix.pp": 2,
    }  # fmt: skip
    assert "precision" not in found[-1].values
    assert found[1].request.fix == {"pp": ("2",)}
    assert found[1].request.batch_tokens == 2**20


def test_paths_of_records_are_axes() -> None:
    fixed = {**JOB, "set": {"peak.bf16": "2x"}, "chips": 8}
    study = study_of(fixed, cross={"memory.bandwidth": ["1x", "2x"], "set.power.tdp": ["0.5x"]})
    assert [point.request.set for point in points_of(study)] == [
        ("peak.bf16=2x", f"memory.bandwidth={factor}", "power.tdp=0.5x") for factor in ("1x", "2x")
    ]


@each(
    ("parts", "said"),
    [
        ({"cross": {"chps": [8]}}, "chps: unknown field; did you mean 'chips'"),
        ({"cross": {"model": ["a"]}}, "model: is given twice"),
        ({"cross": {"phases": [1]}}, "phases: is no axis"),
        ({"cross": {"set": [1]}}, "give the path that changes"),
        ({"zipped": [{"chips": [8, 16], "seq_len": [1]}], "cross": {}}, "chips has 2, seq_len has"),
        ({"cross": {"chips": [8]}, "where": ["chps > 8"]}, "no field of the question"),
        ({"cross": {f"a.b{at}": list(range(100)) for at in range(5)}}, "at most 100,000,000"),
    ],
)
def test_studies_that_cannot_be_asked_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        study_of(JOB, **parts)


@each(
    ("parts", "most", "rest"),
    [
        ({"cross": {f"chip{at}": [8] for at in range(9000)}}, 4, 8997),
        ({"cross": {"chips": [8]}, "where": [f"chip{at} > 8" for at in range(900)]}, 4, 897),
    ],
)
def test_thousands_of_unknown_fields_are_counted(
    parts: dict[str, Any], most: int, rest: int
) -> None:
    with pytest.raises(InputError) as caught:
        study_of(JOB, **parts)
    lines = str(caught.value).split("\n")
    assert len(lines) == most
    assert lines[-1] == f"and {rest:,} more mistakes"


@each(
    ("axes", "said"),
    [
        ({"chips": [8, "many"]}, "at chips=many: chips: 'many'"),
        ({"seq_len": [1024]}, "at seq_len=1024: chips: is missing"),
        ({"chips": [8], "memory.bandwith": ["1x"]}, "did you mean 'memory.bandwidth'"),
        ({"chips": [8], "model": ["gpt3-125m", "gpt3-126m"], "peak.bf16": ["1x"]}, "gpt3-126m"),
    ],
)
def test_a_point_that_cannot_be_asked_is_named(axes: dict[str, Any], said: str) -> None:
    fixed = {name: value for name, value in JOB.items() if name not in axes}
    with pytest.raises(InputError, match=said):
        values(study_of(fixed, cross=axes))


@each(
    ("given", "said"),
    [
        ({"axes": ["chips"]}, "axes: .'chips'. is not fields with their values"),
        ({"together": [3]}, "together: 3 is not fields"),
        ({"points": ["chips"]}, "points: 'chips' is not fields"),
        ({"axes": {"chips": [8]}, "store": 5}, "store: 5 is not the path"),
        ({"axes": {"chips": [8]}, "workers": 1.5}, "workers: 1.5: must be a whole number"),
        ({"axes": {"chips": [8]}, "workers": 0}, "workers: 0 is not a whole number from 1 to"),
        ({"axes": {"chips": [8]}, "client": "tcp://a:1"}, "'tcp://a:1': is no distributed.Client"),
        ({"axes": {"chips": [8]}, "where": "chips > 8", "workers": 1}, "no point is left: 1 comb"),
        ({"together": {"chips": [8], "seq_len": [1, 2]}}, "zip: .* chips has 1, seq_len has 2"),
    ],
)
def test_arguments_of_another_kind_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        sweep(**given, **JOB)


def test_conditions_that_leave_nothing_are_refused_at_once() -> None:
    study = study_of(JOB, cross={"chips": [8, 16]}, where=["chips > 8", "chips < 16"])
    told = list[str]()
    with pytest.raises(InputError, match="no point is left: 2 combinations and 2 conditions"):
        list(counted(points_of(study, lambda *noted: told.append(noted[0])), study))
    assert told == ["questions"]


def test_a_file_says_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("job: {model: gpt3-125m}\ncros: {chips: [8]}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"study.yaml: line 2: cros: unknown field.*'cross'"):
        read_study(path)
    path.write_text("job: {model: gpt3-125m}\ncross: {chips: [8, 8]}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"study.yaml: chips: 8 is given twice"):
        read_study(path)


def test_files_are_named_from_the_folder_of_the_study(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("cross: {model: [mine.yaml, gpt3-125m], chips: [8]}\n", encoding="utf-8")
    names = [row[0] for group in read_study(path).groups[:1] for row in group.rows]
    assert names == [str(tmp_path / "mine.yaml"), "gpt3-125m"]


def test_thirty_models_on_six_clusters_are_one_file() -> None:
    study = read_study(EXAMPLE)
    points = list(points_of(study))
    assert len({point.request.model for point in points}) == 30
    assert len({point.request.hardware for point in points}) == 6
    assert len({point.family for point in points}) == 180
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)
    assert list(SCHEMA.iter_errors(load(EXAMPLE.read_bytes()))) == []


@each(
    "wrong",
    [{"cros": {}}, {"cross": {"chips": []}}, {"job": {"modle": "a"}},
     {"cross": {"chips": {"from": 1, "to": 2}}}, {"where": 3}],
)  # fmt: skip
def test_the_schema_refuses_what_is_refused(wrong: dict[str, Any]) -> None:
    asked = {"job": JOB, "cross": {"chips": [8, "16"], "a.b": ["1x"]}}
    assert list(SCHEMA.iter_errors(asked)) == []
    assert list(SCHEMA.iter_errors(wrong)) != []
