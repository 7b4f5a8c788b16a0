"""What an expression stands for: a plain value, or an object."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Protocol

from frozen_records import dataclass

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
    """

    line: int
    shown: str = ""
    calls: tuple[str, ...] = ()

    def text(self, path: str) -> str:
        """What is said of it."""
        return f"line {self.line}: {self.shown or path} is computed, and left out"


class Looks(Protocol):
    """Says what names stand for, at the time when it is asked."""

    def reached(self, part: ast.AST) -> Iterable[Known | Made]:
        """Objects and lists that names in a part of the text stand for."""


@dataclass(slots=True, eq=False)
class Made:
    """An object: one that a call made, a part of one, or what stands for one that is not known.

    Attributes:
        called: What was called; empty: no call that is known made it.
        text: Its first argument, where it is text.
        line: Where that stands.
        maker: A function or class of another file that made it; empty: this file says all of it.
        loose: Whether it stands for what is not known, which may be no object at all.
        alive: Whether code that is not followed may run when it is used.
        runs: Whether code of the file may run when a field of it is used.
        fields: What it is set to.
        said: What is said of fields that hold an object.
        opened: Why fields that are missing here are not known; None: they are what they were made.
        links: Objects that it may be, or that may be reached from it, unseen.
        lists: Lists that may be reached from it.
        looks: Parts of the text that may run when it is called, with where they stand.
        changed: Whether a field of it was set after it was made.
        calls: Those of the list that it stands for.
        wild: Whether it may be another object too, or code that is not followed may hold it.
        ghost: Whether it only keeps names of fields that are not known any more.
        held: Whether a field of another one holds it.
        root: The object that it is a part of; None: of none.
        free: Whether a name that the file does not bind stands for it.
        is_class: Whether it may be the class of an object.
        is_module: Whether it is a module, which others can reach too.
    """

    called: str
    text: str
    line: int
    maker: str = ""
    loose: bool = False
    alive: bool = False
    runs: bool = False
    fields: dict[str, Known | Made | Unknown] = field(default_factory=dict)
    said: dict[str, Unknown] = field(default_factory=dict)
    opened: Unknown | None = None
    links: dict[Made, None] = field(default_factory=dict)
    lists: list[Known] = field(default_factory=list)
    looks: tuple[tuple[Looks, ast.AST], ...] = ()
    changed: bool = False
    calls: tuple[str, ...] = ()
    wild: bool = False
    ghost: bool = False
    held: bool = False
    root: Made | None = None
    free: bool = False
    is_class: bool = False
    is_module: bool = False

    def is_foreign(self) -> bool:
        """Whether it is of another file, and nothing of the recipe."""
        root = self.root or self
        return root.free and not root.changed and not self.wild


Thing = Known | Made
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
        own = said.startswith("torch.") and "torch" not in names
        return Known(said, len(said)) if own else None
    return _computed(node, names, spend, deep + 1)


def _opposite(how: ast.unaryop, value: Known | None) -> Known | None:
    """`not x`, and `-1`."""
    if value is not None and isinstance(how, ast.Not):
        return Known(not value.value)
    number = value is not None and type(value.value) in (int, float)
    return Known(-value.value) if value and number and isinstance(how, ast.USub) else None


def _alike(how: ast.cmpop, left: Any, right: Any) -> Known | None:
    """Whether two values are the same; lists and tuples are not told from one another."""
    differ = isinstance(how, ast.NotEq | ast.IsNot)
    if isinstance(how, ast.Is | ast.IsNot):
        alone = any(one is None or isinstance(one, bool) for one in (left, right))
        return Known((left is right) is not differ) if alone else None
    if isinstance(left, list) or isinstance(right, list):
        return None
    return Known((left == right) is not differ)


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
        return _alike(node.ops[0], left.value, right.value)
    if not isinstance(left.value, int) or not isinstance(right.value, int):
        return None
    product = left.value * right.value
    return Known(product) if abs(product) < _LARGEST else None
