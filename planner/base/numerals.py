"""Which text is a number: the digits 0 to 9, where Python's `int` and `float` take more.

They read `8_0` as 80, and the digits of every script (`٨`, `８`) as 8, which nobody means who types
them into an option.
"""

from __future__ import annotations

import re
from typing import Any

WHOLE = "(?:[0-9]{1,3}(?:_[0-9]{3})+|[0-9]+)"
"""`1_000`: where there are `_`, they part thousands."""
NUMBER = rf"(?>[+-]?(?:{WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_PLAIN = re.compile(rf"\s*+(?:{NUMBER}|[+-]?(?i:nan|inf|infinity))\s*+")


def number_of(given: Any) -> float:
    """As `float`, of text in the digits 0 to 9.

    Raises:
        TypeError: It is neither text nor a number.
        ValueError: It is text that is none.

    >>> number_of(" 1_000.5 "), number_of("-1e3")
    (1000.5, -1000.0)
    """
    if isinstance(given, str) and not _PLAIN.fullmatch(given):
        raise ValueError("no number")
    return float(given)


def is_digits(text: str) -> bool:
    """Whether text is digits 0 to 9 alone."""
    return text.isascii() and text.isdecimal()
