"""Elements of arrays of shell text: by number, with gaps, and by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.states import Array

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.expansion.pieces import Scope

NAMED = "-A "
"""What begins the mark of an array whose elements have keys."""


class Keyed(Array):
    """The elements of an array that has gaps, or of one with keys.

    Attributes:
        of: By number or key.
        named: Whether they are keys, whose order is not known.
    """

    __slots__ = ("named", "of")

    def __init__(self, of: dict[str, str], *, named: bool) -> None:
        self.of = of if named else {one: of[one] for one in sorted(of, key=int)}
        self.named = named
        super().__init__(self.of.values())

    def added(self, items: Iterable[str]) -> Array:
        """These and more, behind the last one."""
        first = int([*self.of][-1]) + 1 if self.of else 0
        return keyed({**self.of, **{str(first + at): one for at, one in enumerate(items)}})

    def begins_with(self, other: Array) -> bool:
        """Whether the elements of another array are its first ones: not followed."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and (self.of, self.named) == (other.of, other.named)

    __hash__ = None


def keyed(of: dict[str, str], *, named: bool = False) -> Array:
    """An array of elements by number or key."""
    if not named and [*of] == [str(at) for at in range(len(of))]:
        return Array(of.values())
    return Keyed(of, named=named)


def keys(value: str | Array) -> list[str]:
    """The numbers or keys of all elements."""
    if isinstance(value, Keyed):
        return [*value.of]
    return [str(at) for at in range(1 if isinstance(value, str) else len(value))]


def items_of(value: str | Array) -> list[str]:
    """All elements; of a plain value one."""
    return [value] if isinstance(value, str) else [*value]


def numbered(value: str | Array | None, at: int) -> str | None:
    """The element of a number; empty where there is none, None: bash refuses it."""
    if isinstance(value, Keyed):
        last = int([*value.of][-1]) if value.of else -1
        at += last + 1 if at < 0 else 0
        return None if at < 0 else value.of.get(str(at), "")
    items = [value] if isinstance(value, str) else value or []
    if at < -len(items):
        return None
    return items[at] if at < len(items) else ""


def is_named(scope: Scope, name: str) -> bool:
    """Whether the elements of an array have keys."""
    value = scope.value(name)
    return scope.value(NAMED + name) is not None or (isinstance(value, Keyed) and value.named)


def get(scope: Scope, name: str, at: str | int | None) -> str | None:
    """An element by its number or key; empty where there is none, None: it is not known."""
    value = scope.value(name)
    if value is None or at is None:
        return None
    if not isinstance(value, str):
        scope.spend(value.letters)
    if isinstance(at, str):
        return value.of.get(at, "") if isinstance(value, Keyed) else None
    return numbered(value, at)


def put(scope: Scope, name: str, at: str | int | None, text: str, *, more: bool = False) -> None:
    """Sets an element, or forgets the array where it is not known which one."""
    value = scope.value(name)
    unset = value is None and scope.is_unset(name)
    if at is None or (value is None and not unset) or (isinstance(at, int) and at < 0 and unset):
        return scope.forget(name, scope.line)
    named = isinstance(at, str)
    if more:
        text = (get(scope, name, at) or "") + text
    if named:
        held = value.of if isinstance(value, Keyed) else {}
        scope.spend(len(held))
        return scope.assign(name, keyed({**held, str(at): text}, named=True), scope.line)
    return _put_numbered(scope, name, Array() if value is None else value, int(at), text)


def _put_numbered(scope: Scope, name: str, value: str | Array, at: int, text: str) -> None:
    items = Array([value]) if isinstance(value, str) else value
    if isinstance(items, Keyed) or not -len(items) <= at <= len(items):
        held = dict(zip(keys(items), items, strict=True))
        at += 0 if at >= 0 else int(next(reversed(held), "-1")) + 1
        scope.spend(items.letters)
        if at < 0:
            return scope.forget(name, scope.line)
        return scope.assign(name, keyed({**held, str(at): text}), scope.line)
    if at == len(items):
        scope.spend(0 if items.is_newest else items.letters)
        return scope.assign(name, items.added([text]), scope.line)
    scope.spend(items.letters)
    return scope.assign(name, items.replaced(at % len(items), text), scope.line)


def without(scope: Scope, name: str, at: str | int | None) -> None:
    """`unset 'A[0]'`."""
    value = scope.value(name)
    if value is None or at is None or isinstance(value, str):
        return scope.forget(name, scope.line)
    held = dict(zip(keys(value), value, strict=True))
    scope.spend(value.letters)
    if isinstance(at, int) and at < 0:
        at += int(next(reversed(held), "-1")) + 1
    held.pop(str(at), None)
    return scope.assign(name, keyed(held, named=is_named(scope, name)), scope.line)
