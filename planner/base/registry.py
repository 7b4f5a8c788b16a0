"""Things by name that other packages may add to, through entry points.

Packages are looked at only where a name is asked for that is not of the planner, or all names
are: reading what is installed takes a noticeable time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from planner.base.errors import InputError
from planner.base.messages import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Named(Protocol):
    """What a registry holds."""

    @property
    def name(self) -> str:
        """As people write it."""


T = TypeVar("T", bound=Named)
V = TypeVar("V")


class Extended(Mapping[str, V]):
    """Things by name: our own, then those of others, which are asked for only where it matters."""

    def __init__(self, own: Mapping[str, V], others: Callable[[], Mapping[str, V]]) -> None:
        self._own, self._others = own, others

    def __getitem__(self, name: str) -> V:
        return self._own[name] if name in self._own else self._others()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._others()

    def __len__(self) -> int:
        return len(self._own) + len(self._others())


class Registry(Extended[T]):
    """Things by name: first the planner's own in their order, then those of packages by name."""

    def __init__(self, group: str, base: type[Any], own: Sequence[T]) -> None:
        """Nothing is loaded yet.

        Args:
            group: Of the entry points that add to it, each the class of a thing, or a thing,
                under the thing's own name.
            base: What all of them are.
            own: Those that come with the planner.
        """
        super().__init__({one.name: one for one in own}, self.others)
        self._group, self._base = group, base
        self._found: dict[str, T] | None = None

    def others(self) -> Mapping[str, T]:
        """Those of installed packages.

        Raises:
            InputError: One of them cannot be loaded, or is not what it should be.
        """
        if self._found is None:
            # Most questions name nothing of another package.
            from importlib.metadata import entry_points  # noqa: PLC0415  (takes some 30 ms)

            points = sorted(entry_points(group=self._group), key=lambda point: point.name)
            self._found = {point.name: self._loaded(point) for point in points}
        return self._found

    def _loaded(self, point: EntryPoint) -> T:
        """What an entry point adds."""
        where = f"{self._group}: {point.name} = {point.value}"
        if point.name in self._own:
            raise InputError(f"{where}: the planner has one of this name; give it another")
        try:
            found = point.load()
            found = found() if isinstance(found, type) else found
        except (Exception, SystemExit) as error:  # whatever the code of a package may raise
            reason = one_line(f"{type(error).__name__}: {error}")
            raise InputError(f"{where}: cannot be loaded ({reason})") from error
        if not isinstance(found, self._base):
            raise InputError(f"{where}: is not a {self._base.__name__}")
        if found.name != point.name:
            raise InputError(f"{where}: calls itself {found.name!r}; the names must agree")
        loaded: T = found
        return loaded
