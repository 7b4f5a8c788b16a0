"""Files of another kind, misspelt fields, and what is no clean text: one line per mistake."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.answers import SMALL
from cli.command import planner, refused, solve
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

ROOT = Path(__file__).parents[2]
COPIED = {
    "model.yaml": "models_db/data/examples/my-model.yaml",
    "cluster.yaml": "hardware_db/data/examples/my-cluster.yaml",
    "chip.yaml": "hardware_db/data/chips/h100-sxm5-80.yaml",
    "constants.yaml": "hardware_db/data/calibration/default.yaml",
}
WORDS = {
    "plan.yaml": "a plan", "front.json": "a front", "answer.json": "a front",
    "cert.json": "a certificate",
    "evaluated.json": "the answer of planner evaluate", "job.yaml": "a job file",
    "assumed.yaml": "a file of assumptions", "model.yaml": "a model", "cluster.yaml": "a cluster",
    "chip.yaml": "a chip", "constants.yaml": "a table of constants",
}  # fmt: skip
TAKEN = {
    "a job file": "planner solve takes it", "a plan": "planner evaluate takes it",
    "a front": "planner evaluate takes it, with --row", "a certificate": "planner verify takes it",
    "the answer of planner evaluate": "planner report takes it",
}  # fmt: skip
LONG = "9" * 5001
TOO_LONG = "a number of 5,001 digits is too long; at most 640 are read"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of every kind."""
    path = tmp_path_factory.mktemp("kinds")
    files = ("--pareto", path / "front.json", "--certificate", path / "cert.json")
    answer = solve(*SMALL, "-o", path / "plan.yaml", *files)
    (path / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    evaluated = planner("evaluate", path / "plan.yaml", "--json").out
    (path / "evaluated.json").write_text(evaluated, encoding="utf-8")
    (path / "job.yaml").write_text("{model: gpt3-125m, chips: 8}", encoding="utf-8")
    (path / "assumed.yaml").write_text("causal_share: 50%", encoding="utf-8")
    for name, source in COPIED.items():
        shutil.copy(ROOT / source, path / name)
    return path


@each("file", WORDS)
def test_a_file_of_another_kind_is_one_line(folder: Path, file: str) -> None:
    path, words = folder / file, WORDS[file]
    if words != "a model":
        line = f"model: {path}: is {words}, not a model"
        assert refused("solve", "--model", path, "--chips", 8) == [line]
        assert refused("models", "show", path) == [line]
    if words not in ("a cluster", "a chip"):
        line = f"hardware: {path}: is {words}, not a cluster or chip"
        job = ("solve", "--model", "gpt3-125m", "--chips", 8)
        assert refused(*job, "--hardware", path) == [line]
        assert refused("hardware", "show", path) == [line]
    if words != "a file of assumptions" and file.endswith(".yaml"):
        line = f"assumptions: {path}: is {words}, not a file of assumptions"
        assert refused("solve", *SMALL, "--assumptions", path) == [line]


def test_an_archive_with_a_certificate_is_for_one_command(tmp_path: Path) -> None:
    path = tmp_path / "proof.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("proof.json", "{}")
    line = f"{path}: is a ZIP archive; one with a certificate planner verify takes"
    for words in (("evaluate",), ("explain",), ("export", "--to", "megatron"), ("solve",)):
        assert refused(*words, path) == [line]


@each("file", WORDS)
def test_a_file_that_a_command_does_not_take(folder: Path, file: str) -> None:
    path, words = folder / file, WORDS[file]
    command = f": {TAKEN[words]}" if words in TAKEN else ""
    if words != "a job file":
        line = f"{path}: is {words}, not a job file{command}"
        assert refused("solve", path, "--chips", 8) == [line]
    if words not in ("a plan", "a front"):
        line = f"{path}: is {words}, not a plan{command}"
        for row in ((), ("--row", 1)):
            assert refused("evaluate", path, *row) == [line]
            assert refused("export", path, "--to", "megatron", *row) == [line]
        assert refused("explain", path) == [line]
        assert refused("compare", path, folder / "plan.yaml") == [line]
        assert refused("check", path, "--log", folder / "plan.yaml") == [line]
    if words != "a certificate" and path.suffix == ".json":
        assert refused("verify", path) == [f"{path}: is {words}, not a certificate{command}"]


def test_a_record_of_a_job_file_that_is_of_another_kind(folder: Path) -> None:
    path = folder / "asks.yaml"
    path.write_text("{model: plan.yaml, chips: 8}", encoding="utf-8")
    line = f"{path}: line 1: model: {folder / 'plan.yaml'}: is a plan, not a model"
    assert refused("solve", path) == [line]


def test_a_file_of_no_kind(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("{a: 1, b: 2}", encoding="utf-8")
    (line,) = refused("models", "show", path)
    assert line.startswith(f"{path}: is not a model: it has none of its fields (name, title")
    (line,) = refused("hardware", "show", path)
    assert line.startswith(f"{path}: is not a cluster or chip: it has none of its fields (name")


@pytest.mark.parametrize(("data", "lines"), [
    ({"modle": "gpt3-125m", "chips": 8}, ["line 1: modle: unknown field; did you mean 'model'?"]),
    ({"model": "gpt3-125m", "chisp": 8}, ["line 2: chisp: unknown field; did you mean 'chips'?"]),
])  # fmt: skip
def test_a_misspelt_field_of_a_job_is_not_missing_too(
    data: dict[str, Any], lines: list[str], job: Any
) -> None:
    path = job(data)
    assert refused("solve", path) == [f"{path}: {line}" for line in lines]


def test_a_field_that_is_missing_beside_a_misspelt_one_is_said(job: Any) -> None:
    path = job({"chisp": 8})
    assert [line.split(";")[0] for line in refused("solve", path)] == [
        f"{path}: model: is missing", f"{path}: line 1: chisp: unknown field",
    ]  # fmt: skip


def test_misspelt_fields_of_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    stages = "stages: [{layer: 12}]"
    path.write_text(
        f"{{schema_version: 1, job: {{modle: gpt3-125m}}, plan: {{{stages}}}}}", encoding="utf-8"
    )
    assert refused("evaluate", path) == [
        f"{path}: line 1: job.modle: unknown field; did you mean 'model'?",
        f"{path}: line 1: plan.stages.0.layer: unknown field; did you mean 'layers'?",
    ]


def commands(path: Path) -> list[tuple[object, ...]]:
    """Everything that reads a file."""
    return [
        ("solve", path), ("evaluate", path), ("models", "show", path), ("hardware", "show", path),
        ("solve", *SMALL, "--assumptions", path),
    ]  # fmt: skip


def test_a_number_with_thousands_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    for text in (f"a: 1\nb: {LONG}\n", f"a: 1\nb: [{LONG[1:]}.9]\n"):
        path.write_text(text, encoding="utf-8")
        for command in commands(path):
            (line,) = refused(*command)
            assert TOO_LONG in line
            assert "line 2" in line


def test_a_character_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "nul.yaml"
    path.write_text("a: 1\nb: \0\n", encoding="utf-8")
    for command in commands(path):
        (line,) = refused(*command)
        assert "U+0000" in line
        assert "line 2" in line
        assert "string" not in line
        assert "position" not in line


def test_a_hexadecimal_number_too_long_to_be_written_out(tmp_path: Path) -> None:
    data = load_yaml((ROOT / COPIED["model.yaml"]).read_text(encoding="utf-8"))
    data["layers"]["value"] = "LAYERS"
    path = tmp_path / "model.yaml"
    text = dump_yaml(data).replace("LAYERS", f"0x{'f' * 640}")
    path.write_text(text, encoding="utf-8")
    line = next(at for at, one in enumerate(text.splitlines(), start=1) if "value: 0xfff" in one)
    assert refused("models", "show", path) == [
        f"{path}: line {line}: layers.value: a very long number is out of range; "
        "must be at most 10,000"
    ]


@each("value", ["!!bool x", "!!int x", "!!timestamp x", "!!int [1]"])
def test_a_value_with_a_tag(tmp_path: Path, value: str) -> None:
    path = tmp_path / "tagged.yaml"
    path.write_text(f"a: {value}\n", encoding="utf-8")
    for command in commands(path):
        (line,) = refused(*command)
        assert line.startswith(f"{path}: "), line
        assert "line 1: YAML tags (!!" in line
        assert not [word for word in ("literal", "int()", "month", "attribute") if word in line]


@each("field", ["model", "hardware"])
@each("name", ["front.csv", "front.svg", "notes.txt"])
def test_a_file_that_is_no_yaml_is_not_taken_for_a_name(
    field: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("a,b\n<svg>: :\n", encoding="utf-8")
    flags = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", field: path}
    words = [word for flag, value in flags.items() for word in (f"--{flag}", value)]
    line = f"{field}: {path}: is no YAML file (.yaml or .yml)"
    assert refused("solve", *words, "--chips", 8) == [line]


def test_assumptions_of_another_kind_need_no_suffix(folder: Path) -> None:
    path = folder / "front.json"
    lines = refused("solve", *SMALL, "--assumptions", path)
    assert lines == [f"assumptions: {path}: is a front, not a file of assumptions"]


@each("field", ["model", "hardware"])
def test_an_empty_name_is_not_looked_up(field: str) -> None:
    flags = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", field: ""}
    words = [word for flag, value in flags.items() for word in (f"--{flag}", value)]
    command = {"model": "models", "hardware": "hardware"}[field]
    line = f"{field}: is empty; name one (planner {command} list)"
    assert refused("solve", *words, "--chips", 8) == [line]
    assert refused(command, "show", "") == [line]
