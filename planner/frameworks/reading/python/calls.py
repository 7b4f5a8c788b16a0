"""What expressions stand for that are followed: calls of functions of the file among them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from frozen_records import dataclass
from planner.frameworks.reading.python.called import (
    called_by,
    configures,
    keywords_of,
    spelt_as,
)
from planner.frameworks.reading.python.expressions import (
    DEEPEST,
    Unfollowed,
    is_code,
    known_value,
    shown,
)
from planner.frameworks.reading.python.paths import ALL
from planner.frameworks.reading.python.scope import Scope
from planner.frameworks.reading.python.trusted import EXPERIMENT, constructs, keeps, may_run
from planner.frameworks.reading.python.values import Known, Made, Thing, Unknown, dotted, named

_MOST_CALLS = 8  # functions that a recipe builds on, one upon another
Given = dict[str, Thing]
Follow = Callable[[ast.FunctionDef, Given, Scope | None], Thing]
Own = tuple[ast.FunctionDef, Scope | None]
"""A function, with the one that it stands in; None: the file."""


@dataclass(slots=True)
class Followed(Unfollowed):
    """What expressions stand for.

    Attributes:
        follow: Goes through a function of the file with arguments, and gives what it returns.
        follows: Whether functions of the file are followed.
    """

    follow: Follow | None = None
    follows: bool = False
    _calls: int = 0
    _depth: int = 0

    def value(self, scope: Scope, node: ast.expr) -> Thing:
        """What an expression stands for, after what it does."""
        self.heap.spend(steps=1)
        if self._depth > DEEPEST:
            return self.loose(scope, node)
        self._depth += 1
        found = self._value(scope, node)
        self._depth -= 1
        return found

    def _value(self, scope: Scope, node: ast.expr) -> Thing:
        if isinstance(node, ast.Call):
            return self.call(scope, node)
        plain = known_value(scope, self.heap, node)
        if plain is not None:
            return plain
        if isinstance(node, ast.Name | ast.Attribute) and dotted(node):
            return self.chain(scope, node)
        if isinstance(node, ast.Attribute):
            self._reveal(scope, node)
            return self.attribute(self.value(scope, node.value), node.attr, node.lineno)
        found = self.loose(scope, node)
        parts = node.elts if isinstance(node, ast.List) else []
        found.calls = tuple(spelt_as(one, "") for one in parts if isinstance(one, ast.Call))
        return found

    def call(self, scope: Scope, call: ast.Call) -> Thing:
        """What a call gives; a function of the file is read in its place."""
        own = self.own(scope, call)
        if own is not None and own[1] is None:
            return self._followed(scope, call, own)
        if own is not None:
            before, self.heap.after = self.heap.after, True
            found = self._followed(scope, call, own)
            self.heap.after = before
            return found
        if self.is_foreign(scope, call.func):
            name = dotted(call.func)
            if name != "vars" or not call.args:
                self._reveal(scope, call.func)
            if name == "setattr" and len(call.args) == 3 and (key := _key(call.args[1])):
                return self._set(scope, call, key)
            if called_by(call) in ("replace", "copy", "deepcopy") and len(call.args) == 1:
                return self._copied(scope, call)
        return self._made(scope, call)

    def own(self, scope: Scope, call: ast.Call) -> Own | None:
        """The function of the file that a call calls; None: it calls none that is followed."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if self._calls >= _MOST_CALLS or not self.follows or self.heap.all is not None:
            return None
        if name in scope.shared.names:
            return None
        found: Own | None = scope.inner.get(name)
        if found is None and name in scope.own:
            found = scope.own[name], None
        return None if found is None or scope.shared.yields(found[0]) else found

    def _set(self, scope: Scope, call: ast.Call, key: str) -> Thing:
        of, thing = self.value(scope, call.args[0]), self.value(scope, call.args[2])
        field_set = f"{dotted(call.args[0]) or 'an object'}.{key}"
        if isinstance(of, Made):
            self.heap.write(of, key, thing, Unknown(call.lineno, field_set))
        return Known(None)

    def _followed(self, scope: Scope, call: ast.Call, own: Own) -> Thing:
        given = self._given(scope, own[0], call)
        said = known_value(scope, self.heap, call.args[0]) if call.args else None
        text = said.value if said is not None and isinstance(said.value, str) else ""
        self.heap.calls.append((own[0].name, text))
        self._calls += 1
        assert self.follow is not None
        found = self.follow(own[0], given, own[1])
        self._calls -= 1
        return found

    def _given(self, scope: Scope, function: ast.FunctionDef, call: ast.Call) -> Given:
        """Arguments of a call by the names of the function's parameters."""
        spec, line = function.args, call.lineno
        places = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        by_name = [one.arg for one in (*spec.args, *spec.kwonlyargs)]
        things = [self.value(scope, _bare(one)) for one in call.args]
        words = [(one.arg, self.value(scope, one.value)) for one in call.keywords]
        starred = any(isinstance(one, ast.Starred) for one in call.args)
        every = [*things, *(thing for _, thing in words)]
        found: Given = {}
        if starred or any(name is None for name, _ in words):
            stand = self._shaken(every, line)
            found = dict.fromkeys([*places, *by_name], stand)
        if not starred:
            found |= dict(zip(places, things, strict=False))
        found |= {name: thing for name, thing in words if name in by_name}
        for rest in (spec.vararg, spec.kwarg):
            if rest is not None:
                found[rest.arg] = self.heap.loose(line, every)
        return found

    def _shaken(self, things: list[Thing], line: int) -> Made:
        """What stands for things that are gone through where that may run code."""
        alive = [one for one in things if isinstance(one, Made) and one.alive]
        if alive:
            self.heap.escape(alive, Unknown(line, "what is handed on"))
        return self.heap.loose(line, things)

    def may_follow(self, scope: Scope, call: ast.Call) -> Thing | None:
        """What a call of a function of the file gives that may run; None: it is not followed."""
        own = self.own(scope, call)
        parts = [*call.args, *(one.value for one in call.keywords)]
        if own is None or any(
            not isinstance(one, ast.Constant) and not dotted(one) for one in parts
        ):
            return None
        before, self.heap.after = self.heap.after, True
        found = self._followed(scope, call, own)
        self.heap.after = before
        return found

    def _copied(self, scope: Scope, call: ast.Call) -> Thing:
        """A copy of an object, with what is changed."""
        source, name = self.value(scope, call.args[0]), called_by(call)
        if not isinstance(source, Made):
            return source if name != "replace" and source.depth == 0 else self.heap.loose(0)
        found = self.heap.new(name, "", call.lineno, source.maker)
        self.heap.copy(source, found, name == "deepcopy")
        self._keywords(scope, call, found)
        return found

    def _keywords(self, scope: Scope, call: ast.Call, made: Made) -> list[Thing]:
        """An object is made with keywords."""
        found = list[Thing]()
        for name, value in keywords_of(call):
            thing = self.value(scope, value)
            found.append(thing)
            said = Unknown(value.lineno)
            if name == ALL:
                made.opened = said
                self.heap.link(made, thing)
                continue
            self.heap.put(made, name, thing)
            if isinstance(thing, Made):
                thing.held = True
                if not thing.called or thing.loose:
                    made.said[name] = said
        return found

    def _made(self, scope: Scope, call: ast.Call) -> Thing:
        """What a call gives that is not followed."""
        chain = [call]
        while isinstance(of := chain[-1].func, ast.Attribute) and isinstance(of.value, ast.Call):
            chain.append(of.value)  # Bridge.from_pretrained("x").get_model_config()
            self._reveal(scope, of.value.func)
        first = chain[-1]
        if len(chain) > DEEPEST or not self.is_foreign(scope, first.func):
            return self._unknown(scope, call)
        spelt = spelt_as(first, called_by(first))
        if first.args and configures(first):
            spelt = named(first.args[0])
        said = known_value(scope, self.heap, first.args[0]) if first.args else None
        text = said.value if said is not None and isinstance(said.value, str) else ""
        maker = "" if configures(call) else named(call.func)
        found = self.heap.new(spelt, text, call.lineno, maker)
        places = [self._place(scope, _bare(one)) for one in first.args]
        words = self._keywords(scope, first, found)
        for one in reversed(chain[:-1]):
            places += [self._place(scope, _bare(arg)) for arg in one.args]
            words += [self.value(scope, arg.value) for arg in one.keywords]
        self._hand(call, found, places, words)
        return found

    def _place(self, scope: Scope, node: ast.expr) -> Thing:
        """What a call is given by its place, that is not followed."""
        return self.loose(scope, node) if isinstance(node, ast.Call) else self.value(scope, node)

    def _hand(self, call: ast.Call, found: Made, places: list[Thing], words: list[Thing]) -> None:
        """A call of another file is given things."""
        held = constructs(call)
        given = [one for one in (places if held else [*places, *words]) if _matters(one)]
        why = Unknown(call.lineno, shown(call, foreign=True))
        if keeps(call):
            if may_run(call) and any(isinstance(one, Made) and is_code(one) for one in given):
                self.heap.escape(given, why)
            found.loose = found.wild = bool(given) and not held
            found.is_class = dotted(call.func) == "type"
        elif given:
            self.heap.escape(given, why)
            found.alive = found.wild = True
            found.opened = Unknown(call.lineno, f"what `{dotted(call.func) or 'a call'}` makes")
            found.runs = any(isinstance(one, Made) and (one.runs or one.looks) for one in given)
        for one in given:
            self.heap.link(found, one)

    def _unknown(self, scope: Scope, call: ast.Call) -> Thing:
        """What a call of something else gives: what it is given, and reaches, is not known."""
        function = call.func
        of = function.value if isinstance(function, ast.Attribute) else function
        callee = self.value(scope, of)
        things = [self.value(scope, _bare(one)) for one in call.args]
        if isinstance(callee, Made) and callee in self.simple and of is function:
            found = self.heap.new(called_by(call), "", call.lineno)
            self._keywords(scope, call, found)
            self.heap.escape([one for one in things if _matters(one)], Unknown(call.lineno))
            self.heap.link(found, callee)
            return found
        things += [self.value(scope, one.value) for one in call.keywords]
        starts = isinstance(callee, Made) and callee.called == EXPERIMENT and not callee.alive
        if of is not function and (starts or (not things and self.only_checks(callee, call))):
            return Known(None)
        given = [one for one in (callee, *things) if _matters(one)]
        self.heap.escape(given, Unknown(call.lineno, shown(call, foreign=False)))
        found = self.heap.loose(call.lineno, given)
        found.alive = found.runs = True
        found.calls = (called_by(call),)
        return found


def _matters(thing: Thing) -> bool:
    """Whether it is an object of the recipe, or a list."""
    if isinstance(thing, Known):
        return isinstance(thing.value, list)
    return not thing.is_foreign()


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def _key(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) and text.isidentifier() else ""
