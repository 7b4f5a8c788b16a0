"""Values of shell text that may be left as they were: mappings in layers, and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from enum import Enum
from itertools import islice
from typing import Generic, TypeVar, overload

from frozen_records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lost:
    """What stands for a file or a function that is not known; `place`: since where."""

    place: str


class Stop(Exception):  # noqa: N818  (no error: the end of a loop, a function or a script)
    """What ends more than a command: `break`, `continue`, `return` or `exit`.

    Attributes:
        what: Which of them.
        levels: How many loops it ends.
        place: Where a script ends with an error that it names; else empty.
    """

    def __init__(self, what: str, levels: int = 1, place: str = "") -> None:
        super().__init__(what)
        self.what, self.levels, self.place = what, levels, place


class _Gone(Enum):
    GONE = 0


class Layer(MutableMapping[str, T], Generic[T]):
    """A mapping over another one, which stays as it is.

    Attributes:
        own: What differs from it.
    """

    __slots__ = ("_below", "own")

    def __init__(self, below: Layer[T] | None = None) -> None:
        self._below = below
        self.own: dict[str, T | _Gone] = {}

    def _found(self, name: object) -> T | _Gone:
        layer: Layer[T] | None = self
        while layer is not None:
            if name in layer.own:
                return layer.own[name]
            layer = layer._below
        return _Gone.GONE

    def __getitem__(self, name: str) -> T:
        found = self._found(name)
        if isinstance(found, _Gone):
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return self._found(name) is not _Gone.GONE

    def __setitem__(self, name: str, value: T) -> None:
        self.own[name] = value

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        if self._below is not None and name in self._below:
            self.own[name] = _Gone.GONE
        else:
            del self.own[name]

    def settled(self, base: Layer[T]) -> Layer[T]:
        """The layer below that is named, with all that differs from it put into it."""
        above: list[Layer[T]] = []
        for layer in self.chain():
            if layer is base:
                break
            above.append(layer)
        for one in reversed(above):
            for name, value in one.own.items():
                if isinstance(value, _Gone):
                    base.pop(name, None)
                else:
                    base[name] = value
        return base

    def chain(self) -> Iterator[Layer[T]]:
        """This one and those below."""
        layer: Layer[T] | None = self
        while layer is not None:
            yield layer
            layer = layer._below

    def apart(self, other: Layer[T]) -> Iterator[str]:
        """Names that may differ from those of another one over the same layer."""
        if self._below is other:
            yield from self.own
            return
        below = {id(one) for one in other.chain()}
        common = 0
        for one in self.chain():
            if id(one) in below:
                common = id(one)
                break
            yield from one.own
        for one in other.chain():
            if id(one) == common:
                break
            yield from one.own

    def __iter__(self) -> Iterator[str]:
        below: Iterable[str] = () if self._below is None else self._below
        yield from (name for name in below if self.own.get(name) is not _Gone.GONE)
        yield from (name for name in self.own if self._below is None or name not in self._below)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Array(Sequence[str]):
    """The elements of an array, as it is once: more of them are another array.

    What is added to the newest of them is kept in the same list, so that all of them take the time
    of the last one.

    Attributes:
        letters: Of all elements, and one for each.
        keyed: How many elements have a key, as `[KEY]=VALUE`.
    """

    __slots__ = ("_all", "_count", "keyed", "letters")

    def __init__(self, items: Iterable[str] = ()) -> None:
        self._all: list[str] = []
        self._count = self.letters = self.keyed = 0
        self._take(items)

    def _take(self, items: Iterable[str]) -> None:
        for one in items:
            self._all.append(one)
            self.letters += len(one) + 1
            self.keyed += one.startswith("[")
        self._count = len(self._all)

    @property
    def is_newest(self) -> bool:
        """Whether nothing was added to it yet; else what is added next takes a copy."""
        return self._count == len(self._all)

    def added(self, items: Iterable[str]) -> Array:
        """These and more."""
        more = Array()
        more._all = self._all if self.is_newest else [*self]
        more.letters, more.keyed = self.letters, self.keyed
        more._take(items)
        return more

    def replaced(self, at: int, item: str) -> Array:
        """These with another one at a place; takes a copy."""
        other, before = Array(), self._all[at]
        other._all = [*self]
        other._all[at], other._count = item, self._count
        other.letters = self.letters + len(item) - len(before)
        other.keyed = self.keyed + item.startswith("[") - before.startswith("[")
        return other

    def begins_with(self, other: Array) -> bool:
        """Whether the elements of another array are its first ones."""
        first = len(other)
        same = self._all is other._all or self._all[:first] == other._all[:first]
        return same and first <= len(self)

    def __iter__(self) -> Iterator[str]:
        return islice(self._all, self._count)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self._all[one] for one in range(*at.indices(self._count))]
        return self._all[range(self._count)[at]]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Array) and self._all is other._all:
            return self._count == other._count
        return isinstance(other, list | Array) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]
