"""Whether a test of shell text holds: `[ ... ]`, `[[ ... ]]`, `test`, `((...))`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planner.frameworks.reading.shell.expansion.arithmetic import computed, targets
from planner.frameworks.reading.shell.expansion.fields import words_of
from planner.frameworks.reading.shell.expansion.patterns import NotFollowed
from planner.frameworks.reading.shell.expansion.pieces import (
    Piece,
    is_unset,
    pattern_in,
    signs_of,
    switched,
    together,
)
from planner.frameworks.reading.shell.steps.nodes import Body, Node, Simple
from planner.frameworks.reading.shell.values import Scope, pieces, sum_in
from planner.frameworks.reading.shell.words import Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_ENDS = {"[": "]", "[[": "]]", "test": ""}
_ALONE = re.compile(r"\$\{?([A-Za-z_]\w*|[1-9])\}?")
_SET_LATER = ("SLURM", "PMI", "OMPI", "PBS", "LSB")
"""How variables begin that a job has and its script does not set."""
_NUMBERS = {
    "-eq": (0,), "-ne": (-1, 1), "-gt": (1,), "-ge": (0, 1), "-lt": (-1,), "-le": (-1, 0),
}  # fmt: skip
"""Which orders of two whole numbers a sign stands for."""
_BINARY = ("=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef", *_NUMBERS)
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_MOST = 64  # words of a test


_LONGEST = 4096  # letters of what is compared with a pattern
_LONGEST_SEARCHED = 512
_MOST_LOOSE = 2
_EXPRESSION = re.compile(
    r"\^?(?:(?:[\w %@#=,:/\"'<>!~;&-]|\\[^\w]|\.|\[\^?[\w.,:/_-]+\])[*+?]?"
    r"|\((?:[\w-]|\\[^\w])+(?:\|(?:[\w-]|\\[^\w])+)*\)\??)*\$?"
)


class _Token(NamedTuple):
    text: str
    pieces: tuple[Piece, ...]
    plain: bool


def is_test(words: Sequence[Word]) -> bool:
    """Whether a command is a test."""
    first = bare(words[0]) if words else ""
    return first in ("((", *_ENDS) or (bool(words) and first == "!" and is_test(words[1:]))


def holds(words: Sequence[Word], shell: Shell, line: int) -> bool | None:
    """Whether a test holds; None where that is not known from the text.

    Args:
        words: Of the test, with its brackets.
        shell: The state.
        line: Where it stands.
    """
    first = bare(words[0])
    if first == "!":
        found = holds(words[1:], shell, line) if len(words) > 1 else None
        return None if found is None else not found
    if first == "((":
        value = sum_in(words[1][0].text, shell)
        return None if value is None else value != 0
    if len(words) > _MOST:
        _forget(words, shell)
        return None
    found_in: Callable[[Word], list[list[Piece]]] = (
        (lambda word: [pieces(word, shell)])
        if first == "[["
        else (lambda word: words_of(word, shell))
    )
    tokens = [
        _Token(together(one), tuple(one), len(word) == 1 and not word[0].quoted)
        for word in words[1:]
        for one in shell.as_tested(word, line, found_in)
    ]
    end = _ENDS[first]
    if end and (not tokens or tokens.pop().text != end):
        return None
    return _found(tokens, shell, patterns=first == "[[")


def _found(tokens: list[_Token], shell: Shell, *, patterns: bool) -> bool | None:
    """Whether what stands between the brackets holds."""
    if not tokens:
        return False
    if not patterns and len(tokens) == 1:
        return tokens[0].text != "" if all(one.known for one in tokens[0].pieces) else None
    parser = _Test(tokens, patterns, shell)
    result = parser.either()
    return result if parser.at == len(tokens) else None


def _forget(words: Sequence[Word], shell: Shell) -> None:
    """A test too long to follow, in which sums may set variables."""
    for word in words:
        for part in word:
            for name in targets(part.text):
                shell.forget(name, shell.line)


class _Test:
    def __init__(self, tokens: list[_Token], patterns: bool, scope: Scope) -> None:
        self.tokens, self.patterns, self.scope = tokens, patterns, scope
        self.at = 0
        self.skips = self.doubts = False

    def _takes(self, *signs: str) -> bool:
        if (
            self.at < len(self.tokens)
            and self.tokens[self.at].text in signs
            and (self.tokens[self.at].plain or not self.patterns)
        ):
            self.at += 1
            return True
        return False

    def either(self) -> bool | None:
        value = self.both()
        while self._takes(*(("||",) if self.patterns else ("-o",))):
            right = self._beside(value is True, value is None, self.both)
            value = True if value or right else (None if None in (value, right) else False)
        return value

    def both(self) -> bool | None:
        value = self.one()
        while self._takes(*(("&&",) if self.patterns else ("-a",))):
            right = self._beside(value is False, value is None, self.one)
            known = None not in (value, right)
            value = False if value is False or right is False else (True if known else None)
        return value

    def _beside(self, skips: bool, doubts: bool, part: Callable[[], bool | None]) -> bool | None:
        """The right side, which is not computed, or perhaps not, where the left one decides."""
        outer = self.skips, self.doubts
        self.skips, self.doubts = self.skips or skips, self.doubts or doubts
        found = part()
        self.skips, self.doubts = outer
        return found

    def one(self) -> bool | None:  # noqa: PLR0911  (one for each form)
        left = self.tokens[self.at :]
        if len(left) == 3 and not self.patterns and left[1].text in _BINARY:
            self.at += 3
            return self._compared(*left)
        if len(left) > 1 and self._takes("!"):
            found = self.one()
            return None if found is None else not found
        if len(left) > 2 and self._takes("("):
            found = self.either()
            return found if self._takes(")") else None
        if len(left) > 2 and left[1].text in _BINARY:
            self.at += 3
            return self._compared(*left[:3])
        if len(left) > 1 and re.fullmatch("-[a-zA-Z]", left[0].text):
            self.at += 2
            return self._said(left[0].text, left[1])
        self.at += 1
        if not left or not all(one.known for one in left[0].pieces):
            return None
        signs = any(not one.quoted and set(one.text) & set("<>&|()") for one in left[0].pieces)
        return None if signs and self.patterns else left[0].text != ""

    def _compared(self, left: _Token, sign: _Token, right: _Token) -> bool | None:
        if sign.text in _NUMBERS:
            return self._numbers(left.text, sign.text, right.text)
        if not all(one.known for one in (*left.pieces, *right.pieces)):
            return None
        if sign.text == "=~":
            long = len(left.text) > _LONGEST_SEARCHED
            pattern = None if long else expression(right.pieces, self.scope)
            return None if pattern is None else bool(pattern.search(left.text))
        if sign.text not in ("=", "==", "!="):
            return None
        same: bool | None = left.text == right.text
        if self.patterns:
            same = fits(left.text, right.pieces, self.scope, extended=True)
        return None if same is None else same == (sign.text != "!=")

    def _numbers(self, left: str, sign: str, right: str) -> bool | None:
        if self.patterns and (self.skips or self.doubts):
            for name in targets(f"{left} {right}") if not self.skips else ():
                self.scope.forget(name, self.scope.line)
            one = other = None
            if not targets(f"{left} {right}"):
                one, other = computed(left, self.scope), computed(right, self.scope)
        elif self.patterns:
            one, other = computed(left, self.scope), computed(right, self.scope)
        else:
            plain = _WHOLE.fullmatch(left) and _WHOLE.fullmatch(right)
            one, other = (int(left), int(right)) if plain else (None, None)
        if one is None or other is None:
            return None
        return (one > other) - (one < other) in _NUMBERS[sign]

    def _said(self, sign: str, token: _Token) -> bool | None:
        """A test of one word: whether it is empty; what lies in files is not known.

        A variable that nothing sets is empty, as `${X:-8}` takes its default.
        """
        if sign not in ("-z", "-n"):
            return None
        text = token.text
        if all(one.known for one in token.pieces):
            return (text == "") == (sign == "-z")
        alone = _ALONE.fullmatch(text)
        if sign == "-z" and alone and not alone[1].startswith(_SET_LATER):
            return True if is_unset(self.scope, alone[1]) else None
        return None


def asks(node: Node) -> bool:
    """Whether a part is a test."""
    return isinstance(node, Simple) and not node.statement.array and is_test(node.statement.words)


def is_endless(head: Body) -> bool:
    """Whether a condition holds always: `while true`."""
    words = head[0].statement.words if len(head) == 1 and isinstance(head[0], Simple) else []
    return len(words) == 1 and bare(words[0]) in ("true", ":")


def fits(
    text: str, pattern: Sequence[Piece], scope: Scope, *, extended: bool = False
) -> bool | None:
    """Whether a text is chosen by a pattern; None: that is not known."""
    if len(text) > _LONGEST:
        return None
    found = pattern_in(pattern, scope, extended=extended)
    if found is None:
        return None
    scope.spend(len(text))
    try:
        return found.matches(text)
    except NotFollowed:
        return None


def expression(found: Sequence[Piece], scope: Scope) -> re.Pattern[str] | None:
    """A regular expression that is simple, and so takes little time; None: it is another one."""
    signs = signs_of(found)
    text = "".join(re.escape(one) if not active else one for one, active in signs or ())
    plain = signs is not None and _EXPRESSION.fullmatch(text) is not None
    plain = plain and switched(scope, "nocasematch") is False
    if not plain or len(re.findall(r"[*+]", text)) > _MOST_LOOSE:
        return None
    return re.compile(text.replace("$", r"\Z"))
