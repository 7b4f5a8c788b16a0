"""Files that commands of shell text read and write, and what is not known of them.

A command that is not followed may change every file of the script that it names. One whose name is
not known changes those that it may be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.numerals import is_digits
from planner.frameworks.reading.shell.blocks import REDIRECTION
from planner.frameworks.reading.shell.expansion.printing import printed
from planner.frameworks.reading.shell.expansion.silence import heard, silenced
from planner.frameworks.reading.shell.states import Lost
from planner.frameworks.reading.shell.values import is_known
from planner.frameworks.reading.shell.words import Part, Statement, Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

_STANDARD = ("", "1", "&")
_READS = (
    "[", "awk", "basename", "cat", "chmod", "chown", "cmp", "column", "cut", "diff", "dirname",
    "du", "echo", "export", "file", "grep", "egrep", "head", "jq", "less", "ls", "md5sum", "mkdir",
    "more", "nl", "printf", "realpath", "readlink", "scp", "sed", "sha256sum", "sort", "stat",
    "tail", "tr", "uniq", "wc", "which", "xxd", "yq", "zcat",
)  # fmt: skip
"""Commands that change no file that they name, without an option that says so."""
_IN_PLACE = re.compile(r"-[a-zA-Z]*i.*|--in-?place.*|-o.*")
_CHANGES = (
    "cp", "mv", "rm", "ln", "dd", "install", "patch", "perl", "rsync", "sed", "shred", "sort",
    "truncate", "unlink", "yq", "ed", "ex",
)  # fmt: skip
"""Commands that may change a file that lies beside the script."""
_UNKNOWN = re.compile(r"\$(?:\{[^}]*\}|\([^)]*\)|\w+|.)|`[^`]*`")
_MOST_UNKNOWN = 4


@dataclass(frozen=True, slots=True)
class Redirections:
    """The files of a command.

    Attributes:
        words: Its other words.
        outputs: Files that it writes: by which number, the name, whether it adds.
        text: What `<<<` gives; None: there is none.
        source: The file that it reads.
        is_message: Whether what it prints goes to standard error.
    """

    words: list[Word]
    outputs: tuple[tuple[str, str, bool], ...]
    text: str | None
    source: str | None
    is_message: bool

    @property
    def goes_away(self) -> bool:
        """Whether what the command prints goes elsewhere."""
        return self.is_message or any(number in _STANDARD for number, _, _ in self.outputs)

    @classmethod
    def of(cls, shell: Shell, words: Sequence[Word]) -> Redirections:
        """Takes the files out of words."""
        own, files = parted(words)
        outputs: list[tuple[str, str, bool]] = []
        text, source, message = None, None, False
        for number, sign, target in files:
            name = shell.text(target)
            if sign == "<<<":
                text = name
            elif sign.startswith("<"):
                source = name if sign != "<&" else source
                outputs += [(number or "0", name, True)] if sign == "<>" else []
            elif sign == ">&" and (is_digits(name.rstrip("-")) or name == "-"):
                message |= name == "2" and number in ("", "1")
            else:
                outputs.append(("&" if "&" in sign else number, name, sign.endswith(">>")))
        return cls(own, tuple(outputs), text, source, message)


def parted(words: Sequence[Word]) -> tuple[list[Word], list[tuple[str, str, Word]]]:
    """Words without files, and files: a number, a sign and a name each."""
    own: list[Word] = []
    files: list[tuple[str, str, Word]] = []
    at, tests = 0, False  # between [[ and ]], where < and > compare
    while at < len(words):
        word = words[at]
        at += 1
        tests = bare(word) != "]]" if tests else bare(word) == "[[" and all(map(_negates, own))
        plain = not tests and bool(word) and not word[0].quoted
        match = REDIRECTION.match(word[0].text) if plain else None
        if match is None:
            own.append(word)
            continue
        target = word[1:]
        if match["to"]:
            target = (Part(match["to"], False, word[0].expands), *target)
        elif not target and at < len(words):
            target, at = words[at], at + 1
        files.append((match["of"], match["sign"], target))
    return own, files


def _negates(word: Word) -> bool:
    return bare(word) == "!"


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command.

    Attributes:
        words: Its words, filled in; empty: it has none.
        line: Where it stands.
        files: Its redirections.
        given: What it reads; None: that is not known.
        document: Whether that stands in the text.
        ends: From which word on it is not known how many there are; None: it is known of all.
        outside: Whether it is no function or command of the shell itself.
    """

    words: list[str]
    line: int
    files: Redirections
    given: str | None
    document: bool = False
    ends: int | None = None
    outside: bool = False


def input_of(
    shell: Shell, statement: Statement, files: Redirections, piped: str | None
) -> str | None:
    """What a command reads; None: that is not known."""
    if statement.document is not None:
        return shell.filled(statement.document)
    if files.text is not None:
        return files.text
    return piped if files.source is None else shell.file(files.source)


def _printed(shell: Shell, command: Command) -> str | None:
    """What a command prints, without the end of the last line; None: that is not known."""
    words = command.words
    if not words or words[0] in (":", "true"):
        return ""
    text = command.given if words[0] == "tee" else printed(shell, words, command.given)
    if words[0] == "tee" or not text:
        return text
    return text[:-1] if text.endswith("\n") else None


def write(shell: Shell, command: Command) -> None:
    """Keeps what a command writes, and hands on what it prints."""
    words, outputs = command.words, [*command.files.outputs]
    if words[:1] == ["tee"]:
        outputs += [("1", one, "-a" in words) for one in words[1:] if one != "-a"]
    text = _printed(shell, command) if outputs or words[:1] != [":"] else None
    for number, name, adds in outputs:
        _store(shell, name, text if number in _STANDARD else None, command.line, adds=adds)
    if not any(number in _STANDARD for number, _, _ in command.files.outputs):
        shell.piped = text


def _store(shell: Shell, name: str, text: str | None, line: int, *, adds: bool) -> None:
    if name.startswith("/dev/"):
        return
    if not is_known(name):
        return _lose(shell, name, line)
    path = shell.path(name)
    before = shell.files.get(path)
    if adds and text is not None:
        held = before if before is not None else shell.beside(path)
        text = None if isinstance(held, Lost) else text if held is None else f"{held}\n{text}"
        shell.spend(len(text or ""))
    return shell.put_file(path, Lost(shell.place(line)) if text is None else text)


def _lose(shell: Shell, name: str, line: int, *, beside: bool = False) -> None:
    """Says of files that a name may stand for that it is not known what they hold."""
    if is_known(name) and beside and name and shell.beside(shell.path(name)) is not None:
        shell.put_file(shell.path(name), Lost(shell.place(line)))
    for path, text in [*shell.files.items()]:
        if not isinstance(text, Lost) and _may_be(name, path):
            shell.put_file(path, Lost(shell.place(line)))


def _may_be(name: str, path: str) -> bool:
    """Whether a name may be that of a file, wherever it lies."""
    pieces = _UNKNOWN.sub("\0", name).rpartition("/")[2].split("\0")
    if len(pieces) > _MOST_UNKNOWN:
        return True
    return bool(re.fullmatch(".*".join(map(re.escape, pieces)), path.rpartition("/")[2], re.DOTALL))


def changes(shell: Shell, words: list[str], line: int) -> None:
    """Takes what a command that is not followed does to files."""
    first = words[0].rpartition("/")[2]
    plain = [one for one in words[1:] if one[:1] != "-"]
    if first in ("cp", "mv") and len(plain) == 2 and all(map(is_known, plain)):
        text = shell.file(plain[0])
        into = plain[1].endswith(("/", ".")) or plain[0].rpartition("/")[2] in plain[1].split("/")
        if not into or plain[1].rpartition("/")[2] == plain[0].rpartition("/")[2]:
            _store(shell, plain[1], text, line, adds=False)
            words = [first, plain[0]] if first == "mv" else [first]
    in_place = any(_IN_PLACE.fullmatch(one) for one in words[1:])
    if first == "tee" or (first in _READS and not (in_place and first in _CHANGES)):
        return
    changer = first in _CHANGES
    for word in words[1:] if shell.files or changer else ():
        for name in {word, word.partition("=")[2]}:
            if name and (is_known(name) or changer):
                _lose(shell, name, line, beside=changer)


def redirect_block(shell: Shell, statement: Statement, part: Callable[[], object]) -> None:
    """Goes through a block whose commands print to files: it is not known what these hold."""
    files = Redirections.of(shell, statement.words)
    shell.piped = None
    outer = silenced(shell, silent=files.goes_away)
    part()
    heard(shell, outer)
    for _, name, adds in files.outputs:
        _store(shell, name, None, statement.line, adds=adds)
