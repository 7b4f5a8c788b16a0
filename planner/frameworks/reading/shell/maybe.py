"""What is not known after a part of shell text that may be run or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.base.messages import one_line
from planner.frameworks.reading.shell.simple_commands import Stop

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
Value = str | list[str] | object | None


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
        try:
            fork.body(body)
        except Stop:
            continue
    ends = forks if closed else [*forks, shell]
    changed: list[str] = []
    added: list[str] = []
    for name in dict.fromkeys(one for fork in forks for one in (*fork.variables, *fork.changed)):
        values = [_value(end, name) for end in ends]
        base = shell.variables.get(name)
        if name in unknown or any(one is _NONE or one != values[0] for one in values):
            more = None if name in unknown else _more(values, base)
            if more is None and (name in unknown or _value(shell, name) is not _NONE):
                shell.forget(name, line)
                changed += [] if name in unknown else [name]
            elif more:
                added.append(f"{more} to {name}")
        elif values[0] != base and isinstance(values[0], str | list):
            shell.assign(name, values[0], line)
    for fork in forks:
        shell.functions = {**fork.functions, **shell.functions}
        shell.files = {**fork.files, **shell.files}
        shell.called |= fork.called
    _note(shell, line, what, forks, changed, added)


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


def _more(values: Sequence[Value], base: str | list[str] | None) -> str | None:
    """What some add at the end of a value, where they do no more; None: they do."""
    if not base:
        return None
    found: list[str] = []
    for value in values:
        if isinstance(value, str) and isinstance(base, str) and value.startswith(base):
            found.append(value[len(base) :])
        elif isinstance(value, list) and isinstance(base, list) and value[: len(base)] == base:
            found.append(" ".join(value[len(base) :]))
        else:
            return None
    if isinstance(base, str) and any(one[:1].strip() for one in found):
        return None  # it is another word, not more of them
    words = one_line(" or ".join(dict.fromkeys(one.strip() for one in found if one.strip())))
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
