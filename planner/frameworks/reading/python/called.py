"""How a call says what it calls, and what it hands on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planner.frameworks.reading.python.paths import ALL
from planner.frameworks.reading.python.values import dotted, named


def called_by(call: ast.Call) -> str:
    """The own name of what is called: of `a.b()` b, also where a is no name."""
    return named(call.func) or getattr(call.func, "attr", "")


def configures(call: ast.Call) -> bool:
    """Whether a call says how its first argument is called, as those of NeMo-Run do."""
    return dotted(call.func) in ("run.Config", "run.Partial")


def spelt_as(call: ast.Call, called: str) -> str:
    """A call's name: of a `Config` inside a class with that class."""
    path = dotted(call.func)
    return path if path.endswith(".Config") else called


def keywords_of(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Keywords with what they hand on; `*` is what `**more` does, where it is not written out."""
    for one in call.keywords:
        if one.arg:
            yield one.arg, one.value
        elif (inner := _written_out(one.value)) is not None:
            yield from inner
        else:
            yield ALL, one.value


def _written_out(more: ast.expr) -> list[tuple[str, ast.expr]] | None:
    """Those of `**{"a": 1}` or `**dict(a=1)`; None: it is neither."""
    if isinstance(more, ast.Dict):
        keys = [one.value if isinstance(one, ast.Constant) else None for one in more.keys]
        names = [one for one in keys if isinstance(one, str)]
        return list(zip(names, more.values, strict=True)) if len(names) == len(keys) else None
    if isinstance(more, ast.Call) and dotted(more.func) == "dict" and not more.args:
        return [(str(one.arg or ALL), one.value) for one in more.keywords]
    return None
