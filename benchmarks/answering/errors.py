"""File, line and field of an error message, read from the words that it begins with."""

from __future__ import annotations

import re
from typing import Any

_FILE = re.compile(r"[^\s:]+\.(ya?ml|json|csv|toml|sh|xml|txt|npy|gz|graphml|edgelist|adjlist)")
_FIELD = re.compile(r"-{0,2}[A-Za-z_][\w-]*([.\[][\w\].-]+)*")
_LINE = re.compile(r"\bline (\d+)")
_ENTRY = re.compile(r"(entry|row) \d+.*")


def place_of(message: str) -> dict[str, Any]:
    """Where a message says the mistake is: those of `file`, `line` and `field` that it names.

    >>> place_of("error: job.yaml: chips: tpu-v5p cannot give 13 chips")
    {'file': 'job.yaml', 'field': 'chips'}
    >>> place_of("error: runs.csv line 3 (a): n_chips: 0 is no number of chips")
    {'file': 'runs.csv', 'line': 3, 'field': 'n_chips'}
    """
    found: dict[str, Any] = {}
    for part in message.removeprefix("error: ").split(": ")[:-1]:
        if file := _FILE.match(part):
            found.setdefault("file", file[0])
        elif _FIELD.fullmatch(part):
            found.setdefault("field", part)
        elif not (_LINE.match(part) or _ENTRY.fullmatch(part)):
            break
        if line := _LINE.search(part):
            found.setdefault("line", int(line[1]))
    if "line" not in found and (line := _LINE.search(message)):
        found["line"] = int(line[1])
    return {name: found[name] for name in ("file", "line", "field") if name in found}
