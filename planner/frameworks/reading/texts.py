"""What a text looks like, before it is read, and values in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_COMMAND = re.compile(
    r"^\s*(torchrun|srun|tune\s+run|\w+\s+launch|mpirun|python3?|xpk|pdsh)\s", re.M
)
_ARGUMENT = re.compile(r"^\s*--[a-z][\w-]+", re.M)


def looks_like_shell(text: str) -> bool:
    """Whether a text is a script or arguments, by its first line or its commands."""
    return text.startswith(("#!", "--")) or bool(_COMMAND.search(text) or _ARGUMENT.search(text))


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
