"""Loops of shell text: gone through as often as the text says, and left out where it does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.blocks import Loop, Simple
from planner.frameworks.reading.shell.conditions import is_endless
from planner.frameworks.reading.shell.maybe import after_some
from planner.frameworks.reading.shell.simple_commands import Stop, sum_is
from planner.frameworks.reading.shell.values import is_known, sum_in
from planner.frameworks.reading.shell.words import Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_TURNS = 256  # of a loop whose test or words are known
_OTHERS = re.compile(r"[*?]|\[[^\]]|\{[^{}]*(,|\.\.)")
"""Words that become names of files, or others."""


def loop(shell: Shell, node: Loop) -> None:
    """Goes through a loop."""
    words = _words(node)
    if node.word not in ("for", "select"):
        _while(shell, node, lambda: shell.asked(node.head))
    elif len(words) > 2 and bare(words[1]) == "((":
        _counted(shell, node, words[2][0].text.split(";"))
    else:
        _each(shell, node, words)


def _words(node: Loop) -> list[Word]:
    """Of `for`: itself, the variable, `in`, and what it goes through."""
    return node.head[0].statement.words if node.head and isinstance(node.head[0], Simple) else []


def _each(shell: Shell, node: Loop, words: list[Word]) -> None:
    """`for X in WORDS`; without words it goes through the arguments."""
    quoted = {text for word in words[3:] if word[0].quoted for text in shell.fields(word)}
    listed = [text for word in words[3:] for text in shell.fields(word)]
    listed = listed if len(words) > 2 else list(shell.arguments)
    name = bare(words[1]) if len(words) > 1 else ""
    known = all(is_known(one) and (one in quoted or not _OTHERS.search(one)) for one in listed)
    if not known or node.word == "select" or not name.isidentifier() or len(listed) > _TURNS:
        return after_some(shell, node.line, _left_out(node), [node.body], unknown=(name,))
    for value in listed:
        shell.assign(name, value, node.line)
        if _ends(shell, node):
            return None
    return None


def _counted(shell: Shell, node: Loop, parts: list[str]) -> None:
    """`for ((A; B; C))`."""
    if len(parts) != 3:
        return after_some(shell, node.line, _left_out(node), [node.body])
    first, test, step = parts
    sum_is(shell, first, node.line)

    def asked() -> bool | None:
        value = sum_in(test, shell)
        return None if value is None else value != 0

    return _while(shell, node, asked, lambda: sum_is(shell, step, node.line))


def _while(
    shell: Shell,
    node: Loop,
    asked: Callable[[], bool | None],
    step: Callable[[], None] | None = None,
) -> None:
    """Goes on as long as a known test holds."""
    for _ in range(_TURNS):
        found = asked()
        if found is None:
            break
        if found is (node.word == "until") or _ends(shell, node):
            return None
        if step is not None:
            step()
        elif is_endless(node.head):  # starts again what ended: the first time counts
            return None
    return after_some(shell, node.line, _left_out(node), [node.body])


def _ends(shell: Shell, node: Loop) -> bool:
    """Goes through what a loop repeats once; whether that ends it."""
    try:
        shell.take(node.body)
    except Stop as stop:
        if stop.what not in ("break", "continue"):
            raise
        return stop.what == "break"
    return False


def _left_out(node: Loop) -> str:
    return f"`{node.word}` and what it repeats or chooses"
