"""What answers offer as methods and rooms above them do: `answer.best.export("megatron")`.

Answers import nothing of the rooms above. The package names, under a word, the function that does
it, and its module is imported when the method is first called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def offer(word: str, place: str) -> None:
    """Names the function of a word, as `module:function`."""
    _PLACES[word] = place


def offered(word: str) -> Any:
    """The function of a word."""
    module, _, name = _PLACES[word].partition(":")
    return getattr(import_module(module), name)
