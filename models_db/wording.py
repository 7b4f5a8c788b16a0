"""Plain sentences for what the schema rejects."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from models_db.checks import Mistake
from models_db.errors import MOST_UNKNOWN, UNKNOWN, nearest
from models_db.schema import (
    DATE_PATTERN,
    FEED_FORWARDS_PATTERN,
    MIXERS_PATTERN,
    NAME_PATTERN,
    ONE,
    SEVERAL,
    SHA256_PATTERN,
    URL_PATTERN,
    ModelRecord,
)

_SHOWN = 40
_BITS = 2048  # longer whole numbers are not written out
_FORMS = {
    NAME_PATTERN: "lower-case letters and digits, joined by single . _ or -",
    URL_PATTERN: "an address that begins with http:// or https://",
    SHA256_PATTERN: "64 hexadecimal digits in lower case",
    DATE_PATTERN: "a date such as 2025-01-31",
    MIXERS_PATTERN: "the letters *, M, + and .",
    FEED_FORWARDS_PATTERN: "the letters -, E and .",
}


def schema_mistakes(error: ValidationError) -> list[Mistake]:
    """Word every mistake that pydantic found.

    Args:
        error: what `ModelRecord.model_validate` raised.

    Returns:
        Pairs of dotted path and sentence, in the order of the file's fields, each path once.
    """
    found: dict[str, str] = {}
    items = [
        (item, [step for step in item["loc"] if step not in (ONE, SEVERAL)])
        for item in error.errors(include_url=False)
    ]
    unknown = [steps for item, steps in items if item["type"] == "extra_forbidden"]
    meant = [
        [*steps[:-1], name]
        for steps in unknown[:MOST_UNKNOWN]  # as many as are said
        for name in _near_fields(steps)
    ]
    for item, steps in items:
        if item["type"] == "missing" and steps in meant:
            continue  # it is there, misspelt
        path = ".".join(str(step) for step in steps)
        unsaid = item["type"] == "extra_forbidden" and steps not in unknown[:MOST_UNKNOWN]
        found.setdefault(path, UNKNOWN if unsaid else _sentence(item, steps))
    return list(found.items())


# What belongs where pydantic finds something else, by the first word of its name for the mistake.
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
}
_MAPPING_ERRORS = ("model_type", "model_attributes_type", "dict_type")
_LIMITS = {
    "greater_than": ("gt", "must be more than", ""),
    "greater_than_equal": ("ge", "must be at least", ""),
    "less_than": ("lt", "must be less than", ""),
    "less_than_equal": ("le", "must be at most", ""),
    "string_too_short": ("min_length", "must have at least", " characters"),
    "string_too_long": ("max_length", "must have at most", " characters"),
    "too_short": ("min_length", "must have at least", " entries"),
    "too_long": ("max_length", "must have at most", " entries"),
}


def _sentence(item: Any, steps: Sequence[int | str]) -> str:
    """What is wrong at one place, and what is allowed there."""
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    wanted = _WANTED.get(kind.split("_", maxsplit=1)[0], "something else")
    text = f"{_shown(value)} where {wanted} belongs"
    if kind == "missing":
        text = "missing"
    elif kind == "extra_forbidden":
        text = _unknown_field(steps)
    elif kind in _MAPPING_ERRORS:
        text = f"{_shown(value)} where a mapping belongs ({_fields_at(steps)})"
    elif kind == "literal_error":
        text = _not_a_choice(value, context["expected"])
    elif kind in _LIMITS:
        key, words, unit = _LIMITS[kind]
        unit = _one(unit) if context[key] == 1 else unit
        text = f"{_shown(value)} is out of range; {words} {context[key]:,}{unit}"
    elif kind == "string_pattern_mismatch":
        form = _FORMS.get(context["pattern"], context["pattern"])
        text = f"{_shown(value)} does not have the right form: {form}"
    return text


def _one(unit: str) -> str:
    """A unit of what is one: ` entry` for ` entries`."""
    return {" entries": " entry", " characters": " character"}.get(unit, unit)


def _shown(value: object) -> str:
    """A short description of a wrong value."""
    if isinstance(value, str):
        text = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return f"the text {text!r}"
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > _BITS:
        return "a very long number"
    return str(value).lower() if isinstance(value, bool) else str(value)[:_SHOWN]


def _not_a_choice(value: object, expected: str) -> str:
    """Message for a word outside a fixed list."""
    words = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    near = nearest(value, words) if isinstance(value, str) else []
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{_shown(value)} is not allowed; allowed: {', '.join(words)}{hint}"


def _unknown_field(steps: Sequence[int | str]) -> str:
    """Message for a field that the schema does not have."""
    near, names = _near_fields(steps), _fields_beside(steps)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{UNKNOWN}; {hint}allowed here: {', '.join(names)}"


def _near_fields(steps: Sequence[int | str]) -> list[str]:
    """The field that an unknown one stands for, if there is one like it."""
    return nearest(str(steps[-1]), _fields_beside(steps))


def _fields_beside(steps: Sequence[int | str]) -> list[str]:
    """The fields that the mapping around a field may have."""
    record = _record_at(steps[:-1])
    return list(record.model_fields) if record else []


def _fields_at(steps: Sequence[int | str]) -> str:
    """What the mapping that belongs at a place looks like."""
    record = _record_at(steps)
    if record is None:
        return "of keys to entries"
    if "value" in record.model_fields:
        return "such as {value: ..., unit: ..., kind: ..., source: ...}"
    return "with " + ", ".join(record.model_fields)


def _record_at(steps: Sequence[int | str]) -> type[BaseModel] | None:
    """The schema class at a place of the file, or None."""
    record: type[BaseModel] | None = ModelRecord
    for step in steps:
        info = record.model_fields.get(str(step)) if record else None
        if info is None:
            # A key of `sources`, whose value is the record found there.
            continue
        record = _record_in(info.annotation)
    return record


def _record_in(annotation: object) -> type[BaseModel] | None:
    """The first schema class inside a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, dict, typing.Annotated):
        for part in typing.get_args(annotation):
            record = _record_in(part)
            if record is not None:
                return record
    return None
