"""Lists of 0 and 1 per layer as Megatron-LM reads them (arguments.py `moe_freq_type`)."""

from __future__ import annotations

import ast

from planner.base.files import without_advice
from planner.base.numerals import is_digits


def numbers_of(text: str, layers: int) -> list[int] | None:
    """A list as a sum of repeated lists, of at most as many entries as there are layers.

    >>> numbers_of("([0]*1+[1]*3)", 4), numbers_of("x", 4), numbers_of("2", 4)
    ([0, 1, 1, 1], None, None)
    """
    try:
        with without_advice():
            tree = ast.parse(text, mode="eval")
        return _list_of(tree.body, layers)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def period_of(text: str) -> int:
    """N of one layer of every N; 0 where the text is no such number."""
    return int(text[:9]) if is_digits(text) else 0


def _list_of(node: object, most: int) -> list[int]:
    if isinstance(node, ast.List):
        items = [item.value for item in node.elts if isinstance(item, ast.Constant)]
        return [int(item) for item in items if isinstance(item, int)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _list_of(node.left, most) + _list_of(node.right, most)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        times = node.right.value if isinstance(node.right, ast.Constant) else None
        repeated = _list_of(node.left, most)
        if isinstance(times, int) and 0 <= times * len(repeated) <= most:
            return repeated * times
    raise ValueError
