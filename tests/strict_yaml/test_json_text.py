"""What is JSON is read as such, and as the reader of YAML reads it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from strict_yaml import reading
from strict_yaml.errors import YamlError
from strict_yaml.json_text import json_data
from strict_yaml.reading import load, read_with_lines

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029\ufeff"))
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
)
DATA = st.dictionaries(
    WORDS,
    st.recursive(
        PLAIN,
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
@given(DATA, st.sampled_from([None, 2]), st.booleans())
def test_it_is_what_the_reader_of_yaml_reads(data: Any, indent: int | None, ascii: bool) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii, allow_nan=False)
    found = json_data(text)
    try:
        builder = reading._read(text, max_depth=99)
    except YamlError:  # more than YAML takes: names of over 1,024 letters, letters it has not
        return
    if found is not None:
        assert typed(found[0]) == typed(builder.data) == typed(data)
        assert found[1] == builder.depth


@each("text", [
    '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1,}', "{a: 1}", '{"a": 1} # end',
    '{"a": "\\ud83d"}', '{"a": ' + "9" * 641 + "}", '{"a":' * 5000 + "1" + "}" * 5000, "[1]",
    '{"a": tru}', '{"a": 1}\n...\n{"b": 1}',
])  # fmt: skip
def test_what_yaml_has_words_for_is_left_to_it(text: str) -> None:
    assert json_data(text) is None


def test_it_is_told_apart_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"a": {"b": [1, 2]}, "c": None}, indent=1)
    monkeypatch.setattr(reading, "_read", None)
    assert load(text) == {"a": {"b": [1, 2]}, "c": None}
    load(text)["a"]["b"].append(3)
    assert load(text)["a"]["b"] == [1, 2]
    monkeypatch.undo()
    assert read_with_lines(text) == (load(text), [1, 2, 2, 3, 3, 4, 5, 8, 8])
    with pytest.raises(YamlError, match="line 3: nested deeper than 2 levels"):
        load(text, max_depth=2)
