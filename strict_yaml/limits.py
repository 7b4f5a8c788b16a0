"""How large a file may be: each reader says what is usual, and one setting allows more.

It is a variable of the environment, so that processes which a program starts have it too.
"""

from __future__ import annotations

import os

VARIABLE = "PLANNER_LARGEST_FILE_BYTES"
"""Bytes that every reader allows, where that is more than what is usual."""
HINT = f"--largest-file SIZE (or {VARIABLE}) allows more"


def largest(usual: int) -> int:
    """Bytes that a file may have.

    Args:
        usual: Without the setting.

    Raises:
        ValueError: The setting is no whole number.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise ValueError(f"{VARIABLE}: {text[:40]!r} is no number of bytes")
    return max(usual, int(text))


def raised() -> bool:
    """Whether somebody allows more than is usual."""
    return bool(os.environ.get(VARIABLE))


def larger_than(limit: int) -> str:
    """`larger than 10 MiB; ...`: the limit, and what raises it."""
    unit, size = ("MiB", 2**20) if limit % 2**20 == 0 else ("KiB", 2**10)
    shown = f"{limit // size:,} {unit}" if limit % size == 0 else f"{limit:,} bytes"
    return f"larger than {shown}; {HINT}"
