"""Conditions that leave points of a study out: `chips <= 1024`, `batch_tokens / seq_len >= chips`.

A condition is read as an expression of Python, of which names, numbers, texts, lists, comparisons,
`and`, `or`, `not`, `in` and arithmetic are allowed; nothing is called, and no code is run.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import without_advice
from planner.base.messages import shown
from planner.base.units import parse_count

_UNITS = re.compile(
    r"'[^']*'|\"[^\"]*\"|(?<![\w.])([0-9][0-9_]*(?:\.[0-9]*)?)(Ki|Mi|Gi|Ti|k|K|M|G|T)\b"
    r"|(?<![\w.])[0-9][0-9.]*+_[0-9_.]*+"
)
_ALLOWED = "names, numbers, texts, lists, comparisons, and, or, not, in, + - * / // %"
_LONGEST = 500
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
Look = Callable[[str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition.

    Attributes:
        text: As it was written.
        tree: What it says.
        names: The fields in it, dotted.
    """

    text: str
    tree: ast.expr
    names: tuple[str, ...]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether a point stays.

        Args:
            values: Of its fields, by name.

        Raises:
            InputError: A value is left open there, or cannot be compared so.
        """

        def look(name: str) -> Any:
            if values.get(name) is None:
                raise InputError(f"where: {self.text!r}: {name} is left open; give it a value")
            return values[name]

        try:
            return bool(_value(self.tree, look))
        except (TypeError, ZeroDivisionError, ValueError, OverflowError) as error:
            raise InputError(f"where: {self.text!r}: {error}") from error


def condition_of(text: Any) -> Condition:
    """A condition from its text.

    Raises:
        InputError: It is none.
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InputError(f"where: {shown(text)} is not a condition, e.g. chips <= 1024")
    plain = _UNITS.sub(_counted, text)
    try:
        with without_advice():
            tree = ast.parse(plain.strip(), mode="eval").body
        names = tuple(dict.fromkeys(_names(tree)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"where: {text!r} is not a condition of {_ALLOWED}") from error
    return Condition(text=text, tree=tree, names=names)


def _counted(found: re.Match[str]) -> str:
    """A number with a unit, or `_` in it, as a plain one; texts in quotes as they are."""
    text = found[0]
    return text if text[0] in "'\"" else f"{parse_count(text, 'where'):.17g}"


def _names(tree: ast.expr) -> Iterator[str]:
    """Dotted names in an expression.

    Raises:
        ValueError: Something in it is not allowed.
    """
    match tree:
        case ast.Name() | ast.Attribute():
            yield _dotted(tree)
        case ast.Constant(value=bool() | int() | float() | str()):
            pass
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _names(part)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield from _names(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            yield from _names(left)
            yield from _names(right)
        case ast.Compare(left=left, ops=ops, comparators=right) if {*map(type, ops)} <= {
            *_COMPARED
        }:
            for part in (left, *right):
                yield from _names(part)
        case _:
            raise ValueError


def _dotted(tree: ast.expr) -> str:
    if isinstance(tree, ast.Attribute):
        return f"{_dotted(tree.value)}.{tree.attr}"
    if isinstance(tree, ast.Name):
        return tree.id
    raise ValueError


def _value(tree: ast.expr, look: Look) -> Any:
    """What an expression that `_names` has accepted is worth."""
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, look) for part in parts]
        case ast.BoolOp(op=op, values=parts):
            found = (_value(part, look) for part in parts)
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            values = [_value(part, look) for part in (left, *comparators)]
            pairs = zip(values, values[1:], ops, strict=False)
            return all(_compared(op, one, other) for one, other, op in pairs)
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_number(_value(left, look)), _number(_value(right, look)))
    return _one_value(tree, look)


def _one_value(tree: ast.expr, look: Look) -> Any:
    """The same of a name, or of what is before one value."""
    match tree:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, look)
        case ast.UnaryOp(operand=operand):
            return -_number(_value(operand, look))
    return look(_dotted(tree))


def _number(value: Any) -> Any:
    """A value that is counted with.

    Raises:
        TypeError: It is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{shown(value)} is not a number")
    return value


def _compared(op: ast.cmpop, one: Any, other: Any) -> bool:
    """Whether two values stand to each other so.

    Raises:
        TypeError: They cannot be compared so.
    """
    if isinstance(op, ast.In | ast.NotIn):
        letters = isinstance(one, str) and isinstance(other, str)
        if not letters and not isinstance(other, list | tuple):
            raise TypeError(f"{shown(other)} is not a list that may hold {shown(one)}")
    elif not isinstance(op, ast.Eq | ast.NotEq) and not (
        isinstance(one, str) and isinstance(other, str)
    ):
        one, other = _number(one), _number(other)
    return bool(_COMPARED[type(op)](one, other))
