"""One line per mistake in a model file, in the words of people."""

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.cases import each
from support.lines import without_lines

from models_db import ModelError, load_model
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

EXAMPLE = Path(str(resources.files("models_db") / "data" / "examples" / "my-model.yaml"))
PYTHON = ("NoneType", "should", "sys.", "<unicode", " dict", " str ", " int ", "characters long")


def refused(tmp_path: Path, content: Any) -> str:
    """The message for a file with this content, without its path."""
    path = tmp_path / "m.yaml"
    text = content if isinstance(content, str) else dump_yaml(content)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_model(path)
    message = str(caught.value)
    assert not [word for word in PYTHON if word in message], message
    return without_lines(message.removeprefix(f"{path}: "), text)


@pytest.fixture
def data() -> dict[str, Any]:
    content = load_yaml(EXAMPLE.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize(("path", "near"), [
    ("layers", "layer"), ("kv_heads", "kv_head"), ("attention.kind", "kinds"),
    ("mlp.gated", "gate"), ("sources", "source"),
])  # fmt: skip
def test_a_misspelt_field_is_one_mistake(
    tmp_path: Path, data: dict[str, Any], path: str, near: str
) -> None:
    *outer, last = path.split(".")
    node = data[outer[0]] if outer else data
    node[near] = node.pop(last)
    message = refused(tmp_path, data)
    where = ".".join([*outer, near])
    assert message.startswith(f"{where}: unknown field; did you mean {last}? allowed here: ")
    assert "\n" not in message


@pytest.mark.parametrize(("field", "value", "line"), [
    ("title", "", "title: the text '' is out of range; must have at least 1 character"),
    ("title", "x" * 2001, f"title: the text '{'x' * 40}...' is out of range; must have at most "
                          "2,000 characters"),
    ("name", "a" * 61, f"name: the text '{'a' * 40}...' is out of range; must have at most "
                       "60 characters"),
    ("title", [1], "title: a list where text belongs"),
    ("title", None, "title: nothing where text belongs"),
    ("aliases", 7, "aliases: 7 where a list belongs"),
    ("aliases", [""], "aliases.0: the text '' is out of range; must have at least 1 character"),
    ("sources", {}, "sources: a mapping is out of range; must have at least 1 entry"),
])  # fmt: skip
def test_what_is_wanted_is_said_in_words(
    tmp_path: Path, data: dict[str, Any], field: str, value: Any, line: str
) -> None:
    assert refused(tmp_path, {**data, field: value}) == line


@each("content", ["{}", "{job: {}, plan: {}, schema_version: 1}"])
def test_a_file_about_something_else_is_one_line(tmp_path: Path, content: str) -> None:
    assert refused(tmp_path, content) == (
        "is not a model: it has none of its fields (name, title, family, aliases, ...)"
    )


def test_a_number_with_thousands_of_digits(tmp_path: Path) -> None:
    assert refused(tmp_path, f"a: 1\nb: {'9' * 5001}\n") == (
        "line 2: a number of 5,001 digits is too long; at most 640 are read"
    )


def test_a_character_that_is_no_text(tmp_path: Path) -> None:
    assert refused(tmp_path, "a: 1\nb: \0\n") == (
        "line 2: not valid YAML: the character U+0000 is not text"
    )


@each("value", [
    "!!bool x", "!!int x", "!!float x", "!!timestamp x",
])  # fmt: skip
def test_values_with_tags(tmp_path: Path, value: str) -> None:
    tag = value.split(maxsplit=1)[0]
    assert refused(tmp_path, f"name: {value}\n") == (
        f"line 1: YAML tags ({tag}) are not used here; write the value alone"
    )
