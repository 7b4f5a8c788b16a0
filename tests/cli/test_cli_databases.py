"""`models`, `hardware`, `schema`, `doctor`: tables for people, one JSON document for programs."""

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import typer
from support.cases import each

import hardware_db
import models_db
from cli.command import planner
from planner import InputError
from planner.answers.api import options_of
from planner.cli.main import app
from planner.question.files.plan_file import read_plan_file
from planner.question.files.plan_models import PlanFile
from planner.question.request import Request, request_from
from planner.question.resolved import resolve
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml


def document(*arguments: object) -> Any:
    """The JSON document of a command."""
    outcome = planner(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.document


def table(*arguments: object) -> str:
    """What a command prints for people."""
    outcome = planner(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def test_models_list() -> None:
    rows = document("models", "list", "--json")["models"]
    assert [row["name"] for row in rows] == list(models_db.list_models())
    assert len(rows) >= 45
    by_name = {row["name"]: row for row in rows}
    assert by_name["llama2-13b"]["total_parameters"] == 13_015_864_320  # published
    assert by_name["mixtral-8x7b"]["total_parameters"] == 46_702_792_704  # published
    said = table("models", "list")
    assert all(name in said for name in models_db.list_models())


def test_hardware_list() -> None:
    found = document("hardware", "list", "--json")
    assert [row["name"] for row in found["clusters"]] == list(hardware_db.list_clusters())
    assert found["chips"] == list(hardware_db.list_chips())
    assert len(found["clusters"]) >= 22
    said = table("hardware", "list")
    assert all(name in said for name in hardware_db.list_clusters())
    assert all(name in said for name in hardware_db.list_chips())


def test_the_json_of_every_list_has_a_schema_version() -> None:
    for command in ("models", "hardware"):
        found = document(command, "list", "--json")
        assert isinstance(found, dict), "an object can grow; a bare array cannot"
        assert found["schema_version"] == 1


@each("name", ["llama3-405b", "meta-llama/Meta-Llama-3.1-405B"])
def test_models_show_by_alias(name: str) -> None:
    found = document("models", "show", name, "--json")
    assert found["name"] == "llama3.1-405b"
    numbers = {row["path"]: row for row in found["numbers"]}
    assert numbers["layers"]["value"] == 126
    assert numbers["hidden"]["value"] == 16384


@each(("command", "name"), [
    ("models", "deepseek-v3"), ("hardware", "h100-sxm5-80"), ("hardware", "tpu-v5p"),
    ("hardware", "dgx-h100-ndr"),
])  # fmt: skip
def test_show_gives_value_unit_kind_and_source_of_every_number(command: str, name: str) -> None:
    numbers = document(command, "show", name, "--json")["numbers"]
    assert len(numbers) > 10
    for row in numbers:
        assert row["unit"]
        assert row["kind"] in ("datasheet", "measured", "derived", "assumed")
        assert row["sources"] or row["note"]
    plain = table(command, "show", name)
    assert all(row["path"] in plain for row in numbers)
    with_sources = table(command, "show", name, "--sources")
    title = numbers[0]["sources"][0].split()[0]
    assert title in with_sources
    assert len(with_sources) > len(plain)


@each("name", ["dgx-a100-80-hdr", "tpu-v5p", "h100-sxm5-80"])
def test_show_prints_known_figures_with_their_units(name: str) -> None:
    said = " ".join(table("hardware", "show", name).split())
    expected = {
        "dgx-a100-80-hdr": r"3\.12e\+14 FLOP/s",
        "tpu-v5p": r"4\.59e\+14 FLOP/s",
        "h100-sxm5-80": r"9\.89\d*e\+14 FLOP/s",
    }[name]
    assert re.search(expected, said), "the bf16 peak of the data sheet"


@each("title", ["a [/bold] b", "[red]x", "[1] see [2]", "[[x]]", "\\[x]"])
def test_brackets_in_a_file_are_text(title: str, tmp_path: Path) -> None:
    """Rich reads [..] as markup: a title must neither vanish nor end in a traceback."""
    for package, name, command in (
        ("models_db", "my-model.yaml", "models"),
        ("hardware_db", "my-cluster.yaml", "hardware"),
    ):
        example = resources.files(package) / "data" / "examples" / name
        data = load_yaml(example.read_text(encoding="utf-8"))
        data["title"] = title
        number = data["layers"] if command == "models" else data["node_chips"]
        number["note"] = f"note {title}"
        path = tmp_path / name
        path.write_text(dump_yaml(data), encoding="utf-8")
        said = " ".join(table(command, "show", path, "--sources").split())
        assert f"note {title}" in said


def test_schemas() -> None:
    every = document("schema")
    assert set(every) >= {"chip", "cluster", "model", "job", "plan"}
    for name, schema in every.items():
        assert document("schema", name) == schema
        assert schema["type"] == "object"


def _valid(schema: Any, value: Any, root: Any) -> bool:
    """A small JSON Schema check: types, required and unknown fields, enums, references."""
    if schema.get("$ref", "").startswith("#/$defs/"):
        return _valid(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], value, root)
    if "$ref" in schema:
        return _valid(root["properties"][schema["$ref"].rsplit("/", 1)[1]], value, root)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return any(_valid(option, value, root) for option in options)
    kinds: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
        "number": (int, float), "null": type(None),
    }  # fmt: skip
    kind = schema.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (kind != "boolean" and value is True)):
        return False
    if not _in_bounds(schema, value):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if kind == "object" and "properties" in schema:
        if not set(schema.get("required", [])) <= set(value):
            return False
        if schema.get("additionalProperties") is False and not set(value) <= set(
            schema["properties"]
        ):
            return False
        return all(
            _valid(part, value[name], root)
            for name, part in schema["properties"].items()
            if name in value
        )
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return all(_valid(schema["additionalProperties"], part, root) for part in value.values())
    if kind == "array":
        return all(_valid(schema.get("items", {}), part, root) for part in value)
    return True


def _in_bounds(schema: Any, value: Any) -> bool:
    """Bounds of numbers and patterns of text."""
    if isinstance(value, str):
        return "pattern" not in schema or re.search(schema["pattern"], value) is not None
    if isinstance(value, int | float):
        return (
            value >= schema.get("minimum", value)
            and value <= schema.get("maximum", value)
            and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        )
    return True


def test_a_written_plan_obeys_the_published_schema(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    planner("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 8, "-o", path)
    schema = document("schema", "plan")
    data = load_yaml(path.read_text(encoding="utf-8"))
    assert _valid(schema, data, schema)
    assert read_plan_file(path)[1].chips == 8
    data["plan"]["mesh"]["dp"] = "8"
    assert not _valid(schema, data, schema)


def test_a_job_with_units_obeys_the_published_schema() -> None:
    """The schema must allow what the loader reads, or editors mark good files as wrong."""
    schema = document("schema", "job")
    assert _valid(schema, {"model": "llama2-13b", "chips": 4096}, schema)
    assert not _valid(schema, {"model": "llama2-13b", "chps": 4096}, schema)
    assert _valid(schema, {"model": "llama2-13b", "chips": 8, "batch_tokens": "4Mi"}, schema)
    assert _valid(schema, {"model": "llama2-13b", "chips": 8, "max_memory": "80GB"}, schema)
    assert _valid(schema, {"model": "llama2-13b", "chips": 8, "fix": {"pp": 8}}, schema)


def test_the_schemas_name_the_choices() -> None:
    """An editor completes what the schema lists: objective, job and placement are closed sets."""
    said = json.dumps(document("schema", "job"))
    for choice in ("edp", "finetune", "lora", "all"):
        assert f'"{choice}"' in said, choice


def test_every_field_of_the_files_is_described() -> None:
    """`planner schema` is for people who write files: each field says what it is."""
    for model in (Request, PlanFile):
        undescribed = [name for name, field in model.model_fields.items() if not field.description]
        assert not undescribed, (model.__name__, undescribed)


def test_every_field_of_every_schema_is_described() -> None:
    """A reference to a record that says the same counts as described."""
    for name, schema in document("schema").items():
        parts = {"": schema, **schema.get("$defs", {})}
        for part, record in parts.items():
            for field, value in record.get("properties", {}).items():
                inner = parts.get(value.get("$ref", "/").rsplit("/", 1)[1], {})
                assert value.get("description") or inner.get("description"), (name, part, field)


@each(("package", "folder", "kind"), [
    ("hardware_db", "chips", "chip"), ("hardware_db", "clusters", "cluster"),
    ("hardware_db", "calibration", "calibration"), ("hardware_db", "reference", "reference"),
    ("models_db", "", "model"), ("hardware_db", "examples", "cluster"),
    ("models_db", "examples", "model"),
])  # fmt: skip
def test_shipped_files_obey_the_published_schemas(package: str, folder: str, kind: str) -> None:
    schema = document("schema", kind)
    files = sorted(Path(str(resources.files(package))).joinpath("data", folder).glob("*.yaml"))
    assert files
    for path in files:
        data = load_yaml(path.read_text(encoding="utf-8"))
        assert _valid(schema, data, schema), path.name
        assert not _valid(schema, {**data, "invented": 1}, schema)


def test_files_that_are_like_a_record_obey_their_schemas(tmp_path: Path) -> None:
    memory, links = ("--set", "memory.bandwidth=2x"), ("--set", "levels.leaf.bandwidth=2x")
    for kind, sets in (("chip", memory), ("cluster", (*memory, *links))):
        path, schema = tmp_path / f"{kind}.yaml", document("schema", f"like-{kind}")
        new = ("hardware", "new", "--like", "h100-sxm5-80", "--name", "mine", *sets, "-o", path)
        data = document(*new, "--json")["content"]
        assert data == load_yaml(path.read_text(encoding="utf-8"))
        assert _valid(schema, data, schema)
        whole = document("schema", kind)
        assert not _valid(whole, data, whole)
        lone = {name: part for name, part in data.items() if name != "like"}
        rate = {"bandwidth": {"value": 1e12}}
        for wrong in (lone, {**data, "invented": 1}, {**data, "levels": [rate]}, {**data, **rate}):
            assert not _valid(schema, wrong, schema)


@each(("field", "good", "bad"), [
    ("chips", [8, "8", "4Ki", "1e3"], [0, -8, 1.5, "eight", "8GB", "-8"]),
    ("max_memory", [72e9, "80GB", "74.5 GiB", "80G"], [0, "80W", "80Gb", "GB"]),
    ("max_power", [1e7, "10MW", "700"], [-1, "10MB", "3s"]),
    ("time_limit", [10, "10s", "2h", "250ms"], [0, "2 hours", "3W"]),
    ("train_tokens", [2e12, "2T", "4Mi"], [0, "2TB"]),
    ("min_mfu", [0.4, 1], [0, 1.5, -0.1]),
    ("objective", ["time", "edp"], ["speed", 1]),
    ("front", [["time", "energy"], "time,energy", "time, energy, memory"],
     [["speed"], "time", "time,speed"]),
    ("axes", [["tp", "ep"], "tp", "fsdp, tp"], [["tq"], "tq", "tp,", ""]),
    ("fix", [{"pp": 8}, {"tp": [1, "2"], "sharding": "zero1"}, {"sequence_parallel": True}],
     [{"pq": 8}, {"pp": 0}, {"sharding": "zero9"}, {"schedule": ["x"]}]),
    ("job", ["lora"], ["train"]), ("placement", ["all"], ["best"]),
    ("precision", ["bf16"], ["float"]), ("framework", ["jax"], ["keras"]),
])  # fmt: skip
def test_the_job_schema_and_the_loader_agree(field: str, good: list[Any], bad: list[Any]) -> None:
    schema = document("schema", "job")
    for value in good:
        assert _valid(schema, {"model": "m", field: value}, schema), value
        request_from({"model": "m", field: value})
    for value in bad:
        assert not _valid(schema, {"model": "m", field: value}, schema), value
        with pytest.raises(InputError):
            options_of(resolve(request_from({"model": "gpt3-125m", "chips": 8, field: value})))


def test_doctor() -> None:
    found = document("doctor", "--json")
    assert found["ok"] is True
    assert all(found["checks"].values())
    assert found["versions"]["planner"]
    said = table("doctor")
    assert "FAILED" not in said
    assert found["versions"]["python"] in said


def test_doctor_says_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.answers.installation._PACKAGES", ("numpy", "no-such-package"))
    outcome = planner("doctor", "--json")
    assert outcome.code == 1
    assert outcome.document["versions"]["no-such-package"] == "missing"
    assert outcome.document["ok"] is False, "ok must not contradict the exit code"


def test_version_and_help() -> None:
    assert re.fullmatch(r"planner \d+\.\d+\.\d+\n", table("--version"))
    for command in ((), ("solve",), ("evaluate",), ("models",), ("models", "show"), ("hardware",),
                    ("hardware", "list"), ("schema",), ("doctor",)):  # fmt: skip
        said = table(*command, "--help")
        assert "Usage:" in said
        assert table(*command, "-h") == said


def test_help_shows_the_defaults() -> None:
    """Rich drops words in square brackets as markup: help once ended in `finetune or lora .`"""
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", table("solve", "--help-all")).split())
    for default in ("tpu-v5p", "the model's own", "pretrain", "calibrated", "by chip", "4Mi", "16"):
        assert re.search(rf"[(\[](default: )?{default}", said), default
    assert not re.search(r"\w \.( |$)", said), "a hole before a full stop"


def test_help_shows_the_default_of_every_choice() -> None:
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", table("solve", "--help-all")).split())
    for flag in ("--objective", "--front", "--placement"):
        text = said.split(flag)[-1].split(" --")[0]
        assert "default" in text, (flag, text)


def test_help_names_the_exit_codes_and_examples() -> None:
    said = " ".join(table("--help").split())
    for code in ("0 ok", "2 bad input", "3 proved", "4 time limit", "130 interrupted", "1 a check"):
        assert code in said
    assert "planner solve --model llama2-13b --chips 4096" in said


def _commands(command: Any, path: str = "planner") -> Iterator[tuple[str, Any]]:
    """Every command of a group, by its path."""
    for name, inside in getattr(command, "commands", {}).items():
        yield from _commands(inside, f"{path} {name}")
    if not getattr(command, "commands", {}):
        yield path, command


def test_every_command_takes_json() -> None:
    """The help says so: `Every command takes --json`."""
    commands = dict(_commands(typer.main.get_command(app)))
    assert len(commands) > 25
    assert not [path for path, one in commands.items()
                if not any("--json" in parameter.opts for parameter in one.params)]  # fmt: skip
    for command in (("schema",), ("schema", "plan"), ("doctor",), ("models", "list"),
                    ("hardware", "list"), ("models", "show", "llama2-13b")):  # fmt: skip
        outcome = planner(*command, "--json")
        assert outcome.code == 0, (command, outcome.err)
        assert outcome.document


@each("command", [(), ("models",), ("hardware",)])
def test_a_group_alone_prints_its_help(command: tuple[str, ...]) -> None:
    outcome = planner(*command)
    assert outcome.code in (0, 2)
    assert "Usage:" in outcome.out + outcome.err


def test_every_assumption_is_described() -> None:
    fields = document("schema", "assumptions")["properties"]
    assert all(len(field["description"]) > 10 for field in fields.values())
    assert len({field["description"] for field in fields.values()}) == len(fields)
