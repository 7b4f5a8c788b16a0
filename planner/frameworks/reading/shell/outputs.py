"""What a command in shell text prints, where the text or a file beside it says so.

So do the functions of the text, as far as they `echo`, and what names the folder of a script:
`dirname "$0"`, `cd FOLDER && pwd`. The folder where a script is run is taken to be its own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.frameworks.reading.shell.simple_commands import call, without_files
from planner.frameworks.reading.shell.states import Stop
from planner.frameworks.reading.shell.values import is_known, whole_sum
from planner.frameworks.reading.shell.words import DEEPEST_NESTING, Lexer, Statement, bare, too_deep

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_DEEPEST = 4  # outputs within outputs
_LONGEST = 1 << 16
_COMMENTS = re.compile(r"\^?(\\s\*)?#.*")


def output_of(shell: Shell, command: str, depth: int) -> str | None:
    """The output of `cat` (of a document, or of a file that is known), `echo` or `expr`.

    What `xargs`, `tr`, `bc` and `grep -v` of comments do to it is known too. None: of others.

    Raises:
        InputError: Outputs stand within outputs deeper than in any script.
    """
    if shell.outputs >= DEEPEST_NESTING:
        raise too_deep(shell.name, "$(")
    shell.outputs += 1
    try:
        return _known(shell, command, depth)
    finally:
        shell.outputs -= 1


def _known(shell: Shell, command: str, depth: int) -> str | None:
    """The output where it is known."""
    if depth > _DEEPEST or len(command) > _LONGEST:
        return None
    if command.startswith("<"):
        return _trimmed(shell.file(command[1:].strip()))
    try:
        statements = Lexer(command, shell.name).statements()
    except InputError:
        return None
    return _entered(shell, statements) or _piped(shell, statements)


def _piped(shell: Shell, statements: list[Statement]) -> str | None:
    """What the last of some commands prints, each of which takes the output of the one before."""
    known = all(not one.array and one.joint in ("|", "\n") for one in statements)
    text: str | None = None
    for at, statement in enumerate(statements if known else ()):
        words = [one for word in statement.words for one in shell.fields(word)]
        if not words or (words[0] == "echo" and len(statements) == 1):
            return None  # how many words `echo` prints depends on where they go
        if at and statement.joint != "|":
            return None
        text = _through(words, text) if at else _first(shell, words, statement)
    return _trimmed(text)


def _entered(shell: Shell, statements: list[Statement]) -> str | None:
    """The folder of `cd FOLDER && pwd`; None: it is another command, or not known."""
    if len(statements) != 2 or statements[1].joint not in ("&&", "\n", ";"):
        return None
    enters, asks = (without_files(one.words) for one in statements)
    if len(enters) < 2 or bare(enters[0]) != "cd" or not asks or bare(asks[0]) != "pwd":
        return None
    folder = shell.text(enters[-1])
    return posixpath.normpath(folder) if is_known(folder) else None


def _trimmed(text: str | None) -> str | None:
    return None if text is None else text.rstrip("\n")


def _first(shell: Shell, words: list[str], statement: Statement) -> str | None:
    if words[0] == "cat" and statement.document is not None and len(words) == 1:
        return shell.filled(statement.document)
    if words[0] == "cat" and len(words) == 2:
        return shell.file(words[1])
    if words[0] == "grep" and len(words) == 4 and words[1] == "-v":
        held = shell.file(words[3])
        return None if held is None else _through(words[:3], held)
    if words[0] == "echo":
        return " ".join(one for one in words[1:] if one not in ("-n", "-e"))
    return _own(shell, words)


def _own(shell: Shell, words: list[str]) -> str | None:
    """What a function prints, the name of a folder, or a sum."""
    if words[0] in shell.functions:
        return _printed(shell, words)
    if words[0] in _PATHS and is_known(" ".join(words)):
        named = [one for one in words[1:] if one[:1] != "-"]
        return _PATHS[words[0]](named[0] if named else ".")
    value = whole_sum(" ".join(words[1:])) if words[0] == "expr" else None
    return None if value is None else str(value)


_PATHS: dict[str, Callable[[str], str]] = {
    "dirname": lambda path: posixpath.dirname(path) or ".",
    "basename": posixpath.basename,
    "realpath": posixpath.normpath,
    "readlink": posixpath.normpath,
    "pwd": lambda path: ".",
}


def _printed(shell: Shell, words: list[str]) -> str | None:
    """What a function prints; None: it does more than `echo`, or something is left out."""
    inner = shell.fork(())
    try:
        read = call(inner, words[0], words[1:], 0)
    except Stop:
        return None
    if not read or inner.notes or inner.left_out or any(one[0] != "echo" for one in inner.commands):
        return None
    lines = [" ".join(one[1:]) for one in inner.commands]
    return "\n".join(lines) or None


def _through(words: list[str], text: str | None) -> str | None:
    """A text as another command prints it."""
    if text is None:
        return None
    if words == ["xargs"] or (words[0] == "tr" and words[1:] in (["\\n", " "], ["\n", " "])):
        return " ".join(text.split())
    if words[:2] == ["grep", "-v"] and len(words) == 3 and _COMMENTS.fullmatch(words[2]):
        kept = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
        return "\n".join(kept)
    if words == ["bc"] and is_known(text):
        value = whole_sum(text)
        return None if value is None else str(value)
    return None
