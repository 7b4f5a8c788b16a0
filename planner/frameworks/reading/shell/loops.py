"""Loops of shell text: gone through as often as the text says, and left out where it does not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.conditions import is_endless
from planner.frameworks.reading.shell.maybe import after_turns, contain, doubt
from planner.frameworks.reading.shell.states import Stop
from planner.frameworks.reading.shell.steps.nodes import Loop, Simple
from planner.frameworks.reading.shell.values import is_known, sum_in
from planner.frameworks.reading.shell.words import Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_TURNS = 256  # of a loop whose test or words are known


def loop(shell: Shell, node: Loop) -> None:
    """Goes through a loop."""
    shell.loops += 1
    try:
        contain(
            shell, node.line, partial(_loop, shell, node), lambda stop: _ends(stop, "break"), _outer
        )
    finally:
        shell.loops -= 1


def _outer(stop: Stop) -> Stop:
    """What an end means to the loop around this one."""
    within = stop.what in ("break", "continue")
    return Stop(stop.what, stop.levels - 1) if within else stop


def _ends(stop: Stop, what: str) -> bool:
    return stop.what == what and stop.levels == 1


def _loop(shell: Shell, node: Loop) -> None:
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
    shell.supposing = False
    listed = [text for word in words[3:] for text in shell.fields(word)]
    listed = listed if len(words) > 2 else list(shell.arguments)
    name = bare(words[1]) if len(words) > 1 else ""
    shell.supposing |= len(words) <= 2 and not shell.exact
    known = all(map(is_known, listed))
    known &= len(words) > 2 or not shell.open_ended
    if not known or node.word == "select" or not name.isidentifier() or len(listed) > _TURNS:
        names = (name, "REPLY") if node.word == "select" else (name,)
        return _left_out(shell, node, names)
    shell.says(0)
    if not listed and shell.supposing:
        doubt(shell, [node.body])
    for value in listed:
        shell.supposing = False
        shell.assign(name, value, node.line)
        _turn(shell, node)
    return None


def _counted(shell: Shell, node: Loop, parts: list[str]) -> None:
    """`for ((A; B; C))`."""
    if len(parts) != 3:
        return _left_out(shell, node)
    first, test, step = parts
    shell.line = node.line
    if sum_in(first, shell) is None:
        return _left_out(shell, node)

    def asked() -> bool | None:
        value = sum_in(test, shell) if test.strip() else 1
        return None if value is None else value != 0

    return _while(shell, node, asked, lambda: sum_in(step, shell))


def _while(
    shell: Shell,
    node: Loop,
    asked: Callable[[], bool | None],
    step: Callable[[], object] | None = None,
) -> None:
    """Goes on as long as a known test holds; what starts again and again counts once."""
    status: int | None = 0
    for _ in range(_TURNS):
        before, found = shell.revision, asked()
        if found is None:
            break
        if found is (node.word == "until"):
            if shell.supposing:
                doubt(shell, [node.body])
            return shell.says(status)
        _turn(shell, node)
        status = shell.status
        if step is not None:
            step()
        elif is_endless(node.head) and shell.revision == before:
            return None
    return _left_out(shell, node)


def _turn(shell: Shell, node: Loop) -> None:
    """Goes through what a loop repeats once."""
    contain(shell, node.line, lambda: shell.body(node.body), lambda stop: _ends(stop, "continue"))


def _left_out(shell: Shell, node: Loop, unknown: tuple[str, ...] = ()) -> None:
    """Goes through what is repeated as often as one likes."""
    words = _words(node)
    counts = len(words) > 2 and bare(words[1]) == "(("

    def part(fork: Shell) -> None:
        contain(fork, node.line, lambda: _turn(fork, node), lambda stop: _ends(stop, "break"))
        if node.word in ("while", "until"):
            fork.asked(node.head)
        for text in words[2][0].text.split(";")[1:] if counts else ():
            sum_in(text, fork)

    what = f"`{node.word}` and what it repeats or chooses"
    after_turns(shell, node.line, what, part, unknown)
