"""Whether a test of shell text holds: `[ ... ]`, `[[ ... ]]`, `test`, `((...))`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from planner.frameworks.reading.shell.steps.nodes import Body, Node, Simple
from planner.frameworks.reading.shell.values import Scope, is_known, sum_in
from planner.frameworks.reading.shell.words import Word, bare

_ENDS = {"[": "]", "[[": "]]", "test": ""}
_ALONE = re.compile(r"\$\{?([A-Za-z_]\w*|[1-9])\}?")
_SET_LATER = ("SLURM", "PMI", "OMPI", "PBS", "LSB")
"""How variables begin that a job has and its script does not set."""
_NUMBERS = {
    "-eq": (0,), "-ne": (-1, 1), "-gt": (1,), "-ge": (0, 1), "-lt": (-1,), "-le": (-1, 0),
}  # fmt: skip
"""Which orders of two whole numbers a sign stands for."""
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_MOST = 64  # words of a test


class _Token(NamedTuple):
    text: str
    plain: bool


def is_test(words: Sequence[Word]) -> bool:
    """Whether a command is a test."""
    first = bare(words[0]) if words else ""
    return first in ("((", *_ENDS) or (bool(words) and first == "!" and is_test(words[1:]))


def holds(words: Sequence[Word], text: Callable[[Word], str], scope: Scope) -> bool | None:
    """Whether a test holds; None where that is not known from the text.

    Args:
        words: Of the test, with its brackets.
        text: A word with its variables filled in.
        scope: Of the variables.
    """
    if len(words) > _MOST:
        return None
    first = bare(words[0])
    if first == "!":
        found = holds(words[1:], text, scope) if len(words) > 1 else None
        return None if found is None else not found
    if first == "((":
        value = sum_in(words[1][0].text, scope)
        return None if value is None else value != 0
    tokens = [_Token(text(word), not word[0].quoted) for word in words[1:]]
    end = _ENDS[first]
    if end and (not tokens or tokens.pop().text != end):
        return None
    if not tokens:
        return False
    parser = _Test(tokens, first == "[[", scope)
    found = parser.either()
    return found if parser.at == len(tokens) else None


class _Test:
    def __init__(self, tokens: list[_Token], patterns: bool, scope: Scope) -> None:
        self.tokens, self.patterns, self.scope = tokens, patterns, scope
        self.at = 0

    def _takes(self, *signs: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at].text in signs:
            self.at += 1
            return True
        return False

    def either(self) -> bool | None:
        value = self.both()
        while self._takes("||", "-o"):
            right = self.both()
            value = True if value or right else (None if None in (value, right) else False)
        return value

    def both(self) -> bool | None:
        value = self.one()
        while self._takes("&&", "-a"):
            right = self.one()
            known = None not in (value, right)
            value = False if value is False or right is False else (True if known else None)
        return value

    def one(self) -> bool | None:
        left = self.tokens[self.at :]
        if len(left) > 1 and self._takes("!"):
            found = self.one()
            return None if found is None else not found
        if len(left) > 2 and self._takes("("):
            found = self.either()
            self._takes(")")
            return found
        if len(left) > 2 and left[1].text in ("=", "==", "!=", "=~", "<", ">", *_NUMBERS):
            self.at += 3
            return self._compared(*left[:3])
        if len(left) > 1 and re.fullmatch("-[a-zA-Z]", left[0].text):
            self.at += 2
            return self._said(left[0].text, left[1].text)
        self.at += 1
        return (left[0].text != "") if left and is_known(left[0].text) else None

    def _compared(self, left: _Token, sign: _Token, right: _Token) -> bool | None:
        if not is_known(left.text + right.text):
            return None
        if sign.text in ("=", "==", "!="):
            globs = self.patterns and right.plain
            same = fnmatchcase(left.text, right.text) if globs else left.text == right.text
            return same == (sign.text != "!=")
        if sign.text not in _NUMBERS:
            return None
        if not (_WHOLE.fullmatch(left.text) and _WHOLE.fullmatch(right.text)):
            return None
        one, other = int(left.text), int(right.text)
        return (one > other) - (one < other) in _NUMBERS[sign.text]

    def _said(self, sign: str, text: str) -> bool | None:
        """A test of one word: whether it is empty; what lies in files is not known.

        A variable that nothing sets is empty, as `${X:-8}` takes its default.
        """
        if sign not in ("-z", "-n"):
            return None
        if is_known(text):
            return (text == "") == (sign == "-z")
        alone = _ALONE.fullmatch(text)
        if sign == "-z" and alone and not alone[1].startswith(_SET_LATER):
            return True if self.scope.is_unset(alone[1]) else None
        return None


def asks(node: Node) -> bool:
    """Whether a part is a test."""
    return isinstance(node, Simple) and not node.statement.array and is_test(node.statement.words)


def is_endless(head: Body) -> bool:
    """Whether a condition holds always: `while true`."""
    words = head[0].statement.words if len(head) == 1 and isinstance(head[0], Simple) else []
    return len(words) == 1 and bare(words[0]) in ("true", ":")


def matches(word: str, pattern: str, quoted: bool) -> bool:
    """Whether a word is chosen by a pattern of a `case`."""
    plain = quoted or not set(pattern) & set("*?[")
    return word == pattern if plain else fnmatchcase(word, pattern)
