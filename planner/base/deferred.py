"""Parts of an answer that are worked out when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Deferred(Sequence[T_co]):
    """A sequence whose items are made at the first look, and kept.

    It equals the tuple of them, has its hash, is added to others and prints as it does, and
    pickles as one; `list` of it is what JSON takes.

    Args:
        make: Gives the items. It must depend on nothing that changes.
    """

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[T_co]]) -> None:
        self._make: Callable[[], Iterable[T_co]] | None = make
        self._items: tuple[T_co, ...] = ()

    def _made(self) -> tuple[T_co, ...]:
        make = self._make
        if make is not None:
            self._items = tuple(make())
            self._make = None
        return self._items

    @overload
    def __getitem__(self, at: int) -> T_co: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, at: int | slice) -> T_co | tuple[T_co, ...]:
        return self._made()[at]

    def __len__(self) -> int:
        return len(self._made())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | Deferred):
            return NotImplemented
        return self._made() == tuple(other)

    def __add__(self, other: Sequence[Any]) -> tuple[Any, ...]:
        return self._made() + tuple(other)

    def __radd__(self, other: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(other) + self._made()

    def __hash__(self) -> int:
        return hash(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._made(),)
