"""Objects that other installed packages add, through entry points.

Looking for them reads the metadata of every installed package, which takes some 30 ms. So it is
done once, and only where a name is asked for that is none of our own, or where names are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from planner.base.errors import InputError
from planner.base.messages import one_line

T = TypeVar("T")


def installed(group: str, kind: type[T]) -> dict[str, T]:
    """The objects of a group of entry points, by the names of these, in their order.

    An entry point is an object of the kind, or a class of the kind that is made without arguments.

    Args:
        group: E.g. `planner.frameworks`.
        kind: What each has to be.

    Raises:
        InputError: One cannot be loaded, or is something else.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  (takes a noticeable time)

    found: dict[str, T] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        whose = f"{group}: {point.name} of {point.dist.name if point.dist else 'a package'}"
        try:
            loaded = point.load()
            one = loaded() if isinstance(loaded, type) else loaded
        except Exception as error:
            reason = one_line(f"{type(error).__name__}: {error}")
            raise InputError(f"{whose}: cannot be loaded ({reason})") from error
        if not isinstance(one, kind):
            raise InputError(f"{whose}: {point.value} is no {kind.__name__}")
        found[point.name] = one
    return found


class Extended(Mapping[str, T]):
    """Things by name: our own, then those of others, which are asked for only where it matters."""

    def __init__(self, own: Mapping[str, T], others: Callable[[], Mapping[str, T]]) -> None:
        self._own, self._others = own, others

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._others()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._others()

    def __len__(self) -> int:
        return len(self._own) + len(self._others())
