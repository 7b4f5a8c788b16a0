"""Patterns of bash: `*`, `?`, `[...]`, and `@(...)` and its like.

A pattern goes through a text with the set of all places where it may be, so that none takes more
time than its length times that of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from frozen_records import dataclass
from planner.base.numerals import is_digits

Sign = tuple[str, bool]
"""A letter, and whether it may mean more than itself."""
_CLASSES = {
    "alpha": str.isalpha, "digit": is_digits, "alnum": str.isalnum, "upper": str.isupper,
    "lower": str.islower, "space": str.isspace, "blank": lambda one: one in " \t",
    "xdigit": lambda one: one in "0123456789abcdefABCDEF",
    "punct": lambda one: one.isprintable() and not one.isalnum() and one != " ",
    "word": lambda one: one.isalnum() or one == "_",
    "print": str.isprintable, "graph": lambda one: one.isprintable() and one != " ",
    "cntrl": lambda one: ord(one) < 32 or ord(one) == 127,
}  # fmt: skip
_MARKS = "@?*+!"
_DEEPEST = 4


class NotFollowed(Exception):  # noqa: N818  (no error: it is not known)
    """A pattern that is not followed."""


@dataclass(frozen=True, slots=True)
class One:
    """A letter of some; `but`: any other one."""

    fits: Callable[[str], bool]
    but: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """`*`."""


@dataclass(frozen=True, slots=True)
class Either:
    """`@(a|b)`, or another mark: how often one of several stands there."""

    mark: str
    arms: tuple[tuple[One | Many | Either, ...], ...]


Steps = tuple[One | Many | Either, ...]


class Pattern:
    """A pattern, as signs of which each is known to mean itself or not.

    Raises:
        NotFollowed: Something in it is not followed.
    """

    def __init__(self, signs: Sequence[Sign], *, extended: bool = False) -> None:
        self.signs, self.extended = signs, extended
        self.at = 0
        self.steps = self._steps(0)
        if self.at < len(signs):
            self.at += 1
            raise NotFollowed

    @cached_property
    def backwards(self) -> Steps:
        """What goes through a text from its end."""
        return _turned(self.steps)

    def matches(self, text: str) -> bool:
        """Whether it is all of a text."""
        return bool(_through(self.steps, _Text(text), 1) >> len(text) & 1)

    def ends(self, text: str, start: int = 0) -> list[int]:
        """Where it may end that begins at a place."""
        return _places(_through(self.steps, _Text(text), 1 << start))

    def starts(self, text: str) -> list[int]:
        """Where it may begin that ends with a text, from the last place."""
        found = _through(self.backwards, _Text(text[::-1]), 1)
        return [len(text) - one for one in _places(found)]

    @property
    def is_plain(self) -> bool:
        """Whether it has one length."""
        return all(isinstance(one, One) for one in self.steps)

    @property
    def is_odd(self) -> bool:
        """Whether bash, as it replaces pieces, takes it otherwise than elsewhere."""
        text = "".join(one if active else "\0" for one, active in self.signs)
        quoted = any(one in "*?[]\\" and not active for one, active in self.signs)
        return (quoted and not self.is_plain) or bool(re.search(r"\[[!^]?\]|\\[*?\[\]\\]", text))

    def _active(self, sign: str, ahead: int = 0) -> bool:
        at = self.at + ahead
        return at < len(self.signs) and self.signs[at] == (sign, True)

    def _steps(self, depth: int) -> Steps:
        found: list[One | Many | Either] = []
        if depth > _DEEPEST:
            raise NotFollowed
        while self.at < len(self.signs):
            sign, active = self.signs[self.at]
            if depth and active and sign in "|)":
                break
            if active and sign in _MARKS and self.extended and self._active("(", 1):
                found.append(self._either(sign, depth))
            elif active and sign == "[" and (one := self._bracket(depth)):
                found.append(one)
            else:
                self.at += 1
                if active and sign == "*":
                    found.append(Many())
                elif active and sign == "\\" and self.at < len(self.signs):
                    found.append(_letter(self.signs[self.at][0]))
                    self.at += 1
                else:
                    found.append(_ANY if active and sign == "?" else _letter(sign))
        return tuple(found)

    def _either(self, mark: str, depth: int) -> Either:
        self.at += 2
        arms = [self._steps(depth + 1)]
        while self._active("|"):
            self.at += 1
            arms.append(self._steps(depth + 1))
        if not self._active(")"):
            raise NotFollowed
        if not all(arms):
            raise NotFollowed  # bash differs behind `*`
        self.at += 1
        return Either(mark, tuple(arms))

    def _bracket(self, depth: int) -> One | None:
        """`[...]`; None: it is not closed, and a plain sign."""
        start = self.at
        self.at += 1
        but = self._active("!") or self._active("^")
        self.at += but
        fits: list[Callable[[str], bool]] = []
        first = True
        while self.at < len(self.signs) and (first or not self._active("]")):
            first = False
            fits.append(self._member())
        if self.at >= len(self.signs):
            if depth:
                raise NotFollowed
            self.at = start
            return None
        self.at += 1
        return One(lambda one: any(fit(one) for fit in fits), but)

    def _member(self) -> Callable[[str], bool]:
        """A letter, a range or a class within a bracket."""
        if self._active("["):
            kind = self.signs[self.at + 1][0] if self.at + 1 < len(self.signs) else ""
            if kind in (".", "="):
                raise NotFollowed
            rest = "".join(sign for sign, _ in self.signs[self.at :])
            if match := re.match(r"\[:(\w+):\]", rest):
                self.at += match.end()
                if match[1] not in _CLASSES:
                    raise NotFollowed
                return _CLASSES[match[1]]
        first = self._sign()
        ranged = self._active("-") and self.at + 1 < len(self.signs) and not self._active("]", 1)
        if not ranged:
            return lambda one: one == first
        self.at += 1
        if self._active("["):
            raise NotFollowed
        last = self._sign()
        if first > last:
            raise NotFollowed
        return lambda one: first <= one <= last

    def _sign(self) -> str:
        if self._active("\\") and self.at + 1 < len(self.signs):
            self.at += 1
        self.at += 1
        return self.signs[self.at - 1][0]


_ANY = One(lambda one: True)


def _letter(sign: str) -> One:
    return One(lambda one: one == sign)


def _turned(steps: Steps) -> Steps:
    return tuple(
        Either(one.mark, tuple(map(_turned, one.arms))) if isinstance(one, Either) else one
        for one in reversed(steps)
    )


class _Text:
    """A text whose letters may be fitted: by letter the set of its places."""

    def __init__(self, text: str) -> None:
        if not text.isascii():
            raise NotFollowed  # letters depend on the language
        self.size = len(text)
        self.places: dict[str, int] = {}
        for at, one in enumerate(text):
            self.places[one] = self.places.get(one, 0) | 1 << at


def _through(steps: Steps, text: _Text, at: int) -> int:
    """The places where steps may end that begin at some; places are the bits of a number."""
    for step in steps:
        if not at:
            return 0
        if isinstance(step, One):
            fit = 0
            for one, places in text.places.items():
                fit |= places if step.fits(one) is not step.but else 0
            at = (at & fit) << 1
        elif isinstance(step, Many):
            at = (2 << text.size) - (at & -at)
        else:
            at = _repeated(step, text, at)
    return at


def _repeated(step: Either, text: _Text, at: int) -> int:
    if step.mark == "!":
        found = 0
        for start in _places(at):
            rest = (2 << text.size) - (1 << start)
            found |= rest & ~_one_of(step, text, 1 << start)
        return found
    found = _one_of(step, text, at)
    if step.mark in "@?":
        return found | (at if step.mark == "?" else 0)
    new = found
    while new:
        new = _one_of(step, text, new) & ~found
        found |= new
    return found | (at if step.mark == "*" else 0)


def _one_of(step: Either, text: _Text, at: int) -> int:
    found = 0
    for arm in step.arms:
        found |= _through(arm, text, at)
    return found


def _places(bits: int) -> list[int]:
    """The places of the bits of a number, from the first.

    >>> _places(0b1011)
    [0, 1, 3]
    """
    return [at for at, one in enumerate(bin(bits)[:1:-1]) if one == "1"]
