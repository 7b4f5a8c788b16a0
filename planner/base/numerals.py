"""Which text is a number: the digits 0 to 9, where Python's `int` and `float` take more.

They read `8_0` as 80, and the digits of every script (`٨`, `８`) as 8, which nobody means who types
them into an option.
"""

from __future__ import annotations

import re
import sys
from typing import Any

WHOLE = "(?:[0-9]{1,3}(?:_[0-9]{3})+|[0-9]+)"
"""`1_000`: where there are `_`, they part thousands."""
NUMBER = rf"(?>[+-]?(?:{WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
LEAST, MOST = 1e-30, 1e30
"""Of a size that is above 0: products and quotients of a few such are floating-point numbers."""
MOST_FLOAT = sys.float_info.max
_FINITE = re.compile(rf"\s*+{NUMBER}\s*+")
_SOME = re.compile(r"[^eE]*[1-9]")
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


def beyond(size: float) -> str:
    """What a size must be that is not from `LEAST` to `MOST`; empty: it is.

    >>> beyond(1e-320), beyond(0.0), beyond(1.0)
    ('must be at least 1e-30', 'must be greater than 0', '')
    """
    if not size > 0.0:  # NaN neither
        return "must be greater than 0"
    if size < LEAST:
        return f"must be at least {LEAST:g}"
    return f"must be at most {MOST:g}" if size > MOST else ""


def lost(text: str) -> str:
    """What is said of a number for which there is no floating-point one; empty: it is none, or has.

    >>> lost("1e400"), lost("1e-400"), lost("0"), lost("1e300"), lost("x")
    ('is too large a number', 'is too close to 0', '', '', '')
    """
    if not _FINITE.fullmatch(text):
        return ""
    size = abs(float(text))
    if size > MOST_FLOAT:
        return "is too large a number"
    return "is too close to 0" if not size and _SOME.match(text) else ""


def is_digits(text: str) -> bool:
    """Whether text is digits 0 to 9 alone."""
    return text.isascii() and text.isdecimal()
