"""What expressions stand for, and what happens where they are not followed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field

from frozen_records import dataclass
from planner.frameworks.reading.python.called import called_by
from planner.frameworks.reading.python.heap import Heap
from planner.frameworks.reading.python.scope import Scope
from planner.frameworks.reading.python.text import bound, chains, looked_up, running
from planner.frameworks.reading.python.trusted import (
    CHECKS,
    EVERYTHING,
    HIDDEN,
    RUNS,
    SETS,
    constructs,
    keeps,
    may_run,
)
from planner.frameworks.reading.python.values import Known, Made, Thing, Unknown, dotted, plain

DEEPEST = 40
"""Calls and branches in one another."""


@dataclass(slots=True)
class Unfollowed:
    """What parts of a text do that are not followed.

    Attributes:
        heap: The objects.
        simple: Classes of the file that only hold what they are given.
    """

    heap: Heap
    simple: set[Made] = field(default_factory=set)

    def reached(self, scope: Scope, part: ast.AST, inner: Iterable[str] = ()) -> list[Thing]:
        """Objects and lists that a part of the text looks up."""
        found = list[Thing]()
        for one in chains(part):
            root = dotted(one).partition(".")[0]
            if root not in inner and not scope.is_foreign(root):
                found.append(self.chain(scope, one))
        return [one for one in found if isinstance(one, Made) or isinstance(one.value, list)]

    def chain(self, scope: Scope, node: ast.expr) -> Thing:
        """What a name or a dotted one stands for."""
        name, *attributes = dotted(node).split(".")
        self.heap.spend(steps=len(attributes))
        self._reveal(scope, node)
        thing = scope.read(name, node.lineno)
        for one in attributes:
            thing = self.attribute(thing, one, node.lineno)
        return thing

    def _reveal(self, scope: Scope, node: ast.expr) -> None:
        """What reaches every name makes nothing known."""
        path = dotted(node)
        foreign = self.is_foreign(scope, node)
        every = foreign and (path in EVERYTHING or path.rpartition(".")[2] in RUNS)
        if every or path == "sys.modules" or getattr(node, "attr", "") in HIDDEN:
            self.heap.everything(Unknown(node.lineno, f"what `{path or 'a call'}` sets"))

    def attribute(self, thing: Thing, name: str, line: int) -> Thing:
        """What a field of something is."""
        if isinstance(thing, Made):
            return self.heap.read(thing, name, line)
        return self.heap.loose(line, [thing])

    def loose(self, scope: Scope, node: ast.expr) -> Made:
        """An expression that is not followed: what it may do, and what stands for it."""
        own, inner, _ = bound(node)
        reach = self.reached(scope, node, inner)
        found = self.heap.loose(node.lineno, reach)
        if any(isinstance(one, ast.Lambda | ast.GeneratorExp) for one in ast.walk(node)):
            found.looks = ((scope, node),)
            found.alive = True
        for name in own:
            scope.bind(name, found)
        self._run(scope, node, inner, found)
        return found

    def blur(self, scope: Scope, part: ast.stmt) -> Made:
        """A statement that may run, or not, or often: what it may do.

        Returns:
            What stands for whatever it binds.
        """
        own, inner, imports = bound(part)
        old = [scope.names[one] for one in own if one in scope.names]
        found = self.heap.loose(part.lineno, [*self.reached(scope, part, inner), *old])
        nested = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        if any(isinstance(one, nested) for one in ast.walk(part)):
            found.looks = ((scope, part),)
            found.alive = True
        for name in sorted(own):
            if name == "*":
                self._bind_all(scope, part)
            elif name in imports and name not in scope.names:
                scope.release(name)
            else:
                scope.bind(name, found)
        loops = ast.For | ast.AsyncFor | ast.While
        self._run(scope, part, inner, found)
        if any(isinstance(one, loops) for one in ast.walk(part)):
            self._run(scope, part, inner, found)  # with what it leaves in fields
        return found

    def _bind_all(self, scope: Scope, part: ast.stmt) -> None:
        """`from x import *`."""
        stand = self.heap.loose(part.lineno, scope.names.values())
        scope.names.update(dict.fromkeys(scope.names, stand))
        scope.own.clear()

    def _run(self, scope: Scope, part: ast.AST, inner: set[str], stand: Made) -> None:
        """What runs in a part may do: calls, and targets that are no names of its own."""
        stack = [(part, False)]
        while stack:
            node, covered = stack.pop()
            self.heap.spend(steps=1)
            if isinstance(node, ast.Call):
                covered = covered or self._call(scope, node, inner, stand)
            elif isinstance(node, ast.Attribute | ast.Subscript) and not _loads(node):
                self._target(scope, node, inner, stand)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.heap.escape([stand], Unknown(node.lineno, node.target.id))
            elif isinstance(node, ast.Name | ast.Attribute) and not inner & {dotted(node)}:
                self._touch(scope, node)
            stack += [(one, covered) for one in reversed(running(node))]

    def _touch(self, scope: Scope, node: ast.Name | ast.Attribute) -> None:
        """A name is looked up: code may run where what it stands for is used."""
        self._reveal(scope, node)
        thing = scope.names.get(dotted(node)) if _loads(node) else None
        if isinstance(thing, Made) and thing.alive:
            self.heap.escape([thing], Unknown(node.lineno, dotted(node)))

    def _call(self, scope: Scope, call: ast.Call, inner: set[str], stand: Made) -> bool:
        """A call that is not followed; whether calls in it do no more than that."""
        foreign = self.is_foreign(scope, call.func) and not _root(call.func) & inner
        if foreign and keeps(call):
            if may_run(call) and self._hands_code(scope, call, inner):
                self.heap.escape([stand], Unknown(call.lineno, shown(call, foreign)))
            return False
        of = call.func.value if isinstance(call.func, ast.Attribute) else None
        plainly = dotted(of) and not _root(of) & inner and not call.args and not call.keywords
        if of is not None and plainly and self.only_checks(self.chain(scope, of), call):
            return False
        part: list[ast.AST] = [*call.args] if foreign and constructs(call) else [call]
        names = frozenset[str]().union(*(looked_up(one) for one in part))
        found = None if names & inner else self.may_follow(scope, call)
        if found is not None:
            self.heap.link(stand, found)
            return True
        reach = [two for one in part for two in self.reached(scope, one, inner)]
        reach += [stand] if names & inner else []
        why = Unknown(call.lineno, shown(call, foreign))
        if called_by(call) in SETS and len(call.args) > 1:
            self._set_unseen(call, why)
        if reach:
            self.heap.escape(reach, why)
        return part == [call]

    def _hands_code(self, scope: Scope, call: ast.Call, inner: set[str]) -> bool:
        """Whether what a call is given may run code."""
        given = self.reached(scope, call, inner)
        nested = any(isinstance(one, ast.Lambda) for one in ast.walk(call))
        return nested or any(isinstance(one, Made) and is_code(one) for one in given)

    def only_checks(self, of: Thing, call: ast.Call) -> bool:
        """Whether a method changes nothing of its object."""
        own = getattr(call.func, "attr", "")
        if own not in CHECKS or not isinstance(of, Made) or own in of.fields:
            return False
        return not of.alive and not any(one.looks for one in of.links)

    def _set_unseen(self, call: ast.Call, why: Unknown) -> None:
        """`setattr` of an object of which it is not known which one it is."""
        keys = [one.value for one in call.args[:2] if isinstance(one, ast.Constant)]
        if keys:
            self.heap.weaken(str(keys[-1]), why)
        else:
            self.heap.open_all(why)

    def _target(self, scope: Scope, node: ast.expr, inner: set[str], stand: Made) -> None:
        """A field or an element is set or deleted, to what is not known."""
        of = node.value if isinstance(node, ast.Attribute | ast.Subscript) else node
        root = dotted(of).partition(".")[0]
        said = Unknown(node.lineno, dotted(node) or dotted(of) or "a field")
        if isinstance(node, ast.Attribute) and root and root not in inner:
            thing = self.chain(scope, of)
            if isinstance(thing, Made):
                self.heap.may_write(thing, node.attr, stand, said)
            return
        reach = self.reached(scope, of, inner)
        if looked_up(of) & inner:
            reach.append(stand)
        if isinstance(node, ast.Attribute):
            self.heap.weaken(node.attr, said)
        elif reach:
            self.heap.escape([*reach, *([stand] if stand.links else [])], said)

    def may_follow(self, scope: Scope, call: ast.Call) -> Thing | None:
        """What a call gives that may run; None: it is not followed."""
        raise NotImplementedError

    def is_foreign(self, scope: Scope, function: ast.expr) -> bool:
        """Whether what is called is of another file, and nothing of the recipe."""
        root = dotted(function).partition(".")[0]
        return bool(root) and scope.is_foreign(root)


def is_code(made: Made) -> bool:
    """Whether code that is not followed may run when an object is used."""
    return made.alive or bool(made.looks)


def known_value(scope: Scope, heap: Heap, node: ast.expr | None) -> Known | None:
    """The plain value of an expression."""
    return plain(node, scope.names, heap.spend)


def shown(call: ast.Call, foreign: bool) -> str:
    """What messages call that which a call may change."""
    given = [*call.args, *(one.value for one in call.keywords)]
    first = next((dotted(one) for one in given if dotted(one)), "")
    method = None if foreign else call.func
    of = dotted(method.value) if isinstance(method, ast.Attribute) else ""
    return first or of or f"what `{dotted(call.func) or 'a call'}` is given"


def _root(node: ast.expr | None) -> set[str]:
    return {dotted(node).partition(".")[0]}


def _loads(node: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load)
