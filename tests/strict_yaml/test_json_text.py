"""What is JSON is read as such, and as the reader of YAML reads it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from strict_yaml import reading
from strict_yaml.errors import YamlError
from strict_yaml.json_text import json_data, json_lines
from strict_yaml.lines import line_of
from strict_yaml.reading import load, read_with_lines

WORDS = st.text(st.characters(codec="utf-8"), max_size=6)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
DATA = st.dictionaries(
    WORDS,
    st.recursive(
        PLAIN | WORDS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
        max_leaves=8,
    ),
    max_size=4,
)


def typed(data: Any) -> Any:
    """Data with the type of every value, for `1 == 1.0 == True`."""
    if isinstance(data, dict):
        return {name: typed(value) for name, value in data.items()}
    return [*map(typed, data)] if isinstance(data, list) else (type(data), repr(data))


@settings(max_examples=100, deadline=None)
@given(DATA, st.sampled_from([None, 2]))
def test_it_is_what_the_reader_of_yaml_reads(data: Any, indent: int | None) -> None:
    text = json.dumps(data, indent=indent)  # in ASCII, as YAML folds and refuses some letters
    builder = reading._Builder(text, 99, math.inf)
    own = builder.document()
    found = json_data(text)
    if found is not None:  # halves of characters are not JSON here
        assert not builder.mistakes
        assert typed(found[0]) == typed(own) == typed(data)
        assert found[1] == builder.deepest
        assert json_lines(text) == builder.lines


@settings(max_examples=100, deadline=None)
@given(DATA, st.sampled_from([None, "\t", 2]), st.sampled_from([":", "\n:\n", " \t: "]))
def test_a_line_is_told_of_whatever_is_json(
    data: Any, indent: str | int | None, colon: str
) -> None:
    """Letters and places that YAML refuses or folds once ended the program, or changed a value."""
    data["known"] = {"x" * 2000: 1}
    text = json.dumps(data, indent=indent, separators=(",", colon), ensure_ascii=False) + " \t"
    assert typed(load(text)) == typed(data)
    line = text.count("\n", 0, text.index('"known"')) + 1
    assert line_of(text, ("known",)) == line
    assert typed(load(text)) == typed(data)


def test_lines_of_much_json_are_counted_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_read", None)
    text = json.dumps({f"n{at}": [at] for at in range(5_000)}, indent=1)
    load(text)
    assert line_of(text, ("n4999",)) == text.count("\n") - 2


@each("text", [
    '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1,}', "{a: 1}", '{"a": 1} # end',
    '{"a": "\\ud83d"}', '{"a": ' + "9" * 641 + "}", '{"a":' * 5000 + "1" + "}" * 5000, "[1]",
    '{"a": tru}', '{"a": 1}\n...\n{"b": 1}',
])  # fmt: skip
def test_what_yaml_has_words_for_is_left_to_it(text: str) -> None:
    assert json_data(text) is None


def test_it_is_distinguished_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"a": {"b": [1, 2]}, "c": None}, indent=1)
    monkeypatch.setattr(reading, "_read", None)
    assert load(text) == {"a": {"b": [1, 2]}, "c": None}
    load(text)["a"]["b"].append(3)
    assert load(text)["a"]["b"] == [1, 2]
    monkeypatch.undo()
    assert read_with_lines(text) == (load(text), [1, 2, 2, 3, 3, 4, 5, 8, 8])
    with pytest.raises(YamlError, match="line 3: nested deeper than 2 levels"):
        load(text, max_depth=2)
