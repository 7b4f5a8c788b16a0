"""Simple commands of shell text: those of the shell itself, functions, files and other scripts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.reading.shell.slurm import slurm_variables
from planner.frameworks.reading.shell.states import Array, Layer
from planner.frameworks.reading.shell.values import expanded, sum_in
from planner.frameworks.reading.shell.words import Statement, Word

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_REDIRECTION = re.compile(r"(?:[0-9]*[<>]{1,2}|&>>?)(.*)", re.DOTALL)
_WRITES = re.compile(r"(?:1?(>{1,2})|&(>{1,2}))(.*)", re.DOTALL)
GIVEN = re.compile(r"([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
"""A variable of the environment among the arguments of a script."""
_EVERY = re.compile(r"\"\$@\"|\$@|\$\*")
_MESSAGE = re.compile(r"1?>&2")
_PLACEHOLDER = re.compile(r"<[^<>|&\n]+>")
_SUM = re.compile(r"\s*([A-Za-z_]\w*)\s*(\+\+|--|[-+*/%]?=(?!=))\s*(.*)", re.DOTALL)
DEEPEST = 8  # files and functions within one another
_SHELLS = ("bash", "sh", "zsh")
_STARTERS = (*_SHELLS, "srun", "sbatch", "salloc", "mpirun", "mpiexec", "sudo", "stdbuf", "env")
_ASKING = (
    "grep", "command", "which", "type", "nvidia-smi", "rocm-smi", "diff", "cmp", "pgrep", "ping",
    "nc", "lspci", "mountpoint", "getent", "id", "hash", "[", "[[",
)  # fmt: skip
"""Commands that are run to learn whether they succeed; others are taken to."""


class Stop(Exception):  # noqa: N818  (no error: the end of a loop, a function or a script)
    """What ends more than a command: `break`, `continue`, `return` or `exit`."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def started(shell: Shell, words: list[str], statement: Statement) -> bool | None:
    """Takes a command; whether it succeeds, None: that is not known.

    Args:
        shell: The state, which changes.
        words: The command, filled in.
        statement: Where it stands, with its documents and files.
    """
    first, line = words[0], statement.line
    piped, shell.piped = shell.piped, None
    if statement.document is not None:
        piped = shell.filled(statement.document)
    _write(shell, words, statement, piped)
    if first == "xargs" and piped is not None and len(words) > 1:
        words = [*words[1:], *piped.split()]
    words = _with_arguments(shell, words)
    if own := _OWN.get(first):
        own(shell, words, line)
    elif first in ("read", "mapfile", "readarray"):
        _read(shell, words, piped, line)
    elif first == "getopts":
        _getopts(shell, words, line)
    elif first in shell.functions:
        if not call(shell, first, words[1:], line):
            shell.note(line, f"`{first}`, which is too deep within other functions,")
    elif statement.document is not None and _is_shell(words):
        _take_options(shell, words)
        shell.read_within(piped or "", "a document")
    elif first != "echo" or not _is_message(statement):
        shell.commands.append(words)
        shell.places.append(shell.place(line))
        _start(shell, words)
    return _status(shell, first)


def _is_message(statement: Statement) -> bool:
    """Whether what a command prints goes to standard error."""
    return any(_MESSAGE.fullmatch(one.text) for word in statement.words for one in word[:1])


def _with_arguments(shell: Shell, words: list[str]) -> list[str]:
    """A command with the text of its `bash -c` filled in, its own arguments too."""
    if "-c" not in words[:-1] or not any(one in _SHELLS for one in words):
        return words
    at = words.index("-c") + 1
    text, given = words[at], words[at + 2 :]  # the word between them is its $0
    if given:
        text = _EVERY.sub(lambda _: shlex.join(given), text)
    return [*words[:at], expanded(text, shell), *(() if given else words[at + 1 :])]


def _status(shell: Shell, first: str) -> bool | None:
    """Whether a command succeeds; None: that is not known."""
    if first == "getopts" and not shell.arguments:
        return False
    return None if first in _ASKING else first != "false"


def begins(shell: Shell, *, knows_place: bool) -> None:
    """Takes what is given to a script: its environment, as in `NODES=8 bash run.sh`, and its place.

    Args:
        shell: The state, with the words behind the script's name as its arguments.
        knows_place: Whether it lies in a folder.
    """
    while shell.arguments and (match := GIVEN.fullmatch(shell.arguments[0])):
        shell.variables[match[1]] = match[2]
        shell.arguments = shell.arguments[1:]
    if knows_place:
        lies_at(shell, shell.name.rpartition("/")[2])


def lies_at(shell: Shell, path: str) -> None:
    """Says where a script lies, from the folder of the first one, where it is taken to be run."""
    place = path if path.startswith(("./", "../")) else f"./{path}"
    shell.variables.update({"0": place, "BASH_SOURCE": Array([place])})
    for name in ("PWD", "SLURM_SUBMIT_DIR"):
        shell.variables.setdefault(name, ".")


def call(shell: Shell, name: str, arguments: list[str], line: int, *, exact: bool = True) -> bool:
    """Goes through a function; False: it is too deep within others.

    Args:
        shell: The state.
        name: Of the function.
        arguments: That it is called with.
        line: Where it is called; 0: nowhere.
        exact: Whether it has no further arguments.
    """
    shell.called.add(name)
    if shell.depth >= DEEPEST:
        return False
    shell.spend(steps=1)
    outer = shell.arguments, shell.exact, shell.called_at, shell.asks_only
    shell.called_at = shell.called_at or (shell.place(line) if line else "")
    shell.arguments, shell.exact, shell.asks_only = arguments, exact, False
    shell.local.append(Layer())
    shell.depth += 1
    try:
        shell.body(shell.functions[name].body)
    except Stop as stop:
        if stop.what == "exit":
            raise
    finally:
        shell.depth -= 1
        for local, value in shell.local.pop().items():
            shell.restore(local, value)
        shell.arguments, shell.exact, shell.called_at, shell.asks_only = outer
    return True


def without_files(words: list[Word]) -> list[Word]:
    """Words without redirections and the files that they name."""
    found, skips = [], False
    for word in words:
        match = None if word[0].quoted else _REDIRECTION.match(word[0].text)
        if not skips and not match:
            found.append(word)
        skips = match is not None and len(word) == 1 and not match[1]
    return found


def _written(shell: Shell, statement: Statement) -> list[tuple[str, bool]]:
    """Files that a command writes to, and whether it adds to what they hold."""
    found: list[tuple[str, bool]] = []
    sign = ""
    for word in statement.words:
        text = shell.text(word)
        if sign:
            found.append((text, sign == ">>"))
        match = None if word[0].quoted else _WRITES.fullmatch(text)
        sign = (match[1] or match[2]) if match and not match[3] else ""
        if match and match[3] and not match[3].startswith("&"):
            found.append((match[3], (match[1] or match[2]) == ">>"))
    return found


def _write(shell: Shell, words: list[str], statement: Statement, piped: str | None) -> None:
    """Keeps what `cat`, `echo` and `tee` write."""
    files = _written(shell, statement)
    if words[0] == "tee":
        files += [(one, "-a" in words) for one in words[1:] if one != "-a"]
    text = piped if words[0] in ("cat", "tee") and len(words) == 1 + (words[0] == "tee") else None
    if words[0] == "tee":
        text = piped
    elif words[0] == "echo":
        text = " ".join(one for one in words[1:] if one not in ("-e", "-n"))
    elif words[0] == "cat" and statement.document is None:
        held = [shell.file(one) for one in words[1:]]
        known = bool(held) and None not in held
        text = "\n".join(one for one in held if one is not None) if known else piped
    if text is None:
        return
    for name, adds in files:
        before = f"{shell.files[name]}\n" if adds and name in shell.files else ""
        shell.spend(len(before))
        shell.files[name] = before + text
    if not files:
        shell.piped = text


def _is_shell(words: list[str]) -> bool:
    """Whether a command runs its standard input as a script."""
    own = words[0] in (*_SHELLS, "sbatch") or (words[0] == "srun" and words[-1] in _SHELLS)
    return own and not any(word.endswith(".sh") or word == "-c" for word in words[1:])


def _take_options(shell: Shell, words: list[str]) -> None:
    """Takes what a command says to Slurm of the job that it starts."""
    if words[:1] in (["srun"], ["sbatch"]):
        shell.variables.update(slurm_variables(words[1:]))
        shell.options += words[1:]


def _start(shell: Shell, words: list[str]) -> None:
    """Reads a script that is started with arguments, where it lies beside this one."""
    place = next(
        (at for at, word in enumerate(words) if word.endswith(".sh") and word[0] != "-"), None
    )
    if place is None or (place and words[0] not in _STARTERS) or "-c" in words[:place]:
        return
    path = words[place]
    name = path.rpartition("/")[2]
    text = shell.file(path.removeprefix("./")) or shell.file(name)
    if text is None:
        shell.missing.append(name)
        return
    outer = shell.variables, shell.arguments, shell.exact
    shell.variables = Layer(shell.variables)
    _take_options(shell, words[:place])
    lies_at(shell, path if shell.file(path.removeprefix("./")) else name)
    shell.arguments, shell.exact = words[place + 1 :], True
    try:
        if not shell.read_within(text, name):
            shell.missing.append(name)
    finally:
        shell.variables, shell.arguments, shell.exact = outer


def _source(shell: Shell, words: list[str], line: int) -> None:
    """Reads a file that a script takes its variables from, where it lies beside it."""
    if len(words) < 2:
        return
    text, outer = shell.file(words[1]), shell.value("BASH_SOURCE")
    shell.variables["BASH_SOURCE"] = Array([words[1]])
    if text is None or not shell.read_within(text, words[1].rpartition("/")[2]):
        shell.note(line, f"`source {words[1]}`, which does not lie beside it,")
    shell.restore("BASH_SOURCE", outer)


def _eval(shell: Shell, words: list[str], line: int) -> None:
    text = " ".join(words[1:])
    if not set(text) & set("'\""):
        text = _PLACEHOLDER.sub(r"'\g<0>'", text)  # stands for a value, and is no redirection
    try:
        shell.read_within(text, "")
    except InputError:
        shell.commands.append(words)
        shell.places.append(shell.place(line))


def _shift(shell: Shell, words: list[str], line: int) -> None:
    count = int(words[1]) if len(words) > 1 and is_digits(words[1]) else 1
    shell.spend(len(shell.arguments))
    shell.arguments = shell.arguments[min(count, 1 << 20) :]


def _set(shell: Shell, words: list[str], line: int) -> None:
    if "--" in words:
        shell.arguments, shell.exact = words[words.index("--") + 1 :], True


def _unset(shell: Shell, words: list[str], line: int) -> None:
    for name in words[1:]:
        shell.variables.pop(name, None)
        shell.changed.pop(name, None)


def _let(shell: Shell, words: list[str], line: int) -> None:
    for text in words[1:]:
        sum_is(shell, text, line)


def sum_is(shell: Shell, text: str, line: int) -> None:
    """Takes `X = 4`, `X += 1`, `X++` of a sum."""
    match = _SUM.match(text)
    if match is None:
        return
    name, sign, right = match.groups()
    if sign in ("++", "--"):
        right, sign = "1", sign[0]
    value = sum_in(right if sign == "=" else f"{name} {sign[0]} ({right})", shell)
    if value is None:
        shell.forget(name, line)
    else:
        shell.assign(name, str(value), line)


def _read(shell: Shell, words: list[str], piped: str | None, line: int) -> None:
    """`read -d '' NAME <<EOF` takes a document; what else is read is not known."""
    names = [one for at, one in enumerate(words[1:]) if one.isidentifier() and words[at] != "-d"]
    whole = len(names) == 1 and "d" in "".join(one for one in words if one[:1] == "-")
    if words[0] == "read" and whole and piped is not None:
        shell.assign(names[0], piped.strip(), line)
        return
    for name in names:
        shell.forget(name, line)


def _getopts(shell: Shell, words: list[str], line: int) -> None:
    if len(words) > 2 and shell.arguments:
        shell.forget(words[2], line)


def _printf(shell: Shell, words: list[str], line: int) -> None:
    if len(words) > 2 and words[1] == "-v":
        shell.forget(words[2], line)


def _stops(what: str) -> Callable[[Shell, list[str], int], None]:
    def stop(shell: Shell, words: list[str], line: int) -> None:
        shell.stop(what)

    return stop


_OWN: dict[str, Callable[[Shell, list[str], int], None]] = {
    "source": _source, ".": _source, "eval": _eval, "shift": _shift, "set": _set,
    "unset": _unset, "let": _let, "printf": _printf,
    **{name: _stops(name) for name in ("exit", "return", "break", "continue")},
}  # fmt: skip
