"""Frozen dataclasses whose methods are compiled when they are first called.

The standard library compiles six methods as it makes a frozen dataclass. A first question makes
some two hundred of them, and of most it calls no method, or `__init__` alone. Imports nothing of
ours; to `planner`, `hardware_db` and `models_db` it is what `dataclasses.dataclass` is elsewhere.
Begin with `dataclass`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """`dataclasses.dataclass`; methods of a frozen class are compiled at their first call.

        A class that is not frozen is made by the standard library; of a derived one, what refuses
        changes is, since the library lets no class that can be changed derive from a frozen one.
        """

        def made(cls: type) -> type:
            late = options.get("frozen", False)
            return _late(cls, options) if late else dataclasses.dataclass(**options)(cls)

        return made


_OPTION = {"__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "eq"}
"""Methods that wait, to the option of the standard library that makes them."""


def _late(cls: type, options: dict[str, bool]) -> type:
    """The frozen dataclass of a class, with methods that wait."""
    body = {name: value for name, value in cls.__dict__.items() if name not in _OF_EVERY_CLASS}
    waiting = [
        _Waiting(name, cls, body, options)
        for name, option in _OPTION.items()
        if options.get(option, True) and body.get(name) is None
    ]
    for method in waiting:
        setattr(cls, method.name, method)
    derived = hasattr(cls, "__dataclass_fields__")
    for name, function in (_OF_SLOTS if options.get("slots") else _OF_DICT).items():
        if not derived:
            setattr(cls, name, function)
    plain = {**options, "frozen": derived, **dict.fromkeys(_OPTION.values(), False)}
    made: Any = dataclasses.dataclass(**plain)(cls)
    made.__dataclass_params__.frozen = True  # so that a class derived from it has to be
    for method in waiting:
        method.owner = made
    return made  # type: ignore[no-any-return]


_OF_EVERY_CLASS = frozenset({"__dict__", "__weakref__"})


class _Waiting:
    """Stands in a class for a method until it is first looked up."""

    def __init__(
        self, name: str, owner: type, body: dict[str, Any], options: dict[str, bool]
    ) -> None:
        self.name, self.owner, self._body, self._options = name, owner, body, options

    def __get__(self, instance: object, of: type | None = None) -> Any:
        """The method that the standard library makes; it stands in the class from now on.

        Python drops what is raised while it looks up how to compare, hash or print a record, and
        takes what every object has. So the exception of a signal (Ctrl-C) waits for the call.
        """
        late: BaseException | None = None
        while True:
            try:
                method = self._made()
                break
            except Exception:
                raise
            except BaseException as error:
                late = error
        if late is None:
            return method.__get__(instance, of)
        if instance is None:
            raise late
        return functools.partial(_raise, late)

    def _made(self) -> Any:
        owner, one = self.owner, _OPTION[self.name]
        if self.name == "__eq__":
            method: Any = _equality(owner)
        else:
            body = {**self._body, "__qualname__": owner.__qualname__}
            alone = {option: option == one for option in _OPTION.values()}
            options = {**self._options, **alone, "slots": False}
            twin = type(owner)(owner.__name__, owner.__bases__, body)
            made: Any = dataclasses.dataclass(**options)(twin)
            method = getattr(made, self.name)
        setattr(owner, self.name, method)
        return method


def _raise(error: BaseException, *_: object, **__: object) -> NoReturn:
    raise error


def _equality(owner: Any) -> Callable[[Any, object], Any]:
    """`__eq__` of a record: of those of its own class, field by field; nothing is compiled."""
    names = [field.name for field in dataclasses.fields(owner) if field.compare]
    values = attrgetter("__class__", *names)

    def equal(record: Any, other: object) -> Any:
        same = other.__class__ is record.__class__
        return values(record) == values(other) if same else NotImplemented

    equal.__name__, equal.__qualname__ = "__eq__", f"{owner.__qualname__}.__eq__"
    return equal


def _refuse_to_set(record: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(record: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _values(record: Any) -> list[Any]:
    """What a pickle keeps of a record with slots."""
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def _take(record: Any, values: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(record), values, strict=True):
        object.__setattr__(record, field.name, value)


_OF_DICT = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
_OF_SLOTS = {**_OF_DICT, "__getstate__": _values, "__setstate__": _take}
