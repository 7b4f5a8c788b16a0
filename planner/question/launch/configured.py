"""A script that starts a program by a file of settings beside it: that file, and the chips."""

from __future__ import annotations

import re
from collections.abc import Iterator

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.reading.launchers import chips_started
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.texts import looks_like_shell
from planner.frameworks.recognition import known_as

_FILE = re.compile(r"(?:--?[\w-]+=)?([\w./-]+\.(?:ya?ml|json|toml))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """A file of settings that a script starts a program with.

    Attributes:
        text: The file; empty: it is not there.
        chips: Processes that the launcher starts; None: it does not say.
        notes: What of the script is left out, one line each.
        missing: The name of a file that is not there.
    """

    text: str = ""
    chips: int | None = None
    notes: tuple[str, ...] = ()
    missing: str = ""


def configured_in(text: str, asked: Asked) -> Configured | None:
    """The first file of settings of a framework that a command names; None: it names none."""
    if not looks_like_shell(text):
        return None
    try:
        shell = Shell(asked.name, arguments=list(asked.arguments), beside=asked.beside).read(text)
    except InputError:
        return None
    missing, unclear = "", None
    for number, (command, place) in enumerate(zip(shell.commands, shell.places, strict=True)):
        words = [part for word in command for part in word.split()]  # of `bash -c` too
        then = shell.at(number)
        for at, path in _files(words):
            try:
                content = then.file(path)
            except InputError as error:
                unclear, content = unclear or error, None
            missing = missing or ("" if content else path)
            if content and known_as(content):
                others = " ".join(word for word in words[at + 1 :] if word != "--")
                said = f"; what the command says behind it is left out: {others}" if others else ""
                note = f"{place}: the settings are those of {path}{said}"
                chips, _ = chips_started(words[:at], shell)
                return Configured(text=content, chips=chips, notes=(note, *shell.notes))
    if unclear is not None:
        raise unclear
    return Configured(missing=missing) if missing else None


def _files(words: list[str]) -> Iterator[tuple[int, str]]:
    """Files of settings that a command names, with where."""
    for at, word in enumerate(words):
        if match := _FILE.fullmatch(word):
            yield at, match[1]
