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
        sections: From one and names with commas between them to those sections of it in full;
            None: its text is all that there is.
    """

    text: Callable[[Any], str]
    html: Callable[[Any], str]
    sections: Callable[[Any, str], str] | None = None


_FORMATTERS: dict[type, Formatter] = {}
_MODULES: list[str] = []


def formatters_in(module: str) -> None:
    """Names a module that registers formatters when it is imported."""
    _MODULES.append(module)


def formats(
    kind: type,
    text: Callable[[Any], str],
    html: Callable[[Any], str],
    sections: Callable[[Any, str], str] | None = None,
) -> None:
    """Registers how answers of a type print."""
    _FORMATTERS[kind] = Formatter(text, html, sections)


class Shown:
    """Prints as the command line does, and as HTML in notebooks."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = Shown.__repr__  # type: ignore[method-assign]  # which `dataclass` leaves

    def __str__(self) -> str:
        return _formatter_of(type(self)).text(self)

    def __repr__(self) -> str:
        return str(self)

    def show(self, sections: str = "all") -> str:
        """The text that `--show` prints: sections of the answer in full.

        Args:
            sections: Names with commas between them, or `all`.

        Raises:
            InputError: The answer has no section of that name.
        """
        formatter = _formatter_of(type(self))
        if formatter.sections is None:
            return formatter.text(self)
        return formatter.sections(self, sections)

    def _repr_html_(self) -> str:
        return _formatter_of(type(self)).html(self)


def _formatter_of(kind: type) -> Formatter:
    while _MODULES:
        import_module(_MODULES.pop())
    return next(_FORMATTERS[one] for one in kind.__mro__ if one in _FORMATTERS)
