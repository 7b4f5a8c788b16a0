"""The words that a word of shell text becomes: braces, values, and values taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.frameworks.reading.shell.expansion.arithmetic import targets
from planner.frameworks.reading.shell.expansion.braces import TooMany, braced
from planner.frameworks.reading.shell.expansion.homes import at_home
from planner.frameworks.reading.shell.expansion.pieces import (
    Piece,
    Scope,
    separators,
    together,
)
from planner.frameworks.reading.shell.values import pieces
from planner.frameworks.reading.shell.words import Word, apart

_BLANKS = " \t\n"
_SETTING = re.compile(r"^(?:-*[A-Za-z_][\w.+-]*=.*|\[[^*?]*$)", re.DOTALL)
_NAMES = re.compile(r"[*?]|\[[^\]]+\]")


def words_of(word: Word, scope: Scope) -> list[list[Piece]]:
    """The words that a word becomes, in pieces."""
    try:
        several = braced(word)
    except TooMany:
        raw = "".join(part.text for part in word)
        for name in targets(raw):
            scope.forget(name, scope.line)
        return [[_unknown(raw)]]
    return [one for each in several for one in _words(at_home(each), scope)]


def fields(word: Word, scope: Scope) -> list[str]:
    """The words that a word becomes; one that names files is not known."""
    return [together(one) for one in words_of(word, scope)]


def _unknown(raw: str) -> Piece:
    return Piece(f"$(echo {raw})", known=False)


def _words(word: Word, scope: Scope) -> Iterator[list[Piece]]:
    found = pieces(word, scope)
    signs = separators(scope) if any(one.value and not one.quoted for one in found) else _BLANKS
    now: list[Piece] | None = None
    for one in found:
        for piece in _apart(one, signs):
            if piece is None:
                if now is not None:
                    yield _without_names(now)
                now = None
            elif piece.text or piece.quoted:
                now = [*(now or ()), replace(piece, ends=False)]
        if one.ends:
            if now is not None:
                yield _without_names(now)
            now = None
    if now is not None:
        yield _without_names(now)


def _apart(piece: Piece, signs: str | None) -> Iterator[Piece | None]:
    """A piece taken apart where it is a value; None: a word ends."""
    if piece.quoted or not piece.value:
        yield piece
        return
    if signs is None:
        yield Piece(piece.raw or "$IFS", known=False)
        return
    if not piece.known and signs != _BLANKS:
        yield replace(piece, value=False)
        return
    if signs == _BLANKS:
        yield from _at_blanks(piece)
        return
    yield from _at_signs(piece, signs)


def _at_blanks(piece: Piece) -> Iterator[Piece | None]:
    text = piece.text
    if text[:1] in tuple(_BLANKS):
        yield None
    for at, one in enumerate(apart(text)):
        if at:
            yield None
        yield replace(piece, text=one)
    if text[-1:] in tuple(_BLANKS) and text.strip():
        yield None


def _at_signs(piece: Piece, signs: str) -> Iterator[Piece | None]:
    blanks = "".join(one for one in signs if one in _BLANKS)
    others = "".join(one for one in signs if one not in _BLANKS)
    if not signs:
        yield piece
        return
    blank = f"[{re.escape(blanks)}]" if blanks else "(?!)"
    other = f"[{re.escape(others)}]" if others else "(?!)"
    at = 0
    for match in re.finditer(f"{blank}*{other}{blank}*|{blank}+", piece.text):
        text = piece.text[at : match.start()]
        if text or re.search(other, match[0]):
            yield replace(piece, text=text, quoted=not text)
        yield None
        at = match.end()
    if at < len(piece.text):
        yield replace(piece, text=piece.text[at:])


def _without_names(found: list[Piece]) -> list[Piece]:
    """A word, unless it stands for the names of files, which are not known.

    No file is taken to have a name that begins as an option or a setting does, `--data=*`, or a
    list in brackets.
    """
    if not any(not one.quoted and _NAMES.search(one.text) for one in found):
        return found
    plain = "".join("\0" if one.quoted or not one.known else one.text for one in found)
    if not _NAMES.search(_SETTING.sub("", plain)):
        return found
    return [_unknown(_written(found))]


def _written(found: Sequence[Piece]) -> str:
    return "".join(one.text for one in found)
