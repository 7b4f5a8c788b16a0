"""How mistakes are worded: values as YAML shows them, nearest names, one short line per mistake."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.numerals import is_digits
from strict_yaml.text import YamlText

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_NUMBER = 640  # digits; Python reads so many whatever its settings
MOST_MISTAKES = 10  # that are said at once
MOST_UNKNOWN = 3  # of the fields of one file that nothing knows, or that a row has not
_LONGEST = 60
_MOST = 4
_DEEPEST = 2
_BITS = 256
_LONG_WORD = re.compile(r"\S{300,}")
_LONGEST_LINE = 800
_MOST_DIGITS = 8  # beyond the usual ones
_REST = re.compile(r"(?:.*: )?and (?:([0-9,]{1,12}) )?more(?: [a-z ]{1,40})?")


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
    if isinstance(value, list | tuple | dict) or (value and isinstance(value, set | frozenset)):
        return _shown_collection(value, depth)
    text = one_line(str(value))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _alike(value: object) -> tuple[str, str]:
    """What members of a set are sorted by: their own order is another in each process."""
    return shown(value), str(value)


def _shown_collection(value: Collection[Any], depth: int) -> str:
    opening, closing = "[]" if isinstance(value, list | tuple) else "{}"
    if depth >= _DEEPEST:
        return f"{opening}...{closing}" if value else opening + closing
    first = sorted(value, key=_alike) if isinstance(value, set | frozenset) else list(value)
    if isinstance(value, dict):
        parts = [f"{shown(key, _DEEPEST)}: {shown(value[key], depth + 1)}" for key in first[:_MOST]]
    else:
        parts = [shown(item, depth + 1) for item in first[:_MOST]]
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


def readable(text: str) -> str:
    """Text of several lines that steers no terminal: only its ends of lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text
    )


def too_long(number: str) -> str:
    """What is said of a number with more digits than any that can be meant, else nothing."""
    digits = sum(is_digits(char) for char in number)
    if digits <= LONGEST_NUMBER:
        return ""
    return f"a number of {digits:,} digits is too long; at most {LONGEST_NUMBER} are read"


def shortened(text: str) -> str:
    """Text whose very long words, such as a file name of 5,000 characters, lose their middle."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST]}...{word[0][-_LONGEST:]}", text)


def clipped(line: str) -> str:
    """A line that loses its middle where it is far longer than any message."""
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else f"{line[:half]} ... {line[-half:]}"


def first_lines(lines: Sequence[str], most: int = MOST_MISTAKES, unread: int = 0) -> list[str]:
    """The first lines, and how many mistakes there are beside them.

    Args:
        lines: One per mistake; the last may say already how many there are beside it.
        most: Lines that are kept.
        unread: Further mistakes, for which there are no lines.

    >>> first_lines(["a", "b", "c"], most=2)
    ['a', 'b', 'and 1 more mistake']
    >>> first_lines(["a", "b", "c", "and 7 more mistakes"], most=2)
    ['a', 'b', 'and 8 more mistakes']
    """
    kept, left = list(lines[:most]), list(lines[most:])
    if left and (told := _REST.fullmatch(left[-1])):
        if len(left) == 1 and not unread:
            return list(lines)
        unread += int((told[1] or "1").replace(",", "")) - 1
    more = len(left) + unread
    rest = [f"and {more:,} more mistake{'s' * (more > 1)}"] if more else []
    return [*kept, *rest]


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def distinguished(value: float, limit: float, told: Callable[[float, int], str]) -> tuple[str, str]:
    """Two numbers that differ, with as many digits as it takes to tell them apart.

    Args:
        value, limit: The numbers.
        told: Words for one, with so many digits beyond the usual ones.
    """
    pairs = ((told(value, more), told(limit, more)) for more in range(_MOST_DIGITS))
    usual = next(pairs)
    return next((pair for pair in (usual, *pairs) if pair[0] != pair[1]), usual)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean 'dp' or 'pp'?`: the nearest names, or nothing where none is near."""
    near = nearest(word, names)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """The names that are spelled most like a word, if any is; capitals count as small letters."""
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  (only when wrong)

    short = word[:_LONGEST].lower()
    small = {name: name.lower() for name in names}
    near = get_close_matches(short, sorted(set(small.values())), n=_MOST)
    likeness = {name: SequenceMatcher(None, name, short).ratio() for name in near}
    best = {name for name in near if likeness[name] == max(likeness.values())}
    return sorted(name for name, folded in small.items() if folded in best)


def repeated(names: Iterable[str]) -> list[str]:
    """The names that stand more than once, each in its first place.

    >>> repeated(["tp", "dp", "tp"])
    ['tp']
    """
    return [name for name, count in Counter(names).items() if count > 1]


def not_one_of(value: object, names: Iterable[str], hinted: Iterable[str] = ()) -> str:
    """`'gpip' is not one of gpipe, 1f1b; did you mean 'gpipe'?`.

    Args:
        value: What was given.
        names: What is allowed.
        hinted: Words that are not, whose refusal says more: what is misspelt may mean them too.
    """
    allowed = list(names)
    hint = did_you_mean(value, [*allowed, *hinted]) if isinstance(value, str) else ""
    return f"{shown(value)} is not one of {', '.join(allowed)}{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where values come from, so that a message names each as it was written.

    Attributes:
        file: The file they are in; empty: all are arguments.
        section: What precedes their names in the file, e.g. "job.".
        arguments: Those that were given beside the file.
        dashes: Arguments are flags of the command line, written with dashes.
        content: Of the file, which messages then name the line in; empty: they do not.
    """

    file: str = ""
    section: str = ""
    arguments: frozenset[str] = frozenset()
    dashes: bool = False
    content: bytes | str = b""

    def label(self, path: Sequence[int | str]) -> str:
        """`seq-len` for a flag, `job.yaml: line 2: seq_len` in a file, `seq_len` in Python."""
        first, *rest = [one_line(str(step))[:_LONGEST] for step in path] or ["file"]
        if self.file and first not in self.arguments:
            text = YamlText(one_line(self.file), self.content)
            place = text.at([*self.section.split(".")[:-1], *path])
            return f"{place}: {self.section}{'.'.join([first, *rest])}"
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

    def needed(self, found: T | None) -> T:
        """What an attempt returned, once all were made.

        Raises:
            InputError: That attempt or another failed; all mistakes.
        """
        if found is None or self.problems:
            raise self.error()
        return found

    def error(self) -> InputError:
        """All of them."""
        return InputError("\n".join(self.problems))
