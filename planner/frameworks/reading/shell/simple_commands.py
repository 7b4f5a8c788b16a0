"""Simple commands of shell text: assignments, functions, and other scripts that are started."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.assignments import (
    declare,
    is_assignment,
    makes_local,
    set_all,
    set_array,
)
from planner.frameworks.reading.shell.conditions import holds, is_test
from planner.frameworks.reading.shell.expansion.printing import emit, own_prints
from planner.frameworks.reading.shell.expansion.silence import heard, silenced
from planner.frameworks.reading.shell.maybe import after_some, apart, contain
from planner.frameworks.reading.shell.slurm import slurm_variables
from planner.frameworks.reading.shell.states import Array, Layer, Lost, Stop
from planner.frameworks.reading.shell.steps.builtins import DECLARING, OPTIONS, OWN
from planner.frameworks.reading.shell.steps.files import (
    Command,
    Redirections,
    changes,
    input_of,
    parted,
    write,
)
from planner.frameworks.reading.shell.steps.nodes import Function, Simple
from planner.frameworks.reading.shell.values import expanded, is_known
from planner.frameworks.reading.shell.words import Statement, Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

GIVEN = re.compile(r"([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
"""A variable of the environment among the arguments of a script."""
_EVERY = re.compile(r"\"\$@\"|\$@|\$\*")
_NAMED = re.compile(r"([A-Za-z_]\w*)(?:=|$)")
DEEPEST = 8  # files and functions within one another
_SHELLS = ("bash", "sh", "zsh")
_STARTERS = (*_SHELLS, "srun", "sbatch", "salloc", "mpirun", "mpiexec", "sudo", "stdbuf", "env")
_ASKING = (
    "grep", "which", "nvidia-smi", "rocm-smi", "diff", "cmp", "pgrep", "ping", "nc", "lspci",
    "mountpoint", "getent", "id",
)  # fmt: skip
"""Commands that are run to learn whether they succeed; others are taken to."""
_OUTSIDE = ("env", "nohup")
_WHICH = "a function of which it is not known which one it is"


def run_simple(shell: Shell, node: Simple) -> None:
    """Takes assignments, and keeps a command with its words filled in."""
    statement = node.statement
    piped, shell.piped = shell.piped, None
    shell.supposing = False
    shell.line = statement.line
    if statement.array:
        set_array(shell, statement)
        return shell.says(0)
    files = Redirections.of(shell, statement.words)
    words = files.words
    first = bare(words[0]) if words else ""
    if is_test(words):
        return _test(shell, words, statement.line)
    piped = input_of(shell, statement, files, piped)
    if first in DECLARING and first not in shell.functions:
        return _declare(shell, words, node)
    outside = first in ("exec", *_OUTSIDE) and first not in shell.functions
    while words and outside and bare(words[0]) in ("exec", *_OUTSIDE):
        words.pop(0)
    alone = [] if words else [first]
    _command(shell, words, statement, Command(alone, node.line, files, piped, outside=outside))
    if first == "exec" and outside and words:
        raise Stop("exit")
    return None


def _test(shell: Shell, words: list[Word], line: int) -> None:
    found = holds(words, shell, line)
    shell.says(None if found is None else int(not found))


def _declare(shell: Shell, words: list[Word], node: Simple) -> None:
    """Takes a declaration with the arrays in it, and what scripts get of it."""
    line, is_local = node.line, makes_local(words)
    if bare(words[0]) == "local" and not shell.local:
        return shell.says(1)
    if bare(words[0]) == "local" and any(bare(word) == "-" for word in words[1:]):
        for name in OPTIONS:
            shell.make_local(name)
    if not is_local and bare(words[0]) in ("declare", "typeset"):
        _global(shell, words, line)
    declare(shell, words, line, node.arrays)
    for statement in node.arrays:
        set_array(shell, statement)
    flags = "".join(bare(word) for word in words[1:] if bare(word)[:1] == "-")
    if bare(words[0]) == "export" or "x" in flags:
        named = [word[0].text for word in words[1:] if is_assignment(word)]
        others = [word for word in words[1:] if not is_assignment(word)]
        texts = [*named, *(text for word in others for text in shell.fields(word))]
        for match in filter(None, map(_NAMED.match, texts)):
            if "n" in flags:
                shell.exported.pop(match[1], None)
            else:
                shell.exported[match[1]] = ""
    return shell.says(0)


def _global(shell: Shell, words: list[Word], line: int) -> None:
    """`declare -g` sets what is below the variables of functions."""
    for match in filter(None, (_NAMED.match(word[0].text) for word in words[1:])):
        frames = [one for one in shell.local if match[1] in one]
        for frame in frames[:1]:
            frame[match[1]] = (None, shell.place(line))
        if frames:
            shell.forget(match[1], line)
            shell.unsettled[match[1]] = ""


def _command(shell: Shell, words: list[Word], statement: Statement, command: Command) -> None:
    """A command with the assignments before it, which end with it; its words are filled in first.

    Without a command they stay.
    """
    count = next((at for at, word in enumerate(words) if not is_assignment(word)), len(words))
    own: list[str] = []
    ends = None
    for word in words[count:]:
        texts = shell.fields(word)
        ends = len(own) if ends is None and _is_open(word, texts) else ends
        own += texts
    set_before = words[:count]
    resting = shell.supposing
    before = set_all(shell, set_before, statement.line)
    if not own:
        unclear = any("$(" in part.text or "`" in part.text for word in words for part in word)
        write(shell, command)
        return shell.says(None if unclear else 0)
    shell.exported.update(dict.fromkeys(before, ""))
    shell.supposing = resting
    shell.says(None, taken=True)
    document = statement.document is not None
    try:
        started(shell, replace(command, words=own, ends=ends, document=document))
    finally:
        for name, (value, place) in before.items():
            shell.restore(name, value, place)
    return None


def _is_open(word: Word, texts: list[str]) -> bool:
    """Whether a word may become any number of words."""
    loose = any(not part.quoted and part.expands and not is_known(part.text) for part in word)
    listed = any("@" in part.text and part.expands for part in word)
    return (loose or listed) and not all(map(is_known, texts))


def started(shell: Shell, command: Command) -> None:
    """Takes a command whose words are filled in."""
    words, first = command.words, command.words[0]
    if first in ("command", "builtin") and words[1:2] and words[1][:1] != "-":
        ends = None if command.ends is None else command.ends - 1
        outside = words[1] not in OWN
        return started(shell, replace(command, words=words[1:], ends=ends, outside=outside))
    if first == "xargs" and command.given is not None and len(words) > 1:
        words = [*words[1:], *command.given.split()]
    command = replace(command, words=_with_arguments(shell, words))
    if first in shell.functions and not command.outside:
        for_files(shell, command)
        outer = silenced(shell, silent=command.files.goes_away)
        if not call(shell, first, words[1:], command.line, ends=command.ends):
            shell.note(command.line, f"`{first}`, which is too deep within other functions,")
            shell.forget_all(command.line)
        heard(shell, outer)
    elif (own := OWN.get(first)) and not command.outside:
        write(shell, command)
        own(shell, command)
        own_prints(shell, command)
    elif command.document and _is_shell(command.words):
        _take_options(shell, command.words)
        part = partial(shell.read_within, command.given or "", "a document")
        apart(shell, command.line, part, alone=True)
    else:
        _other(shell, command)
    return None


def for_files(shell: Shell, command: Command) -> None:
    """Of a function it is not known what it prints to files."""
    write(shell, command)
    shell.piped = None


def _other(shell: Shell, command: Command) -> None:
    """A command from outside, or one that prints."""
    words = command.words
    write(shell, command)
    emit(shell, command)
    if words[0] == "echo" and command.files.is_message:
        return shell.says(0)
    shell.keep_command(words, command.line)
    if not _start(shell, words):
        changes(shell, words, command.line)
    if words[0] == "echo":
        return shell.says(0)
    return shell.says(None, taken=words[0] not in _ASKING)


def _with_arguments(shell: Shell, words: list[str]) -> list[str]:
    """A command with the text of its `bash -c` filled in, its own arguments too."""
    if "-c" not in words[:-1] or not any(one in _SHELLS for one in words):
        return words
    at = words.index("-c") + 1
    text, given = words[at], words[at + 2 :]  # the word between them is its $0
    if given:
        text = _EVERY.sub(lambda _: shlex.join(given), text)
    return [*words[:at], expanded(text, shell), *(() if given else words[at + 1 :])]


def begins(shell: Shell, *, knows_place: bool) -> None:
    """Takes what is given to a script: its environment, as in `NODES=8 bash run.sh`, and its place.

    Args:
        shell: The state, with the words behind the script's name as its arguments.
        knows_place: Whether it lies in a folder.
    """
    while shell.arguments and (match := GIVEN.fullmatch(shell.arguments[0])):
        shell.variables[match[1]] = match[2]
        shell.exported[match[1]] = ""
        shell.arguments = shell.arguments[1:]
    if knows_place:
        lies_at(shell, shell.name.rpartition("/")[2])


def lies_at(shell: Shell, path: str) -> None:
    """Says where a script lies, from the folder of the first one, where it is taken to be run."""
    place = path if path.startswith(("./", "../")) else f"./{path}"
    shell.variables.update({"0": place, "BASH_SOURCE": Array([place])})
    for name in ("PWD", "SLURM_SUBMIT_DIR"):
        shell.exported[name] = ""
        if name not in shell.changed:
            shell.variables.setdefault(name, ".")


def call(
    shell: Shell, name: str, arguments: list[str], line: int, *, exact: bool = True,
    ends: int | None = None,
) -> bool:  # fmt: skip
    """Goes through a function; False: it is too deep within others.

    Args:
        shell: The state.
        name: Of the function.
        arguments: That it is called with.
        line: Where it is called; 0: nowhere.
        exact: Whether it has no further arguments.
        ends: The word of the command from which on they are not known; None: all are.
    """
    shell.called.add(name)
    if shell.depth >= DEEPEST:
        return False
    shell.spend(steps=1)
    given = (arguments if ends is None else arguments[: max(ends - 1, 0)], exact, ends is not None)
    parts = [partial(_call, function=one, given=given, line=line) for one in shell.functions[name]]
    if len(parts) == 1:
        parts[0](shell)
    else:
        after_some(shell, line, _WHICH, parts, closed=True)
    return True


def _call(
    shell: Shell,
    *,
    function: Function | Lost | None,
    given: tuple[list[str], bool, bool],
    line: int,
) -> None:
    """Goes through one of the functions that a name may stand for; None: it is none."""
    if function is None:
        return shell.says(None, taken=True)
    if isinstance(function, Lost):
        return shell.forget_all(line)
    outer = shell.called_at, shell.guarded, shell.loops, shell.asking
    before = shell.arguments, shell.exact, shell.open_ended
    shell.called_at = shell.called_at or (shell.place(line) if line else "")
    shell.restore_arguments(given)
    shell.loops, shell.asking = 0, False
    shell.local.append(Layer())
    shell.depth, shell.within = shell.depth + 1, shell.within + 1

    def part() -> None:
        shell.says(0)
        shell.body(function.body)

    try:
        contain(shell, line, part, lambda stop: stop.what == "return")
    finally:
        shell.depth, shell.within = shell.depth - 1, shell.within - 1
        for local, (value, place) in shell.local.pop().items():
            shell.restore(local, value, place)
        shell.restore_arguments(before)
        shell.called_at, shell.guarded, shell.loops, shell.asking = outer
    return None


def without_files(words: list[Word]) -> list[Word]:
    """Words without redirections and the files that they name."""
    return parted(words)[0]


def _is_shell(words: list[str]) -> bool:
    """Whether a command runs its standard input as a script."""
    own = words[0] in (*_SHELLS, "sbatch") or (words[0] == "srun" and words[-1] in _SHELLS)
    return own and not any(word.endswith(".sh") or word == "-c" for word in words[1:])


def _take_options(shell: Shell, words: list[str]) -> None:
    """Takes what a command says to Slurm of the job that it starts."""
    if words[:1] in (["srun"], ["sbatch"]):
        found = slurm_variables(words[1:])
        shell.variables.update(found)
        shell.exported.update(dict.fromkeys(found, ""))
        shell.options += words[1:]


def _start(shell: Shell, words: list[str]) -> bool:
    """Reads a script that is started with arguments, where it lies beside this one."""
    place = next(
        (at for at, word in enumerate(words) if word.endswith(".sh") and word[0] != "-"), None
    )
    if place is None or (place and words[0] not in _STARTERS) or "-c" in words[:place]:
        return False
    path = words[place]
    name = path.rpartition("/")[2]
    text = shell.file(path.removeprefix("./")) or shell.file(name)
    if text is None:
        shell.missing.append(name)
        return False
    at = path if shell.file(path.removeprefix("./")) else name

    def part() -> None:
        _take_options(shell, words[:place])
        lies_at(shell, at)
        shell.restore_arguments((words[place + 1 :], True, False))
        if not shell.read_within(text, name):
            shell.missing.append(name)

    apart(shell, 0, part, alone=True)
    return True
