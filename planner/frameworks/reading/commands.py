"""The command of a launch: its arguments, and on how many chips its launcher starts it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.reading.launchers import MODULES, chips_started, nodes_started
from planner.frameworks.reading.settings import Asked, Beside, no_file
from planner.frameworks.reading.shell.blocks import blocks
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.shell.states import Array
from planner.frameworks.reading.shell.steps.nodes import statements_outside
from planner.frameworks.reading.shell.words import Lexer, apart

_SCRIPT = re.compile(r".*\.py")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w.-]*")
_ARGUMENT = re.compile(r"\$(?:([1-9])|\{([1-9][0-9]?)\})")
_SHOWING = ("echo", "printf", "cat", "tee")
_SOME = 4  # places that a note names
_MANY = 200  # variables that are looked at for parts in one another


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command of a launch.

    Attributes:
        words: The arguments of the program, without the launcher's.
        chips: Processes that the launcher starts; None: the text does not say.
        said: What says so, e.g. "torchrun: 16 x 8".
        notes: What of the text was left out, one line each.
        nodes: Nodes, where the launcher says them and not the chips of one.
        shell: The script, with the files that there are when the command is started.
        changed: Variables that parts which are left out change, with where they stand.
    """

    words: list[str]
    chips: int | None = None
    nodes: int | None = None
    shell: Shell = field(default_factory=lambda: Shell(""))
    changed: Mapping[str, str] = field(default_factory=dict)
    said: str = ""
    notes: tuple[str, ...] = ()

    def file(self, path: str, asked: Asked) -> str | None:
        """The text of a file that the script writes, or that lies beside it; None: neither.

        Raises:
            InputError: It is not known what it holds.
        """
        written = self.shell.file(path)
        return asked.beside(path) if written is None else written


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
    shell = Shell(name, arguments=list(arguments), beside=beside).read(text)

    def count(words: list[str]) -> int:
        return sum(word.partition("=")[0] in known for word in words)

    found = _candidates(shell)
    if not any(count(words) for words, _, _ in found):
        shell.read_uncalled()
        found = _candidates(shell)
    best, place, at = max(found, key=lambda one: count(one[0]), default=([], "", -1))
    if not count(best):
        best = [word for words in _stored(shell) if count(words) for word in words]
    if not count(best):
        if shell.missing:
            raise InputError(f"{name}: starts {shell.missing[0]}, which does not lie beside it")
        raise InputError(f"{name}: {_without(text, known, program, shell.notes)}")
    launcher, words = _divided(best)
    others = [
        other for one, other, _ in found
        if 2 * count(one) >= count(best) and _divided(one)[0] and _divided(one)[1] != words
        and one[0] not in _SHOWING
    ]  # fmt: skip
    then = shell.at(at) if at >= 0 else shell
    chips, said = chips_started(launcher, then)
    return Command(
        words=words,
        chips=chips,
        said=said,
        notes=(*_left_out(place, others), *shell.notes),
        nodes=None if chips else nodes_started(launcher, shell),
        shell=then,
        changed=shell.changed,
    )


def _candidates(shell: Shell) -> list[tuple[list[str], str, int]]:
    """Commands with where they stand and their number; those that only show text come last."""
    found = [(_flattened(words), place, at) for words, place, at in _joined(shell)]
    return sorted(found, key=lambda one: one[0][:1] and one[0][0] in _SHOWING)


def _divided(words: list[str]) -> tuple[list[str], list[str]]:
    """What starts a program, and the program's arguments."""
    script = next((at for at, word in enumerate(words) if _SCRIPT.fullmatch(word)), None)
    if script is None and "-m" in words[:40] and not words[0].startswith("-"):
        script = words.index("-m") + 1
        if words[script : script + 1] and words[script] in MODULES and "-m" in words[script:]:
            script = words.index("-m", script) + 1
    return ([], words) if script is None else (words[:script], words[script + 1 :])


def _left_out(place: str, others: list[str]) -> Iterator[str]:
    """What is said of further launches."""
    places = [one for one in dict.fromkeys(others) if one != place]
    if place in others:
        yield f"{place}: it is started several times, with other arguments; the first are read"
    if places:
        what = "another launch is" if len(places) == 1 else "other launches are"
        some = ", ".join(places[:_SOME]) + (", ..." if len(places) > _SOME else "")
        yield (
            f"{some}: {what} left out; what is read is that of {place}. To read another one, put "
            "it into a script without the others"
        )


def arguments_in(text: str) -> int:
    """How many arguments a script takes, by the numbers of those without a default; 0: none."""
    try:
        nodes = blocks(Lexer(text, "").statements(), "")
    except InputError:
        return 0
    parts = (part for one in statements_outside(nodes) for word in one.words for part in word)
    found = (match for one in parts if one.expands for match in _ARGUMENT.findall(one.text))
    return max((int(short or long) for short, long in found), default=0)


def _without(text: str, known: Collection[str], program: str, notes: Sequence[str]) -> str:
    """What is said of a text no command of which has a flag of a program."""
    words = _FLAG.findall(text)
    if not any(word in known for word in words):
        return (
            f"has no argument of {program}, such as {min(known, key=lambda one: (len(one), one))}"
        )
    if not notes:
        return f"names arguments of {program}, and has no command that takes them"
    return (
        f"its arguments of {program} stand where it is not read: {'; '.join(notes)}; "
        "give that command by itself"
    )


def _items(value: str | Array) -> Sequence[str]:
    return apart(value) if isinstance(value, str) else value


def _stored(shell: Shell) -> list[list[str]]:
    """The words of variables, without those that are a part of another one."""
    texts = [" ".join(_items(value)) for value in shell.variables.values()]
    own = [text for text in texts if "--" in text]
    whole = [one for one in own if not any(one != text and one in text for text in own[:_MANY])]
    return [_flattened(apart(text)) for text in dict.fromkeys(whole)]


def _joined(shell: Shell) -> list[tuple[list[str], str, int]]:
    """Commands, those that begin with a flag added to the one before that does."""
    found: list[tuple[list[str], str, int]] = []
    loose = False
    for at, (words, place) in enumerate(zip(shell.commands, shell.places, strict=True)):
        bare = words[0].startswith("--")
        if bare and loose:
            found[-1] = (found[-1][0] + words, *found[-1][1:])
        else:
            found.append((words, place, at))
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
