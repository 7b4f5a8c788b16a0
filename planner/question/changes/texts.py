"""Changes as a question gives them: `memory.bandwidth=2x`, `levels.leaf.latency=2us`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.fields import refusal
from planner.base.messages import shown

_FACTOR = re.compile(
    r"\s*(-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|-?\.[0-9]+(?:[eE][+-]?[0-9]+)?)\s*x\s*"
)
_PATTERN = r"^[^=\s]+=[^=]+$"


@dataclass(frozen=True, slots=True)
class Change:
    """One change as it was written.

    Attributes:
        path: Of the field.
        value: Its new value as text, or a factor such as `2x`.
    """

    path: str
    value: str

    @property
    def factor(self) -> float | None:
        """How many times as large the field becomes; None: the value is given itself."""
        match = _FACTOR.fullmatch(self.value)
        return None if match is None else float(match[1])

    def __str__(self) -> str:
        return f"{self.path}={self.value}"


def changes_in(texts: tuple[str, ...]) -> tuple[Change, ...]:
    """Changes that `read_changes` has read."""
    return tuple(Change(*text.split("=", 1)) for text in texts)


def read_changes(given: Any) -> Any:
    """Texts of flags, or a mapping of a file or of Python, as texts `PATH=VALUE`.

    >>> read_changes({"memory.bandwidth": "2x"}), read_changes("pe.sram = 512KiB")
    (('memory.bandwidth=2x',), ('pe.sram=512KiB',))
    """
    if isinstance(given, Mapping):
        given = [f"{path}={_text(value)}" for path, value in given.items()]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        return given
    found: dict[str, str] = {}
    problems: list[str] = []
    for change in _changes(texts, problems):
        if change.path in found:
            problems.append(f"{change.path} is given twice")
        found[change.path] = str(change)
    if problems:
        raise refusal("\n".join(problems))
    return tuple(found.values())


def _changes(texts: list[str] | tuple[str, ...], problems: list[str]) -> Iterator[Change]:
    for text in texts:
        path, _, value = (part.strip() for part in text.partition("="))
        if path and value and not re.search(r"\s", path):
            yield Change(path, value)
        else:
            problems.append(f"{shown(text)} is not PATH=VALUE, e.g. memory.bandwidth=2x")


def _text(value: Any) -> str:
    """A value of a file as a flag has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return str(value)


def with_changes(texts: Any, more: Any) -> tuple[str, ...]:
    """Changes of a file with those of flags: of a field that both change the latter count.

    Raises:
        InputError: One of them cannot be read.
    """
    try:
        before, after = (changes_in(read_changes(one or ())) for one in (texts, more))
    except (TypeError, ValueError) as error:
        raise InputError(f"set: {error}") from error
    by_path = {change.path: str(change) for change in (*before, *after)}
    return tuple(by_path.values())


def changes_schema() -> dict[str, Any]:
    """The JSON Schema of changes."""
    text = {"type": "string", "pattern": _PATTERN}
    value = {"type": ["string", "number", "boolean", "array"]}
    return {
        "anyOf": [
            {"type": "array", "items": text},
            text,
            {"type": "object", "additionalProperties": value},
        ],
        "examples": [["memory.bandwidth=2x"], {"memory.bandwidth": "2x"}],
    }
