"""What is written reads back as the same values, here and by readers of YAML 1.1."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from support.cases import each

from strict_yaml.reading import load
from strict_yaml.writing import dump

WORDS = [
    "on", "off", "y", "yes", "No", "1:30", "190:20:30.15", "010", "08", "0o7", "0x1f", "0b1",
    "1e3", ".5", "1.", "1e400", "1_000", "2026-11-27", "2001-12-14t21:59:43.10-05:00", "null", "~",
    "", "true", ".inf", ".nan", "<<", "=", "- a", "a: b", "a:", ":0", "0?", "#x", "a #b", "[x", "{",
    "'", '"', "\\", "!x", "&a", "*a", "|", ">", "%", "@", "`", "?", " a", "a ", "a\nb", "\n", "a\n",
    "\t", "\r", "x" * 120, "word " * 40, "é", "\x85", "\u2028", "\ufeff", "\U0001f600", "\0", "...",
    "---", "a, b", "a]",
]  # fmt: skip
TEXTS = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda items: st.lists(items, max_size=4) | st.dictionaries(TEXTS, items, max_size=4),
    max_leaves=12,
)


def read_as_1_1(text: str) -> Any:
    """What a reader of YAML 1.1 finds, as those of the frameworks are."""
    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)
    return yaml.load(text)


@each("word", WORDS)
def test_text_stays_text(word: str) -> None:
    for data in ({"a": word}, {"a": [word]}, {word: 1}):
        for leaves_in_flow in (False, True):
            text = dump(data, leaves_in_flow=leaves_in_flow)
            assert load(text) == data
            assert read_as_1_1(text) == data


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=5), st.sampled_from([40, 80]), st.booleans())
def test_whatever_is_written_reads_back(data: dict[str, Any], width: int, some: bool) -> None:
    for options in ({"unicode": some}, {"leaves_in_flow": some}, {"flow": lambda _: some}):
        text = dump(data, width=width, **options)
        assert load(text) == data
        assert read_as_1_1(text) == data


def test_the_layout() -> None:
    item = {"value": 1e-05, "unit": "é"}
    data = {"a": [1, 2], "b": item, "again": item, "c": {"d": {"e": None}}, "f": []}
    assert dump(data) == (
        'a:\n- 1\n- 2\nb:\n  value: 1.0e-05\n  unit: "\\xE9"\n'
        'again:\n  value: 1.0e-05\n  unit: "\\xE9"\nc:\n  d:\n    e: null\nf: []\n'
    )
    assert dump(data, unicode=True, leaves_in_flow=True) == (
        "a: [1, 2]\nb: {value: 1.0e-05, unit: é}\nagain: {value: 1.0e-05, unit: é}\n"
        "c:\n  d: {e: null}\nf: []\n"
    )
    in_one_line = dump(data, unicode=True, flow=lambda item: "value" in item)
    assert in_one_line.startswith("a:\n- 1\n- 2\nb: {value: 1.0e-05, unit: é}\n")


def test_lines_are_broken_at_spaces_after_the_width() -> None:
    text = dump({"note": "one two three four five six", "x": 1}, width=16)
    assert text == "note: one two three\n  four five six\nx: 1\n"
    assert "\n" not in dump({"note": "\x07" * 100 + " a b"}, width=16).strip()
