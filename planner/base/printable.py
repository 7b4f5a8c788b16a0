"""What every answer has: it prints as the command line does, and as HTML in notebooks.

Answers do not know their printers. `planner.report.formatters` registers a formatter for each type
of answer with `formats`; the package names that module to `formatters_in`, and it is imported when
the first answer is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Formatter(NamedTuple):
    """How answers of one type print.

    Attributes:
        text: What the command line prints for one.
        html: A fragment of HTML for one.
    """

    text: Callable[[Any], str]
    html: Callable[[Any], str]


_FORMATTERS: dict[type, Formatter] = {}
_MODULES: list[str] = []


def formatters_in(module: str) -> None:
    """Names a module that registers formatters when it is imported."""
    _MODULES.append(module)


def formats(kind: type, text: Callable[[Any], str], html: Callable[[Any], str]) -> None:
    """Registers how answers of a type print."""
    _FORMATTERS[kind] = Formatter(text, html)


class Shown:
    """Prints as the command line does, and as HTML in notebooks."""

    __slots__ = ()

    def __str__(self) -> str:
        return _formatter_of(type(self)).text(self)

    def _repr_html_(self) -> str:
        return _formatter_of(type(self)).html(self)


def _formatter_of(kind: type) -> Formatter:
    while _MODULES:
        import_module(_MODULES.pop())
    return next(_FORMATTERS[one] for one in kind.__mro__ if one in _FORMATTERS)
