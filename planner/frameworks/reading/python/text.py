"""What a part of a text names: what it looks up, what it binds, and what of it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planner.frameworks.reading.python.values import dotted

_INNER = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_NAMED = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs
    | ast.MatchStar
)  # fmt: skip


def looked_up(part: ast.AST) -> frozenset[str]:
    """Names that are looked up in it, at any depth."""
    return frozenset(one.id for one in ast.walk(part) if isinstance(one, ast.Name) and _loads(one))


def bound(part: ast.AST) -> tuple[set[str], set[str], set[str]]:
    """Names that it binds where it stands, those of functions and classes inside, and imports.

    The third are those of the first that nothing but imports and constants bind.
    """
    own, inner, imports, others = set[str](), set[str](), set[str](), set[str]()
    constants = set[int]()
    stack = [(part, True)]
    while stack:
        node, outside = stack.pop()
        names = set(_names(node))
        (own if outside else inner).update(names)
        if isinstance(node, ast.arg):
            inner.add(node.arg)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            constants |= {id(one) for one in node.targets}
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= names
        elif id(node) not in constants:
            others |= names
        inside = outside and not isinstance(node, _INNER)
        for child in ast.iter_child_nodes(node):
            leaks = not (isinstance(node, ast.comprehension) and child is node.target)
            stack.append((child, inside and leaks))
    return own, inner, (imports - others) & own


def running(node: ast.AST) -> list[ast.AST]:
    """What runs where a node stands: its parts, but not what is in functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        return [*decorators, *(one for one in defaults if one is not None)]
    return [*ast.iter_child_nodes(node)]


def chains(part: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """Names and dotted names that are looked up in it; of a method its object."""
    stack = [part]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            stack += [node.func.value, *node.args, *node.keywords]
        elif isinstance(node, ast.Name | ast.Attribute) and dotted(node):
            if _loads(node):
                yield node
            elif isinstance(node, ast.Attribute):
                stack.append(node.value)
        else:
            stack += ast.iter_child_nodes(node)


def ends(part: ast.AST) -> list[ast.Return]:
    """The places where it ends the function that it stands in."""
    found, stack = list[ast.Return](), [part]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        elif not isinstance(node, _INNER):
            stack += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]
    return found


def yields(function: ast.FunctionDef) -> bool:
    """Whether a call of it gives a generator."""
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _INNER):
            stack += ast.iter_child_nodes(node)
    return False


def shared_names(tree: ast.AST) -> frozenset[str]:
    """Names that some function of a file sets for others: they are never known."""
    nodes = (one for one in ast.walk(tree) if isinstance(one, ast.Global | ast.Nonlocal))
    return frozenset(name for one in nodes for name in one.names)


def _loads(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, _NAMED) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
