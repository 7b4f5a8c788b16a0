"""The command of a launch: its arguments, and on how many chips its launcher starts it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.reading.settings import Beside, no_file
from planner.frameworks.reading.shell_run import Shell, positional
from planner.frameworks.reading.shell_words import apart
from planner.frameworks.reading.slurm import chips_per_node, slurm_options

_SCRIPT = re.compile(r".*\.py")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w.-]*")
_PER_NODE = ("--nproc-per-node", "--ntasks-per-node", "--gpus-per-node", "--num-gpus")
_NODES = ("--nnodes", "--nodes", "-N", "--num-nodes")
_TASKS = ("--ntasks", "-n", "-np", "--num-processes")
_ALL = (*_PER_NODE, *_NODES, *_TASKS)
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command of a launch.

    Attributes:
        words: The arguments of the program, without the launcher's.
        chips: Processes that the launcher starts; None: the text does not say.
        said: What says so, e.g. "torchrun: 16 x 8".
        notes: What of the text was left out, one line each.
        nodes: Nodes, where the launcher says them and not the chips of one.
        files: Texts that the script writes, by name.
    """

    words: list[str]
    chips: int | None = None
    nodes: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    said: str = ""
    notes: tuple[str, ...] = ()


def command_in(
    text: str,
    name: str,
    known: Collection[str],
    program: str,
    beside: Beside = no_file,
    arguments: Sequence[str] = (),
) -> Command:
    """The command in a text with the most flags of a program.

    Lines that hold nothing but flags are one command; so are the values of variables where no
    command takes them.

    Args:
        text: A script, a part of one, or arguments alone.
        name: What messages call it.
        known: Flags of the program.
        program: What messages call the program.
        beside: The text of a file that it sources or starts.
        arguments: Of the script.

    Raises:
        InputError: It has no flag of the program, or cannot be read.
    """
    shell = Shell(name, variables={**positional(arguments)}, beside=beside).read(text)
    candidates = [_flattened(words) for words in _joined(shell.commands)]
    stored = [_flattened(_items(value)) for value in shell.variables.values()]

    def count(words: list[str]) -> int:
        return sum(word.partition("=")[0] in known for word in words)

    best = max(candidates, key=count, default=[])
    if not count(best):
        best = [word for words in stored if count(words) for word in words]
    if not count(best):
        if shell.missing:
            raise InputError(f"{name}: starts {shell.missing[0]}, which does not lie beside it")
        raise InputError(f"{name}: {_without(text, known, program, shell.notes)}")
    script = next((at for at, word in enumerate(best) if _SCRIPT.fullmatch(word)), None)
    if script is None and "-m" in best[:40] and not best[0].startswith("-"):
        script = best.index("-m", 0) + 1
    launcher, words = (best[:script], best[script + 1 :]) if script is not None else ([], best)
    chips, said = _chips(launcher, shell)
    nodes = None if chips else _option(launcher + slurm_options(shell.comments), _NODES)
    return Command(
        words=words,
        chips=chips,
        said=said,
        notes=tuple(shell.notes),
        nodes=nodes,
        files=shell.files,
    )


def _without(text: str, known: Collection[str], program: str, notes: Sequence[str]) -> str:
    """What is said of a text no command of which has a flag of a program."""
    words = _FLAG.findall(text)
    if not any(word in known for word in words):
        return f"has no argument of {program}, such as {min(known, key=len)}"
    if not notes:
        return f"names arguments of {program}, and has no command that takes them"
    return (
        f"its arguments of {program} stand where it is not read: {'; '.join(notes)}; "
        "give that command by itself"
    )


def _items(value: str | list[str]) -> list[str]:
    return apart(value) if isinstance(value, str) else value


def _joined(commands: list[list[str]]) -> list[list[str]]:
    """Commands, those that begin with a flag added to the one before that does."""
    found: list[list[str]] = []
    loose = False
    for words in commands:
        bare = words[0].startswith("--")
        if bare and loose:
            found[-1] = found[-1] + words
        else:
            found.append(words)
        loose = bare
    return found


def _flattened(words: list[str]) -> list[str]:
    """Words, with those that hold a whole command or a flag with its value taken apart."""
    found: list[str] = []
    for word in words:
        if "$(" in word or "`" in word:
            found += apart(word) if "--" in word else [word]
        elif " " in word.strip() and ("--" in word):
            try:
                found += shlex.split(word)
            except ValueError:
                found += word.split()
        else:
            found.append(word)
    return found


def started(text: str) -> int | None:
    """Chips that a launcher in a script says, whatever the program; None: it says none."""
    try:
        shell = Shell("").read(text)
    except InputError:
        return None
    launchers = (words for words in shell.commands if any(_named(word) in _ALL for word in words))
    return _chips(next(launchers, []), shell)[0]


def _chips(launcher: list[str], shell: Shell) -> tuple[int | None, str]:
    """Processes that torchrun or Slurm starts, and what says so."""
    slurm = slurm_options(shell.comments)
    for words, said in ((launcher, "its launcher"), (launcher + slurm, "its Slurm options")):
        per_node, nodes = _option(words, _PER_NODE), _option(words, _NODES)
        if said == "its launcher" and not any(_named(word) in _NODES for word in words):
            nodes = 1  # torchrun's default
        if nodes and said != "its launcher" and not _option(launcher, _PER_NODE):
            per_node = chips_per_node(words) or per_node
        if per_node and nodes:
            return per_node * nodes, f"{said}: {nodes} x {per_node}"
        if tasks := _option(words, _TASKS):
            return tasks, f"{said}: {tasks} tasks"
    return None, ""


def _option(words: list[str], names: tuple[str, ...]) -> int | None:
    """The number that an option says, in either spelling; None: none."""
    for at, word in enumerate(words):
        _, equals, value = word.partition("=")
        if _named(word) in names:
            value = value if equals else words[at + 1] if at + 1 < len(words) else ""
            if value.isdigit() and 0 < int(value[:9]) <= _LARGEST:
                return int(value[:9])
    return None


def _named(word: str) -> str:
    """The name of an option, in one spelling."""
    return word.partition("=")[0].replace("_", "-")
