"""What the words of shell text stand for: values with their operators, sums, outputs.

A word becomes pieces: of each it is known whether it stands in quotes, and whether it is known.
Whatever is not known stays as it is written, with its `$`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planner.base.numerals import is_digits
from planner.frameworks.reading.shell.expansion.arithmetic import computed, targets
from planner.frameworks.reading.shell.expansion.arrays import get, is_named, keys
from planner.frameworks.reading.shell.expansion.brackets import past_brackets
from planner.frameworks.reading.shell.expansion.homes import at_home
from planner.frameworks.reading.shell.expansion.operators import CUT, cased, cut, part, replaced
from planner.frameworks.reading.shell.expansion.patterns import NotFollowed, Pattern
from planner.frameworks.reading.shell.expansion.pieces import (
    Piece,
    Scope,
    is_known,
    is_unset,
    pattern_in,
    separators,
    several,
    shown,
    together,
)
from planner.frameworks.reading.shell.states import Array
from planner.frameworks.reading.shell.words import Part, Word, parts_of

__all__ = ("Scope", "is_known")

_SPECIAL = re.compile(r"[$`\\]")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9#@*?!$-]")
_BRACED = re.compile(
    r"(?P<count>#(?=[\w@*?]))?(?P<through>!(?=[\w@*]))?(?P<name>[A-Za-z_]\w*|[0-9]+|[@*#?])",
)
_REST = re.compile(r"(?P<sign>:?[-=?+]|##?|%%?|//?|\^\^?|,,?|@|:)(?P<text>.*)", re.DOTALL)
_WHOLE = ("[@]", "[*]")
_SHORT = 18  # digits of a number in 64 bits
_DEEPEST = 8  # values within values


def expanded(text: str, scope: Scope, depth: int = 0) -> str:
    """A text with what is known filled in."""
    return together(_of_part(Part(text, True, True), scope, depth))


def pieces(word: Word, scope: Scope, depth: int = 0) -> list[Piece]:
    """What the pieces of a word become."""
    return [one for part in word for one in _of_part(part, scope, depth)]


def unquoted(text: str, scope: Scope, depth: int = 0) -> str | None:
    """A text as it stands between brackets, without its quotes; None: it is not known."""
    found = pieces(parts_of(text, scope.name), scope, depth + 1) if depth < _DEEPEST else []
    return together(found) if all(one.known for one in found) and depth < _DEEPEST else None


def sum_in(text: str, scope: Scope, depth: int = 0) -> int | None:
    """The value of an expression in which variables need no sign; None: it is not known."""
    if depth > _DEEPEST:
        for name in targets(text):
            scope.forget(name, scope.line)
        return None
    if is_digits(text) and text[0] != "0" and len(text) < _SHORT:
        return int(text)
    plain = expanded(text, scope, depth + 1).replace('"', "")
    return computed(plain, scope, depth)


def _of_part(part: Part, scope: Scope, depth: int) -> list[Piece]:
    if not part.expands:
        return [Piece(part.text, part.quoted)]
    found: list[Piece] = [Piece("", True)] if part.quoted and not part.text else []
    at = 0
    while match := _SPECIAL.search(part.text, at):
        if match.start() > at:
            found.append(Piece(part.text[at : match.start()], part.quoted))
        more, at = _piece(part.text, match.start(), scope, depth, quoted=part.quoted)
        found += more
    return [*found, Piece(part.text[at:], part.quoted)] if at < len(part.text) else found


def _piece(
    text: str, at: int, scope: Scope, depth: int, *, quoted: bool
) -> tuple[list[Piece], int]:
    """What stands for the sign at a place, and where the text goes on."""
    following = text[at + 1 : at + 2]
    if text[at] == "\\":
        escapes = following in ("$", "`", "\\") and following != ""
        return [Piece(following if escapes else "\\", True)], at + 1 + escapes
    end = at + 1
    found: list[Piece] | None = None
    if text[at] == "`":
        close = text.find("`", at + 1)
        end = max(close, at) + 1
        found = shown(scope.output(text[at + 1 : close], depth), quoted) if close > 0 else None
    elif following and following in "({":
        close = past_brackets(text, at + 1, scope.name) or at
        end = close + 1
        if close > at and depth <= _DEEPEST:
            found = _bracketed(text[at:end], scope, depth, quoted)
        elif text[at + 1] == "{" or text[at + 2 : at + 3] == "(":
            for one in targets(text[at:end]):
                scope.forget(one, scope.line)
    elif name := _NAME.match(text, at + 1):
        end = name.end()
        found = _listed(scope, name[0], "", quoted)
    else:
        return [Piece(text[at], quoted)], end
    if found is None:
        return [Piece(text[at:end], quoted, known=False)], end
    raw = text[at:end]
    return [Piece(one.text, one.quoted, one.known, one.value, one.ends, raw) for one in found], end


def _bracketed(whole: str, scope: Scope, depth: int, quoted: bool) -> list[Piece] | None:
    if whole.startswith("$((") and whole.endswith("))"):
        value = sum_in(whole[3:-2], scope, depth)
        return None if value is None else shown(str(value), quoted)
    if whole.startswith("$("):
        return shown(scope.output(whole[2:-1], depth), quoted)
    return Braced(whole[2:-1], scope, depth, quoted).found()


def _listed(scope: Scope, name: str, at: str, quoted: bool) -> list[Piece] | None:
    """A value, or all elements of an array or all arguments."""
    value = scope.value(name)
    if not at and name not in ("@", "*") and isinstance(value, Array):
        value = get(scope, name, "0" if is_named(scope, name) else 0)
    if value is None or isinstance(value, str):
        return shown(value, quoted)
    if is_named(scope, name) and len(value) > 1:
        return None  # their order is not known
    scope.spend(value.letters)
    return several(value, scope, quoted, join="*" in (name, at.strip("[]")))


class Braced:
    """`${...}`: a name, an index, and an operator."""

    def __init__(self, inner: str, scope: Scope, depth: int, quoted: bool) -> None:
        self.scope, self.depth, self.quoted = scope, depth, quoted
        self.match = _BRACED.match(inner)
        self.name, self.at, self.rest = "", "", ""
        if self.match is not None:
            self.name = self.match["name"]
            end = self.match.end()
            if inner[end : end + 1] == "[":
                close = past_brackets(inner, end, scope.name)
                self.at = inner[end : (close or end) + 1]
            self.rest = inner[end + len(self.at) :]

    def found(self) -> list[Piece] | None:  # noqa: PLR0911  (one for each form)
        """What it stands for; None: it is not known."""
        if self.match is None:
            return None
        whole = self.at in _WHOLE or self.name in ("@", "*")
        if self.match["through"]:
            return self._through()
        if self.match["count"]:
            return None if self.rest else shown(self._count(whole), self.quoted)
        rest = _REST.fullmatch(self.rest)
        if self.rest and rest is None:
            return None
        if rest and rest["sign"].lstrip(":") and rest["sign"][-1] in "-=?+":
            return self._defaulted(rest["sign"], rest["text"], whole)
        if not whole:
            text = self._text()
            altered = None if text is None else self._altered(text, rest)
            return shown(altered, self.quoted)
        return self._all(rest)

    def _text(self) -> str | None:
        """The value, or that of the element; None: it is not known."""
        value = self.scope.value(self.name)
        if self.at:
            return get(self.scope, self.name, self._index()) if value is not None else None
        if isinstance(value, Array):
            return get(self.scope, self.name, "0" if is_named(self.scope, self.name) else 0)
        return value

    def _index(self) -> str | int | None:
        return index_in(self.at[1:-1], self.name, self.scope, self.depth + 1)

    def _through(self) -> list[Piece] | None:
        """`${!X}`, `${!A[@]}`; of `${!X*}` it is not known which ones there are."""
        if self.at in _WHOLE and not self.rest:
            value = self.scope.value(self.name)
            if value is None or (is_named(self.scope, self.name) and len(value) > 1):
                return None
            return several(keys(value), self.scope, self.quoted, join=self.at == "[*]")
        value = self._text()
        if value is None or self.rest or not re.fullmatch(r"[A-Za-z_]\w*(\[.*\])?", value):
            return None
        return Braced(value, self.scope, self.depth + 1, self.quoted).found()

    def _count(self, whole: bool) -> str | None:
        if self.name == "#":
            return None
        if not whole:
            text = self._text()
            return None if text is None or not is_known(text) else str(len(text))
        value = self.scope.value(self.name)
        return None if value is None else "1" if isinstance(value, str) else str(len(value))

    def _defaulted(self, sign: str, after: str, whole: bool) -> list[Piece] | None:
        """A value, or what is said to stand in its place."""
        scope, name = self.scope, self.name
        unset = is_unset(scope, name) or self._is_ungiven()
        own = (
            None
            if unset
            else _listed(scope, name, self.at, self.quoted)
            if whole
            else shown(self._text(), self.quoted)
        )
        if self.at and own is not None and together(own) == "" and ":" not in sign:
            return None  # an element that is empty, or none
        if whole and own == [] and ":" not in sign and name not in ("@", "*"):
            unset = True
        empty = unset or (own is not None and together(own) == "" and (":" in sign or own == []))
        if sign[-1] == "+":
            return (
                []
                if empty and not self.quoted
                else shown("", True)
                if empty
                else (None if own is None else self._other(after))
            )
        if own is None and not unset:
            return None
        if not empty or sign[-1] == "?":
            return own
        found = self._other(after)
        if sign[-1] == "=":
            return self._sets(found)
        return found

    def _is_ungiven(self) -> bool:
        """Whether it is an argument beyond those that there are."""
        given = self.scope.value("@")
        known = isinstance(given, Array) and self.scope.value(self.name) == ""
        return known and is_digits(self.name) and int(self.name[:6]) > len(given or ())

    def _sets(self, found: list[Piece]) -> list[Piece] | None:
        if self.at or not self.name.isidentifier():
            self.scope.forget(self.name, self.scope.line)
            return None
        self.scope.assign(self.name, together(found), self.scope.line)
        return _listed(self.scope, self.name, "", self.quoted)

    def _other(self, after: str) -> list[Piece]:
        """The text of a default, in quotes or not."""
        if self.depth >= _DEEPEST:
            return [Piece(f"${{{after}}}", self.quoted, known=False)]
        if ":~" in after and not self.quoted:
            return [Piece(f"${{{after}}}", self.quoted, known=False)]
        parts = parts_of(after, self.scope.name, within=self.quoted)
        found = pieces(parts if self.quoted else at_home(parts), self.scope, self.depth + 1)
        if any(one.ends and not one.quoted for one in found) and separators(self.scope) != " \t\n":
            return [Piece(f"${{{after}}}", self.quoted, known=False)]
        return [Piece(one.text, one.quoted, one.known, not one.quoted, one.ends) for one in found]

    def _all(self, rest: re.Match[str] | None) -> list[Piece] | None:
        """All elements or arguments, some of them, or each one altered."""
        found = _listed(self.scope, self.name, self.at, self.quoted)
        value = self.scope.value(self.name)
        if rest is None or found is None or value is None:
            return found
        if not self.quoted and separators(self.scope) != " \t\n":
            return None  # bash may put them together
        items: Sequence[str] = [value] if isinstance(value, str) else value
        if rest["sign"] == ":":
            least = int(self.name in ("@", "*"))
            gaps = isinstance(value, Array) and keys(value) != [str(at) for at in range(len(value))]
            some = None if gaps else sliced([*items], rest["text"], self.scope, least, self.depth)
        else:
            changed = [self._altered(one, rest) for one in items]
            some = None if None in changed else [one for one in changed if one is not None]
        join = "*" in (self.name, self.at.strip("[]"))
        return None if some is None else several(some, self.scope, self.quoted, join=join)

    def _altered(self, text: str, rest: re.Match[str] | None) -> str | None:
        """A value that is cut, or in other letters."""
        if rest is None:
            return text
        sign, after = rest["sign"], rest["text"]
        if not is_known(text):
            return None
        if sign == ":":
            some = sliced(text, after, self.scope, 0, self.depth)
            return None if some is None else "".join(some)
        if sign == "@":
            return {"U": text.upper(), "L": text.lower(), "u": text[:1].upper() + text[1:]}.get(
                after if text.isascii() else ""
            )
        self.scope.spend(CUT * len(text))
        try:
            return self._by_pattern(text, sign, after)
        except NotFollowed:
            return None

    def _by_pattern(self, text: str, sign: str, after: str) -> str | None:
        new = ""
        where = sign
        if sign[0] == "/":
            if sign == "/" and after[:1] in ("#", "%"):
                where, after = after[0], after[1:]
            after, new = _halves(after, self.scope.name)
        pattern = self._pattern(after)
        if pattern is None:
            return None
        if sign[0] == "/":
            own = unquoted(new, self.scope, self.depth)
            unclear = own is None or "&" in own or "\\" in new
            unclear |= pattern.is_odd
            return None if unclear or own is None else replaced(text, pattern, own, where)
        if sign[0] in "^,":
            return cased(text, pattern if after else None, sign)
        return cut(text, pattern, sign)

    def _pattern(self, text: str) -> Pattern | None:
        if self.depth >= _DEEPEST:
            return None
        found = pieces(parts_of(text, self.scope.name), self.scope, self.depth + 1)
        return pattern_in(found, self.scope, extended=False)


def _halves(text: str, name: str) -> tuple[str, str]:
    """A pattern, and what stands behind the `/` that ends it."""
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] in "'\"":
            close = text.find(text[at], at + 1)
            at = close + 1 if close > 0 else at + 1
            continue
        if text[at] == "$" and text[at + 1 : at + 2] in ("{", "("):
            at = (past_brackets(text, at + 1, name) or at) + 1
            continue
        if text[at] == "/":
            return text[:at], text[at + 1 :]
        at += 1
    return text, ""


def index_in(text: str, name: str, scope: Scope, depth: int = 0) -> str | int | None:
    """What an index stands for: a number, or the key of an array that has keys."""
    return unquoted(text, scope, depth) if is_named(scope, name) else sum_in(text, scope, depth)


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
    first, sign, second = after.partition(":")
    if "?" in after or (sign and ":" in second):
        for name in targets(after):
            scope.forget(name, scope.line)
        return None
    start, count = sum_in(first, scope, depth), sum_in(second, scope, depth)
    if start is None or count is None:
        return None
    return part(items, start, count if sign else None, least)
