"""Dotted names of fields, and what is kept by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
ALL = "*"
"""Every field below an object; alone, everything."""
SOME = f"{ALL}."
"""Before a field of an object of which it is not known which one it is."""


def joined(path: str, name: str) -> str:
    """A field below another one; empty: below the object itself."""
    return f"{path}.{name}" if path and name else path or name


def within(path: str, above: str) -> bool:
    """Whether a field is another one, or below it; empty: below the object itself."""
    return not above or path == above or path.startswith(f"{above}.")


def above(path: str) -> Iterator[str]:
    """The fields that one stands in, from the innermost."""
    at = path.rfind(".")
    while at >= 0:
        yield path[:at]
        at = path.rfind(".", 0, at)


class Dotted(dict[str, T], Generic[T]):
    """Things by dotted names, which knows of what something is below."""

    __slots__ = ("_holds",)

    def __init__(self) -> None:
        super().__init__()
        self._holds: set[str] = {""}

    def __setitem__(self, path: str, thing: T) -> None:
        for one in above(path):
            if one in self._holds:
                break
            self._holds.add(one)
        super().__setitem__(path, thing)

    def within(self, path: str) -> list[str]:
        """What is kept of a field and of those below it; of `x.*` of those below x."""
        top = path.removesuffix(ALL).removesuffix(".")
        if top in self._holds:
            return [one for one in self if within(one, top)]
        return [path] if path in self else []

    def looks(self, path: str) -> int:
        """How many are looked at to find them."""
        return len(self) if path.removesuffix(ALL).removesuffix(".") in self._holds else 1
