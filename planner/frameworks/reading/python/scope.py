"""What names stand for at a place in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from frozen_records import dataclass
from planner.frameworks.reading.python.heap import Heap
from planner.frameworks.reading.python.text import looked_up, yields
from planner.frameworks.reading.python.values import Made, Thing


@dataclass(slots=True)
class Shared:
    """What all functions of a file share.

    Attributes:
        heap: Its objects.
        names: Names that functions set for others, which are never known.
        modules: Names that modules are imported by.
        free: What names stand for that it does not bind.
        closures: What stands for its functions where they are not called.
        looked_up: Names that are looked up in functions, by the function.
        generators: Whether calls of functions give generators, by the function.
        stand: What shared names stand for; None: nothing yet.
    """

    heap: Heap
    names: frozenset[str]
    modules: set[str] = field(default_factory=set)
    free: dict[str, Made] = field(default_factory=dict)
    closures: dict[int, Made] = field(default_factory=dict)
    looked_up: dict[int, frozenset[str]] = field(default_factory=dict)
    generators: dict[int, bool] = field(default_factory=dict)
    stand: Made | None = None

    def yields(self, function: ast.FunctionDef) -> bool:
        """Whether a call of a function gives a generator."""
        if id(function) not in self.generators:
            self.generators[id(function)] = yields(function)
        return self.generators[id(function)]


@dataclass(slots=True)
class Scope:
    """What is known in a function while it is gone through.

    Attributes:
        names: What names stand for.
        shared: What it shares with others.
        own: Functions of the file, by the names that stand for them.
        inner: Functions that are defined in it, or around it, with where that is.
        module: The file's own; None: it is that.
        returned: What it returns.
        maybe: What it may have returned before.
        may_end: Where it may have ended before; 0: nowhere.
    """

    names: dict[str, Thing]
    shared: Shared
    own: dict[str, ast.FunctionDef] = field(default_factory=dict)
    inner: dict[str, tuple[ast.FunctionDef, Scope]] = field(default_factory=dict)
    module: Scope | None = None
    returned: Thing | None = None
    maybe: list[Thing] = field(default_factory=list)
    may_end: int = 0

    def bind(self, name: str, thing: Thing) -> None:
        """A name stands for something."""
        self.own.pop(name, None)
        self.inner.pop(name, None)
        if name in self.shared.names:
            self.names.pop(name, None)
            self.shared.heap.link(self._stand(0), thing)
        else:
            self.names[name] = thing

    def release(self, name: str) -> None:
        """A name stands for something of another file, or for nothing."""
        self.own.pop(name, None)
        self.inner.pop(name, None)
        self.names.pop(name, None)

    def _stand(self, line: int) -> Made:
        if self.shared.stand is None:
            self.shared.stand = self.shared.heap.loose(line)
            self.shared.stand.alive = True
        return self.shared.stand

    def read(self, name: str, line: int) -> Thing:
        """What a name stands for."""
        if name in self.shared.names:
            return self._stand(line)
        if name in self.names:
            return self.names[name]
        if name in self.own:
            return self._closure(self.own[name])
        if name not in self.shared.free:
            self.shared.free[name] = self.shared.heap.new(line=line)
            self.shared.free[name].free = True
            self.shared.free[name].is_module = name in self.shared.modules
            self.shared.heap.strew(self.shared.free[name])
        return self.shared.free[name]

    def _closure(self, function: ast.FunctionDef) -> Made:
        """What stands for a function of the file."""
        if id(function) not in self.shared.closures:
            made = self.shared.heap.loose(0)
            made.looks = ((self.module or self, function),)
            self.shared.closures[id(function)] = made
        return self.shared.closures[id(function)]

    def is_foreign(self, name: str) -> bool:
        """Whether a name is of another file, and nothing of the recipe."""
        bound = name in self.shared.names or name in self.names or name in self.own
        free = self.shared.free.get(name)
        return not bound and (free is None or free.is_foreign())

    def reached(self, part: ast.AST) -> Iterator[Thing]:
        """Objects and lists that names in a part of the text stand for."""
        self.shared.heap.spend(steps=1 + len(self.names) // 64)
        if id(part) not in self.shared.looked_up:
            self.shared.looked_up[id(part)] = looked_up(part)
        for name in self.shared.looked_up[id(part)]:
            if not self.is_foreign(name):
                thing = self.read(name, 0)
                if isinstance(thing, Made) or isinstance(thing.value, list):
                    yield thing
