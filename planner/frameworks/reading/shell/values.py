"""What `$` stands for in shell text: variables with their defaults and cuts, sums, outputs.

Whatever is not known stays as it is written, with its `$`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from planner.base.files import without_advice
from planner.frameworks.reading.shell.states import Array
from planner.frameworks.reading.shell.words import past_brackets

_SPECIAL = re.compile(r"[$`\\]")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9#@*]")
_BRACED = re.compile(
    r"(?P<count>#(?=[\w@*]))?(?P<through>!)?(?P<name>\w+|[@*#])(?P<at>\[[^\]]*\])?(?P<rest>.*)",
    re.DOTALL,
)
_REST = re.compile(r"(?P<sign>:?[-=?+]|##?|%%?|//?|\^\^?|,,?|:)(?P<text>.*)", re.DOTALL)
_SUM = re.compile(r"[0-9+\-*/% ()]{1,200}")
_TEST = re.compile(r"[0-9+\-*/% ()<>=!&|]{1,200}")
_DEEPEST = 8  # values within values
_LONGEST_CUT = 4096  # letters of a value whose ends are cut
_CUT = 64  # letters that each of them counts as, for an end may lie behind any


class Scope(Protocol):
    """Where values come from; `name` is what messages call the text."""

    name: str

    def value(self, name: str) -> str | Array | None:
        """Of a variable; None: it is not known, or not set."""

    def is_unset(self, name: str) -> bool:
        """Whether nothing sets it, so that its default holds."""

    def assign(self, name: str, value: str | Array) -> None:
        """Sets a variable (`${X:=8}`)."""

    def output(self, command: str, depth: int) -> str | None:
        """What a command prints; None: that is not known."""

    def spend(self, letters: int) -> None:
        """Counts work."""


def is_known(text: str) -> bool:
    """Whether nothing in a text is as it was written."""
    return "$" not in text and "`" not in text


def expanded(text: str, scope: Scope, depth: int = 0) -> str:
    """A text with what is known filled in."""
    found: list[str] = []
    at = 0
    while match := _SPECIAL.search(text, at):
        found.append(text[at : match.start()])
        at = match.start()
        piece, end = _piece(text, at, scope, depth)
        found.append(piece)
        at = end
    return "".join([*found, text[at:]])


def _piece(text: str, at: int, scope: Scope, depth: int) -> tuple[str, int]:
    """What stands for the sign at a place, and where the text goes on."""
    if text[at] == "\\":
        escapes = text[at + 1 : at + 2] in ("$", "`")
        return (text[at + 1] if escapes else "\\"), at + 1 + escapes
    end, found = at + 1, None
    following = text[at + 1 : at + 2]
    if text[at] == "`":
        close = text.find("`", at + 1)
        end = max(close, at) + 1
        found = scope.output(text[at + 1 : close], depth) if close > 0 else None
    elif following and following in "({":
        close = past_brackets(text, at + 1, scope.name) or at
        end = close + 1
        found = _bracketed(text[at:end], scope, depth) if close > at and depth <= _DEEPEST else None
    elif name := _NAME.match(text, at + 1):
        end = name.end()
        value = scope.value(name[0])
        found = _joined(value, scope)
    return (text[at:end] if found is None else found), end


def _bracketed(whole: str, scope: Scope, depth: int) -> str | None:
    if whole.startswith("$((") and whole.endswith("))"):
        value = sum_in(whole[3:-2], scope, depth)
        return None if value is None else str(value)
    if whole.startswith("$("):
        return scope.output(whole[2:-1], depth)
    return _braced(whole[2:-1], scope, depth)


def _joined(value: str | Array | None, scope: Scope) -> str | None:
    if value is None or isinstance(value, str):
        return value
    scope.spend(value.letters)
    return " ".join(value)


def _braced(inner: str, scope: Scope, depth: int) -> str | None:
    """The value of `${...}`; None: it is not known."""
    match = _BRACED.fullmatch(inner)
    if match is None:
        return None
    name = match["name"]
    value = scope.value(name)
    unset = value is None and scope.is_unset(name)
    if match["through"]:
        named = value if isinstance(value, str) and not match["rest"] else None
        found = scope.value(named) if named and named.isidentifier() else None
        return _joined(found, scope)
    if match["count"]:
        whole = match["at"] in ("[@]", "[*]") or name in "@*"
        if value is None or match["rest"]:
            return None
        size = len(value) if isinstance(value, str) is not whole else 1
        return str(size) if whole or is_known(_joined(value, scope) or "") else None
    if match["at"] and value is not None:
        value = _element(value, match["at"][1:-1], scope, depth)
    text = _joined(value, scope)
    rest = _REST.fullmatch(match["rest"])
    if rest is None:
        return None if match["rest"] else text
    if isinstance(value, Array) and rest["sign"] == ":":
        some = sliced(value, rest["text"], scope, int(name in "@*"), depth)
        text = None if some is None else " ".join(some)
    else:
        text = _altered(name, text, unset, rest, scope, depth)
    return text


def _element(value: str | Array, at: str, scope: Scope, depth: int) -> str | Array | None:
    """Of an array what an index or a key names."""
    if at in ("@", "*"):
        return value
    items = Array([value]) if isinstance(value, str) else value
    key = expanded(at.strip("\"'"), scope, depth + 1)
    scope.spend(items.letters)
    if items.keyed:
        found = [item for item in items if item.startswith(f"[{key}]=")]
        return found[-1].partition("=")[2] if found else None
    index = sum_in(at, scope, depth)
    if index is None or not all(map(is_known, items)) or not -len(items) <= index < len(items):
        return None
    return items[index]


def _altered(
    name: str, text: str | None, unset: bool, rest: re.Match[str], scope: Scope, depth: int
) -> str | None:
    """A value with a default in its place, or cut, or in other letters."""
    sign, after = rest["sign"], rest["text"]
    if sign.lstrip(":") and sign[-1] in "-=?+":
        empty = unset or (text == "" and sign.startswith(":"))
        return _defaulted(name, text, empty, sign[-1], _inner(after, scope, depth), scope)
    pattern = after if sign == ":" else _inner(after, scope, depth)
    if text is None or len(text) > _LONGEST_CUT or not is_known(text + pattern):
        return None
    if sign == ":":
        return _slice(text, after, scope, depth)
    if sign[0] in "^,":
        change: Callable[[str], str] = str.upper if sign[0] == "^" else str.lower
        changed = len(text) if len(sign) > 1 else 1
        return None if after else change(text[:changed]) + text[changed:]
    scope.spend(_CUT * len(text))
    return _replaced(text, pattern, sign) if sign[0] == "/" else _cut(text, pattern, sign)


def _defaulted(
    name: str, text: str | None, empty: bool, sign: str, other: str, scope: Scope
) -> str | None:
    """A value, or what is said to stand in its place."""
    if sign == "+":
        return "" if empty else None if text is None else other
    if not empty or sign == "?":
        return text
    if sign == "=":
        scope.assign(name, other)
    return other


def _inner(text: str, scope: Scope, depth: int) -> str:
    """A text within brackets, without its quotes."""
    if depth >= _DEEPEST:
        return text
    if text[:1] == "'" == text[-1:] and len(text) > 1:
        return text[1:-1]
    return expanded(text.strip("\"'"), scope, depth + 1)


def _slice(text: str, after: str, scope: Scope, depth: int) -> str | None:
    found = sliced(text, after, scope, 0, depth)
    return None if found is None else "".join(found)


def sliced(
    items: Sequence[str], after: str, scope: Scope, least: int, depth: int = 0
) -> Sequence[str] | None:
    """Some of several: `first` or `first:count`; None: which is not known.

    Args:
        items: All.
        after: What stands behind the colon.
        scope: Where values come from.
        least: The number of the first.
        depth: Of values within values.
    """
    first, _, second = after.partition(":")
    start, count = sum_in(first, scope, depth), sum_in(second, scope, depth)
    if start is None or (second and count is None):
        return None
    start = max(start - least, 0) if start >= 0 else max(len(items) + start, 0)
    end = None if count is None else count if count < 0 else start + count
    return items[start:end]


def _replaced(text: str, pattern: str, sign: str) -> str | None:
    old, _, new = pattern.partition("/")
    if not old or set(old) & set("*?[#%"):
        return None
    return text.replace(old, new, -1 if sign == "//" else 1)


def _cut(text: str, pattern: str, sign: str) -> str:
    """Without the shortest or the longest piece at an end that a pattern matches."""
    if sign[0] == "#":
        places = range(len(text) + 1)
        ends = [at for at in places if fnmatchcase(text[:at], pattern)]
        return text[(ends[0] if sign == "#" else ends[-1]) :] if ends else text
    starts = [at for at in range(len(text) + 1) if fnmatchcase(text[at:], pattern)]
    return text[: (starts[-1] if sign == "%" else starts[0])] if starts else text


def sum_in(text: str, scope: Scope, depth: int = 0) -> int | None:
    """The value of a sum or a comparison in which variables need no sign; None: not known."""
    if not text.strip() or depth > _DEEPEST:
        return None
    named = re.sub(r"(?<![\w${#])([A-Za-z_]\w*)(?!\w)", r"$\1", text)
    return whole_sum(expanded(named, scope, depth + 1))


def whole_sum(text: str) -> int | None:
    """The value of a sum or a comparison of whole numbers; None where it is none, or huge.

    >>> whole_sum("8 * (2 + 1)"), whole_sum("8 / 0"), whole_sum("a"), whole_sum("3 > 2 && !0")
    (24, None, None, 1)
    """
    if not _TEST.fullmatch(text) or "**" in text:
        return None
    if not _SUM.fullmatch(text):
        text = text.replace("&&", " and ").replace("||", " or ")
        text = re.sub(r"!(?!=)", " not ", text)
        if re.search(r"[&|]|<<|>>", text):
            return None
    try:
        with without_advice():
            tree = ast.parse(text.strip().replace("//", "/"), mode="eval")
        return _computed(tree.body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


_SIGNS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: lambda left, right: abs(left) // abs(right) * (1 if left * right >= 0 else -1),
    ast.Mod: lambda left, right: abs(left) % abs(right) * (1 if left >= 0 else -1),
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
"""As bash computes: towards zero."""


def _computed(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return int(_SIGNS[type(node.op)](_computed(node.left), _computed(node.right)))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _computed(node.left), _computed(node.comparators[0])
        return int(_SIGNS[type(node.ops[0])](left, right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        value = _computed(node.operand)
        return -value if isinstance(node.op, ast.USub) else int(not value)
    if isinstance(node, ast.BoolOp):
        values = [bool(_computed(one)) for one in node.values]
        return int(all(values) if isinstance(node.op, ast.And) else any(values))
    raise ValueError
