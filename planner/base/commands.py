"""Paths in commands that are printed to be typed: whatever a file is called, it is a file there."""

from __future__ import annotations

import os
from shlex import quote


def path_word(path: str | os.PathLike[str]) -> str:
    """A path as a word of a command, which is no option; `-` is standard input.

    >>> path_word("-p.yaml")
    './-p.yaml'
    """
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") and text != "-" else text


def path_typed(path: str | os.PathLike[str]) -> str:
    """A path as it is typed in a shell.

    >>> path_typed("-my plan.yaml")
    "'./-my plan.yaml'"
    """
    return _typed(path_word(path))


def path_written(path: str | os.PathLike[str]) -> str:
    """As `path_typed`, in a UTF-8 file, whatever the locale by which the program read the path."""
    return _typed(os.fsencode(path_word(path)).decode("utf-8", "surrogateescape"))


def _typed(word: str) -> str:
    """A word of a shell; what is not printable stands as its bytes (`$'...'`)."""
    if word.isprintable():
        return quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
