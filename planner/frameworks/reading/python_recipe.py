"""A recipe in Python, function or program, read without running it: assignments of plain values.

`cfg.model.x = 4` and `cfg.y = Config(x=4)` are both a field with a value; what is computed from
anything else, loops and branches are left out with their line. `ast` parses; nothing is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of

_LARGEST = 1 << 40
_SAME = ast.Eq | ast.NotEq | ast.Is | ast.IsNot
_MOST_CALLS = 8  # functions that a recipe builds on, one upon another


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonRecipe:
    """What a function sets.

    Attributes:
        name: Of the function; "the program" where there is none.
        values: Dotted fields below the object, with plain values.
        calls: Functions and classes that were called, with their first argument where it is text.
        built: Dotted fields below the object that are made by a call, with what is called; of
            `run.Config(X)` with X.
        notes: What was left out, one line each.
        bases: Functions and classes of other files that made what is changed, returned or handed
            on here.
        computed: Dotted fields that are set to what is not known, with the line that says so.
    """

    name: str
    values: dict[str, Any]
    built: dict[str, str]
    calls: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    computed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Reading:
    functions: dict[str, ast.FunctionDef]
    constants: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    built: dict[str, str] = field(default_factory=dict)
    objects: dict[str, ast.Call] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    bases: dict[str, None] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    depth: int = 0


def python_recipe(text: str, name: str, function: str, returns: str) -> PythonRecipe:
    """The recipe of a file.

    Args:
        text: The file.
        name: What messages call it.
        function: The recipe's function; empty: the only one.
        returns: Name of the class that recipes return.

    Raises:
        InputError: The text is no Python, or the function is not in it.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{name}: is no Python ({type(error).__name__})") from error
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    recipes = [
        one.name
        for one in functions.values()
        if not one.name.startswith("_") and _named(one.returns) == returns
    ]
    chosen = function or (recipes[0] if len(recipes) == 1 else "")
    reading = _Reading(functions, dict(_assigned(tree.body)))
    if chosen in functions:
        _read_function(reading, functions[chosen], {})
    elif function:
        raise InputError(f"{name}: {not_one_of(function, recipes or functions)}")
    elif recipes:
        some = ", ".join(recipes[:4]) + (", ..." if len(recipes) > 4 else "")
        raise InputError(
            f"{name}: has {len(recipes)} recipes; name one as FILE::FUNCTION, of {some}"
        )
    else:
        chosen = _read_program(reading, tree, name)
    return PythonRecipe(
        name=chosen or "the program",
        values=reading.values,
        built=reading.built,
        calls=tuple(reading.calls),
        notes=tuple(reading.notes),
        bases=tuple(reading.bases),
        computed=reading.computed,
    )


def _read_program(reading: _Reading, tree: ast.Module, name: str) -> str:
    """Goes through a file that says of no function that it is a recipe.

    Returns:
        The function that stands for it, where the file itself sets nothing; else empty.

    Raises:
        InputError: Several functions might.
    """
    _read_body(reading, tree.body, dict(reading.constants))
    others = [one for one in reading.functions if not one.startswith("_")]
    if reading.values or reading.made or not others:
        return ""
    if len(others) > 1:
        some = ", ".join(others[:4]) + (", ..." if len(others) > 4 else "")
        raise InputError(
            f"{name}: sets nothing outside of its functions; name one as FILE::FUNCTION, of {some}"
        )
    _read_function(reading, reading.functions[others[0]], {})
    return others[0]


def _named(node: ast.expr | None) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return _dotted(node).rpartition(".")[2] if node is not None else ""


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
    """Names of a module that stand for plain values."""
    for one in body:
        target: ast.expr | None = one.target if isinstance(one, ast.AnnAssign) else None
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            target = one.targets[0]
        if isinstance(target, ast.Name) and isinstance(one, ast.Assign | ast.AnnAssign):
            known, value = _plain(one.value, {})
            if known:
                yield target.id, value


def _read_function(
    reading: _Reading, function: ast.FunctionDef, given: Mapping[str, tuple[bool, Any]]
) -> None:
    """Goes through a function; those of the file that it builds on come first.

    `given`: arguments, whether each is known, with its value; what is not has no default either.
    """
    names = {**reading.constants, **_defaults(function)}
    for name, (known, value) in given.items():
        names.pop(name, None)
        if known:
            names[name] = value
    _read_body(reading, function.body, names)


def _read_body(reading: _Reading, body: list[ast.stmt], names: dict[str, Any]) -> None:
    for statement in body:
        _read_statement(reading, statement, names)


def _defaults(function: ast.FunctionDef) -> dict[str, Any]:
    """Parameters with plain defaults."""
    spec = function.args
    pairs = [*zip(spec.args[len(spec.args) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [
        (arg, value) for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value
    ]
    found = ((arg.arg, _plain(value, {})) for arg, value in pairs)
    return {name: value for name, (known, value) in found if known}


def _read_statement(reading: _Reading, statement: ast.stmt, names: dict[str, Any]) -> None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        _read_assignment(reading, statement.targets[0], statement.value, names)
    elif isinstance(statement, ast.Return) and isinstance(statement.value, ast.Call):
        _read_call(reading, "", statement.value, names)
        _add_base(reading, _other_maker(reading, statement.value))
    elif isinstance(statement, ast.Return):
        _add_base(reading, reading.made.get(_dotted(statement.value), ""))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        for one in (*statement.value.args, *(word.value for word in statement.value.keywords)):
            _add_base(reading, reading.made.get(_dotted(one), ""))
    elif isinstance(statement, ast.If):
        known, value = _plain(statement.test, names)
        if not known:
            reading.notes.append(f"line {statement.lineno}: an `if` that is not known is left out")
            _forget(reading, statement, names)
            return
        _read_body(reading, statement.body if value else statement.orelse, names)
    elif isinstance(statement, ast.For | ast.While | ast.With | ast.Try):
        kind = type(statement).__name__.lower()
        reading.notes.append(f"line {statement.lineno}: `{kind}` and what is in it is left out")
        _forget(reading, statement, names)
    elif isinstance(statement, ast.AugAssign):
        _read_change(reading, statement, names)


def _forget(reading: _Reading, left_out: ast.stmt, names: dict[str, Any]) -> None:
    """What a part that is left out sets is not known after it."""
    for node in ast.walk(left_out):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign) else targets
        for target in targets:
            _leave_open(reading, target, left_out.lineno, names)


def _leave_open(reading: _Reading, target: ast.expr, line: int, names: dict[str, Any]) -> None:
    """A field or a name is not known from here on."""
    path = _dotted(target)
    inner = path.partition(".")[2]
    names.pop(path, None)
    if inner:
        reading.values.pop(inner, None)
        reading.computed[inner] = f"line {line}: {path} is computed, and left out"


def _read_change(reading: _Reading, change: ast.AugAssign, names: dict[str, Any]) -> None:
    """`cfg.x *= 2`, where what is changed is known."""
    path = _dotted(change.target)
    inner = path.partition(".")[2]
    before = reading.values if inner else names
    name = inner or path
    both = ast.BinOp(ast.Name("before"), change.op, change.value)
    known, value = _plain(both, {**names, "before": before[name]}) if name in before else (False, 0)
    if known:
        before[name] = value
        return
    _leave_open(reading, change.target, change.lineno, names)
    if inner:
        reading.notes.append(reading.computed[inner])


def _read_assignment(
    reading: _Reading, target: ast.expr, value: ast.expr, names: dict[str, Any]
) -> None:
    path = _dotted(target)
    inner = path.partition(".")[2]
    if isinstance(value, ast.Call):
        if path and not inner:
            reading.objects[path] = value
            reading.made[path] = _other_maker(reading, value)
        elif inner and "." in inner:
            _leave_open(reading, target, target.lineno, names)
        _read_call(reading, inner, value, names)
        return
    known, plain = _plain(value, names)
    if "." not in path:
        if known and path:
            names[path] = plain
        return
    _add_base(reading, reading.made.get(path.partition(".")[0], ""))
    if known:
        reading.values[inner] = plain
        reading.computed.pop(inner, None)
    else:
        _leave_open(reading, target, target.lineno, names)
        reading.notes.append(reading.computed[inner])


def _other_maker(reading: _Reading, call: ast.Call) -> str:
    """What makes an object, where that is no function of the file."""
    called = _named(call.func)
    return "" if called in reading.functions or _configures(call) else called


def _add_base(reading: _Reading, called: str) -> None:
    if called:
        reading.bases[called] = None


def _read_call(reading: _Reading, path: str, call: ast.Call, names: dict[str, Any]) -> None:
    """Keywords of a call as fields; a function of the file is read in its place."""
    called = _named(call.func) or _named(getattr(call.func, "attr", None))
    first = call.args[0] if call.args else None
    while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        inner = call.func.value  # Bridge.from_pretrained("x").get_model_config()
        called, first = _named(inner.func), inner.args[0] if inner.args else None
        call = inner
    known, text = _plain(first, names) if first is not None else (False, None)
    spelt = _named(call.args[0]) if call.args and _configures(call) else _spelt(call.func, called)
    reading.calls.append((spelt, text if known and isinstance(text, str) else ""))
    if path:
        reading.built[path] = reading.calls[-1][0]
    keywords = {one.arg: _plain(one.value, names) for one in call.keywords if one.arg}
    given = {name: value for name, (is_known, value) in keywords.items() if is_known}
    own = reading.functions.get(called)
    if own is not None and reading.depth < _MOST_CALLS:
        positions = [arg.arg for arg in own.args.args]
        plain = (_plain(value, names) for value in call.args)
        keywords |= dict(zip(positions, plain, strict=False))
        reading.depth += 1
        _read_function(reading, own, keywords)
        reading.depth -= 1
        return
    for one in call.keywords:
        field_path = f"{path}.{one.arg}" if path else str(one.arg)
        made = reading.objects.get(one.value.id) if isinstance(one.value, ast.Name) else one.value
        if isinstance(made, ast.Call):
            _read_call(reading, field_path, made, names)
        elif isinstance(one.value, ast.List):
            reading.calls += [
                (_spelt(item.func, ""), "") for item in one.value.elts if isinstance(item, ast.Call)
            ]
        elif one.arg in given:
            reading.values[field_path] = given[one.arg]
        elif one.arg:
            line = f"line {one.value.lineno}: {field_path} is computed, and left out"
            reading.computed[field_path] = line


def _configures(call: ast.Call) -> bool:
    """Whether a call says how its first argument is called, as those of NeMo-Run do."""
    return _dotted(call.func) in ("run.Config", "run.Partial")


def _spelt(function: ast.expr, called: str) -> str:
    """A call's name: of a `Config` inside a class with that class."""
    dotted = _dotted(function)
    return dotted if dotted.endswith(".Config") else called


def _dotted(node: ast.expr | None) -> str:
    """`a.b.c` of names and attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _plain(node: ast.expr | None, names: dict[str, Any]) -> tuple[bool, Any]:
    """Whether an expression is a plain value, and the value: constants, names, lists of them."""
    if isinstance(node, ast.Constant):
        return True, node.value
    if isinstance(node, ast.Name):
        return node.id in names, names.get(node.id)
    if isinstance(node, ast.List | ast.Tuple):
        parts = [_plain(one, names) for one in node.elts]
        return all(known for known, _ in parts), [value for _, value in parts]
    if isinstance(node, ast.Attribute):
        dotted = _dotted(node)
        return dotted.startswith("torch."), dotted
    return _computed(node, names)


def _computed(node: ast.expr | None, names: dict[str, Any]) -> tuple[bool, Any]:
    """The opposite of a plain value, the product of two whole numbers, and what is the same."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _SAME):
        left, right = _plain(node.left, names), _plain(node.comparators[0], names)
        differ = isinstance(node.ops[0], ast.NotEq | ast.IsNot)
        return left[0] and right[0], (left[1] == right[1]) is not differ
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known, value = _plain(node.operand, names)
        return known, not value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _plain(node.left, names), _plain(node.right, names)
        whole = isinstance(left[1], int) and isinstance(right[1], int)
        if left[0] and right[0] and whole and abs(left[1] * right[1]) < _LARGEST:
            return True, left[1] * right[1]
    return False, None
