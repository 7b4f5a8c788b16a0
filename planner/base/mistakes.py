"""What pydantic found wrong, in the words of messages: the value, what must hold, the nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from planner.base.messages import (
    MOST_MISTAKES,
    MOST_UNKNOWN,
    did_you_mean,
    first_lines,
    nearest,
    not_one_of,
    shown,
)

if TYPE_CHECKING:
    from pydantic import ValidationError

_WHOLE = 1e15


def mistakes(
    error: ValidationError,
    label: Callable[[Sequence[int | str]], str],
    known: Iterable[str],
    words: Callable[[str, float], str] | None = None,
) -> list[str]:
    """What pydantic found, one line for each of the first mistakes.

    Args:
        error: What validation raised.
        label: From the path of a value to its name for the user, e.g. `Origin.label`.
        known: Names of fields, for suggestions; of the fields of a form both ends are said.
        words: Of a number that a field has, or may have at most; empty: it is told as it is.
    """
    names = list(known)
    found = error.errors(include_url=False)
    meant = set(_misspelt(found, names))
    said = [item for item in found if item["type"] != "missing" or item["loc"] not in meant]
    unknown = [at for at, item in enumerate(said) if item["type"] == "extra_forbidden"]
    unsaid = set(unknown[MOST_UNKNOWN:])
    said = [item for at, item in enumerate(said) if at not in unsaid]
    lines: dict[str, None] = {}
    for item in said[:MOST_MISTAKES]:
        name = label([step for step in item["loc"] if step != "[key]"])
        sentence = _beyond(item, words) or _sentence(item, names)
        sentence += _other_end(item, words, known) if isinstance(known, Mapping) else ""
        lines |= {f"{name}: {text}": None for text in sentence.split("\n")}
    return first_lines(list(lines), unread=len(said[MOST_MISTAKES:]) + len(unsaid))


def misspelt(error: ValidationError, known: Iterable[str]) -> set[str]:
    """Fields at the top that are there under a name that is not quite theirs."""
    found = _misspelt(error.errors(include_url=False), list(known))
    return {str(path[0]) for path in found if len(path) == 1}


def _misspelt(items: Iterable[Any], known: list[str]) -> Iterator[tuple[int | str, ...]]:
    """Paths of the fields that unknown ones stand for: such a field is not missing as well.

    Only the first unknown fields are looked at, as many as are said.
    """
    unknown = (item["loc"] for item in items if item["type"] == "extra_forbidden")
    for *outer, word in islice(unknown, MOST_UNKNOWN):
        yield from ((*outer, name) for name in nearest(str(word), known))


_WANTED = {
    "bool": "must be true or false",
    "dict": "must be a mapping of fields to values",
    "float": "must be a number",
    "int": "must be a whole number",
    "list": "must be a list",
    "model": "must be a mapping of fields to values",
    "string": "must be text",
    "tuple": "must be a list",
}
_LIMITS = {
    "greater_than": ("gt", "must be greater than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
    "multiple_of": ("multiple_of", "must be a multiple of"),
}
_SIZES = {
    "too_short": ("min_length", "at least", ("entry", "entries")),
    "too_long": ("max_length", "at most", ("entry", "entries")),
    "string_too_short": ("min_length", "at least", ("character", "characters")),
    "string_too_long": ("max_length", "at most", ("character", "characters")),
}
_OTHERS = {
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "is not written as it has to be here",
    "string_unicode": "must be text",
}


def _as_typed(value: object) -> object:
    """A whole number that was read as a floating-point one as the whole number that it was."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE
    return int(value) if isinstance(value, float) and whole else value


def _beyond(item: Any, words: Callable[[str, float], str] | None) -> str:
    """That a number is beyond a limit, both in words of their own; empty: there are none."""
    if words is None or item["type"] not in _LIMITS:
        return ""
    key, rule = _LIMITS[item["type"]]
    name = str(item["loc"][0])
    value, limit = words(name, item["input"]), item["ctx"][key]
    return f"{value}: {rule} {_end(name, limit, words)}" if value else ""


def _end(name: str, limit: float, words: Callable[[str, float], str] | None) -> str:
    told = words(name, limit) if words else ""
    return told or (f"{limit:,}" if isinstance(limit, int) else f"{limit:,.15g}")


def _other_end(
    item: Any,
    words: Callable[[str, float], str] | None,
    known: Mapping[str, Any],
) -> str:
    """` and at most 3; nearest: 1`: what else must hold of a number that is beyond a limit."""
    if item["type"] not in _LIMITS or len(item["loc"]) != 1:
        return ""
    name, (key, _) = str(item["loc"][0]), _LIMITS[item["type"]]
    if abs(item["ctx"][key]) >= _WHOLE:  # of any number, for the sake of arithmetic
        return ""
    found = ends_of(known.get(name))
    others = [
        f" and {rule.removeprefix('must be ')} {_end(name, found[end], words)}"
        for end, rule in _LIMITS.values()
        if end in found and end[0] != key[0] and abs(found[end]) < _WHOLE
    ]
    near = f"; nearest: {_end(name, item['ctx'][key], words)}" if key in ("ge", "le") else ""
    return "".join(others) + near


def _sentence(item: Any, known: list[str]) -> str:
    """What is wrong with one value."""
    kind, value, context = item["type"], _as_typed(item["input"]), item.get("ctx", {})
    if kind == "extra_forbidden":
        word = str(item["loc"][-1])
        return f"unknown field{did_you_mean(word, known)}"
    if kind == "missing":
        return "is missing"
    if kind == "worded":
        return str(context["text"])
    if kind == "value_error":
        text = str(context["error"])
        return text if shown(value) in text else f"{shown(value)}: {text}"
    if kind == "literal_error":
        names = context["expected"].replace(" or ", ", ").split(", ")
        return not_one_of(value, [name.strip("'") for name in names])
    large = kind == "float_type" and isinstance(value, int) and not isinstance(value, bool)
    return f"{shown(value)}{' is too large' if large else f': {_wanted(kind, context)}'}"


def _wanted(kind: str, context: dict[str, Any]) -> str:
    """What must hold, e.g. `must be at least 1`; never in the words of the library."""
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return f"{words} {_end('', context[key], None)}"
    if kind in _SIZES:
        key, words, nouns = _SIZES[kind]
        return f"must have {words} {context[key]:,} {nouns[context[key] != 1]}"
    if kind in _OTHERS:
        return _OTHERS[kind]
    return _WANTED.get(kind.split("_", maxsplit=1)[0], "cannot stand here")


def ends_of(hint: Any) -> dict[str, float]:
    """The limits in a type or a field, as pydantic names them: `{"ge": 1, "le": 3}`."""
    kinds = ("gt", "ge", "lt", "le")
    found = {name: getattr(hint, name) for name in kinds if hasattr(hint, name)}
    inner = (*get_args(hint), *getattr(hint, "metadata", ()), getattr(hint, "annotation", None))
    for part in inner:
        found |= {} if part is None else ends_of(part)
    return found
