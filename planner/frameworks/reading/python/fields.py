"""What fields are set to: those of the recipe, and those of each object by itself."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.frameworks.reading.python.paths import ALL, SOME, Dotted, above, joined
from planner.frameworks.reading.python.values import Known, Made, Part, Spends, Unknown


@dataclass(slots=True)
class Fields:
    """The fields of a recipe, by dotted names below its object.

    Attributes:
        spend: Counts work.
        values: Plain values.
        computed: What is not known, with the line that says so.
        built: What is made by a call, with what is called.
        calls: Functions and classes that were called, with their first argument if it is text.
    """

    spend: Spends
    values: Dotted[Any] = field(default_factory=Dotted)
    computed: Dotted[str] = field(default_factory=Dotted)
    built: Dotted[str] = field(default_factory=Dotted)
    calls: list[tuple[str, str]] = field(default_factory=list)
    _shared: set[str] = field(default_factory=set)
    _made: dict[Made, None] = field(default_factory=dict)

    def add(self, made: Made, path: str, said: Unknown | None = None) -> None:
        """An object stands at a field, with all that it is set to; empty: for the recipe's own.

        `said`: what is said of the field itself; None: where the object is made.
        """
        stack: list[tuple[str, Known | Made | Unknown]] = [(path, made)]
        while stack:
            at, thing = stack.pop()
            self.spend(len(at) * (1 + at.count(".")), steps=1)
            if isinstance(thing, Made):
                thing.places[at] = None
                self._made[thing] = None
                self.calls.append((thing.called, thing.text))
                inner = [(joined(at, name), one) for name, one in thing.fields.items()]
                stack.extend(reversed(inner))
                if at:
                    self.built[at] = thing.called
                    self.values.pop(at, None)
                    said = said if at == path else None
                    self.computed[at] = (said or Unknown(thing.line)).text(at)
            else:
                self._set(at, thing)

    def _set(self, path: str, thing: Known | Unknown) -> None:
        self.built.pop(path, None)
        if isinstance(thing, Known):
            self.spend(thing.letters)
            self.values[path] = thing.value
            self.computed.pop(path, None)
        else:
            self.calls += [(one, "") for one in thing.calls]
            if thing.shares:
                self._shared.add(path)
            self.values.pop(path, None)
            self.computed[path] = thing.text(path)

    def write(self, part: Part, thing: Known | Made | Unknown, said: Unknown | None = None) -> None:
        """A field is set, of an object, wherever that stands; what was below it is gone.

        `said`: see `add`.
        """
        self.spend(len(part.path) * (1 + part.path.count(".")))
        if part.path.startswith(SOME) and part.path.endswith(ALL):
            part = Part(None, ALL)
        elif part.path.startswith(SOME):
            self._open_some(part.path, said or Unknown(0))
            return
        if part == Part(None, ALL):
            for made in self._made:
                self._set_own(made, ALL, thing)
        owner, own = self._owner(part)
        if owner is not None:
            self._set_own(owner, own, thing)
        for at in [""] if owner is None else [*owner.places]:
            self.spend(steps=1)
            whole = joined(at, own)
            for one in above(whole) if self._shared else ():
                if one in self._shared:
                    self._open_some(SOME + whole[len(one) + 1 :], said or Unknown(0))
            self._drop(whole)
            if isinstance(thing, Made):
                self.add(thing, whole, said)
            else:
                self._set(whole, thing)

    def open(self, made: Made, why: Unknown) -> None:
        """No field of an object is known any more; for the recipe's own it counts if it is used."""
        places = dict(made.places)
        if not made.changed:
            made.places.pop("", None)
        self.write(Part(made, ALL), why, why)
        made.places = places

    def _open_some(self, path: str, why: Unknown) -> None:
        """A field of an object is set, and it is not known of which."""
        end = path.removeprefix(ALL)
        for kept in (self.values, self.built):
            self.spend(steps=1 + len(kept) // 64)
            for name in [one for one in kept if f".{one}".endswith(end)]:
                self._set(name, why)
        for made in self._made:
            self.spend(steps=1 + len(made.fields) // 64)
            for name in made.fields:
                if f".{name}".endswith(end) or end.endswith(f".{name}"):
                    made.fields[name] = why
        self.computed[path] = why.text(path)

    def copy(self, source: Made | Part, to: Made, deep: bool) -> None:
        """An object is set to what another one is; nothing is known of one that is not made."""
        made: object = source
        if isinstance(source, Part):
            owner, own = self._owner(source)
            made = owner.fields.get(own) if owner is not None and own else owner
        if not isinstance(made, Made):
            to.fields[ALL] = Unknown(to.line)
            return
        stack = [(made, to)]
        for one, other in stack:  # which grows
            self.spend(steps=1 + len(one.fields))
            for name, thing in one.fields.items():
                other.fields[name] = thing
                if deep and isinstance(thing, Made):
                    inner = Made(thing.called, thing.text, thing.line, thing.maker)
                    other.fields[name] = inner
                    stack.append((thing, inner))

    def value(self, part: Part) -> Known | None:
        """The plain value of a field."""
        owner, own = self._owner(part)
        if owner is not None:
            found = owner.fields.get(own)
            return found if isinstance(found, Known) else None
        return Known(self.values[own]) if own in self.values else None

    def _owner(self, part: Part) -> tuple[Made | None, str]:
        """The innermost object that a field is of, and its name there."""
        of, path = part.of, part.path
        while of is not None:
            for name in above(path):
                inner = of.fields.get(name)
                if isinstance(inner, Made):
                    of, path = inner, path[len(name) + 1 :]
                    break
            else:
                break
            self.spend(steps=1)
        return of, path

    def _set_own(self, owner: Made, path: str, thing: Known | Made | Unknown) -> None:
        self.spend(steps=1 + owner.fields.looks(path) // 64)
        for name in owner.fields.within(path):
            gone = owner.fields.pop(name)
            if isinstance(gone, Made):
                for at in owner.places:
                    gone.places.pop(joined(at, name), None)
        owner.fields[path], owner.changed = thing, True

    def _drop(self, path: str) -> None:
        """What was set at a field and below it is gone."""
        kept: Dotted[Any]
        for kept in (self.values, self.built, self.computed):
            self.spend(steps=kept.looks(path) // 64)
            for name in kept.within(path):
                del kept[name]

    def lose(self, value: Any, line: int) -> None:
        """Fields that hold a list which is changed are not known any more."""
        self.spend(steps=1 + len(self.values) // 64)
        for name in [name for name, one in self.values.items() if one is value]:
            self._set(name, Unknown(line))
