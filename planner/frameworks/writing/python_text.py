"""Python expressions, statements and modules printed from a structure."""

from __future__ import annotations

import json
import pprint
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from frozen_records import dataclass

WIDTH = 88


@dataclass(frozen=True, slots=True)
class Name:
    """A name or a dotted path, printed as it is."""

    path: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call.

    Attributes:
        function: Name or dotted path.
        values: Arguments by position.
        named: Arguments by name.
    """

    function: str
    values: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assign:
    """A value given to a name, to a part of one, or to an entry."""

    target: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function without arguments, that returns a value after some statements."""

    name: str
    returns: str
    statements: tuple[Assign, ...]
    result: Any


def module_text(
    comments: Sequence[str],
    imports: Mapping[str, Sequence[str]],
    body: Sequence[Assign | Function],
) -> str:
    """A module: comments, what it imports by name from which module, and its statements."""
    head = "".join(f"# {comment}\n" for comment in comments)
    lines = [f"from {module} import {', '.join(names)}" for module, names in imports.items()]
    parts = [_function(one) if isinstance(one, Function) else _assign(one, 0) for one in body]
    gap = "\n\n\n" if any(isinstance(one, Function) for one in body) else "\n\n"
    return f"{head}\n" + gap.join(("\n".join(lines), "\n".join(parts))) + "\n"


def assignments(constants: Mapping[str, Any]) -> str:
    """A line for each constant, or several where its value is long."""
    return "".join(
        f"{name} = {pprint.pformat(value, sort_dicts=False, compact=True)}\n"
        for name, value in constants.items()
    )


def expression(value: Any, indent: int = 0, used: int = 0) -> str:
    """A value as Python text, over several lines where one is too long.

    Args:
        value: None, a truth value, a number, a string, a list, a `Name` or a `Call`.
        indent: Spaces before the line that it starts on.
        used: Characters before it on that line.

    >>> expression(Call("Config", (1,), {"name": "x", "on": True}))
    'Config(1, name="x", on=True)'
    """
    flat = _flat(value)
    if used + len(flat) <= WIDTH or not isinstance(value, list | Call):
        return flat
    inner = indent + 4
    opening, closing = ("[", "]") if isinstance(value, list) else (f"{value.function}(", ")")
    items = [("", one) for one in (value if isinstance(value, list) else value.values)]
    if isinstance(value, Call):
        items += [(f"{name}=", one) for name, one in value.named.items()]
    lines = (
        f"{' ' * inner}{name}{expression(one, inner, inner + len(name) + 1)},\n"
        for name, one in items
    )
    return f"{opening}\n{''.join(lines)}{' ' * indent}{closing}"


def _flat(value: Any) -> str:
    if isinstance(value, Name):
        return value.path
    if isinstance(value, Call):
        items = [_flat(one) for one in value.values]
        items += [f"{name}={_flat(one)}" for name, one in value.named.items()]
        return f"{value.function}({', '.join(items)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _assign(statement: Assign, indent: int) -> str:
    head = f"{' ' * indent}{statement.target} = "
    return head + expression(statement.value, indent, len(head))


def _function(function: Function) -> str:
    lines = [f"def {function.name}() -> {function.returns}:"]
    lines += [_assign(statement, 4) for statement in function.statements]
    lines.append(f"    return {expression(function.result, 4, 11)}")
    return "\n".join(lines)
