"""The objects of a recipe, what they are set to, and what may be the same or change unseen."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.frameworks.reading.python.values import Known, Made, Spends, Thing, Unknown

_HUB = "(hub)"
_DEEPEST = 8  # parts of objects whose names are kept where they are not known any more


@dataclass(slots=True)
class Heap:
    """The objects of a recipe.

    Attributes:
        spend: Counts work.
        scopes: Names of functions that are gone through, and of the file.
        some: Fields that were set of an object of which it is not known which one it is.
        calls: Functions of the file that were called, with their first argument if it is text.
        all: Why nothing is known; None: that is not so.
        never: Whether fields of objects may be set to something else than what is said.
        after: Whether the function may have ended before the statement that is gone through.
    """

    spend: Spends
    scopes: list[MutableMapping[str, Thing]] = field(default_factory=list)
    some: dict[str, Unknown] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    all: Unknown | None = None
    after: bool = False
    never: bool = False
    _world: list[Made] = field(default_factory=list)
    _made: list[Made] = field(default_factory=list)
    _holders: dict[str, dict[Made, None]] = field(default_factory=dict)

    def new(self, called: str = "", text: str = "", line: int = 0, maker: str = "") -> Made:
        """An object that no other one is."""
        self.spend(steps=1)
        made = Made(called, text, line, maker)
        self._made.append(made)
        return made

    def loose(self, line: int, reach: Iterable[Thing] = ()) -> Made:
        """What stands for a value that is not known, which may be or hold other ones."""
        made = self.new(line=line)
        made.loose = made.wild = True
        for one in reach:
            self.link(made, one)
        made.alive = any(one.alive or one.looks for one in made.links)
        made.runs = any(one.runs for one in made.links)
        return made

    def link(self, made: Made, other: Thing) -> None:
        """An object may be another one, or hold it."""
        if isinstance(other, Known):
            if isinstance(other.value, list):
                made.lists.append(other)
        elif other is not made and other not in made.links:
            self.spend(steps=1)
            made.links[other] = None

    def read(self, owner: Made, name: str, line: int) -> Thing:
        """What a field is; one that is not set yet is an object from here on."""
        if owner.runs:
            self.escape([owner], Unknown(line, f"what a field {name} runs"))
        found = owner.fields.get(name)
        if isinstance(found, Known | Made):
            return found
        if name.startswith("__") or owner.alive or owner.looks:
            loose = self.loose(line, [owner])
            loose.is_class = name == "__class__"
            return loose
        if found is None and any(one.looks and one.changed for one in owner.links):
            return self.loose(line, [owner])  # of its class
        child = self.new(line=line, maker=owner.maker)
        child.root = owner.root or owner
        if found is not None:
            child.loose, owner.said[name] = True, found
        if owner.is_module and self._world:
            self.strew(child)
        if found is not None or owner.wild or name in self.some:
            child.opened, child.wild = owner.opened, True
            self.link(child, owner)
        for one in owner.lists:
            self.link(child, one)
        self.put(owner, name, child)
        return child

    def put(self, owner: Made, name: str, thing: Known | Made | Unknown) -> None:
        """A field holds something, of an object of which it is known which one it is."""
        self.spend(steps=1)
        owner.fields[name] = thing
        self._holders.setdefault(name, {})[owner] = None

    def write(self, owner: Made, name: str, thing: Thing, said: Unknown) -> None:
        """A field is set; `said`: what is said of it where it is not known."""
        if isinstance(thing, Made) and (owner.root or owner).is_module and not thing.is_foreign():
            self._world.append(thing)
        self.never = self.never or owner.is_class
        if name.startswith("__") and owner.looks:
            self.everything(said)
        if name.startswith("__") or owner.runs or owner.is_class:
            self.escape([owner, thing], said)
            return
        if owner.wild:
            self.weaken(name, said)
            for one in self._closure([owner], said):
                self.link(one, thing)
        else:
            self._forget(name, [one for one in self._holders.get(name, ()) if one.wild], said)
        if self.after or self.never:
            self._keep(owner, owner.fields.get(name))
            self._keep(owner, thing)
            self.put(owner, name, said)
        else:
            self.put(owner, name, thing)
            if isinstance(thing, Made):
                owner.said[name] = said
                thing.held = True
        owner.changed = True
        if owner.root is not None:
            owner.root.changed = True

    def may_write(self, owner: Made, name: str, thing: Made, said: Unknown) -> None:
        """A field may be set, to what is not known."""
        self._keep(thing, owner.fields.get(name))
        self.write(owner, name, thing, said)

    def weaken(self, name: str, why: Unknown) -> None:
        """A field is set of some object, and of no other one is it known any more."""
        self.some[name] = why
        self._forget(name, self._holders.pop(name, {}), why)

    def _forget(self, name: str, holders: Iterable[Made], why: Unknown) -> None:
        for made in holders:
            self.spend(steps=1)
            self._keep(made, made.fields.get(name))
            made.fields[name] = why

    def _keep(self, owner: Made, thing: Known | Made | Unknown | None) -> None:
        """What a field held may still be there."""
        if isinstance(thing, Known | Made):
            self.link(owner, thing)

    def escape(self, things: Iterable[Thing], why: Unknown) -> None:
        """Code that is not followed is given something: all that it reaches is not known."""
        self._join(self._closure(things, why, loses=True), why)

    def strew(self, made: Made) -> None:
        """An object may be one of those that any code can reach by a module."""
        made.wild = made.wild or bool(self._world)
        for one in self._world:
            self.link(made, one)

    def _closure(self, things: Iterable[Thing], why: Unknown, loses: bool = False) -> list[Made]:
        """The objects that are reached from some; `loses`: lists among them are not known."""
        stack, seen = list(things), dict[Made, None]()
        while stack:
            one = stack.pop()
            if isinstance(one, Known):
                stack += self.lose(one, why) if loses else []
            elif one not in seen:
                self.spend(steps=1)
                seen[one] = None
                stack += [two for two in one.fields.values() if isinstance(two, Known | Made)]
                stack += [*one.links, *one.lists]
                for looks, part in one.looks:
                    stack += looks.reached(part)
        return [*seen]

    def _join(self, seen: list[Made], why: Unknown) -> None:
        hub = next((one for one in seen if one.called == _HUB), None)
        if hub is None and len(seen) > 1:
            hub = self.new(_HUB, line=why.line)
        for one in seen:
            one.wild = True
            if hub is not None:
                self.link(one, hub)
                self.link(hub, one)
        for one in seen:
            self._open(one, why)

    def _open(self, made: Made, why: Unknown) -> None:
        """No field of an object is known; those that were set keep their names."""
        made.opened = why
        made.said.clear()
        stack = [made]
        for one in stack:  # which grows
            self.spend(steps=1 + len(one.fields) // 8)
            for name, thing in one.fields.items():
                if isinstance(thing, Made) and thing.ghost and not thing.changed:
                    continue
                one.fields[name] = Unknown(why.line)
                if isinstance(thing, Made) and not thing.loose and len(stack) <= _DEEPEST:
                    child = self.new(line=why.line)
                    child.opened, child.wild, child.ghost = why, True, True
                    child.fields = {**thing.fields}
                    child.root = made.root or made
                    self.link(child, made)
                    self.put(one, name, child)
                    stack.append(child)

    def open_all(self, why: Unknown) -> None:
        """A field is set of which nothing is known."""
        self.all = why
        self.escape(self._made, why)

    def everything(self, why: Unknown) -> None:
        """Code that is not followed reaches every name."""
        self.open_all(why)
        self.escape([one for scope in self.scopes for one in scope.values()], why)
        for scope in self.scopes:
            self.spend(steps=1 + len(scope) // 8)
            stand = self.loose(why.line, self._made[:1])
            scope.update(dict.fromkeys(scope, stand))

    def lose(self, known: Known, why: Unknown) -> list[Made]:
        """A list is changed: whatever is, holds or is held by it is not known any more.

        Returns:
            What stands for it.
        """
        if not isinstance(known.value, list):
            return []
        gone = self._lists(known)
        stand = self.loose(why.line)
        for scope in self.scopes:
            self.spend(steps=1 + len(scope) // 8)
            for name, thing in scope.items():
                if isinstance(thing, Known) and not gone.isdisjoint(self._lists(thing)):
                    scope[name] = stand
        for made in self._made:
            self._lose_of(made, gone, stand, why)
        return [stand]

    def _lose_of(self, made: Made, gone: set[int], stand: Made, why: Unknown) -> None:
        self.spend(steps=len(made.fields) // 8)
        for name, thing in made.fields.items():
            if isinstance(thing, Known) and not gone.isdisjoint(self._lists(thing)):
                made.fields[name], made.said[name] = stand, why
        if any(not gone.isdisjoint(self._lists(one)) for one in made.lists):
            self.link(made, stand)

    def _lists(self, known: Known) -> set[int]:
        """The lists that a value is and holds."""
        if not isinstance(known.value, list):
            return set()
        self.spend(known.letters)
        found, stack = set[int](), [known.value]
        for one in stack:  # which grows
            found.add(id(one))
            stack += [two for two in one if isinstance(two, list)]
        return found

    def copy(self, source: Made, to: Made, deep: bool) -> None:
        """An object is set to what another one is; nothing is known of one that is not made."""
        exact = bool(source.called) and not source.loose and not source.alive
        to.wild = to.wild or source.wild or not deep
        source.wild = source.wild or not deep
        if to.wild:
            self.link(to, source)
        if not exact:
            to.opened = Unknown(to.line)
            return
        stack = [(source, to)]
        for one, other in stack:  # which grows
            self.spend(steps=1)
            other.opened = one.opened
            for name, thing in one.fields.items():
                inner: Any = thing
                if deep and isinstance(thing, Made):
                    inner = self.new(thing.called, thing.text, thing.line, thing.maker)
                    inner.loose, inner.alive, inner.wild = thing.loose, thing.alive, thing.wild
                    inner.runs = thing.runs
                    for linked in thing.links:
                        self.link(inner, linked)
                    stack.append((thing, inner))
                self.put(other, name, inner)
            other.said |= one.said
