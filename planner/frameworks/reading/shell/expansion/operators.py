"""What the operators of `${...}` do to a value that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.frameworks.reading.shell.expansion.patterns import Pattern

_LONGEST = 4096  # letters of a value that is cut
_LONGEST_LOOSE = 512  # of one in which pieces of any length are replaced
CUT = 64  # letters that each of them counts as, for an end may lie behind any


def cut(text: str, pattern: Pattern, sign: str) -> str | None:
    """Without the shortest or longest piece at an end; None: the value is too long for that."""
    if len(text) > _LONGEST:
        return None
    places = pattern.ends(text) if sign[0] == "#" else pattern.starts(text)
    if not places:
        return text
    if sign[0] == "#":
        return text[places[0 if sign == "#" else -1] :]
    return text[: places[0 if sign == "%" else -1]]


def replaced(text: str, pattern: Pattern, new: str, where: str) -> str | None:
    """With other text for the first (`/`), every (`//`), or an outer (`#`, `%`) piece.

    None: the value is too long for that.
    """
    if len(text) > (_LONGEST if pattern.is_plain else _LONGEST_LOOSE):
        return None
    if not text:
        return None if pattern.matches("") else text
    if not pattern.steps and where not in ("#", "%"):
        return text
    if where == "%":
        starts = pattern.starts(text)
        return text[: starts[-1]] + new if starts else text
    found: list[str] = []
    at = 0
    while at <= len(text):
        ends = pattern.ends(text, at)
        if ends and (ends[-1] > at or where == "#"):
            found.append(new)
            at = ends[-1]
            if where != "//" or at >= len(text):
                break
        elif where == "#" or at == len(text):
            break
        else:
            found.append(text[at])
            at += 1
    return "".join(found) + text[at:]


def cased(text: str, pattern: Pattern | None, sign: str) -> str | None:
    """With its first letter, or all (doubled sign), in capitals (`^`) or not (`,`)."""
    if not text.isascii() or len(text) > _LONGEST:
        return None
    change: Callable[[str], str] = str.upper if sign[0] == "^" else str.lower
    last = len(text) if len(sign) > 1 else 1
    if pattern is None:
        return change(text[:last]) + text[last:]
    some = [change(one) if pattern.matches(one) else one for one in text[:last]]
    return "".join(some) + text[last:]


def part(items: Sequence[str], start: int, count: int | None, least: int) -> Sequence[str] | None:
    """Some of several, or of the letters of a value; None: bash refuses it.

    Args:
        items: All.
        start: The number of the first; below zero from the end.
        count: How many; None: all.
        least: The number of the first of all: 1 of arguments.
    """
    if start < 0:
        start += len(items) + least
        if start < 0:
            return items[:0] if count is None or count >= 0 else None
    if start < least:
        return None  # `$0` is one of them
    first = start - least
    if count is None or count >= 0:
        return items[first : None if count is None else first + count]
    end = len(items) + count
    return items[first:end] if isinstance(items, str) and first <= end else None
