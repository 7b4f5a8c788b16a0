"""YAML 1.2 is read strictly: values, and one clear line for each mistake."""

import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from strict_yaml import reading
from strict_yaml.errors import YamlError
from strict_yaml.limits import HINT, VARIABLE
from strict_yaml.reading import MAX_DIGITS, load


def mistakes(content: bytes | str, **limits: int) -> list[str]:
    """The lines that a content gives."""
    with pytest.raises(YamlError) as caught:
        load(content, **limits)
    lines = [str(mistake) for mistake in caught.value.mistakes]
    assert "\n".join(lines) == str(caught.value)
    return lines


@each(("word", "value"), [
    ("010", 10), ("-08", -8), ("0o17", 15), ("0x1F", 31), ("-0x10", -16), ("0b11", 3),
    ("1_000", 1000), ("+7", 7), ("1e3", 1000.0), ("1E-6", 1e-6), (".5e3", 500.0), ("2.", 2.0),
    ("1.5e+9", 1.5e9), (".inf", float("inf")), ("-.INF", float("-inf")),
    ("true", True), ("FALSE", False), ("~", None), ("null", None), ("", None),
    ("on", "on"), ("off", "off"), ("yes", "yes"), ("no", "no"), ("y", "y"), ("1:30", "1:30"),
    ("190:20:30.15", "190:20:30.15"), ("2026-11-27", "2026-11-27"), ("2026-13-45", "2026-13-45"),
    ("=", "="), ("_1", "_1"), ("-_", "-_"), ("1.2.3", "1.2.3"), ("0o8", "0o8"), ("inf", "inf"),
    ("'010'", "010"), ('"true"', "true"), ("'<<'", "<<"),
])  # fmt: skip
def test_words_of_the_core_schema(word: str, value: Any) -> None:
    found = load(f"a: {word}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_lists_mappings_comments_and_an_end() -> None:
    text = "\ufeff# c\na: [1, {b: c}]\nd:\n- - e\nf: |\n  g\n  h\nk: {l, m}\n...\n"
    assert load(text) == {
        "a": [1, {"b": "c"}], "d": [["e"]], "f": "g\nh\n", "k": {"l": None, "m": None}
    }  # fmt: skip
    assert load("") is load("# only a comment\n") is load(b"---\n...\n") is None
    assert load("%YAML 1.2\n---\na: &x 1\n") == {"a": 1}


@each(("content", "line"), [
    ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' occurs twice, first in line 1"),
    ("{a: 1,\n 'a': 2}", "line 2: the key 'a' occurs twice, first in line 1"),
    ("a: 1\n10: 2\n", "line 2: field names must be text, not 10; write it in quotes"),
    ("null: 2\n", "line 1: field names must be text, not null; write it in quotes"),
    (": 2\n", "line 1: field names must be text, not nothing; write it in quotes"),
    ("a:\n  [b]: 1\n", "line 2: field names must be text, not a list"),
    ("? {b: c}\n: 1\n", "line 1: field names must be text, not a mapping"),
    ("a: &x 1\nb: *x\n", "line 2: YAML aliases (*name) are not used here"),
    ("a: *x\n", "line 1: YAML aliases (*name) are not used here"),
    ("*x : 1\n", "line 1: YAML aliases (*name) are not used here"),
    ("a: 1\nb: !!str 2\n", "line 2: YAML tags (!!str) are not used here; write the value alone"),
    ("! a: 1\n", "line 1: YAML tags (!) are not used here; write the value alone"),
    ("!!python/object:os.system {}", "line 1: YAML tags (!!python/object:os.system) are not "
     "used here; write the value alone"),
    ("a: 1\n<<: {b: 2}\n", "line 2: YAML merge keys (<<) are not used here; write the fields out"),
    ("%YAML 1.1\n---\na: 1\n", "line 1: %YAML 1.1: only YAML 1.2 is read; leave this line out"),
    ("a: 1\n---\nb: 2\n", "line 2: not valid YAML: another document begins here; a file has one"),
    ("a: 1\nb: \0\n", "line 2: not valid YAML: the character U+0000 is not text"),
    ('a: "\\ud800"\n', "line 1: the escape \\ud800 is half a character"),
    ('a: 1\nb: "\\U00110000"\n', "line 2: not valid YAML: an escape (\\U...) of no character"),
    ('a: "\\UFFFFFFFF"\n', "line 1: not valid YAML: an escape (\\U...) of no character"),
    (f"a: 1\nb: -{'9' * 5001}\n", "line 2: a number of 5,001 digits is too long; at most 640 are "
     "read"),
    (f"a: {'9' * 640}.9\n", "line 1: a number of 641 digits is too long; at most 640 are read"),
    (f"a: 0x{'f' * 5000}\n", "line 1: a number of 5,000 digits is too long; at most 640 are read"),
    (b"a: 1\nb: \xff\n", "line 2: not a text file (byte 8 is not UTF-8)"),
    ("a: 1\n\tb: 2\n", "line 2: not valid YAML: a tab stands here; indent with spaces"),
    (f"a: {'[' * 100_000}", "line 1: nested deeper than 40 levels"),
    ("- " * 100_000, "line 1: nested deeper than 40 levels"),
    ("a: {'" + "b\n" * 3, "line 4: not valid YAML: found unexpected end of stream"),
])  # fmt: skip
def test_one_mistake_is_one_line(content: bytes | str, line: str) -> None:
    assert mistakes(content) == [line]


def test_limits_are_those_asked_for() -> None:
    assert load("[[1]]", max_depth=2) == [[1]]
    assert mistakes("[[1]]", max_depth=1) == ["line 1: nested deeper than 1 levels"]
    assert load("a: 1", max_bytes=4) == {"a": 1}
    assert mistakes("a: 10", max_bytes=4) == [f"larger than 4 bytes; {HINT}"]
    assert load(f"a: {'9' * MAX_DIGITS}") == {"a": int("9" * MAX_DIGITS)}


def test_more_values_than_a_second_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_VALUES", 1_600)
    most = "a: [" + "1, " * 1_597 + "]"  # the mapping, its key and the list are values
    assert len(load(most)["a"]) == 1_597
    over = f"# larger\n{most}\nb: 1\n"
    assert mistakes(over) == [f"line 3: more than 1,600 keys and values; {HINT}"]
    monkeypatch.setenv(VARIABLE, "20000000")
    assert load(over)["b"] == 1


def test_all_repeated_keys_are_listed_up_to_twenty() -> None:
    assert mistakes("a: 1\na: 2\nb: {c: 1, c: 2}\n") == [
        "line 2: the key 'a' occurs twice, first in line 1",
        "line 3: the key 'c' occurs twice, first in line 3",
    ]
    assert len(mistakes("a: 1\n" * 30_000)) == 20
    (line,) = mistakes(f"? {'x' * 5000}\n: 1\n? {'x' * 5000}\n: 2\n")
    assert len(line) < 200


PIECES = [
    "a", "b: ", "- ", "[", "]", "{", "}", ", ", "\n", "\n  ", "? ", ": ", "'", '"', "&x ", "*x",
    "!t ", "!!int ", "!<a> ", "|\n", "> \n", "|2-\n ", "%YAML 1.2\n", "%TAG ! a\n", "---", "...",
    "\t", "#c\n", "\\x", "\\u00", "\\U", "1", "0x", "1e", "-", ".", "~", "<<: ", "=", "é", "\u2028",
    "\x85", "\ufeff", "\r", "\r\n", "@", "`", "%41", "\\\n", "null", "\0", "9" * 700,
]  # fmt: skip


def expect_data_or_lines(content: bytes | str) -> None:
    """A content is read as what JSON knows, or refused by lines with a number."""
    try:
        data = load(content)
    except YamlError as error:
        lines = [str(mistake) for mistake in error.mistakes]
        assert all(re.fullmatch(r"line \d+: .{1,300}", line) for line in lines), lines
        assert 1 <= len(lines) <= 20
    else:
        expect_plain(data)


def expect_plain(data: Any) -> None:
    """Nothing but text, numbers, truth values, null, lists, and mappings with text keys."""
    if isinstance(data, dict):
        assert all(type(key) is str for key in data)
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            expect_plain(item)
    else:
        assert data is None or type(data) in (str, int, float, bool)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_sequence_of_pieces_is_read_or_refused(text: str) -> None:
    expect_data_or_lines(text)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_content_is_read_or_refused(content: bytes | str) -> None:
    expect_data_or_lines(content)


STEPS = {
    "keys": lambda n: "".join(f"k{i}: 1\n" for i in range(n)),
    "items": lambda n: f"[{'1, ' * n}]",
    "items in lines": lambda n: "- 1\n" * n,
    "words": lambda n: "a: " + "x " * n,
    "lines of a text": lambda n: "a: x\n" + "  y\n" * n,
    "text in quotes": lambda n: "a: '" + "x\n\n " * n + "'",
    "escapes": lambda n: 'a: "' + "\\n" * n + '"',
    "anchors": lambda n: "".join(f"- &a{i} x\n" for i in range(n)),
    "repeated keys": lambda n: "k: 1\n" * n,
}


@each("name", STEPS)
def test_work_grows_no_faster_than_the_file(name: str) -> None:
    """Counts calls of functions, which no busy machine changes."""
    less, more = (calls(STEPS[name](size)) for size in (500, 2000))
    assert more <= 4.1 * less + 20_000


def calls(text: str) -> int:
    """Calls of Python functions while a text is read."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call" or event == "c_call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        load(text)
    except YamlError:
        pass
    finally:
        sys.setprofile(before)
    return count


def test_what_is_read_again_belongs_to_its_reader() -> None:
    text = "a: {b: [1, 2]}\n"
    for _ in range(2):
        load(text)["a"]["b"].append(3)
    assert load(text) == load(text.encode()) == {"a": {"b": [1, 2]}}


def test_what_is_read_again_is_not_parsed_again_and_may_be_too_deep() -> None:
    text = "a: {b: [1, 2]}\n"
    load(text)
    assert 10 * calls(text) < calls(text + "b: 1\n")
    load(text)
    assert load(text, max_depth=3) == load(text)
    for _ in range(2):
        assert mistakes(text, max_depth=2) == ["line 1: nested deeper than 2 levels"]
