"""`{a,b}` and `{1..8}` of shell text: one word that becomes several, before all else."""

from __future__ import annotations

import re
from itertools import product

from planner.frameworks.reading.shell.expansion.brackets import past_brackets
from planner.frameworks.reading.shell.words import Part, Word

MOST = 1024  # words that one becomes
_RANGE = re.compile(r"(-?[0-9]{1,9}|[a-zA-Z])\.\.(-?[0-9]{1,9}|[a-zA-Z])(?:\.\.(-?[0-9]{1,9}))?")
_INNER = re.compile(r"[^$]\{")
Signs = tuple[Part, ...]
"""A word of which every letter that may be of a brace is a part of its own."""


class TooMany(Exception):  # noqa: N818  (no error: the word is not known)
    """A word that becomes more words than are followed."""


def braced(word: Word) -> list[Word]:
    """The words that a word becomes.

    Raises:
        TooMany: They are too many, or nested too deep.
    """
    if not any(not one.quoted and "{" in one.text for one in word):
        return [word]
    signs = _signs(word)
    if not any(_is(one, "{") for one in signs):
        return [word]
    return [_joined(one) for one in _all(signs, 0)]


def _is(part: Part, sign: str) -> bool:
    return not part.quoted and part.text == sign


def _signs(word: Word) -> Signs:
    found: list[Part] = []
    for part in word:
        at = 0
        while not part.quoted and at < len(part.text):
            end = at + 1
            if part.text[at] == "$" and part.text[end : end + 1] in ("{", "("):
                end = (past_brackets(part.text, end, "") or len(part.text)) + 1
            elif part.text[at] == "`":
                end = (part.text.find("`", end) + 1) or len(part.text)
            piece = part.text[at:end]
            if piece[:2] == "${" and _INNER.search(piece):
                raise TooMany
            found.append(Part(piece, False, part.expands))
            at = end
        if part.quoted:
            found.append(part)
    return tuple(found)


def _joined(signs: Signs) -> Word:
    found: list[Part] = []
    for one in signs:
        if found and not one.quoted and not found[-1].quoted and found[-1].expands == one.expands:
            found[-1] = Part(found[-1].text + one.text, False, one.expands)
        else:
            found.append(one)
    return tuple(found)


def _all(signs: Signs, depth: int) -> list[Signs]:
    """What signs become: of a brace every piece, with all that the rest becomes."""
    if depth > 8:
        raise TooMany
    pieces: list[list[Signs]] = []
    at, start = 0, 0
    while at < len(signs):
        inner = _brace(signs, at) if _is(signs[at], "{") else None
        if inner is None:
            at += 1
            continue
        end, parts = inner
        sequence = _sequence(signs[at + 1 : end]) if len(parts) == 1 else None
        if len(parts) == 1 and sequence is None:
            at += 1
            continue
        pieces.append([signs[start:at]])
        pieces.append(sequence or [one for part in parts for one in _all(part, depth + 1)])
        at = start = end + 1
    pieces.append([signs[start:]])
    count = 1
    for one in pieces:
        count *= len(one)
    if count > MOST:
        raise TooMany
    return [tuple(sign for piece in one for sign in piece) for one in product(*pieces)]


def _brace(signs: Signs, at: int) -> tuple[int, list[Signs]] | None:
    """Where a brace closes, and what its commas part; None: nowhere."""
    depth, start = 0, at + 1
    parts: list[Signs] = []
    for place in range(at, len(signs)):
        depth += _is(signs[place], "{") - _is(signs[place], "}")
        if not depth:
            return place, [*parts, signs[start:place]]
        if depth == 1 and _is(signs[place], ","):
            parts.append(signs[start:place])
            start = place + 1
    return None


def _sequence(signs: Signs) -> list[Signs] | None:
    """`1..8`, `a..e`, `01..10..3`; None: it is none."""
    text = "".join(one.text for one in signs)
    match = _RANGE.fullmatch(text)
    if match is None or any(one.quoted for one in signs):
        return None
    first, last = match[1], match[2]
    letters = first.isalpha()
    if letters != last.isalpha():
        return None
    step = abs(int(match[3] or 1)) or 1
    ends = [ord(one) if letters else int(one) for one in (first, last)]
    if abs(ends[1] - ends[0]) // step >= MOST:
        raise TooMany
    down = ends[1] < ends[0]
    values = range(ends[0], ends[1] + (-1 if down else 1), -step if down else step)
    zeros = not letters and any(re.match("-?0[0-9]", one) for one in (first, last))
    width = max(len(first), len(last)) if zeros else 0
    texts = [chr(one) if letters else f"{one:0{width}d}" for one in values]
    if any(one in "\\`{}$,[]" for one in texts):
        raise TooMany  # {A..z}
    return [(Part(one, False, True),) for one in texts]
