"""What an expression stands for: a plain value, an object that a call made, or a part of one.

What is none of these is not known, which is None here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from frozen_records import dataclass
from planner.frameworks.reading.python.paths import Dotted

_LARGEST = 1 << 40
_DEEPEST = 40  # expressions in one another
_DEEPEST_LIST = 8
_SAME = ast.Eq | ast.NotEq | ast.Is | ast.IsNot


class Spends(Protocol):
    """Counts work; see `planner.frameworks.reading.work.Work`."""

    def __call__(self, letters: int = 0, steps: int = 0) -> None:
        """Counts letters of values, or parts of the text."""


@dataclass(frozen=True, slots=True)
class Known:
    """A plain value.

    Attributes:
        value: It.
        letters: How long it is as text, about.
        depth: Of lists in one another.
    """

    value: Any
    letters: int = 1
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a field is set to and is not known.

    Attributes:
        line: Where that stands.
        shown: What the field is called there; empty: by its own name.
        calls: Those of a list.
        shares: Whether it is a part of an object, which has this name beside its own.
    """

    line: int
    shown: str = ""
    calls: tuple[str, ...] = ()
    shares: bool = False

    def text(self, path: str) -> str:
        """What is said of it."""
        return f"line {self.line}: {self.shown or path} is computed, and left out"


@dataclass(slots=True, eq=False)
class Made:
    """An object that a call made.

    Attributes:
        called: What was called.
        text: Its first argument, where it is text.
        line: Where that stands.
        maker: A function or class of another file that made it; empty: this file says all of it.
        fields: What it is set to, by dotted names.
        places: Dotted fields that hold it.
        changed: Whether a field of it was set after it was made.
    """

    called: str
    text: str
    line: int
    maker: str = ""
    fields: Dotted[Known | Made | Unknown] = field(default_factory=Dotted)
    places: dict[str, None] = field(default_factory=dict)
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an object: the fields below a dotted one.

    Attributes:
        of: The object; None: one that the file does not make.
        path: The dotted field.
    """

    of: Made | None
    path: str


Thing = Known | Made | Part
Names = Mapping[str, Thing]


def dotted(node: ast.expr | None) -> str:
    """`a.b.c` of names and attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def named(node: ast.expr | None) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return dotted(node).rpartition(".")[2]


def plain(node: ast.expr | None, names: Names, spend: Spends, deep: int = 0) -> Known | None:
    """The plain value of an expression: of constants, names, lists of them.

    Args:
        node: The expression.
        names: What names stand for.
        spend: Counts work.
        deep: Expressions that it stands in.
    """
    spend(steps=1)
    if deep > _DEEPEST:
        return None
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, ast.Name):
        found = names.get(node.id)
        return found if isinstance(found, Known) else None
    if isinstance(node, ast.List | ast.Tuple):
        return _list([plain(one, names, spend, deep + 1) for one in node.elts], spend)
    if isinstance(node, ast.Attribute):
        said = dotted(node)
        return Known(said, len(said)) if said.startswith("torch.") else None
    return _computed(node, names, spend, deep + 1)


def _opposite(how: ast.unaryop, value: Known | None) -> Known | None:
    """`not x`, and `-1`."""
    if value is not None and isinstance(how, ast.Not):
        return Known(not value.value)
    number = value is not None and type(value.value) in (int, float)
    return Known(-value.value) if value and number and isinstance(how, ast.USub) else None


def _constant(value: Any) -> Known | None:
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return None
    return Known(value, len(value) if isinstance(value, str | bytes) else 1)


def _list(parts: list[Known | None], spend: Spends) -> Known | None:
    found = [one for one in parts if one is not None]
    depth = 1 + max((one.depth for one in found), default=0)
    if len(found) < len(parts) or depth > _DEEPEST_LIST:
        return None
    letters = sum(one.letters for one in found) + len(found)
    spend(letters)
    return Known([one.value for one in found], letters, depth)


def _computed(node: ast.expr | None, names: Names, spend: Spends, deep: int) -> Known | None:
    """The opposite of a plain value, the product of two whole numbers, and what is the same."""
    if isinstance(node, ast.UnaryOp):
        return _opposite(node.op, plain(node.operand, names, spend, deep))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _SAME):
        sides = node.left, node.comparators[0]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = node.left, node.right
    else:
        return None
    left, right = (plain(one, names, spend, deep) for one in sides)
    if left is None or right is None:
        return None
    spend(left.letters + right.letters)
    if isinstance(node, ast.Compare):
        differ = isinstance(node.ops[0], ast.NotEq | ast.IsNot)
        return Known((left.value == right.value) is not differ)
    if not isinstance(left.value, int) or not isinstance(right.value, int):
        return None
    product = left.value * right.value
    return Known(product) if abs(product) < _LARGEST else None
