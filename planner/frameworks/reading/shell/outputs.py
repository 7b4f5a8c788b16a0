"""What `$(...)` of shell text prints, where the text or a file beside it says so.

Its commands are gone through in a state of their own. What names the folder of a script
(`dirname "$0"`, `cd FOLDER && pwd`) is known: the folder where it is run is taken to be its own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.frameworks.reading.shell.blocks import blocks
from planner.frameworks.reading.shell.expansion.brackets import DEEPEST_NESTING, too_deep
from planner.frameworks.reading.shell.expansion.silence import OUT
from planner.frameworks.reading.shell.maybe import contain
from planner.frameworks.reading.shell.steps.nodes import Body, Simple
from planner.frameworks.reading.shell.values import is_known
from planner.frameworks.reading.shell.words import Lexer, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_DEEPEST = 4  # outputs within outputs
_LONGEST = 1 << 16


def output_of(shell: Shell, command: str, depth: int) -> str | None:
    """What commands print, without the ends of the last lines; None: that is not known.

    Raises:
        InputError: Outputs stand within outputs deeper than in any script.
    """
    if shell.outputs >= DEEPEST_NESTING:
        raise too_deep(shell.name, "$(")
    if max(depth, shell.outputs) > _DEEPEST or len(command) > _LONGEST:
        return None
    if command.startswith("<"):
        text = shell.file(shell.text(Lexer(command[1:].strip(), shell.name, whole=True).word()))
        return None if text is None else text.rstrip("\n")
    try:
        body = blocks(Lexer(command, shell.name).statements(), shell.name)
    except InputError:
        return None
    return _printed(shell, body)


def _printed(shell: Shell, body: Body) -> str | None:
    inner = shell.fork(())
    inner.variables[OUT] = ""
    inner.outputs += 1
    inner.inside += 1
    contain(inner, shell.line, partial(inner.body, body), lambda stop: True)
    for name in [*inner.files.apart(shell.files)]:
        if name in inner.files:
            shell.put_file(name, inner.files[name])
    text = inner.variables.get(OUT)
    if not text and inner.status:
        return None  # it failed
    if not isinstance(text, str) or (_is_echo(body) and not is_known(text)):
        return None  # how many words `echo` prints depends on where they go
    return text.rstrip("\n")


def _is_echo(body: Body) -> bool:
    only = body[0] if len(body) == 1 else None
    words = only.statement.words if isinstance(only, Simple) else []
    return bool(words) and bare(words[0]) == "echo"
