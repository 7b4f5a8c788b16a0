"""The settings in a text for torchtitan: a TOML file, or a command with overrides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import one_line, shown
from planner.frameworks.reading.commands import Command, command_in
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.texts import with_scripts
from planner.frameworks.torchtitan.reading.names import (
    OTHER_SECTIONS,
    READ,
    known_settings,
    settings_not_text,
)

Settings = dict[str, tuple[str, ...]]

FILE = "job.config_file"
"""What names the TOML file of a command of 0.2."""
_FILES = (f"--{FILE}", "--job.config-file")
_OVERRIDE = re.compile(r"(^|[\s\"'(])--[a-z_]+\.[a-z_.-]+|(^|\s)--(module|config)[\s=]", re.M)
_POLICY = re.compile(r"activation[-_]checkpoint:([a-z_-]+)")
_CHOICE = re.compile(r"([a-z_-]+):[a-z0-9_-]+")
_DEEPEST = 12


def settings_in(text: str, asked: Asked) -> tuple[Settings, Command]:
    """Settings as `section.name` with their values as text, and the command, if there is one.

    A command that names a TOML file overrides what that says, where it lies beside the script.

    Raises:
        InputError: The text is neither, or the file of settings lies elsewhere.
    """
    if not _OVERRIDE.search(with_scripts(text, asked.beside)):
        return _of_toml(text, asked.name), Command(words=[])
    known = {f"--{setting}" for setting in known_settings()} | {"--module", "--config", *_FILES}
    command = command_in(text, asked.name, known, "torchtitan", asked.beside, asked.arguments)
    settings = _overrides(command.words)
    named = settings.pop(FILE, ())
    if not named:
        return settings, command
    path = named[-1]
    found = command.file(path, asked) or command.file(path.rpartition("/")[2], asked)
    if found is None:
        chips = f" with --chips {command.chips}" if command.chips else ""
        raise InputError(
            f"{asked.name}: {FILE}: the settings are in {shown(path)}, which does not lie beside "
            f"it; put it there, or give that file{chips}"
        )
    return {FILE: (path,), **_of_toml(found, path), **settings}, command


def _of_toml(text: str, name: str) -> Settings:
    """The settings of a file.

    Raises:
        InputError: It is no TOML, or has text in the place of numbers.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(name, one_line(str(error))) from error
    except RecursionError as error:
        raise _no_toml(name, "nested too deep") from error
    except ValueError as error:
        raise _no_toml(name, "a number has too many digits") from error
    values = dict(_flat(data, "", 0))
    quoted = [name for name in settings_not_text() if isinstance(values.get(name), str)]
    if quoted:
        why = "is text in quotes; torchtitan takes a number or a switch: write it without"
        lines = [f"{name}: {field}: {shown(values[field])} {why}" for field in quoted]
        raise InputError("\n".join(lines))
    return {
        field: tuple(map(word, value)) if isinstance(value, list) else (word(value),)
        for field, value in values.items()
    }


def _no_toml(name: str, why: str) -> InputError:
    return InputError(
        f"{name}: neither TOML ({why}) nor a command with overrides such as --training.seq_len 8192"
    )


def _flat(data: dict[str, Any], before: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Values by their dotted names."""
    for name, value in data.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{before}{name}.", depth + 1)
        else:
            yield before + name, value


def word(value: Any) -> str:
    """A value as an override writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _overrides(words: list[str]) -> Settings:
    """Overrides; switches are `true`, or `false` with `no_` before their name.

    What chooses a section, as `optimizer:muon` would, stands by itself.
    """
    found: Settings = {}
    last = ""
    for word in words:
        if match := _POLICY.fullmatch(word):
            found["activation_checkpoint.mode"] = (match[1].replace("-", "_"),)
            found.setdefault("activation_checkpoint.selective_ac_option", ("op",))
        elif is_choice(word):
            found[word] = ()
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            last = name.replace("-", "_")
            found[last] = (value,) if equals else ()
        elif last:
            found[last] += (word,)
    return {_name(name): values or (_switch(name),) for name, values in found.items()}


def is_choice(word: str) -> bool:
    """Whether a word chooses what a whole section is."""
    match = _CHOICE.fullmatch(word)
    return match is not None and match[1].replace("-", "_") in {*READ, *OTHER_SECTIONS}


def _name(name: str) -> str:
    section, dot, rest = name.rpartition(".")
    return f"{section}{dot}{rest.removeprefix('no_')}"


def _switch(name: str) -> str:
    return "false" if name.rpartition(".")[2].startswith("no_") else "true"
