"""The line of every field of a file, for messages about what it holds."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

import strict_yaml.reading
from strict_yaml.reading import load
from strict_yaml.text import YamlText
from strict_yaml.writing import dump

TEXT = """\ufeff# a comment
a: 1
b:
  - c: 2
    'd e': [1,
      {f: 3}]
  -
    g.h: {i: 4}

j: |
  k: 5
l: {m:
  6}
"""


@each(("path", "line"), [
    ("a", 2), ("b", 3), ("b.0", 4), ("b[0].c", 4), ("b[0].d e", 5), ("b.0.d e.0", 5),
    ("b.0.d e.1.f", 6), ("b.1.g.h", 8), ("b[1].g.h.i", 8), (["b", 1, "g.h", "i"], 8),
    ("j", 10), ("j.k", 10), ("l.m", 12),
    ("b.2", 3), ("b[0].z.y", 4), ("l.m.n.o", 12),  # missing: what they are missing in
])  # fmt: skip
@pytest.mark.parametrize("text", [TEXT, TEXT.encode(), TEXT.replace("\n", "\r\n")])
def test_the_line_of_a_field(text: str | bytes, path: Any, line: int) -> None:
    assert YamlText("a.yaml", text).at(path) == f"a.yaml: line {line}"


@each("path", ["z", "z.y", "0", "", []])
def test_a_field_that_is_missing_in_the_whole_file_has_no_line(path: Any) -> None:
    assert YamlText("a.yaml", TEXT).at(path) == "a.yaml"
    assert YamlText("a.yaml").at("a") == "a.yaml"


@each("content", ["# no field\n", "\n\n", "3"])
def test_a_text_without_fields_has_no_lines(content: str) -> None:
    assert YamlText("a.yaml", content).at("a") == "a.yaml"


def test_a_text_that_was_just_read_is_not_parsed_for_its_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = TEXT.replace("a: 1", "a: 2")
    load(text)
    monkeypatch.setattr(strict_yaml.reading, "_read", None)
    assert YamlText("a.yaml", text.encode()).at("l.m") == "a.yaml: line 12"


@each("deep", [False, True])
def test_lines_of_texts_that_are_not_kept(deep: bool) -> None:
    """Because of their size, or because another was read since; however deep they are nested."""
    inner = "{a: " * 60 + "1" + "}" * 60 if deep else "x" * 200_000
    text = f"a: 1\nb: {inner}\nc: 3\n"
    load(text, max_depth=100)
    load("d: 4")
    assert YamlText("a.yaml", text).at("c") == "a.yaml: line 3"


def test_a_mistake_has_the_line_of_its_field() -> None:
    text = YamlText("a.yaml", TEXT)
    assert text.located("l.m: 6: is too large") == "a.yaml: line 12: l.m: 6: is too large"
    assert text.located("z: missing") == "a.yaml: z: missing"


_KEYS = st.text("ab.-: #'\"0", min_size=1, max_size=4)
_TREES = st.recursive(
    st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(tree=st.dictionaries(_KEYS, _TREES, min_size=1, max_size=4))
def test_each_key_that_was_written_is_found_in_its_line(tree: dict[str, Any]) -> None:
    marked, keys = dict[str, Any](), dict[int, tuple[str, ...]]()

    def mark(node: Any, path: tuple[str, ...]) -> Any:
        """The tree with the number of its path in every key."""
        if isinstance(node, list):
            return [mark(item, (*path, str(at))) for at, item in enumerate(node)]
        if not isinstance(node, dict):
            return node
        found = {}
        for key, value in node.items():
            number = len(keys)
            name = f"{key} key{number}_"
            keys[number] = (*path, name)
            found[name] = mark(value, keys[number])
        return found

    marked = mark(tree, ())
    written = dump(marked)
    assert load(written) == marked
    text = YamlText("a.yaml", written)
    for number, path in keys.items():
        line = int(re.fullmatch(r"a\.yaml: line (\d+)", text.at(path))[1])  # type: ignore[index]
        assert f"key{number}_" in written.splitlines()[line - 1]


def test_a_large_file_is_read_once_for_all_its_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of a message asks where its field stands; reading 1 MB takes some 13 CPU s."""
    monkeypatch.setattr(strict_yaml.reading, "_SHORT", 10)
    monkeypatch.setattr(strict_yaml.reading, "_last", {})
    reads: list[int] = []
    whole = strict_yaml.reading._read
    monkeypatch.setattr(
        strict_yaml.reading,
        "_read",
        lambda *given, **named: (reads.append(1), whole(*given, **named))[1],
    )
    content = "a: 1\nb: 2\nc: 3\n"
    assert load(content) == {"a": 1, "b": 2, "c": 3}
    assert [YamlText("f.yaml", content).at([name]) for name in "abc"] == [
        "f.yaml: line 1", "f.yaml: line 2", "f.yaml: line 3",
    ]  # fmt: skip
    assert len(reads) <= 2, "once for the data, once for the lines"
