"""What a text looks like, before it is read, and values in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_BLANKS = r"[^\S\n]"  # of one line
_COMMAND = re.compile(
    rf"^{_BLANKS}*+(?:[A-Z_][A-Z0-9_]*+=\S*+{_BLANKS}++)*"
    r"(torchrun|srun|tune\s+run|\w+\s+launch|mpirun|python3?|xpk|pdsh)\s",
    re.M,
)
_SCRIPTS = re.compile(r"(?<![\w-])[\w-]+\.sh\b")  # from the start of a word: linear in its length
_MOST = 16  # scripts that start one another
_ARGUMENT = re.compile(rf"^{_BLANKS}*+--[a-z][\w-]+", re.M)


def looks_like_shell(text: str) -> bool:
    """Whether a text is a script or arguments, by its first line or its commands."""
    return text.startswith(("#!", "--")) or bool(_COMMAND.search(text) or _ARGUMENT.search(text))


def with_scripts(text: str, beside: Callable[[str], str | None]) -> str:
    """A script with those that it starts and that lie beside it; other texts as they are.

    Args:
        text: The text.
        beside: The text of a file; None: it does not lie there.
    """
    found, seen = [text], set[str]()
    for one in found if looks_like_shell(text) else ():  # which grows
        for name in _SCRIPTS.findall(one):
            if name not in seen and len(found) < _MOST and (other := beside(name)):
                found.append(other)
            seen.add(name)
    return "\n".join(found)


def inside(data: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; None where there is none.

    >>> inside({"a": {"b": 3}}, "a.b"), inside({"a": 1}, "a.b")
    (3, None)
    """
    value: Any = data
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def section(data: Any, path: str = "") -> Mapping[str, Any]:
    """The mapping at a dotted path; an empty one where there is something else."""
    found = inside(data, path) if path and isinstance(data, Mapping) else data
    return found if isinstance(found, Mapping) else {}


def whole(value: Any) -> int | None:
    """A whole number from 1; None: it is something else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1 << 31:
        return None
    return value
