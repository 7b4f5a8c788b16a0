"""Dotted names of fields."""

from __future__ import annotations

from collections.abc import Iterator

ALL = "*"
"""Every field below an object; alone, everything."""
SOME = f"{ALL}."
"""Before a field of an object of which it is not known which one it is."""


def joined(path: str, name: str) -> str:
    """A field below another one; empty: below the object itself."""
    return f"{path}.{name}" if path and name else path or name


def above(path: str) -> Iterator[str]:
    """The fields that one stands in, from the innermost."""
    at = path.rfind(".")
    while at >= 0:
        yield path[:at]
        at = path.rfind(".", 0, at)
