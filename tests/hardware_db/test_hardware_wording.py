"""One line per mistake in a cluster or chip file, in the words of people."""

import copy
import functools
from pathlib import Path
from typing import Any

import pytest
from support.cases import each
from support.lines import without_lines

import hardware_db
from hardware_db import HardwareError, load_chip, load_cluster
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

EXAMPLE = Path(hardware_db.__file__).parent / "data" / "examples" / "my-cluster.yaml"
PYTHON = ("NoneType", "Input should", "List should", "sys.", "<unicode", " dict", " str", " int")


@functools.cache
def example() -> Any:
    return load_yaml(EXAMPLE.read_text(encoding="utf-8"))


@pytest.fixture
def data() -> dict[str, Any]:
    content = copy.deepcopy(example())
    assert isinstance(content, dict)
    return content


def problems(tmp_path: Path, content: Any, load: Any = load_cluster) -> list[str]:
    """The lines that a file of that content gives."""
    path = tmp_path / "user.yaml"
    text = content if isinstance(content, str) else dump_yaml(content)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HardwareError) as caught:
        load(path)
    found = [without_lines(line.removeprefix(f"{path}: "), text) for line in caught.value.problems]
    assert not [word for word in PYTHON for line in found if word in line], found
    assert all(len(line.splitlines()) == 1 for line in found)
    return found


def place(data: dict[str, Any], path: str) -> tuple[Any, Any]:
    """The mapping or list around a place, and the key of the place in it."""
    node: Any = data
    *steps, last = path.split(".")
    for step in steps:
        node = node[int(step) if isinstance(node, list) else step]
    return node, int(last) if isinstance(node, list) else last


def put(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The data with another value at a place."""
    node, key = place(data, path)
    node[key] = value
    return data


@pytest.mark.parametrize(("path", "near"), [
    ("levels.0.bandwidth", "bandwith"), ("chip.memory.bandwidth", "bandwith"), ("title", "titel"),
    ("sources", "souces"), ("chip.power.tdp.value", "vlaue"), ("levels", "level"),
])  # fmt: skip
def test_a_misspelt_field_is_one_mistake(
    tmp_path: Path, data: dict[str, Any], path: str, near: str
) -> None:
    node, last = place(data, path)
    node[near] = node.pop(last)
    (line,) = problems(tmp_path, data)
    assert line.endswith(f"{near}: unknown field; did you mean {last!r}?")


def test_a_field_that_is_missing_beside_an_unknown_one(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    del data["title"]
    data["zzz"] = 1
    missing, unknown = problems(tmp_path, data)
    assert missing == "title: missing"
    assert unknown.startswith("zzz: unknown field; allowed: name, title")


@pytest.mark.parametrize(("path", "value", "line"), [
    ("levels", [], "levels: at least 1 entry is required"),
    ("levels", None, "levels: a list is required, not null"),
    ("levels", {"a": 1}, "levels: a list is required, not a mapping"),
    ("levels.0", None, "levels[0]: a mapping is required, not null"),
    ("levels.0", [1], "levels[0]: a mapping is required, not a list"),
    ("chip", True, "chip: a mapping is required, not true"),
    ("sources", "x", "sources: a mapping is required, not 'x'"),
    ("chip.dvfs.settable", 1, "chip.dvfs.settable: true or false is required, not 1"),
    ("title", None, "title: a non-empty text is required, not null"),
])  # fmt: skip
def test_what_is_wanted_is_said_in_words(
    tmp_path: Path, data: dict[str, Any], path: str, value: Any, line: str
) -> None:
    assert line in problems(tmp_path, put(data, path, value))


@each("content", ["{}", "{job: {}, plan: {}, schema_version: 1}"])
def test_a_file_about_something_else_is_one_line(tmp_path: Path, content: str) -> None:
    assert problems(tmp_path, content) == [
        "is not a cluster or chip: it has none of its fields (name, title, note, chip, ...)"
    ]
    assert problems(tmp_path, content, load_chip) == [
        "is not a chip: it has none of its fields (name, title, vendor, architecture, ...)"
    ]
    assert problems(tmp_path, content, hardware_db.load_calibration) == [
        "is not a table of constants: it has none of its fields (name, title, note, constants, ...)"
    ]


@each("number", ["9" * 5001, f"-{'9' * 5000}.5"])
def test_numbers_with_thousands_of_digits(tmp_path: Path, number: str) -> None:
    assert problems(tmp_path, f"a: 1\nb: {number}\nc: {number}\n") == [
        f"line {line}: a number of 5,001 digits is too long; at most 640 are read"
        for line in (2, 3)
    ]


def test_a_hexadecimal_number_too_long_to_be_written_out(
    tmp_path: Path, data: dict[str, Any]
) -> None:
    text = dump_yaml(put(data, "levels.0.topology", "TOPOLOGY"))
    line = "levels[0].topology: a non-empty text is required, not a very long number"
    assert line in problems(tmp_path, text.replace("TOPOLOGY", f"0x{'f' * 640}"))


def test_a_group_with_thousands_of_digits(tmp_path: Path, data: dict[str, Any]) -> None:
    rate = dict(data["levels"][0]["bandwidth"])
    put(data, "levels.0.bandwidth_by_group", {"9" * 5001: rate})
    (line,) = problems(tmp_path, data)
    assert line.endswith("a group size between 2 and the domain is required")


def test_a_character_that_is_no_text(tmp_path: Path) -> None:
    assert problems(tmp_path, "a: 1\nb: \0\n") == [
        "line 2: not valid YAML: the character U+0000 is not text"
    ]


@each("value", [
    "!!bool x", "!!int x", "!!float x", "!!timestamp x",
])  # fmt: skip
def test_values_with_tags(tmp_path: Path, value: str) -> None:
    tag = value.split(maxsplit=1)[0]
    assert problems(tmp_path, f"name: {value}\n") == [
        f"line 1: YAML tags ({tag}) are not used here; write the value alone"
    ]
