"""How wide words are in a picture, and what fits where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_NARROW, _WIDE = frozenset("ijl|!.,:;'`()[]{}ft/\\ Ir-"), frozenset("mwMW%@→×…—")
_WIDTHS = (0.32, 0.9, 0.7, 0.56)
"""Narrow characters, wide ones, capitals and all others, in font sizes (Helvetica)."""
_SAFETY = 1.04
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(words: str) -> str:
    """Words as XML and HTML may hold them: escaped, without control characters."""
    return escape(_NOT_XML.sub("\ufffd", words))


def width_of(words: str, size: float) -> float:
    """About how many pixels a line of text takes."""
    narrow, wide, capital, usual = _WIDTHS
    total = 0.0
    for letter in words:
        if letter in _NARROW:
            total += narrow
        elif letter in _WIDE or ord(letter) > 0x2E80:
            total += wide
        else:
            total += capital if letter.isupper() else usual
    return _SAFETY * size * total


def wrapped(words: str, size: float, width: float) -> list[str]:
    """Lines of at most so many pixels; a word that is wider than that has its own line, cut."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(cut(word, size, width))
    return lines


def cut(words: str, size: float, width: float) -> str:
    """The words, or their beginning and an ellipsis where they are too wide."""
    if width_of(words, size) <= width:
        return words
    while words and width_of(words + "…", size) > width:
        words = words[:-1]
    return words.rstrip() + "…" if words.strip() else ""


def widest(words: Sequence[str], size: float) -> float:
    """The width of the widest of several lines; 0 of none."""
    return max((width_of(line, size) for line in words), default=0.0)
