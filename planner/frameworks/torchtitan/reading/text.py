"""The settings in a text for torchtitan: a TOML file, or a command with overrides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import one_line, shown
from planner.frameworks.reading.commands import Command, command_in
from planner.frameworks.torchtitan.reading.names import (
    OTHER_SECTIONS,
    READ,
    known_settings,
    settings_not_text,
)

Settings = dict[str, tuple[str, ...]]

_OVERRIDE = re.compile(r"(^|[\s\"'(])--[a-z_]+\.[a-z_.-]+|(^|\s)--(module|config)[\s=]", re.M)
_POLICY = re.compile(r"activation[-_]checkpoint:([a-z_-]+)")
_CHOICE = re.compile(r"([a-z_-]+):[a-z0-9_-]+")
_DEEPEST = 12


def settings_in(text: str, name: str) -> tuple[Settings, Command]:
    """Settings as `section.name` with their values as text, and the command, if there is one.

    Raises:
        InputError: The text is neither.
    """
    if _OVERRIDE.search(text):
        known = [f"--{setting}" for setting in known_settings()]
        command = command_in(text, name, {*known, "--module", "--config"}, "torchtitan")
        return _overrides(command.words), command
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = one_line(str(error)) if str(error) else "nested too deep"
        raise InputError(
            f"{name}: neither TOML ({why}) nor a command with overrides such as "
            "--training.seq_len 8192"
        ) from error
    values = dict(_flat(data, "", 0))
    quoted = [name for name in settings_not_text() if isinstance(values.get(name), str)]
    if quoted:
        why = "is text in quotes; torchtitan takes a number or a switch: write it without"
        lines = [f"{name}: {field}: {shown(values[field])} {why}" for field in quoted]
        raise InputError("\n".join(lines))
    found = {
        field: tuple(map(word, value)) if isinstance(value, list) else (word(value),)
        for field, value in values.items()
    }
    return found, Command(words=[])


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
