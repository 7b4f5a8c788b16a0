"""What is not known after a part of shell text that may be run or not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from planner.base.messages import one_line
from planner.frameworks.reading.shell.simple_commands import Stop
from planner.frameworks.reading.shell.states import Array

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.blocks import Body
    from planner.frameworks.reading.shell.run import Shell

_LONGEST = 60
_QUIET = (
    "echo", "printf", "mkdir", "rm", "cd", "ls", "cat", "sleep", "module", "wget", "curl", "pip",
    "git", "touch", "cp", "mv", "ln", "chmod", "ulimit", "nvidia-smi", "wait", "which", "pwd",
    "conda", "tar", "usage", "tee", "hostname", "date", "trap", "kill", "apt-get", "scontrol",
)  # fmt: skip
"""Commands of which nothing is read."""
_NONE = object()
Value = str | Array | object | None


def after_some(
    shell: Shell,
    line: int,
    what: str,
    bodies: Sequence[Body],
    *,
    closed: bool = False,
    unknown: Sequence[str] = (),
) -> None:
    """Goes through parts of which one may be run, and forgets what they leave differently.

    Args:
        shell: Its state before.
        line: Where they begin.
        what: What a note calls them.
        bodies: The parts.
        closed: Whether one of them is run for certain.
        unknown: Variables that are not known in them.
    """
    forks = [shell.fork(unknown) for _ in bodies]
    for fork, body in zip(forks, bodies, strict=True):
        with suppress(Stop):
            fork.body(body)
    changed: list[str] = []
    added: list[str] = []
    for name, values in _left(forks).items():
        if not closed or len(values) < len(forks):
            values.append(_value(shell, name))
        if name in unknown:
            shell.forget(name, line)
        elif any(one is _NONE or one != values[0] for one in values):
            _differs(shell, line, name, values, changed, added)
        elif values[0] != shell.variables.get(name) and isinstance(values[0], str | Array):
            shell.assign(name, values[0], line)
    for fork in forks:
        for name in fork.functions.own:
            shell.functions.setdefault(name, fork.functions[name])
        for name in fork.files.own:
            shell.files.setdefault(name, fork.files[name])
    _note(shell, line, what, forks, changed, added)


def _differs(
    shell: Shell, line: int, name: str, values: list[Value], changed: list[str], added: list[str]
) -> None:
    """Forgets a variable, unless some only add to it."""
    more = _more(values, shell.variables.get(name))
    if more:
        added.append(f"{more} to {name}")
    elif more is None and _value(shell, name) is not _NONE:
        shell.forget(name, line)
        changed.append(name)


def _left(forks: Sequence[Shell]) -> dict[str, list[Value]]:
    """What some of them leave differently, by variable; the others leave it as it was."""
    found: dict[str, list[Value]] = {}
    for fork in forks:
        for name in dict.fromkeys((*fork.variables.own, *fork.changed.own)):
            found.setdefault(name, []).append(_value(fork, name))
    return found


def _note(
    shell: Shell, line: int, what: str, forks: list[Shell], changed: list[str], added: list[str]
) -> None:
    loud = any(words[0] not in _QUIET for fork in forks for words in fork.commands)
    if not (loud or changed or added):
        return
    shell.note(line, what)
    if changed:
        verb = "is" if len(changed) == 1 else "are"
        shell.notes[-1] += f"; {', '.join(changed)} {verb} not known after it"
    if added:
        shell.notes[-1] += f"; it may add {' and '.join(added)}"


def _value(shell: Shell, name: str) -> Value:
    return _NONE if name in shell.changed else shell.variables.get(name)


def _more(values: Sequence[Value], base: str | Array | None) -> str | None:
    """What some add at the end of a value, where they do no more; None: they do."""
    if not base:
        return None
    found: list[str] = []
    for value in values:
        if isinstance(value, str) and isinstance(base, str) and value.startswith(base):
            found.append(value[len(base) :])
        elif isinstance(value, Array) and isinstance(base, Array) and value.begins_with(base):
            found.append(" ".join(value[len(base) :]))
        else:
            return None
    if isinstance(base, str) and any(one[:1].strip() for one in found):
        return None  # it is another word, not more of them
    words = one_line(" or ".join(dict.fromkeys(one.strip() for one in found if one.strip())))
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
