"""Where brackets and quotes of shell text end."""

from __future__ import annotations

import re

from planner.base.errors import InputError

DEEPEST_NESTING = 64  # deeper than any script
DOCUMENT = re.compile(r"(?<!<)<<(?!<)(-?)[ \t]*(\\|['\"]?)(\w+)(['\"]?)")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_ESCAPED = re.compile(r"""\\.|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL
)
_ESCAPES = {
    "n": "\n", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f",
    "r": "\r", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def past_brackets(text: str, at: int, name: str) -> int | None:
    """Where the bracket closes that opens at a place; None: nowhere.

    In round ones quotes and documents are passed over.

    Raises:
        InputError: Brackets stand in it deeper than in any script; `name` is where it is.
    """
    opening = text[at]
    closing = {"(": ")", "{": "}", "[": "]"}[opening]
    depth, place = 0, at
    holds_documents = opening == "(" and not text.startswith("((", at)  # else << is of a sum
    while place < len(text):
        quotes = _QUOTED if opening == "(" else _ESCAPED
        if match := quotes.match(text, place):
            place = match.end()
            continue
        if holds_documents and text.startswith("((", place):
            end = past_brackets(text, place, name)
            if end is None:
                return None
            place = end + 1
            continue
        if holds_documents and (match := DOCUMENT.match(text, place)):
            closes = re.compile(rf"(?m)^[ \t]*{match[3]}$").search(text, match.end())
            place = closes.end() if closes else len(text)
            continue
        if opening == "{" and text.startswith("$(", place):
            place = (past_brackets(text, place + 1, name) or place) + 1
            continue
        opens = text[place] == opening and (opening != "{" or text[place - 1 : place] in ("$", ""))
        depth += (opens or place == at) - (text[place] == closing)
        if depth == 0:
            return place
        if depth > DEEPEST_NESTING:
            raise too_deep(name, opening)
        place += 1
    return None


def past_index(text: str, at: int) -> int | None:
    """Where the bracket closes that opens an index; None: nowhere.

    >>> past_index("A[B[0]+1]=2", 1)
    8
    """
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "[") - (text[place] == "]")
        if not depth:
            return place
    return None


def too_deep(name: str, what: str) -> InputError:
    """Says that something stands within itself too often; `name` is where."""
    return InputError(f"{name}: {what} is nested more than {DEEPEST_NESTING} deep")


def escaped(text: str) -> str:
    r"""What stands in $'...' or what `echo -e` prints.

    >>> escaped(r"a\x41")
    'aA'
    """
    return _ESCAPE.sub(_letter, text)


def _letter(match: re.Match[str]) -> str:
    kind = match[1]
    if kind[0] in "xuU" and len(kind) > 1:
        return chr(int(kind[1:], 16) % 0x110000)
    if kind[0] in "01234567":
        return chr(int(kind, 8) % 256)
    if kind[0] == "c" and len(kind) > 1:
        return chr(ord(kind[1]) & 31)
    return _ESCAPES.get(kind, match[0])
