"""The block `defaults` of a model file: provenance for numbers that do not state their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from models_db.checks import Mistake, numbers

_KEYS = ("kind", "source", "note")


def fill_in_defaults(data: Mapping[str, Any]) -> frozenset[str]:
    """Give every number without own kind, source or note those of the block `defaults`.

    Args:
        data: plain data of a model file; its numbers are changed in place.

    Returns:
        Dotted paths of what was filled in, such as "layers.kind".
    """
    defaults = data.get("defaults")
    block = defaults if isinstance(defaults, Mapping) else {}
    given = {key: block[key] for key in _KEYS if key in block}
    inherited: set[str] = set()
    for path, number in numbers(data):
        for key, value in given.items():
            if isinstance(number, dict) and key not in number:
                number[key] = value
                inherited.add(f"{path}.{key}")
    return frozenset(inherited)


def blame_defaults(mistakes: Sequence[Mistake], inherited: Collection[str]) -> list[Mistake]:
    """Report a mistake that numbers inherit from `defaults` there, and once.

    Args:
        mistakes: pairs of path and what is wrong.
        inherited: what `fill_in_defaults` returned.

    Returns:
        The mistakes in the same order, each pair once.
    """
    moved: dict[Mistake, None] = {}
    for path, text in mistakes:
        moved[(_origin_of(path, inherited), text)] = None
    return list(moved)


def _origin_of(path: str, inherited: Collection[str]) -> str:
    """Where in the file a path comes from: itself, or the same key of `defaults`."""
    steps = path.split(".")
    for end, step in enumerate(steps):
        owner = ".".join(steps[:end])
        inherits = f"{owner}.{step}" in inherited
        if inherits or (step == "note" and f"{owner}.kind" in inherited):
            return ".".join(["defaults", *steps[end:]])
    return path
