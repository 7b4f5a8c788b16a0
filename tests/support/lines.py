"""Messages about files with the line of each field checked and taken out."""

from __future__ import annotations

import re

_PLACED = re.compile(r"(?P<before>.*?)line (?P<line>\d+): (?P<field>[\w.\[\]-]+): (?P<after>.*)")


def without_lines(message: str, text: str) -> str:
    """A message whose lines name fields of a text, without the numbers of their lines.

    Each number is that of a line that holds the last of the field's names that the text has below
    the line of the name before it.
    """
    return "\n".join(_without(line, text.splitlines()) for line in message.split("\n"))


def _without(message: str, lines: list[str]) -> str:
    found = _PLACED.fullmatch(message)
    if found is None:
        return message
    assert int(found["line"]) in _reached(found["field"], lines), (message, lines)
    return f"{found['before']}{found['field']}: {found['after']}"


def _reached(field: str, lines: list[str]) -> set[int]:
    """Lines of the deepest name of a field, each at or below a line of the name around it."""
    reached, lines = {0}, [re.sub(r"(^|\s)#.*", "", line) for line in lines]
    for step in filter(None, re.split(r"[.\[\]]+", field)):
        first, key = min(reached), rf"(^|[\s{{,-])[\"']?{re.escape(step)}[\"']?\s*:"
        key += rf"|^\s*\?\s+[\"']?{re.escape(step)}[\"']?$"  # a long key has its own line
        if step.isdecimal():
            key += r"|^\s*-|\["
        deeper = {at for at, line in enumerate(lines, start=1) if re.search(key, line)}
        deeper = {at for at in deeper if at >= first}
        if not deeper:
            break
        reached = deeper
    return reached
