"""The regular expressions of the project, and texts on which one that goes back takes long.

An expression may take time in proportion to its text. One that does not is slow on a text that
repeats what one of its loops takes, or all that stands before the loop, and then does not end as
the expression does.
"""

from __future__ import annotations

import ast
import re
import signal
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any, TypeGuard

METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_CHARACTERS = "a1 \n.-_=,:x/'\"<>[](){}|*+?$#%&~@!;^\\`\t\r" + string.ascii_letters + string.digits
_PIECES = (" ", "\n", "1", "a", "-", "_a")
_ENDS = ("\0 \0", "x\n")
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_MOST, _FEWEST = 8_000, 1_000
_CPU_S = 0.05
"""A text that is gone through once takes less than a hundredth of it, one gone through for each
of its characters ten times as much."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression and how it is used.

    Attributes:
        place: `planner/base/units.py:27`.
        compiled: It.
        methods: Of patterns, by which it is used.
    """

    place: str
    compiled: re.Pattern[str]
    methods: tuple[str, ...]


def expressions(root: Path, path: Path, others: Callable[[], Iterable[Path]]) -> list[Expression]:
    """Those that a module writes down, but for those that it takes from a table of words.

    Args:
        root: Of the project.
        path: Of the module.
        others: All modules, which may use public ones.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(root).as_posix()
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    names, found = _assigned(tree), []
    users = [tree]
    if any(not one.startswith("_") for one in names.values()):
        texts = (one.read_text(encoding="utf-8") for one in others())
        users += [ast.parse(text) for text in texts if f"from {module} import" in text]
    uses = _uses(users)
    for call in ast.walk(tree):
        if (method := _method(call)) is None or not isinstance(call, ast.Call):
            continue
        methods = uses.get(names.get(call, ""), {"search"}) if method == "compile" else {method}
        compiled = _compiled(call, module)
        if compiled is not None:
            found.append(Expression(f"{name}:{call.lineno}", compiled, tuple(sorted(methods))))
    return found


def _method(call: ast.AST) -> str | None:
    """Of `re`, that a call calls."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        function = call.func
        if isinstance(function.value, ast.Name) and function.value.id == "re":
            return function.attr if function.attr in ("compile", *METHODS) else None
    return None


def _assigned(tree: ast.Module) -> dict[ast.Call, str]:
    """The name that a compiled expression gets."""
    return {
        node.value: node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _method(node.value) == "compile"
        if isinstance(node.targets[0], ast.Name)
    }


def _uses(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """How names are used as expressions."""
    found: dict[str, set[str]] = {}
    called: set[int] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):  # from the outside inwards
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.attr in METHODS:
                called.add(id(node.func.value))
                found.setdefault(node.func.value.id, set()).add(node.func.attr)
        elif _is_read(node) and id(node) not in called:  # handed on: anything may be done with it
            found.setdefault(node.id, set()).add("search")
    return found


def _is_read(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _compiled(call: ast.Call, module: str) -> re.Pattern[str] | None:
    """The expression of a call; what is known only while it runs counts as a letter."""
    pattern = call.args[0]
    names: dict[str, Any] = {}
    if not isinstance(pattern, ast.Constant):
        names = vars(import_module(module))
    if isinstance(pattern, ast.JoinedStr):
        pattern = ast.JoinedStr([_known(part, names) for part in pattern.values])
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    method = _method(call)
    flags += call.args[1:2] if method == "compile" else call.args[2:3] if method != "sub" else []
    try:
        said = _value(pattern, names)
        return re.compile(said, _value(flags[0], {"re": re}) if flags else 0)
    except (NameError, AttributeError, TypeError):
        return None


def _known(part: ast.expr, names: dict[str, Any]) -> ast.expr:
    try:
        return ast.Constant(str(_value(part.value, names))) if _is_open(part) else part
    except (NameError, AttributeError, TypeError, KeyError, IndexError):
        return ast.Constant("a")


def _is_open(part: ast.expr) -> bool:
    return isinstance(part, ast.FormattedValue)


def _value(tree: ast.expr, names: dict[str, Any]) -> Any:
    fixed = ast.fix_missing_locations(ast.Expression(tree))
    return eval(compile(fixed, "<expression>", "eval"), {**names})


def texts(compiled: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Of texts on which it may be slow: how they begin, what is repeated, and how they end."""
    seen: set[tuple[str, str]] = set()
    parsed = parser.parse(compiled.pattern, compiled.flags)
    for before, inside in (*_loops(parsed, "", "a"), *_loops(parsed, "", "_")):
        for piece in sorted({inside, before, before + inside, *_PIECES} - {""}):
            for start in {"", before}:
                if (start, piece) not in seen:
                    seen.add((start, piece))
                    yield from ((start, piece, end) for end in _ENDS)


def _loops(items: Any, before: str, likes: str) -> Iterator[tuple[str, str]]:
    """Each loop without an end: a text of what stands before it, and one of what it takes."""
    for code, value in items:
        for inner, start in _inner(code, value, before):
            yield from _loops(inner, start, likes)
        if code in _REPEATS and value[1] == codes.MAXREPEAT:
            yield before, _sample(value[2], likes)
        before += _sample([(code, value)], likes)


def _inner(code: Any, value: Any, before: str) -> Iterator[tuple[Any, str]]:
    if code in _REPEATS:
        yield value[2], before
    elif code is codes.SUBPATTERN:
        yield value[3], before
    elif code is codes.ATOMIC_GROUP:
        yield value, before
    elif code in (codes.ASSERT, codes.ASSERT_NOT):
        yield value[1], before
    elif code is codes.BRANCH:
        for one in value[1]:
            yield one, before


def _sample(items: Any, likes: str) -> str:
    """A short text that some items take."""
    said = ""
    for code, value in items:
        if code is codes.LITERAL:
            said += chr(value)
        elif code in (codes.IN, codes.ANY, codes.NOT_LITERAL):
            said += _character(code, value, likes)
        elif code in _REPEATS:
            said += _sample(value[2], likes) * value[0]
        elif code in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            said += _sample(value[3] if code is codes.SUBPATTERN else value, likes)
        elif code is codes.BRANCH:
            said += _sample(value[1][0], likes)
    return said


def _character(code: Any, value: Any, likes: str) -> str:
    if code is codes.ANY:
        return "a"
    if code is codes.NOT_LITERAL:
        return "b" if chr(value) == "a" else "a"
    state = parser.State()
    state.str = ""
    one = parser.SubPattern(state, [(code, value)])
    return next((c for c in likes + _CHARACTERS if compiler.compile(one).fullmatch(c)), "a")


class TooLongError(Exception):
    """An expression takes long."""


def is_slow(compiled: re.Pattern[str], method: str, start: str, piece: str, end: str) -> bool:
    """Whether it takes more than `_CPU_S` on a text of many pieces, twice."""
    text = start + piece * max(_MOST // len(piece), _FEWEST) + end
    arguments = ("", text) if method in ("sub", "subn") else (text,)
    return all(_exceeds(getattr(compiled, method), arguments) for _ in range(2))


def _exceeds(function: Any, arguments: tuple[str, ...]) -> bool:
    def late(_: int, __: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, late)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_S)
        found = function(*arguments)
        if not isinstance(found, str | list | re.Match | None):
            list(found)
    except TooLongError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return False
