"""What a word of shell text becomes, in pieces, and where values come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from frozen_records import dataclass
from planner.frameworks.reading.shell.expansion.patterns import NotFollowed, Pattern, Sign
from planner.frameworks.reading.shell.states import Array

SET_BY_SHELL = frozenset(
    [
        "BASH",
        "BASHOPTS",
        "BASHPID",
        "BASH_ALIASES",
        "BASH_ARGC",
        "BASH_ARGV",
        "BASH_ARGV0",
        "BASH_CMDS",
        "BASH_COMMAND",
        "BASH_EXECUTION_STRING",
        "BASH_LINENO",
        "BASH_LOADABLES_PATH",
        "BASH_REMATCH",
        "BASH_SOURCE",
        "BASH_SUBSHELL",
        "BASH_VERSINFO",
        "BASH_VERSION",
        "COLUMNS",
        "COMP_WORDBREAKS",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "HOME",
        "HOSTNAME",
        "HOSTTYPE",
        "IFS",
        "LANG",
        "LINENO",
        "LINES",
        "LOGNAME",
        "MACHTYPE",
        "MAPFILE",
        "OLDPWD",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PATH",
        "PIPESTATUS",
        "PPID",
        "PS4",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELL",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "TERM",
        "UID",
        "USER",
        "_",
        "$",
        "!",
        "-",
        "?",
        "0",
    ]
)
"""Variables that the shell or the system sets: none of them is without a value."""


class Scope(Protocol):
    """Where values come from.

    Attributes:
        name: What messages call the text.
        line: Where it is gone through.
    """

    name: str
    line: int

    def value(self, name: str) -> str | Array | None:
        """Of a variable; None: it is not known, or not set."""

    def is_unset(self, name: str) -> bool:
        """Whether nothing sets it, so that its default holds."""

    def assign(self, name: str, value: str | Array, line: int = 0) -> None:
        """Sets a variable (`${X:=8}`)."""

    def forget(self, name: str, line: int) -> None:
        """Says that a variable is not known from here on."""

    def output(self, command: str, depth: int) -> str | None:
        """What a command prints; None: that is not known."""

    def spend(self, letters: int) -> None:
        """Counts work."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a piece of a word becomes.

    Attributes:
        text: The text; where it is not known, as it is written.
        quoted: Whether it is taken as it is.
        known: Whether all of it is known.
        value: Whether it comes from a variable or a command, so that it may be several words.
        ends: Whether a word ends behind it.
        raw: How it is written, where it may become other words.
    """

    text: str
    quoted: bool = False
    known: bool = True
    value: bool = False
    ends: bool = False
    raw: str = ""


def is_known(text: str) -> bool:
    """Whether nothing in a text is as it was written."""
    return "$" not in text and "`" not in text


def is_unset(scope: Scope, name: str) -> bool:
    """Whether a variable has no value, so that its default holds."""
    return name not in SET_BY_SHELL and scope.value(name) is None and scope.is_unset(name)


def together(pieces: Sequence[Piece]) -> str:
    """The text of pieces, with a blank between words."""
    last = len(pieces) - 1
    return "".join(
        one.text + (" " if one.ends and at < last else "") for at, one in enumerate(pieces)
    )


def signs_of(found: Sequence[Piece]) -> list[Sign] | None:
    """Pieces as the signs of a pattern; None: they are not known."""
    if not all(one.known for one in found):
        return None
    signs: list[Sign] = []
    for one in found:
        signs += [(sign, not one.quoted) for sign in one.text + (" " if one.ends else "")]
    return signs


def pattern_in(found: Sequence[Piece], scope: Scope, *, extended: bool) -> Pattern | None:
    """Pieces as a pattern; None: it is not known, or not followed."""
    signs = signs_of(found)
    if signs is None or switched(scope, "nocasematch") is not False:
        return None
    if not extended:
        extended = switched(scope, "extglob") is not False
    try:
        return Pattern(signs, extended=extended)
    except NotFollowed:
        return None


def switched(scope: Scope, option: str) -> bool | None:
    """Whether `shopt -s` holds of an option; None: it is not known."""
    name = f"-O {option}"
    return True if scope.value(name) is not None else False if scope.is_unset(name) else None


def shown(text: str | None, quoted: bool) -> list[Piece] | None:
    """A value as a piece; None: it is not known."""
    return None if text is None else [Piece(text, quoted, is_known(text), value=True)]


def several(items: Sequence[str], scope: Scope, quoted: bool, *, join: bool) -> list[Piece] | None:
    """Elements as words, or in quotes as one (`*`)."""
    if join and quoted:
        sign = separators(scope)
        return None if sign is None else shown(sign[:1].join(items), quoted)
    if not quoted and (join or "" in items) and separators(scope) != " \t\n":
        return None  # it depends on where they stand
    last = len(items) - 1
    return [
        Piece(one, quoted, is_known(one), value=True, ends=at < last)
        for at, one in enumerate(items)
    ]


def separators(scope: Scope) -> str | None:
    """The signs at which values are taken apart (`IFS`); None: they are not known."""
    value = scope.value("IFS")
    if value is None:
        return " \t\n" if scope.is_unset("IFS") else None
    return value if isinstance(value, str) and is_known(value) else None
