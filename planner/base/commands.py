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
    return quote(path_word(path))
