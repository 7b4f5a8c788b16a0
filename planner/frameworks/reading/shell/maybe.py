"""What is not known after a part of shell text that may be run or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from frozen_records import dataclass
from planner.base.messages import one_line
from planner.frameworks.reading.shell.states import Array, Layer, Lost, Stop

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell
    from planner.frameworks.reading.shell.steps.nodes import Body, Function

_LONGEST = 60
_QUIET = (
    "echo", "printf", "mkdir", "rm", "cd", "ls", "cat", "sleep", "module", "wget", "curl", "pip",
    "git", "touch", "cp", "mv", "ln", "chmod", "ulimit", "nvidia-smi", "wait", "which", "pwd",
    "conda", "tar", "usage", "tee", "hostname", "date", "trap", "kill", "apt-get", "scontrol",
)  # fmt: skip
"""Commands of which nothing is read."""
_NONE = object()
_MOST_TURNS = 16
Value = str | Array | object | None
_T = TypeVar("_T")
Step = Callable[["Shell"], None]


@dataclass(slots=True)
class Left:
    """What parts leave that may be run or not.

    Attributes:
        changed: Variables that are not known after them.
        added: What they may add to others.
        loud: Whether a command of them is left out that may matter.
    """

    changed: list[str]
    added: list[str]
    loud: bool = False


def after_some(
    shell: Shell,
    line: int,
    what: str,
    parts: Sequence[Body | Step],
    *,
    closed: bool = False,
    unknown: Sequence[str] = (),
) -> None:
    """Goes through parts of which one may be run, and forgets what they leave differently.

    Args:
        shell: Its state before.
        line: Where they begin.
        what: What a note calls them.
        parts: The parts.
        closed: Whether one of them is run for certain.
        unknown: Variables that are not known in them.
    """
    _note(shell, line, what, _gone(shell, line, parts, closed=closed, unknown=unknown))


def unless(shell: Shell, line: int, what: str, part: Body) -> None:
    """Goes through a part that is taken not to be run; what it would change is not known."""
    status, taken = shell.status, shell.taken
    left = _gone(shell, line, [part], closed=False, unknown=())
    left.loud = False
    _note(shell, line, what, left)
    shell.says(status, taken=taken)


def joined(shell: Shell, line: int, what: str, without: Shell) -> None:
    """Forgets what is left differently from a state in which a part was not run."""
    _note(shell, line, what, join(shell, line, [without], closed=False))


def after_turns(shell: Shell, line: int, what: str, part: Step, unknown: Sequence[str]) -> None:
    """Goes through a part that may be run any number of times."""
    shell.says(0)
    left = Left([], [])
    for _ in range(_MOST_TURNS):
        before = shell.revision
        found = _gone(shell, line, [part], closed=False, unknown=unknown)
        left.changed += [one for one in found.changed if one not in left.changed]
        left.added += [one for one in found.added if one not in left.added]
        left.loud |= found.loud
        if shell.revision == before:
            break
    else:
        shell.forget_all(line)
    _note(shell, line, what, left)


def _gone(
    shell: Shell, line: int, parts: Sequence[Body | Step], *, closed: bool, unknown: Sequence[str]
) -> Left:
    """Goes through parts, and joins the states that they leave."""
    forks = [shell.fork(unknown) for _ in parts]
    reached: list[Shell] = []
    ended: list[tuple[Stop, Shell]] = []
    for fork, part in zip(forks, parts, strict=True):
        try:
            part(fork) if callable(part) else fork.body(part)
            reached.append(fork)
        except Stop as stop:
            if stop.what != "exit" or shell.inside:
                ended.append((stop, fork))
        shell.left_out += len(fork.commands) + fork.left_out
        shell.pending += fork.pending
    loud = any(words[0] not in _QUIET for fork in forks for words in fork.commands)
    if closed and not reached:
        return _all_ended(shell, ended)
    _statuses(shell, reached, closed=closed)
    if ended or any(fork.pending for fork in forks):
        shell.layers()  # what they began with stays as it is
        shell.pending += ended
    left = join(shell, line, reached, closed=closed, unknown=unknown)
    left.loud = loud
    return left


def _all_ended(shell: Shell, ended: list[tuple[Stop, Shell]]) -> Left:
    """Ends as one of them does, of which one was run; the others are joined where that leads."""
    if not ended:
        raise Stop("exit")
    stop, fork = ended[0]
    shell.layers()
    shell.pending += ended[1:]
    _adopt(shell, fork)
    raise stop


def _statuses(shell: Shell, reached: Sequence[Shell], *, closed: bool) -> None:
    found = {(one.status, one.taken) for one in (*reached, *(() if closed else (shell,)))}
    shell.status, shell.taken = found.pop() if len(found) == 1 else (None, False)


def _adopt(shell: Shell, fork: Shell) -> None:
    """Takes what a part leaves, where nothing else can have been run."""
    for name in _names([fork], shell):
        shell.restore(name, fork.variables.get(name), fork.changed.get(name))
    for name in [*fork.functions.apart(shell.functions)]:
        _put(shell.functions, name, fork.functions.get(name))
    for name in [*fork.files.apart(shell.files)]:
        shell.put_file(name, fork.files.get(name, Lost("")))
    for of in ("exported", "unsettled", "supposed"):
        own, to = getattr(fork, of), getattr(shell, of)
        to.update({name: own[name] for name in [*own.apart(to)] if name in own})
    shell.restore_arguments((fork.arguments, fork.exact, fork.open_ended))
    shell.status, shell.taken, shell.revision = fork.status, fork.taken, fork.revision


def doubt(shell: Shell, parts: Sequence[Body | Step]) -> None:
    """Says that what parts would set rests on what is not given, which is why none is run."""
    for part in parts:
        fork = shell.fork(())
        with suppress(Stop):
            part(fork) if callable(part) else fork.body(part)
        found = (*_names([fork], shell), *fork.supposed.apart(shell.supposed))
        shell.supposed.update(dict.fromkeys(found, ""))


def apart(shell: Shell, line: int, part: Callable[[], object], *, alone: bool = False) -> None:
    """Goes through what a shell of its own runs: of it files and the status stay.

    Args:
        shell: The state.
        line: Where it begins.
        part: Goes through it.
        alone: Whether it gets what is exported alone.
    """
    base = shell.layers()
    given = shell.arguments, shell.exact, shell.open_ended
    outer, shell.local = shell.local, [Layer(one) for one in shell.local]
    shell.variables.pop("-trap EXIT", None)
    if alone:
        shell.alone()
    loops, shell.loops = shell.loops, 0
    inside, shell.inside = shell.inside, 0 if alone else shell.inside + 1
    try:
        contain(shell, line, part, lambda stop: True)
        at_end(shell)
    finally:
        shell.inside, shell.loops = inside, loops
        shell.local = outer
        shell.restore_arguments(given)
        shell.back(base, files=False)


def at_end(shell: Shell) -> None:
    """Goes through the command of `trap ... EXIT`."""
    text = shell.variables.pop("-trap EXIT", "")
    if isinstance(text, str) and text:
        status, taken = shell.status, shell.taken
        contain(shell, 0, lambda: shell.read_within(text, ""), lambda stop: True)
        shell.says(status, taken=taken)


def contain(
    shell: Shell, line: int, step: Callable[[], object], ends: Callable[[Stop], bool],
    passed: Callable[[Stop], Stop] | None = None,
) -> bool:  # fmt: skip
    """Goes through what some ends do not leave; whether one of them did end it.

    Args:
        shell: The state.
        line: Where it begins.
        step: Goes through it.
        ends: Whether it keeps an end from what is around it.
        passed: What becomes of the others.
    """
    outer, shell.pending = shell.pending, []
    base = shell.now()
    stopped: Stop | None = None
    caught = False
    try:
        step()
    except Stop as stop:
        stopped = None if (caught := ends(stop)) else stop
    mine = [fork for stop, fork in shell.pending if ends(stop)]
    others = [
        (passed(stop) if passed else stop, fork) for stop, fork in shell.pending if not ends(stop)
    ]
    shell.pending = outer + others
    if stopped is not None:
        if not mine:
            raise passed(stopped) if passed else stopped
        _adopt_later(shell, mine.pop(0))
    if mine:
        _statuses(shell, mine, closed=False)
        join(shell, line, mine, closed=False)
    if not others:
        shell.keep(base)
    return caught


def _adopt_later(shell: Shell, fork: Shell) -> None:
    """Goes on with a state from before, where the rest has ended the script."""
    shell.variables, shell.changed = fork.variables, fork.changed
    shell.functions, shell.files = fork.functions, fork.files
    shell.exported, shell.supposed = fork.exported, fork.supposed
    shell.unsettled, shell.status, shell.taken = fork.unsettled, fork.status, fork.taken


def join(
    shell: Shell,
    line: int,
    reached: Sequence[Shell],
    *,
    closed: bool,
    unknown: Sequence[str] = (),
) -> Left:
    """Forgets what states leave differently; without `closed` that of the shell is one of them."""
    left = Left([], [])
    for name, values in _left(reached, shell).items():
        if not closed or len(values) < len(reached):
            values.append(_value(shell, name))
        if name in unknown:
            shell.forget(name, line)
        elif any(one is _NONE or one != values[0] for one in values):
            _differs(shell, line, name, values, left)
        elif isinstance(values[0], str | Array):
            shell.assign(name, values[0], line)
        elif shell.variables.get(name) is not None:
            shell.restore(name, None)
            shell.revision += 1
    _join_rest(shell, line, reached, closed=closed)
    return left


def _join_rest(shell: Shell, line: int, reached: Sequence[Shell], *, closed: bool) -> None:
    """Joins files, functions and arguments."""
    everything = (*reached, *(() if closed else (shell,)))
    place = shell.place(line)
    for name in dict.fromkeys(name for one in reached for name in one.files.apart(shell.files)):
        texts = [one.files.get(name) for one in everything]
        same = all(text == texts[0] for text in texts)
        shell.put_file(name, texts[0] if same and texts[0] is not None else Lost(place))
    _join_functions(shell, reached, everything)
    _join_arguments(shell, everything)
    _join_locals(shell, reached, place, closed=closed)
    for of in ("exported", "unsettled", "supposed"):
        to = getattr(shell, of)
        to.update({name: "" for one in reached for name in [*getattr(one, of).apart(to)]})


def _left(reached: Sequence[Shell], shell: Shell) -> dict[str, list[Value]]:
    """What some of them leave differently, by variable; the others leave it as it is."""
    found: dict[str, list[Value]] = {}
    for one in reached:
        for name in _names([one], shell):
            found.setdefault(name, []).append(_value(one, name))
    return found


def _names(states: Iterable[Shell], shell: Shell) -> Iterable[str]:
    """Variables that states may leave differently."""
    return dict.fromkeys(
        name
        for one in states
        for name in (*one.variables.apart(shell.variables), *one.changed.apart(shell.changed))
    )


def _put(layer: Layer[_T], name: str, value: _T | None) -> None:
    if value is None:
        layer.pop(name, None)
    else:
        layer[name] = value


def _join_functions(shell: Shell, reached: Sequence[Shell], everything: Sequence[Shell]) -> None:
    """Keeps all functions that a name may stand for."""
    for name in dict.fromkeys(
        name for one in reached for name in one.functions.apart(shell.functions)
    ):
        found: dict[int, Function | Lost | None] = {}
        for one in everything:
            found.update((id(own), own) for own in one.functions.get(name, (None,)))
        shell.revision += len(found) != len(shell.functions.get(name, (None,)))
        _put(shell.functions, name, None if [*found] == [id(None)] else tuple(found.values()))


def _join_arguments(shell: Shell, everything: Sequence[Shell]) -> None:
    """Keeps the arguments that all have."""
    first = everything[0] if everything else shell
    if all(one.arguments is first.arguments and one.open_ended == first.open_ended
           for one in everything):  # fmt: skip
        shell.restore_arguments((first.arguments, first.exact, first.open_ended))
        return
    same = [*first.arguments]
    for one in everything:
        pairs = zip(same, one.arguments, strict=False)
        same = same[: next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), None)]
        same = same[: len(one.arguments)]
    alike = all(len(one.arguments) == len(same) and not one.open_ended for one in everything)
    shell.revision += len(same) != len(shell.arguments) or shell.open_ended is alike
    shell.restore_arguments((same, first.exact or not alike, not alike))


def _join_locals(shell: Shell, reached: Sequence[Shell], place: str, *, closed: bool) -> None:
    """Keeps what was before variables that parts make local."""
    for at, frame in enumerate(shell.local):
        for one in reached:
            for name in one.local[at]:
                if name not in frame:
                    same = closed and all(name in other.local[at] for other in reached)
                    frame[name] = one.local[at][name] if same else (None, place)


def _differs(shell: Shell, line: int, name: str, values: list[Value], left: Left) -> None:
    """Forgets a variable, unless some only add to it."""
    more = _more(values, shell.variables.get(name))
    if more:
        left.added.append(f"{more} to {name}")
    elif more is None and _value(shell, name) is not _NONE:
        shell.forget(name, line)
        left.changed.append(name)


def _note(shell: Shell, line: int, what: str, left: Left) -> None:
    changed = [one for one in left.changed if one[:1] != "-"]
    changed = ["all variables"] if "*" in changed else changed
    if not (left.loud or changed or left.added):
        return
    shell.note(line, what)
    if changed:
        verb = "is" if len(changed) == 1 and changed != ["all variables"] else "are"
        shell.notes[-1] += f"; {', '.join(changed)} {verb} not known after it"
    if left.added:
        shell.notes[-1] += f"; it may add {' and '.join(left.added)}"


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
