"""From the text of a YAML file to plain data; what is not clean YAML 1.2 is refused by its line.

Refused are aliases and deep nesting (a small file can make them large), tags and merge keys (they
change what a value is), keys that occur twice or are no text, a second document, `%YAML 1.1`,
numbers of very many digits, more values than a second reads, and halves of characters. The time is
proportional to the size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml import events as ev
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import Reader, ReaderError

from strict_yaml.errors import Mistake, YamlError
from strict_yaml.json_text import json_data, json_lines
from strict_yaml.limits import HINT, larger_than, largest, raised
from strict_yaml.scalars import CoreResolver

MAX_BYTES = 10 * 2**20
MAX_DEPTH = 40
MAX_VALUES = 16_000  # and keys, which take a second; any number where larger files are allowed
MAX_DIGITS = 640  # of a number; Python reads so many whatever its settings
_MOST = 20  # mistakes that are listed
_LONGEST = 200  # characters of a mistake
_LONGEST_WORD = 60
_TABS = "a tab stands here; indent with spaces"
_HALF = re.compile("[\ud800-\udfff]")
_MERGE = "<<"
_SHORT = 2**20  # characters of a text whose data are kept


class _Clean(NamedTuple):
    """What a text without a mistake holds.

    Attributes:
        data: The data of its document; None where it is empty.
        depth: How deep they are nested.
        lines: Where values and keys begin, in the order of the text; None: of JSON, not known yet.
    """

    data: Any
    depth: int
    lines: list[int] | None


_last: dict[str, _Clean] = {}
"""The last text that was clean: who learns that a record is wrong reads its file again to see what
it is instead, and asks for the lines of its fields."""


def load(content: bytes | str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """The data in the content of a YAML file; None where it is empty.

    Raises:
        YamlError: Too large, not UTF-8, not YAML, or something that is not read here.
    """
    limit = largest(max_bytes)
    if len(content) > limit:
        _refuse(None, larger_than(limit))
    text = content if isinstance(content, str) else _decoded(content)
    kept = _last.get(text)
    if kept is not None and kept.depth <= max_depth:
        return deepcopy(kept.data)
    most = math.inf if raised() else MAX_VALUES
    found = _of_json(text, max_depth) or _read(text, max_depth, most)
    if len(text) <= _SHORT:
        _last.clear()
        _last[text] = found._replace(data=deepcopy(found.data))
    return found.data


def read_with_lines(content: bytes | str) -> tuple[Any, list[int]]:
    """The data of a text that `load` reads, and the lines of its values and keys in their order.

    The data are not to be changed.
    """
    text = content if isinstance(content, str) else _decoded(content)
    kept = _last.get(text) or _of_json(text, len(text)) or _read(text, max_depth=len(text))
    if kept.lines is None:
        kept = kept._replace(lines=json_lines(text))
    _last.clear()
    _last[text] = kept
    return kept.data, kept.lines or []


def _of_json(text: str, max_depth: int) -> _Clean | None:
    """What a text of JSON holds; None: it is none, or is deeper than it may be."""
    found = json_data(text)
    if found is None or found[1] > max_depth:
        return None
    return _Clean(found[0], found[1], None)


def _read(text: str, max_depth: int, max_values: float = math.inf) -> _Clean:
    builder = _Builder(text, max_depth, max_values)
    data = builder.document()
    if builder.mistakes:
        raise YamlError(builder.mistakes)
    return _Clean(data, builder.deepest, builder.lines)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"not a text file (byte {error.start} is not UTF-8)"
    _refuse(line, problem)


def _refuse(line: int | None, problem: str) -> NoReturn:
    raise YamlError([Mistake(line, problem)])


def _invalid(line: int | None, problem: str) -> NoReturn:
    words = " ".join(problem.split())
    _refuse(line, f"not valid YAML: {words[:_LONGEST]}")


class _Reader(Reader):
    """Keeps the line where reading ended, for errors that do not tell it."""

    last_line = 0

    def reset_reader(self) -> None:
        self.last_line = getattr(self, "line", 0)
        super().reset_reader()


def _parser() -> YAML:
    """What ruamel.yaml has to read with: pure Python, the core schema."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Reader = _Reader
    yaml.Resolver = CoreResolver
    return yaml


def _events_of(text: str, yaml: YAML) -> Iterator[Any]:
    """What the parser of ruamel.yaml finds; its errors in our form.

    Args:
        text: The whole file.
        yaml: That which also resolves and constructs.

    Raises:
        YamlError: It is not YAML.
    """
    text = text.removeprefix("\ufeff")
    try:
        yield from yaml.parse(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        _invalid(line, f"the character U+{error.character:04X} is not text")
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else yaml.reader.last_line + 1
        problem = str(error.problem or error.context)
        _invalid(line, _TABS if "'\\t' that cannot start" in problem else problem)
    except YAMLError as error:
        _invalid(yaml.reader.last_line + 1, str(error))
    except (ValueError, OverflowError):  # of chr()
        _invalid(yaml.reader.last_line + 1, "an escape (\\U...) of no character")


def _line_of(event: Any) -> int:
    """The line in which an event begins, from 1."""
    return int(event.start_mark.line) + 1


def _shown(text: str) -> str:
    """A word of the file in quotes, cut short."""
    return repr(text if len(text) <= _LONGEST_WORD else text[:_LONGEST_WORD] + "...")


def _number_of_digits(number: str) -> int:
    unsigned = number.lstrip("+-")
    if unsigned[:2] in ("0x", "0o", "0b"):
        return sum(map(str.isalnum, unsigned[2:]))
    return sum(map(str.isdigit, unsigned))


class _Builder:
    """Data from events, and the mistakes that need not end the reading."""

    def __init__(self, text: str, max_depth: int, max_values: float) -> None:
        self.mistakes: list[Mistake] = []
        self.deepest = 0
        self.lines: list[int] = []
        self._text = text
        self._yaml = _parser()
        self._events = _events_of(text, self._yaml)
        self._max_depth = max_depth
        self._max_values = max_values

    def document(self) -> Any:
        """The data of the only document.

        Raises:
            YamlError: Something after which nothing is read.
        """
        next(self._events)  # the start of the stream
        start = next(self._events)
        if isinstance(start, ev.StreamEndEvent):
            return None
        version = start.version and tuple(start.version[:2])
        if version not in (None, (1, 2)):
            said = ".".join(map(str, version))
            lines = self._text.splitlines()
            at = next((at for at, line in enumerate(lines, 1) if line.startswith("%YAML")), 1)
            _refuse(at, f"%YAML {said}: only YAML 1.2 is read; leave this line out")
        data = self._value(next(self._events), depth=0)
        next(self._events)  # the end of the document
        following = next(self._events)
        if not isinstance(following, ev.StreamEndEvent):
            _invalid(_line_of(following), "another document begins here; a file has one")
        return data

    def _found(self, event: Any, problem: str) -> None:
        self.mistakes.append(Mistake(_line_of(event), problem))
        if len(self.mistakes) == _MOST:
            raise YamlError(self.mistakes)

    def _value(self, event: Any, depth: int) -> Any:
        self.lines.append(_line_of(event))
        if len(self.lines) > self._max_values:
            _refuse(_line_of(event), f"more than {self._max_values:,} keys and values; {HINT}")
        if isinstance(event, ev.AliasEvent):
            _refuse(_line_of(event), "YAML aliases (*name) are not used here")
        if event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")[:_LONGEST_WORD]
            _refuse(_line_of(event), f"YAML tags ({tag}) are not used here; write the value alone")
        if isinstance(event, ev.ScalarEvent):
            return self._scalar(event)
        if depth == self._max_depth:
            _refuse(_line_of(event), f"nested deeper than {self._max_depth} levels")
        self.deepest = max(self.deepest, depth + 1)
        if isinstance(event, ev.SequenceStartEvent):
            return self._list(depth + 1)
        return self._mapping(depth + 1)

    def _list(self, depth: int) -> list[Any]:
        items = []
        while not isinstance(event := next(self._events), ev.SequenceEndEvent):
            items.append(self._value(event, depth))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self._events), ev.MappingEndEvent):
            key = self._key(event, depth)
            value = self._value(next(self._events), depth)
            if key is None:
                continue
            if key in fields:
                where = f"first in line {lines[key]}"
                self._found(event, f"the key {_shown(key)} occurs twice, {where}")
            else:
                fields[key], lines[key] = value, _line_of(event)
        return fields

    def _key(self, event: Any, depth: int) -> str | None:
        """The name of a field, or None where it is none."""
        key = self._value(event, depth)
        if not isinstance(event, ev.ScalarEvent):
            kind = "a list" if isinstance(key, list) else "a mapping"
            _refuse(_line_of(event), f"field names must be text, not {kind}")
        if event.implicit[0] and key == _MERGE:
            _refuse(_line_of(event), "YAML merge keys (<<) are not used here; write the fields out")
        if isinstance(key, str):
            return key
        word = event.value[:_LONGEST_WORD] or "nothing"
        self._found(event, f"field names must be text, not {word}; write it in quotes")
        return None

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        tag = self._yaml.resolver.resolve(ScalarNode, text, event.implicit)
        kind = str(tag).rpartition(":")[2]
        if kind == "str":
            if not text.isascii() and (half := _HALF.search(text)):
                self._found(event, f"the escape \\u{ord(half[0]):04x} is half a character")
            return text
        if kind in ("int", "float") and (digits := _number_of_digits(text)) > MAX_DIGITS:
            problem = f"a number of {digits:,} digits is too long; at most {MAX_DIGITS} are read"
            self._found(event, problem)
            return 0
        constructor = self._yaml.constructor
        return constructor.yaml_constructors[str(tag)](constructor, ScalarNode(tag, text))
