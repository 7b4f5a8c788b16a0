"""Goes through the statements of a recipe, and of functions of its file that it calls.

What a statement binds and is not read is not known after it: see `bindings`.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from frozen_records import dataclass
from planner.frameworks.reading.python.bindings import Bound, bound, setting_of
from planner.frameworks.reading.python.called import (
    called_by,
    configures,
    keywords_of,
    spelt_as,
)
from planner.frameworks.reading.python.fields import Fields
from planner.frameworks.reading.python.scope import Scope
from planner.frameworks.reading.python.values import (
    Known,
    Made,
    Part,
    Spends,
    Thing,
    Unknown,
    dotted,
    named,
    plain,
)

_MOST_CALLS = 8  # functions that a recipe builds on, one upon another
_DEEPEST = 40  # calls and branches in one another
_LEFT_OUT = (
    ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.TryStar
    | ast.Match
)  # fmt: skip


@dataclass(slots=True)
class Reader:
    """Goes through functions of a file.

    Attributes:
        functions: Those of the file.
        spend: Counts work.
        fields: What is set.
        module: What is known of the file's own names.
        notes: What was left out, one line each.
        bases: Functions and classes of other files that made what is changed, returned or handed
            on.
    """

    functions: dict[str, ast.FunctionDef]
    spend: Spends
    fields: Fields
    module: Scope
    notes: dict[str, None] = field(default_factory=dict)
    bases: dict[str, None] = field(default_factory=dict)
    _bound: dict[int, Bound] = field(default_factory=dict)
    _ran: set[int] = field(default_factory=set)
    _calls: int = 0
    _depth: int = 0

    def run(
        self, function: ast.FunctionDef, given: dict[str, Thing | None], place: str | None = None
    ) -> Thing | None:
        """Goes through a function, and gives what it returns.

        Args:
            function: It.
            given: Arguments; None: one that is not known, which has no default either.
            place: See `Scope`.
        """
        scope = self._scope(function, given)
        scope.place = place
        self.body(scope, function.body)
        return scope.returned

    def _scope(self, function: ast.FunctionDef, given: dict[str, Thing | None]) -> Scope:
        """What is known where a function begins."""
        self.spend(steps=1 + (len(self.module.names) + len(self.module.own)) // 64)
        scope = Scope({**self.module.names}, self.fields, self.module.shared)
        scope.own = {*self.module.own}
        spec = function.args
        defaults = dict(self._defaults(spec))
        for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            thing = given[one.arg] if one.arg in given else defaults.get(one.arg)
            scope.bind(one.arg, Part(None, "") if thing is None else thing)
        for rest in (spec.vararg, spec.kwarg):
            if rest is not None:
                scope.bind(rest.arg, None)
        return scope

    def _defaults(self, spec: ast.arguments) -> Iterator[tuple[str, Known | None]]:
        """Parameters with plain defaults."""
        places = [*spec.posonlyargs, *spec.args]
        pairs = [*zip(places[len(places) - len(spec.defaults) :], spec.defaults, strict=True)]
        pairs += [
            (arg, one) for arg, one in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if one
        ]
        yield from ((arg.arg, plain(one, {}, self.spend)) for arg, one in pairs)

    def body(self, scope: Scope, statements: Sequence[ast.stmt]) -> bool:
        """Goes through statements; whether the function ends there."""
        return any(self._statement(scope, one) for one in statements)

    def _statement(self, scope: Scope, statement: ast.stmt) -> bool:
        self.spend(steps=1)
        if isinstance(statement, ast.If):
            return self._if(scope, statement)
        if isinstance(statement, ast.Return):
            self._return(scope, statement.value)
        elif isinstance(statement, _LEFT_OUT):
            kind = type(statement).__name__.lower()
            self._leave_out(scope, statement, f"`{kind}` and what is in it is left out")
        elif isinstance(statement, ast.Assign):
            self._assign(scope, statement.targets, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign(scope, [statement.target], statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._change(scope, statement)
        elif isinstance(statement, ast.Expr):
            self._expression(scope, statement.value)
        else:
            self._define(scope, statement)
        if isinstance(value := getattr(statement, "value", None), ast.expr):
            self._may_call(scope, value)
        return isinstance(statement, ast.Return | ast.Raise)

    def _if(self, scope: Scope, statement: ast.If) -> bool:
        """Takes the branch that is known; whether the function ends there."""
        branch: list[ast.stmt] = [statement]
        while len(branch) == 1 and isinstance(one := branch[0], ast.If):
            self.spend(steps=1)
            self._forget(scope, one.test)
            test = plain(one.test, scope.names, self.spend)
            if test is None or self._depth > _DEEPEST:
                self._leave_out(scope, one, "an `if` that is not known is left out")
                return False
            branch = one.body if test.value else one.orelse
        self._depth += 1
        ended = self.body(scope, branch)
        self._depth -= 1
        return ended

    def _leave_out(self, scope: Scope, statement: ast.stmt, what: str) -> None:
        self.notes[f"line {statement.lineno}: {what}"] = None
        self._forget(scope, statement)
        self._may_call(scope, statement)
        scope.may_end |= self._bound_of(statement).returns

    def _return(self, scope: Scope, value: ast.expr | None) -> None:
        if value is None:
            return
        self._forget(scope, value)
        thing = self._thing(scope, value)
        if isinstance(thing, Made):
            self._add_base(thing)
            if scope.place is not None and isinstance(value, ast.Call) and not thing.places:
                self.fields.add(thing, scope.place)
            scope.returned = thing
        elif not scope.may_end:
            scope.returned = thing

    def _define(self, scope: Scope, statement: ast.stmt) -> None:
        """A statement that only binds names, or nothing; a function does more when it is called."""
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self._forget(scope, statement)
            return
        scope.forget(Bound(names=(statement.name,)), statement.lineno)
        if scope is self.module:
            scope.own.add(statement.name)
        else:
            scope.inner[statement.name] = statement

    def _expression(self, scope: Scope, value: ast.expr) -> None:
        setting = setting_of(value) if isinstance(value, ast.Call) else None
        if setting is not None:
            self._assign(scope, [setting[0]], setting[1])
            return
        self._forget(scope, value)
        if isinstance(value, ast.Call):
            for one in (*value.args, *(word.value for word in value.keywords)):
                self._add_base(scope.names.get(one.id) if isinstance(one, ast.Name) else None)
            if self._own(scope, value) is not None:
                self._call(scope, value)

    def _assign(self, scope: Scope, targets: list[ast.expr], value: ast.expr) -> None:
        self._forget(scope, value)
        thing = self._thing(scope, value)
        for target in targets:
            self._unpack(scope, target, value, thing)

    def _unpack(self, scope: Scope, target: ast.expr, value: ast.expr, thing: Thing | None) -> None:
        """Binds a target; several at once where as many values stand there."""
        if not isinstance(target, ast.Tuple | ast.List):
            self._bind(scope, target, thing, isinstance(value, ast.Call))
            return
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        starred = any(isinstance(one, ast.Starred) for one in (*target.elts, *parts))
        if starred or len(parts) != len(target.elts):
            self._forget(scope, target)
            return
        things = [self._thing(scope, one) for one in parts]
        for one, part, found in zip(target.elts, parts, things, strict=True):
            self._unpack(scope, one, part, found)

    def _bind(self, scope: Scope, target: ast.expr, thing: Thing | None, called: bool) -> None:
        """A target stands for something; one that is no name and no field is not read."""
        path = dotted(target)
        name, dot, _ = path.partition(".")
        if not path:
            self._forget(scope, target)
        elif dot:
            self._add_base(scope.names.get(name))
            line = scope.set(path, target.lineno, thing)
            if line and not called:
                self.notes[line] = None
        else:
            scope.bind(name, thing)
            if called and isinstance(thing, Made) and not thing.places:
                self.fields.add(thing, "")

    def _change(self, scope: Scope, change: ast.AugAssign) -> None:
        """`cfg.x *= 2`, where what is changed is known."""
        self._forget(scope, change.value)
        before = scope.value(dotted(change.target))
        after = None
        if before is not None:
            both = ast.BinOp(ast.Name("before"), change.op, change.value)
            after = plain(both, ChainMap({"before": before}, scope.names), self.spend)
            scope.lose(before, change.lineno)
        self._bind(scope, change.target, after, False)

    def _thing(self, scope: Scope, value: ast.expr) -> Thing | None:
        """What an expression stands for."""
        if isinstance(value, ast.Call):
            return self._call(scope, value)
        if isinstance(value, ast.Name):
            self.spend(steps=1)
            return scope.names.get(value.id)
        path = dotted(value)
        if isinstance(scope.names.get(path.partition(".")[0]), Made | Part):
            return scope.part(path)
        return plain(value, scope.names, self.spend)

    def _call(self, scope: Scope, call: ast.Call) -> Thing | None:
        """What a call gives; a function of the file is read in its place."""
        self.spend(steps=1)
        if self._depth > _DEEPEST:
            return None
        outer, called = call, called_by(call)
        first = call.args[0] if call.args else None
        while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
            call = call.func.value  # Bridge.from_pretrained("x").get_model_config()
            called, first = named(call.func), call.args[0] if call.args else None
        spelt = named(call.args[0]) if call.args and configures(call) else spelt_as(call, called)
        said = plain(first, scope.names, self.spend) if first is not None else None
        text = said.value if said is not None and isinstance(said.value, str) else ""
        self._depth += 1
        own = self._own(scope, call)
        found: Thing | None
        if own is not None and self._calls < _MOST_CALLS:
            self.fields.calls.append((spelt, text))
            self._calls += 1
            self._ran.add(id(call))
            found = self.run(own, self._given(scope, own, call))
            self._calls -= 1
        elif isinstance(copied := self._copied(scope, call, called), Part) and not call.keywords:
            found = copied
        else:
            follows = self._own(scope, outer) is not None or configures(outer)
            maker = "" if follows else named(outer.func)
            found = Made(spelt, text, call.lineno, maker)
            if copied is not None:
                found.maker = copied.maker if isinstance(copied, Made) else ""
                self.fields.copy(copied, found, called == "deepcopy")
            for name, value in keywords_of(call):
                found.fields[name] = self._handed(scope, value)
        self._depth -= 1
        return found

    def _own(self, scope: Scope, call: ast.Call) -> ast.FunctionDef | None:
        """The function of the file that a call calls; None: it calls another one."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        return self.functions.get(name) if name in scope.own else None

    def _copied(self, scope: Scope, call: ast.Call, called: str) -> Made | Part | None:
        """The object that a call gives a copy of; None: it gives none."""
        if called not in ("replace", "copy", "deepcopy") or len(call.args) != 1:
            return None
        thing = self._thing(scope, call.args[0])
        return thing if isinstance(thing, Made | Part) else None

    def _handed(self, scope: Scope, value: ast.expr) -> Known | Made | Unknown:
        """What a keyword is."""
        thing = self._thing(scope, value)
        if isinstance(thing, Known | Made):
            return thing
        parts = value.elts if isinstance(value, ast.List) else []
        return Unknown(
            value.lineno,
            calls=tuple(spelt_as(one, "") for one in parts if isinstance(one, ast.Call)),
        )

    def _given(
        self, scope: Scope, function: ast.FunctionDef, call: ast.Call, runs: bool = True
    ) -> dict[str, Thing | None]:
        """Arguments of a call by the names of the function's parameters.

        `runs`: whether calls in them are followed.
        """
        spec = function.args
        places = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        names = [*places, *(one.arg for one in spec.kwonlyargs)]
        more = any(one.arg is None for one in call.keywords)
        found: dict[str, Thing | None] = dict.fromkeys(names) if more else {}
        said = [(one.arg, one.value) for one in call.keywords if one.arg]
        starred = any(isinstance(one, ast.Starred) for one in call.args)
        if starred:
            found |= dict.fromkeys(places)
        else:
            said += zip(places, call.args, strict=False)
        for name, value in said:
            follow = runs or not isinstance(value, ast.Call)
            found[name] = self._thing(scope, value) if follow else None
        return found

    def _forget(self, scope: Scope, part: ast.AST) -> None:
        """What a part of the text may bind is not known from here on, nor what it may call."""
        parts, seen = [part], set[str]()
        for one in parts:  # which grows
            what = self._bound_of(one)
            own = what if one is part else replace(what, names=())
            scope.forget(own, getattr(part, "lineno", 0))
            called = (what.looked_up & scope.inner.keys()) - seen
            seen |= called
            parts += [scope.inner[name] for name in called]

    def _may_call(self, scope: Scope, part: ast.AST) -> None:
        """What functions of the file set is not known, where calls of them are not read."""
        line, seen = getattr(part, "lineno", 0), set[tuple[object, ...]]()
        stack = [(scope, part)]
        for at, one in stack:  # which grows
            for call in self._bound_of(one).calls:
                own = self._own(at, call)
                if own is None or id(call) in self._ran:
                    continue
                given = self._given(at, own, call, runs=False)
                objects = (two for two in given.items() if isinstance(two[1], Made | Part))
                key = (own.name, *objects)
                if key not in seen:
                    seen.add(key)
                    inner = self._scope(own, given)
                    inner.forget(replace(self._bound_of(own), names=()), line)
                    stack.append((inner, own))

    def _bound_of(self, part: ast.AST) -> Bound:
        found = self._bound.get(id(part))
        if found is None:
            found = self._bound[id(part)] = bound(part)
        return found

    def _add_base(self, thing: Thing | None) -> None:
        made = thing.of if isinstance(thing, Part) else thing
        if isinstance(made, Made) and made.maker:
            self.bases[made.maker] = None
