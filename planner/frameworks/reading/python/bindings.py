"""What a statement may bind when it runs: names, and fields of objects. Of any kind of statement.

Names and fields are found where Python's own grammar says that they are stored or deleted, so that
no kind of statement is left out, and where calls set them (`setattr`, `exec`, `list.append`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from frozen_records import dataclass
from planner.frameworks.reading.python.paths import ALL
from planner.frameworks.reading.python.values import dotted

_SETS = ("setattr", "delattr", "__setattr__", "__delattr__")
_CHANGES = (
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update",
    "setdefault", "popitem", "add", "discard", "__setitem__", "__delitem__",
)  # fmt: skip
"""Methods of lists, dictionaries and sets that change them."""
_NAMESPACES = ("globals", "locals", "vars")
_INNER = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_NAMED = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs
    | ast.MatchStar
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """What a part of a text may bind.

    Attributes:
        names: Names.
        fields: Dotted, with the name of the object; `cfg.model.*` is every field below.
        looked_up: Names that it looks up; functions among them may be called.
        calls: Calls of names.
        returns: Whether it may end the function.
    """

    names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    looked_up: frozenset[str] = frozenset()
    calls: tuple[ast.Call, ...] = ()
    returns: bool = False


def bound(part: ast.AST) -> Bound:
    """What a part of a text may bind, with all that stands in it.

    What functions, classes and lambdas do to names of their own is left out; what they do to
    fields is not.
    """
    names, fields = dict[str, None](), dict[str, None]()
    looked_up, returns, calls = set[str](), False, list[ast.Call]()
    stack = [(part, True)]
    while stack:
        node, own = stack.pop()
        if own:
            names |= dict.fromkeys(_names(node))
            returns |= isinstance(node, ast.Return)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            looked_up.add(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.append(node)
        fields |= dict.fromkeys(_fields(node))
        inside = own and not isinstance(node, _INNER)
        for child in ast.iter_child_nodes(node):
            leaks = not (isinstance(node, ast.comprehension) and child is node.target)
            stack.append((child, inside and leaks))
    return Bound(tuple(names), tuple(fields), frozenset(looked_up), tuple(calls), returns)


def shared_names(tree: ast.AST) -> frozenset[str]:
    """Names that some function of a file sets for others: they are never known."""
    nodes = (one for one in ast.walk(tree) if isinstance(one, ast.Global | ast.Nonlocal))
    return frozenset(name for one in nodes for name in one.names)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, _NAMED) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)


def _fields(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        of = node.value
        keyed = isinstance(node, ast.Subscript) and _key(node.slice) == ALL
        found = of.id if keyed and isinstance(of, ast.Name) else place(node)
        if found:
            yield found
    elif isinstance(node, ast.Call):
        found = _set_by(node)
        if found:
            yield found


def _set_by(call: ast.Call) -> str:
    """The field that a call sets, or the object whose fields it does; empty: none is known."""
    function = call.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name == "exec":
        return ALL
    of = function.value if isinstance(function, ast.Attribute) else None
    if name in _SETS and call.args:
        method = name.startswith("__") and not (isinstance(of, ast.Name) and of.id == "object")
        target = of if method else call.args[0]
        return _joined(place(target), _key(call.args[0 if method else min(1, len(call.args) - 1)]))
    if name in _CHANGES and of is not None:
        inner = isinstance(of, ast.Call) or getattr(of, "attr", "") == "__dict__"
        return _joined(place(of), ALL) if inner else place(of)
    return ""


def setting_of(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The target and the value of `setattr(cfg.model, "x", 8)`; None: it is no such call."""
    if not isinstance(call.func, ast.Name) or call.func.id != "setattr" or len(call.args) != 3:
        return None
    key = _key(call.args[1])
    if key == ALL or not dotted(call.args[0]):
        return None
    return ast.copy_location(ast.Attribute(call.args[0], key, ast.Store()), call), call.args[2]


def place(node: ast.expr | None) -> str:
    """Where a target is, as `cfg.model.x`; what is below a key that is not known is `cfg.model.*`.

    Empty: it is of no object that has a name.
    """
    keys: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            keys += [] if node.attr == "__dict__" else [node.attr]
            node = node.value
        elif isinstance(node, ast.Subscript):
            keys.append(_key(node.slice))
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _NAMESPACES and not node.args:
                return ALL
            if node.func.id not in ("vars", "getattr") or not node.args:
                return ""
            keys += [_key(node.args[1])] if len(node.args) > 1 else []
            node = node.args[0]
        else:
            return ""
    found = node.id
    for key in reversed(keys):
        found = _joined(found, key)
    return found


def _joined(path: str, key: str) -> str:
    return path if not path or path.endswith(ALL) else f"{path}.{key}"


def _key(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) and text and "." not in text else ALL
