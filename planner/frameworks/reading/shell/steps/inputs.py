"""Commands of the shell that read: `read`, `mapfile`, `getopts`.

Lines that the text says (`<<<`, `<<EOF`) are known, others are not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.states import Array
from planner.frameworks.reading.shell.steps.files import Command
from planner.frameworks.reading.shell.values import is_known

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_WITH = "adinNptu"
"""Options of `read` that take a word."""
_BLANKS = " \t\n"


def _options(words: list[str], taking: str) -> tuple[dict[str, str], list[str]]:
    """Options with their words, and the words behind them."""
    found: dict[str, str] = {}
    at = 1
    while at < len(words) and words[at][:1] == "-" and len(words[at]) > 1:
        text = words[at][1:]
        at += 1
        if text == "-":
            break
        for place, letter in enumerate(text):
            found[letter] = text[place + 1 :] if letter in taking else ""
            if letter in taking:
                if not found[letter] and at < len(words):
                    found[letter], at = words[at], at + 1
                break
    return found, words[at:]


def _forget(shell: Shell, name: str, line: int) -> None:
    own = re.split(r"\[", name)[0]
    if own.isidentifier():
        shell.forget(own, line)
    elif not is_known(name):
        shell.forget_all(line)


def read(shell: Shell, command: Command) -> None:
    """Takes a line that is known apart; other variables that are read are not known."""
    options, names = _options(command.words, _WITH)
    array = options.get("a")
    names = [array] if array else names or ["REPLY"]
    text, whole = command.given, options.get("d") == "" and "d" in options
    shell.says(None)
    plain = not options.keys() & set("inNtu") and ("d" not in options or whole)
    separators = shell.value("IFS") if "IFS" not in shell.changed else None
    separators = _BLANKS if shell.is_unset("IFS") else separators
    known = text is not None and plain and isinstance(separators, str) and is_known(separators)
    known &= all(one.isidentifier() for one in names)
    known &= "r" in options or "\\" not in (text or "")
    if not known or text is None or not isinstance(separators, str):
        for name in names:
            _forget(shell, name, command.line)
        return
    line = text if whole else text.split("\n")[0]
    if whole and array is None and len(names) == 1:
        return shell.assign(names[0], line.strip(separators), command.line)
    fields = _fields(line, separators, None if array else len(names))
    if fields is None or not is_known(line):
        for name in names:
            _forget(shell, name, command.line)
        return
    if array:
        return shell.assign(array, Array(fields), command.line)
    for at, name in enumerate(names):
        shell.assign(name, fields[at] if at < len(fields) else "", command.line)
    shell.says(None if whole else 0)
    return


def _fields(line: str, separators: str, most: int | None) -> list[str] | None:
    """A line taken apart, the last field with all that is left; None: it is not known how."""
    if all(one in _BLANKS for one in separators):
        if not separators:
            return [line] if line or most else []
        signs = re.escape(separators)
        line = line.strip(separators)
        if not line or most == 1:
            return [line] if line else []
        return re.split(f"[{signs}]+", line, maxsplit=0 if most is None else most - 1)
    if len(separators) > 1:
        return None
    split = line.split(separators, -1 if most is None else most)
    if most is None:
        return split[:-1] if split and not split[-1] else split
    if len(split) > most:
        rest = separators.join(split[most - 1 :])
        alone = rest.endswith(separators) and rest.count(separators) == 1
        split = [*split[: most - 1], rest[:-1] if alone else rest]
    return split


def lines_read(shell: Shell, command: Command) -> None:
    """`mapfile -t NAME`: the lines of what is known."""
    options, names = _options(command.words, "dnOsucC")
    name, text = (names or ["MAPFILE"])[0], command.given
    shell.says(None, taken=True)
    if "C" in options:
        shell.forget_all(command.line)
    known = text is not None and is_known(text) and options.keys() == {"t"}
    if not known or text is None or not name.isidentifier():
        return _forget(shell, name, command.line)
    lines = text.removesuffix("\n").split("\n") if text else []
    return shell.assign(name, Array(lines), command.line)


def getopts(shell: Shell, command: Command) -> None:
    """What it takes from arguments is not known; without any it takes nothing."""
    words = command.words
    given = words[3:] if len(words) > 3 else shell.arguments
    shell.supposing |= not shell.exact
    for name in (*words[2:3], "OPTARG", "OPTIND") if given or shell.open_ended else words[2:3]:
        _forget(shell, name, command.line)
    shell.says(None if given or shell.open_ended else 1)
