"""What the commands of the shell itself do to its state.

Only they can: a command from outside changes files alone. Each is followed here, or does nothing
that is read (`HARMLESS`), or what it names is not known after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.reading.shell.expansion.arithmetic import computed
from planner.frameworks.reading.shell.expansion.arrays import is_named, without
from planner.frameworks.reading.shell.expansion.silence import OUT
from planner.frameworks.reading.shell.maybe import contain
from planner.frameworks.reading.shell.states import Array, Lost, Stop
from planner.frameworks.reading.shell.steps.files import Command
from planner.frameworks.reading.shell.steps.inputs import getopts, lines_read, read
from planner.frameworks.reading.shell.values import index_in, is_known

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_PLACEHOLDER = re.compile(r"<[^<>|&\n]+>")
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\[.*\]", re.DOTALL)
_ENVIRONMENT = re.compile(
    r"\b(?:conda|mamba|micromamba|pyenv|ssh-agent|brew|spack|modulecmd|direnv)\b"
)
"""Outputs that set up programs and leave the variables of a script as they are."""
OPTIONS = ("-e", "-a", "-u", "-f", "-k", "-n", "-o pipefail")
_LONG = {
    "errexit": "-e", "allexport": "-a", "nounset": "-u", "noglob": "-f", "keyword": "-k",
    "noexec": "-n", "pipefail": "-o pipefail",
}  # fmt: skip
Own = Callable[["Shell", Command], None]


def _some(shell: Shell, command: Command) -> None:
    """Forgets what a command names, and everything where that is not known."""
    for name in _named(command):
        forget_named(shell, name, command.line)


def _named(command: Command) -> Iterator[str]:
    yield from (one for one in command.words[1:] if one[:1] != "-")


def forget_named(shell: Shell, text: str, line: int) -> None:
    """Forgets a variable, or an array by one of its elements; all where it is not known which."""
    match = _ELEMENT.fullmatch(text)
    name = match[1] if match else text
    if name.isidentifier():
        shell.forget(name, line)
    elif not is_known(text):
        shell.forget_all(line)


def _anything(shell: Shell, command: Command) -> None:
    shell.forget_all(command.line)
    shell.says(None)


def _nothing(shell: Shell, command: Command) -> None:
    """What is printed or set up and has no part in what is read."""


def _source(shell: Shell, command: Command) -> None:
    """Reads a file that a script takes its variables from, where it lies beside it."""
    words, line = command.words, command.line
    if len(words) < 2:
        return shell.says(2)
    text = None if words[1][:2] == "<(" else shell.file(words[1])
    outer, given = shell.value("BASH_SOURCE"), (shell.arguments, shell.exact, shell.open_ended)
    shell.variables["BASH_SOURCE"] = Array([words[1]])
    if len(words) > 2:
        ends = command.ends
        shell.restore_arguments((words[2:ends], True, ends is not None))
    shell.within += 1
    found: list[bool] = []

    def part() -> None:
        name = words[1].rpartition("/")[2]
        found.append(text is not None and shell.read_within(text, name))

    shell.says(0)
    try:
        contain(shell, line, part, lambda stop: stop.what == "return")
    finally:
        shell.within -= 1
        if len(words) > 2:
            shell.restore_arguments(given)
        shell.restore("BASH_SOURCE", outer)
    if found == [False]:
        shell.note(line, f"`source {words[1]}`, which does not lie beside it,")
        shell.says(None, taken=True)
        if words[1][:2] == "<(":
            shell.forget_all(line)
    return None


def _eval(shell: Shell, command: Command) -> None:
    text = " ".join(command.words[1:])
    if not set(text) & set("'\""):
        text = _PLACEHOLDER.sub(r"'\g<0>'", text)  # stands for a value, and is no redirection
    if not is_known(text.split(maxsplit=1)[0] if text.strip() else ""):
        shell.keep_command(command.words, command.line)
        shell.says(None, taken=True)
        if not _ENVIRONMENT.search(text):
            shell.forget_all(command.line)
        return
    shell.says(0)
    try:
        followed = shell.read_within(text, "")
    except InputError:
        followed = False
    if not followed:
        shell.keep_command(command.words, command.line)
        shell.forget_all(command.line)


def _shift(shell: Shell, command: Command) -> None:
    count = command.words[1] if len(command.words) > 1 else "1"
    shell.spend(len(shell.arguments))
    if not is_digits(count) or len(count) > 9:
        shell.restore_arguments(([], True, True))
        return shell.says(None)
    if int(count) <= len(shell.arguments):
        shell.arguments = shell.arguments[int(count) :]
        shell.revision += 1
        return shell.says(0)
    if shell.open_ended:
        shell.arguments = []
        return shell.says(None)
    return shell.says(1 if shell.exact else None, taken=True)


def _set(shell: Shell, command: Command) -> None:
    """Options, and arguments behind them."""
    words, at = command.words, 1
    while at < len(words) and re.fullmatch(r"[-+][a-zA-Z]+", words[at]):
        sign, letters = words[at][0], words[at][1:]
        at += 1
        for letter in letters:
            name = f"-{letter}"
            if letter == "o" and at < len(words):
                name = _LONG.get(words[at], "")
                at += 1
            if name in OPTIONS:
                _switch(shell, name, on=sign == "-")
    marks = words[at : at + 1] in (["--"], ["-"])
    at += marks
    if at < len(words) or (marks and words[at - 1] == "--"):
        ends = command.ends
        shell.restore_arguments((words[at:ends], True, ends is not None and ends >= at))
        shell.revision += 1
    elif command.ends is not None:
        shell.restore_arguments(([], True, True))
    shell.says(0)
    if "-n" in shell.variables:
        raise Stop("exit")


def _switch(shell: Shell, name: str, *, on: bool) -> None:
    shell.restore(name, "1" if on else None)
    shell.revision += 1


def _shopt(shell: Shell, command: Command) -> None:
    words = command.words
    for name in words[2:] if words[1:2] in (["-s"], ["-u"]) else ():
        _switch(shell, f"-O {name}", on=words[1] == "-s")
    if "-o" in words:
        _anything(shell, command)


def _alias(shell: Shell, command: Command) -> None:
    """Names that stand for other words, with `shopt -s expand_aliases`."""
    if "-O expand_aliases" in {*shell.variables, *shell.changed}:
        for name in (one.partition("=")[0] for one in command.words[1:] if "=" in one):
            shell.functions[name] = (Lost(shell.place(command.line)),)


def _unset(shell: Shell, command: Command) -> None:
    flags = "".join(one for one in command.words[1:] if one[:1] == "-")
    for name in _named(command):
        if (match := _ELEMENT.fullmatch(name)) and "f" not in flags:
            _without(shell, match[1], name[match.end(1) + 1 : -1])
        elif not name.isidentifier() and "f" not in flags:
            forget_named(shell, name, command.line)
        elif "f" in flags or (shell.is_unset(name) and "v" not in flags):
            shell.functions.pop(name, None)
        elif any(name in frame for frame in shell.local[:-1]) or name in shell.unsettled:
            shell.forget(name, command.line)
        else:
            for mark in ("", "-i ", "-u ", "-l ", "-A "):
                shell.restore(f"{mark}{name}", None)
            shell.supposed.pop(name, None)
        shell.revision += 1
    shell.says(0)


def _without(shell: Shell, name: str, index: str) -> None:
    if index in ("@", "*") and not is_named(shell, name):
        shell.restore(name, None)
    else:
        without(shell, name, index_in(index, name, shell))


def _let(shell: Shell, command: Command) -> None:
    value: int | None = 0
    for text in command.words[1:]:
        value = computed(text.replace('"', ""), shell)
    shell.says(None if value is None else int(not value))


def _printf(shell: Shell, command: Command) -> None:
    """`printf -v NAME`; else it prints, as a command from outside does."""
    words = command.words
    if len(words) > 2 and words[1] == "-v":
        return forget_named(shell, words[2], command.line)
    if len(words) > 1 and words[1].startswith("-v"):
        return forget_named(shell, words[1][2:], command.line)
    return shell.keep_command(words, command.line)


def _trap(shell: Shell, command: Command) -> None:
    """At the end a trap is gone through; what others set is not known from here on."""
    words = [one for one in command.words[1:] if one != "--"]
    if len(words) < 2:
        return
    signals = {one.upper().removeprefix("SIG") for one in words[1:]}
    text = "" if words[0] == "-" else words[0]
    if signals & {"EXIT", "0"}:
        shell.restore("-trap EXIT", text or None)
    if signals & {"DEBUG", "ERR", "RETURN"} and text:
        fork = shell.fork(())
        try:
            fork.read_within(text, "")
        except (Stop, InputError):
            fork.forget("*", command.line)
        for name in (*fork.variables.own, *fork.changed.own):
            shell.unsettled[name] = ""
            shell.forget(name, command.line)


def _go_to(shell: Shell, command: Command) -> None:
    """`cd`: what names a file from then on."""
    named = [*_named(command)]
    shell.restore("OLDPWD", shell.variables.get("PWD"), shell.changed.get("PWD"))
    if command.words[0] != "cd" or len(named) != 1 or not is_known(named[0]):
        shell.forget("PWD", command.line)
    else:
        shell.variables["PWD"] = shell.path(named[0])
        shell.changed.pop("PWD", None)
        if OUT in shell.variables:  # what is printed behind it names a folder that there is
            return shell.says(0)
    return shell.says(None, taken=True)


def _stack(shell: Shell, command: Command) -> None:
    for name in ("PWD", "OLDPWD", "DIRSTACK"):
        shell.forget(name, command.line)


def _wait(shell: Shell, command: Command) -> None:
    if "-p" in command.words[:-1]:
        forget_named(shell, command.words[command.words.index("-p") + 1], command.line)


def _command(shell: Shell, command: Command) -> None:
    """`command -v NAME` and `builtin` without a name."""
    shell.says(None)


def _true(status: int) -> Own:
    return lambda shell, command: shell.says(status)


def _loop_ends(shell: Shell, command: Command) -> None:
    """`break N`, `continue N`."""
    count = command.words[1] if len(command.words) > 1 else "1"
    shell.says(0)
    if not shell.loops:
        return
    if not is_digits(count) or not int(count[:9]):
        shell.forget_all(command.line)
        count = "1"
    raise Stop(command.words[0], min(int(count[:9]), shell.loops))


def _ends(shell: Shell, command: Command) -> None:
    """`return N` and `exit N`."""
    words = command.words
    if words[0] == "return" and not shell.within:
        return shell.says(2)
    if len(words) > 1:
        whole = re.fullmatch(r"-?[0-9]{1,9}", words[1])
        shell.says(int(words[1]) % 256 if whole else None if not is_known(words[1]) else 2)
    failed = words[0] == "exit" and len(words) > 1 and bool(shell.status)
    raise Stop(words[0], place=shell.place(command.line) if failed else "")


def _callbacks(*options: str) -> Own:
    """Commands that only print, unless an option has them go through others."""

    def own(shell: Shell, command: Command) -> None:
        if any(one[:2] in options for one in command.words[1:]):
            _anything(shell, command)

    return own


HARMLESS = (
    "bg", "bind", "caller", "complete", "compopt", "dirs", "disown", "fc", "fg", "hash", "help",
    "history", "kill", "suspend", "times", "type", "ulimit", "umask", "unalias", "pwd",
)  # fmt: skip
"""Commands that set nothing that is read."""
DECLARING = ("declare", "export", "local", "readonly", "typeset")
"""Commands that `simple_commands` follows with their words as they are written."""
TESTS = ("[", "test")
OUTSIDE = ("echo", "exec")
"""Commands that are kept, as those from outside are."""
OWN: dict[str, Own] = {
    "source": _source, ".": _source, "eval": _eval, "shift": _shift, "set": _set,
    "shopt": _shopt, "alias": _alias, "unset": _unset, "let": _let, "printf": _printf,
    "trap": _trap, "cd": _go_to, "pushd": _stack, "popd": _stack, "wait": _wait,
    "command": _command, "builtin": _command, "enable": _anything,
    "read": read, "mapfile": lines_read, "readarray": lines_read, "getopts": getopts,
    ":": _true(0), "true": _true(0), "false": _true(1),
    "break": _loop_ends, "continue": _loop_ends, "return": _ends, "exit": _ends,
    "compgen": _callbacks("-F", "-C", "-W"), "jobs": _callbacks("-x"), "logout": _nothing,
    **dict.fromkeys(HARMLESS, _nothing),
}  # fmt: skip
