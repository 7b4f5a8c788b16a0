"""Lists, pipelines, brackets, `if` and `case` of shell text: what is gone through, and its status.

A status is what `$?` would be. Of commands that are run outside it is not known; in lists they are
taken to succeed, in conditions they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.conditions import fits
from planner.frameworks.reading.shell.expansion.pieces import Piece, together
from planner.frameworks.reading.shell.expansion.silence import heard, silenced
from planner.frameworks.reading.shell.loops import loop
from planner.frameworks.reading.shell.maybe import after_some, apart, doubt, joined, unless
from planner.frameworks.reading.shell.simple_commands import run_simple
from planner.frameworks.reading.shell.states import Stop
from planner.frameworks.reading.shell.steps.files import redirect_block
from planner.frameworks.reading.shell.steps.nodes import (
    Background,
    Body,
    Case,
    Chain,
    Function,
    Group,
    If,
    Loop,
    Node,
    Pipeline,
    Redirected,
    Simple,
    Subshell,
)
from planner.frameworks.reading.shell.values import is_known, pieces
from planner.frameworks.reading.shell.words import Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_TESTED = "what a test that is not known from the text starts"
_CHOOSES = "an `if` whose condition is not known from the text"
_CHECK = "the script ends here with an error; it is read as if it passed its test"
_FAILS = "what is run only if a command succeeds or fails"
_CASE = "`case` and what it repeats or chooses"


def go(shell: Shell, nodes: Body) -> None:
    """Goes through parts one after another."""
    for node in nodes:
        shell.piped = None
        step(shell, node)


def step(shell: Shell, node: Node) -> None:
    """Goes through one part."""
    shell.spend(steps=1)
    if isinstance(node, Simple):
        run_simple(shell, node)
        fails(shell)
    elif isinstance(node, Subshell):
        apart(shell, node.line, partial(go, shell, node.body))
        fails(shell)
    elif isinstance(node, Function):
        shell.functions[node.name] = (node,)
        shell.revision += 1
        shell.says(0)
    elif isinstance(node, Redirected):
        redirect_block(shell, node.files, partial(step, shell, node.inner))
    elif isinstance(node, Background):
        apart(shell, node.line, partial(step, shell, node.inner))
        for name in (node.sets, f"{node.sets}_PID") if node.sets else ():
            shell.forget(name, node.line)
        shell.says(0)
    else:
        _blocks(shell, node)


def _blocks(shell: Shell, node: Node) -> None:
    if isinstance(node, Group):
        go(shell, node.body)
    elif isinstance(node, Chain):
        _chain(shell, node)
    elif isinstance(node, Pipeline):
        _pipeline(shell, node)
    elif isinstance(node, If):
        _if(shell, node)
    elif isinstance(node, Case):
        _case(shell, node)
    elif isinstance(node, Loop):
        loop(shell, node)


def fails(shell: Shell) -> None:
    """Ends the script where `set -e` holds and a command is known to fail."""
    if shell.status and not shell.guarded and "-e" in shell.variables:
        raise Stop("exit")


def _chain(shell: Shell, node: Chain) -> None:
    """`&&` and `||`: a part that may be run leaves what is not known after it."""
    supposed = False
    without: Shell | None = None
    base, before = shell.now(), len(shell.pending)
    for at, (sign, part) in enumerate(node.parts):
        last = at + 1 == len(node.parts)
        taken = shell.taken and not shell.asking
        held = True if taken else None if shell.status is None else shell.status == 0
        if sign and taken and without is None:
            without = shell.fork(())
            base, before = shell.layers(), len(shell.pending)
        if sign and held is (sign == "||"):
            if without is not None:
                unless(shell, part.line, _FAILS, (part,))
            elif supposed:
                doubt(shell, [(part,)])
            continue
        supposed |= bool(sign) and taken
        shell.supposing = supposed
        shell.guarded += not last
        try:
            _joined(shell, sign, part, held=held, supposed=supposed)
        finally:
            shell.guarded -= not last
        supposed |= shell.supposing
    if without is not None:
        without.status = None
        status = shell.taken or shell.status == 0
        joined(shell, node.line, _FAILS, without)
        shell.says(None, taken=status)
        if len(shell.pending) == before:
            shell.keep(base)


def _joined(shell: Shell, sign: str, part: Node, *, held: bool | None, supposed: bool) -> None:
    if sign and held is None:
        _perhaps(shell, sign, part)
    elif supposed or (sign and shell.may_exit):
        suppose(shell, partial(step, shell, part), supposed=supposed)
    else:
        step(shell, part)


def _perhaps(shell: Shell, sign: str, part: Node) -> None:
    """Goes through a part of which it is not known whether it is run."""
    shell.status = 0 if sign == "||" else 1
    found: list[int | None] = []

    def run(fork: Shell) -> None:
        step(fork, part)
        found.append(fork.status)

    after_some(shell, part.line, _TESTED, [run])
    shell.taken = False
    if not found and sign == "||":
        shell.status = 0  # the right part ends more than itself


def _pipeline(shell: Shell, node: Pipeline) -> None:
    """Each part has a shell of its own, which the last one shares with `lastpipe`."""
    several = len(node.parts) > 1
    found: list[tuple[int | None, bool]] = []
    shell.guarded += node.negated
    try:
        for at, part in enumerate(node.parts):
            shell.piped = shell.piped if at else None
            shared = "-O lastpipe" in {*shell.variables, *shell.changed}
            if not several:
                step(shell, part)
            elif at + 1 == len(node.parts) and shared:
                after_some(shell, part.line, _TESTED, [(part,)])
            else:
                outer = silenced(shell, silent=at + 1 < len(node.parts))
                apart(shell, part.line, partial(step, shell, part))
                heard(shell, outer)
            if not isinstance(part, Simple | Pipeline):
                shell.piped = None
            found.append((shell.status, shell.taken))
    finally:
        shell.guarded -= node.negated
    shell.piped = None
    shell.status, shell.taken = _of_pipeline(shell, found)
    if node.negated:
        shell.taken = False
        shell.status = None if shell.status is None else int(not shell.status)
    elif several:
        fails(shell)


def _of_pipeline(shell: Shell, found: list[tuple[int | None, bool]]) -> tuple[int | None, bool]:
    """The status of the last part; with `pipefail` that of the last one that fails."""
    if "-o pipefail" in shell.changed and any(status != 0 for status, _ in found):
        return None, all(taken or status == 0 for status, taken in found)
    if "-o pipefail" not in shell.variables:
        return found[-1]
    for status, _ in reversed(found):
        if status is None:
            return None, all(taken or one == 0 for one, taken in found)
        if status:
            return status, False
    return 0, False


def asked(shell: Shell, condition: Body) -> bool | None:
    """Whether a condition holds; None: that is not known."""
    outer, shell.asking = shell.asking, True
    shell.guarded += 1
    shell.supposing = False
    try:
        go(shell, condition)
    finally:
        shell.guarded -= 1
        shell.asking = outer
    return None if shell.status is None else shell.status == 0


def suppose(shell: Shell, part: Callable[[], object], *, supposed: bool) -> None:
    """Goes through what a test chooses, unless that ends the script with an error.

    A launch is taken to pass its own checks, as of what people have to fill in. `supposed`: whether
    the test rests on what is not given, so that the script is not taken to end there at all.
    """
    base = shell.layers()
    given = shell.arguments, shell.exact, shell.open_ended
    before = len(shell.pending)
    try:
        part()
    except Stop as stop:
        if stop.what != "exit" or shell.inside or not (supposed or stop.place):
            raise
        shell.back(base)
        shell.restore_arguments(given)
        del shell.pending[before:]
        if not supposed:
            shell.notes.append(f"{stop.place}: {_CHECK}")
        return
    if supposed:
        shell.supposed.update(dict.fromkeys(shell.variables.own, ""))
    if len(shell.pending) == before:
        shell.keep(base)


def take(shell: Shell, body: Body, *, supposed: bool) -> None:
    """Goes through what a known word or test chooses."""
    if supposed or shell.may_exit:
        suppose(shell, partial(go, shell, body), supposed=supposed)
    else:
        go(shell, body)


def _if(shell: Shell, node: If) -> None:
    supposed = False
    for at, (condition, body) in enumerate(node.arms):
        found = True if condition is None else asked(shell, condition)
        supposed |= shell.supposing
        if found:
            if supposed:
                doubt(shell, [one for _, one in node.arms if one is not body])
            return take(shell, body, supposed=supposed)
        if found is None:
            return _arms(shell, node, at)
    if supposed:
        doubt(shell, [body for _, body in node.arms])
    return shell.says(0)


def _arms(shell: Shell, node: If, at: int) -> None:
    """Arms of which one may be chosen, and the conditions before them."""
    later = tuple(one for condition, _ in node.arms[at + 1 :] for one in condition or ())
    if later:
        shell.guarded += 1
        after_some(shell, node.line, _CHOOSES, [later])
        shell.guarded -= 1
    shell.says(0)
    bodies = [body for _, body in node.arms[at:]]
    closed = node.arms[-1][0] is None
    after_some(shell, node.line, _CHOOSES, bodies, closed=closed)


def _case(shell: Shell, node: Case) -> None:
    shell.supposing = False
    word = together(_tested(shell, node.word, node.line))
    chosen = [_chooses(shell, word, arm, node.line) for arm, _, _ in node.arms]
    supposed = shell.supposing
    shell.says(0)
    if None in chosen[: chosen.index(True) if True in chosen else None] or not is_known(word):
        closed = any(bare(one) == "*" for arm, _, _ in node.arms for one in arm)
        return _any_arm(shell, node, closed=closed)
    if supposed:
        doubt(shell, [body for _, body, _ in node.arms])
    falls = False
    for found, (_, body, end) in zip(chosen, node.arms, strict=True):
        if found is None and not falls:
            return _any_arm(shell, node, closed=False)
        if falls or found:
            take(shell, body, supposed=supposed)
            falls = end == ";&"
            if end == ";;":
                return None
    return None


def _tested(shell: Shell, word: Word, line: int) -> list[Piece]:
    return shell.as_tested(word, line, lambda one: [pieces(one, shell)])[0]


def _chooses(shell: Shell, word: str, patterns: Sequence[Word], line: int) -> bool | None:
    """Whether an arm of a `case` is chosen; None: that is not known."""
    found: bool | None = False
    for pattern in patterns:
        one = fits(word, _tested(shell, pattern, line), shell)
        if one or one is None:
            return one
    return found


def _any_arm(shell: Shell, node: Case, *, closed: bool) -> None:
    """Arms of which one may be chosen, or several where one goes on with the next."""
    if all(end == ";;" for _, _, end in node.arms):
        bodies = [body for _, body, _ in node.arms]
        return after_some(shell, node.line, _CASE, bodies, closed=closed)
    for _, body, _ in node.arms:
        after_some(shell, node.line, _CASE, [body])
    return None
