"""Formulas of the table of types: arithmetic on keys of a config.json, as text in its rows.

A formula has names, whole numbers, texts and lists of them, `+ - * // %`, comparisons, `and`,
`or`, `not`, `a if b else c`, places of a list, and six functions: `min`, `max`, `len`, `int`,
`up(a, b)` (a / b, rounded up to a whole number) and `over(n, f)` (the sum of f for i from 0 to
n - 1; a condition counts as 1). `a / b` must be whole. Nothing else is evaluated.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

Look = Callable[[str], Any]
MOST_TURNS = 10_000

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in (_numbered(b) if isinstance(a, int) else b),
    ast.NotIn: lambda a, b: a not in (_numbered(b) if isinstance(a, int) else b),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def _numbered(whole: Any) -> Any:
    """An object of JSON, whose keys are texts such as "05", by number; others as they are."""
    if not isinstance(whole, dict):
        return whole
    return {int(key): value for key, value in whole.items() if key.isascii() and key.isdecimal()}


class FormulaError(Exception):
    """The values of a file do not fit a formula; the message says how, in a few words.

    Attributes:
        part: the part of the formula that they do not fit.
    """

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


def evaluate(formula: str, look: Look) -> Any:
    """The value of a formula.

    Args:
        formula: see above.
        look: the value of a name; dotted names come as one text.

    Raises:
        FormulaError: a quotient is not whole, a list is too short, or a value has another type.
    """
    return _value(_parsed(formula), look)


@functools.lru_cache(maxsize=4096)
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula.strip(), mode="eval").body


def _value(node: ast.expr, look: Look) -> Any:
    """The value of one node of the syntax tree."""
    kind = type(node)
    if kind not in _READERS:
        raise ValueError(f"{ast.unparse(node)}: a formula has no {kind.__name__}")
    try:
        return _READERS[kind](node, look)
    except ZeroDivisionError:
        part = ast.unparse(node)
        raise FormulaError(part, f"{part} is a division by 0") from None
    except (IndexError, KeyError, TypeError):
        part = ast.unparse(node)
        raise FormulaError(part, f"the value does not belong in {part}") from None


def _name(node: ast.Name, look: Look) -> Any:
    return look(node.id)


def _dotted(node: ast.Attribute, look: Look) -> Any:
    return look(ast.unparse(node))


def _constant(node: ast.Constant, _look: Look) -> Any:
    return node.value


def _list(node: ast.List, look: Look) -> Any:
    return [_value(item, look) for item in node.elts]


def _sum(node: ast.BinOp, look: Look) -> Any:
    left, right = _value(node.left, look), _value(node.right, look)
    if isinstance(node.op, ast.Div):
        return _whole(left, right, node)
    return _ARITHMETIC[type(node.op)](left, right)


def _whole(left: Any, right: Any, node: ast.BinOp) -> int:
    """A quotient that must be whole."""
    if left % right:
        part = ast.unparse(node)
        raise FormulaError(part, f"{part} is {left} / {right}, which is not whole")
    return int(left // right)


def _unary(node: ast.UnaryOp, look: Look) -> Any:
    value = _value(node.operand, look)
    return not value if isinstance(node.op, ast.Not) else -value


def _logic(node: ast.BoolOp, look: Look) -> Any:
    value = _value(node.values[0], look)
    for part in node.values[1:]:
        if bool(value) is isinstance(node.op, ast.Or):
            break
        value = _value(part, look)
    return value


def _comparison(node: ast.Compare, look: Look) -> bool:
    left = _value(node.left, look)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, look)
        if not _COMPARED[type(op)](left, right):
            return False
        left = right
    return True


def _choice(node: ast.IfExp, look: Look) -> Any:
    return _value(node.body if _value(node.test, look) else node.orelse, look)


def _place(node: ast.Subscript, look: Look) -> Any:
    whole, place = _value(node.value, look), _value(node.slice, look)
    return _numbered(whole)[place] if isinstance(place, int) else whole[place]


def _call(node: ast.Call, look: Look) -> Any:
    name = ast.unparse(node.func)
    if name == "over":
        return _over(node.args[0], node.args[1], look)
    args = [_value(arg, look) for arg in node.args]
    return _FUNCTIONS[name](*args)


def _over(times: ast.expr, body: ast.expr, look: Look) -> int:
    turns = _value(times, look)
    if turns > MOST_TURNS:
        part = ast.unparse(times)
        raise FormulaError(part, f"{part} is {turns:,}; at most {MOST_TURNS:,}")
    return sum(int(_value(body, at_turn(i, look))) for i in range(turns))


def at_turn(i: int, look: Look) -> Look:
    """What finds the value of a name, where the name `i` stands for a turn or a layer."""
    return lambda name: i if name == "i" else look(name)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "len": len,
    "int": int,
    "up": lambda a, b: -(-a // b),
}
_READERS: dict[type, Callable[[Any, Look], Any]] = {
    ast.Name: _name,
    ast.Attribute: _dotted,
    ast.Constant: _constant,
    ast.List: _list,
    ast.BinOp: _sum,
    ast.UnaryOp: _unary,
    ast.BoolOp: _logic,
    ast.Compare: _comparison,
    ast.IfExp: _choice,
    ast.Subscript: _place,
    ast.Call: _call,
}
