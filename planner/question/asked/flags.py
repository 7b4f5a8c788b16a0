"""Fields of the question as flags of a command line, which ask it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.question.asked import BY_NAME
from planner.question.asked.field import Asked
from planner.question.changes.texts import read_changes
from planner.question.run.phases import read_phases


def flags_of(fields: Mapping[str, Any]) -> list[str]:
    """`["--model", "llama3-8b", "--chips", "64"]`; fields that say nothing are left out.

    Args:
        fields: By name, as files, Python or flags give them.
    """
    words: list[str] = []
    for name, field in BY_NAME.items():
        value = fields.get(name)
        if value is not None:
            words += _flag(field, value)
    return words


def _flag(field: Asked, value: Any) -> list[str]:
    """The flag of a field with its value, or several where it is repeated."""
    flag = f"--{field.name.replace('_', '-')}"
    if field.kind == "switch":
        return [flag if value else flag.replace("--", "--no-", 1)]
    if field.kind == "changes":
        return [word for text in read_changes(value) for word in (flag, text)]
    if field.kind == "phases":
        return [word for text in read_phases(value) for word in (flag, text)]
    if field.kind in ("texts", "choices"):
        texts = _choices(value) if field.kind == "choices" else _several(value)
        return [word for text in texts for word in (flag, text)]
    if field.kind == "sizes" and isinstance(value, Mapping):
        return [flag, ",".join(f"{name}={_text(size)}" for name, size in value.items())]
    text = ",".join(_several(value))
    return [flag, text] if text else []


def _choices(values: Mapping[str, Any]) -> list[str]:
    """`pp=8,16`."""
    return [f"{name}={','.join(_several(value))}" for name, value in values.items()]


def _several(value: Any) -> list[str]:
    """One value or several as texts."""
    many = isinstance(value, Sequence) and not isinstance(value, str)
    return [*map(_text, value)] if many else [_text(value)]


def _text(value: Any) -> str:
    """A value as a flag takes it: whole numbers without a point, switches in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
