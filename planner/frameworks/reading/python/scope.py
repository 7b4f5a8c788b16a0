"""What is known at a place in a function, and what is not any more."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field, replace

from frozen_records import dataclass
from planner.frameworks.reading.python.bindings import Bound
from planner.frameworks.reading.python.fields import Fields
from planner.frameworks.reading.python.paths import ALL, SOME, above, joined
from planner.frameworks.reading.python.values import Known, Made, Part, Thing, Unknown


@dataclass(slots=True)
class Scope:
    """What is known in a function while it is gone through.

    Attributes:
        names: What names stand for; what is missing is not known.
        fields: What objects are set to.
        shared: Names that other functions set, which are never known.
        place: The field where an object that it returns stands; None: where its caller says.
        returned: What it returns.
        may_end: Whether a part that is left out may return something else.
        inner: Functions that are defined in it.
        own: Names that stand for functions of the file.
    """

    names: dict[str, Thing]
    fields: Fields
    shared: frozenset[str]
    place: str | None = None
    returned: Thing | None = None
    may_end: bool = False
    inner: dict[str, ast.stmt] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)

    def bind(self, name: str, thing: Thing | None) -> None:
        """A name stands for something; None: for what is not known."""
        self.own.discard(name)
        if thing is None or name in self.shared:
            self.names.pop(name, None)
        else:
            self.names[name] = thing

    def part(self, path: str) -> Part:
        """Where a field is: of which object, and how it is called there."""
        name, _, rest = path.partition(".")
        thing = self.names.get(name)
        if isinstance(thing, Made):
            return Part(thing, rest)
        if isinstance(thing, Part):
            return Part(thing.of, joined(thing.path, rest))
        return Part(None, rest)

    def value(self, path: str) -> Known | None:
        """The plain value of a name or of a field."""
        if "." in path:
            return self.fields.value(self.part(path))
        found = self.names.get(path)
        return found if isinstance(found, Known) else None

    def set(self, path: str, line: int, thing: Thing | None) -> str:
        """A field of an object is set; the line that says so where that is not known."""
        part, shown = self.part(path), path.removesuffix(f".{ALL}")
        unknown = Unknown(line, shown)
        if isinstance(thing, Known | Made):
            self.fields.write(part, thing, unknown)
            return unknown.text(shown) if part.path.startswith(SOME) else ""
        self.fields.write(part, replace(unknown, shares=isinstance(thing, Part)), unknown)
        return unknown.text(shown)

    def forget(self, what: Bound, line: int) -> None:
        """What may be bound is not known from here on."""
        self.fields.spend(steps=(len(what.names) + len(what.fields)) // 8)
        if ALL in what.names:
            self.names.clear()
            self.own.clear()
        for name in what.names:
            self._forget_name(name, line)
        bound = {*what.names, *what.fields}
        for path in what.fields:
            again = next((one for one in above(path) if one in bound), "")
            if again:  # it may be of another object
                why = Unknown(line, path)
                some = f"{SOME}{path[len(again) + 1 :]}"
                self.fields.write(Part(None, some), why, why)
            else:
                self._open(path, line)

    def _forget_name(self, name: str, line: int) -> None:
        """A name is not known; one of an object may stand for it, or for another one."""
        self.own.discard(name)
        thing = self.names.get(name)
        if isinstance(thing, Made):
            self.fields.open(thing, Unknown(line, name))
            if any(thing.places):
                self.names[name] = Part(thing, ALL)
        elif isinstance(thing, Part) and thing.path:
            self.names[name] = Part(thing.of, ALL)
        else:
            self.names.pop(name, None)

    def _open(self, path: str, line: int) -> None:
        if path == ALL:
            for name in tuple(self.names):
                self._forget_name(name, line)
            self.fields.write(Part(None, ALL), Unknown(line, "what `exec` sets"))
            return
        name, _, rest = path.partition(".")
        thing = self.names.get(name)
        if isinstance(thing, Known):
            self.lose(thing, line)
        elif thing is None:
            if "." in rest:
                self.set(path, line, None)
        elif rest or (isinstance(thing, Part) and thing.path):
            self.set(path, line, None)

    def lose(self, changed: Known, line: int) -> None:
        """A list is changed: whatever holds it is not known any more."""
        if isinstance(changed.value, list):
            self.fields.spend(steps=1 + len(self.names) // 64)
            self.fields.lose(changed.value, line)
            self.names = _without(self.names, changed)


def _without(names: Mapping[str, Thing], changed: Known) -> dict[str, Thing]:
    """The names that stand for something else."""
    return {
        name: thing
        for name, thing in names.items()
        if not isinstance(thing, Known) or thing.value is not changed.value
    }
