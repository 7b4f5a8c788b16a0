"""What commands print whose input and words are known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.expansion.arithmetic import Fault, number
from planner.frameworks.reading.shell.expansion.brackets import escaped
from planner.frameworks.reading.shell.expansion.filters import FILTERS
from planner.frameworks.reading.shell.expansion.silence import OUT
from planner.frameworks.reading.shell.values import is_known, sum_in

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell
    from planner.frameworks.reading.shell.steps.files import Command

_SILENT = ("mkdir", "rm", "cp", "mv", "touch", "sleep", "ln", "chmod", "true", "false", "test", "[")
_QUIET = (
    ":", ".", "source", "eval", "break", "continue", "return", "exit", "shift", "unset", "let",
    "read", "mapfile", "readarray", "getopts", "wait", "builtin", "logout", "suspend", "unalias",
)  # fmt: skip
"""Commands of the shell that print nothing themselves."""
_SETTING = ("set", "shopt", "alias", "trap", "umask", "ulimit", "enable", "hash", "cd")
"""Those that print nothing where they are told something."""
_LONGEST = 1 << 16
_MOST_NUMBERS = 3
_MOST = 1024  # numbers of `seq`
_FORMAT = re.compile(r"%([-+ 0#]*)([0-9]{0,3})(\.[0-9]{1,2})?([a-zA-Z%])")
_DIGITS = 18  # of numbers whose product has 64 bits
_OTHER_SUM = re.compile(r"\b0[0-9]|--|\*\*|(?:^|[-+*/%(])\s*\+")
_SUM = re.compile(r"[0-9+\-*/%() ]+")


def printed(shell: Shell, words: list[str], given: str | None) -> str | None:  # noqa: PLR0911
    """What a command prints; None: that is not known.

    Args:
        shell: Where files lie.
        words: The command, filled in.
        given: What it reads, without the end of the last line; None: that is not known.
    """
    first = words[0].rpartition("/")[2] if words else ":"
    if first in _SILENT:
        return "" if not any(one[:2] == "-v" for one in words) else None
    if first == "echo":
        return _echo(words[1:])
    if first == "cat":
        return _cat(shell, words[1:], given)
    if first == "pwd":
        folder = shell.value("PWD")
        unset = folder is None and shell.is_unset("PWD")
        return f"{folder}\n" if isinstance(folder, str) else ".\n" if unset else None
    if first == "grep" and len(words) == 4:
        held = shell.file(words[3])
        given, words = (None if held is None else held.removesuffix("\n")), words[:3]
    if not is_known(" ".join(words)):
        return None
    if first == "bc":
        return _bc(shell, words, given)
    if own := _OWN.get(first):
        return own(words[1:])
    if (through := FILTERS.get(first)) and given is not None and len(given) < _LONGEST:
        return through(words[1:], given + "\n")
    return None


def emit(shell: Shell, command: Command) -> None:
    """Keeps what a command prints, where that is asked."""
    if OUT not in shell.variables:
        return
    if command.files.goes_away:
        return
    text = printed(shell, command.words, command.given)
    before = shell.variables[OUT]
    if text is None or not isinstance(before, str) or len(before) + len(text) > _LONGEST:
        shell.forget(OUT, command.line)
    else:
        shell.spend(len(before) + len(text))
        shell.variables[OUT] = before + text


def own_prints(shell: Shell, command: Command) -> None:
    """Keeps what a command of the shell itself prints."""
    words = command.words
    first = words[0]
    if first in _QUIET or (first in _SETTING and len(words) > 1 and words[-1] != "-"):
        return
    if first == "printf" and words[1:2] and words[1][:2] == "-v":
        return
    emit(shell, command)


def _echo(words: list[str]) -> str | None:
    options = ""
    while words and re.fullmatch("-[neE]+", words[0]):
        options += words[0][1:]
        words = words[1:]
    text = " ".join(words)
    if options.rstrip("nE").endswith("e") and "E" not in options and "\\" in text:
        if re.search(r"\\[0-9c]", text):
            return None
        text = escaped(text)
    elif "E" in options and "e" in options:
        return None
    return text if "n" in options else f"{text}\n"


def _cat(shell: Shell, words: list[str], given: str | None) -> str | None:
    if not words or words == ["-"]:
        return None if given is None else f"{given}\n"
    if any(one[:1] == "-" for one in words):
        return None
    held = [shell.file(one) for one in words]
    texts = [one for one in held if one is not None]
    ended = [one if one.endswith("\n") or not one else f"{one}\n" for one in texts]
    return "".join(ended) if len(texts) == len(held) else None


def _dirname(words: list[str]) -> str | None:
    return f"{posixpath.dirname(words[0].rstrip('/')) or '.'}\n" if len(words) == 1 else None


def _basename(words: list[str]) -> str | None:
    if not 1 <= len(words) <= 2 or words[0][:1] == "-":
        return None
    name = posixpath.basename(words[0].rstrip("/"))
    cut = words[1] if len(words) > 1 else ""
    return f"{name if name == cut else name.removesuffix(cut)}\n"


def _real(words: list[str]) -> str | None:
    named = [one for one in words if one[:1] != "-"]
    return f"{posixpath.normpath(named[0])}\n" if len(named) == 1 else None


def _seq(words: list[str]) -> str | None:
    between = "\n"
    if words[:1] == ["-s"] and len(words) > 1:
        between, words = words[1], words[2:]
    plain = all(re.fullmatch("-?[1-9][0-9]{0,8}|0", one) for one in words)
    if not plain or not 1 <= len(words) <= _MOST_NUMBERS:
        return None
    first, step = (int(words[0]) if len(words) > 1 else 1), (int(words[1]) if len(words) > 2 else 1)
    last = int(words[-1])
    if not step or abs(last - first) // abs(step) >= _MOST:
        return None
    found = between.join(map(str, range(first, last + (1 if step > 0 else -1), step)))
    return f"{found}\n" if found else ""


def _printf(words: list[str]) -> str | None:
    words = words[1:] if words[:1] == ["--"] else words
    if not words or words[0][:1] == "-":
        return None
    form, given = words[0], words[1:]
    if re.search(r"\\c", form):
        return None
    found: list[str] = []
    while True:
        piece, rest = _formatted(form, given)
        if piece is None or sum(map(len, found)) > _LONGEST:
            return None
        found.append(piece)
        if not rest or len(rest) == len(given):
            return "".join(found)
        given = rest


def _formatted(form: str, given: list[str]) -> tuple[str | None, list[str]]:
    """A format with some words filled in, and the other words; None: it is not followed."""
    found: list[str] = []
    at = 0
    for match in _FORMAT.finditer(form):
        plain = form[at : match.start()]
        if "%" in plain:
            return None, []
        found.append(escaped(plain))
        at = match.end()
        if match[4] == "%":
            found.append("%")
            continue
        word, given = (given[0], given[1:]) if given else (None, [])
        text = _filled(match, word)
        if text is None:
            return None, []
        found.append(text)
    rest = form[at:]
    return (None, []) if "%" in rest else ("".join([*found, escaped(rest)]), given)


def _filled(match: re.Match[str], word: str | None) -> str | None:
    flags, width, precise, kind = match.groups()
    if kind == "s":
        return f"%{flags.replace('0', '')}{width}{precise or ''}s" % (word or "")
    if kind in "dixXou" and not precise:
        try:
            sign = -1 if word and word[0] == "-" else 1
            value = sign * number(word.lstrip("+-")) if word else 0
        except (Fault, ValueError):
            return None
        if value < 0 and kind not in "di":
            return None
        return f"%{flags}{width}{'d' if kind in 'iu' else kind}" % value
    if kind == "f" and not flags.strip("0"):
        return _decimal(word or "0", int((precise or ".6")[1:]), f"{flags}{width}")
    return None


def _decimal(word: str, places: int, width: str) -> str | None:
    """A number with some decimals; None: it lies between two of them."""
    try:
        value = Decimal(word)
        rounded = value.quantize(Decimal(1).scaleb(-places))
    except InvalidOperation:
        return None
    between = abs(value - rounded) * 2 >= Decimal(1).scaleb(-places)
    if between or not re.fullmatch("-?[0-9.]+", word):
        return None
    return format(rounded, f"{width}f")


def _bc(shell: Shell, words: list[str], given: str | None) -> str | None:
    if words[1:] not in ([], ["-q"]) or given is None:
        return None
    lines = [one.strip() for one in given.split("\n")]
    found: list[str] = []
    for line in filter(None, lines):
        small = len(re.findall("[0-9]", line)) <= _DIGITS and _SUM.fullmatch(line)
        if not small or _OTHER_SUM.search(line):
            return None
        value = sum_in(line, shell)
        if value is None:
            return None
        found.append(f"{value}\n")
    return "".join(found)


class _Expression:
    """The words of `expr`."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.at = words, 0

    def level(self, at: int) -> int:
        """Signs that go from left to right."""
        signs = (("+", "-"), ("*", "/", "%"))
        if at == len(signs):
            return self.one()
        value = self.level(at + 1)
        while self.at < len(self.words) and self.words[self.at] in signs[at]:
            sign = self.words[self.at]
            self.at += 1
            value = self.applied(sign, value, self.level(at + 1))
        return value

    def applied(self, sign: str, left: int, right: int) -> int:
        """The value of two numbers with a sign between them."""
        if sign in "+-*":
            return {"+": left + right, "-": left - right, "*": left * right}[sign]
        if not right:
            raise Fault
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return whole if sign == "/" else left - whole * right

    def one(self) -> int:
        """A number, or what stands in brackets."""
        word = self.words[self.at] if self.at < len(self.words) else ""
        self.at += 1
        if word == "(":
            value = self.level(0)
            self.at += 1
            if self.words[self.at - 1 : self.at] != [")"]:
                raise Fault
            return value
        if not re.fullmatch("-?[0-9]{1,9}", word):
            raise Fault
        return int(word)


def _expr(words: list[str]) -> str | None:
    parser = _Expression(words)
    try:
        value = parser.level(0)
    except Fault:
        return None
    return f"{value}\n" if parser.at == len(words) else None


_OWN: dict[str, Callable[[list[str]], str | None]] = {
    "dirname": _dirname, "basename": _basename, "realpath": _real, "readlink": _real,
    "seq": _seq, "printf": _printf, "expr": _expr,
}  # fmt: skip
