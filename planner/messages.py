"""How mistakes are worded: values as YAML shows them, nearest names, one short line per mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from planner.errors import InputError

if TYPE_CHECKING:
    from pydantic import ValidationError

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST = 60
_MOST = 4
_DEEPEST = 2
_BITS = 256
_LONG_WORD = re.compile(r"\S{300,}")


def shown(value: object, depth: int = 0) -> str:
    """A value as a YAML file shows it, cut short whatever it holds.

    >>> shown(None), shown(True), shown("80Gb"), shown([1, "a"])
    ('null', 'true', "'80Gb'", "[1, 'a']")
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else value[:_LONGEST] + "...")
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1} digits"
    if isinstance(value, list | tuple | dict):
        return _shown_collection(value, depth)
    text = one_line(str(value))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _shown_collection(value: list[Any] | tuple[Any, ...] | dict[Any, Any], depth: int) -> str:
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if depth >= _DEEPEST:
        return f"{opening}...{closing}" if value else opening + closing
    first = list(value)[:_MOST]
    if isinstance(value, dict):
        parts = [f"{shown(key, _DEEPEST)}: {shown(value[key], depth + 1)}" for key in first]
    else:
        parts = [shown(item, depth + 1) for item in first]
    more = ["..."] if len(value) > _MOST else []
    return opening + ", ".join(parts + more) + closing


def one_line(text: str) -> str:
    """Text without the characters that end a line: those are escaped."""
    if len(text.splitlines()) <= 1 and not text.endswith("\n"):
        return text
    return "".join(char if len(f"{char}.".splitlines()) == 1 else _escaped(char) for char in text)


def printable(text: str) -> str:
    """Text that neither ends a line nor steers a terminal: what is not printable is escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def shortened(text: str) -> str:
    """Text whose very long words, such as a file name of 5,000 characters, lose their middle."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST]}...{word[0][-_LONGEST:]}", text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean 'dp' or 'pp'?`: the nearest names, or nothing where none is near."""
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  (only when wrong)

    short = word[:_LONGEST]
    near = get_close_matches(short, sorted(set(names)), n=_MOST)
    likeness = {name: SequenceMatcher(None, name, short).ratio() for name in near}
    nearest = sorted(name for name in near if likeness[name] == max(likeness.values()))
    return f"; did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""


def not_one_of(value: object, names: Iterable[str]) -> str:
    """`'gpip' is not one of gpipe, 1f1b; did you mean 'gpipe'?`."""
    allowed = list(names)
    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    return f"{shown(value)} is not one of {', '.join(allowed)}{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where values come from, so that a message names each as it was written.

    Attributes:
        file: The file they are in; empty: all are arguments.
        section: What precedes their names in the file, e.g. "job.".
        arguments: Those that were given beside the file.
        dashes: Arguments are flags of the command line, written with dashes.
    """

    file: str = ""
    section: str = ""
    arguments: frozenset[str] = frozenset()
    dashes: bool = False

    def label(self, path: Sequence[int | str]) -> str:
        """`seq-len` for a flag, `job.yaml: seq_len` in a file, `seq_len` in Python."""
        first, *rest = [one_line(str(step))[:_LONGEST] for step in path] or ["file"]
        if self.file and first not in self.arguments:
            return f"{one_line(self.file)}: {self.section}{'.'.join([first, *rest])}"
        return ".".join([first.replace("_", "-") if self.dashes else first, *rest])

    def blame(self, line: str, fields: Container[str]) -> str:
        """A line `field: what is wrong` with the field named as it was written."""
        name, colon, text = line.partition(": ")
        field = name.replace("-", "_")
        return f"{self.label([field])}: {text}" if colon and field in fields else line


class Attempts:
    """Calls that may fail on bad input, so that all of their mistakes are reported at once."""

    def __init__(self, origin: Origin, fields: Container[str]) -> None:
        self.origin = origin
        self.fields = fields
        self.problems: list[str] = []

    def attempt(self, call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T | None:
        """What the call returns, or None where the input is bad."""
        try:
            return call(*given, **named)
        except InputError as error:
            self.add(str(error).split("\n"))
            return None

    def add(self, lines: Iterable[str]) -> None:
        """Notes mistakes, each named as the user wrote it."""
        self.problems += [self.origin.blame(line, self.fields) for line in lines]

    def error(self) -> InputError:
        """All of them."""
        return InputError("\n".join(self.problems))


def mistakes(
    error: ValidationError,
    label: Callable[[Sequence[int | str]], str],
    known: Iterable[str],
) -> list[str]:
    """What pydantic found, one line per mistake.

    Args:
        error: What validation raised.
        label: From the path of a value to its name for the user, e.g. `Origin.label`.
        known: Names of fields, for suggestions.
    """
    names = list(known)
    lines: dict[str, None] = {}
    for item in error.errors(include_url=False):
        name = label([step for step in item["loc"] if step != "[key]"])
        for text in _sentence(item, names).split("\n"):
            lines[f"{name}: {text}"] = None
    return list(lines)


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
_BOUNDS = {
    "greater_than": ("gt", "must be greater than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
}


def _sentence(item: Any, known: list[str]) -> str:
    """What is wrong with one value."""
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
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
    return f"{shown(value)}: {_wanted(kind, context, str(item['msg']))}"


def _wanted(kind: str, context: dict[str, Any], message: str) -> str:
    """What must hold, e.g. `must be at least 1`."""
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        bound = context[key]
        return f"{words} {bound:,}" if isinstance(bound, int) else f"{words} {bound:,.15g}"
    if kind == "finite_number":
        return "must be a finite number"
    if kind in ("too_short", "string_too_short"):
        return f"must have at least {context['min_length']} of them"
    stem = kind.split("_", maxsplit=1)[0]
    if stem in _WANTED:
        return _WANTED[stem]
    return one_line(message.replace("Input should be", "must be"))[: 2 * _LONGEST]
