"""Goes through the statements of a recipe, and of functions of its file that it calls.

What is not followed makes all that it could reach not known: see `expressions`.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import field

from frozen_records import dataclass
from planner.frameworks.reading.python.calls import Followed, Given
from planner.frameworks.reading.python.expressions import DEEPEST
from planner.frameworks.reading.python.scope import Scope, Shared
from planner.frameworks.reading.python.text import ends
from planner.frameworks.reading.python.trusted import is_experiment, is_harmless, starts
from planner.frameworks.reading.python.values import Known, Made, Thing, Unknown, dotted, plain

_LEFT_OUT = (
    ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.TryStar
    | ast.Match
)  # fmt: skip

Parts = Thing | list["Parts"]


@dataclass(slots=True)
class Reader:
    """Goes through functions of a file.

    Attributes:
        followed: What expressions stand for.
        shared: What its functions share.
        module: What is known of the file's own names.
        notes: What was left out, one line each.
        bases: Functions and classes of other files that made what is changed, returned or handed
            on.
        roots: Objects that stand for the recipe where nothing is returned.
        handed: Those among them that training is started with.
    """

    followed: Followed
    shared: Shared
    module: Scope
    notes: dict[str, None] = field(default_factory=dict)
    bases: dict[str, None] = field(default_factory=dict)
    roots: dict[Made, None] = field(default_factory=dict)
    handed: dict[Made, None] = field(default_factory=dict)
    _defaults: dict[int, Thing] = field(default_factory=dict)
    _depth: int = 0

    def run(
        self,
        function: ast.FunctionDef,
        given: Given,
        outer: Scope | None = None,
        asked: bool = False,
    ) -> Thing:
        """Goes through a function, and gives what it returns.

        Args:
            function: It.
            given: Arguments.
            outer: The function that it stands in; None: the file.
            asked: Whether it is the recipe, whose arguments are not known.
        """
        heap = self.followed.heap
        heap.spend(steps=1 + (len(self.module.names) + len(self.module.own)) // 64)
        at = outer or self.module
        scope = Scope({**at.names}, self.shared, {**at.own}, {**at.inner}, self.module)
        self._arguments(scope, function.args, given, asked)
        heap.scopes.append(scope.names)
        after = heap.after
        ended = self.body(scope, function.body)
        heap.after = after
        heap.scopes.pop()
        return self._result(scope, ended)

    def begin(self) -> None:
        """Functions of the file are followed from here on, and nothing before counts."""
        self.followed.follows = True
        self.notes.clear()
        self.bases.clear()
        self.roots.clear()
        self.followed.heap.calls.clear()

    def _arguments(self, scope: Scope, spec: ast.arguments, given: Given, asked: bool) -> None:
        """What is known where a function begins."""
        heap = self.followed.heap
        for one in _parameters(spec):
            thing = given.get(one.arg, self._defaults.get(id(one)))
            if thing is None:
                thing = heap.new(line=one.lineno) if asked else heap.loose(one.lineno)
                if asked:
                    self.roots[thing] = None
            scope.bind(one.arg, thing)
        for rest in (spec.vararg, spec.kwarg):
            if rest is not None:
                scope.bind(rest.arg, given.get(rest.arg) or heap.loose(rest.lineno))

    def _result(self, scope: Scope, ended: bool) -> Thing:
        """What a function returns; where it may have ended before, that may be another thing."""
        last = scope.returned if ended and scope.returned is not None else Known(None)
        if not scope.may_end or all(_same(one, last) for one in scope.maybe):
            return last
        return self.followed.heap.loose(scope.may_end, [last, *scope.maybe])

    def body(self, scope: Scope, statements: Sequence[ast.stmt]) -> bool:
        """Goes through statements; whether the function ends there."""
        return any(self._statement(scope, one) for one in statements)

    def _statement(self, scope: Scope, statement: ast.stmt) -> bool:
        self.followed.heap.spend(steps=1)
        if isinstance(statement, ast.If):
            return self._if(scope, statement)
        if isinstance(statement, ast.Return):
            self._return(scope, statement.value)
        elif isinstance(statement, _LEFT_OUT):
            kind = type(statement).__name__.lower()
            self._leave_out(scope, statement, f"`{kind}` and what is in it is left out")
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._set_all(scope, statement)
        elif isinstance(statement, ast.Expr):
            self._expression(scope, statement.value)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._define(scope, statement)
        elif not isinstance(statement, ast.Global | ast.Nonlocal | ast.Pass):
            self._other(scope, statement)
        return isinstance(statement, ast.Return | ast.Raise)

    def _set_all(self, scope: Scope, statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        if isinstance(statement, ast.AugAssign):
            self._change(scope, statement)
        elif isinstance(statement, ast.Assign):
            self._assign(scope, statement.targets, statement.value)
        else:
            if statement.value is not None:
                self._assign(scope, [statement.target], statement.value)
            self._annotate(scope, statement.annotation)

    def _annotate(self, scope: Scope, *parts: ast.expr | None) -> None:
        """What may run where a type is said, or a decorator."""
        for one in parts:
            if one is not None and any(isinstance(two, ast.Call) for two in ast.walk(one)):
                self.followed.loose(scope, one)

    def _other(self, scope: Scope, statement: ast.stmt) -> None:
        """`import`, `del`, `assert`, `raise`."""
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = [(one.asname or one.name).partition(".")[0] for one in statement.names]
            if "*" not in names:
                for name in names:
                    scope.release(name)
                if isinstance(statement, ast.Import):
                    self.shared.modules.update(names)
                return
        self.followed.blur(scope, statement)

    def _if(self, scope: Scope, statement: ast.If) -> bool:
        """Takes the branch that is known; whether the function ends there."""
        branch: list[ast.stmt] = [statement]
        while len(branch) == 1 and isinstance(one := branch[0], ast.If):
            test = self.followed.value(scope, one.test)
            if isinstance(test, Made) or self._depth > DEEPEST:
                self._leave_out(scope, one, "an `if` that is not known is left out")
                return False
            branch = one.body if test.value else one.orelse
        self._depth += 1
        ended = self.body(scope, branch)
        self._depth -= 1
        return ended

    def _leave_out(self, scope: Scope, statement: ast.stmt, what: str) -> None:
        self.notes[f"line {statement.lineno}: {what}"] = None
        if is_experiment(statement):
            return
        stand = self.followed.blur(scope, statement)
        for one in ends(statement):
            thing: Thing = Known(None)
            if one.value is not None:
                plainly = isinstance(one.value, ast.Name | ast.Constant)
                thing = self.followed.value(scope, one.value) if plainly else stand
            scope.maybe.append(thing)
            scope.may_end = scope.may_end or one.lineno
            self.followed.heap.after = True

    def _return(self, scope: Scope, value: ast.expr | None) -> None:
        if value is None:
            return
        scope.returned = self.followed.value(scope, value)
        self._add_base(scope.returned)

    def _define(
        self, scope: Scope, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> None:
        """A function or a class; what it does beyond that it does when it is called."""
        stand = self.followed.heap.loose(statement.lineno)
        stand.looks, stand.alive = ((scope, statement),), True
        self._annotate(scope, *statement.decorator_list)
        harmless = all(is_harmless(one) for one in statement.decorator_list)
        if isinstance(statement, ast.ClassDef):
            self._define_class(scope, statement, stand)
            return
        spec = statement.args
        self._annotate(scope, statement.returns, *(one.annotation for one in _parameters(spec)))
        self._keep_defaults(scope, spec)
        plainly = harmless and isinstance(statement, ast.FunctionDef)
        if isinstance(statement, ast.FunctionDef) and plainly and scope is self.module:
            scope.release(statement.name)
            scope.own[statement.name] = statement
            return
        scope.bind(statement.name, stand)
        if isinstance(statement, ast.FunctionDef) and plainly:
            scope.inner[statement.name] = statement, scope
        elif not harmless:
            self._hand(scope, stand, statement.decorator_list, statement)

    def _define_class(self, scope: Scope, statement: ast.ClassDef, stand: Made) -> None:
        """A class, whose body runs, and whose bases and decorators are given it."""
        self.followed.blur(scope, statement)
        scope.bind(statement.name, stand)
        if _is_simple(statement, scope):
            self.followed.simple.add(stand)
        else:
            given = [*statement.bases, *(one.value for one in statement.keywords)]
            self._hand(scope, stand, [*given, *statement.decorator_list], statement)

    def _hand(self, scope: Scope, stand: Made, others: list[ast.expr], statement: ast.stmt) -> None:
        """A function or class is given to others."""
        reach = [two for one in others for two in self.followed.reached(scope, one)]
        if reach or not isinstance(statement, ast.ClassDef):
            said = Unknown(statement.lineno, "what a definition is given")
            self.followed.heap.escape([stand, *reach], said)

    def _keep_defaults(self, scope: Scope, spec: ast.arguments) -> None:
        """Defaults are what they are where a function is defined; lists are shared by its calls."""
        places = [*spec.posonlyargs, *spec.args]
        pairs = [*zip(places[len(places) - len(spec.defaults) :], spec.defaults, strict=True)]
        pairs += [
            (arg, one) for arg, one in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if one
        ]
        for arg, one in pairs:
            thing = self.followed.value(scope, one)
            if isinstance(thing, Known) and isinstance(thing.value, list):
                thing = self.followed.heap.loose(one.lineno, [thing])
            self._defaults[id(arg)] = thing

    def _expression(self, scope: Scope, value: ast.expr) -> None:
        if isinstance(value, ast.Call):
            for one in (*value.args, *(word.value for word in value.keywords)):
                thing = scope.names.get(one.id) if isinstance(one, ast.Name) else None
                self._add_base(thing)
                if isinstance(thing, Made) and starts(value) and not thing.loose:
                    self.handed[thing] = None
        self.followed.value(scope, value)

    def _assign(self, scope: Scope, targets: list[ast.expr], value: ast.expr) -> None:
        several = any(isinstance(one, ast.Tuple | ast.List) for one in targets)
        things = self._parts(scope, value) if several else self.followed.value(scope, value)
        for target in targets:
            self._unpack(scope, target, things, value)

    def _parts(self, scope: Scope, value: ast.expr) -> Parts:
        """What several values that stand in a row are."""
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if parts and not any(isinstance(one, ast.Starred) for one in parts):
            return [self._parts(scope, one) for one in parts]
        return self.followed.value(scope, value)

    def _unpack(self, scope: Scope, target: ast.expr, things: Parts, value: ast.expr) -> None:
        """Binds a target; several at once where as many values stand there."""
        if not isinstance(things, list):
            self._store(scope, target, things, isinstance(value, ast.Call))
            return
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        starred = any(isinstance(one, ast.Starred) for one in targets)
        if starred or len(targets) != len(things):
            stand = self.followed.heap.loose(target.lineno, _leaves(things))
            self._store(scope, target, stand, False)
            return
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for one, thing, part in zip(targets, things, values, strict=True):
            self._unpack(scope, one, thing, part)

    def _store(self, scope: Scope, target: ast.expr, thing: Thing, called: bool) -> None:
        """A target stands for something."""
        heap = self.followed.heap
        if isinstance(target, ast.Name):
            scope.bind(target.id, thing)
            if called and isinstance(thing, Made) and thing.called and not thing.held:
                self.roots[thing] = None
        elif isinstance(target, ast.Attribute):
            self._set(scope, target, thing, called)
        elif isinstance(target, ast.Subscript):
            of = self.followed.value(scope, target.value)
            self.followed.value(scope, target.slice)
            heap.escape([of, thing], Unknown(target.lineno, dotted(target.value)))
        else:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            parts = [target.value] if isinstance(target, ast.Starred) else parts
            if isinstance(thing, Made) and thing.alive:
                heap.escape([thing], Unknown(target.lineno))
            stand = heap.loose(target.lineno, [thing])
            for one in parts:
                self._store(scope, one, stand, False)

    def _set(self, scope: Scope, target: ast.Attribute, thing: Thing, called: bool) -> None:
        """A field of an object is set."""
        of = self.followed.value(scope, target.value)
        shown = dotted(target) or f"a field {target.attr}"
        said = Unknown(target.lineno, shown)
        if isinstance(of, Made):
            root = scope.names.get(dotted(target).partition(".")[0])
            self._add_base(of if root is None else root)
            self.followed.heap.write(of, target.attr, thing, said)
        if isinstance(thing, Made) and not called and (not thing.called or thing.loose):
            self.notes[said.text(shown)] = None

    def _change(self, scope: Scope, change: ast.AugAssign) -> None:
        """`cfg.x *= 2`, where what is changed is known."""
        target, heap = change.target, self.followed.heap
        said = Unknown(change.lineno, dotted(target) or "a field")
        if isinstance(target, ast.Subscript):
            self._store(scope, target, self.followed.value(scope, change.value), False)
            return
        before = self.followed.value(scope, _loaded(target))
        after: Thing | None = None
        if isinstance(before, Known) and not isinstance(before.value, list):
            both = ast.BinOp(ast.Name("before"), change.op, change.value)
            after = plain(both, ChainMap({"before": before}, scope.names), heap.spend)
        if after is None:
            thing = self.followed.value(scope, change.value)
            heap.escape([before], said)
            after = heap.loose(change.lineno, [before, thing])
        self._store(scope, target, after, False)

    def _add_base(self, thing: Thing | None) -> None:
        if isinstance(thing, Made) and thing.maker:
            self.bases[thing.maker] = None


def _parameters(spec: ast.arguments) -> list[ast.arg]:
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def _loaded(target: ast.Name | ast.Attribute) -> ast.expr:
    """A target as it is looked up."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)


def _leaves(things: Parts) -> list[Thing]:
    if not isinstance(things, list):
        return [things]
    return [two for one in things for two in _leaves(one)]


def _same(one: Thing, other: Thing) -> bool:
    if isinstance(one, Known) and isinstance(other, Known):
        return type(one.value) is type(other.value) and one.value == other.value
    return one is other


def _is_simple(statement: ast.ClassDef, scope: Scope) -> bool:
    """Whether a class only holds what it is given, like a dataclass without code of its own."""
    for one in statement.body:
        if isinstance(one, ast.FunctionDef):
            if one.name.startswith("__") or one.decorator_list:
                return False
        elif isinstance(one, ast.AnnAssign | ast.Assign):
            made = isinstance(one.value, ast.Call) and dotted(one.value.func).endswith("field")
            if one.value is not None and not made and not isinstance(one.value, ast.Constant):
                return False
        elif not isinstance(one, ast.Expr | ast.Pass):
            return False
    decorators = [
        one.func if isinstance(one, ast.Call) else one for one in statement.decorator_list
    ]
    bases = [dotted(one).partition(".")[0] for one in statement.bases]
    return (
        all(dotted(one) in ("dataclass", "dataclasses.dataclass") for one in decorators)
        and all(one and scope.is_foreign(one) for one in bases)
        and not statement.keywords
    )
