"""The lines of fields: only who words a mistake asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from strict_yaml.reading import read_with_lines


class _Place(NamedTuple):
    """Where a value begins, or its key, and where its parts do, by key or number in the list."""

    line: int
    parts: dict[str, _Place]


def line_of(content: bytes | str, path: tuple[str, ...]) -> int | None:
    """The line of a field, or of the innermost around it that is there; None: none is.

    Args:
        content: What `strict_yaml.reading.load` reads without a mistake.
        path: Names of fields and numbers in lists; a name with dots may be several steps.
    """
    place, line = _places(content), None
    while path:
        for taken in range(len(path), 0, -1):
            if (inner := place.parts.get(".".join(path[:taken]))) is not None:
                place, line, path = inner, inner.line, path[taken:]
                break
        else:
            break
    return line


@lru_cache(maxsize=1)
def _places(content: bytes | str) -> _Place:
    """The places in a text."""
    data, lines = read_with_lines(content)
    return _place(data, iter(lines))


def _place(value: Any, lines: Iterator[int]) -> _Place:
    """The place of a value, whose line is the next, before those of its parts."""
    line = next(lines, 1)
    parts: dict[str, _Place] = {}
    if isinstance(value, list):
        parts = {str(at): _place(item, lines) for at, item in enumerate(value)}
    if isinstance(value, dict):
        for key, part in value.items():
            at = next(lines)
            parts[key] = _Place(at, _place(part, lines).parts)
    return _Place(line, parts)
