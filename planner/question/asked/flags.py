"""Fields of the question as flags of a command line, which ask it again, and read from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.base.commands import path_word
from planner.base.errors import InputError
from planner.base.messages import shortened, shown, too_long
from planner.base.numerals import lost, number_of
from planner.question.asked import BY_NAME
from planner.question.asked.field import Asked

ON = "on"
"""What turns on a switch whose flag takes a word."""


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
    if field.kind == "switch" and not (field.also and value):
        return [flag if value else field.off]
    if field.also and value is True:
        return [flag, ON]
    if field.kind in ("changes", "phases"):
        return [word for text in _repeated(field, value) for word in (flag, text)]
    if field.kind in ("texts", "choices"):
        texts = _choices(value) if field.kind == "choices" else _several(value)
        return [word for text in texts for word in (flag, text)]
    if field.kind == "sizes" and isinstance(value, Mapping):
        return [flag, ",".join(f"{path_word(name)}={_text(size)}" for name, size in value.items())]
    text = ",".join(_several(value))
    if field.names_a_file:
        text = path_word(text)
    return [flag, text] if text else []


def _repeated(field: Asked, value: Any) -> Sequence[str]:
    """The texts of changes or phases."""
    from planner.question.changes.texts import read_changes  # noqa: PLC0415  (pydantic; not for --help)
    from planner.question.run.phases import read_phases  # noqa: PLC0415

    texts: Sequence[str] = (read_changes if field.kind == "changes" else read_phases)(value)
    return texts


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


def field_in(field: Asked, value: Any) -> Any:
    """What a flag, or a form, says as text, as a field of a question; None: nothing."""
    if field.kind in ("share", "number"):
        return _number(value)
    if field.kind in ("words", "names"):
        return _names(value)
    if field.kind == "choices":
        return _fixes(value)
    return None if value == [] else value


def _names(text: str | None) -> list[str] | None:
    """`fsdp, tp` as its words."""
    return None if text is None else [name.strip() for name in text.split(",")]


def _fixes(texts: list[str] | None) -> dict[str, list[str]] | None:
    """`["pp=8,16"]` as `{"pp": ["8", "16"]}`."""
    if not texts:
        return None
    fixes: dict[str, list[str]] = {}
    problems = []
    for text in texts:
        name, equals, values = text.partition("=")
        field = name.strip().replace("-", "_")
        if not field or not equals or not values:
            problems.append(f"fix: {shown(text)} is not of the form FIELD=VALUES, e.g. pp=8")
            continue
        if field in fixes:
            both = shortened(",".join([*fixes[field], values]))
            problems.append(
                f"fix: {field} is given twice; write its values at once: {field}={both}"
            )
            continue
        fixes[field] = [value.strip() for value in values.split(",")]
        problems += _named_again(field, fixes[field])
    if problems:
        raise InputError("\n".join(problems))
    return fixes


def _named_again(field: str, values: list[str]) -> Iterator[str]:
    """What is said of values that name a field once more, as in tp=2,tp=4 and tp=2,pp=4."""
    parts = [value.rpartition("=") for value in values]
    names = [name.strip().replace("-", "_") for name, equals, _ in parts if equals]
    if names and {*names} == {field}:
        own = shortened(",".join(value for _, _, value in parts))
        yield f"fix: {field} is named more than once; write its values at once: {field}={own}"
    elif names:
        other = next(value for value in values if "=" in value)
        yield f"fix: {field}: {shown(other)} names another field; give each a --fix of its own"


def _number(text: str | None) -> float | str | None:
    """The number in a flag without a unit; text that is none, for the validation to refuse."""
    if text is None or too_long(text) or lost(text):
        return text
    try:
        return number_of(text)
    except ValueError:
        return text
