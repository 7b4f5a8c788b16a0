"""The lines of fields, read from a text once more: only who words a mistake asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from ruamel.yaml import events as ev

from strict_yaml.reading import events_of, line_in


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
    text = content if isinstance(content, str) else content.decode("utf-8")
    events = (
        event
        for event in events_of(text)
        if isinstance(event, ev.NodeEvent | ev.CollectionEndEvent)
    )
    return _place(next(events), events)


def _place(event: Any, events: Iterator[Any]) -> _Place:
    """The place of the value that an event begins."""
    parts: dict[str, _Place] = {}
    if isinstance(event, ev.SequenceStartEvent):
        for at in count():
            if isinstance(item := next(events), ev.SequenceEndEvent):
                break
            parts[str(at)] = _place(item, events)
    if isinstance(event, ev.MappingStartEvent):
        while not isinstance(key := next(events), ev.MappingEndEvent):
            value = _place(next(events), events)
            parts[key.value] = _Place(line_in(key), value.parts)
    return _Place(line_in(event), parts)
