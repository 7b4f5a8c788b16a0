"""Arithmetic of bash: all of its grammar, in 64 bits, with what it does to variables.

What is not known makes the result not known, and each variable that is assigned after it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.base.numerals import is_digits
from planner.frameworks.reading.shell.expansion.arrays import get, is_named, put
from planner.frameworks.reading.shell.expansion.brackets import past_index
from planner.frameworks.reading.shell.states import Array

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.expansion.pieces import Scope

_LONGEST = 4096
_DEEPEST = 24  # brackets, and values within values
_HALF, _WHOLE = 1 << 63, 1 << 64
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][\w#@]*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%&^|<>!~=?:,()]))"
)
_SET = re.compile(r"\s*=(?!=)")
_BLANKS = re.compile(r"\s*")
_TARGET = re.compile(
    r"(?<!\w)([A-Za-z_]\w*+)\s*+(?:\[[^]]*+\])?\s*+(?:\+\+|--|(?:[-+*/%&^|:]|<<|>>)?=(?!=))"
    r"|(?:\+\+|--)\s*+([A-Za-z_]\w*+)"
)
_BASED = re.compile(r"([0-9]{1,2})#([0-9A-Za-z@_]+)")
_ASSIGNS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>=")
_STEPS = ("++", "--")
_LEVELS = (
    ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
"""From the weakest."""
_SIGNS: dict[str, Callable[[int, int], int]] = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "==": operator.eq,
    "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip


Index = str | int
"""The number of an element, or its key."""


class Fault(Exception):  # noqa: N818  (what bash refuses)
    """What bash refuses, or what is not followed."""


def computed(text: str, scope: Scope, depth: int = 0) -> int | None:
    """The value of an expression whose `$` is filled in; None: it is not known.

    Variables that it sets are set, or are not known after it.

    >>> from planner.frameworks.reading.shell.run import Shell
    >>> shell = Shell("x")
    >>> computed("X = 3, X << 2", shell), shell.variables["X"], computed("1 / 0", shell)
    (12, '3', None)
    """
    scope.spend(len(text))
    known = "$" not in text and "`" not in text and len(text) <= _LONGEST and depth < _DEEPEST
    if known:
        parser = Sum(text, scope, depth)
        try:
            value = parser.whole()
        except Fault:
            known = False
        else:
            if not parser.doubt:
                return value
    for name in () if known else targets(text):
        scope.forget(name, scope.line)
    return None


def targets(text: str) -> list[str]:
    """Variables that an expression may set."""
    return [one or other for one, other in _TARGET.findall(text)]


def wrapped(value: int) -> int:
    """A whole number in 64 bits.

    >>> wrapped(1 << 63)
    -9223372036854775808
    """
    return (value + _HALF) % _WHOLE - _HALF


class Sum:
    """An expression that is gone through once.

    Attributes:
        doubt: Whether something in it is not known.
    """

    def __init__(self, text: str, scope: Scope, depth: int) -> None:
        self.text, self.scope, self.depth = text, scope, depth
        self.at = self.start = 0
        self.fresh = -1  # where a variable may stand that is assigned
        self.kind = self.token = ""
        self.doubt = False
        self.skips = 0
        self.later: str | None = None  # an index that is computed after what is assigned
        self.next()

    def next(self) -> None:
        """Goes to the next token."""
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        self.start = self.at
        if self.at >= len(self.text):
            self.kind = self.token = ""
            return
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise Fault
        sign = match["sign"]
        if sign in _STEPS and self.kind != "name":
            following = self.text[match.end() :].lstrip()[:1]
            if not (following.isalpha() or following == "_"):
                self.kind, self.token, self.at = "sign", sign[0], match.end() - 1
                return
        self.at = match.end()
        self.kind, self.token = str(match.lastgroup), match[str(match.lastgroup)]

    def whole(self) -> int:
        """Its value."""
        if not self.kind:
            return 0
        value = self.comma()
        if self.kind:
            raise Fault
        return value

    def takes(self, *signs: str) -> str:
        """Goes past a sign, if one of these is next."""
        if self.kind == "sign" and self.token in signs:
            found = self.token
            self.next()
            return found
        return ""

    def comma(self) -> int:
        """Expressions of which the last one counts."""
        self.depth += 1
        if self.depth > _DEEPEST * 2:
            raise Fault
        value = self.chosen()
        while self.takes(","):
            value = self.chosen()
        self.depth -= 1
        return value

    def chosen(self) -> int:
        """An assignment, or what binds stronger."""
        self.fresh = self.start
        return self.condition()

    def condition(self) -> int:
        """`? :` and what binds stronger."""
        value = self.either()
        if not self.takes("?"):
            return value
        if self.kind == "sign" and self.token == ":":  # noqa: S105  (of an expression)
            raise Fault
        left = self.skipping(not value, self.comma)
        if not self.takes(":"):
            raise Fault
        self.fresh = -1
        right = self.skipping(bool(value), self.condition)
        return left if value else right

    def skipping(self, skips: bool, part: Callable[[], int]) -> int:
        """A part that is only gone through, or not."""
        skips &= not self.doubt  # else it may be computed
        self.skips += skips
        value = part()
        self.skips -= skips
        return value

    def either(self) -> int:
        """`||`."""
        value = self.both()
        while self.takes("||"):
            right = self.skipping(bool(value), self.both)
            value = int(bool(value or right))
        return value

    def both(self) -> int:
        """`&&`."""
        value = self.level(0)
        while self.takes("&&"):
            right = self.skipping(not value, lambda: self.level(0))
            value = int(bool(value and right))
        return value

    def level(self, at: int) -> int:
        """Signs that go from left to right."""
        if at == len(_LEVELS):
            return self.power()
        value = self.level(at + 1)
        while sign := self.takes(*_LEVELS[at]):
            value = self.applied(sign, value, self.level(at + 1))
        return value

    def applied(self, sign: str, left: int, right: int) -> int:
        """The value of two numbers with a sign between them."""
        if self.doubt:
            return 0
        if sign in _SIGNS:
            return wrapped(int(_SIGNS[sign](left, right)))
        if sign in ("<<", ">>"):
            if not 0 <= right < 64:
                if self.skips:
                    return 0
                raise Fault
            return wrapped(left << right) if sign == "<<" else left >> right
        if sign == "**":
            if right < 0:
                raise Fault
            value = pow(left, right, _WHOLE)
            return wrapped(value)
        if not right and not self.skips:
            raise Fault
        right = right or 1  # as bash goes on in what it skips
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrapped(whole if sign == "/" else left - whole * right)

    def power(self) -> int:
        """`**`, from right to left."""
        value = self.single()
        if self.takes("**"):
            return self.applied("**", value, self.power())
        return value

    def single(self) -> int:
        """A value with signs before it."""
        signs: list[str] = []
        while sign := self.takes("-", "+", "!", "~"):
            signs.append(sign)
        value = self.stepped() if self.kind == "sign" and self.token in _STEPS else self.plain()
        for sign in reversed(signs):
            value = wrapped({"-": -value, "+": value, "!": int(not value), "~": ~value}[sign])
        return value

    def stepped(self) -> int:
        """`++X`, `--X`."""
        sign = self.takes(*_STEPS)
        name, index = self.variable()
        value = wrapped(self.read(name, index) + (1 if sign == "++" else -1))
        self.write(name, index, value)
        return value

    def plain(self) -> int:
        """A number, a variable, or what stands in brackets."""
        if self.kind == "number":
            value = number(self.token)
            self.next()
            return value
        if self.takes("("):
            value = self.comma()
            if not self.takes(")"):
                raise Fault
            return value
        fresh = self.start == self.fresh
        name, index = self.variable()
        if sign := self.takes(*_STEPS):
            value = self.read(name, index)
            self.write(name, index, wrapped(value + (1 if sign == "++" else -1)))
            return value
        if fresh and self.kind == "sign" and self.token in _ASSIGNS:
            return self.assigned(name, index)
        return self.read(name, index)

    def assigned(self, name: str, index: Index | None) -> int:
        """`X = ...`, `X += ...`."""
        later, self.later = self.later, None
        sign = self.takes(*_ASSIGNS)
        value = self.read(name, index) if sign != "=" else 0
        right = self.chosen()
        if sign != "=":
            right = self.applied(sign[:-1], value, right)
        elif later is not None:
            index = self.index(name, later)
        self.write(name, index, right)
        return right

    def variable(self) -> tuple[str, Index | None]:
        """A name with its index."""
        if self.kind != "name":
            raise Fault
        name = self.token
        index: Index | None = None
        if self.text[self.at : self.at + 1] == "[":
            end = past_index(self.text, self.at)
            if end is None:
                raise Fault
            inner, self.at = self.text[self.at + 1 : end], end + 1
            self.later = inner if _SET.match(self.text, self.at) else None
            index = self.index(name, inner) if self.later is None else 0
        self.next()
        return name, index

    def index(self, name: str, text: str) -> Index:
        """What stands between brackets behind a name."""
        if is_named(self.scope, name):
            return text
        if self.skips:
            return 0
        found = computed(text, self.scope, self.depth + 1)
        self.doubt |= found is None
        return found or 0

    def read(self, name: str, index: Index | None) -> int:
        """The value of a variable, whose text may be an expression again."""
        if self.skips:
            return 0
        found = self.scope.value(name)
        whole = index is None and not isinstance(found, Array)
        text = found if whole else get(self.scope, name, self.first(name, index))
        value = None if not isinstance(text, str) else computed(text, self.scope, self.depth + 1)
        self.doubt |= value is None
        return value or 0

    def write(self, name: str, index: Index | None, value: int) -> None:
        """Sets a variable, or forgets it where it is not known whether or to what."""
        if self.skips:
            return
        if self.doubt:
            self.scope.forget(name, self.scope.line)
        elif index is None and not isinstance(self.scope.value(name), Array):
            self.scope.assign(name, str(value), self.scope.line)
        else:
            put(self.scope, name, self.first(name, index), str(value))

    def first(self, name: str, index: Index | None) -> Index:
        """An index, or that of the element which an array stands for without one."""
        return index if index is not None else "0" if is_named(self.scope, name) else 0


def number(text: str) -> int:
    """A whole number as bash writes it: `10`, `010`, `0x1f`, `16#1f`.

    Raises:
        Fault: It is none.
    """
    if match := _BASED.fullmatch(text):
        base, digits = int(match[1]), match[2]
        if not 2 <= base <= 64:
            raise Fault
        values = [_digit(one, base) for one in digits]
    else:
        base = 16 if text[:2] in ("0x", "0X") else 8 if text[:1] == "0" else 10
        digits = text[2:] if base == 16 else text
        if not re.fullmatch("[0-9a-fA-F]+" if base == 16 else "[0-9]+", digits):
            raise Fault
        values = [int(one, 16) for one in digits]
    if max(values) >= base:
        raise Fault
    value = 0
    for one in values:
        value = wrapped(value * base + one)
    return value


def _digit(sign: str, base: int) -> int:
    if is_digits(sign):
        return int(sign)
    if sign in "@_":
        return 62 + (sign == "_")
    small = ord(sign.lower()) - ord("a") + 10
    return small if sign.islower() or base <= 36 else small + 26
